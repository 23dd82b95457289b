//! A device that records, an obvious memory, and a place on a disk.
#![allow(dead_code)]

pub mod histories;
pub mod obvious;
pub mod place;
pub mod recorder;
