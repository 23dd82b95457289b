//! Errors and failures: bit errors and their correction, endurance of pages, failing operations.

pub(crate) mod ecc;
pub(crate) mod endurance;
pub(crate) mod errors;
pub(crate) mod hazards;
