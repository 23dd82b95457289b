//! A slow, obvious flash and a world around the layer that ends operations in random order.
#![allow(dead_code)]

pub mod flash;
pub mod oracle;
pub mod world;
