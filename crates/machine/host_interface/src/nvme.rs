//! NVMe over PCI Express.

use device::{Completion, Ended};
use host::{Delivery, Entry, Reaped, Submission};
use link::pcie::SUBMISSION;
use link::{Direction, Pcie, Transfer};
use media::{Request, Status, Tag};
use sim::{Schedule, Time, Track};

use super::hmb::{HostMemory, Switched};
use super::{Busy, Config, DOORBELL, Event, MEMORY, Output, STEP, Tracks, busy, device_part, host_part, rows};

/// Driver, link and controller, the queues in the host's memory between them.
#[derive(Clone, Debug)]
pub struct Nvme {
    pub(super) host: host::Nvme,
    pub(super) link: Pcie,
    pub(super) device: device::Nvme,
    tracks: Tracks,
    /// Doorbells on their way to the controller.
    ringing: u32,
    pub(super) memory: HostMemory,
}

impl Nvme {
    pub(super) fn new(config: &Config) -> Nvme {
        let host = host::Nvme::new(&config.host);
        let interrupts = matches!(config.host.completion, host::Completion::Interrupt { .. });
        let depth = config.host.queue_depth as u16;
        let link::Config::Pcie(pcie) = &config.link else { panic!("NVMe over {:?}", config.link) };
        let link = Pcie::new(pcie);
        Nvme {
            device: device::Nvme::new(&config.device, host.pairs(), depth, interrupts, link.round_trip()),
            link,
            tracks: Tracks::behind(&host.tracks()),
            host,
            ringing: 0,
            memory: HostMemory::new(config.host.hmb, config.device.hmb, u64::from(config.device.host_page)),
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

    pub(super) fn link(&self, now: Time) -> [link::Utilisation; 2] {
        self.link.utilisation(now)
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

    /// The controller is reset and set up again. Returns the requests that are gone, and whether the Host Memory Buffer
    /// has what was in it.
    pub(super) fn reset(&mut self, now: Time, keep: bool) -> (Vec<u32>, bool) {
        let kept = self.memory.reset(keep);
        self.link.power_cut(now);
        self.device.power_cut(now);
        self.ringing = 0;
        (self.host.power_cut(now), kept)
    }

    /// The administrator switches the Host Memory Buffer. False if nothing comes of it.
    pub(super) fn switch_host_memory(&mut self, now: Time, on: bool, s: &mut impl Schedule<Event>) -> bool {
        let arrives = self.memory.switch(now, on, &mut self.link);
        if let Some(at) = arrives {
            s.at(STEP, at, Event::Step { step: 0, of: 0 });
        }
        arrives.is_some()
    }

    /// The command that took the Host Memory Buffer back ends.
    pub(super) fn host_memory_released(&mut self, now: Time) {
        self.memory.released();
        self.link.completion(now, now, true);
    }

    /// Returns the command, and when it is decoded, if nothing else happens before.
    #[inline(always)]
    pub(super) fn submit(
        &mut self,
        now: Time,
        io: u32,
        job: u16,
        request: &Request,
        s: &mut impl Schedule<Event>,
    ) -> Option<(Tag, Time)> {
        let (queue, first) = self.host.submit(now, io, job, request, &mut host_part(s));
        let Some(submission) = first else {
            self.issue(now, queue, s);
            return None;
        };
        self.hand_over(now, queue, (submission.cid, submission.at, submission.prompt), request, true, s)
    }

    /// Hands over all commands that find a place in the queue.
    #[inline(never)]
    fn issue(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>) {
        while let Some(submission) = self.host.issue(now, queue, &mut host_part(s)) {
            let Submission { cid, at, prompt, request } = submission;
            self.hand_over(now, queue, (cid, at, prompt), &request, false, s);
        }
    }

    /// The driver writes a command's doorbell.
    ///
    /// A doorbell that nothing waits before is followed on the spot: the controller's room is taken now, and the fetch
    /// is timed by when the doorbell will be there. Otherwise it is an event of its own, and what comes after it too,
    /// so that nothing overtakes. Returns the command and when it is decoded, if it `looks_ahead` and nothing else
    /// happens before.
    #[inline(always)]
    fn hand_over(
        &mut self,
        now: Time,
        queue: u16,
        (cid, at, prompt): (u16, Time, bool),
        request: &Request,
        looks_ahead: bool,
        s: &mut impl Schedule<Event>,
    ) -> Option<(Tag, Time)> {
        if self.ringing == 0 && self.device.at_once() {
            let (arrives, command) = (self.link.submission(now, at), (cid, request));
            let part = &mut device_part(s, self.tracks);
            let (tag, at) = self.device.admit_one(queue, arrives, prompt, command, looks_ahead, part)?;
            return Some((Tag(u32::from(tag)), at));
        }
        self.announce(now, (queue, cid), at, request.by_field(), s);
        None
    }

    #[inline(never)]
    fn announce(
        &mut self,
        now: Time,
        (queue, cid): (u16, u16),
        at: Time,
        request: Request,
        s: &mut impl Schedule<Event>,
    ) {
        self.host.keep(queue, cid, request);
        self.ringing += 1;
        s.at(DOORBELL, self.link.doorbell(now, at), Event::Doorbell { queue, cid });
    }

    /// The doorbell of a command is at the controller.
    fn ring(&mut self, now: Time, queue: u16, cid: u16, s: &mut impl Schedule<Event>) {
        let tail = self.host.enter(queue, cid);
        self.device.doorbell(queue, tail);
        self.fetch(now, s);
    }

    /// The controller reads as many commands as wait and find room.
    #[inline(never)]
    fn fetch(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        while let Some(fetch) = self.device.fetch() {
            let arrives = self.link.fetch(now, u32::from(fetch.count) * SUBMISSION);
            let host = &self.host;
            let entry = |index| host.entry(fetch.queue, index);
            self.device.admit(fetch, arrives, entry, &mut device_part(s, self.tracks));
        }
    }

    #[inline]
    pub(super) fn handle(
        &mut self,
        now: Time,
        event: Event,
        s: &mut impl Schedule<Event>,
        out: &mut Vec<Output>,
    ) -> Option<Output> {
        match event {
            Event::Device(device::Event::Decoded(tag)) => Some(self.run(tag)),
            Event::Host(event) => {
                let host::Completed { io, status, submitted } = self.reaped(now, event, s)?;
                Some(Output::Completed { io, status, submitted })
            }
            Event::Device(device::Event::Ended(tag)) => {
                self.device.ended();
                self.post_at_once(now, now, tag, s);
                None
            }
            Event::Device(device::Event::Arrived(tag)) => Some(Output::Arrived { tag: Tag(u32::from(tag)) }),
            Event::HostMemory(id) => Some(Output::HostMemory { id }),
            _ => {
                self.step(now, event, s, out);
                None
            }
        }
    }

    /// Of [`Output::Command`]: the command `tag` is decoded, and goes to the translation layer.
    #[inline(always)]
    pub fn decoded(&mut self, tag: u16) -> (Tag, u32, Request) {
        let (queue, cid, request) = self.device.run(tag);
        (Tag(u32::from(tag)), self.host.io(queue, cid), request)
    }

    /// The driver has processed a completion. Returns the request that has ended, if one has.
    #[inline(always)]
    pub fn reaped(&mut self, now: Time, event: host::Event, s: &mut impl Schedule<Event>) -> Option<host::Completed> {
        let (completed, waits) = self.host.reaped(event);
        if waits {
            self.issue(now, event.queue, s);
        }
        completed
    }

    /// Firmware and data of the command `tag` are done: the host is told. Returns the request that has ended by that,
    /// and when, if the driver has processed its completion before anything else happens.
    #[inline(always)]
    pub fn ended(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> Option<(host::Completed, Time)> {
        self.device.ended();
        self.post(now, now, tag, true, s)
    }

    /// The steps that can often be foreseen.
    #[inline(never)]
    fn step(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        match event {
            Event::Doorbell { queue, cid } => {
                self.ringing -= 1;
                self.ring(now, queue, cid, s);
            }
            Event::Device(device::Event::Fetched(first)) => {
                let mut next = Some(first);
                while let Some(tag) = next {
                    let list;
                    (next, list) = self.device.fetched(tag);
                    if list == 0 {
                        self.decode(now, tag, s, out);
                    } else {
                        let at = self.link.fetch(now, list);
                        self.device.listed(tag, at, &mut device_part(s, self.tracks));
                    }
                }
            }
            Event::Step { .. } => {
                let switched = self.memory.arrived();
                if switched != Some(Switched::Releasing) {
                    self.link.completion(now, now, true);
                }
                out.extend(switched.map(Output::HostMemorySwitched));
            }
            Event::Device(device::Event::Listed(tag)) => self.decode(now, tag, s, out),
            Event::Device(device::Event::Coalesced { queue, epoch }) => {
                if self.device.coalesced(queue, epoch) {
                    let at = self.link.interrupt(now);
                    let seen = self.host.interrupt(now, queue, at, &mut host_part(s));
                    self.seen(queue, seen);
                }
            }
            _ => unreachable!("{event:?} on the path of NVMe"),
        }
    }

    #[inline]
    fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        if self.device.decode(now, tag, &mut device_part(s, self.tracks)) {
            out.push(self.run(tag));
        }
    }

    #[inline]
    fn run(&mut self, tag: u16) -> Output {
        let (tag, io, request) = self.decoded(tag);
        Output::Command { tag, io, request }
    }

    #[inline]
    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let (tag, bytes, staged) = self.device.ready(now, tag, &mut device_part(s, self.tracks));
        let moved = self.transfer(now, Direction::ToDevice, bytes, s);
        self.device.arrives(tag, moved.arrives.max(staged), &mut device_part(s, self.tracks));
    }

    #[inline]
    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let (tag, sent) = self.send(now, tag, bytes, s);
        self.device.sent(tag, sent);
    }

    /// Sends data of a read. Returns the command and when the data has left.
    #[inline(always)]
    fn send(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) -> (u16, Time) {
        let (tag, staged) = self.device.data(now, tag, bytes, &mut device_part(s, self.tracks));
        let moved = self.transfer(now, Direction::ToHost, u64::from(bytes), s);
        (tag, moved.sent.max(staged))
    }

    #[inline]
    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        let end = self.device.complete(now, tag, status, &mut device_part(s, self.tracks));
        if let Some((tag, at)) = end {
            self.post_at_once(now, at, tag, s);
        }
    }

    /// The last data of a read, and its end. Returns the request that has ended by that, and when, if nothing else
    /// happens before.
    #[inline(always)]
    pub(super) fn deliver(
        &mut self,
        now: Time,
        tag: Tag,
        bytes: u32,
        status: Status,
        s: &mut impl Schedule<Event>,
    ) -> Option<(host::Completed, Time)> {
        let (tag, end) = if self.device.is_direct() {
            let sent = self.transfer(now, Direction::ToHost, u64::from(bytes), s).sent;
            self.device.deliver(now, tag, bytes, sent, status)
        } else {
            let (tag, sent) = self.send(now, tag, bytes, s);
            (tag, self.device.finish(now, tag, sent, status, &mut device_part(s, self.tracks)))
        };
        let now = if self.device.foresees_end(now, end) {
            now
        } else if s.skip_to(end) {
            end
        } else {
            self.device.ends_at(tag, end, &mut device_part(s, self.tracks));
            return None;
        };
        self.post(now, end, tag, true, s)
    }

    /// Moves a command's data and shows it on the timeline.
    #[inline(always)]
    fn transfer(&mut self, now: Time, direction: Direction, bytes: u64, s: &mut impl Schedule<Event>) -> Transfer {
        let tracks = self.tracks.link;
        self.link.data(now, direction, bytes, |way, span| {
            s.span(Track(tracks + way as u32), "data", span.from, span.to);
        })
    }

    /// As [`post`](Self::post), without a look ahead.
    #[inline(never)]
    fn post_at_once(&mut self, now: Time, at: Time, tag: u16, s: &mut impl Schedule<Event>) {
        self.post(now, at, tag, false, s);
    }

    /// At `at`, the controller writes a completion queue entry, behind it perhaps an interrupt, and has room for a
    /// command. Returns the request that has ended by that, and when, if it `looks_ahead` and the driver has processed the
    /// completion before anything else happens.
    #[inline(always)]
    fn post(
        &mut self,
        now: Time,
        at: Time,
        tag: u16,
        looks_ahead: bool,
        s: &mut impl Schedule<Event>,
    ) -> Option<(host::Completed, Time)> {
        let ended = self.device.release(at, tag, &mut device_part(s, self.tracks));
        let Ended { queue, cid, status, interrupt } = ended;
        let fetches = self.device.waits();
        if self.device.posts_at_once() && self.host.has_seen_all(queue) {
            let arrives = self.link.completion(now, at, interrupt);
            self.link.head();
            let (command, ahead) = ((queue, cid), looks_ahead && !fetches);
            let reaped = self.host.complete_at_once(now, command, status, arrives, ahead, &mut host_part(s));
            if let Some(Reaped { at, ended, waits }) = reaped {
                if waits {
                    self.issue(at, queue, s);
                }
                return ended.map(|request| (request, at));
            }
        } else {
            self.queue(now, at, (queue, cid), (status, interrupt), s);
        }
        if fetches {
            self.fetch(now, s);
        }
        None
    }

    /// At `at`, the controller writes a completion queue entry, and an interrupt behind it if there is one.
    #[inline(never)]
    fn queue(
        &mut self,
        now: Time,
        at: Time,
        (queue, cid): (u16, u16),
        (status, interrupt): (Status, bool),
        s: &mut impl Schedule<Event>,
    ) {
        let (visible, message) = self.link.completion(now, at, interrupt);
        let (index, Completion { phase, .. }) = self.device.post(queue, cid, status);
        let entry = Entry { cid, phase, status };
        let delivery = Delivery { queue, index, entry, visible, interrupt: interrupt.then_some(message) };
        let seen = self.host.completion(now, delivery, &mut host_part(s));
        self.seen(queue, seen);
    }

    /// The driver has taken completions and writes the queue's head doorbell.
    fn seen(&mut self, queue: u16, seen: Option<u16>) {
        if let Some(head) = seen {
            self.link.head();
            self.device.seen(queue, head);
        }
    }

    #[inline]
    pub(super) fn host_memory(&mut self, now: Time, bytes: u32, store: bool, id: u32, s: &mut impl Schedule<Event>) {
        let at = if store {
            self.transfer(now, Direction::ToHost, u64::from(bytes), s).sent
        } else {
            self.transfer(now, Direction::ToDevice, u64::from(bytes), s).arrives
        };
        s.at(MEMORY, at, Event::HostMemory(id));
    }
}
