//! The tables of a system file: one module per table, with its keys.

pub mod device;
pub mod host;
pub mod link;
pub mod memory;
