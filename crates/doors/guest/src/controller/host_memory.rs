//! The Host Memory Buffer (Feature 0Dh): its protocol is [`device::hmb::Hmb`]; here are its descriptors in guest memory
//! and its fate at a reset.
//!
//! A reset disables the buffer, and the host may return it with its contents (Memory Return) until it creates I/O
//! queues. Until then it is not known whether the map in it is lost: it is *unsettled*, and accesses of the translation
//! layer wait.

use device::nvme::MEMORY_PAGE;
use std::collections::BTreeSet;

use device::hmb::{Change, DESCRIPTOR, Descriptor, Hmb, Identify, Refusal, SetFeatures};
use host_interface::external::{Access, Lines, host_memory_lane};
use host_interface::{Output, hmb::Switched};
use link::Direction;
use sim::{Schedule, Time};

use super::admin::{Course, Outcome};
use super::{Controller, Event, Need};
use crate::entry::{Entry, Status};
use crate::lent::{Layout, Lent, LentStatistics};

/// Maximum number of descriptors, so that a command takes bounded time. Assumed: Linux sends at most 2,048.
const DESCRIPTORS_MAX: u32 = 65_536;

/// The buffer as seen by its controller.
#[derive(Clone, Debug)]
pub(super) struct HostMemory {
    hmb: Hmb,
    /// The command that last enabled it.
    last: Option<SetFeatures>,
    unsettled: bool,
    /// Tag of the command that takes it back.
    releasing: Option<u16>,
    /// Accesses that wait until it is settled.
    held: Vec<Deferred>,
    /// The part of the map in it.
    lent: Lent,
    /// Accesses in progress that loaded damaged data.
    damaged: BTreeSet<u32>,
}

/// An access that waits, or a frame that is freed after it.
#[derive(Clone, Debug)]
enum Deferred {
    Access { id: u32, bytes: u32, store: bool, lines: Option<(u32, u32, Vec<u8>)> },
    Free(u32),
}

impl HostMemory {
    pub fn new(identify: Identify, page: u64, layout: Layout) -> HostMemory {
        HostMemory {
            hmb: Hmb::new(identify, page),
            last: None,
            unsettled: false,
            releasing: None,
            held: Vec::new(),
            lent: Lent::new(layout),
            damaged: BTreeSet::new(),
        }
    }

    pub fn statistics(&self) -> Option<LentStatistics> {
        (self.identify().hmpre > 0).then(|| self.lent.statistics())
    }

    /// Returns whether the access `id`, which ends, found the data that was stored. (Asked again, it did: what was
    /// damaged has been recovered.)
    pub fn is_intact(&mut self, id: u32) -> bool {
        !self.damaged.remove(&id)
    }

    pub fn identify(&self) -> Identify {
        self.hmb.identify()
    }

    pub const fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Performs a controller-level reset.
    pub fn reset(&mut self) {
        // While it was being released, its contents are lost at once.
        self.unsettled = self.unsettled || self.hmb.is_enabled();
        self.releasing = None;
        self.damaged.clear();
        // The translation layer forgets its accesses, but not that it freed places.
        self.held.retain(|held| matches!(held, Deferred::Free(_)));
        self.hmb.reset();
        if !self.unsettled {
            self.forget();
        }
    }

    /// Forgets the contents, which are lost or no longer needed.
    fn forget(&mut self) {
        self.held.clear();
        self.damaged.clear();
        self.lent.forget();
    }

    /// Forgets it, because the drive lost power.
    pub fn power_cut(&mut self) {
        self.hmb.power_cut();
        (self.last, self.unsettled, self.releasing) = (None, false, None);
        self.forget();
    }

    /// Returns whether it is enabled, and the Host Memory Buffer Attributes.
    pub fn attributes(&self) -> Result<(bool, Vec<u8>), Status> {
        if self.identify().hmpre == 0 {
            return Err(Status::INVALID_FIELD);
        }
        let mut attributes = vec![0; 4096];
        if let Some(last) = &self.last {
            let words = [last.size, last.list as u32, (last.list >> 32) as u32, last.entries];
            for (to, word) in attributes.chunks_exact_mut(4).zip(words) {
                to.copy_from_slice(&word.to_le_bytes());
            }
        }
        Ok((self.hmb.is_enabled(), attributes))
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        match refusal {
            Refusal::InvalidField(_) => Status::INVALID_FIELD,
            Refusal::CommandSequence(_) => Status::SEQUENCE_ERROR,
        }
    }
}

impl Controller {
    /// Performs Set Features for the buffer.
    pub(super) fn set_host_memory(&mut self, now: Time, tag: u16, entry: &Entry, out: &mut Vec<Output>) -> Outcome {
        let command = SetFeatures {
            enable: entry.dword(11) & 1 == 1,
            memory_return: entry.dword(11) >> 1 & 1 == 1,
            size: entry.dword(12),
            list: entry.quad(13),
            entries: entry.dword(15),
        };
        if command.enable && command.entries > DESCRIPTORS_MAX {
            return Err(Status::INVALID_FIELD);
        }
        // Other memory than before a reset: the contents of the old one are lost first.
        if self.host_memory.unsettled && !(command.enable && command.memory_return) {
            self.needs.push(Need::LoseHostMemory(tag));
            return Ok(Course::Waits);
        }
        let list = if command.enable { self.descriptors(now, tag, &command)? } else { Vec::new() };
        match self.host_memory.hmb.set_features(command, &list)? {
            Change::Enabled { kept: true } if self.host_memory.unsettled => {
                self.host_memory.unsettled = false;
                self.needs.push(Need::ReleaseHeld);
            }
            // New memory, or returned memory of whose contents the drive needs nothing any more.
            Change::Enabled { .. } => {
                let HostMemory { hmb, lent, .. } = &mut self.host_memory;
                lent.lend(&hmb.usable(), MEMORY_PAGE);
                self.needs.push(Need::LendHostMemory(hmb.bytes()));
            }
            Change::Releasing => {
                self.host_memory.releasing = Some(tag);
                out.push(Output::HostMemorySwitched(Switched::Releasing));
                return Ok(Course::Waits);
            }
            Change::Nothing => return Ok(Course::Ends(0)),
        }
        self.host_memory.last = Some(command);
        Ok(Course::Ends(0))
    }

    /// Reads the descriptor list.
    fn descriptors(&mut self, now: Time, tag: u16, command: &SetFeatures) -> Result<Vec<Descriptor>, Status> {
        let bytes = u64::from(command.entries) * u64::from(DESCRIPTOR);
        if !self.memory.contains(command.list, bytes) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        let mut list = vec![0; bytes as usize];
        self.memory.read(command.list, &mut list).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        let at = self.link.fetch(now, bytes as u32);
        self.device.sent(tag, at);
        let quad = |entry: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| entry[at + i]));
        let descriptor = |entry: &[u8]| Descriptor { address: quad(entry, 0), pages: quad(entry, 8) as u32 };
        let list: Vec<Descriptor> = list.chunks_exact(DESCRIPTOR as usize).map(descriptor).collect();
        let is_memory = |entry: &Descriptor| self.memory.contains(entry.address, u64::from(entry.pages) * MEMORY_PAGE);
        if list.iter().all(is_memory) { Ok(list) } else { Err(Status::INVALID_FIELD) }
    }

    /// Reports that the translation layer needs nothing more from the buffer.
    pub(super) fn buffer_released(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        self.host_memory.hmb.released();
        self.host_memory.forget();
        if let Some(tag) = self.host_memory.releasing.take() {
            self.finish(now, tag, s);
        }
    }

    /// Accesses the buffer. Map entries are written to guest memory, or read from it and checked; other data that the
    /// drive keeps there crosses the link, but its bytes stay in the drive.
    pub(super) fn access_buffer(&mut self, now: Time, access: Access<'_>, s: &mut dyn Schedule<Event>) {
        let Access { id, bytes, store, lines } = access;
        if self.host_memory.unsettled {
            let lines = lines.map(|Lines { frame, first, entries }| (frame, first, entries.to_vec()));
            return self.host_memory.held.push(Deferred::Access { id, bytes, store, lines });
        }
        let at = if store {
            self.transfer(now, Direction::ToHost, u64::from(bytes)).sent
        } else {
            self.transfer(now, Direction::ToDevice, u64::from(bytes)).arrives
        };
        s.at(host_memory_lane(), at, Event::HostMemory(id));
        let HostMemory { lent, damaged, .. } = &mut self.host_memory;
        match lines {
            Some(lines) if store => lent.store(lines, &mut *self.memory),
            Some(lines) if !lent.load(lines, &mut *self.memory) => {
                damaged.insert(id);
            }
            _ => {}
        }
    }

    /// Frees the place of frame `frame` in the buffer.
    pub(super) fn free_in_buffer(&mut self, frame: u32) {
        if self.host_memory.unsettled {
            return self.host_memory.held.push(Deferred::Free(frame));
        }
        self.host_memory.lent.free(frame, &mut *self.memory);
    }

    /// Performs the accesses that waited while the buffer was unsettled. The host has returned it.
    pub fn release_held(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        for held in std::mem::take(&mut self.host_memory.held) {
            match held {
                Deferred::Access { id, bytes, store, lines } => {
                    let lines = lines.as_ref();
                    let lines = lines.map(|(frame, first, entries)| Lines { frame: *frame, first: *first, entries });
                    self.access_buffer(now, Access { id, bytes, store, lines }, s);
                }
                Deferred::Free(frame) => self.free_in_buffer(frame),
            }
        }
    }

    /// Resumes the command `tag` after the buffer's contents were lost and recovered, which takes until `at`.
    pub fn host_memory_lost(&mut self, at: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        self.host_memory.unsettled = false;
        self.host_memory.forget();
        self.repeat_in_background(at, s);
        super::Step::Retry.at(at, u32::from(tag), s);
    }
}
