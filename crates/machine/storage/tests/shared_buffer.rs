//! A storage device behind a shared buffer: request times compared with hand-computed ones, conservation of bytes, and
//! the effects of buffer size, split and other memory traffic.

#[path = "support/play.rs"]
mod play;

use nand::PayloadKind;
use play::{options, play, requests, system};
use serde_json::Value;
use storage::prepare::Preparation;
use storage::record::Direction;
use storage::run::{Outcome, RunOptions};
use storage::summary::summary;

const SMALL: [(&str, &str); 3] = [("flash.blocks", "40"), ("flash.pages", "64"), ("ftl.capacity", "64MiB")];

fn run(sets: &[(&str, &str)], job: &str) -> (Outcome, Value) {
    let system = system("drambus", &[&SMALL[..], sets].concat());
    let outcome = play(&system, job, &options(Preparation::Filled));
    let all = summary(&system, &outcome);
    (outcome, all["nandram"]["shared_buffer"].clone())
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {value:#}"))
}

fn bandwidth(outcome: &Outcome) -> f64 {
    let bytes: u64 = (0..outcome.jobs.len())
        .flat_map(|job| Direction::ALL.map(|d| outcome.recorder.totals(job, d, sim::Time::ZERO).bytes))
        .sum();
    bytes as f64 / outcome.end.secs_f64()
}

/// One request with all steps known: each step has a distinct cost, and the remainder is the bus's share.
#[test]
fn one_read_takes_the_sum_of_its_steps() {
    let sets = [
        ("device.bypass_flash", "true"),
        ("host.submit", "1us"),
        ("host.complete", "2us"),
        ("host.interrupt.delivery", "4us"),
        ("host.interrupt.handler", "8us"),
        ("host.mover.setup", "16us"),
        ("host.mover.delivery", "32us"),
        ("host.mover.handler", "64us"),
        ("host.mover.invalidation", "16384us"),
        ("host.mover.bandwidth", "4096MB/s"),
        ("host.mover.uncached", "1000us"),
        ("device.emulated.clock", "1MHz"),
        ("device.emulated.fetch", "256"),
        ("device.emulated.complete", "512"),
    ];
    let (outcome, _) = run(&sets, "rw=read\nbs=4k\nsize=4k");
    let (_, mean) = requests(&outcome);
    // Two words, an extent and the doorbell are written; status and entry are read; the head is written.
    let words = 7.0 * 1000.0;
    let invalidations = 2.0 * 16384.0 * 4.0 / 512.0;
    // Three words of the entry are loaded and two stored, over an interconnect of eight bytes per microsecond, in lines
    // of 32 bytes.
    let banks = 4.0;
    let known = 1.0 + 2.0 + 4.0 + 8.0 + 16.0 + 32.0 + 64.0 + words + invalidations + 256.0 + 512.0 + banks;
    let rest = mean * 1e6 - known;
    // The transfer of 4 KiB takes the longer of 1 us and the bus's time; each word takes about 50 ns on the bus.
    assert!((0.9..4.0).contains(&rest), "{} us, of which {known} are known", mean * 1e6);
}

/// Requests by one thread: the driver's interface time consists of transfers and cache maintenance, and the protocol's
/// share shrinks as requests grow.
#[test]
fn the_protocols_share_shrinks_with_the_request() {
    let overheads: Vec<f64> = ["4k", "16k", "64k", "128k", "256k", "512k"]
        .map(|bs| {
            number(
                &run(&[("device.bypass_flash", "true")], &format!("rw=read\nbs={bs}\nsize=8m")).1,
                "/protocol/overhead",
            )
        })
        .to_vec();
    assert!(overheads.windows(2).all(|pair| pair[1] < pair[0]), "{overheads:?}");
    assert!(overheads[0] > 0.5 && overheads[5] < 0.06, "{overheads:?}");
}

const FOUR: &str = "numjobs=4\nsize=8m\noffset_increment=8m";

/// A buffer larger than all threads can use gains nothing. A smaller one makes large requests slower than small ones.
#[test]
fn threads_vie_for_the_data_buffer() {
    let read = |buffer: &str, bs: &str| {
        let (outcome, _) = run(&[("link.data_buffer", buffer)], &format!("rw=read\nbs={bs}\n{FOUR}"));
        bandwidth(&outcome)
    };
    let (small, large) = (read("128KiB", "64k"), read("128KiB", "256k"));
    assert!(large < 0.9 * small, "{large} of 256 KiB, {small} of 64 KiB");
    let (enough, more) = (read("512KiB", "128k"), read("2MiB", "128k"));
    assert!((more / enough - 1.0).abs() < 0.03, "{enough} with 512 KiB, {more} with 2 MiB");
}

/// The driver transfers exactly the bytes requested, and each byte is decoded, passes the buffer's banks from both
/// sides and crosses the bus once.
#[test]
fn bytes_are_conserved() {
    let (outcome, all) = run(&[("ftl.map_cache.size", "all")], &format!("rw=read\nbs=128k\n{FOUR}"));
    let (ios, _) = requests(&outcome);
    let bytes = ios as f64 * 131072.0;
    for path in ["/interface/bytes", "/dma/bytes", "/buses/storage channel/buffer_bytes", "/ecc/decoded_bytes"] {
        assert_eq!(number(&all, path), bytes, "{path}");
    }
    let words = number(&all, "/protocol/words");
    assert_eq!(number(&all, "/banks/host_lines"), bytes / 32.0 + words);
    // Apart from data, the controller loads entries and stores completions.
    let accesses = number(&all, "/banks/accesses");
    assert!((bytes / 32.0..bytes / 32.0 + 4.0 * number(&all, "/commands")).contains(&accesses), "{accesses}");
    // The energy covers the same bytes, and its parts add up to the total.
    let joules = |part: &str| number(&all, &format!("/energy_j/{part}"));
    assert!((joules("decode") / (170e-12 * bytes) - 1.0).abs() < 1e-9);
    assert!((joules("interface") / (80e-12 * (bytes + 32.0 * words)) - 1.0).abs() < 1e-9);
    let parts: f64 = ["always", "cores", "interface", "buffer", "decode", "encode"].map(joules).iter().sum();
    assert!((parts / joules("controller") - 1.0).abs() < 1e-9);
    assert!((number(&all, "/power_w") * outcome.end.secs_f64() / joules("total") - 1.0).abs() < 1e-9);
}

/// The host has priority at the banks, but conflicts are rare with eight banks and a mostly idle bus. With one bank
/// they are frequent, and the controller takes longer.
#[test]
fn the_controller_is_preempted_at_the_banks() {
    let job = format!("rw=read\nbs=128k\n{FOUR}");
    let (_, eight) = run(&[], &job);
    let (_, one) = run(&[("device.emulated.banks", "1")], &job);
    let of = |all: &Value| number(all, "/banks/conflict_probability");
    assert!(of(&eight) > 0.0 && of(&eight) < 0.125, "{}", of(&eight));
    assert!(of(&one) > 4.0 * of(&eight), "{} with one bank, {} with eight", of(&one), of(&eight));
    assert!(number(&one, "/banks/held_up_s") > number(&eight, "/banks/held_up_s"));
}

/// On one channel the same data cross the bus twice, and other programs' accesses take longer.
#[test]
fn a_shared_channel_carries_data_twice() {
    let job = "rw=read\nbs=128k\nsize=2m\nnumjobs=2\noffset_increment=2m";
    let (_, own) = run(&[], job);
    let (_, both) = run(&[("link.channel", "shared"), ("host.mover.traffic", "1GB/s")], job);
    let moved = number(&own, "/interface/bytes");
    assert_eq!(number(&own, "/buses/storage channel/buffer_bytes"), moved);
    assert_eq!(number(&own, "/buses/DRAM channel/dram_bytes"), moved);
    let bus = &both["buses"]["memory channel"];
    assert_eq!((number(bus, "/buffer_bytes"), number(bus, "/dram_bytes")), (moved, moved));
    assert!(number(bus, "/traffic_latency_ns") > number(bus, "/traffic_latency_alone_ns"), "{bus}");
    let own_busy = number(&own, "/buses/storage channel/utilization");
    assert!(number(bus, "/utilization") > 2.0 * own_busy + 0.15, "{bus} for {own_busy}");
}

/// Copying by the processor, word by word, takes many times as long as DMA.
#[test]
fn copying_is_slower_than_dma() {
    let job = "rw=randread\nbs=4k\nnumjobs=4\nnumber_ios=200\nsize=32m";
    let (dma, _) = run(&[], job);
    let (copy, all) = run(&[("host.mover.transfer", "copy")], job);
    assert!(bandwidth(&dma) > 5.0 * bandwidth(&copy), "{} and {}", bandwidth(&dma), bandwidth(&copy));
    assert_eq!(number(&all, "/dma/bytes"), 0.0);
}

/// Data written through the data buffer is read back through it, for command spaces of every size and for scattered
/// data.
#[test]
fn payload_passes_the_data_buffer() {
    for sets in [
        &[("link.data_buffer", "24KiB")][..],
        &[("link.data_buffer", "24KiB"), ("host.mover.extents", "4")],
        &[("link.data_buffer", "40KiB"), ("host.mover.shrink", "512B"), ("host.queue_pairs", "2")],
        &[("host.mover.transfer", "copy"), ("host.mover.word", "8B"), ("host.completion", "polling")],
    ] {
        let system = system("drambus", &[&SMALL[..], sets].concat());
        let job = "rw=randrw\nbsrange=512-96k\nnumjobs=4\niodepth=4\nnumber_ios=400\nsize=16m";
        let options = RunOptions { payload: PayloadKind::Stamp, ..options(Preparation::Filled) };
        let outcome = play(&system, job, &options);
        let checker = outcome.machine.checker().expect("payload is kept");
        assert!(checker.checked > 10_000, "{sets:?}: {} sectors checked", checker.checked);
    }
}

/// Until the first command, the first megabyte can be read without commands, by writing two registers and loading, at
/// the cost of processor time. Any other request ends this mode.
#[test]
fn the_first_megabyte_can_be_read_without_commands() {
    let read = |sets: &[(&str, &str)], job: &str| {
        let system = system("drambus", &[&SMALL[..], sets].concat());
        let options = RunOptions { payload: PayloadKind::Stamp, ..options(Preparation::Filled) };
        let outcome = play(&system, job, &options);
        let checked = outcome.machine.checker().expect("payload is kept").checked;
        (summary(&system, &outcome)["nandram"]["shared_buffer"].clone(), outcome.end, checked)
    };
    let boot = [("device.emulated.boot", "1MiB")];
    let job = "rw=read\nbs=256k\nsize=1m";
    let (all, end, checked) = read(&boot, job);
    assert_eq!((number(&all, "/commands"), number(&all, "/protocol/interrupts"), checked), (0.0, 0.0, 2048));
    // A window of 128 KiB takes two words, and loads of four bytes.
    assert_eq!(number(&all, "/protocol/words"), 16.0);
    let loads = (1 << 18) as f64 * 120e-9;
    assert!(end.secs_f64() > loads && end.secs_f64() < 2.0 * loads, "{end} for loads of {loads} s");
    let (all, end_with, checked) = read(&[], job);
    assert!(number(&all, "/commands") == 8.0 && end_with < end && checked == 2048);
    let (all, _, checked) = read(&boot, "rw=read\nbs=256k\nsize=2m");
    assert_eq!((number(&all, "/commands"), checked), (8.0, 4096), "the second megabyte is read by commands");
}
