//! What threads share: the last cache, the fills under way, the lines that go back.

use media::{LineKind, LineRequest};
use sim::Time;

use super::cache::{Cache, Look};
use super::config::CpuConfig;
use super::{SharedStats, WRITE_BACK, request};

/// A line on its way.
#[derive(Clone, Copy)]
pub(super) struct Fill {
    pub line: u64,
    /// Threads that wait for it, a bit each.
    pub threads: u64,
    /// The one that asked first, and when.
    pub first: u16,
    /// Of an uncached thread, the instruction that asked.
    pub index: u64,
    pub asked: Time,
}

/// What became of a line that a thread asked for below its own caches.
pub(super) enum Below {
    /// The last cache has it.
    Hit,
    /// This fill brings it; true if the thread had not waited for it before.
    Fill(u16, bool),
    /// The thread has no register for another miss.
    NoRegister,
    /// Memory has not taken enough lines back.
    NoRoom,
}

pub(super) struct Shared {
    pub config: CpuConfig,
    /// Picoseconds of an instruction's slot.
    pub slot: u64,
    /// The time of the last event: nothing is asked of memory before.
    pub now: Time,
    /// The kernel was asked for something.
    pub kernel_asked: bool,
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
            kernel_asked: false,
            stats: SharedStats::default(),
            llc: Cache::new(&config.llc),
            fills: Vec::new(),
            free_fills: Vec::new(),
            write_backs: 0,
            write_back_ids: 0,
            free_write_backs: Vec::new(),
            config,
        }
    }

    /// A thread, with `misses` under way, asks for a line.
    pub fn ask(&mut self, thread: u16, line: u64, misses: u32, out: &mut Vec<(Time, LineRequest)>) -> Below {
        let bit = 1 << thread;
        match self.llc.touch(line, false) {
            Look::Hit => {
                self.stats.llc_hits += 1;
                Below::Hit
            }
            Look::Pending(id) => {
                let fill = &mut self.fills[usize::from(id)];
                let new = fill.threads & bit == 0;
                if new && misses >= self.config.misses {
                    return Below::NoRegister;
                }
                fill.threads |= bit;
                self.stats.llc_merged += 1;
                Below::Fill(id, new)
            }
            Look::Miss if misses >= self.config.misses => Below::NoRegister,
            Look::Miss if self.write_backs >= self.config.write_backs => Below::NoRoom,
            Look::Miss => {
                let id = self.fill(Fill { line, threads: bit, first: thread, index: 0, asked: self.now }, out);
                self.take_in(line, false, Some(id), out);
                Below::Fill(id, true)
            }
        }
    }

    /// An uncached thread, with `misses` under way, loads or stores a line at instruction `index`.
    pub fn ask_memory(
        &mut self,
        thread: u16,
        line: u64,
        store: bool,
        index: u64,
        misses: u32,
        out: &mut Vec<(Time, LineRequest)>,
    ) -> Below {
        if store {
            if self.write_backs >= self.config.write_backs {
                return Below::NoRoom;
            }
            self.give_back(line, out);
            return Below::Hit;
        }
        if misses >= self.config.misses {
            return Below::NoRegister;
        }
        Below::Fill(self.fill(Fill { line, threads: 1 << thread, first: thread, index, asked: self.now }, out), true)
    }

    /// A line is asked of memory. The number of its fill.
    fn fill(&mut self, fill: Fill, out: &mut Vec<(Time, LineRequest)>) -> u16 {
        let id = self.free_fills.pop().unwrap_or(self.fills.len() as u16);
        match self.fills.get_mut(usize::from(id)) {
            Some(place) => *place = fill,
            None => self.fills.push(fill),
        }
        self.stats.fills += 1;
        out.push((self.now, request(u32::from(id), fill.line, LineKind::Fill)));
        id
    }

    /// A changed line comes from a thread's last cache.
    pub fn spill(&mut self, line: u64, out: &mut Vec<(Time, LineRequest)>) {
        if self.llc.touch(line, true) == Look::Miss {
            self.take_in(line, true, None, out);
        }
    }

    fn take_in(&mut self, line: u64, dirty: bool, fill: Option<u16>, out: &mut Vec<(Time, LineRequest)>) {
        if let Some(victim) = self.llc.insert(line, dirty, fill)
            && victim.dirty
        {
            self.give_back(victim.line, out);
        }
    }

    /// A line goes back to memory.
    fn give_back(&mut self, line: u64, out: &mut Vec<(Time, LineRequest)>) {
        let id = self.free_write_backs.pop().unwrap_or_else(|| {
            self.write_back_ids += 1;
            self.write_back_ids - 1
        });
        self.write_backs += 1;
        self.stats.write_backs += 1;
        out.push((self.now, request(WRITE_BACK + id, line, LineKind::WriteBack)));
    }

    /// Memory has taken a line back.
    pub fn taken(&mut self, id: u32) {
        self.write_backs -= 1;
        self.free_write_backs.push(id);
    }

    /// A line has come.
    pub fn filled(&mut self, id: u16) -> Fill {
        let fill = self.fills[usize::from(id)];
        self.llc.arrived(fill.line, id);
        self.free_fills.push(id);
        fill
    }

    pub fn drop_line(&mut self, line: u64) {
        self.llc.drop_line(line);
    }
}
