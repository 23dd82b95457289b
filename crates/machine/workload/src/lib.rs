//! Workloads of a drive: fio job files, address distributions, block traces, and the player that issues their requests.
//! Also workloads of memory: traces of accesses ([`memory`]) and of code pages ([`pages`]), and synthetic programs
//! ([`program`]).
//!
//! A [`Workload`] is read from a job file or a trace and is valid on its own. A [`Player`] fits it to a drive of a
//! given size and issues its requests in virtual or real time.
//!
//! ```
//! use sim::{Streams, Time};
//! use workload::{Next, Options, Player, Workload};
//!
//! let workload = Workload::parse_fio("job.fio", "[a]\nrw=randread\nbs=4k\nsize=1m\n")?;
//! let mut player = Player::new(&workload, &Options::new(1 << 30), &Streams::new(1))?;
//! // A drive that takes 100 us per request, for a job with one request outstanding.
//! let mut now = Time::ZERO;
//! while let Next::Issue(io) = player.next(now)? {
//!     now += Time::from_us(100);
//!     player.complete(now, io.id);
//! }
//! assert_eq!(player.next(now)?, Next::Finished);
//! assert_eq!(player.progress().completed, 256);
//! # Ok::<(), workload::Error>(())
//! ```

pub mod dist;
mod error;
mod extents;
pub mod fio;
mod floods;
mod header;
mod layout;
mod logs;
pub mod memory;
mod nearest;
pub mod pages;
mod pauses;
mod placement;
mod player;
pub mod program;
pub mod trace;
mod unwritten;
mod varint;
mod workload;

pub use error::{Beyond as BeyondError, Error};
pub use fio::ContinueOnError;
pub use logs::{Logs, Sample};
pub use pauses::Pauses;
pub use player::{Beyond, DEPTHS, DriveZones, Ended, Io, Next, Options, Player, Progress, Replay};
pub use workload::{JobInfo, Workload};
