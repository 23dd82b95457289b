//! An environment over simple flash that completes the layer's operations in random order.
#![allow(dead_code)]

pub mod world;
