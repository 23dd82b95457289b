//! A recording device, a reference model of a memory, and temporary files.
#![allow(dead_code)]

pub mod histories;
pub mod model;
pub mod place;
pub mod recorder;
