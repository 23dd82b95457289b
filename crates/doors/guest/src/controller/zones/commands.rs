//! Zone Append, Zone Management Send and Receive.

use std::collections::VecDeque;

use media::{Op, Refusal, Request};
use sim::{Schedule, Time};
use zones::Zones;

use super::{NVM, ZONED, report};
use crate::controller::logs::CHANGES_BLOCKS;
use crate::controller::namespaces::{Namespace, trims};
use crate::controller::{Controller, Event, Need};
use crate::entry::{Entry, Status, opcode};

/// Zone Send Actions (ZSA).
const CLOSE: u32 = 0x01;
const FINISH: u32 = 0x02;
const OPEN: u32 = 0x03;
const RESET: u32 = 0x04;
const OFFLINE: u32 = 0x05;

impl Controller {
    /// Returns the requests of a command that only zoned namespaces have.
    ///
    /// # Errors
    /// Fails with the status of the command.
    pub(in crate::controller) fn plan_of_zones(&self, entry: &Entry) -> Result<VecDeque<Request>, Status> {
        let namespace = self.active(entry.namespace()).ok_or(Status::INVALID_NAMESPACE)?;
        if !namespace.is_zoned {
            return Err(Status::INVALID_OPCODE);
        }
        match entry.opcode() {
            opcode::ZONE_APPEND => self.append(namespace, entry),
            opcode::ZONE_MANAGEMENT_SEND => self.send_to_zones(namespace, entry),
            _ => {
                self.receive_from_zones(namespace, entry)?;
                Ok(VecDeque::new())
            }
        }
    }

    fn append(&self, namespace: &Namespace, entry: &Entry) -> Result<VecDeque<Request>, Status> {
        let count = u64::from(entry.dword(12) & 0xffff) + 1;
        let (offset, bytes) = namespace.range(entry.lba(), count).ok_or(Status::LBA_OUT_OF_RANGE)?;
        // The limit of appends is that of all transfers (ZASL is 0).
        if bytes > self.transfer_max {
            return Err(Status::INVALID_FIELD);
        }
        let fua = entry.dword(12) >> 30 & 1 == 1 || !self.features.write_cache();
        Ok(VecDeque::from([Request { fua, ..Request::new(Op::Append, offset, bytes) }]))
    }

    fn send_to_zones(&self, namespace: &Namespace, entry: &Entry) -> Result<VecDeque<Request>, Status> {
        let (action, all) = (entry.dword(13) & 0xff, is_for_all(entry));
        let op = match action {
            CLOSE => Op::ZoneClose,
            FINISH => Op::ZoneFinish,
            OPEN => Op::ZoneOpen,
            RESET => Op::ZoneReset,
            OFFLINE => Op::Flush,
            // Set Zone Descriptor Extension: there are none.
            _ => return Err(Status::INVALID_FIELD),
        };
        let (offset, bytes) = if all {
            (namespace.offset, namespace.bytes)
        } else {
            let size = self.zone_size();
            let (offset, _) = namespace.range(entry.lba(), 1).ok_or(Status::LBA_OUT_OF_RANGE)?;
            if !entry.lba().is_multiple_of(size) {
                return Err(Status::INVALID_FIELD);
            }
            (offset, size << namespace.shift())
        };
        // Offline is no request of the translation layer: it takes no time, and reads no flash.
        Ok(if action == OFFLINE { VecDeque::new() } else { VecDeque::from([Request::new(op, offset, bytes)]) })
    }

    fn receive_from_zones(&self, namespace: &Namespace, entry: &Entry) -> Result<(), Status> {
        namespace.range(entry.lba(), 1).ok_or(Status::LBA_OUT_OF_RANGE)?;
        if report::bytes(entry) > self.transfer_max {
            return Err(Status::INVALID_FIELD);
        }
        report::check(entry)
    }

    /// Returns true if the command needs the states of the zones rather than requests; [`zones`](Self::zones) follows.
    pub(in crate::controller) fn asks_for_zones(&mut self, tag: u16, entry: &Entry) -> bool {
        let asks = match entry.opcode() {
            opcode::ZONE_MANAGEMENT_RECEIVE => true,
            opcode::ZONE_MANAGEMENT_SEND => entry.dword(13) & 0xff == OFFLINE,
            _ => false,
        };
        if asks {
            self.needs.push(Need::Zones(tag));
        }
        asks
    }

    /// Performs the command with this tag, which needs the states of the zones.
    pub fn zones(&mut self, now: Time, tag: u16, zones: &mut Zones, s: &mut dyn Schedule<Event>) {
        let entry = self.commands.of_tag(tag).entry;
        let result = match entry.opcode() {
            opcode::ZONE_MANAGEMENT_RECEIVE => self.send(now, tag, &report::page(zones, &entry)),
            _ => take_offline(zones, &entry).map_err(Status::from),
        };
        match result {
            Ok(()) => self.finish(now, tag, s),
            Err(status) => self.end(now, tag, status, s),
        }
    }

    /// Records where an append is written: the result of its completion.
    pub(in crate::controller) fn appended(&mut self, tag: u16, offset: u64) {
        let command = self.commands.of_tag(tag);
        let Some(namespace) = self.namespaces.get(command.entry.namespace()) else { return };
        let block = (offset - namespace.offset) >> namespace.shift();
        self.commands.of_tag_mut(tag).result = block;
    }

    /// Returns the I/O commands of the set that Get Log Page names (CSI), with their effects: those in `nvm`, on a
    /// controller with zones without Write Zeroes and Copy, and those of zones.
    ///
    /// # Errors
    /// Fails with the status of the command for a set that does not exist.
    pub(in crate::controller) fn commands_by_set(
        &self,
        entry: &Entry,
        nvm: &[(u8, u32)],
    ) -> Result<Vec<(u8, u32)>, Status> {
        if !self.has_zones() {
            return Ok(nvm.to_vec());
        }
        let mut commands: Vec<_> =
            nvm.iter().copied().filter(|(code, _)| !matches!(*code, opcode::WRITE_ZEROES | opcode::COPY)).collect();
        match (entry.dword(14) >> 24) as u8 {
            NVM => {}
            ZONED => commands.extend([
                (opcode::ZONE_MANAGEMENT_SEND, CHANGES_BLOCKS),
                (opcode::ZONE_MANAGEMENT_RECEIVE, 0),
                (opcode::ZONE_APPEND, CHANGES_BLOCKS),
            ]),
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(commands)
    }

    /// Returns the requests that erase a namespace.
    pub(in crate::controller) fn erasure(&self, namespace: &Namespace) -> Vec<Request> {
        if namespace.is_zoned {
            return vec![Request::new(Op::ZoneReset, namespace.offset, namespace.bytes)];
        }
        trims(namespace.offset, self.namespaces.allocated(namespace.bytes)).collect()
    }

    /// Returns the flush of a namespace. On a drive with zones its address selects the part of the drive.
    pub(in crate::controller) fn flush_of(&self, namespace: &Namespace) -> Request {
        let offset = if self.has_zones() { namespace.offset } else { 0 };
        Request { offset, ..Request::flush() }
    }

    /// Returns the flushes of the whole drive.
    pub(in crate::controller) fn flushes(&self) -> VecDeque<Request> {
        match self.has_zones() {
            true => self.namespaces.iter().map(|namespace| self.flush_of(namespace)).collect(),
            false => VecDeque::from([Request::flush()]),
        }
    }

    /// Returns the logical blocks from the start of a zone to that of the next.
    fn zone_size(&self) -> u64 {
        self.zones.expect("a zoned namespace").size
    }
}

/// Returns true if Zone Management Send concerns all zones (Select All).
fn is_for_all(entry: &Entry) -> bool {
    entry.dword(13) >> 8 & 1 == 1
}

/// Takes a read-only zone offline, or all read-only zones.
fn take_offline(zones: &mut Zones, entry: &Entry) -> Result<(), Refusal> {
    if is_for_all(entry) {
        zones.offline_all();
        return Ok(());
    }
    zones.offline(zones.zone_of(entry.lba()).ok_or(Refusal::OutOfRange)?)
}
