//! A device that records, and an obvious memory.
#![allow(dead_code)]

pub mod histories;
pub mod obvious;
pub mod recorder;
