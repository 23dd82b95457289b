//! A persistent memory larger than DRAM, stored in a file or on a block device, with `sync` and `rollback`: the
//! controller of [`nvmm`] on real storage.
//!
//! [`nvmm::Nvmm`] makes the decisions without performing any I/O; this crate performs its actions. [`Storage`] is its
//! medium: blocks in a file, with a checksum per page and `fdatasync` as the barrier. A DRAM cache of segments sits
//! above it. [`Memory`] combines both and provides the calls.
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
//! A [`Reader`] reads the state of the last sync, even while another process writes; [`backup`] copies that state:
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
pub mod device;
mod engine;
mod error;
mod growth;
mod injected;
mod map;
mod mappable;
mod memory;
mod names;
mod open;
mod pages;
mod reader;
mod storage;
mod transaction;
mod unnamed;

pub use device::disk::Disk;
pub use error::Error;
pub use growth::grow;
#[cfg(feature = "injected-faults")]
pub use injected::InjectedFault;
#[cfg(not(feature = "injected-faults"))]
use injected::InjectedFault;
pub use map::{Advice, Area, MapStats, Mapped, Source};
pub use mappable::{Hint, MappableMemory};
pub use memory::{Memory, Stats};
pub use nvmm::{Permissions, Token};
pub use open::{Options, shape_of};
pub use reader::Reader;
pub use reader::copy::backup;
pub use storage::layout::{Info, Shape};

/// Bytes per page, the unit of allocation and of permissions.
pub const PAGE_BYTES: u64 = 64 << 10;
