//! SATA below the South Bridge: data from the drive crosses DMI and the North Bridge to memory one sector at a time,
//! and data to the drive the other way.

use std::collections::VecDeque;

use host::Chipset;
use link::dmi::MESSAGE;
use link::sata::{Pace, REGISTER, SET_DEVICE_BITS};
use link::{Direction, Dmi, DmiConfig, Sata, SataConfig, Transfer, Utilization};
use media::SECTOR;
use sim::{Schedule, Time};

use super::{Shared, Spans};
use crate::event::Event;

/// Rows of the chipset.
const NAMES: [&str; 3] = ["dmi to south", "dmi to north", "memory"];
/// Bytes of a command's header, and of its table before the memory regions (AHCI 1.3.1, 4.2.2 and 4.2.3). They are read
/// one after the other, because the header points to the table.
const HEADER: u32 = 32;
const TABLE: u32 = 128;

/// Link, DMI and the DMA of the adapter.
#[derive(Clone, Debug)]
pub(super) struct South {
    sata: Sata,
    dmi: Dmi,
    /// Time at which the adapter has read all commands issued so far, which it reads one at a time.
    fetched: Time,
    /// Time at which the DMA has forwarded all its data.
    drained: Time,
    /// Maximum number of read sectors in the DMA, and the times at which the last `room` of them leave it.
    room: usize,
    leaves: VecDeque<Time>,
}

impl South {
    pub fn new(sata: &SataConfig, chipset: &Chipset) -> South {
        let room = (chipset.dma.buffer / SECTOR) as usize;
        assert!(room > 0, "a DMA with a buffer of {} bytes, expected a sector", chipset.dma.buffer);
        South {
            sata: Sata::new(sata),
            dmi: Dmi::new(&DmiConfig { bandwidth: chipset.dmi_bandwidth, latency: chipset.dmi_latency }),
            fetched: Time::ZERO,
            drained: Time::ZERO,
            room,
            leaves: VecDeque::with_capacity(room + 1),
        }
    }

    pub fn names(&self) -> &'static [&'static str] {
        &NAMES
    }

    pub fn busy(&self, now: Time, shared: &Shared) -> Vec<Time> {
        let [down, up] = self.dmi.busy(now);
        vec![down, up, shared.memory.busy(now)]
    }

    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        self.sata.utilization(now)
    }

    pub fn power_cut(&mut self, now: Time) {
        self.sata.power_cut(now);
        self.dmi.power_cut(now);
        (self.fetched, self.drained) = (self.fetched.min(now), self.drained.min(now));
        self.leaves.clear();
    }

    /// Forwards a register write from the North Bridge to the adapter, which then reads the command's header and table.
    pub fn fetch(&mut self, now: Time, shared: &mut Shared) -> Time {
        let written = self.dmi.message(now, now, Direction::ToDevice, MESSAGE);
        let mut at = written.max(self.fetched);
        for bytes in [HEADER, TABLE] {
            at = look(&mut self.dmi, shared, now, at, bytes);
        }
        self.fetched = at;
        at
    }

    /// Sends a command to the drive, which accepts it if it is queued. Returns its arrival.
    pub fn command<S: Schedule<Event>>(&mut self, now: Time, queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let command = self.sata.frame(now, Direction::ToDevice, REGISTER);
        spans.link(Direction::ToDevice, "command", command);
        if queued {
            spans.link_apart(Direction::ToHost, "accept", self.sata.frame(now, Direction::ToHost, REGISTER));
        }
        command.to
    }

    /// Receives the drive's report of a command's end. Returns the time at which the North Bridge, and therefore the
    /// driver, can see it.
    pub fn status<S: Schedule<Event>>(&mut self, now: Time, queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let bytes = if queued { SET_DEVICE_BITS } else { REGISTER };
        let frame = self.sata.frame(now, Direction::ToHost, bytes);
        spans.link(Direction::ToHost, "status", frame);
        self.dmi.message(now, frame.to, Direction::ToHost, MESSAGE)
    }

    /// Moves data to memory: for each sector D, B at the start of a region, and E. E is posted: it proceeds while the
    /// next sector is on the wire, as long as the DMA has room.
    pub fn receive<S: Schedule<Event>>(
        &mut self,
        now: Time,
        slot: u16,
        bytes: u64,
        shared: &mut Shared,
        spans: &mut Spans<'_, S>,
    ) -> Transfer {
        let South { sata, dmi, drained, room, leaves, .. } = self;
        let mut inward = Inward { dmi, shared, now, slot, drained, room: *room, leaves, landed: now };
        let moved = sata
            .data_paced(now, Direction::ToHost, bytes, SECTOR, &mut inward, |way, span| spans.link(way, "data", span));
        let landed = inward.landed;
        spans.chipset(1, "data", now, *drained);
        Transfer { arrives: landed, ..moved }
    }

    /// Moves data to the drive: for each sector B at the start of a region, E, and D. The DMA requests the next sector
    /// from memory when the last has been on the wire: each piece of a write is fetched, sent and written before the
    /// next (Kim et al., IEICE Trans. E92-D, 2009, 3.3).
    pub fn send<S: Schedule<Event>>(
        &mut self,
        now: Time,
        slot: u16,
        bytes: u64,
        shared: &mut Shared,
        spans: &mut Spans<'_, S>,
    ) -> Transfer {
        let South { sata, dmi, .. } = self;
        let mut outward = Outward { dmi, shared, now, slot, carried: None };
        sata.data_paced(now, Direction::ToDevice, bytes, SECTOR, &mut outward, |way, span| {
            spans.link(way, "data", span)
        })
    }
}

/// Reads `bytes` of a descriptor in memory, requested at `at`. Returns the time at which the adapter has them.
fn look(dmi: &mut Dmi, shared: &mut Shared, now: Time, at: Time, bytes: u32) -> Time {
    let asked = dmi.message(now, at, Direction::ToHost, MESSAGE);
    let there = shared.memory.look(now, asked, u64::from(bytes));
    dmi.message(now, there, Direction::ToDevice, bytes)
}

/// The DMA's side of data from the drive.
struct Inward<'a> {
    dmi: &'a mut Dmi,
    shared: &'a mut Shared,
    now: Time,
    slot: u16,
    drained: &'a mut Time,
    room: usize,
    leaves: &'a mut VecDeque<Time>,
    landed: Time,
}

impl Pace for Inward<'_> {
    fn may_start(&mut self, at: Time, _bytes: u64) -> Time {
        if self.leaves.len() < self.room {
            return at;
        }
        // The space of the oldest sector.
        at.max(self.leaves.pop_front().expect("there is room for one"))
    }

    fn passed(&mut self, at: Time, bytes: u64) {
        let mut from = at.max(*self.drained);
        if self.shared.walk.step(self.slot, bytes) {
            from = look(self.dmi, self.shared, self.now, from, self.shared.look as u32);
        }
        let sent = self.dmi.data(from, Direction::ToHost, bytes).to;
        *self.drained = sent;
        self.leaves.push_back(sent);
        self.landed = self.shared.memory.stream(sent + self.dmi.latency(), bytes).to;
    }
}

/// The DMA's side of data to the drive.
struct Outward<'a> {
    dmi: &'a mut Dmi,
    shared: &'a mut Shared,
    now: Time,
    slot: u16,
    /// Time by which the last sector was on the wire.
    carried: Option<Time>,
}

impl Pace for Outward<'_> {
    fn may_start(&mut self, at: Time, bytes: u64) -> Time {
        let mut from = self.carried.unwrap_or(at);
        if self.shared.walk.step(self.slot, bytes) {
            from = look(self.dmi, self.shared, self.now, from, self.shared.look as u32);
        }
        let asked = self.dmi.request(from, Direction::ToHost);
        let read = self.shared.memory.stream(asked + self.shared.memory.latency(), bytes).to;
        at.max(self.dmi.data(read, Direction::ToDevice, bytes).to + self.dmi.latency())
    }

    fn passed(&mut self, at: Time, _bytes: u64) {
        self.carried = Some(at);
    }
}
