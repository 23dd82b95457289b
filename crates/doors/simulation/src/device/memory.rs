//! Main memory below the last-level cache: requests of any number of lines.

use main_memory::{HybridError, MainMemory, MemoryCall};
use media::{LINE, LineKind, LineRequest, Status};
use sim::{Streams, Time};
use storage::Completion;
use system::System;

use crate::request::{Op, Request};
use crate::slots::Slots;

/// Main memory, and the requests to which the lines in progress belong.
pub(crate) struct Memory {
    pub memory: MainMemory,
    /// Slot of the request of each line in progress, by the line's number.
    lines: Vec<u32>,
    free: Vec<u32>,
    answers: Vec<(u32, Time)>,
}

impl Memory {
    pub fn new(system: &System, streams: &Streams) -> Result<Memory, HybridError> {
        let mut memory = MainMemory::new(system, streams)?;
        memory.is_set_up();
        Ok(Memory { memory, lines: Vec::new(), free: Vec::new(), answers: Vec::new() })
    }

    /// Returns whether it is flash behind DRAM, which keeps states.
    pub fn keeps_states(&self) -> bool {
        matches!(self.memory, MainMemory::Hybrid(_))
    }

    /// Submits a request whose slot counts its lines.
    #[inline]
    pub fn submit(&mut self, now: Time, slot: u32, request: &Request) {
        let kind = match request.op {
            Op::Read => LineKind::Fill,
            Op::Write => LineKind::WriteBack,
            Op::Flush | Op::Rollback | Op::Trim => {
                let id = self.number(slot);
                let call = if request.op == Op::Rollback { MemoryCall::Rollback } else { MemoryCall::Sync };
                return self.memory.call(now, id, call);
            }
        };
        for line in 0..request.bytes / LINE {
            let id = self.number(slot);
            self.memory.submit(now, LineRequest { id, address: request.address + line * LINE, kind });
        }
    }

    /// Returns a free line number.
    #[inline]
    fn number(&mut self, slot: u32) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.lines[id as usize] = slot;
                id
            }
            None => {
                self.lines.push(slot);
                self.lines.len() as u32 - 1
            }
        }
    }

    /// Advances to the first time at which a request completes, at most to `until`. Returns whether one does.
    #[inline]
    pub fn advance(&mut self, until: Time, slots: &mut Slots, done: &mut Vec<Completion>) -> bool {
        loop {
            self.memory.advance_to_completion(until, &mut self.answers);
            if self.answers.is_empty() {
                return false;
            }
            for (id, at) in self.answers.drain(..) {
                self.free.push(id);
                let slot = self.lines[id as usize];
                let entry = slots.get_mut(slot);
                entry.lines -= 1;
                if entry.lines == 0 {
                    let status = if self.memory.fault().is_none() { Status::Ok } else { Status::Failed };
                    done.push(Completion { io: slot, status, submitted: entry.at, at });
                }
            }
            if !done.is_empty() {
                return true;
            }
        }
    }
}
