//! Latencies of single requests on an idle path, compared with values computed by hand.

use media::{Op, Request, Status};
use sim::Time;

use crate::support::{Back, Bench, ns, plain, sata};
use host_interface::Config;

/// Returns the response time and the submission latency of a single request.
fn alone(config: &Config, request: Request) -> (Time, Time, Bench) {
    let mut bench = Bench::new(config, Back::constant(ns(50_000)));
    let start = Time::from_us(7);
    bench.run(&[(start, 0, request)]);
    let end = bench.ends[0].expect("an end");
    assert_eq!(end.status, Status::Ok);
    (end.at - start, end.submitted - start, bench)
}

/// Submission 1000; doorbell 1 + 100; read request 100, memory 200, entry 16 + 100; firmware 1000.
const DECODED: u64 = 1000 + 101 + 100 + 200 + 116 + 1000;
/// Entry 4 + 100, followed by the interrupt 1; delivery 300, handler 700, completion 500.
const TOLD: u64 = 105 + 300 + 700 + 500;

#[test]
fn a_read_over_pcie() {
    let (end, submitted, bench) = alone(&plain(), Request::new(Op::Read, 4096, 4096));
    assert_eq!(bench.commands[0].0, Time::from_us(7) + ns(DECODED));
    // Flash 50,000; 4096 bytes 1024.
    assert_eq!(end, ns(DECODED + 50_000 + 1024 + TOLD));
    assert_eq!(submitted, ns(1000));
}

#[test]
fn a_write_over_pcie() {
    let (end, ..) = alone(&plain(), Request::new(Op::Write, 4096, 4096));
    // Read request 100, memory 200, data 1024 + 100; translation layer 50,000.
    assert_eq!(end, ns(DECODED + 1424 + 50_000 + TOLD));
}

#[test]
fn a_flush_and_a_trim_over_pcie() {
    let (end, ..) = alone(&plain(), Request::flush());
    assert_eq!(end, ns(DECODED + 50_000 + TOLD));
    // The range, 16 bytes, is read before the command is decoded: 100 + 200 + 4 + 100.
    let (end, ..) = alone(&plain(), Request::new(Op::Trim, 0, 1 << 30));
    assert_eq!(end, ns(DECODED + 404 + 50_000 + TOLD));
}

/// 128 KiB are 32 pages: a list of 31 addresses (248 bytes, 62 ns) is read first.
#[test]
fn a_large_read_has_a_list() {
    let (end, ..) = alone(&plain(), Request::new(Op::Read, 0, 128 << 10));
    assert_eq!(end, ns(DECODED + 462 + 50_000 + 32_768 + TOLD));
}

#[test]
fn completion_firmware_overlaps_with_the_data() {
    let mut config = plain();
    config.device.firmware.complete = ns(400);
    let (end, ..) = alone(&config, Request::new(Op::Read, 0, 4096));
    assert_eq!(end, ns(DECODED + 50_000 + 1024 + TOLD));
    let (end, ..) = alone(&config, Request::flush());
    assert_eq!(end, ns(DECODED + 50_000 + 400 + TOLD));
}

/// At 1 GB/s, 4096 bytes pass the memory twice in 8192 ns, which is longer than on the link.
#[test]
fn the_controllers_memory_can_be_the_bottleneck() {
    let mut config = plain();
    config.device.dram_bandwidth = Some(1_000_000_000);
    let (end, ..) = alone(&config, Request::new(Op::Read, 0, 4096));
    assert_eq!(end, ns(DECODED + 50_000 + 8192 + TOLD));
    let (end, ..) = alone(&config, Request::new(Op::Write, 0, 4096));
    assert_eq!(end, ns(DECODED + 8192 + 50_000 + TOLD));
}

#[test]
fn polling_needs_no_interrupt_and_all_of_a_core() {
    let mut config = plain();
    config.host.completion = host::Completion::polling(ns(50));
    let (end, _, bench) = alone(&config, Request::new(Op::Read, 0, 4096));
    // The entry takes 4 + 100, is seen 50 later, and its completion takes 500.
    assert_eq!(end, ns(DECODED + 50_000 + 1024 + 104 + 50 + 500));
    assert_eq!(bench.front.interrupts(), 0);
    let used = bench.front.utilization(bench.now());
    assert_eq!((used[0].name.as_str(), used[0].busy), ("core 0", bench.now()));
}

/// PCIe 4.0 x4 with all packet overheads: 126.953125 ps per byte.
#[test]
fn a_read_over_pcie_4() {
    let mut config = plain();
    config.link = link::Config::Pcie(link::PcieConfig {
        latency: ns(100),
        host_memory: ns(200),
        read_completion_boundary: Some(64),
        ..link::PcieConfig::default()
    });
    let bytes = |n: u64| Time::from_ps((n as f64 * 126.953125).ceil() as u64);
    let (end, ..) = alone(&config, Request::new(Op::Read, 0, 4096));
    let fetched = ns(1000 + 100) + bytes(28) + ns(100) + bytes(24) + ns(200 + 100) + bytes(84);
    let read = ns(1000 + 50_000) + bytes(4096 + 16 * 24);
    let told = bytes(40) + bytes(28) + ns(100 + 300 + 700 + 500);
    assert_eq!(end, fetched + read + told);
}

/// Returns the time of a frame at 6 Gb/s: 12 bytes around the FIS, 10 bits per byte, 256 dwords per 254, 400 ns of
/// handshakes.
fn frame(fis: u64) -> Time {
    Time::from_ps(((fis + 12) as f64 * 10.0 * 256.0 / 254.0 / 6e9 * 1e12).ceil() as u64) + ns(400)
}

/// Submission 1000, register 300; the adapter reads the table and one region, 800 + 20; a Register FIS; firmware.
fn received() -> Time {
    ns(1000 + 300 + 820) + frame(20) + ns(1000)
}

#[test]
fn a_read_over_sata() {
    let (end, submitted, bench) = alone(&sata(), Request::new(Op::Read, 0, 4096));
    assert_eq!(submitted, ns(1000));
    // DMA Setup, one Data FIS, Set Device Bits; delivery, handler, completion.
    let data = frame(28) + frame(4 + 4096);
    assert_eq!(end, received() + ns(50_000) + data + frame(8) + ns(300 + 700 + 500));
    let [down, up] = bench.front.link(bench.now());
    // To the host: acceptance, setup, data, status.
    assert_eq!((down.packets, up.packets), (1, 4));
}

#[test]
fn a_write_over_sata() {
    let (end, ..) = alone(&sata(), Request::new(Op::Write, 0, 4096));
    // The drive accepts the command (20 bytes) long before the command is decoded.
    let data = frame(28) + frame(4 + 4096);
    assert_eq!(end, received() + data + ns(50_000) + frame(8) + ns(1500));
}

#[test]
fn a_flush_and_a_trim_over_sata() {
    let flush = ns(1000 + 300 + 800) + frame(20) + ns(1000 + 50_000) + frame(20) + ns(1500);
    let (end, ..) = alone(&sata(), Request::flush());
    assert_eq!(end, flush);
    // A block of ranges, 512 bytes, is read before the command is decoded.
    let (end, ..) = alone(&sata(), Request::new(Op::Trim, 0, 1 << 20));
    assert_eq!(end, flush + frame(28) + frame(4 + 512));
}

#[test]
fn the_controller_reads_and_writes_host_memory() {
    let mut bench = Bench::new(&plain(), Back::constant(ns(1)));
    bench.read_host(64, false, 5);
    bench.read_host(4096, true, 6);
    bench.run(&[]);
    // Request 100, memory 200, 16 + 100. A write is over when its data has left.
    assert_eq!(bench.host_memory, [(ns(416), 5), (ns(1024), 6)]);
}
