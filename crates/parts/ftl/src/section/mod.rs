//! Sections of system files that configure the layer. `config` has what follows from them and from other parts.

mod caches;
mod layer;
mod map_cache;
mod slc_cache;

pub use caches::{CacheSharing, Caches, Memory, ReadCache, ReadPlace, WriteCache, WriteMode};
pub use layer::{Axis, Collection, Group, Isolation, Layer, Placement, Refresh, Stripe, Wear};
pub use map_cache::{Eviction, HostMemory, HostMemoryUse, MapCache, MapGrain, MapPlace, MapStart, Shares};
pub use slc_cache::{SlcBlocks, SlcCache};
