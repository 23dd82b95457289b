//! Completions do not depend on the steps in which a program advances.

use sim::Time;
use simulation::{Completion, DeviceOptions, Op, Options, Request, Simulation};
use storage::prepare::Preparation;
use system::System;

/// How a program advances to its next submission.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slices {
    AtOnce,
    Events,
    Completions,
    Every(u64),
    /// Slices of up to this many picoseconds, drawn at random.
    Random(u64),
}

/// A load: the system, the size of its requests, and the picoseconds between two.
type Load = (&'static str, u64, u64);

const COUNT: u64 = 4000;

fn draw(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}

/// Submits each request at its time, and advances in between.
fn play((name, bytes, gap): Load, seed: u64, slices: Slices) -> Vec<Completion> {
    let drive = bytes > 64;
    let system = System::load(name, if drive { &[("scale", "1/16")] } else { &[] }).expect("a preset");
    let preparation = if drive { Preparation::Filled } else { Preparation::Erased };
    let device = DeviceOptions { preparation, ..DeviceOptions::new(name, system) };
    let mut simulation = Simulation::new(vec![device], Options::default()).expect("a device");
    let (mut random, mut completions) = (seed, Vec::new());
    for n in 0..COUNT {
        let at = Time::from_ps(n * gap);
        advance(&mut simulation, at, slices, &mut completions);
        let op = if draw(&mut random).is_multiple_of(4) { Op::Write } else { Op::Read };
        let address = draw(&mut random) % (1 << 20) * bytes;
        simulation.submit(at, Request { op, address, bytes, ..Request::default() }).expect("room");
    }
    simulation.advance(Time::from_ps(1_000_000_000_000), &mut completions).expect("a time to come");
    completions
}

fn advance(simulation: &mut Simulation, until: Time, slices: Slices, completions: &mut Vec<Completion>) {
    let mut random = until.ps();
    while simulation.now() < until {
        let now = simulation.now().ps();
        let step = match slices {
            Slices::AtOnce => until,
            Slices::Completions => {
                let found = simulation.next_completions(Some(until), usize::MAX).expect("a time to come");
                completions.extend_from_slice(found);
                continue;
            }
            // An event at the present time is part of the next step.
            Slices::Events => simulation.next_event().map_or(until, |at| at.max(Time::from_ps(now + 1))),
            Slices::Every(ps) => Time::from_ps(now + ps),
            Slices::Random(most) => Time::from_ps(now + 1 + draw(&mut random) % most),
        };
        simulation.advance(step.min(until), completions).expect("a time to come");
    }
    simulation.advance(until, completions).expect("a time to come");
}

#[test]
fn completions_do_not_depend_on_the_steps_of_advance() {
    let mut differ = Vec::new();
    let memories = ["dram-only", "dram-ddr5", "cxl-ssd", "hbf", "nvmm"];
    let lines = memories.into_iter().flat_map(|name| [6_250, 40_417, 1_666].map(|gap| (name, 64, gap)));
    let blocks = [2_000_000, 7_777_777].map(|gap| ("nvme-client-tlc", 4096, gap));
    for (seed, load) in (1..).zip(lines.chain(blocks)) {
        let expected = play(load, seed, Slices::AtOnce);
        assert_eq!(expected.len() as u64, COUNT, "{load:?}: all complete");
        let slice = load.2 / 9 + 1;
        for slices in [Slices::Events, Slices::Completions, Slices::Every(slice), Slices::Random(2 * slice)] {
            let found = play(load, seed, slices);
            if let Some(n) = (0..expected.len()).find(|n| expected.get(*n) != found.get(*n)) {
                differ.push(format!("{load:?}, {slices:?}: {n}: {:?} {:?}", expected[n], found.get(n)));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
