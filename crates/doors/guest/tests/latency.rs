//! Times: what a guest sees at its registers is what a simulated run reports for the device.

mod support;

use guest::Options;
use media::{Op, Request};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::{Completion, Machine};
use support::{Host, SMALL, pattern, system};
use system::parts::Parts;

/// A host that costs nothing, so that a request's latency is the device's: from the doorbell to the interrupt.
const NO_HOST: [(&str, &str); 4] = [
    ("host.submit", "0ns"),
    ("host.complete", "0ns"),
    ("host.interrupt.delivery", "0ns"),
    ("host.interrupt.handler", "0ns"),
];

/// Sends `request` at `now` to the machine of a simulated run. Returns its latency.
fn simulated(machine: &mut Machine, now: Time, request: Request) -> Time {
    let mut ends: Vec<Completion> = Vec::new();
    machine.advance(now, &mut ends);
    machine.submit(now, 0, 0, request);
    while ends.is_empty() {
        machine.advance(Time::MAX, &mut ends);
    }
    ends[0].at - now
}

/// Plays the same requests at the same times through registers and through the simulated driver.
fn compare(preset: &str, sets: &[(&str, &str)], requests: &[Request]) -> Vec<(Time, Time)> {
    let sets = [sets, &NO_HOST].concat();
    let system = system(preset, &sets);
    let mut host = Host::attached(&system, &Options::default());
    let parts = Parts::new(&system, PayloadKind::None).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::erased(&parts, &Streams::new(1)).expect("parts that fit together");
    let mut latencies = Vec::new();
    for request in requests {
        host.wait(Time::from_us(500));
        let at = host.now;
        let (lba, blocks) = (request.offset / 512, (request.bytes / 512) as u32);
        let done = match request.op {
            Op::Write => host.write_blocks(lba, &pattern(lba, request.bytes as usize)),
            Op::Read => host.read_blocks(lba, blocks).0,
            Op::Flush => host.flush(),
            op => unreachable!("{op:?} is not compared"),
        };
        assert_eq!(done.status, 0);
        latencies.push((done.latency, simulated(&mut machine, at, *request)));
    }
    latencies
}

#[test]
fn a_read_at_depth_one_takes_as_long_as_in_a_simulated_run() {
    let write = |i: u64| Request::new(Op::Write, i * 65_536, 65_536);
    let read = |i: u64| Request::new(Op::Read, i * 12_288 % (1 << 20), 4096 << (i % 4));
    let requests: Vec<Request> = (0..32).map(write).chain([Request::flush()]).chain((0..64).map(read)).collect();
    for time in ["10us", "50us", "1ms"] {
        let latencies = compare("", &[&SMALL[..], &[("flash.read", time)]].concat(), &requests);
        for (i, (guest, run)) in latencies.iter().enumerate() {
            assert_eq!(guest, run, "request {i} with flash.read {time}: {:?}", requests[i]);
        }
        let flash = latencies
            .iter()
            .rev()
            .filter(|(guest, _)| *guest > system("", &[("flash.read", time)]).flash.timing.read[0]);
        assert!(flash.count() > 16, "most reads go to flash");
    }
}

#[test]
fn a_read_of_a_preset_takes_as_long_as_in_a_simulated_run() {
    let write = |i: u64| Request::new(Op::Write, i * 131_072, 131_072);
    let read = |i: u64| Request::new(Op::Read, i * 65_536, 4096);
    let requests: Vec<Request> = (0..16).map(write).chain([Request::flush()]).chain((0..32).map(read)).collect();
    for (guest, run) in compare(
        "nvme-client-tlc",
        &[
            ("flash.blocks", "20"),
            ("ftl.capacity", "16GB"),
            ("ftl.slc_cache.size", "0B"),
            ("ftl.slc_cache.dynamic", "0B"),
        ],
        &requests,
    ) {
        assert_eq!(guest, run);
    }
}

#[test]
fn hits_and_misses_of_a_map_in_the_guests_memory_take_as_long_as_in_a_simulated_run() {
    let sets = [
        ("flash.channels", "2"),
        ("flash.chips", "2"),
        ("flash.blocks", "60"),
        ("flash.pages", "256"),
        ("ftl.capacity", "1600MB"),
        ("ftl.map_cache.size", "4KiB"),
    ];
    // Each region has its map entries in another translation unit.
    let region = |op: Op, i: u64| Request::new(op, i << 22, 4096);
    let writes = (0..60).map(|i| region(Op::Write, i)).chain([Request::flush()]);
    let requests: Vec<Request> = writes.chain((0..180).map(|i| region(Op::Read, i % 60))).collect();
    let mut means = Vec::new();
    for [size, minimum] in [["16MiB", "1MiB"], ["0B", "0B"]] {
        let sets = [&sets[..], &[("device.hmb.size", size), ("device.hmb.minimum", minimum)]].concat();
        let latencies = compare("hmb-a", &sets, &requests);
        for (i, (guest, run)) in latencies.iter().enumerate() {
            assert_eq!(guest, run, "request {i} with {size}: {:?}", requests[i]);
        }
        means.push(latencies[121..].iter().fold(Time::ZERO, |sum, (guest, _)| sum + *guest) / 120);
    }
    assert!(means[1] > means[0] + Time::from_us(60), "{means:?}: a miss costs a flash read of 65 us");
}

#[test]
fn the_summary_counts_commands_and_their_latencies() {
    let system = system("", &[&SMALL[..], &NO_HOST].concat());
    let mut host = Host::attached(&system, &Options::default());
    let mut reads = Vec::new();
    for i in 0..8u64 {
        assert_eq!(host.write_blocks(i * 8, &pattern(i, 4096)).status, 0);
    }
    host.flush();
    for i in 0..20u64 {
        host.wait(Time::from_us(500));
        reads.push(host.read_blocks(i % 8 * 8, 8).0.latency);
    }
    assert_ne!(host.read_blocks(u64::MAX / 4096, 8).0.status, 0);
    let now = host.now;
    let summary = host.drive.summary(now);
    let count = |class: &str, key: &str| summary[class][key].as_u64();
    assert_eq!([count("write", "total_ios"), count("write", "io_bytes")], [Some(8), Some(8 * 4096)]);
    assert_eq!([count("read", "total_ios"), count("read", "io_bytes")], [Some(21), Some(20 * 4096)]);
    assert_eq!([count("read", "errors"), count("other", "total_ios")], [Some(1), Some(1)]);
    let longest = reads.iter().max().expect("20 reads").ns();
    assert_eq!(summary["read"]["lat_ns"]["max"].as_u64(), Some(longest), "the time from doorbell to interrupt");
    assert_eq!(summary["ftl"]["host_units"].as_u64(), Some(8));
    assert_eq!(host.drive.summary(now).to_string(), summary.to_string());
}
