//! The tests of a probe: each measures one property of a target.

pub(crate) mod bench;
pub(crate) mod burst;
pub(crate) mod map_cache;
pub(crate) mod paper;
pub(crate) mod parallel;
pub(crate) mod read_cache;
pub(crate) mod retention;
pub(crate) mod write_buffer;
