#![allow(dead_code)]

pub mod oracle;
pub mod rules;
pub mod world;
