//! System files: presets, layers of a chain, the value of each key, and the whole system as one file.

pub(crate) mod chain;
pub(crate) mod layer;
pub(crate) mod presets;
pub(crate) mod print;
pub(crate) mod resolve;
pub(crate) mod scale;
