//! A simple reference flash, and an environment that completes the layer's operations in random order.
#![allow(dead_code)]

pub mod flash;
pub mod world;
