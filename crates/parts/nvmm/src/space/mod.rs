//! Flash blocks: which are free, where data is written, and garbage collection.

pub(crate) mod blocks;
pub(crate) mod collect;
pub(crate) mod gather;
pub(crate) mod layout;
pub(crate) mod page_write;
pub(crate) mod place;
pub(crate) mod writes;
