//! AHCI and SATA.

use host::Submission;
use link::sata::{REGISTER, SET_DEVICE_BITS};
use link::{Direction, Link};
use media::{Op, Request, Status, Tag};
use sim::{Schedule, Time, Track};

use super::{
    Busy, Config, DOORBELL, Event, ISSUED, Output, STEP, Tracks, busy, device_part, host_part, rows, transfer,
};

/// The command has got the drive's data buffer.
const START: u8 = 0;

/// Driver, host bus adapter, link and drive. A command's slot is its tag.
#[derive(Clone, Debug)]
pub struct Ahci {
    host: host::Ahci,
    link: Link,
    device: device::Sata,
    tracks: Tracks,
    interrupts: u64,
    polling: bool,
}

impl Ahci {
    pub(super) fn new(config: &Config) -> Ahci {
        let host = host::Ahci::new(&config.host);
        let (slots, tags) = (config.host.queue_depth, config.device.max_commands);
        assert!(slots <= tags, "{slots} command slots for a drive of {tags} commands");
        Ahci {
            link: Link::new(&config.link),
            device: device::Sata::new(&config.device),
            tracks: Tracks::behind(&host.tracks()),
            interrupts: 0,
            polling: matches!(config.host.completion, host::Completion::Polling { .. }),
            host,
        }
    }

    pub(super) fn interrupts(&self) -> u64 {
        self.interrupts
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
                let at = self.host.fetch(now, cid, &mut host_part(s));
                s.at(ISSUED, at, Event::Issued(cid));
            }
            Event::Issued(slot) => {
                let request = self.host.request(slot);
                let at = self.frame(now, Direction::ToDevice, REGISTER, "command", s);
                if !self.host.is_alone(request.op) {
                    // The drive accepts a queued command, so that the host may send the next.
                    self.frame(now, Direction::ToHost, REGISTER, "accept", s);
                }
                self.device.admit(slot, request, at, &mut device_part(s, self.tracks));
            }
            Event::Device(device::Event::Fetched(tag)) => match self.device.fetched(tag) {
                0 => self.decode(now, tag, s, out),
                ranges => {
                    let moved = transfer(&mut self.link, now, Direction::ToDevice, ranges, self.tracks, s);
                    self.device.listed(tag, moved.arrives, &mut device_part(s, self.tracks));
                }
            },
            Event::Device(device::Event::Listed(tag)) => self.decode(now, tag, s, out),
            Event::Device(device::Event::Decoded(tag)) => self.run(tag, out),
            Event::Device(device::Event::Arrived(tag)) => out.push(Output::Arrived { tag: Tag(u32::from(tag)) }),
            Event::Device(device::Event::Ended(tag)) => self.post(now, tag, s),
            Event::Host(event) => {
                if let Some(host::Completed { io, status, submitted }) = self.host.reaped(event) {
                    out.push(Output::Completed { io, status, submitted });
                }
                self.issue(now, s);
            }
            Event::Step { step: START, of } => self.run(of as u16, out),
            Event::Device(device::Event::Coalesced { .. }) | Event::HostMemory(_) | Event::Step { .. } => {
                unreachable!("{event:?} on a path without NVMe")
            }
        }
    }

    /// Sends a FIS; returns its arrival.
    fn frame(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u32,
        name: &'static str,
        s: &mut impl Schedule<Event>,
    ) -> Time {
        let span = self.link.frame(now, direction, bytes);
        s.span(Track(self.tracks.link + direction as u32), name, span.from, span.to);
        span.to
    }

    fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        if self.device.decode(now, tag, &mut device_part(s, self.tracks)) {
            self.run(tag, out);
        }
    }

    fn run(&mut self, tag: u16, out: &mut Vec<Output>) {
        if let Some(request) = self.device.run(tag) {
            out.push(Output::Command { tag: Tag(u32::from(tag)), io: self.host.io(tag), request });
        }
    }

    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let (tag, bytes, staged) = self.device.ready(now, tag, &mut device_part(s, self.tracks));
        let moved = transfer(&mut self.link, now, Direction::ToDevice, bytes, self.tracks, s);
        self.device.arrives(tag, moved.arrives.max(staged), &mut device_part(s, self.tracks));
    }

    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let (tag, staged, bytes) = self.device.data(now, tag, bytes, &mut device_part(s, self.tracks));
        if bytes > 0 {
            let moved = transfer(&mut self.link, now, Direction::ToHost, bytes, self.tracks, s);
            self.device.sent(tag, moved.sent.max(staged));
        }
    }

    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        if let Some(tag) = self.device.complete(now, tag, status, &mut device_part(s, self.tracks)) {
            self.post(now, tag, s);
        }
    }

    /// The drive tells the adapter of a command's end: a Set Device Bits FIS if it was queued, else a Register FIS.
    fn post(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let status = self.device.post(tag);
        let op: Op = self.host.request(tag).op;
        let bytes = if self.host.is_alone(op) { REGISTER } else { SET_DEVICE_BITS };
        let at = self.frame(now, Direction::ToHost, bytes, "status", s);
        self.interrupts += u64::from(!self.polling);
        self.host.completion(now, tag, status, at, &mut host_part(s));
        if let Some(next) = self.device.next_turn() {
            s.at(STEP, now, Event::Step { step: START, of: u32::from(next) });
        }
    }
}
