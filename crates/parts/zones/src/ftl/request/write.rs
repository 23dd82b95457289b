//! Writes, appends and flushes.

use media::{Action, Actions, Move, Op, SECTOR, Status, Tag};

use crate::Refusal;
use crate::ftl::request::buffer::EXPECTED;
use crate::ftl::request::operation::Command;
use crate::ftl::{InjectedFault, ZonedFtl};
use sim::Time;

impl ZonedFtl {
    /// Starts a write or append: its place is decided now, its data comes once there is room in the buffer.
    pub(crate) fn write(&mut self, tag: Tag, first: u64, units: u64, out: &mut Actions) {
        let is_append = self.commands[tag.0 as usize].op == Op::Append;
        if units > u64::from(self.config.write_max()) {
            return self.refuse(tag, Refusal::InvalidField, out);
        }
        let accepted = if is_append { self.zones.append(first, units) } else { self.zones.write(first, units) };
        let written = match accepted {
            Ok(written) => written,
            Err(failure) => return self.refuse(tag, failure, out),
        };
        let id = self.current[written.zone as usize];
        let extent = &mut self.extents[id as usize];
        extent.activate(self.layout.width, self.layout.blocks);
        extent.slots.extend(std::iter::repeat_n(EXPECTED, units as usize));
        let command = &mut self.commands[tag.0 as usize];
        (command.unit, command.units) = (written.block as u32, units as u32);
        (command.extent, command.usage) = (id, extent.usage);
        if self.buffer.reserve_or_wait(tag, units as u32) {
            out.actions.push(Action::Ready { tag });
        }
    }

    /// Requests the data of waiting writes for which there is room now.
    pub(crate) fn admit(&mut self, out: &mut Actions) {
        let commands = &self.commands;
        while let Some(tag) = self.buffer.admit(|tag| commands[tag.0 as usize].units) {
            out.actions.push(Action::Ready { tag });
        }
    }

    /// Accepts the data of the write `tag`, which arrived in the controller after [`Action::Ready`].
    pub fn arrived(&mut self, _: Time, tag: Tag, out: &mut Actions) {
        let command = self.commands[tag.0 as usize];
        let extent = &mut self.extents[command.extent as usize];
        self.stats.host_units += u64::from(command.units);
        if extent.usage != command.usage || extent.removal.is_some() {
            self.buffer.release(command.units);
            self.acknowledge_removed(tag, out);
            return self.admit(out);
        }
        let (_, first) = self.layout.split(command.unit);
        let sectors = self.config.geometry.unit_bytes / SECTOR as u32;
        for at in 0..command.units {
            let slot = self.buffer.take();
            extent.set_slot(first + at, slot);
            if self.config.moves {
                out.moves.push(Move::HostToBuffer { tag, from: at * sectors, sectors, buffer: slot, to: 0 });
            }
        }
        let before = extent.arrived;
        extent.advance_arrived();
        extent.waiters.arrival.push((tag, first + command.units));
        if extent.arrived > before {
            self.acknowledge(command.extent, out);
            self.issue_arrived(command.extent, before, out);
        }
    }

    /// Completes the writes of an extent whose data has arrived, with that of all before, or lets them wait until it is
    /// durable.
    fn acknowledge(&mut self, id: u32, out: &mut Actions) {
        let mut at = 0;
        while let Some(&(tag, end)) = self.extents[id as usize].waiters.arrival.get(at) {
            let extent = &mut self.extents[id as usize];
            if end > extent.arrived {
                at += 1;
                continue;
            }
            extent.waiters.arrival.remove(at);
            let fua = self.commands[tag.0 as usize].fua;
            if self.config.protected || (self.config.write_back && !fua) {
                self.complete(tag, Status::Ok, out);
            } else {
                self.commands[tag.0 as usize].left = 1;
                self.wait_durable(id, tag, end, out);
            }
        }
    }

    /// Completes a write to a zone that was reset since: its data is written and gone. If it is to be durable, that is once
    /// the reset is.
    pub(crate) fn acknowledge_removed(&mut self, tag: Tag, out: &mut Actions) {
        let Command { fua, unit, extent: id, usage, .. } = self.commands[tag.0 as usize];
        let extent = &self.extents[id as usize];
        let own = extent.usage == usage && extent.removal.is_some_and(|removal| removal.tag.is_some());
        let waits_for = self.pending_reset(self.layout.split(unit).0).or(own.then_some(id));
        match waits_for.filter(|_| fua || !self.config.write_back) {
            Some(id) if !self.config.protected => {
                self.commands[tag.0 as usize].left = 1;
                self.extents[id as usize].waiters.durable.push((tag, 0));
            }
            _ => self.complete(tag, Status::Ok, out),
        }
    }

    /// Lets the command `tag` wait until the units before `end` are durable.
    pub(crate) fn wait_durable(&mut self, id: u32, tag: Tag, end: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        if extent.durable() >= end || self.injected.is(InjectedFault::SpillNotAwaited) {
            return self.count_down(tag, out);
        }
        extent.waiters.durable.push((tag, end));
        self.spill(id, out);
    }

    /// Completes the commands that waited for the durable units of an extent.
    pub(crate) fn settle_durable(&mut self, id: u32, out: &mut Actions) {
        let mut at = 0;
        while let Some(&(tag, end)) = self.extents[id as usize].waiters.durable.get(at) {
            if end > self.extents[id as usize].durable() {
                at += 1;
                continue;
            }
            self.extents[id as usize].waiters.durable.remove(at);
            self.count_down(tag, out);
        }
    }

    /// Makes everything acknowledged so far durable.
    pub(crate) fn flush(&mut self, tag: Tag, out: &mut Actions) {
        if self.config.protected {
            return self.complete(tag, Status::Ok, out);
        }
        // One for the command itself, so that it does not complete before all zones were asked.
        self.commands[tag.0 as usize].left = 1;
        for zone in 0..self.config.zones.zones {
            let id = self.current[zone as usize];
            let extent = &self.extents[id as usize];
            let end = extent.arrived;
            if extent.durable() < end {
                self.commands[tag.0 as usize].left += 1;
                self.wait_durable(id, tag, end, out);
            }
        }
        self.count_down(tag, out);
    }

    /// Makes the zone read only, because no block is left for it: its buffered units stay readable until the power is
    /// off, and the commands that wait for them fail.
    pub(crate) fn lose_zone(&mut self, id: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        if extent.removal.is_some() {
            return;
        }
        self.zones.lose_writes(extent.zone);
        let waiters = std::mem::take(&mut extent.waiters.durable);
        let finishing = extent.finishing.take().and_then(|finishing| finishing.tag);
        for tag in waiters.into_iter().map(|(tag, _)| tag).chain(finishing) {
            self.commands[tag.0 as usize].status = Status::NoSpace;
            self.count_down(tag, out);
        }
    }
}
