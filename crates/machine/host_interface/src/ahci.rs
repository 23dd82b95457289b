//! The path over AHCI and SATA.

use host::Submission;
use host::ahci::REGISTER_WRITE;
use link::sata::{REGISTER, SET_DEVICE_BITS};
use link::{Direction, Link};
use media::{Op, Request, Status, Tag};
use sim::{Client, Part, Schedule, Time, Track};

use super::event::{Config, DOORBELL, Event, ISSUED, Output};
use super::path::Path;
use super::view::{Busy, Tracks, busy, device_part, host_part, rows, transfer};

/// Driver, host bus adapter, link and drive. A command's slot number is its tag.
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
    pub(super) fn swap_cores(&mut self, other: &mut Ahci) {
        self.host.swap_cores(&mut other.host);
    }

    pub(super) fn new(config: &Config) -> Ahci {
        let host = host::Ahci::new(&config.host);
        let (slots, tags) = (config.host.queue_depth, config.device.max_commands);
        assert!(slots <= tags, "{slots} command slots for a drive of {tags} commands");
        Ahci {
            link: Link::new(&config.link),
            device: device::Sata::new(&config.device),
            tracks: Tracks::behind(&host.tracks()),
            interrupts: 0,
            polling: config.host.completion.is_polling(),
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

    pub(super) fn link(&self, now: Time) -> [link::Utilization; 2] {
        self.link.utilization(now)
    }

    pub(super) fn queues(&self) -> Vec<(String, String)> {
        [("host", "command slots"), ("controller", "commands")].map(|(part, name)| (part.into(), name.into())).into()
    }

    pub(super) fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        lengths.extend([self.host.slots_taken(), self.device.outstanding()]);
    }

    pub(super) fn has_single_buffer(&self) -> bool {
        self.device.has_single_buffer()
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

    /// Sends a FIS of the command in `slot` and returns its time of arrival.
    fn frame(
        &mut self,
        now: Time,
        slot: u16,
        direction: Direction,
        (name, bytes): (&'static str, u32),
        s: &mut impl Schedule<Event>,
    ) -> Time {
        let span = self.link.frame(now, direction, bytes);
        let client = Client::Request(self.host.io(slot));
        s.served(Track(self.tracks.link + direction as u32), client, name, now, span);
        span.to
    }

    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let (tag, bytes, staged) = self.device.ready(now, tag, &mut device_part(s, self.tracks));
        let moved =
            transfer(&mut self.link, now, Direction::ToDevice, (Client::Command(tag.into()), bytes), self.tracks, s);
        self.device.arrives(tag, moved.arrives.max(staged), &mut device_part(s, self.tracks));
    }

    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let (tag, staged, bytes) = self.device.data(now, tag, bytes, &mut device_part(s, self.tracks));
        if bytes > 0 {
            let moved =
                transfer(&mut self.link, now, Direction::ToHost, (Client::Command(tag.into()), bytes), self.tracks, s);
            self.device.sent(tag, moved.sent.max(staged));
        }
    }

    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        if let Some(tag) = self.device.complete(now, tag, status, &mut device_part(s, self.tracks)) {
            self.post(now, now, tag, s);
        }
    }
}

impl Path for Ahci {
    fn issue(&mut self, now: Time, _: u16, s: &mut impl Schedule<Event>) {
        while let Some(Submission { cid, at, .. }) = self.host.issue(now, &mut host_part(s)) {
            s.at(DOORBELL, at + REGISTER_WRITE, Event::Doorbell { queue: 0, cid });
        }
    }

    fn doorbell(&mut self, now: Time, _: u16, cid: u16, s: &mut impl Schedule<Event>) {
        let at = self.host.fetch(now, cid, &mut host_part(s));
        s.at(ISSUED, at, Event::Issued(cid));
    }

    fn send_command(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) {
        let request = self.host.request(slot);
        let at = self.frame(now, slot, Direction::ToDevice, ("command", REGISTER), s);
        if !self.host.is_alone(request.op) {
            // The drive accepts a queued command, so that the host may send the next one.
            let span = self.link.frame(now, Direction::ToHost, REGISTER);
            s.span(Track(self.tracks.link + Direction::ToHost as u32), "accept", span.from, span.to);
        }
        self.device.admit(slot, request, at, &mut device_part(s, self.tracks));
    }

    #[inline]
    fn device(&mut self, now: Time, event: device::Event, s: &mut impl Schedule<Event>) -> Option<device::Output> {
        let mut report = None;
        self.device.handle(now, event, &mut device_part(s, self.tracks), &mut report);
        report
    }

    fn read_list(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>) {
        let moved =
            transfer(&mut self.link, now, Direction::ToDevice, (Client::Arriving(tag.into()), bytes), self.tracks, s);
        self.device.listed(tag, moved.arrives, &mut device_part(s, self.tracks));
    }

    fn io(&self, tag: Tag) -> u32 {
        self.host.io(tag.0 as u16)
    }

    /// Reports a command's end to the adapter, with a Set Device Bits FIS if the command was queued, else with a
    /// Register FIS.
    fn post(&mut self, now: Time, _: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let status = self.device.post(tag);
        let op: Op = self.host.request(tag).op;
        let bytes = if self.host.is_alone(op) { REGISTER } else { SET_DEVICE_BITS };
        let at = self.frame(now, tag, Direction::ToHost, ("status", bytes), s);
        self.interrupts += u64::from(!self.polling);
        self.host.completion(now, tag, status, at, &mut host_part(s));
        self.device.next_turn(now, &mut device_part(s, self.tracks));
    }

    fn reap(&mut self, now: Time, event: host::Event, s: &mut impl Schedule<Event>) -> Option<host::Completed> {
        let mut completed = None;
        self.host.handle(now, event, &mut host_part(s), &mut completed);
        completed
    }

    fn step(&mut self, _: Time, step: u8, _: u32, _: &mut impl Schedule<Event>, _: &mut Vec<Output>) {
        unreachable!("step {step} on the path of AHCI")
    }
}
