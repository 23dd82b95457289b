//! Drives for tests, and an environment over simple flash that completes their operations in random order.
#![allow(dead_code)]

pub mod drive;
pub mod world;
