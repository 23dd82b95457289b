//! Every optional mechanism of flash and controller must change the statistic it exists for, in a whole machine.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/plain.rs"]
mod plain;

use closed_loop::fly;
use media::{Op, Request, Status};
use nand::PayloadKind;
use plain::PLAIN;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// A small drive with the client preset's link and dies, whose pages are alike.
const SMALL: [(&str, &str); 8] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.blocks", "24"),
    ("flash.pages", "48"),
    ("ftl.gc.start", "3"),
    ("ftl.capacity", "auto"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.slc_cache.size", "0B"),
];

/// Creates the small drive with `sets`, prepared, and returns it with its number of mapping units.
fn drive(sets: &[(&str, &str)], preparation: Preparation) -> (Machine, u64) {
    let all: Vec<(&str, &str)> = PLAIN.iter().chain(&SMALL).chain(sets).copied().collect();
    let system = System::load("nvme-client-tlc", &all).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, preparation, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    (Machine::new(&parts, ftl, nand), u64::from(parts.ftl.user_units))
}

/// Response times in ascending order, in microseconds, and requests per second.
struct Measured {
    times: Vec<f64>,
    rate: f64,
}

impl Measured {
    fn mean(&self) -> f64 {
        self.times.iter().sum::<f64>() / self.times.len() as f64
    }

    fn at(&self, part: f64) -> f64 {
        self.times[(part * (self.times.len() - 1) as f64) as usize]
    }
}

/// Measures random requests of `units` units each.
fn random(sets: &[(&str, &str)], op: Op, units: u64, depth: u32, count: u32) -> Measured {
    let (mut machine, all) = drive(sets, if op == Op::Read { Preparation::Filled } else { Preparation::Erased });
    let mut rng = Streams::new(7).stream("test.random");
    let start = machine.now();
    let flown =
        fly(&mut machine, depth, count, || Request::new(op, rng.below(all / units) * units * 4096, units * 4096));
    measured(&flown, start, count)
}

/// Measures sequential requests over a region of the drive that was written sequentially.
fn sequential(sets: &[(&str, &str)], op: Op, bytes: u64, depth: u32, count: u32) -> Measured {
    let (mut machine, all) = drive(sets, Preparation::Erased);
    let (room, mut next) = (all * 4096 / 2, 0);
    if op == Op::Read {
        let chunks = (u64::from(count) * bytes).div_ceil(128 << 10);
        fly(&mut machine, 16, chunks as u32, || {
            next += 128 << 10;
            Request::new(Op::Write, next - (128 << 10), 128 << 10)
        });
        fly(&mut machine, 1, 1, Request::flush);
        next = 0;
    }
    let start = machine.now();
    let flown = fly(&mut machine, depth, count, || {
        next += bytes;
        Request::new(op, (next - bytes) % room, bytes)
    });
    measured(&flown, start, count)
}

fn measured(flown: &closed_loop::Flown, start: Time, count: u32) -> Measured {
    let mut times: Vec<f64> = flown.each.iter().map(|(_, time)| time.us_f64()).collect();
    times.sort_by(f64::total_cmp);
    Measured { times, rate: f64::from(count) / (flown.end - start).secs_f64() }
}

#[test]
fn independent_reads_raise_the_rate_of_random_reads() {
    let off = random(&[], Op::Read, 1, 64, 6000);
    let on = random(&[("flash.independent_reads", "true")], Op::Read, 1, 64, 6000);
    assert!(on.rate > 1.7 * off.rate, "{} {}", on.rate, off.rate);
    // A single read takes the same time with and without it.
    let alone = |sets| random(sets, Op::Read, 1, 1, 100).mean();
    assert_eq!(alone(&[("flash.independent_reads", "true")]), alone(&[]));
}

#[test]
fn a_limit_of_programs_limits_the_rate_of_saturated_writes() {
    let rate = |programs| {
        let small = [("device.write_cache.size", "2MiB"), ("flash.cache_program", "false")];
        let sets: Vec<(&str, &str)> = small.into_iter().chain([("flash.concurrent_programs", programs)]).collect();
        random(&sets, Op::Write, 1, 32, 6000).rate
    };
    let (one, two) = (rate("1"), rate("2"));
    assert!((1.9..2.1).contains(&(two / one)), "{two} with two programs at once, {one} with one");
    assert_eq!(rate("64"), rate("auto"), "the drive has fewer dies");
}

#[test]
fn random_reads_differ_by_page_type_and_place() {
    let spread = |sets: &[(&str, &str)]| {
        let m = random(sets, Op::Read, 1, 1, 3000);
        m.at(0.99) / m.at(0.05)
    };
    assert!(spread(&[]) < 1.03, "{}", spread(&[]));
    assert!(spread(&[("flash.read", "[\"36us\", \"48us\", \"66us\"]")]) > 1.4);
    assert!(spread(&[("flash.variation.word_lines", "20%")]) > 1.2);
    assert!(spread(&[("flash.variation.blocks", "20%")]) > 1.2);
    assert!(spread(&[("flash.variation.dies", "20%")]) > 1.05);
}

#[test]
fn saturated_writes_differ_by_page_type_and_place() {
    let spread = |sets: &[(&str, &str)]| {
        let small = [("device.write_cache.size", "2MiB"), ("ftl.group", "die"), ("host.max_transfer", "128KiB")];
        let sets: Vec<(&str, &str)> = small.iter().chain(sets).copied().collect();
        let m = random(&sets, Op::Write, 1, 32, 9000);
        m.at(0.99) / m.at(0.5)
    };
    let alike = spread(&[]);
    let types = spread(&[("flash.program", "[\"250us\", \"450us\", \"900us\"]")]);
    let places = spread(&[("flash.variation.blocks", "30%"), ("flash.variation.dies", "30%")]);
    println!("p99 over p50 of saturated writes: {alike} alike, {types} by page type, {places} by place");
    assert!(types > 1.2 && types > alike && places > alike, "{alike} {types} {places}");
}

#[test]
fn long_requests_wait_and_pass_their_staging_path() {
    let wait = [("device.firmware.wait.split", "38us"), ("device.firmware.wait.unit", "1us")];
    let mean = |sets: &[(&str, &str)], units| random(sets, Op::Read, units, 1, 200).mean();
    assert_eq!(mean(&wait, 1), mean(&[], 1));
    let more = mean(&wait, 2) - mean(&[], 2);
    assert!((more - 39.0).abs() < 1.0, "{more}");
    let bandwidth = |sets: &[(&str, &str)], units| random(sets, Op::Read, units, 32, 2000).rate * units as f64 * 4096.0;
    let staged = bandwidth(&[("device.staging.read", "200MB/s")], 16);
    assert!((190e6..200e6).contains(&staged) && bandwidth(&[], 16) > 3e8, "{staged} {}", bandwidth(&[], 16));
}

#[test]
fn writes_that_continue_none_are_slower() {
    let sets = [("device.firmware.write", "3.28us"), ("device.firmware.cores", "1"), ("device.firmware.jump", "480ns")];
    let (sequential, random) =
        (sequential(&sets, Op::Write, 4096, 16, 1500).rate, random(&sets, Op::Write, 1, 16, 1500).rate);
    // Measurements of a data-center drive show 305,000 and 266,000 writes per second.
    assert!((random / sequential / (266.0 / 305.0) - 1.0).abs() < 0.03, "{random} {sequential}");
}

/// A busy core shows the time per write: of a whole unit, of a part of one, and of parts of two around whole ones.
#[test]
fn each_unit_that_a_write_covers_in_part_takes_a_core() {
    let per_write = |partial: &str, offset: u64, bytes: u64| {
        let sets =
            [("device.firmware.write", "10us"), ("device.firmware.cores", "1"), ("device.firmware.partial", partial)];
        let (mut machine, all) = drive(&sets, Preparation::Filled);
        let mut rng = Streams::new(3).stream("test.partial");
        let flown = fly(&mut machine, 16, 1500, || Request::new(Op::Write, rng.below(all / 2) * 4096 + offset, bytes));
        flown.end.us_f64() / 1500.0
    };
    for (offset, bytes, parts) in [(0, 4096, 0.0), (0, 512, 1.0), (1024, 2048, 1.0), (512, 3584, 1.0), (512, 8192, 2.0)]
    {
        let more: f64 = per_write("20us", offset, bytes) - per_write("0s", offset, bytes);
        assert!((more - 20.0 * parts).abs() < 0.5, "{bytes} bytes at {offset}: {more} us more");
    }
    let error =
        system::System::load("nvme-client-tlc", &[("device.firmware.partial", "-1us")]).map(|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("found \"-1us\", expected a time of zero or more"), "{error}");
}

#[test]
fn a_cached_program_does_not_hold_up_reads() {
    let p99 = |cached| {
        let (mut machine, all) =
            drive(&[("flash.cache_program", cached), ("device.write_cache.size", "2MiB")], Preparation::Filled);
        let mut rng = Streams::new(7).stream("test.mixed");
        let mut ops = Vec::new();
        let flown = fly(&mut machine, 8, 4000, || {
            let op = if rng.chance(0.3) { Op::Read } else { Op::Write };
            ops.push(op);
            Request::new(op, rng.below(all) * 4096, 4096)
        });
        let reads = flown.each.iter().filter(|(number, _)| ops[*number as usize] == Op::Read);
        let mut times: Vec<f64> = reads.map(|(_, time)| time.us_f64()).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() * 99 / 100]
    };
    let (with, without) = (p99("true"), p99("false"));
    println!("p99 of reads beside writes: {with} us with cached programs, {without} us without");
    assert!(with < 1.3 * without, "{with} {without}");
}

#[test]
fn queued_reads_of_a_page_share_its_sensing() {
    let rate = |reuse, depth| sequential(&[("flash.reuse_page", reuse)], Op::Read, 4096, depth, 2000).rate;
    assert!(rate("queued", 8) > 1.5 * rate("never", 8), "{} {}", rate("queued", 8), rate("never", 8));
    assert_eq!(rate("queued", 1), rate("never", 1));
    assert!(rate("held", 1) > 2.0 * rate("never", 1), "{} {}", rate("held", 1), rate("never", 1));
}

#[test]
fn units_of_one_page_are_sensed_once() {
    // 16 KiB are one page. Compared with a read of 4 KiB, 12 KiB more cross the channel (1,400 MB/s) and the link (PCIe
    // 4.0 x4, 7.1 GB/s with packets); nothing else takes longer.
    let (unit, page) =
        (sequential(&[], Op::Read, 4096, 1, 2000).mean(), sequential(&[], Op::Read, 16384, 1, 2000).mean());
    let least = unit + 12288.0 / 1400.0 + 12288.0 / 7100.0;
    println!("16 KiB at depth 1: {page} us, {} MB/s; {least} us from first principles", 16384.0 / page);
    assert!(page < least / 0.95 && page > 0.95 * least, "{page} us, {least} from first principles");
}

#[test]
fn pcie_4_carries_the_writes_that_products_reach() {
    let fast = [("device.write_cache.size", "64MiB"), ("flash.program", "1us")];
    let bandwidth = |boundary| {
        let sets: Vec<(&str, &str)> =
            fast.iter().chain(&[("link.read_completion_boundary", boundary)]).copied().collect();
        sequential(&sets, Op::Write, 128 << 10, 16, 400).rate * 131072.0
    };
    let (default, split) = (bandwidth("max_payload"), bandwidth("64B"));
    println!("writes over PCIe 4.0 x4: {default} bytes a second, {split} with packets of 64 bytes");
    assert!(default > 6.9e9 && split < 6.0e9, "{default} {split}");
}

/// Returns which of `count` reads, one after the other, fail.
fn failing(machine: &mut Machine, count: usize, mut draw: impl FnMut() -> Request) -> Vec<bool> {
    let mut completions = Vec::new();
    for io in 0..count {
        let now = machine.now();
        machine.submit(now, io as u32, 0, draw());
        while completions.len() <= io {
            assert!(machine.advance(Time::MAX, &mut completions));
        }
    }
    completions.iter().map(|end| end.status != Status::Ok).collect()
}

/// Returns how many of a hundred reads of a filled drive fail.
fn lost(sets: &[(&str, &str)]) -> usize {
    let (mut machine, all) = drive(sets, Preparation::Filled);
    let mut rng = Streams::new(7).stream("test.lost");
    let failed = failing(&mut machine, 100, || Request::new(Op::Read, rng.below(all) * 4096, 4096));
    failed.into_iter().filter(|fails| *fails).count()
}

#[test]
fn hopeless_pages_are_lost() {
    let errors = ("flash.errors.model", "power-law");
    assert_eq!(lost(&[errors, ("flash.errors.base", "0.5")]), 100);
    assert_eq!(lost(&[errors]), 0);
}

#[test]
fn retention_acts_on_a_drive_that_begins_worn() {
    let old = [("flash.errors.model", "power-law"), ("flash.age", "10y"), ("flash.errors.retention", "0.01")];
    let worn: Vec<(&str, &str)> = old.iter().chain(&[("flash.cycles", "3000")]).copied().collect();
    assert_eq!(lost(&old), 0, "blocks without cycles keep what they hold");
    assert_eq!(lost(&worn), 100);
}

/// Blocks at twice the reference cycles, whose only errors are those that a test adds, in codewords of a mapping unit.
const WORN: [(&str, &str); 9] = [
    ("flash.errors.model", "power-law"),
    ("flash.errors.reference", "3000"),
    ("flash.cycles", "6000"),
    ("flash.errors.base", "0"),
    ("flash.errors.wear", "0"),
    ("flash.errors.retention", "0"),
    ("flash.errors.disturb", "0"),
    ("flash.ecc.codeword", "4KiB"),
    ("flash.ecc.retries", "0"),
];

/// Returns the errors in a codeword at this bit error rate, times `part`, as the number of correctable ones.
fn bits(rate: f64, part: f64) -> String {
    ((rate * 4096.0 * 8.0 * part) as u32).to_string()
}

/// Checks the bit error rate of a filled drive: a code for a fifth less fails every time, one for a fifth more never.
fn assert_rate(errors: &[(&str, &str)], rate: f64) {
    let lost_with = |part| {
        let correctable = bits(rate, part);
        let sets: Vec<_> =
            WORN.iter().chain(errors).copied().chain([("flash.ecc.correctable", &*correctable)]).collect();
        lost(&sets)
    };
    assert_eq!((lost_with(0.8), lost_with(1.2)), (100, 0), "{errors:?}, expected a rate of {rate}");
}

#[test]
fn wear_grows_with_its_exponent() {
    for (exponent, factor) in [("0", 1.0), ("1", 2.0), ("3", 8.0)] {
        let other = ("flash.errors.disturb_exponent", "10");
        assert_rate(&[("flash.errors.wear", "0.02"), ("flash.errors.wear_exponent", exponent), other], 0.02 * factor);
    }
}

#[test]
fn retention_grows_with_cycles_and_with_a_power_of_the_days() {
    for (exponent, factor) in [("0", 1.0), ("0.5", 3.0), ("1", 9.0)] {
        let errors =
            [("flash.errors.retention", "0.01"), ("flash.errors.retention_exponent", exponent), ("flash.age", "9d")];
        assert_rate(&errors, 0.01 * 2.0 * factor);
    }
}

#[test]
fn disturb_grows_with_reads_and_with_its_exponent() {
    // The rate at which reads of the same unit begin to fail, and its reciprocal: the reads until then.
    let rate = 0.02;
    let correctable = bits(rate, 1.0);
    for (exponent, factor) in [("0", 1.0), ("1", 2.0), ("3", 8.0)] {
        let errors = [
            ("flash.errors.disturb", "0.00002"),
            ("flash.errors.disturb_exponent", exponent),
            ("flash.errors.wear_exponent", "10"),
            ("flash.ecc.correctable", &*correctable),
        ];
        let sets: Vec<_> = WORN.iter().chain(&errors).copied().collect();
        let (mut machine, _) = drive(&sets, Preparation::Filled);
        let expected = rate / (0.00002 * factor);
        let failed = failing(&mut machine, (1.5 * expected) as usize, || Request::new(Op::Read, 0, 4096));
        let first = failed.iter().position(|fails| *fails).expect("the last reads fail") as f64;
        assert!((0.8..1.2).contains(&(first / expected)), "failed at read {first}, expected about {expected}");
        assert!(failed[(1.2 * expected) as usize..].iter().all(|fails| *fails));
    }
}

#[test]
fn blocks_in_slc_mode_have_a_part_of_the_errors() {
    let failed = |factor: &str, correctable: &str| {
        let sets = [
            ("ftl.slc_cache.size", "8MiB"),
            ("ftl.slc_cache.fold", "0"),
            ("ftl.slc_cache.keep", "100%"),
            ("flash.blocks", "40"),
            ("device.write_cache.size", "1MiB"),
            ("flash.errors.base", "0.1"),
            ("flash.errors.slc_factor", factor),
            ("flash.ecc.correctable", correctable),
        ];
        let sets: Vec<_> = WORN.iter().chain(&sets).copied().collect();
        let (mut machine, _) = drive(&sets, Preparation::Erased);
        let mut next = 0;
        fly(&mut machine, 8, 32, || {
            next += 128 << 10;
            Request::new(Op::Write, next - (128 << 10), 128 << 10)
        });
        fly(&mut machine, 1, 1, Request::flush);
        let mut rng = Streams::new(7).stream("test.slc");
        let failed = failing(&mut machine, 100, || Request::new(Op::Read, rng.below(512) * 4096, 4096));
        failed.into_iter().filter(|fails| *fails).count()
    };
    for (factor, rate) in [("1", 0.1), ("0.5", 0.05), ("0.2", 0.02)] {
        assert_eq!((failed(factor, &bits(rate, 0.8)), failed(factor, &bits(rate, 1.2))), (100, 0), "{factor}");
    }
}
