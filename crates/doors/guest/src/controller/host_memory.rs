//! The Host Memory Buffer (Feature 0Dh): its protocol is [`device::hmb::Hmb`]; here are its descriptors in guest memory
//! and its fate at a reset.
//!
//! A reset disables the buffer, and the host may return it with its contents (Memory Return) until it creates I/O
//! queues. Until then it is not known whether the map in it is lost: it is *unsettled*, and accesses of the translation
//! layer wait.

use device::hmb::{Change, DESCRIPTOR, Descriptor, Hmb, Identify, Refusal, SetFeatures};
use host_interface::external::host_memory_lane;
use host_interface::{Output, hmb::Switched};
use link::Direction;
use sim::{Schedule, Time};

use super::admin::{Course, Outcome};
use super::{Controller, Event, Need};
use crate::entry::{Entry, Status};

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
    /// Accesses that wait until it is settled: name, bytes and direction.
    held: Vec<(u32, u32, bool)>,
}

impl HostMemory {
    pub fn new(identify: Identify, page: u64) -> HostMemory {
        HostMemory { hmb: Hmb::new(identify, page), last: None, unsettled: false, releasing: None, held: Vec::new() }
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
        self.held.clear();
        self.hmb.reset();
    }

    /// Forgets it, because the drive lost power.
    pub fn power_cut(&mut self) {
        self.hmb.power_cut();
        (self.last, self.unsettled, self.releasing) = (None, false, None);
        self.held.clear();
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
        let was_unsettled = self.host_memory.unsettled;
        if command.memory_return && command.enable && !was_unsettled {
            // Nothing of the old contents is known any more.
            return Err(Status::SEQUENCE_ERROR);
        }
        match self.host_memory.hmb.set_features(command, &list)? {
            Change::Enabled { kept: true } => {
                self.host_memory.unsettled = false;
                self.needs.push(Need::ReleaseHeld);
            }
            Change::Enabled { kept: false } => self.needs.push(Need::LendHostMemory(self.host_memory.hmb.bytes())),
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
        let is_memory = |entry: &Descriptor| self.memory.contains(entry.address, u64::from(entry.pages) * self.page);
        if list.iter().all(is_memory) { Ok(list) } else { Err(Status::INVALID_FIELD) }
    }

    /// Reports that the translation layer needs nothing more from the buffer.
    pub(super) fn buffer_released(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        self.host_memory.hmb.released();
        if let Some(tag) = self.host_memory.releasing.take() {
            self.finish(now, tag, s);
        }
    }

    /// Accesses the buffer. (The map in it is modeled by its timing: the bytes cross the link, but the drive's tables are
    /// its own.)
    pub(super) fn access_buffer(
        &mut self,
        now: Time,
        (id, bytes, store): (u32, u32, bool),
        s: &mut dyn Schedule<Event>,
    ) {
        if self.host_memory.unsettled {
            return self.host_memory.held.push((id, bytes, store));
        }
        let at = if store {
            self.transfer(now, Direction::ToHost, u64::from(bytes)).sent
        } else {
            self.transfer(now, Direction::ToDevice, u64::from(bytes)).arrives
        };
        s.at(host_memory_lane(), at, Event::HostMemory(id));
    }

    /// Performs the accesses that waited while the buffer was unsettled. The host has returned it.
    pub fn release_held(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        for access in std::mem::take(&mut self.host_memory.held) {
            self.access_buffer(now, access, s);
        }
    }

    /// Resumes the command `tag` after the buffer's contents were lost and recovered, which takes until `at`.
    pub fn host_memory_lost(&mut self, at: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        self.host_memory.unsettled = false;
        self.host_memory.held.clear();
        self.repeat_in_background(at, s);
        super::Step::Retry.at(at, u32::from(tag), s);
    }
}
