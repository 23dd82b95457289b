//! The path to a drive behind the bridges of a PC chipset.
//!
//! The chipset has two kinds of port. On SATA, the South Bridge's DMA moves data over DMI, North Bridge and memory
//! (`south.rs`); on a DDR port of the North Bridge, the DMA of the DRAM controller does (`north.rs`). In the terms of
//! Kim et al. (IEICE Trans. E92-D, 2009, Table 2), A lasts from [`Bridge::submit`] until the drive has the command, B
//! is a read of the PRD table ([`host::dma`]), C is the work below [`Output::Command`], D the port and E memory. The
//! overlap of these phases follows from the occupation of the parts; it is not a parameter.

mod north;
mod south;

use host::Submission;
use host::dma::{DataPath, Walk};
use host::memory::Memory;
use link::{Direction, Transfer};
use media::{Op, Request, Status, Tag};
use sim::{Client, Part as _, Schedule, Span, Time, Track};

use super::event::{Config, DOORBELL, Event, ISSUED, Output, STEP};
use super::path::Path;
use super::view::{Busy, LINK, Part, host_part};
use north::{Blocked, North};
use south::South;

/// Bits of a wait's number that fit into a step's operand.
const OPERAND: u32 = (1 << 24) - 1;

/// State shared by both ports: memory, and the DMA's position in each command's table.
#[derive(Clone, Debug)]
struct Shared {
    memory: Memory,
    walk: Walk,
    path: DataPath,
    /// Bytes fetched by one read of the table.
    look: u64,
}

/// The port that the drive is attached to.
#[derive(Clone, Debug)]
enum Port {
    South(Box<South>),
    North(Box<North>),
}

macro_rules! port {
    ($port:expr, $at:ident => $body:expr) => {
        match $port {
            Port::South($at) => $body,
            Port::North($at) => $body,
        }
    };
}

/// First rows of link, chipset and controller on the timeline. The host's rows precede them.
#[derive(Clone, Copy, Debug)]
struct Rows {
    link: u32,
    chipset: u32,
    device: u32,
}

/// Driver, chipset, port and drive. A command's slot number is its tag.
#[derive(Clone, Debug)]
pub struct Bridge {
    host: host::Ahci,
    shared: Shared,
    port: Port,
    device: device::Sata,
    rows: Rows,
    front_side_bus: Time,
    /// Per slot, the time at which all data transferred so far is in memory.
    landed: [Time; host::SLOTS as usize],
    interrupts: u64,
    polling: bool,
}

impl Bridge {
    pub(super) fn new(config: &Config) -> Bridge {
        let chipset = &config.host.chipset;
        let host = host::Ahci::new(&config.host);
        let (slots, tags) = (config.host.queue_depth, config.device.max_commands);
        assert!(slots <= tags, "{slots} command slots for a drive of {tags} commands");
        let link = host_rows(&host).len() as u32;
        let port = match &config.link {
            link::Config::Sata(sata) => Port::South(Box::new(South::new(sata, chipset))),
            link::Config::Ddr(ddr) => Port::North(Box::new(North::new(ddr))),
            link::Config::Pcie(_) | link::Config::Ufs(_) | link::Config::SharedBuffer(_) => {
                panic!("{:?} on a bridge's port", config.link)
            }
        };
        let chipset_rows = port!(&port, at => at.names().len() as u32);
        Bridge {
            shared: Shared {
                memory: Memory::new(&chipset.memory),
                walk: Walk::new(&chipset.dma),
                path: DataPath::default(),
                look: u64::from(chipset.dma.entries) * host::dma::ENTRY,
            },
            port,
            device: device::Sata::new(&config.device),
            rows: Rows { link, chipset: link + 2, device: link + 2 + chipset_rows },
            front_side_bus: chipset.front_side_bus,
            landed: [Time::ZERO; host::SLOTS as usize],
            interrupts: 0,
            polling: config.host.completion.is_polling(),
            host,
        }
    }

    pub(super) fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn chipset_names(&self) -> &'static [&'static str] {
        port!(&self.port, at => at.names())
    }

    pub(super) fn tracks(&self) -> Vec<(String, String)> {
        let of = |part: &str, names: Vec<String>| -> Vec<_> {
            names.into_iter().map(|name| (part.to_owned(), name)).collect()
        };
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (host, device) = (of("host", host_rows(&self.host)), of("controller", self.device.tracks()));
        [host, of("link", owned(&LINK)), of("chipset", owned(self.chipset_names())), device].concat()
    }

    pub(super) fn busy(&self, now: Time) -> Vec<Busy> {
        let mut host = self.host.busy(now);
        host.pop();
        let chipset = match &self.port {
            Port::South(south) => south.busy(now, &self.shared),
            Port::North(_) => vec![self.shared.memory.busy(now), self.shared.path.busy(now)],
        };
        let mut all = super::view::busy(host, self.link(now), self.device.busy(now));
        all.extend(self.chipset_names().iter().zip(chipset).map(|(name, busy)| ("chipset", (*name).to_owned(), busy)));
        all
    }

    pub(super) fn link(&self, now: Time) -> [link::Utilization; 2] {
        port!(&self.port, at => at.utilization(now))
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
        port!(&mut self.port, at => at.power_cut(now));
        self.shared.memory.power_cut(now);
        self.shared.path.power_cut(now);
        self.device.power_cut(now);
        self.host.power_cut(now)
    }

    pub(super) fn submit(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        self.host.submit(io, job, request);
        self.issue(now, 0, s);
    }

    /// Transfers `bytes` of the command in `slot`, which is `client` (phases D, B and E), starting now or when the parts are
    /// free.
    fn transfer(
        &mut self,
        now: Time,
        (slot, client): (u16, Client),
        direction: Direction,
        bytes: u64,
        s: &mut impl Schedule<Event>,
    ) -> Transfer {
        let (shared, rows) = (&mut self.shared, self.rows);
        let spans = &mut rows.on(s, client, now);
        port!(&mut self.port, at => match direction {
            Direction::ToHost => at.receive(now, slot, bytes, shared, spans),
            Direction::ToDevice => at.send(now, slot, bytes, shared, spans),
        })
    }

    /// Returns the counters of a DDR port's waiting READs.
    pub(super) fn strobe(&self) -> Option<&dram::strobed::StrobeStats> {
        match &self.port {
            Port::South(_) => None,
            Port::North(north) => Some(north.strobe()),
        }
    }

    /// Sends something to the drive, or lets it wait while a READ holds the bus.
    fn send_or_wait(&mut self, now: Time, what: Blocked, s: &mut impl Schedule<Event>) {
        if let Port::North(north) = &mut self.port
            && let Some((until, wait)) = north.block(now, what)
        {
            return s.at(STEP, until, Event::Step { step: 0, of: wait & OPERAND });
        }
        self.send_now(now, what, s);
    }

    fn send_now(&mut self, now: Time, what: Blocked, s: &mut impl Schedule<Event>) {
        match what {
            Blocked::Command(slot) => self.send_command_now(now, slot, s),
            Blocked::Data { tag, bytes, staged } => {
                let client = Client::Command(tag.into());
                let moved = self.transfer(now, (tag, client), Direction::ToDevice, bytes, s);
                self.device.arrives(tag, moved.arrives.max(staged), &mut self.rows.device(s));
            }
            Blocked::List { tag, bytes } => {
                let client = Client::Arriving(tag.into());
                let moved = self.transfer(now, (tag, client), Direction::ToDevice, bytes, s);
                self.device.listed(tag, moved.arrives, &mut self.rows.device(s));
            }
        }
    }

    fn send_command_now(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) {
        let request = self.host.request(slot);
        let queued = !self.host.is_alone(request.op);
        let (rows, client) = (self.rows, Client::Request(self.host.io(slot)));
        let at = port!(&mut self.port, at => at.command(now, queued, &mut rows.on(s, client, now)));
        if let Port::North(north) = &mut self.port
            && request.op == Op::Read
        {
            north.expect(at, slot, request.bytes, &self.shared);
        }
        self.device.admit(slot, request, at, &mut rows.device(s));
    }

    /// Sends what waited for the bus, which is free: its READ was answered, or given up.
    fn unblock(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        if let Port::North(north) = &mut self.port {
            for what in north.unblock() {
                self.send_now(now, what, s);
            }
        }
    }

    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let (tag, bytes, staged) = self.device.ready(now, tag, &mut self.rows.device(s));
        self.send_or_wait(now, Blocked::Data { tag, bytes, staged }, s);
    }

    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let (tag, staged, bytes) = self.device.data(now, tag, bytes, &mut self.rows.device(s));
        if bytes > 0 {
            let moved = self.transfer(now, (tag, Client::Command(tag.into())), Direction::ToHost, bytes, s);
            self.device.sent(tag, moved.sent.max(staged));
            let landed = &mut self.landed[tag as usize];
            *landed = moved.arrives.max(*landed);
            self.unblock(now, s);
        }
    }

    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        if let Some(tag) = self.device.complete(now, tag, status, &mut self.rows.device(s)) {
            self.post(now, now, tag, s);
        }
    }
}

impl Path for Bridge {
    fn issue(&mut self, now: Time, _: u16, s: &mut impl Schedule<Event>) {
        while let Some(Submission { cid, at, .. }) = self.host.issue(now, &mut host_part(s)) {
            s.at(DOORBELL, at + self.front_side_bus, Event::Doorbell { queue: 0, cid });
        }
    }

    /// Handles the arrival of a register write at the North Bridge.
    fn doorbell(&mut self, now: Time, _: u16, cid: u16, s: &mut impl Schedule<Event>) {
        self.shared.walk.begin(cid);
        self.landed[cid as usize] = now;
        let at = match &mut self.port {
            Port::South(south) => south.fetch(now, &mut self.shared),
            Port::North(_) => now,
        };
        s.at(ISSUED, at, Event::Issued(cid));
    }

    fn send_command(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) {
        self.send_or_wait(now, Blocked::Command(slot), s);
    }

    #[inline]
    fn device(&mut self, now: Time, event: device::Event, s: &mut impl Schedule<Event>) -> Option<device::Output> {
        let mut report = None;
        self.device.handle(now, event, &mut self.rows.device(s), &mut report);
        report
    }

    fn read_list(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>) {
        self.send_or_wait(now, Blocked::List { tag, bytes }, s);
    }

    fn io(&self, tag: Tag) -> u32 {
        self.host.io(tag.0 as u16)
    }

    /// Reports a command's end. The driver can see it once the data is in memory. The drive takes the next command.
    fn post(&mut self, now: Time, _: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let status = self.device.post(tag);
        let queued = !self.host.is_alone(self.host.request(tag).op);
        if let Port::North(north) = &mut self.port {
            north.ended(tag);
        }
        let client = Client::Request(self.host.io(tag));
        let reported = port!(&mut self.port, at => at.status(now, queued, &mut self.rows.on(s, client, now)));
        self.interrupts += u64::from(!self.polling);
        let visible = reported.max(self.landed[tag as usize]);
        self.host.completion(now, tag, status, visible, &mut host_part(s));
        self.device.next_turn(now, &mut self.rows.device(s));
        self.unblock(now, s);
    }

    fn reap(&mut self, now: Time, event: host::Event, s: &mut impl Schedule<Event>) -> Option<host::Completed> {
        let mut completed = None;
        self.host.handle(now, event, &mut host_part(s), &mut completed);
        completed
    }

    /// Handles the time-out of a READ that holds the bus, unless it has been answered since.
    fn step(&mut self, now: Time, _: u8, wait: u32, s: &mut impl Schedule<Event>, _: &mut Vec<Output>) {
        if let Port::North(north) = &self.port
            && north.wait() & OPERAND == wait
        {
            self.unblock(now, s);
        }
    }
}

/// Returns the rows of the processors. The driver's last row is left out: it stands for an adapter that reads commands
/// by itself, which the chipset does here. A core has two rows on the timeline but one busy time.
fn host_rows(host: &host::Ahci) -> Vec<String> {
    let mut rows = host.tracks();
    rows.pop();
    rows
}

impl Rows {
    /// Returns the controller's view of the scheduler.
    fn device<S>(self, s: &mut S) -> Part<'_, S> {
        Part { s, tracks: self.device }
    }

    /// Returns a recorder for the rows of the link and the chipset, which work for `client` from `now` on.
    fn on<S>(self, s: &mut S, client: Client, now: Time) -> Spans<'_, S> {
        Spans { s, rows: self, client, now }
    }
}

/// Records the spans of a port on the timeline.
struct Spans<'a, S> {
    s: &'a mut S,
    rows: Rows,
    client: Client,
    now: Time,
}

impl<S: Schedule<Event>> Spans<'_, S> {
    #[inline]
    fn link(&mut self, way: Direction, name: &'static str, span: Span) {
        self.s.served(Track(self.rows.link + way as u32), self.client, name, self.now, span);
    }

    /// Records that the link carries a message that no command waits for.
    fn link_apart(&mut self, way: Direction, name: &'static str, span: Span) {
        self.s.span(Track(self.rows.link + way as u32), name, span.from, span.to);
    }

    /// Records a span on row `row` of the chipset, numbered like its names.
    #[inline]
    fn chipset(&mut self, row: u32, name: &'static str, from: Time, to: Time) {
        self.s.served(Track(self.rows.chipset + row), self.client, name, self.now, Span { from, to });
    }
}
