//! Main memory that a program outside drives.

use sim::Time;
use simulation::{Completion, DeviceOptions, Error, Op, Options, Request, Simulation};
use system::System;

fn memory(name: &str, outstanding: u32) -> Simulation {
    let system = System::load(name, &[]).expect("a preset");
    let device = DeviceOptions { outstanding, ..DeviceOptions::new(name, system) };
    Simulation::new(vec![device], Options::default()).expect("a memory")
}

fn line(op: Op, address: u64) -> Request {
    Request { op, address, bytes: 64, ..Request::default() }
}

fn to_the_end(simulation: &mut Simulation) -> Vec<Completion> {
    let mut completions = Vec::new();
    while let [completion] = simulation.next_completions(None, 1).expect("no time is named") {
        completions.push(*completion);
    }
    completions
}

#[test]
fn every_kind_answers_reads_and_writes() {
    for name in ["dram-only", "dram-ddr5", "nvmm", "cxl-ssd", "hbf"] {
        let mut simulation = memory(name, 1000);
        for n in 0..100 {
            let op = if n % 3 == 0 { Op::Write } else { Op::Read };
            simulation.submit(Time::from_ns(n * 7), line(op, n * 4096 * 33)).expect("room");
        }
        let completions = to_the_end(&mut simulation);
        assert_eq!(completions.len(), 100, "{name}");
        assert!(completions.windows(2).all(|pair| pair[0].completed <= pair[1].completed), "{name}");
        let energy = simulation.energy_j(0).expect("it exists");
        assert!(energy > 0.0, "{name}: {energy} J");
    }
}

#[test]
fn a_request_of_several_lines_ends_with_the_last_of_them() {
    let mut whole = memory("cxl-ssd", 1000);
    whole.submit(Time::ZERO, Request { bytes: 4096, ..line(Op::Read, 1 << 20) }).expect("room");
    let whole = to_the_end(&mut whole);
    let mut lines = memory("cxl-ssd", 1000);
    for n in 0..64 {
        lines.submit(Time::ZERO, line(Op::Read, (1 << 20) + n * 64)).expect("room");
    }
    let lines = to_the_end(&mut lines);
    assert_eq!((whole.len(), lines.len()), (1, 64));
    assert_eq!(whole[0].completed, lines[63].completed);
}

#[test]
fn room_shrinks_with_each_line_and_returns_with_its_completion() {
    let mut simulation = memory("dram-only", 4);
    for n in 0..4 {
        assert_eq!(simulation.room(0).expect("it exists"), 4 - n);
        simulation.submit(Time::ZERO, line(Op::Read, u64::from(n) * 64)).expect("room");
    }
    let refused = simulation.submit(Time::ZERO, line(Op::Read, 0)).expect_err("no room");
    assert!(matches!(*refused, Error::Full { outstanding: 4, more: 1, limit: 4, .. }), "{refused}");
    let completed = simulation.next_completions(None, 1).expect("no time is named").len();
    assert_eq!(completed, 1);
    assert_eq!(simulation.room(0).expect("it exists"), 1);
}
