//! The requests in progress, by dense numbers that are reused.

use sim::Time;

use crate::request::Request;

/// A request in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProgress {
    pub id: u64,
    pub at: Time,
    pub request: Request,
    /// What it counts towards the limit of outstanding requests.
    pub units: u32,
    /// Lines that main memory has not answered.
    pub lines: u32,
}

/// A table of requests in progress.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<InProgress>,
    free: Vec<u32>,
}

impl Slots {
    /// Adds a request and returns its number.
    #[inline]
    pub fn open(&mut self, entry: InProgress) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Removes a request and returns its entry.
    #[inline]
    pub fn close(&mut self, slot: u32) -> &InProgress {
        self.free.push(slot);
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &InProgress {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut InProgress {
        &mut self.slots[slot as usize]
    }
}
