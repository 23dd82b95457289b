//! Doorbells, in registers and in guest memory (Doorbell Buffer Config, section 5.7 and 7.13).

use host_interface::external::doorbell_lane;
use sim::{Schedule, Time};

use super::events::Notice;
use super::{Controller, Event};

/// The shadow doorbells and the event indices of the host, in a page of guest memory each.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoorbellBuffer {
    pub shadow: u64,
    pub event_index: u64,
}

impl Controller {
    /// Handles a write of doorbell register `number`: tails of submission queues are even, heads of completion queues
    /// odd.
    pub(super) fn doorbell_written(&mut self, now: Time, number: u64, value: u32, s: &mut dyn Schedule<Event>) {
        if !self.registers.ready || self.registers.fatal {
            return;
        }
        let queue = (number / 2) as u16;
        if number % 2 == 1 {
            return self.head_written(now, queue, value, s);
        }
        if self.queues.submission(queue).is_none() || self.is_being_deleted(queue) {
            return self.notice(now, Notice::InvalidDoorbellRegister, s);
        }
        let Ok(tail) = u16::try_from(self.shadow(number, value)) else {
            return self.notice(now, Notice::InvalidDoorbellValue, s);
        };
        // The link times doorbell and fetch together if the entry is fetched as soon as the doorbell arrives.
        if self.queues.ringing == 0 && self.device.fetches_at_once() && self.device.check_doorbell(queue, tail) == Ok(1)
        {
            let fetch = self.device.fetch_at_once(queue, tail);
            let arrives = self.link.submission(now, now);
            self.admit(now, fetch, arrives, s);
            return self.set_event_index(number, tail);
        }
        self.queues.ringing += 1;
        s.at(doorbell_lane(), self.link.doorbell(now, now), Event::Doorbell { queue, cid: tail });
    }

    /// Handles the arrival of a submission queue's tail doorbell.
    pub(super) fn doorbell(&mut self, now: Time, queue: u16, tail: u16, s: &mut dyn Schedule<Event>) {
        self.queues.ringing -= 1;
        if self.queues.submission(queue).is_none() || self.is_being_deleted(queue) {
            return;
        }
        if self.device.check_doorbell(queue, tail).is_err() {
            return self.notice(now, Notice::InvalidDoorbellValue, s);
        }
        self.device.doorbell(queue, tail);
        self.set_event_index(2 * u64::from(queue), tail);
        self.fetch(now, s);
    }

    /// Handles a write of a completion queue's head doorbell.
    fn head_written(&mut self, now: Time, queue: u16, value: u32, s: &mut dyn Schedule<Event>) {
        if self.queues.completion(queue).is_none() {
            return self.notice(now, Notice::InvalidDoorbellRegister, s);
        }
        self.link.head();
        let number = 2 * u64::from(queue) + 1;
        let head = u16::try_from(self.shadow(number, value)).ok();
        let Some(head) = head.filter(|head| self.device.check_seen(queue, *head).is_ok()) else {
            return self.notice(now, Notice::InvalidDoorbellValue, s);
        };
        self.set_event_index(number, head);
        self.post_waiting(now, queue, s);
    }

    /// Returns the value of a doorbell: that in the host's shadow doorbell if there is one (never for the admin queues,
    /// whose doorbells Linux does not shadow), else `value`.
    fn shadow(&self, number: u64, value: u32) -> u32 {
        let mut shadow = [0; 4];
        match &self.doorbell_buffer {
            Some(buffer) if number >= 2 && self.memory.read(buffer.shadow + 4 * number, &mut shadow).is_ok() => {
                u32::from_le_bytes(shadow)
            }
            _ => value,
        }
    }

    /// Sets the event index of a doorbell to the value seen, so that the host writes the register at its next change.
    fn set_event_index(&mut self, number: u64, seen: u16) {
        if let Some(buffer) = &self.doorbell_buffer
            && number >= 2
        {
            // A buffer that is no longer memory is the host's mistake; its doorbell registers still work.
            let _ = self.memory.write(buffer.event_index + 4 * number, &u32::from(seen).to_le_bytes());
        }
    }
}
