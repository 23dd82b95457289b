//! The tables of a system file: one module per table, with its keys and the checks of that table.

pub mod device;
pub mod flash;
pub mod ftl;
pub(crate) mod hmb;
pub mod host;
pub mod hybrid;
pub mod kernel;
pub mod link;
pub mod memory;
pub mod onenand;
pub(crate) mod parity;
