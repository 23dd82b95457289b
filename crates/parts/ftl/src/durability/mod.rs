//! Durability: the sequence of programs, flushes, the trim journal, failed programs, parity and the mount.

pub(crate) mod durable_queue;
pub(crate) mod fail;
pub(crate) mod flush;
pub(crate) mod journal;
pub(crate) mod mount;
pub(crate) mod parity;
pub(crate) mod rebuild;
pub(crate) mod retries;
pub(crate) mod sequence;
