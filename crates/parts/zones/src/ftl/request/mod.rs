//! Host commands, the write buffer, and the flash operations in progress.

pub(crate) mod buffer;
pub(crate) mod jobs;
pub(crate) mod manage;
pub(crate) mod operation;
pub(crate) mod read;
pub(crate) mod timed;
pub(crate) mod write;
