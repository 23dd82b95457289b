//! I/O Management Receive and Send (7.3 and 7.4): the status of reclaim unit handles, and their update.

use device::nvme::MEMORY_PAGE;
use std::collections::VecDeque;

use media::Request;
use sim::{Schedule, Time};

use super::super::{Controller, Event, Need};
use super::events::PlacementEvent;
use crate::entry::{Entry, Status, opcode};
use crate::pointers;

/// Management operations (MO).
const NO_ACTION: u32 = 0;
const HANDLES: u32 = 1;
/// Bytes of the header of the status, and of a handle's descriptor.
const HEADER: usize = 16;
const DESCRIPTOR: usize = 32;

/// Returns the bytes that a placement identifier list has by the field NPID.
const fn list_bytes(entry: &Entry) -> u64 {
    (entry.dword(10) as u64 >> 16) * 2 + 2
}

impl Controller {
    /// Checks an I/O Management command. Returns its plan: an update first writes out what is in the write cache,
    /// since that belongs to the reclaim units in use so far.
    pub(in super::super) fn plan_management(&self, entry: &Entry) -> Result<(VecDeque<Request>, u64), Status> {
        if self.placement.is_none() {
            return Err(Status::INVALID_OPCODE);
        }
        self.namespaces.get(entry.namespace()).ok_or(Status::INVALID_NAMESPACE)?;
        match (entry.dword(10) & 0xff, entry.opcode()) {
            (NO_ACTION, _) => Ok((VecDeque::new(), 0)),
            (HANDLES, opcode::IO_MANAGEMENT_SEND) => {
                self.listed_handles(entry)?;
                Ok((VecDeque::from([Request::flush()]), list_bytes(entry)))
            }
            (HANDLES, _) if (u64::from(entry.dword(11)) + 1) * 4 <= self.transfer_max => Ok((VecDeque::new(), 0)),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Returns the handles that a command updates, a bit each.
    ///
    /// # Errors
    /// Fails with the status of the command if its list has too many or invalid placement identifiers.
    pub(in super::super) fn listed_handles(&self, entry: &Entry) -> Result<u16, Status> {
        let Some(placement) = &self.placement else { return Ok(0) };
        if entry.opcode() != opcode::IO_MANAGEMENT_SEND || entry.dword(10) & 0xff != HANDLES {
            return Ok(0);
        }
        let (handles, bytes) = (placement.config.handles, list_bytes(entry));
        if bytes > u64::from(handles) * 2 {
            return Err(Status::INVALID_FIELD);
        }
        let mut list = vec![0; bytes as usize];
        let segments = pointers::segments(&*self.memory, entry, bytes, MEMORY_PAGE)?;
        if !pointers::gather(&*self.memory, &segments, &mut list) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        list.as_chunks().0.iter().try_fold(0, |mask, identifier| {
            let identifier = u16::from_le_bytes(*identifier);
            if identifier < handles { Ok(mask | 1 << identifier) } else { Err(Status::INVALID_FIELD) }
        })
    }

    /// Returns true if the status of handles is requested, which is the translation layer's.
    pub(in super::super) fn requests_status(&self, entry: &Entry) -> bool {
        entry.opcode() == opcode::IO_MANAGEMENT_RECEIVE && entry.dword(10) & 0xff == HANDLES
    }

    /// Sends the status of all handles, of whose reclaim units `left` bytes can still be written.
    pub(super) fn send_status(&mut self, now: Time, tag: u16, left: &[u64]) -> Result<(), Status> {
        let entry = self.commands.of_tag(tag).entry;
        let shift = self.namespaces.get(entry.namespace()).ok_or(Status::INVALID_NAMESPACE)?.shift();
        let mut status = vec![0; HEADER + DESCRIPTOR * left.len()];
        status[14..16].copy_from_slice(&(left.len() as u16).to_le_bytes());
        for ((handle, left), to) in (0u16..).zip(left).zip(status[HEADER..].chunks_exact_mut(DESCRIPTOR)) {
            to[..2].copy_from_slice(&handle.to_le_bytes()); // PID
            to[2..4].copy_from_slice(&handle.to_le_bytes()); // RUHID
            to[8..16].copy_from_slice(&(left >> shift).to_le_bytes()); // RUAMW; EARUTR is not reported
        }
        // The host may request less than all, or more, which is zeros.
        status.resize((entry.dword(11) as usize + 1) * 4, 0);
        self.send(now, tag, &status)
    }

    /// Ends an update whose cached data is written out: the drive now replaces the reclaim units.
    pub(in super::super) fn update_handles(&mut self, tag: u16, handles: u16) {
        self.needs.push(Need::UpdateHandles { tag, handles });
    }

    /// Ends a command whose handles were updated; each comes with the bytes of its former reclaim unit that were not
    /// written.
    pub fn handles_updated(&mut self, now: Time, tag: u16, unwritten: &[(u8, u64)], s: &mut dyn Schedule<Event>) {
        let namespace = self.commands.of_tag(tag).entry.namespace();
        for (handle, _) in unwritten.iter().filter(|(_, bytes)| *bytes > 0) {
            self.record_placement(now, PlacementEvent::NotFullyWritten { handle: u16::from(*handle), namespace });
        }
        self.finish(now, tag, s);
    }
}
