//! The RAM that data passes through: the write cache and its way to flash, and copies of data read.

pub(crate) mod combine;
pub(crate) mod destage;
pub(crate) mod dirty;
pub(crate) mod read_copies;
pub(crate) mod slots;
pub(crate) mod write_out;
