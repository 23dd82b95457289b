//! The limit of programs that are under way at once on all dies.

mod support;

use media::Class;
use nand::{Config, Nand};
use proptest::prelude::*;
use sim::{EventQueue, Time};
use support::{Queue, World, config, page};

/// Command, data and array of a program.
const PROGRAM: Time = Time::from_ns(2_000 + 40_960 + 500_000);
/// Command, array and data of a read.
const READ: Time = Time::from_ns(1_000 + 50_000 + 40_960);

fn limited(most: Option<u32>) -> Config {
    let mut config = config();
    config.scheduling.programs_max = most;
    config
}

#[test]
fn a_program_waits_for_the_end_of_another_while_its_die_reads() {
    let mut w = World::new(&limited(Some(1)));
    w.program(Time::ZERO, 0, page(0, 1, 0, 0), false);
    w.program(Time::ZERO, 1, page(1, 1, 0, 0), false);
    w.run_until(Time::from_us(100));
    assert_eq!(w.nand.die_load(1), 1, "the waiting program counts for its die");
    w.read(Time::from_us(100), 2, page(1, 1, 1, 0), 4096, Class::Host);
    w.run();
    assert_eq!(w.end(0), PROGRAM);
    assert_eq!(w.end(2), Time::from_us(100) + READ, "the die reads at once");
    assert_eq!(w.end(1), PROGRAM * 2);
    assert_eq!(w.nand.die_load(1), 0);
}

#[test]
fn a_power_cut_ends_the_wait() {
    let mut w = World::new(&limited(Some(1)));
    w.program(Time::ZERO, 0, page(0, 1, 0, 0), false);
    w.program(Time::ZERO, 1, page(1, 1, 0, 0), false);
    let at = Time::from_us(100);
    w.run_until(at);
    assert_eq!(w.nand.power_cut(at).len(), 1, "the other program had not begun");
    assert_eq!(w.nand.die_load(1), 0, "nothing waits any more");
    w.queue = Queue(EventQueue::new(Nand::LANES));
    w.program(at, 2, page(1, 1, 0, 0), false);
    w.run();
    assert_eq!(w.end(2), at + PROGRAM, "nothing is under way");
}

/// (time since the last, die, is a program)
type Traffic = Vec<(u64, u16, bool)>;

fn traffic() -> impl Strategy<Value = Traffic> {
    let gap = prop_oneof![1u64..30_000, 30_000u64..400_000];
    prop::collection::vec((gap, 0u16..4, prop::bool::weighted(0.7)), 1..60)
}

/// Submits the operations at their times. Programs fill the blocks of their die; reads are of another plane.
fn drive(config: &Config, times: &[Time], traffic: &Traffic) -> World {
    let mut w = World::new(config);
    let mut order: Vec<usize> = (0..traffic.len()).collect();
    order.sort_by_key(|index| times[*index]);
    let mut programs = [0; 4];
    for index in order {
        let (_, die, is_program) = traffic[index];
        let now = times[index];
        w.run_until(now);
        if is_program {
            let number = programs[die as usize];
            programs[die as usize] += 1;
            let pages = config.geometry.pages;
            w.program(now, index as u32, page(die, 1, number / pages, number % pages), false);
        } else {
            w.read(now, index as u32, page(die, 2, 0, 0), 4096, Class::Host);
        }
    }
    w.run();
    w
}

proptest! {
    /// The limit delays programs, in order, and changes nothing else: without it, programs that are submitted when they
    /// may begin end at the same time.
    #[test]
    fn programs_begin_in_order_as_soon_as_fewer_are_under_way(traffic in traffic(), most in 1usize..4) {
        let mut now = Time::ZERO;
        let mut times: Vec<Time> = Vec::new();
        for (gap, ..) in &traffic {
            now += Time::from_ns(*gap);
            times.push(now);
        }
        prop_assume!((0..4).all(|die| traffic.iter().filter(|(_, at, program)| *at == die && *program).count() <= 24));
        let mut config = limited(Some(most as u32));
        // Each die has a channel, so that the order of events at the same time does not matter.
        (config.geometry.channels, config.geometry.chips) = (4, 1);
        let found = drive(&config, &times, &traffic);
        let mut begun: Vec<usize> = Vec::new();
        for index in (0..traffic.len()).filter(|index| traffic[*index].2) {
            // It begins when all but `most - 1` of the earlier programs have ended.
            let mut ends: Vec<Time> = begun.iter().map(|earlier| found.end(*earlier as u32)).collect();
            ends.sort_unstable();
            if let Some(at) = ends.len().checked_sub(most).and_then(|last| ends.get(last)) {
                times[index] = times[index].max(*at);
            }
            begun.push(index);
        }
        config.scheduling.programs_max = None;
        let expected = drive(&config, &times, &traffic);
        for index in 0..traffic.len() as u32 {
            prop_assert_eq!(found.end(index), expected.end(index), "operation {}", index);
        }
    }
}
