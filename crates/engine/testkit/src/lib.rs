//! Support for the tests of several crates: faults injected into parts, and sources that tests share.
//!
//! Nothing here ships. The crate is a development dependency only, and it alone turns on the feature `injected-faults` of
//! the parts: a test that injects faults into `ftl` depends on `testkit` with the feature `ftl`, and so on.
//! `tests/test_structure.py` checks that no library and no program of a release depends on it.

pub mod beyond;
pub mod flash;
pub mod oracle;
