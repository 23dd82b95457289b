//! Results of a run: counters, series, summary and manifest.

pub mod counters;
pub mod fio_json;
pub mod manifest;
pub mod measured;
pub mod notes;
pub(crate) mod placement;
pub mod series;
pub mod summary;
mod validity;
