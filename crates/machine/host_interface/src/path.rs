//! The steps of a request that all interfaces share: issue, doorbell, fetch, decode, data, completion, reap.
//!
//! An interface implements the steps; [`handle`](Path::handle) maps each event to its step.

use host::Completed;
use media::{Request, Tag};
use sim::{Schedule, Time};

use crate::event::{Event, Outcome, Output};

/// The steps of a path. Each performs one action at `now` and schedules the next.
pub(crate) trait Path {
    /// Lets the driver submit requests of the queue pair while there are free entries.
    fn issue(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>);

    /// Handles a doorbell's arrival at the controller or adapter.
    fn doorbell(&mut self, now: Time, queue: u16, cid: u16, s: &mut impl Schedule<Event>);

    /// Sends the command in this slot, which the adapter has read, to the device.
    fn send_command(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>);

    /// Passes an event to the controller. Returns its output, to be handled next.
    fn device(&mut self, now: Time, event: device::Event, s: &mut impl Schedule<Event>) -> Option<device::Output>;

    /// Lets the controller read the list of `bytes` that a command points to.
    fn read_list(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>);

    /// Returns the request that a command is, or is part of.
    fn io(&self, tag: Tag) -> u32;

    /// Returns a decoded command for the translation layer.
    #[inline]
    fn command(&mut self, _now: Time, tag: u16, request: Request, _s: &mut impl Schedule<Event>) -> Outcome {
        Outcome { command: Some((Tag(u32::from(tag)), request)), ..Outcome::default() }
    }

    /// Returns a write whose data is all in the controller, for the translation layer.
    #[inline]
    fn arrived(&mut self, _now: Time, tag: u16, _s: &mut impl Schedule<Event>) -> Option<Tag> {
        Some(Tag(u32::from(tag)))
    }

    /// Posts the completion of a command at `at`, which is `now` or later.
    fn post(&mut self, now: Time, at: Time, tag: u16, s: &mut impl Schedule<Event>);

    /// Sends the interrupt for completions of a queue pair.
    fn interrupt(&mut self, _now: Time, queue: u16, _s: &mut impl Schedule<Event>) {
        unreachable!("an interrupt of queue {queue} that is not the end of a command")
    }

    /// Lets the driver process a completion. Returns the request that ends with it.
    fn reap(&mut self, now: Time, event: host::Event, s: &mut impl Schedule<Event>) -> Option<Completed>;

    /// Performs a step specific to this path.
    fn step(&mut self, now: Time, step: u8, of: u32, s: &mut impl Schedule<Event>, out: &mut Vec<Output>);

    /// Handles an event. Returns its output, unless it appends its outputs to `out`.
    #[inline]
    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) -> Outcome {
        match event {
            Event::Device(event) => match self.device(now, event, s) {
                Some(device::Output::Command { tag, request, .. }) => return self.command(now, tag, request, s),
                Some(device::Output::Arrived(tag)) => {
                    return Outcome { arrived: self.arrived(now, tag, s), ..Outcome::default() };
                }
                Some(report) => self.report(now, report, s),
                None => {}
            },
            Event::Host(event) => {
                let completed = self.reap(now, event, s);
                self.issue(now, event.queue, s);
                return Outcome { completed, ..Outcome::default() };
            }
            _ => self.handle_other(now, event, s, out),
        }
        Outcome::default()
    }

    /// Handles an event that not every request has.
    fn handle_other(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        match event {
            Event::Device(_) | Event::Host(_) => unreachable!("{event:?} is no rare event"),
            Event::Doorbell { queue, cid } => self.doorbell(now, queue, cid, s),
            Event::Issued(slot) => self.send_command(now, slot, s),
            Event::HostMemory(id) => out.push(Output::HostMemory { id, intact: true }),
            Event::Step { step, of } => self.step(now, step, of, s, out),
        }
    }

    /// Handles an output of the controller that is not for the translation layer.
    #[inline]
    fn report(&mut self, now: Time, report: device::Output, s: &mut impl Schedule<Event>) {
        match report {
            device::Output::Command { .. } | device::Output::Arrived(_) => {
                unreachable!("{report:?} is handled by the caller")
            }
            device::Output::List { tag, bytes } => self.read_list(now, tag, bytes, s),
            device::Output::Ended { tag, at } => self.post(now, at, tag, s),
            device::Output::Interrupt(queue) => self.interrupt(now, queue, s),
        }
    }
}
