//! A slow, obvious flash; an obvious memory (a dictionary of full copies); and a world around the controller that
//! completes operations in random order, wears pages out and cuts the power.
#![allow(dead_code)]

pub mod expect;
pub mod flash;
pub mod memory;
pub mod small;
pub mod world;
