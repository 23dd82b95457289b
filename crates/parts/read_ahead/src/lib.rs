//! Read-ahead of a drive: sequential streams are detected, and the pages that follow are read before the host asks for them.
//!
//! It lies between the translation layer and the flash, and knows neither. Streams are detected among the host's reads
//! ([`ReadAhead::note`]). The translation layer says in which pages the next units of a stream are; these are read whole
//! ([`ReadAhead::begin`], [`ReadAhead::end`]). A later read of flash whose pages are here, or on their way, need not go
//! there ([`ReadAhead::serve`]). A page of flash does not change until its block is erased, so what is here is always
//! what the flash holds: a unit that was written since is elsewhere.

mod pages;
pub mod section;
mod streams;

use std::ops::Range;

use media::{BlockAddr, OpId, PageAddr, ReadOp};

use pages::{Found, Pages};
use sim::Time;
use streams::Streams;

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pages read ahead, one per plane.
    pub pages: u64,
    /// Reads of flash whose pages were in the controller.
    pub hits: u64,
    /// Reads of flash that waited for pages on their way to the controller.
    pub late_hits: u64,
}

impl Stats {
    /// Returns the difference from `earlier`.
    pub fn since(&self, earlier: Stats) -> Stats {
        Stats {
            pages: self.pages - earlier.pages,
            hits: self.hits - earlier.hits,
            late_hits: self.late_hits - earlier.late_hits,
        }
    }
}

/// How a read of flash is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Its pages are in the controller.
    Now,
    /// Its pages are on their way; [`ReadAhead::end`] returns it.
    Later,
    /// By the flash.
    Not,
}

/// Reads that waited for pages.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Those whose pages are here.
    pub served: Vec<OpId>,
    /// Those that the flash must serve, since the read ahead failed.
    pub unserved: Vec<ReadOp>,
}

/// The read-ahead of a drive.
pub struct ReadAhead {
    streams: Streams,
    pages: Pages,
    /// Mapping units to be read ahead.
    due: Vec<Range<u32>>,
    /// Reads ahead in progress.
    loads: Vec<(OpId, PageAddr)>,
    /// Reads that wait for pages on their way.
    waiting: Vec<ReadOp>,
    unit_bytes: u64,
    /// Time to find pages that are here.
    wait: Time,
    stats: Stats,
}

impl ReadAhead {
    /// Creates the read-ahead of a drive with mapping units of `unit_bytes` in pages of `page_bytes`; `None` if it has none.
    pub fn new(section: &section::ReadAhead, unit_bytes: u64, page_bytes: u64) -> Option<ReadAhead> {
        let count = section.size / page_bytes;
        if count == 0 {
            return None;
        }
        // Half of a stream's share is ahead of it. The rest holds what is being read and was, until other pages need the room.
        let distance = section.size / u64::from(section.streams) / 2;
        Some(ReadAhead {
            streams: Streams::new(section.streams, section.after, distance),
            pages: Pages::new(count as usize),
            due: Vec::new(),
            loads: Vec::new(),
            waiting: Vec::new(),
            unit_bytes,
            wait: section.wait,
            stats: Stats::default(),
        })
    }

    /// Notes a read of `bytes` bytes from `offset` on by the host. What is to be read ahead of its stream is then [due](Self::due).
    pub fn note(&mut self, offset: u64, bytes: u64) {
        if let Some(ahead) = self.streams.note(offset..offset + bytes) {
            let unit = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
            self.due.push(unit(ahead.start / self.unit_bytes)..unit(ahead.end.div_ceil(self.unit_bytes)));
        }
    }

    /// Returns mapping units that are due to be read ahead, possibly beyond the capacity. Each range is returned once.
    pub fn due(&mut self) -> Option<Range<u32>> {
        self.due.pop()
    }

    /// Begins the read ahead `op` of whole pages, without the planes whose page is here or on its way. Returns the read to
    /// be submitted; `None` if no plane is left to read, or there is no room.
    pub fn begin(&mut self, op: ReadOp) -> Option<ReadOp> {
        let planes = self.pages.missing(op.page);
        let page = PageAddr { planes, ..op.page };
        if planes.count() == 0 || !self.pages.begin(page) {
            return None;
        }
        self.loads.push((op.id, page));
        self.stats.pages += u64::from(planes.count());
        Some(ReadOp { page, bytes: op.bytes / op.page.planes.count() * planes.count(), ..op })
    }

    /// Serves a read of flash by a command of the host.
    #[inline]
    pub fn serve(&mut self, op: &ReadOp) -> Served {
        match self.pages.find(op.page) {
            Found::Here => {
                self.stats.hits += 1;
                Served::Now
            }
            Found::Coming => {
                self.stats.late_hits += 1;
                self.waiting.push(*op);
                Served::Later
            }
            Found::Absent => Served::Not,
        }
    }

    /// Ends the operation `id`, if it is a read ahead, and returns the reads that waited for it alone.
    pub fn end(&mut self, id: OpId, read: bool) -> Option<Ended> {
        let at = self.loads.iter().position(|(load, _)| *load == id)?;
        let (_, page) = self.loads.swap_remove(at);
        self.pages.end(page, read);
        let mut ended = Ended::default();
        // In the order in which they came.
        self.waiting.retain(|op| match self.pages.find(op.page) {
            Found::Here => {
                ended.served.push(op.id);
                false
            }
            Found::Coming => true,
            Found::Absent => {
                ended.unserved.push(*op);
                false
            }
        });
        Some(ended)
    }

    /// Forgets the pages of a block that is erased.
    pub fn erase(&mut self, block: BlockAddr) {
        self.pages.erase(block);
    }

    /// Forgets everything, as a power cut does.
    pub fn clear(&mut self) {
        self.streams.clear();
        self.pages.clear();
        self.due.clear();
        self.loads.clear();
        self.waiting.clear();
    }

    /// Returns the time after which a read is served whose pages are in the controller.
    pub fn wait(&self) -> Time {
        self.wait
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        self.stats
    }
}
