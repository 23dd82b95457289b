//! The costs of a OneNAND machine follow from its parts and match the paper; event-driven runs match the formula.

use pager::policy::{Name, Online, Reading};
use pager::synthetic::{LOCALITIES, Locality};
use pager::{Cost, Costs, Counts, Weights};
use paging::onenand::{OneNandMachine, PagingParts};
use sim::{Energy, Streams, Time};
use system::System;

const POLICIES: [&str; 8] = ["lru", "fifo", "clock", "2q", "arc", "s3-fifo", "pm-xip(8,4)", "rent-or-buy"];

fn parts(sets: &[(&str, &str)]) -> PagingParts {
    PagingParts::new(&System::load("onenand-xip", sets).unwrap_or_else(|error| panic!("{error}")))
}

/// Serves a trace event by event. Returns counts, time and energy, and the counts of the policy alone.
fn serve(parts: &PagingParts, name: Name, reading: Reading, pages: u32, trace: &[u32]) -> (Counts, Cost, Counts) {
    let weights = Weights::time(&parts.costs());
    let policy = || Online::new(name, parts.frames(), parts.onenand.buffers, reading, &weights).unwrap();
    let mut machine = OneNandMachine::new(parts.clone(), policy(), &Streams::new(1));
    machine.grow(pages);
    let mut before = Time::ZERO;
    for &page in trace {
        let now = machine.request(page);
        assert!(now > before, "a request takes time");
        before = now;
    }
    machine.finish();
    machine.nand().assert_bounds(machine.now());
    assert!(machine.onenand().busy() <= machine.now() && machine.sram().busy() <= machine.now());
    let mut alone = policy();
    alone.grow(pages);
    let mut counts = Counts::default();
    alone.serve(trace, &mut counts);
    (machine.counts(), Cost { time: machine.now(), energy: machine.energy() }, counts)
}

fn trace(name: &str, locality: &Locality) -> Vec<u32> {
    locality.trace(4_000, &mut Streams::new(41).stream(name))
}

#[test]
fn the_costs_of_table_3_follow_from_the_parts() {
    let (found, printed) = (parts(&[]).costs(), Costs::ONENAND_2006);
    let both = [
        (found.flash_to_buffer, printed.flash_to_buffer),
        (found.buffer_to_sram, printed.buffer_to_sram),
        (found.buffer_read, printed.buffer_read),
        (found.sram_read, printed.sram_read),
    ];
    for (found, printed) in both {
        assert_eq!(found.time, printed.time);
        // The paper prints 0.01 nJ.
        let off = found.energy.pj_f64() - printed.energy.pj_f64();
        assert!(off.abs() <= 5.0, "{} and {}", found.energy, printed.energy);
    }
}

#[test]
fn runs_without_overlap_match_the_formula_exactly() {
    for size in ["2KiB", "8KiB"] {
        let parts = parts(&[("host.sram.size", size)]);
        for (name, locality) in LOCALITIES {
            let trace = trace(name, locality);
            for policy in POLICIES {
                let (counts, cost, alone) =
                    serve(&parts, policy.parse().unwrap(), Reading::FIGURE_5, locality.pages, &trace);
                assert_eq!(counts, alone, "{name}, {policy}, {size}");
                assert_eq!(cost, parts.costs().total(&counts), "{name}, {policy}, {size}");
            }
        }
    }
}

#[test]
fn overlap_saves_time_without_changing_counts_or_energy() {
    for size in ["1KiB", "4KiB"] {
        for buffers in ["1", "2", "4"] {
            let sets = [("host.sram.size", size), ("device.onenand.buffers", buffers), ("host.paging.overlap", "true")];
            let parts = parts(&sets);
            for (name, locality) in LOCALITIES {
                let trace = trace(name, locality);
                for policy in POLICIES {
                    for reading in Reading::all() {
                        if reading != Reading::FIGURE_5 && !policy.starts_with("pm-xip") {
                            continue;
                        }
                        let (counts, cost, alone) =
                            serve(&parts, policy.parse().unwrap(), reading, locality.pages, &trace);
                        let apart = parts.costs().total(&counts);
                        assert_eq!(counts, alone, "{name}, {policy}, {size}");
                        assert_eq!(cost.energy, apart.energy, "{name}, {policy}, {size}");
                        assert!(cost.time <= apart.time, "{name}, {policy}: {} > {}", cost.time, apart.time);
                        // There is a single array, so loads cannot overlap each other.
                        assert!(cost.time >= parts.costs().flash_to_buffer.time * counts.flash_to_buffer);
                        if policy == "lru" {
                            // A page is moved as soon as it is loaded, and the program waits for it.
                            assert_eq!(cost.time, apart.time, "{name}");
                        }
                    }
                }
            }
        }
    }
    let jpeg = pager::synthetic::locality("jpeg").unwrap();
    let trace = jpeg.trace(20_000, &mut Streams::new(1).stream("jpeg"));
    let parts = parts(&[("host.paging.overlap", "true")]);
    let name = Name::PmXip { window: 8, threshold: 4 };
    let (counts, cost, _) = serve(&parts, name, Reading::FIGURE_5, jpeg.pages, &trace);
    assert!(cost.time < parts.costs().total(&counts).time, "PM-XIP moves one page while loading another");
}

#[test]
fn a_move_during_a_fault_is_hidden_by_the_load() {
    // Page 0 several times, then page 1: PM-XIP(4,2) moves page 0 at that fault, since it was requested three times.
    let in_turn = parts(&[]);
    let overlapped = parts(&[("host.paging.overlap", "true")]);
    let name = Name::PmXip { window: 4, threshold: 2 };
    let trace = [0, 0, 0, 1];
    let (counts, apart, _) = serve(&in_turn, name, Reading::FIGURE_5, 2, &trace);
    let (_, together, _) = serve(&overlapped, name, Reading::FIGURE_5, 2, &trace);
    assert_eq!((counts.flash_to_buffer, counts.buffer_to_sram, counts.buffer_reads), (2, 1, 4));
    assert_eq!(apart.time, Time::from_ns(2 * 29_330 + 12_860 + 4 * 220));
    assert_eq!(together.time, Time::from_ns(2 * 29_330 + 4 * 220));
    assert_eq!(together.energy, apart.energy);
    assert!(apart.energy > Energy::from_pj(2 * 1_295_480));
}
