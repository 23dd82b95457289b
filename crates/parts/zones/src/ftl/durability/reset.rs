//! Resets of the controller, and writing out without power.

use media::Actions;

use crate::ZoneState;
use crate::ftl::ZonedFtl;
use crate::ftl::request::buffer::{EXPECTED, NIL};
use crate::ftl::space::extent::Finishing;

impl ZonedFtl {
    /// Drops all host commands, as a reset of the controller does. The buffer keeps its data; writes whose data had not
    /// arrived are taken back. [`resume`](Self::resume) must follow.
    pub fn controller_reset(&mut self) {
        self.commands.iter_mut().for_each(|command| command.active = false);
        self.operations.forget_commands();
        self.manager.forget_commands();
        for extent in &mut self.extents {
            extent.waiters.durable.clear();
            extent.waiters.arrival.clear();
            extent.finishing.as_mut().into_iter().for_each(|finishing| finishing.tag = None);
            extent.removal.as_mut().into_iter().for_each(|removal| removal.tag = None);
        }
        for zone in 0..self.current.len() {
            let extent = &mut self.extents[self.current[zone] as usize];
            let kept = (extent.arrived - extent.buffered_from) as usize;
            let late: Vec<u32> = extent.slots.drain(kept..).filter(|slot| *slot != NIL && *slot != EXPECTED).collect();
            let arrived = u64::from(extent.arrived);
            let finishes = extent.finishing.is_some();
            late.into_iter().for_each(|slot| self.buffer.give(slot));
            let zone = zone as u32;
            if arrived < self.zones.written(zone) && !self.zones.take_back(zone, arrived) {
                self.finish_again(zone);
            } else if finishes && self.zones.state(zone) != ZoneState::Full {
                // It was being finished when its last write was taken back.
                if self.zones.finish(zone).is_ok() {
                    self.finish_again(zone);
                }
            }
        }
        self.buffer.forget_commands();
    }

    fn finish_again(&mut self, zone: u32) {
        let extent = &mut self.extents[self.current[zone as usize] as usize];
        extent.activate(self.layout.width, self.layout.blocks);
        let programs = extent.finishing.map_or(0, |finishing| finishing.programs);
        extent.finishing = Some(Finishing { tag: None, programs });
    }

    /// Begins to write all data that has arrived to flash, for a drive that runs on without power.
    pub fn write_out(&mut self, out: &mut Actions) {
        self.writing_out = true;
        self.end_jobs(out);
        for zone in 0..self.current.len() {
            self.spill(self.current[zone], out);
        }
        self.go_on_logging(out);
    }

    /// Returns true if all data that has arrived is durable, and nothing is in progress.
    pub fn is_written_out(&self) -> bool {
        let is_durable = |id: &u32| {
            let extent = &self.extents[*id as usize];
            extent.durable() >= extent.arrived
        };
        self.operations.active() == 0 && self.log.is_idle() && self.current.iter().all(is_durable)
    }
}
