//! The flash of a served drive in a file, so that its data outlives the server.
//!
//! The file holds the flash itself: the state of each block, and payload and spare area of each page ([`layout`]). Each
//! program and each erase changes the file past the page cache at the moment when it ends, in that order, so a killed
//! server leaves what a power cut leaves. A flush completes when the file is durable. There is no second recovery: the
//! next start reads the file into a [`nand::Store`], from which the translation layer mounts.
//!
//! A file that cannot be written, such as on a full disk, ends nothing: the flash goes on in memory, commands that change
//! it fail, and the file catches up when it can be written again ([`FlashFile::follow`]).
#![cfg(target_os = "linux")]

mod changes;
mod error;
mod export;
mod file;
mod layout;
mod load;
mod open;
mod record;
mod tail;

pub use error::StoreError;
pub use export::export;
pub use file::FlashFile;
pub use open::{Kept, Mode, cut, open};
