//! Memory on a file or a block device, larger than DRAM, with `sync` and `rollback`: the controller of [`nvmm`] on real storage.
//!
//! [`nvmm::Nvmm`] decides, and knows no file; here its actions are performed. [`Storage`] is its medium: blocks in a file, each
//! page with a checksum, a barrier by `fdatasync`. A cache of segments in DRAM lies above. [`Memory`] is both with the calls.
//!
//! ```
//! # fn main() -> Result<(), memory::Error> {
//! # let path = std::env::temp_dir().join(format!("nandram-doc-{}.memory", std::process::id()));
//! use memory::{Memory, Options};
//!
//! let mut memory = Memory::create(&path, &Options { capacity: Some(64 << 20), ..Options::default() })?;
//! let at = memory.alloc(100_000, false)?;
//! memory.write(at, b"before")?;
//! let token = memory.sync(Some("start"))?;
//! memory.write(at, b"after!")?;
//! memory.rollback(token)?;
//! let mut bytes = [0; 6];
//! memory.read(at, &mut bytes)?;
//! assert_eq!(&bytes, b"before");
//! memory.close()?;
//! # std::fs::remove_file(&path).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! A [`Reader`] has what the last sync left, whether or not somebody writes; [`backup`] copies it:
//!
//! ```
//! # fn main() -> Result<(), memory::Error> {
//! # let path = std::env::temp_dir().join(format!("nandram-beside-{}.memory", std::process::id()));
//! # let copy = path.with_extension("copy");
//! use memory::{Memory, Options, Reader};
//!
//! let mut memory = Memory::create(&path, &Options { capacity: Some(64 << 20), ..Options::default() })?;
//! let at = memory.alloc(100_000, false)?;
//! memory.write(at, b"synced")?;
//! memory.sync(Some("start"))?;
//! memory.write(at, b"later!")?;
//! let mut reader = Reader::open(&path, 1 << 20)?;
//! let mut bytes = [0; 6];
//! reader.read(at, &mut bytes)?;
//! assert_eq!(&bytes, b"synced");
//! assert!(memory::backup(&path, &copy)?.is_empty());
//! let mut copied = Memory::open(&copy, &Options::default())?;
//! assert_eq!(copied.tokens()?.len(), 1);
//! # std::fs::remove_file(&path).unwrap();
//! # std::fs::remove_file(&copy).unwrap();
//! # Ok(())
//! # }
//! ```
#![cfg(target_os = "linux")]

mod cache;
mod catalog;
mod copy;
pub mod device;
mod disk;
mod engine;
mod error;
mod frames;
mod held;
mod layout;
mod map;
mod memory;
mod names;
mod open;
mod overlay;
mod pages;
mod reader;
mod storage;
mod sums;
mod transaction;

pub use copy::backup;
pub use disk::Disk;
pub use error::Error;
pub use held::{Advised, Held};
pub use layout::{Info, Shape};
pub use map::{Advice, Area, MapStats, Mapped, Source};
pub use memory::{Memory, Stats};
pub use nvmm::{Permissions, Token};
pub use open::{Options, shape_of};
pub use reader::Reader;

/// Bytes of a page, which is allocated and has permissions.
pub const PAGE_BYTES: u64 = 64 << 10;

/// Bugs that tests plant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// None.
    #[default]
    Nothing,
    /// A barrier does not flush.
    FlushSkipped,
    /// What is read is not compared with its checksum.
    SumUnchecked,
}
