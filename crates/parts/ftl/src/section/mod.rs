//! Sections of system files that configure the layer. `derived.rs` computes what follows from them and from other parts.

mod caches;
mod layer;
mod map_cache;
mod policy;
mod slc_cache;

pub use caches::{Allocation, CacheSharing, Caches, Memory, ReadCache, ReadPlace, WriteCache, WriteMode};
pub use layer::{Axis, Collection, Group, Isolation, Layer, Placement, Refresh, Stripe, Wear};
pub(crate) use map_cache::units;
pub use map_cache::{Eviction, HostMemory, HostMemoryUse, MapCache, MapGrain, MapPlace, MapStart};
pub use policy::Policy;
pub use slc_cache::SlcCache;
