//! UFS: a host controller with a doorbell register, UPIUs over UniPro, a device with one queue of tasks.
//!
//! Descriptors, commands, calls for data, data and responses each take their time of the controller's way to memory and
//! of the link; a write's data moves piece by piece, so that commands share both.

use host::Submission;
use link::ufs::{SENSE, UPIU};
use link::{Direction, Transfer};
use media::{Op, Request, Status, Tag};
use sim::{Lane, Schedule, Time, Track};

use super::{Busy, Config, DOORBELL, Event, ISSUED, Output, STEP, Tracks, busy, device_part, host_part, rows};

/// The controller has the descriptor of a slot's transfer request.
const DESCRIBED: u8 = 0;
/// A READY TO TRANSFER is in the controller.
const CALLED: u8 = 1;
/// The controller has the data that was called for.
const READ: u8 = 2;
/// A DATA OUT is in the device.
const ARRIVED: u8 = 3;
/// The time of aggregation of an interrupt is over.
const AGGREGATED: u8 = 4;

/// Bits of the number of bytes in what a step is of; the slot stands above them.
const BYTES: u32 = 18;

/// Driver, host controller, link and device. A command's slot is its tag.
#[derive(Clone, Debug)]
pub struct Ufs {
    host: host::Ufshci,
    link: link::Ufs,
    device: device::Ufs,
    tracks: Tracks,
    /// The firmware answers by itself.
    bypass: bool,
}

impl Ufs {
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

    pub(super) fn link(&self, now: Time) -> [link::Utilisation; 2] {
        self.link.utilisation(now)
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
        self.issue(now, s);
    }

    fn issue(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        while let Some(Submission { cid, at, .. }) = self.host.issue(now, &mut host_part(s)) {
            s.at(DOORBELL, at + self.host.register_write(), Event::Doorbell { queue: 0, cid });
        }
    }

    pub(super) fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        match event {
            Event::Doorbell { cid, .. } => {
                let at = self.host.read_descriptor(now, &mut host_part(s));
                step(DESCRIBED, at, cid, 0, s);
            }
            Event::Issued(slot) => {
                let request = self.host.request(slot);
                let sent = self.upiu(now, Direction::ToDevice, UPIU, "command", s);
                self.device.admit(slot, request, sent.arrives, &mut device_part(s, self.tracks));
            }
            Event::Device(device::Event::Fetched(tag)) => {
                if self.device.fetched(now, tag) {
                    self.decode(now, tag, s, out);
                } else {
                    self.call(now, s);
                }
            }
            Event::Device(device::Event::Listed(tag)) => self.decode(now, tag, s, out),
            Event::Device(device::Event::Decoded(tag)) => self.run(now, tag, s, out),
            Event::Device(device::Event::Arrived(tag)) if self.bypass => {
                self.complete(now, Tag(u32::from(tag)), Status::Ok, s);
            }
            Event::Device(device::Event::Arrived(tag)) => out.push(Output::Arrived { tag: Tag(u32::from(tag)) }),
            Event::Device(device::Event::Ended(tag)) => self.post(now, tag, s),
            Event::Host(event) => {
                if let Some(host::Completed { io, status, submitted }) = self.host.reaped(event) {
                    out.push(Output::Completed { io, status, submitted });
                }
                self.issue(now, s);
            }
            Event::Step { step: AGGREGATED, of } => self.host.aggregated(now, of as u16, &mut host_part(s)),
            Event::Step { step, of } => self.step(now, step, ((of >> BYTES) as u16, of & ((1 << BYTES) - 1)), s),
            Event::Device(device::Event::Coalesced { .. }) | Event::HostMemory(_) => {
                unreachable!("{event:?} on the path of UFS")
            }
        }
    }

    fn step(&mut self, now: Time, which: u8, (slot, bytes): (u16, u32), s: &mut impl Schedule<Event>) {
        match which {
            DESCRIBED => {
                let at = self.host.read_command(now, slot, &mut host_part(s));
                s.at(ISSUED, at, Event::Issued(slot));
            }
            CALLED => {
                let at = self.host.read_data(now, bytes, &mut host_part(s));
                step(READ, at, slot, bytes, s);
            }
            READ => {
                let sent = self.upiu(now, Direction::ToDevice, UPIU + bytes, "data", s);
                step(ARRIVED, sent.arrives, slot, bytes, s);
            }
            ARRIVED => {
                self.device.arrived(now, slot, bytes, &mut device_part(s, self.tracks));
                self.call(now, s);
            }
            _ => unreachable!("step {which} on the path of UFS"),
        }
    }

    /// The device calls for as much of what it wants as may be under way.
    fn call(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        while let Some((tag, bytes)) = self.device.call() {
            let sent = self.upiu(now, Direction::ToHost, UPIU, "ready to transfer", s);
            step(CALLED, sent.arrives, tag, bytes, s);
        }
    }

    /// Sends a UPIU.
    fn upiu(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u32,
        name: &'static str,
        s: &mut impl Schedule<Event>,
    ) -> Transfer {
        let first = self.tracks.link;
        self.link.upiu(now, direction, bytes, |way, span| s.span(Track(first + way as u32), name, span.from, span.to))
    }

    fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        if self.device.decode(now, tag, &mut device_part(s, self.tracks)) {
            self.run(now, tag, s, out);
        }
    }

    /// The command goes to the translation layer, or is answered at once: what is read is nobody's data.
    fn run(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        let (request, id) = (self.device.run(tag), Tag(u32::from(tag)));
        if !self.bypass {
            out.push(Output::Command { tag: id, io: self.host.io(tag), request });
            return;
        }
        match request.op {
            Op::Write => return self.ready(now, id, s),
            Op::Read => self.data(now, id, request.bytes as u32, s),
            Op::Trim | Op::Flush => {}
        }
        self.complete(now, id, Status::Ok, s);
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
            let moved = self.upiu(now, Direction::ToHost, UPIU + piece, "data", s);
            self.host.write_data(moved.arrives, piece, &mut host_part(s));
            (left, sent) = (left - piece, sent.max(moved.sent));
        }
        self.device.sent(tag, sent);
    }

    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        if let Some(tag) = self.device.complete(now, tag, status, &mut device_part(s, self.tracks)) {
            self.post(now, tag, s);
        }
    }

    /// The device sends a command's response.
    fn post(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let status = self.device.post(tag);
        let bytes = if status == Status::Ok { UPIU } else { UPIU + SENSE };
        let sent = self.upiu(now, Direction::ToHost, bytes, "response", s);
        let aggregation = self.host.response(now, tag, status, (sent.arrives, bytes), &mut host_part(s));
        if let Some((at, epoch)) = aggregation {
            s.at(lane(AGGREGATED), at, Event::Step { step: AGGREGATED, of: u32::from(epoch) });
        }
    }
}

/// Events of a step mostly come in the order in which they are pushed.
fn lane(step: u8) -> Lane {
    Lane(STEP.0 + step)
}

fn step(which: u8, at: Time, slot: u16, bytes: u32, s: &mut impl Schedule<Event>) {
    debug_assert!(bytes < 1 << BYTES);
    s.at(lane(which), at, Event::Step { step: which, of: u32::from(slot) << BYTES | bytes });
}
