//! Serving requests: reads and writes, allocation, deletion and permissions.

mod access;
mod calls;
pub(crate) mod promises;
pub(crate) mod queue;
pub(crate) mod requests;
