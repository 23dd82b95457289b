//! The map entries that an access to host memory moves, for a performer whose host memory is real, and the way back to
//! flash if they were damaged there.
//!
//! An entry is four bytes, little-endian: zero for a unit that is nowhere, else its number in flash plus one.

use media::{Flash, OpId};

use crate::config::HostMemory;
use crate::map::frames::{ABSENT, FETCHING};
use crate::request::operation::{Operation, OperationKind};
use crate::sizes::ENTRY;
use crate::{Actions, Ftl, HostMemoryLoss};

/// Entries per line of host memory.
const ENTRIES: u32 = HostMemory::LINE / ENTRY;

/// The place of map entries in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLines {
    /// Number of the frame, until [`Action::HostMemoryFree`](media::Action::HostMemoryFree).
    pub frame: u32,
    /// First line in the frame.
    pub first: u32,
}

impl Ftl {
    /// Records that the access `id` moves the entries of `count` units from `unit` on, all of one translation unit.
    pub(super) fn moves_entries(&mut self, id: OpId, unit: u32, count: u32) {
        let operation = &mut self.operations[id];
        (operation.logical, operation.count) = (unit, count);
    }

    /// Records that the access `id` moves all entries of translation unit `t`.
    pub(super) fn moves_translation(&mut self, id: OpId, t: u32) {
        let units = self.cache().mapped_by(t);
        self.moves_entries(id, units.start, units.end - units.start);
    }

    /// Replaces `entries` by the entries that the access `id` to host memory stores, or should find there: whole lines
    /// of 64 bytes. Returns their place, or `None` if the access moves no part of the map.
    ///
    /// # Panics
    /// Panics if `id` is no such access in progress.
    pub fn host_memory_lines(&self, id: OpId, entries: &mut Vec<u8>) -> Option<HostLines> {
        let Operation { kind, logical, count, .. } = self.operations[id];
        assert!(
            matches!(
                kind,
                OperationKind::MapLookup | OperationKind::HostCopy | OperationKind::HostLoad | OperationKind::BringIn
            ),
            "{kind:?} of memory"
        );
        if !matches!(kind, OperationKind::MapLookup | OperationKind::HostCopy) || count == 0 {
            return None;
        }
        let map = self.map.cache.as_ref()?;
        let t = map.translation(logical)?;
        let (start, end) = (map.mapped_by(t).start, map.mapped_by(t).end);
        let lines = (logical - start) / ENTRIES..(logical - start + count).div_ceil(ENTRIES);
        entries.clear();
        for at in lines.start * ENTRIES..lines.end * ENTRIES {
            // Translation units are whole, even the last one, which maps fewer units.
            let raw = if at < end - start { self.home(start + at).raw() } else { 0 };
            entries.extend_from_slice(&raw.to_le_bytes());
        }
        let (frame, within) = map.place_away(t);
        let per_unit = (1u32 << self.layout.unit_shift) / HostMemory::LINE;
        Some(HostLines { frame, first: within * per_unit + lines.start })
    }

    /// Reports that the access `id` found other entries in host memory than were stored there. The translation unit is
    /// dropped from host memory and the access repeated as a lookup in flash; if its newest version was only in host
    /// memory, its entries are recovered from spare areas. [`done`](Self::done) must follow after the returned loss's time.
    ///
    /// # Panics
    /// Panics if `id` does not load a part of the map.
    pub fn host_memory_damaged(&mut self, id: OpId, flash: &impl Flash, out: &mut Actions) -> HostMemoryLoss {
        let Operation { kind, subject: t, .. } = self.operations[id];
        match kind {
            OperationKind::MapLookup => {
                self.operations[id].mask = 1;
                if self.drop_damaged(t, out) { self.find_entries(&[t], flash) } else { HostMemoryLoss::default() }
            }
            OperationKind::HostCopy => {
                // It is being written back, which makes it current.
                let stale = self.cache().stale[t as usize];
                let loss = self.find_entries(&[t], flash);
                self.cache().stale[t as usize] = stale;
                loss
            }
            _ => panic!("{kind:?} loads no part of the map"),
        }
    }

    /// Drops translation unit `t` if it is in host memory. Returns true if its newest version was only there.
    fn drop_damaged(&mut self, t: u32, out: &mut Actions) -> bool {
        let map = self.cache();
        let frame = map.state[t as usize];
        if frame == ABSENT || frame & FETCHING != 0 || !map.frames[frame as usize].away {
            return false;
        }
        map.state[t as usize] = ABSENT;
        let changed = std::mem::replace(&mut map.dirty[t as usize], false);
        let mut span = map.span(frame);
        if span.all(|other| map.state[other as usize] != frame) {
            self.drop_frame(frame, out);
        }
        changed
    }
}
