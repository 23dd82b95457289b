//! Compare and Verify: reads whose data stay in the controller.
//!
//! Compare moves the guest's data over the link while flash is read, and compares when both have arrived. Verify moves
//! nothing over the link.

use host_interface::Event;
use link::Direction;
use media::{Op, Request, Tag};
use sim::{Schedule, Time};

use super::Plan;
use crate::controller::{Controller, DevicePart};
use crate::entry::{Entry, Status, opcode};
use crate::pointers;

impl Controller {
    /// Returns the plan of Compare: one read.
    pub(super) fn plan_compare(&self, entry: &Entry) -> Plan {
        let (offset, bytes) = self.range_of(entry)?;
        if bytes > self.transfer_max {
            return Err(Status::INVALID_FIELD);
        }
        Ok(([Request::new(Op::Read, offset, bytes)].into(), 0))
    }

    /// Returns the plan of Verify: reads of at most a transfer each, so that a step takes bounded time and memory.
    pub(super) fn plan_verify(&self, entry: &Entry) -> Plan {
        let (offset, bytes) = self.range_of(entry)?;
        let steps = (0..bytes).step_by(self.transfer_max as usize);
        let read = |at| Request::new(Op::Read, offset + at, self.transfer_max.min(bytes - at));
        Ok((steps.map(read).collect(), 0))
    }

    /// Moves the guest's data of Compare over the link and into the controller's memory.
    pub(super) fn fetch_to_compare(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        let bytes = self.commands.of_tag(tag).bytes;
        let moved = self.transfer(now, Direction::ToDevice, bytes);
        let staged = self.device.pass_memory(now, Op::Write, bytes, &mut DevicePart(s));
        self.commands.of_tag_mut(tag).arrives = moved.arrives.max(staged);
    }

    /// Accepts `bytes` more of the data of a read that stays in the controller.
    pub(in crate::controller) fn data_stays(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut dyn Schedule<Event>) {
        let number = tag.0 as u16;
        let staged = match self.commands.of_tag(number).entry.opcode() {
            opcode::COPY => self.device.pass_memory(now, Op::Read, u64::from(bytes), &mut DevicePart(s)),
            _ => self.device.data(now, tag, bytes, &mut DevicePart(s)).1,
        };
        let command = self.commands.of_tag_mut(number);
        command.arrives = command.arrives.max(staged);
    }

    /// Ends a command whose requests have ended: Compare by comparing.
    pub(super) fn conclude(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        let command = self.commands.of_tag(tag);
        if command.entry.opcode() == opcode::COMPARE && command.queue != 0 {
            let mut data = vec![0; command.buffer.len()];
            if !pointers::gather(&*self.memory, &command.segments, &mut data) {
                return self.end(now, tag, Status::DATA_TRANSFER_ERROR, s);
            }
            if data != command.buffer {
                return self.end(now, tag, Status::COMPARE_FAILURE, s);
            }
        }
        self.finish(now, tag, s);
    }
}
