//! Host commands and the flash operations they start.

pub(crate) mod admission;
pub(crate) mod command;
pub(crate) mod fragments;
pub(crate) mod operation;
pub(crate) mod read;
pub(crate) mod write;
