//! The path of NVMe over PCI Express.

use device::{Completion, Ended};
use host::{Delivery, Entry, Submission};
use link::pcie::SUBMISSION;
use link::{Direction, Pcie, Transfer};
use media::{Request, Status, Tag};
use sim::{Client, Part, Schedule, Time, Track};

use super::event::{Config, DOORBELL, Event, MEMORY, Output, STEP};
use super::hmb::{HostMemory, Switched};
use super::path::Path;
use super::view::{Busy, Tracks, busy, device_part, host_part, rows};

/// Driver, link and controller. The queues are in the host's memory.
#[derive(Clone, Debug)]
pub struct Nvme {
    pub(super) host: host::Nvme,
    pub(super) link: Pcie,
    pub(super) device: device::Nvme,
    tracks: Tracks,
    /// Number of doorbells on their way to the controller.
    ringing: u32,
    pub(super) memory: HostMemory,
}

impl Nvme {
    pub(super) fn swap_cores(&mut self, other: &mut Nvme) {
        self.host.swap_cores(&mut other.host);
    }

    pub(super) fn new(config: &Config) -> Nvme {
        let host = host::Nvme::new(&config.host);
        let interrupts = !config.host.completion.is_polling();
        let depth = config.host.queue_depth as u16;
        let link::Config::Pcie(pcie) = &config.link else { panic!("NVMe over {:?}", config.link) };
        let link = Pcie::new(pcie);
        Nvme {
            device: device::Nvme::new(&config.device, host.pairs(), depth, interrupts, link.round_trip()),
            link,
            tracks: Tracks::behind(&host.tracks()),
            host,
            ringing: 0,
            memory: HostMemory::new(config.host.hmb, config.device.hmb.identify(), device::nvme::MEMORY_PAGE),
        }
    }

    pub(super) fn interrupts(&self) -> u64 {
        self.device.interrupts_sent()
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
        let pairs = (0..self.host.pairs()).map(|pair| ("host".into(), format!("submission queue {pair}")));
        pairs.chain([("controller".into(), "commands".into())]).collect()
    }

    pub(super) fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        lengths.extend((0..self.host.pairs()).map(|pair| self.device.unfetched(pair)));
        lengths.push(self.device.outstanding());
    }

    pub(super) fn waited(&self) -> u64 {
        self.host.waited()
    }

    pub(super) fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.link.power_cut(now);
        self.device.power_cut(now);
        self.ringing = 0;
        self.memory.power_cut();
        self.host.power_cut(now)
    }

    /// Resets the controller and sets it up again. Returns the requests that are lost, and whether the Host Memory
    /// Buffer still has its contents.
    pub(super) fn reset(&mut self, now: Time, keep: bool) -> (Vec<u32>, bool) {
        let kept = self.memory.reset(keep);
        self.link.power_cut(now);
        self.device.power_cut(now);
        self.ringing = 0;
        (self.host.power_cut(now), kept)
    }

    /// Switches the Host Memory Buffer. Returns false if nothing changes.
    pub(super) fn switch_host_memory(&mut self, now: Time, on: bool, s: &mut impl Schedule<Event>) -> bool {
        let arrives = self.memory.switch(now, on, &mut self.link);
        if let Some(at) = arrives {
            s.at(STEP, at, Event::Step { step: 0, of: 0 });
        }
        arrives.is_some()
    }

    /// Ends the command that took the Host Memory Buffer back.
    pub(super) fn host_memory_released(&mut self, now: Time) {
        self.memory.released();
        self.link.completion(now, now, true);
    }

    #[inline]
    pub(super) fn submit(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        let queue = self.host.submit(io, job, request);
        self.issue_all(now, queue, s);
    }

    /// Issues the commands of `queue` as long as requests wait and command numbers are free.
    fn issue_all(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>) {
        loop {
            let at_once = self.ringing == 0 && self.device.fetches_at_once();
            let Some((submission, tail)) = self.host.issue(now, queue, at_once, &mut host_part(s)) else { return };
            self.ring(now, queue, submission, tail, s);
            if !self.host.can_issue(queue) {
                return;
            }
        }
    }

    /// Writes a command's doorbell. If the controller fetches the command as soon as the doorbell arrives, the `tail` is
    /// known, and the link times both together; otherwise the arrival is an event, and so are those of later doorbells.
    #[inline]
    fn ring(&mut self, now: Time, queue: u16, submission: Submission, tail: Option<u16>, s: &mut impl Schedule<Event>) {
        let Submission { cid, at, in_order, request } = submission;
        let Some(tail) = tail else {
            self.ringing += 1;
            return s.at(DOORBELL, self.link.doorbell(now, at), Event::Doorbell { queue, cid });
        };
        let fetch = self.device.fetch_at_once(queue, tail);
        let arrives = self.link.submission(now, at);
        debug_assert_eq!(self.host.entry(queue, fetch.index), (cid, request));
        // The only entry is the one just written, which need not be read.
        self.device.admit(fetch, (arrives, in_order), |_| (cid, request), &mut device_part(s, self.tracks));
    }

    /// Fetches the waiting commands that the controller has room for.
    fn fetch(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        while let Some(fetch) = self.device.fetch() {
            let arrives = self.link.fetch(now, u32::from(fetch.count) * SUBMISSION);
            self.admit(fetch, (arrives, false), s);
        }
    }

    /// Admits fetched entries with their time of arrival and a flag that they arrive in order.
    #[inline]
    fn admit(&mut self, fetch: device::Fetch, arrives: (Time, bool), s: &mut impl Schedule<Event>) {
        let host = &self.host;
        self.device.admit(fetch, arrives, |index| host.entry(fetch.queue, index), &mut device_part(s, self.tracks));
    }

    #[inline]
    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let (tag, bytes, staged) = self.device.ready(now, tag, &mut device_part(s, self.tracks));
        let moved = self.transfer(now, tag, Direction::ToDevice, bytes, s);
        self.device.arrives(tag, moved.arrives.max(staged), &mut device_part(s, self.tracks));
    }

    #[inline]
    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let (tag, staged) = self.device.data(now, tag, bytes, &mut device_part(s, self.tracks));
        let moved = self.transfer(now, tag, Direction::ToHost, u64::from(bytes), s);
        self.device.sent(tag, moved.sent.max(staged));
    }

    #[inline]
    pub(super) fn last_data(&mut self, now: Time, tag: Tag, bytes: u32, status: Status, s: &mut impl Schedule<Event>) {
        let last = self.device.last_data(now, tag, bytes, status, &mut device_part(s, self.tracks));
        let moved = self.transfer(now, last.tag(), Direction::ToHost, u64::from(bytes), s);
        if let Some((tag, at)) = self.device.complete_read(now, last, moved.sent, &mut device_part(s, self.tracks)) {
            self.post(now, at, tag, s);
        }
    }

    #[inline]
    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        if let Some((tag, at)) = self.device.complete(now, tag, status, &mut device_part(s, self.tracks)) {
            self.post(now, at, tag, s);
        }
    }

    /// Transfers data of the command `tag` and records it on the timeline.
    #[inline]
    fn transfer(
        &mut self,
        now: Time,
        tag: u16,
        direction: Direction,
        bytes: u64,
        s: &mut impl Schedule<Event>,
    ) -> Transfer {
        let tracks = self.tracks.link;
        self.link.data(now, direction, bytes, |way, span| {
            s.served(Track(tracks + way as u32), Client::Command(tag.into()), "data", now, span);
        })
    }

    /// Transfers `bytes` to or from host memory for the controller itself and records it on the timeline.
    fn transfer_own(&mut self, now: Time, direction: Direction, bytes: u64, s: &mut impl Schedule<Event>) -> Transfer {
        let tracks = self.tracks.link;
        self.link.data(now, direction, bytes, |way, span| {
            s.span(Track(tracks + way as u32), "data", span.from, span.to);
        })
    }

    /// Writes the completion queue's head doorbell after the driver has consumed entries.
    fn seen(&mut self, queue: u16, seen: Option<u16>) {
        if let Some(head) = seen {
            self.link.head();
            self.device.seen(queue, head);
        }
    }

    #[inline]
    pub(super) fn host_memory(&mut self, now: Time, bytes: u32, store: bool, id: u32, s: &mut impl Schedule<Event>) {
        let at = if store {
            self.transfer_own(now, Direction::ToHost, u64::from(bytes), s).sent
        } else {
            self.transfer_own(now, Direction::ToDevice, u64::from(bytes), s).arrives
        };
        s.at(MEMORY, at, Event::HostMemory(id));
    }
}

impl Path for Nvme {
    #[inline]
    fn issue(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>) {
        if self.host.can_issue(queue) {
            self.issue_all(now, queue, s);
        }
    }

    fn doorbell(&mut self, now: Time, queue: u16, cid: u16, s: &mut impl Schedule<Event>) {
        self.ringing -= 1;
        self.device.doorbell(queue, self.host.enter(queue, cid));
        self.fetch(now, s);
    }

    fn send_command(&mut self, _: Time, slot: u16, _: &mut impl Schedule<Event>) {
        unreachable!("an NVMe driver has no slot {slot}")
    }

    #[inline]
    fn device(&mut self, now: Time, event: device::Event, s: &mut impl Schedule<Event>) -> Option<device::Output> {
        let mut report = None;
        self.device.handle(now, event, &mut device_part(s, self.tracks), &mut report);
        report
    }

    fn read_list(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>) {
        let at = self.link.fetch(now, bytes as u32);
        self.device.listed(tag, at, &mut device_part(s, self.tracks));
    }

    #[inline]
    fn io(&self, tag: Tag) -> u32 {
        let (queue, cid) = self.device.entry_of(tag);
        self.host.io(queue, cid)
    }

    /// Posts a completion queue entry, followed by an interrupt if one is due, and frees the command's tag. The driver
    /// reaps the entry when it sees it.
    #[inline(always)]
    fn post(&mut self, now: Time, at: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let Ended { queue, cid, status, interrupt } = self.device.release(at, tag, &mut device_part(s, self.tracks));
        let (visible, message) = self.link.completion(now, at, interrupt);
        let (index, Completion { phase, .. }) = self.device.post(queue, cid, status);
        let entry = Entry { cid, phase, status };
        let delivery = Delivery { queue, index, entry, visible, interrupt: interrupt.then_some(message) };
        let seen = self.host.completion(now, delivery, &mut host_part(s));
        self.seen(queue, seen);
        if self.device.waits() {
            self.fetch(now, s);
        }
    }

    fn interrupt(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>) {
        let at = self.link.interrupt(now);
        let seen = self.host.interrupt(now, queue, at, &mut host_part(s));
        self.seen(queue, seen);
    }

    #[inline]
    fn reap(&mut self, now: Time, event: host::Event, s: &mut impl Schedule<Event>) -> Option<host::Completed> {
        let mut completed = None;
        self.host.handle(now, event, &mut host_part(s), &mut completed);
        completed
    }

    /// Handles the arrival of a command that switches the Host Memory Buffer.
    fn step(&mut self, now: Time, _: u8, _: u32, _: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        let switched = self.memory.arrived();
        if switched != Some(Switched::Releasing) {
            self.link.completion(now, now, true);
        }
        out.extend(switched.map(Output::HostMemorySwitched));
    }
}
