//! Commands of the NVM command set (section 6).

mod compare;
pub(super) mod copy;
mod fused;

use device::nvme::MEMORY_PAGE;
use std::collections::VecDeque;

use device::Output as DeviceOutput;
use host_interface::Output;
use link::Direction;
use media::{Op, Request, Tag};
use sim::{Schedule, Time};

pub(super) use fused::Pairs;

use super::commands::Command;
use super::namespaces::Namespace;
use super::{Controller, DevicePart, Event, Need, Step};
use crate::entry::{Entry, Status, opcode};
use crate::pointers;

/// Bytes per range of Dataset Management.
const RANGE: u64 = 16;

/// A command's plan: its requests to the translation layer, and the bytes of the list that it points to.
type Plan = Result<(VecDeque<Request>, u64), Status>;

impl Controller {
    /// Opens the command of a fetched entry. Returns its slot and the request by which the controller front end knows
    /// it: for an admin command or one that fails, a flush, which has no data. (Assumed: these take as long to decode.)
    /// A command that is `refused` fails with that status.
    fn open(&mut self, now: Time, queue: u16, entry: Entry, refused: Option<Status>) -> (u16, Request) {
        let plan = match refused {
            Some(status) => Err(status),
            None if queue == 0 => Ok((VecDeque::new(), 0)),
            None => self.plan(&entry),
        };
        let (status, (plan, list)) = match plan {
            Ok(plan) => (Status::SUCCESS, plan),
            Err(status) => (status, (VecDeque::new(), 0)),
        };
        let is_copy = queue != 0 && entry.opcode() == opcode::COPY;
        let counted = |request: &&Request| !request.op.manages_zones() && (request.op.writes() || !is_copy);
        let bytes: u64 = plan.iter().filter(counted).map(|request| request.bytes).sum();
        let request = match plan.front() {
            // Zone management, which has no data when it is decoded.
            _ if queue != 0 && status == Status::SUCCESS && manages_zones(&entry) => Request::new(Op::ZoneOpen, 0, 0),
            Some(first) if queue != 0 && is_whole(&entry) => *first,
            Some(first) if queue != 0 && entry.opcode() == opcode::VERIFY => Request { bytes, ..*first },
            // A command whose requests have no data may have a list all the same.
            Some(_) if entry.opcode() != opcode::FLUSH => Request::new(Op::Trim, 0, bytes.max(u64::from(list > 0))),
            _ => Request::flush(),
        };
        let handles = if queue == 0 { 0 } else { self.listed_handles(&entry).unwrap_or(0) };
        let segments = Vec::new();
        let command = Command {
            queue,
            entry,
            plan,
            segments,
            buffer: Vec::new(),
            arrives: Time::ZERO,
            status,
            result: 0,
            list,
            bytes,
            handles,
            fetched: now,
            tag: None,
            partner: None,
            runs: false,
        };
        let slot = self.commands.open(command);
        (slot, request)
    }

    /// Returns the plan of an I/O command.
    fn plan(&self, entry: &Entry) -> Plan {
        match entry.opcode() {
            opcode::FLUSH => {
                if entry.namespace() == super::namespaces::ALL {
                    return Ok((self.flushes(), 0));
                }
                Ok((VecDeque::from([self.flush_of(self.namespace(entry)?)]), 0))
            }
            opcode::READ | opcode::WRITE => {
                let (offset, bytes) = self.range_of(entry)?;
                if bytes > self.transfer_max {
                    return Err(Status::INVALID_FIELD);
                }
                let op = if entry.opcode() == opcode::READ { Op::Read } else { Op::Write };
                // Without a volatile write cache, every write is durable when it completes.
                let fua = op == Op::Write && (entry.dword(12) >> 30 & 1 == 1 || !self.features.write_cache());
                let placement = if op == Op::Write { self.handle_of(entry)? } else { 0 };
                Ok((VecDeque::from([Request { fua, placement, ..Request::new(op, offset, bytes) }]), 0))
            }
            opcode::WRITE_ZEROES if !self.has_zones() => {
                let (offset, bytes) = self.range_of(entry)?;
                let mut plan = self.zeroes(offset, bytes);
                if entry.dword(12) >> 30 & 1 == 1 || !self.features.write_cache() {
                    plan.push_back(Request::flush());
                }
                Ok((plan, 0))
            }
            opcode::DATASET_MANAGEMENT => self.deallocations(entry),
            opcode::COMPARE => self.plan_compare(entry),
            opcode::VERIFY => self.plan_verify(entry),
            opcode::COPY if !self.has_zones() => self.plan_copy(entry),
            opcode::ZONE_MANAGEMENT_SEND | opcode::ZONE_MANAGEMENT_RECEIVE | opcode::ZONE_APPEND => {
                Ok((self.plan_of_zones(entry)?, 0))
            }
            opcode::IO_MANAGEMENT_RECEIVE | opcode::IO_MANAGEMENT_SEND => self.plan_management(entry),
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn namespace(&self, entry: &Entry) -> Result<&Namespace, Status> {
        self.active(entry.namespace()).ok_or_else(|| self.absent(entry.namespace()))
    }

    /// Returns the range of a command with fields like those of Read, as offset on the drive and bytes.
    fn range_of(&self, entry: &Entry) -> Result<(u64, u64), Status> {
        let count = u64::from(entry.dword(12) & 0xffff) + 1;
        self.namespace(entry)?.range(entry.lba(), count).ok_or(Status::LBA_OUT_OF_RANGE)
    }

    /// Returns the requests that make a range read as zeros: whole mapping units are deallocated, the rest is written.
    fn zeroes(&self, offset: u64, bytes: u64) -> VecDeque<Request> {
        let (unit, end) = (self.unit, offset + bytes);
        let (first, last) = (offset.next_multiple_of(unit).min(end), end - end % unit);
        let write = |from: u64, to: u64| (to > from).then(|| Request::new(Op::Write, from, to - from));
        if last <= first {
            return write(offset, end).into_iter().collect();
        }
        let middle = super::namespaces::trims(first, last - first);
        write(offset, first).into_iter().chain(middle).chain(write(last, end)).collect()
    }

    /// Returns the requests of Dataset Management: one for each range, if the host deallocates them.
    fn deallocations(&self, entry: &Entry) -> Plan {
        let namespace = self.namespace(entry)?;
        let count = u64::from(entry.dword(10) & 0xff) + 1;
        let mut list = vec![0; (count * RANGE) as usize];
        let segments = pointers::segments(&*self.memory, entry, count * RANGE, MEMORY_PAGE)?;
        if !pointers::gather(&*self.memory, &segments, &mut list) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        let mut plan = VecDeque::new();
        for range in list.chunks_exact(RANGE as usize) {
            let word = |at: usize| u32::from_le_bytes([range[at], range[at + 1], range[at + 2], range[at + 3]]);
            let (blocks, first) = (u64::from(word(4)), u64::from(word(8)) | u64::from(word(12)) << 32);
            let (offset, bytes) = namespace.range(first, blocks).ok_or(Status::LBA_OUT_OF_RANGE)?;
            // Attribute Deallocate (AD). The others are hints without effect.
            if bytes > 0 && entry.dword(11) >> 2 & 1 == 1 {
                plan.extend(super::namespaces::trims(offset, bytes));
            }
        }
        Ok((plan, count * RANGE))
    }

    /// Performs a decoded I/O command.
    pub(super) fn run_io(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        if let Some(partner) = self.commands.of_tag(tag).partner {
            return self.run_pair(now, tag, partner, s);
        }
        if let Err(status) = self.prepare(tag) {
            return self.end(now, tag, status, s);
        }
        let command = self.commands.of_tag(tag);
        let (entry, bytes) = (command.entry, command.bytes);
        if self.requests_status(&entry) {
            return self.needs.push(Need::Placement(tag));
        }
        self.check_identifier(now, &entry);
        if self.asks_for_zones(tag, &entry) {
            return;
        }
        self.logs.count(&entry, bytes);
        if entry.opcode() == opcode::COMPARE {
            self.fetch_to_compare(now, tag, s);
        }
        self.start(now, tag, s, out);
    }

    /// Finds the guest memory of a command's data.
    ///
    /// # Errors
    /// Fails with the status of the command if it cannot be performed.
    fn prepare(&mut self, tag: u16) -> Result<(), Status> {
        let command = self.commands.of_tag(tag);
        let (entry, bytes) = (command.entry, command.bytes);
        if command.status != Status::SUCCESS {
            return Err(command.status);
        }
        if self.background.is_sanitizing() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if is_transfer(&entry) || entry.opcode() == opcode::COMPARE {
            let segments = pointers::segments(&*self.memory, &entry, bytes, MEMORY_PAGE)?;
            self.commands.of_tag_mut(tag).segments = segments;
        }
        Ok(())
    }

    /// Passes the command's next request to the translation layer, or ends the command.
    pub(super) fn next_request(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        match self.commands.of_tag(tag).plan.front() {
            Some(request) => out.push(Output::Command { tag: Tag(u32::from(tag)), io: 0, request: *request }),
            None => match std::mem::take(&mut self.commands.of_tag_mut(tag).handles) {
                0 => self.conclude(now, tag, s),
                handles => self.update_handles(tag, handles),
            },
        }
    }

    /// Handles the end of a request in the translation layer.
    pub(super) fn request_done(&mut self, now: Time, tag: u16, status: media::Status, s: &mut dyn Schedule<Event>) {
        let command = self.commands.of_tag_mut(tag);
        command.plan.pop_front();
        if !status.is_ok() {
            return self.end(now, tag, status.into(), s);
        }
        // Data on their way to the controller's memory must be there first.
        let at = command.arrives.max(now);
        if command.plan.is_empty() && command.handles == 0 && at == now {
            return self.conclude(now, tag, s);
        }
        Step::Next.at(at, u32::from(tag), s);
    }

    /// Ends a command with `status`.
    pub(super) fn end(&mut self, now: Time, tag: u16, status: Status, s: &mut dyn Schedule<Event>) {
        self.commands.of_tag_mut(tag).status = status;
        self.finish(now, tag, s);
    }

    /// Ends a command with the status and result that it has.
    pub(super) fn finish(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        self.end_turn(now, tag, s);
        let second = self.second_of(tag);
        let command = self.commands.of_tag(tag);
        let ok = command.status == Status::SUCCESS;
        if !ok {
            let (queue, entry, status) = (command.queue, command.entry, command.status);
            self.logs.record_error(queue, &entry, status);
        }
        if self.commands.of_tag(tag).manages_namespaces() {
            self.managed(now, tag, ok, s);
        }
        // The front end has to know whether all data was transferred, not why it was not.
        let status = if ok { media::Status::Ok } else { media::Status::Failed };
        if let Some((tag, at)) = self.device.complete(now, Tag(u32::from(tag)), status, &mut DevicePart(s)) {
            self.post(now, at, tag, s);
        }
        if let Some(second) = second {
            self.continue_pair(now, second, ok, s);
        }
    }

    /// Handles an output of the controller front end.
    pub(super) fn device_output(
        &mut self,
        now: Time,
        output: DeviceOutput,
        s: &mut dyn Schedule<Event>,
        out: &mut Vec<Output>,
    ) {
        match output {
            DeviceOutput::List { tag, bytes } => {
                let at = match self.commands.in_slot(self.device.identifier(tag)) {
                    // Write Zeroes is a trim without a list of ranges, Verify a read without a list of pages.
                    Some(command) if matches!(command.entry.opcode(), opcode::WRITE_ZEROES | opcode::VERIFY) => now,
                    Some(command) => self.link.fetch(now, bytes.max(command.list) as u32),
                    None => now,
                };
                self.device.listed(tag, at, &mut DevicePart(s));
            }
            DeviceOutput::Command { tag, queue, cid, .. } => {
                self.commands.tag(cid, tag);
                if self.registers.fatal {
                    return;
                }
                if queue == 0 { self.run_admin(now, tag, s, out) } else { self.run_io(now, tag, s, out) }
            }
            DeviceOutput::Arrived(tag) => out.push(Output::Arrived { tag: Tag(u32::from(tag)) }),
            DeviceOutput::Ended { tag, at } => self.post(now, at, tag, s),
            DeviceOutput::Interrupt(queue) => self.interrupt_queue(now, queue, s),
        }
    }

    /// Moves data over the link.
    pub(super) fn transfer(&mut self, now: Time, direction: Direction, bytes: u64) -> link::Transfer {
        self.link.data(now, direction, bytes, |_, _| {})
    }
}

/// Returns true if the command transfers its request's data between guest and drive.
pub(super) const fn is_transfer(entry: &Entry) -> bool {
    matches!(entry.opcode(), opcode::READ | opcode::WRITE | opcode::ZONE_APPEND)
}

/// Returns true if the command manages zones.
const fn manages_zones(entry: &Entry) -> bool {
    matches!(entry.opcode(), opcode::ZONE_MANAGEMENT_SEND | opcode::ZONE_MANAGEMENT_RECEIVE)
}

/// Returns true if the command is one request.
const fn is_whole(entry: &Entry) -> bool {
    is_transfer(entry) || matches!(entry.opcode(), opcode::FLUSH | opcode::COMPARE)
}

/// Returns true if the data that the command reads stay in the controller's memory.
pub(super) const fn buffers_reads(entry: &Entry) -> bool {
    matches!(entry.opcode(), opcode::COMPARE | opcode::COPY)
}
