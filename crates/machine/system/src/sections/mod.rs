//! The tables of a system file: one module per table, with its keys.

pub mod device;
pub mod hybrid;
pub mod kernel;
pub mod memory;
pub mod onenand;
