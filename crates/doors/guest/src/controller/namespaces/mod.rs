//! Namespaces: parts of the drive's capacity, each with its own block size, and Format NVM (section 5.23).

mod management;
mod table;

use std::collections::VecDeque;

use media::{Op, Request};
use sim::{Schedule, Time};

pub(super) use table::Namespaces;

use super::events::Notice;
use super::{Controller, Event, Need};
use crate::entry::{Entry, Status};

/// Block sizes that a namespace can be formatted with, as powers of two (LBADS), in order of the format's index.
pub(super) const FORMATS: [u8; 2] = [9, 12];
/// Bytes of the largest logical block.
pub(super) const BLOCK_MAX: u64 = 4096;
/// Maximum bytes that one request to the translation layer trims, so that a step takes bounded time.
const TRIM_MAX: u64 = 1 << 30;

/// Configuration of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceConfig {
    /// Capacity in bytes: a multiple of 4,096 and of the mapping unit.
    pub bytes: u64,
    /// Bytes of a logical block: 512 or 4096.
    pub block: u32,
}

/// A namespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Namespace {
    /// First byte on the drive.
    pub offset: u64,
    pub bytes: u64,
    /// Index of its format.
    pub format: usize,
    /// It consists of zones.
    pub is_zoned: bool,
    /// The controller has access to it.
    pub is_attached: bool,
    /// Its number among the namespaces that a host has created; 0 if the drive came with it.
    pub creation: u32,
}

impl Namespace {
    pub const fn shift(&self) -> u8 {
        FORMATS[self.format]
    }

    /// Returns the formats that it can have, and the index of its own. Zones have blocks of one mapping unit.
    pub fn formats(&self) -> (&'static [u8], usize) {
        if self.is_zoned { (&FORMATS[self.format..=self.format], 0) } else { (&FORMATS, self.format) }
    }

    /// Returns the number of logical blocks.
    pub const fn blocks(&self) -> u64 {
        self.bytes >> self.shift()
    }

    /// Returns the range on the drive, as offset and bytes, of `count` blocks from `first` on, if they exist.
    pub fn range(&self, first: u64, count: u64) -> Option<(u64, u64)> {
        let end = first.checked_add(count).filter(|end| *end <= self.blocks());
        end.map(|_| (self.offset + (first << self.shift()), count << self.shift()))
    }
}

/// Returns the requests that deallocate a range.
pub(super) fn trims(offset: u64, bytes: u64) -> impl Iterator<Item = Request> {
    let steps = bytes.div_ceil(TRIM_MAX);
    (0..steps).map(move |step| {
        let from = step * TRIM_MAX;
        Request::new(Op::Trim, offset + from, TRIM_MAX.min(bytes - from))
    })
}

/// All namespaces.
pub(super) const ALL: u32 = u32::MAX;

impl Controller {
    /// Returns the requests that format one or all namespaces, after checking the command's fields. The block
    /// size changes at once; no other command of the namespace may be in progress.
    ///
    /// # Errors
    /// Fails with the status of the command.
    pub(super) fn format(
        &mut self,
        now: Time,
        entry: &Entry,
        s: &mut dyn Schedule<Event>,
    ) -> Result<VecDeque<Request>, Status> {
        let fields = entry.dword(10);
        let (format, metadata, protection, erase) = (fields & 15, fields >> 4 & 1, fields >> 5 & 15, fields >> 9 & 7);
        if metadata != 0 || protection != 0 {
            return Err(Status::INVALID_FORMAT);
        }
        if erase > 2 {
            return Err(Status::INVALID_FIELD);
        }
        let identifiers: Vec<u32> = match entry.namespace() {
            ALL => self.namespaces.identifiers().collect(),
            one if self.active(one).is_some() => vec![one],
            one => return Err(self.absent(one)),
        };
        let formattable = |identifier: &u32| {
            let namespace = self.namespaces.get(*identifier);
            namespace.is_some_and(|namespace| (format as usize) < namespace.formats().0.len())
        };
        if !identifiers.iter().all(formattable) {
            return Err(Status::INVALID_FORMAT);
        }
        let mut plan = VecDeque::new();
        for identifier in identifiers {
            if let Some(namespace) = self.namespaces.get_mut(identifier) {
                if !namespace.is_zoned {
                    namespace.format = format as usize;
                }
                let namespace = *namespace;
                plan.extend(self.erasure(&namespace));
                self.changed_namespaces.insert(identifier);
            }
        }
        plan.extend(self.flushes());
        self.notice(now, Notice::NamespaceChanged, s);
        self.needs.push(Need::SaveState);
        Ok(plan)
    }
}
