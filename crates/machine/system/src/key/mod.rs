//! Keys: the table of all, names, and the syntax of values in TOML.

pub(crate) mod nearest;
pub(crate) mod read;
pub(crate) mod table;
