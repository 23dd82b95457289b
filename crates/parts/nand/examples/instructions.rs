//! Instruction counts of the hot paths: run under `valgrind --tool=callgrind --toggle-collect='*measured*'` and divide what it
//! counts by the number of operations, which is printed.
//!
//! ```text
//! cargo build --release -p nand --example instructions
//! valgrind --tool=callgrind --toggle-collect='*measured*' target/release/examples/instructions read
//! ```
//!
//! The measured code: `read` and `program` submit one operation and handle its events, the array otherwise idle;
//! `loaded` keeps 32 random reads outstanding on 64 dies; `store` programs pages of two units on two planes, in
//! superblock order. The event queue is a single slot for the first two and the real one, counted with it, for
//! `loaded`.

use std::hint::black_box;

use media::{BlockAddr, Class, Geometry, OpId, PageAddr, PlaneMask, ProgramOp, ReadOp};
use nand::{
    Cell, Config, Ecc, Event, Faults, Nand, Order, PageSpan, PayloadKind, Power, Scheduling, Store, Timing, UnitWrite,
    Variation, Wear,
};
use sim::{EventQueue, Lane, Rng, Schedule, Streams, Time};

fn config() -> Config {
    Config {
        geometry: Geometry {
            channels: 8,
            chips: 4,
            dies: 2,
            planes: 2,
            blocks: 2048,
            pages: 256,
            page_bytes: 8192,
            unit_bytes: 4096,
        },
        span: PageSpan::ONE,
        cell: Cell::Mlc,
        order: Order::InOrder,
        payload: PayloadKind::None,
        buffers: 0,
        timing: Timing {
            read: [Time::from_us(75); Cell::BITS_MAX],
            program: [Time::from_us(750); Cell::BITS_MAX],
            erase: Time::from_us(3800),
            slc_read: Time::from_us(30),
            slc_program: Time::from_us(200),
            slc_erase: Time::from_us(3000),
            block_parts: 1,
            programming: nand::Programming::OnePass,
            pass_distance: 16,
            transfers_per_s: 333_000_000,
            read_command: Time::from_ns(200),
            program_command: Time::from_ns(200),
            erase_command: Time::from_ns(200),
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
        power: Power::NONE,
    }
}

/// The cheapest queue that can hold what one operation on an idle array needs.
struct One(Option<(Time, Event)>);

impl Schedule<Event> for One {
    #[inline]
    fn at(&mut self, _: Lane, when: Time, event: Event) {
        self.0 = Some((when, event));
    }
}

struct Queue(EventQueue<Event>);

impl Schedule<Event> for Queue {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: Event) {
        self.0.push(lane, when, event);
    }
}

const COUNT: u32 = 100_000;

fn address(rng: &mut Rng, g: &Geometry) -> PageAddr {
    PageAddr {
        die: rng.below(u64::from(g.all_dies())) as u16,
        planes: PlaneMask::one(rng.below(u64::from(g.planes)) as u32),
        block: rng.below(u64::from(g.blocks)) as u32,
        page: rng.below(u64::from(g.pages)) as u32,
    }
}

/// The function that callgrind counts.
#[inline(never)]
fn measured<T>(work: impl FnOnce() -> T) -> T {
    work()
}

fn reads(nand: &mut Nand, ops: &[ReadOp]) -> usize {
    let (mut queue, mut now, mut ended) = (One(None), Time::ZERO, 0);
    for op in ops {
        nand.submit_read(now, *op, &mut queue);
        while let Some((at, event)) = queue.0.take() {
            now = at;
            ended += usize::from(nand.handle(now, event, &mut queue).is_some());
        }
    }
    ended
}

fn programs(nand: &mut Nand, ops: &[ProgramOp]) -> usize {
    let (mut queue, mut now, mut ended) = (One(None), Time::ZERO, 0);
    for op in ops {
        nand.submit_program(now, *op, &mut queue);
        while let Some((at, event)) = queue.0.take() {
            now = at;
            ended += usize::from(nand.handle(now, event, &mut queue).is_some());
        }
    }
    ended
}

fn loaded(nand: &mut Nand, queue: &mut Queue, ops: &[ReadOp]) -> usize {
    let (mut next, mut ended) = (32, 0);
    for op in &ops[..32] {
        nand.submit_read(Time::ZERO, *op, queue);
    }
    while let Some((now, event)) = queue.0.pop() {
        if let Some(d) = nand.handle(now, event, queue) {
            ended += 1;
            if let Some(op) = ops.get(next) {
                nand.submit_read(now, ReadOp { id: d.id, ..*op }, queue);
                next += 1;
            }
        }
    }
    ended
}

fn programs_of_store(store: &mut Store, ops: &[(PageAddr, u64)], units: &[UnitWrite]) {
    for (page, sequence) in ops {
        store.program(*page, *sequence, false, units);
    }
}

fn main() {
    let config = config();
    let g = config.geometry;
    let mut nand = Nand::new(&config, &Streams::new(1));
    let mut rng = Streams::new(2).stream("traffic");
    let what = std::env::args().nth(1).unwrap_or_default();
    let read =
        |i: u32, rng: &mut Rng| ReadOp { id: OpId(i % 32), page: address(rng, &g), bytes: 4096, class: Class::Host };
    match what.as_str() {
        "read" | "loaded" => {
            let ops: Vec<ReadOp> = (0..COUNT).map(|i| read(i, &mut rng)).collect();
            let ended = if what == "read" {
                measured(|| reads(&mut nand, &ops))
            } else {
                let mut queue = Queue(EventQueue::new(Nand::LANES));
                measured(|| loaded(&mut nand, &mut queue, &ops))
            };
            println!("{ended} reads");
        }
        "program" => {
            let program = |i: u32, rng: &mut Rng| ProgramOp {
                id: OpId(i % 32),
                page: address(rng, &g),
                sequence: u64::from(i),
                class: Class::Host,
                slc: false,
            };
            let ops: Vec<ProgramOp> = (0..COUNT).map(|i| program(i, &mut rng)).collect();
            println!("{} programs", measured(|| programs(&mut nand, &ops)));
        }
        "store" => {
            let mut sequence = 0;
            let mut ops = Vec::new();
            for block in 0..6 {
                for page in 0..g.pages {
                    for die in 0..g.all_dies() as u16 {
                        sequence += 1;
                        ops.push((PageAddr { die, planes: PlaneMask(3), block, page }, sequence));
                    }
                }
            }
            let units: Vec<UnitWrite> = (0..4).map(|n| UnitWrite { logical: n, buffer: n, lost: false }).collect();
            let mut store = Store::new(&g, PayloadKind::None, Order::InOrder, 0);
            // Take the slots, give them back, and measure the second life: a drive in steady state.
            for (page, sequence) in &ops {
                store.program(*page, *sequence, false, &units);
            }
            for block in 0..6 {
                for die in 0..g.all_dies() as u16 {
                    store.erase(BlockAddr { die, planes: PlaneMask(3), block });
                }
            }
            measured(|| programs_of_store(&mut store, black_box(&ops), black_box(&units)));
            println!("{} programs of 2 planes with 2 units each", ops.len());
        }
        _ => eprintln!("found \"{what}\", expected read, program, loaded or store"),
    }
}
