//! Zone management commands: open, close, finish, reset, of one zone or of all.

use media::{Actions, Op, Status, Tag};
use sim::Time;

use crate::ftl::request::buffer::{EXPECTED, NIL};
use crate::ftl::request::jobs::Job;
use crate::ftl::space::extent::{Extent, Finishing, Removal};
use crate::ftl::{InjectedFault, ZonedFtl};
use crate::{Refusal, ZoneState};

impl ZonedFtl {
    /// Starts the command `tag` on the zone that is `units` units from `first` on, or on all zones.
    pub(crate) fn manage(&mut self, now: Time, tag: Tag, first: u64, units: u64, out: &mut Actions) {
        let size = u64::from(self.layout.size);
        let all = first == 0 && units == u64::from(self.layout.user_units);
        let single = first.is_multiple_of(size) && units == size && first < u64::from(self.layout.user_units);
        if !all && !single {
            return self.refuse(tag, Refusal::InvalidField, out);
        }
        let op = self.commands[tag.0 as usize].op;
        let zones = if single { vec![(first / size) as u32] } else { self.concerned(op) };
        if !single
            && op == Op::ZoneOpen
            && let Err(failure) = self.zones.open_all()
        {
            return self.refuse(tag, failure, out);
        }
        // One for the command itself, so that it does not complete before all zones are done.
        self.commands[tag.0 as usize].left = 1;
        for zone in zones {
            self.commands[tag.0 as usize].left += 1;
            if let Err(failure) = self.manage_zone(now, tag, zone, op, out) {
                self.commands[tag.0 as usize].status = Status::Refused(failure);
                self.count_down(tag, out);
            }
        }
        self.count_down(tag, out);
    }

    /// Returns the zones that a command for all zones concerns.
    fn concerned(&self, op: Op) -> Vec<u32> {
        let selects = |state: ZoneState| match op {
            Op::ZoneOpen => state == ZoneState::Closed,
            Op::ZoneClose => state.is_open(),
            Op::ZoneFinish => state.is_active(),
            _ => state.is_active() || state == ZoneState::Full,
        };
        (0..self.config.zones.zones).filter(|zone| selects(self.zones.state(*zone))).collect()
    }

    fn manage_zone(&mut self, now: Time, tag: Tag, zone: u32, op: Op, out: &mut Actions) -> Result<(), Refusal> {
        let times = self.config.times;
        let id = self.current[zone as usize];
        match op {
            Op::ZoneOpen | Op::ZoneClose => {
                if op == Op::ZoneOpen {
                    self.zones.open(zone)?;
                } else {
                    self.zones.close(zone)?;
                }
                self.start_job(now, Job::Complete { tag: Some(tag) }, times.open, out);
            }
            Op::ZoneFinish => {
                if self.zones.state(zone) == ZoneState::Full {
                    self.start_job(now, Job::Complete { tag: Some(tag) }, times.finish, out);
                    return Ok(());
                }
                self.zones.finish(zone)?;
                self.stats.finishes += 1;
                let extent = &mut self.extents[id as usize];
                extent.activate(self.layout.width, self.layout.blocks);
                extent.finishing = Some(Finishing { tag: Some(tag), programs: 0 });
                let usage = extent.usage;
                self.start_job(now, Job::Finish { extent: id, usage }, times.finish, out);
            }
            _ => {
                let before = self.zones.state(zone);
                let written = self.zones.reset(zone)?;
                if before == ZoneState::Empty {
                    match self.pending_reset(zone) {
                        Some(earlier) => self.extents[earlier as usize].waiters.durable.push((tag, 0)),
                        None => self.start_job(now, Job::Complete { tag: Some(tag) }, times.reset, out),
                    }
                    return Ok(());
                }
                self.stats.resets += 1;
                let extent = &self.extents[id as usize];
                let active = before != ZoneState::Full && extent.blocks.iter().any(|block| *block != NIL);
                let share = times.reset_written.ps() as u128 * u128::from(written) / u128::from(self.layout.capacity);
                let mut time = times.reset + Time::from_ps(share as u64);
                if active {
                    time += times.reset_active;
                }
                self.detach(id, tag, out);
                self.start_job(now, Job::Reset { extent: id }, time, out);
            }
        }
        Ok(())
    }

    /// Returns the extent whose zone was reset last by a command that is not durable yet.
    pub(crate) fn pending_reset(&self, zone: u32) -> Option<u32> {
        let pends = |extent: &Extent| {
            let open = extent.removal.is_some_and(|removal| removal.log_block.is_none());
            extent.zone == zone && open && extent.is_in_flash() && !self.config.protected
        };
        let pending = (0..).zip(&self.extents).filter(|(_, extent)| pends(extent));
        pending.max_by_key(|(_, extent)| extent.generation).map(|(id, _)| id)
    }

    /// Gives the zone of extent `id` an extent without data. The data in the buffer is dropped.
    fn detach(&mut self, id: u32, tag: Tag, out: &mut Actions) {
        let usage = self.usages;
        self.usages += 1;
        let extent = &mut self.extents[id as usize];
        extent.removal = Some(Removal { tag: Some(tag), pending: true, ..Removal::default() });
        let kept = self.injected.is(InjectedFault::GenerationKept);
        let next = Extent::new(extent.zone, extent.generation + u32::from(!kept), usage);
        let (programming, spilling) = (&extent.columns, extent.spilling);
        let kept = |unit: u32| {
            let program = self.layout.program(unit / self.layout.program_units);
            let row = unit / self.layout.program_units / self.layout.width;
            let column = programming[program.column as usize];
            let programs = column.busy && column.next_row == row;
            programs || spilling.is_some_and(|(first, end)| (first..end).contains(&unit))
        };
        // Slots of programs in progress are returned when those end.
        let from = extent.buffered_from;
        let dropped = (from..).zip(&extent.slots).filter(|(_, slot)| **slot != NIL && **slot != EXPECTED);
        let dropped: Vec<u32> = dropped.filter(|(unit, _)| !kept(*unit)).map(|(_, slot)| *slot).collect();
        if let Some((first, end)) = extent.spilling {
            let held: Vec<u32> = (first..end).map(|unit| extent.slot(unit)).collect();
            self.log.hold_slots(held);
        }
        extent.slots.clear();
        let arrived = std::mem::take(&mut extent.waiters.arrival);
        // The commands that wait for durable data end with the reset, which decides the fate of that data.
        let finishing = extent.finishing.take().and_then(|finishing| finishing.tag);
        extent.waiters.durable.extend(finishing.map(|tag| (tag, 0)));
        let zone = next.zone;
        let new = match self.free_extents.pop() {
            Some(free) => {
                self.extents[free as usize] = next;
                free
            }
            None => {
                self.extents.push(next);
                self.extents.len() as u32 - 1
            }
        };
        self.current[zone as usize] = new;
        dropped.into_iter().for_each(|slot| self.buffer.give(slot));
        for (tag, _) in arrived {
            self.acknowledge_removed(tag, out);
        }
        self.admit(out);
    }

    /// Writes what is missing to a zone that is being finished, and ends the command once the whole zone is programmed.
    pub(crate) fn go_on_finishing(&mut self, id: u32, out: &mut Actions) {
        if self.extents[id as usize].finishing.is_none() {
            return;
        }
        self.issue_all(id, out);
        let extent = &mut self.extents[id as usize];
        let ended = (0..).zip(&extent.columns).all(|(at, column)| column.next_row == self.layout.rows(at));
        if ended && let Some(finishing) = extent.finishing.take() {
            finishing.tag.into_iter().for_each(|tag| self.count_down(tag, out));
        }
    }
}
