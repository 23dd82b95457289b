//! What a power cut or a reset leaves: the log, the mount, writing out.

mod contradiction;
pub(crate) mod log;
mod log_blocks;
pub(crate) mod mount;
pub(crate) mod reset;
