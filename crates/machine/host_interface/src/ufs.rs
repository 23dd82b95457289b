//! The path of UFS: a host controller with a doorbell register, UPIUs over UniPro, and a device with one task queue.
//!
//! Descriptors, commands, calls for data, data and responses each occupy the controller's path to memory and the link.
//! A write's data is transferred in segments, so that commands share both.

use host::Submission;
use link::ufs::{SENSE, UPIU};
use link::{Direction, Transfer};
use media::{Op, Request, Status, Tag};
use sim::{Client, Lane, Part, Schedule, Time, Track};

use super::event::{Config, DOORBELL, Event, ISSUED, Outcome, Output, STEP};
use super::path::Path;
use super::view::{Busy, Tracks, busy, device_part, host_part, rows};

/// Step: the controller has read the descriptor of a slot's transfer request.
const DESCRIBED: u8 = 0;
/// Step: a READY TO TRANSFER has arrived at the host controller.
const CALLED: u8 = 1;
/// Step: the host controller has read the requested data.
const READ: u8 = 2;
/// Step: a DATA OUT has arrived at the device.
const ARRIVED: u8 = 3;
/// Step: the aggregation time of an interrupt is over.
const AGGREGATED: u8 = 4;

/// Bits of a step's operand that hold the number of bytes; the slot is above them.
const BYTES: u32 = 18;

/// Driver, host controller, link and device. A command's slot number is its tag.
#[derive(Clone, Debug)]
pub struct Ufs {
    host: host::Ufshci,
    link: link::Ufs,
    device: device::Ufs,
    tracks: Tracks,
    /// True if the firmware answers without the translation layer.
    bypass: bool,
}

impl Ufs {
    pub(super) fn swap_cores(&mut self, other: &mut Ufs) {
        self.host.swap_cores(&mut other.host);
    }

    pub(super) fn new(config: &Config, link: &link::UfsConfig) -> Ufs {
        let host = host::Ufshci::new(&config.host);
        let (slots, tasks) = (config.host.queue_depth, config.device.max_commands);
        assert!(slots <= tasks, "{slots} command slots for a device of {tasks} tasks");
        assert!(config.device.utp.segment < 1 << BYTES, "{:?}", config.device.utp);
        Ufs {
            link: link::Ufs::new(link),
            device: device::Ufs::new(&config.device),
            tracks: Tracks::behind(&host.tracks()),
            bypass: config.device.bypass_flash,
            host,
        }
    }

    pub(super) fn interrupts(&self) -> u64 {
        self.host.interrupts()
    }

    pub(super) fn tracks(&self) -> Vec<(String, String)> {
        rows(self.host.tracks(), self.device.tracks())
    }

    pub(super) fn busy(&self, now: Time) -> Vec<Busy> {
        busy(self.host.busy(now), self.link(now), self.device.busy(now))
    }

    pub(super) fn link(&self, now: Time) -> [link::Utilization; 2] {
        self.link.utilization(now)
    }

    pub(super) fn queues(&self) -> Vec<(String, String)> {
        [("host", "command slots"), ("controller", "commands")].map(|(part, name)| (part.into(), name.into())).into()
    }

    pub(super) fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        lengths.extend([self.host.slots_taken(), self.device.outstanding()]);
    }

    pub(super) fn waited(&self) -> u64 {
        self.host.waited()
    }

    pub(super) fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.link.power_cut(now);
        self.device.power_cut(now);
        self.host.power_cut(now)
    }

    pub(super) fn submit(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        self.host.submit(io, job, request);
        self.issue(now, 0, s);
    }

    /// Performs a step of a command's fetch or of a write's data.
    fn move_data(&mut self, now: Time, which: u8, (slot, bytes): (u16, u32), s: &mut impl Schedule<Event>) {
        match which {
            DESCRIBED => {
                let at = self.host.read_command(now, slot, &mut host_part(s));
                s.at(ISSUED, at, Event::Issued(slot));
            }
            CALLED => {
                let at = self.host.read_data(now, slot, bytes, &mut host_part(s));
                step(READ, at, slot, bytes, s);
            }
            READ => {
                let sent = self.upiu(now, self.request(slot), Direction::ToDevice, ("data", UPIU + bytes), s);
                step(ARRIVED, sent.arrives, slot, bytes, s);
            }
            ARRIVED => {
                self.device.arrived(now, slot, bytes, &mut device_part(s, self.tracks));
                self.call(now, s);
            }
            _ => unreachable!("step {which} on the path of UFS"),
        }
    }

    /// Lets the device request as much of its outstanding data as may be in flight.
    fn call(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        while let Some((tag, bytes)) = self.device.call() {
            let sent = self.upiu(now, self.request(tag), Direction::ToHost, ("ready to transfer", UPIU), s);
            step(CALLED, sent.arrives, tag, bytes, s);
        }
    }

    /// Sends a UPIU for `client`.
    fn upiu(
        &mut self,
        now: Time,
        client: Client,
        direction: Direction,
        (name, bytes): (&'static str, u32),
        s: &mut impl Schedule<Event>,
    ) -> Transfer {
        let first = self.tracks.link;
        self.link.upiu(now, direction, bytes, |way, span| s.served(Track(first + way as u32), client, name, now, span))
    }

    /// Returns the request of the command in `slot`.
    fn request(&self, slot: u16) -> Client {
        Client::Request(self.host.io(slot))
    }

    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        self.device.ready(now, tag, &mut device_part(s, self.tracks));
        self.call(now, s);
    }

    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let (tag, staged) = self.device.data(now, tag, bytes, &mut device_part(s, self.tracks));
        let (mut left, mut sent) = (bytes, staged);
        while left > 0 {
            let piece = left.min(self.device.segment());
            let moved = self.upiu(now, Client::Command(tag.into()), Direction::ToHost, ("data", UPIU + piece), s);
            self.host.write_data(moved.arrives, tag, piece, &mut host_part(s));
            (left, sent) = (left - piece, sent.max(moved.sent));
        }
        self.device.sent(tag, sent);
    }

    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        if let Some(tag) = self.device.complete(now, tag, status, &mut device_part(s, self.tracks)) {
            self.post(now, now, tag, s);
        }
    }
}

impl Path for Ufs {
    fn issue(&mut self, now: Time, _: u16, s: &mut impl Schedule<Event>) {
        while let Some(Submission { cid, at, .. }) = self.host.issue(now, &mut host_part(s)) {
            s.at(DOORBELL, at + self.host.register_write(), Event::Doorbell { queue: 0, cid });
        }
    }

    fn doorbell(&mut self, now: Time, _: u16, cid: u16, s: &mut impl Schedule<Event>) {
        let at = self.host.read_descriptor(now, cid, &mut host_part(s));
        step(DESCRIBED, at, cid, 0, s);
    }

    fn send_command(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) {
        let request = self.host.request(slot);
        let sent = self.upiu(now, self.request(slot), Direction::ToDevice, ("command", UPIU), s);
        self.device.admit(slot, request, sent.arrives, &mut device_part(s, self.tracks));
    }

    #[inline]
    fn device(&mut self, now: Time, event: device::Event, s: &mut impl Schedule<Event>) -> Option<device::Output> {
        let mut report = None;
        self.device.handle(now, event, &mut device_part(s, self.tracks), &mut report);
        report
    }

    /// Lets the device request the list, which is transferred like a write's data.
    fn read_list(&mut self, now: Time, _: u16, _: u64, s: &mut impl Schedule<Event>) {
        self.call(now, s);
    }

    fn io(&self, tag: Tag) -> u32 {
        self.host.io(tag.0 as u16)
    }

    /// Passes the command to the translation layer, or answers it immediately if there is none.
    fn command(&mut self, now: Time, tag: u16, request: Request, s: &mut impl Schedule<Event>) -> Outcome {
        let id = Tag(u32::from(tag));
        if !self.bypass {
            return Outcome { command: Some((id, request)), ..Outcome::default() };
        }
        if request.op == Op::Write {
            self.ready(now, id, s);
            return Outcome::default();
        }
        if request.op == Op::Read {
            self.data(now, id, request.bytes as u32, s);
        }
        self.complete(now, id, Status::Ok, s);
        Outcome::default()
    }

    fn arrived(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> Option<Tag> {
        let tag = Tag(u32::from(tag));
        if !self.bypass {
            return Some(tag);
        }
        self.complete(now, tag, Status::Ok, s);
        None
    }

    /// Sends a command's response.
    fn post(&mut self, now: Time, _: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let status = self.device.post(tag);
        let bytes = if status.is_ok() { UPIU } else { UPIU + SENSE };
        let sent = self.upiu(now, self.request(tag), Direction::ToHost, ("response", bytes), s);
        let aggregation = self.host.response(now, tag, status, (sent.arrives, bytes), &mut host_part(s));
        if let Some((at, epoch)) = aggregation {
            s.at(lane(AGGREGATED), at, Event::Step { step: AGGREGATED, of: u32::from(epoch) });
        }
    }

    fn reap(&mut self, now: Time, event: host::Event, s: &mut impl Schedule<Event>) -> Option<host::Completed> {
        let mut completed = None;
        self.host.handle(now, event, &mut host_part(s), &mut completed);
        completed
    }

    fn step(&mut self, now: Time, step: u8, of: u32, s: &mut impl Schedule<Event>, _: &mut Vec<Output>) {
        match step {
            AGGREGATED => self.host.aggregated(now, of as u16, &mut host_part(s)),
            _ => self.move_data(now, step, ((of >> BYTES) as u16, of & ((1 << BYTES) - 1)), s),
        }
    }
}

/// Returns the lane of a step. Events of one step are mostly pushed in time order.
fn lane(step: u8) -> Lane {
    Lane(STEP.0 + step)
}

fn step(which: u8, at: Time, slot: u16, bytes: u32, s: &mut impl Schedule<Event>) {
    debug_assert!(bytes < 1 << BYTES);
    s.at(lane(which), at, Event::Step { step: which, of: u32::from(slot) << BYTES | bytes });
}
