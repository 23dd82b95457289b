//! The parts that threads share: the last-level cache, the fills in flight, and the write-backs.

use media::{LineKind, LineRequest};
use sim::Time;

use super::cache::{Cache, Lookup};
use super::config::CpuConfig;
use super::{SharedStats, WRITE_BACK, request};

/// A fill in flight.
#[derive(Clone, Copy)]
pub(super) struct Fill {
    pub line: u64,
    /// The waiting threads, one bit each.
    pub threads: u64,
    /// The thread that requested it first.
    pub first: u16,
    /// For an uncached thread: the requesting instruction.
    pub index: u64,
    pub requested: Time,
    /// The threads for which the kernel waits, one bit each.
    pub kernel: u64,
}

/// The result of a lookup below a thread's private caches.
pub(super) enum LlcResult {
    /// The last-level cache has the line.
    Hit,
    /// This fill provides the line; true if the thread was not yet waiting for it.
    Fill(u16, bool),
    /// The thread has no free miss register.
    NoRegister,
    /// Memory has not accepted enough write-backs.
    WriteBacksFull,
}

pub(super) struct Shared {
    pub config: CpuConfig,
    /// Dispatch time per instruction in picoseconds.
    pub slot: u64,
    /// The time of the last event; no request to memory is issued before it.
    pub now: Time,
    /// Whether the kernel was called.
    pub kernel_called: bool,
    pub stats: SharedStats,
    llc: Cache,
    fills: Vec<Fill>,
    free_fills: Vec<u16>,
    write_backs: u32,
    write_back_ids: u32,
    free_write_backs: Vec<u32>,
}

impl Shared {
    pub fn new(config: CpuConfig) -> Shared {
        Shared {
            slot: config.slot(),
            now: Time::ZERO,
            kernel_called: false,
            stats: SharedStats::default(),
            llc: Cache::new(config.llc.size, config.llc.ways),
            fills: Vec::new(),
            free_fills: Vec::new(),
            write_backs: 0,
            write_back_ids: 0,
            free_write_backs: Vec::new(),
            config,
        }
    }

    /// Looks up a line in the last-level cache for a thread with `misses` fills in flight.
    pub fn look_up(&mut self, thread: u16, line: u64, misses: u32, out: &mut Vec<(Time, LineRequest)>) -> LlcResult {
        let bit = 1 << thread;
        match self.llc.touch(line, false) {
            Lookup::Hit => {
                self.stats.llc_hits += 1;
                LlcResult::Hit
            }
            Lookup::Pending(id) => {
                let fill = &mut self.fills[usize::from(id)];
                let new = fill.threads & bit == 0;
                if new && misses >= self.config.misses {
                    return LlcResult::NoRegister;
                }
                fill.threads |= bit;
                self.stats.llc_merged += 1;
                LlcResult::Fill(id, new)
            }
            Lookup::Miss if misses >= self.config.misses => LlcResult::NoRegister,
            Lookup::Miss if self.write_backs >= self.config.write_backs => LlcResult::WriteBacksFull,
            Lookup::Miss => {
                let id = self
                    .fill(Fill { line, threads: bit, first: thread, index: 0, requested: self.now, kernel: 0 }, out);
                self.insert(line, false, Some(id), out);
                LlcResult::Fill(id, true)
            }
        }
    }

    /// Loads or stores a line for an uncached thread with `misses` fills in flight, at instruction `index`.
    pub fn access_memory(
        &mut self,
        thread: u16,
        line: u64,
        store: bool,
        index: u64,
        misses: u32,
        out: &mut Vec<(Time, LineRequest)>,
    ) -> LlcResult {
        if store {
            if self.write_backs >= self.config.write_backs {
                return LlcResult::WriteBacksFull;
            }
            self.write_back(line, out);
            return LlcResult::Hit;
        }
        if misses >= self.config.misses {
            return LlcResult::NoRegister;
        }
        LlcResult::Fill(
            self.fill(Fill { line, threads: 1 << thread, first: thread, index, requested: self.now, kernel: 0 }, out),
            true,
        )
    }

    /// Accesses a line of the kernel's own memory for a thread. Returns whether the last-level cache has it. The kernel
    /// waits for each line, so that neither miss registers nor pending write-backs hold it up.
    pub fn access_for_kernel(
        &mut self,
        thread: u16,
        line: u64,
        store: bool,
        out: &mut Vec<(Time, LineRequest)>,
    ) -> bool {
        match self.llc.touch(line, store) {
            Lookup::Hit => return true,
            Lookup::Pending(id) => self.fills[usize::from(id)].kernel |= 1 << thread,
            Lookup::Miss => {
                let kernel = 1 << thread;
                let fill = Fill { line, threads: 0, first: thread, index: 0, requested: self.now, kernel };
                let id = self.fill(fill, out);
                self.insert(line, store, Some(id), out);
            }
        }
        false
    }

    /// Requests a line from memory and returns its fill number.
    fn fill(&mut self, fill: Fill, out: &mut Vec<(Time, LineRequest)>) -> u16 {
        let id = self.free_fills.pop().unwrap_or(self.fills.len() as u16);
        self.stats.fills += u64::from(fill.kernel == 0);
        match self.fills.get_mut(usize::from(id)) {
            Some(place) => *place = fill,
            None => self.fills.push(fill),
        }
        out.push((self.now, request(u32::from(id), fill.line, LineKind::Fill)));
        id
    }

    /// Accepts a modified line evicted from a thread's second-level cache.
    pub fn spill(&mut self, line: u64, out: &mut Vec<(Time, LineRequest)>) {
        if self.llc.touch(line, true) == Lookup::Miss {
            self.insert(line, true, None, out);
        }
    }

    fn insert(&mut self, line: u64, dirty: bool, fill: Option<u16>, out: &mut Vec<(Time, LineRequest)>) {
        if let Some(victim) = self.llc.insert(line, dirty, fill)
            && victim.dirty
        {
            self.write_back(victim.line, out);
        }
    }

    /// Writes a line back to memory.
    fn write_back(&mut self, line: u64, out: &mut Vec<(Time, LineRequest)>) {
        let id = self.free_write_backs.pop().unwrap_or_else(|| {
            self.write_back_ids += 1;
            self.write_back_ids - 1
        });
        self.write_backs += 1;
        self.stats.write_backs += 1;
        out.push((self.now, request(WRITE_BACK + id, line, LineKind::WriteBack)));
    }

    /// Handles the acceptance of a write-back by memory.
    pub fn taken(&mut self, id: u32) {
        self.write_backs -= 1;
        self.free_write_backs.push(id);
    }

    /// Handles the arrival of a fill.
    pub fn filled(&mut self, id: u16) -> Fill {
        let fill = self.fills[usize::from(id)];
        self.llc.arrived(fill.line, id);
        self.free_fills.push(id);
        fill
    }

    /// Marks the modified lines of the last-level cache as clean and appends them to `lines`.
    pub fn clean(&mut self, lines: &mut Vec<u64>) {
        self.llc.clean(lines);
    }

    pub fn modified_lines(&self) -> usize {
        self.llc.modified()
    }

    pub fn forget_lines(&mut self) {
        self.llc.forget();
    }

    pub fn drop_line(&mut self, line: u64) {
        self.llc.drop_line(line);
    }
}
