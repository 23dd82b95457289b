//! Calls of threads that main memory serves: the processor's modified lines come first.

use std::collections::{BTreeSet, VecDeque};

use host::cpu::Cpu;
use media::{Act, LineKind, LineRequest, Step};
use sim::Time;

use super::frames::Frames;
use super::{MainMemory, MemoryCall};

/// First request number of lines that a call writes back, and first one of calls.
pub(super) const FLUSH: u32 = 1 << 30;
pub(super) const CALL: u32 = FLUSH + FLUSHES;
const FLUSHES: u32 = 1 << 29;

/// Calls on their way to main memory.
#[derive(Default)]
pub(super) struct Calls {
    /// Number of lines written back so far, and the numbers of those that memory has not accepted.
    flushed: u64,
    outstanding: BTreeSet<u64>,
    /// Calls that wait for all lines below a number, in order.
    waiting: VecDeque<(u64, u32, MemoryCall)>,
}

impl Calls {
    /// Makes the call `step` of `thread`: a sync writes back all modified lines of the processor's caches first, a rollback
    /// drops all lines.
    pub fn begin(
        &mut self,
        now: Time,
        (thread, step): (u16, Step),
        cpu: &mut Cpu,
        frames: Option<&Frames>,
        memory: &mut MainMemory,
    ) {
        let call = match step.act {
            Act::Sync => {
                for address in cpu.write_back_all() {
                    let address = frames.map_or(address, |frames| frames.place(address));
                    let id = FLUSH + (self.flushed % u64::from(FLUSHES)) as u32;
                    self.outstanding.insert(self.flushed);
                    self.flushed += 1;
                    memory.submit(now, LineRequest { id, address, kind: LineKind::WriteBack });
                }
                MemoryCall::Sync
            }
            Act::Rollback => {
                cpu.forget_lines();
                MemoryCall::Rollback
            }
            Act::Permanent => {
                let (address, bytes) = (step.address, u64::from(step.bytes));
                let ranges = frames.map_or(vec![(address, bytes)], |frames| frames.parts(address, bytes).collect());
                MemoryCall::Permanent { ranges }
            }
            other => unreachable!("{other:?} is no call of memory"),
        };
        self.waiting.push_back((self.flushed, CALL + u32::from(thread), call));
        self.pass_on(now, memory);
    }

    /// Handles the acceptance of a line.
    pub fn accepted(&mut self, now: Time, id: u32, memory: &mut MainMemory) {
        let low = u64::from(id - FLUSH);
        let number = self.outstanding.iter().copied().find(|number| number % u64::from(FLUSHES) == low);
        self.outstanding.remove(&number.expect("a line that a call wrote back"));
        self.pass_on(now, memory);
    }

    /// Passes calls on whose lines have been accepted.
    fn pass_on(&mut self, now: Time, memory: &mut MainMemory) {
        let first = self.outstanding.first().copied().unwrap_or(u64::MAX);
        while self.waiting.front().is_some_and(|(lines, ..)| *lines <= first) {
            let (_, id, call) = self.waiting.pop_front().expect("a call waits");
            memory.call(now, id, call);
        }
    }
}
