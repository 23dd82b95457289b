//! The map from logical units to locations: in RAM, its copy in flash, and the cache of that copy.

pub(crate) mod cache;
pub(crate) mod entries;
pub(crate) mod frames;
pub(crate) mod host_memory;
pub(crate) mod lookup;
pub(crate) mod pending;
pub(crate) mod table;
pub(crate) mod touched;
pub(crate) mod trim;
mod wanted;
