//! A world for the flash alone: an event queue, and the store told of what is done.
#![allow(dead_code)]

use std::collections::HashMap;

use media::{BlockAddr, Class, EraseOp, Geometry, OpId, PageAddr, PlaneMask, ProgramOp, ReadOp, Status};
use nand::{
    Cell, Config, Done, Ecc, Event, Faults, Nand, OpKind, Order, PageSpan, PayloadKind, Power, Scheduling, Timing,
    UnitWrite, Variation, Wear,
};
use sim::{EventQueue, Lane, Schedule, Streams, Time, Track};

pub struct Queue(pub EventQueue<Event>);

impl Schedule<Event> for Queue {
    fn at(&mut self, lane: Lane, when: Time, event: Event) {
        self.0.push(lane, when, event);
    }
}

/// Records the spans of the timeline: (track, name, from, to).
pub struct Spans(pub EventQueue<Event>, pub Vec<(u32, &'static str, Time, Time)>);

impl Schedule<Event> for Spans {
    fn at(&mut self, lane: Lane, when: Time, event: Event) {
        self.0.push(lane, when, event);
    }
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.1.push((track.0, name, from, to));
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Asked {
    Read(ReadOp),
    Program(ProgramOp),
    Erase(EraseOp),
}

pub struct World {
    pub nand: Nand,
    pub queue: Queue,
    pub asked: HashMap<u32, Asked>,
    /// (when, what), in order.
    pub done: Vec<(Time, Done)>,
    pub events: u64,
    sequence: u64,
}

/// 2 channels of 2 chips of 1 die of 2 planes; 10 ns a byte; a read is 50 us, its command 1 us.
pub fn config() -> Config {
    Config {
        geometry: Geometry {
            channels: 2,
            chips: 2,
            dies: 1,
            planes: 2,
            blocks: 4,
            pages: 6,
            page_bytes: 4096,
            unit_bytes: 4096,
        },
        span: PageSpan::ONE,
        cell: Cell::Slc,
        order: Order::InOrder,
        payload: PayloadKind::None,
        buffers: 0,
        timing: Timing {
            read: [Time::from_us(50); Cell::BITS_MAX],
            program: [Time::from_us(500); Cell::BITS_MAX],
            erase: Time::from_us(3000),
            slc_read: Time::from_us(20),
            slc_program: Time::from_us(200),
            slc_erase: Time::from_us(2000),
            block_parts: 1,
            programming: nand::Programming::OnePass,
            pass_distance: 16,
            transfers_per_s: 100_000_000,
            read_command: Time::from_us(1),
            program_command: Time::from_us(2),
            erase_command: Time::from_us(3),
        },
        scheduling: Scheduling::plain(),
        wear: Wear::default(),
        errors: None,
        modes: false,
        ecc: Ecc::default(),
        age_s: 0,
        cycles: 0,
        variation: Variation::default(),
        faults: Faults::default(),
        power: Power {
            read_uw: 10,
            program_uw: 20,
            erase_uw: 30,
            transfer_uw: 5,
            transfer_pj_per_byte: 1,
            standby_uw: 1,
        },
    }
}

pub fn page(die: u16, planes: u16, block: u32, page: u32) -> PageAddr {
    PageAddr { die, planes: PlaneMask(planes), block, page }
}

impl World {
    pub fn new(config: &Config) -> World {
        World {
            nand: Nand::new(config, &Streams::new(1)),
            queue: Queue(EventQueue::new(Nand::LANES)),
            asked: HashMap::new(),
            done: Vec::new(),
            events: 0,
            sequence: 0,
        }
    }

    pub fn read(&mut self, now: Time, id: u32, at: PageAddr, bytes: u32, class: Class) {
        let op = ReadOp { id: OpId(id), page: at, bytes, class };
        self.asked.insert(id, Asked::Read(op));
        self.nand.submit_read(now, op, &mut self.queue);
    }

    pub fn program(&mut self, now: Time, id: u32, at: PageAddr, slc: bool) {
        self.sequence += 1;
        let op = ProgramOp { id: OpId(id), page: at, sequence: self.sequence, class: Class::Host, slc };
        self.asked.insert(id, Asked::Program(op));
        self.nand.submit_program(now, op, &mut self.queue);
    }

    pub fn erase(&mut self, now: Time, id: u32, die: u16, planes: u16, block: u32) {
        let block = BlockAddr { die, planes: PlaneMask(planes), block };
        let op = EraseOp { id: OpId(id), block, class: Class::Collection };
        self.asked.insert(id, Asked::Erase(op));
        self.nand.submit_erase(now, op, &mut self.queue);
    }

    /// Handles the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        let Some((now, event)) = self.queue.0.pop() else { return false };
        self.events += 1;
        if let Some(done) = self.nand.handle(now, event, &mut self.queue) {
            self.apply(done);
            self.done.push((now, done));
        }
        true
    }

    fn apply(&mut self, done: Done) {
        let units_per_page = self.nand.config().geometry.units_per_page() as usize;
        let store = self.nand.store_mut();
        match (self.asked[&done.id.0], done.status) {
            (Asked::Read(_), _) => assert_eq!(done.kind, OpKind::Read),
            (Asked::Program(op), Status::Ok) => {
                let unit = UnitWrite { logical: op.id.0, buffer: 0, lost: false };
                let units = vec![unit; op.page.planes.count() as usize * units_per_page];
                store.program(op.page, op.sequence, op.slc, &units);
            }
            (Asked::Program(op), _) => store.tear(op.page, op.slc),
            (Asked::Erase(op), Status::Ok) => store.erase(op.block),
            (Asked::Erase(op), _) => store.tear_erase(op.block),
        }
    }

    /// Handles events up to and at `when`.
    pub fn run_until(&mut self, when: Time) {
        while self.queue.0.next_time().is_some_and(|t| t <= when) {
            self.step();
        }
    }

    pub fn run(&mut self) -> Time {
        while self.step() {}
        let now = self.queue.0.now();
        self.nand.assert_bounds(now);
        now
    }

    /// When the operation `id` ended.
    pub fn end(&self, id: u32) -> Time {
        self.done.iter().find(|(_, d)| d.id.0 == id).unwrap_or_else(|| panic!("{id} is not done")).0
    }
}
