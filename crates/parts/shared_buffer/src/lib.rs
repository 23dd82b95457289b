//! The protocol of a storage device behind a small shared buffer that looks like memory (Seo et al., "Design and
//! Implementation of A Mobile Storage Leveraging the DRAM Interface", sections 3.2, 4.2, 5.3 and 5.4).
//!
//! The buffer holds submission queues (SQ), completion queues (CQ), a data buffer (DB) and special registers. The host
//! loads and stores; the device does the same from its side; an interrupt, if there is one, is outside. Everything here
//! is a state machine without a clock, a thread or I/O, generic over the [`Region`] it works on: `[Cell<u64>]` in
//! simulated time, `[AtomicU64]` (a mapping, for one) between threads or processes. Same code, same order of accesses.
//!
//! # Steps
//!
//! The numbers are those of the paper's figure 2.
//!
//! | | host | device |
//! | --- | --- | --- |
//! | | [`Layout::read`] | [`Layout::format`] |
//! | | [`Driver::request`], [`Driver::issue`]: a command and its space | |
//! | 1 | a write's data into [`Layout::db_sector`] ([`Region::write`]) | |
//! | 2 | [`HostQueue::submit`], [`HostQueue::ring`] | |
//! | 3 | | [`DeviceQueue::announced`], [`DeviceQueue::fetch`] |
//! | 4 | | executes it; a read's data into [`Layout::db_sector`] |
//! | 5 | | [`DeviceQueue::post`] |
//! | 6 | | [`DeviceQueue::notify`], then the interrupt if it says so |
//! | 7 | [`HostQueue::announced`], [`HostQueue::take`] | |
//! | 8 | [`HostQueue::acknowledge`] | |
//! | 9 | a read's data from [`Layout::db_sector`] ([`Region::read`]) | |
//! | | [`Driver::done`]: the space is free again, perhaps the request is done | |
//!
//! *In simulated time*, the caller calls a step when it happens, and charges it before or after: [`AccessLog::over`]
//! wraps the region and says which bytes the step touched. Where a run keeps no payload, steps 1, 4 and 9 touch nothing
//! and their bytes are known from the command. *In real memory*, each side is a thread that calls its steps; steps 3 and
//! 7 are polled ([`DeviceQueue::fetch`] and [`HostQueue::take`] need nothing else) or woken by the doorbell's and the
//! status register's change.
//!
//! # How a reader knows a new entry
//!
//! By the entry: its first word, written last, carries a *phase* bit that changes with every round of the ring. A
//! tail index would have to be read first: another access to the bus for every look at the queue, and a second word to be
//! ordered against the entry. So the registers with the tails, doorbell and status, only announce: a side that polls does
//! without them, and one that waits is woken by their change. Since they count on instead of being cleared, no
//! announcement is lost between a look at the queue and the wait.
//!
//! # Ordering and bounds
//!
//! [`Orders`] names every ordered access; `tests/loom.rs` checks that they suffice and that each is needed. Commands
//! outstanding on a pair are bounded by its submission queue, commands that the device holds by its completion queue:
//! neither queue is ever overrun, whatever the sizes. What the other side wrote is checked before it is used; a bad command
//! gets a bad [`Status`], a bad completion is a [`Fault`], and neither panics.

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
pub use driver::{Busy, Driver, DriverConfig, Finished, IoRequest, Piece, Shortage};
pub use entry::{Command, EXTENTS_MAX, Extent, Extents, Opcode, Status};
pub use host_queue::{Completion, Fault, Full, HostQueue};
pub use identity::Identity;
pub use layout::{Config, DB_SECTORS_MAX, ENTRIES_MAX, Layout, LayoutError, QUEUE_PAIRS_MAX, SECTOR, SECTOR_WORDS};
pub use orders::{Orders, Sound};
pub use region::{Region, WORD};
