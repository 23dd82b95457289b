//! Where the data of zones is, and how it gets there.

pub(crate) mod blocks;
pub(crate) mod extent;
pub(crate) mod laid;
pub(crate) mod layout;
pub(crate) mod owners;
pub(crate) mod program;
pub(crate) mod relocate;
pub(crate) mod remove;
