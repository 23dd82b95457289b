//! The protocol of a storage device behind a small shared buffer that looks like memory (Seo et al., "Design and
//! Implementation of A Mobile Storage Leveraging the DRAM Interface", sections 3.2, 4.2, 5.3 and 5.4).
//!
//! The buffer contains submission queues (SQ), completion queues (CQ), a data buffer (DB) and special registers. The
//! host accesses it with loads and stores, and so does the device from its side; an optional interrupt is outside the
//! protocol. Everything here is a state machine without clock, thread or I/O, generic over the [`Region`] it works on:
//! `[Cell<u64>]` in simulated time, or `[AtomicU64]` (for example in a memory mapping) between threads or processes.
//! Both execute the same code with the same order of accesses.
//!
//! # Steps
//!
//! The numbers are those of figure 2 in the paper.
//!
//! | | host | device |
//! | --- | --- | --- |
//! | | [`Layout::read`] | [`Layout::format`] |
//! | | [`Driver::request`], [`Driver::issue`]: a command with its space | |
//! | 1 | copy a write's data to [`Layout::db_sector`] ([`Region::write`]) | |
//! | 2 | [`HostQueue::submit`], [`HostQueue::ring`] | |
//! | 3 | | [`DeviceQueue::announced`], [`DeviceQueue::fetch`] |
//! | 4 | | execute; copy a read's data to [`Layout::db_sector`] |
//! | 5 | | [`DeviceQueue::post`] |
//! | 6 | | [`DeviceQueue::notify`], then raise the interrupt if it returns true |
//! | 7 | [`HostQueue::announced`], [`HostQueue::take`] | |
//! | 8 | [`HostQueue::acknowledge`] | |
//! | 9 | copy a read's data from [`Layout::db_sector`] ([`Region::read`]) | |
//! | | [`Driver::done`]: release the space; possibly finish the request | |
//!
//! *In simulated time*, the caller calls each step when it happens, and charges its cost before or after:
//! [`AccessLog::over`] wraps the region and records which bytes the step accessed. If a run keeps no payload, steps 1,
//! 4 and 9 access nothing, and the command determines their bytes. *In real memory*, each side is a thread that calls
//! its steps; steps 3 and 7 are either polled ([`DeviceQueue::fetch`] and [`HostQueue::take`] need nothing else) or
//! triggered by a change of the doorbell or the status register.
//!
//! # How a side detects a new entry
//!
//! The first word of an entry, which is written last, carries a *phase* bit that changes with every pass through the
//! ring. A tail index would have to be read first: one more bus access for every look at the queue, and a second word
//! to be ordered with the entry. The registers that contain the tails, doorbell and status, therefore only announce
//! entries: a polling side ignores them, and a waiting side is woken when they change. Since they count up instead of
//! being cleared, no announcement is lost between a look at the queue and the wait.
//!
//! # Ordering and bounds
//!
//! [`Orders`] names every ordered access; `tests/loom.rs` checks that they suffice and that each is necessary. The
//! submission queue bounds the outstanding commands of a pair, and the completion queue bounds the commands that the
//! device has in progress, so that neither queue is ever overrun, whatever the sizes. Each side validates what the
//! other wrote before using it: an invalid command completes with an error [`Status`], and an invalid completion is a
//! [`Fault`]; neither causes a panic.

mod access_log;
mod buddy;
mod device_queue;
mod driver;
mod entry;
mod host_queue;
mod identity;
mod layout;
mod orders;
mod region;

pub use access_log::{Access, AccessLog, Counts, Logged};
pub use buddy::Buddy;
pub use device_queue::{DeviceQueue, DeviceQueues, Fetched};
pub use driver::{Busy, Driver, DriverConfig, Finished, IoRequest, Shortage, SplitCommand};
pub use entry::{Command, EXTENTS_MAX, Extent, Extents, Opcode, Status};
pub use host_queue::{Completion, Fault, Full, HostQueue};
pub use identity::Identity;
pub use layout::{Config, DB_SECTORS_MAX, ENTRIES_MAX, Layout, LayoutError, QUEUE_PAIRS_MAX, SECTOR, SECTOR_WORDS};
pub use orders::{Orders, Sound};
pub use region::{Region, WORD};
