//! The tables of a system file: one module per table, with its keys.

pub mod memory;
