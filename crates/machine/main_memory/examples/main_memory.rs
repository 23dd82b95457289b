//! Results of each kind of main memory under STREAM's kernels, a pointer chase and random updates, beside what bounds it:
//! prints `docs/main-memory.md` (`make main-memory`).

use std::fmt::Write as _;
use std::path::PathBuf;

use main_memory::MainMemory;
use main_memory::run::run;
use media::line::{LineKind, LineRequest};
use sim::{Streams, Time};
use storage::run::RunOptions;
use system::System;
use system::memory::MainMemory as Kind;

/// Results of a program.
struct Measured {
    /// Lines read and written a second, in bytes.
    bandwidth: f64,
    /// Nanoseconds that a line read takes on average.
    latency_ns: f64,
    /// Rate of the program's own unit, per second.
    rate: f64,
}

/// A place for programs' files that is gone in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn measure(folder: &Folder, system: &System, text: &str, count: f64) -> Measured {
    let path = folder.0.join("program.toml");
    std::fs::write(&path, text).expect("a temporary file");
    let outcome = run(system, &path, &RunOptions::default(), &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let number = |path: &str| outcome.inside.pointer(path).and_then(serde_json::Value::as_f64).expect("a number");
    let span = number("/measured_s");
    let lines = number("/cpu/fills") + number("/cpu/write_backs");
    let mean = outcome.summary().pointer("/jobs/0/read/lat_ns/mean").and_then(serde_json::Value::as_f64);
    Measured { bandwidth: lines * 64.0 / span, latency_ns: mean.unwrap_or(0.0), rate: count / span }
}

/// Nanoseconds of a line that is read alone, where DRAM has it: the second read of its page, when all else is done.
fn unloaded_ns(system: &System) -> f64 {
    let mut memory = MainMemory::new(system, &Streams::new(1)).unwrap_or_else(|error| panic!("{error}"));
    let mut now = Time::ZERO;
    let mut last = Time::ZERO;
    for (id, address) in [(0, 0), (1, 64)] {
        memory.submit(now, LineRequest { id, address, kind: LineKind::Fill });
        let mut done = Vec::new();
        while done.is_empty() {
            let next = memory.next_event().expect("a read is under way");
            memory.advance(next, &mut done);
        }
        last = done[0].1 - now;
        // Long enough for the rest of the page and its prefetches.
        now = done[0].1 + Time::from_ns(900);
    }
    last.us_f64() * 1e3
}

/// A machine of the page: what it is called there, its preset and changes, threads, and the bytes of tables.
struct Machine {
    name: &'static str,
    preset: &'static str,
    sets: &'static [(&'static str, &'static str)],
    threads: u32,
    table: &'static str,
}

const ACCELERATOR: [(&str, &str); 5] = [
    ("cpu.caches", "false"),
    ("cpu.clock", "1.6GHz"),
    ("cpu.window", "16384"),
    ("cpu.misses", "256"),
    ("cpu.write_backs", "4096"),
];

const IN_DRAM: &str = "64MiB";
const MACHINES: [Machine; 9] = [
    Machine { name: "`dram-only`", preset: "dram-only", sets: &[], threads: 16, table: IN_DRAM },
    Machine { name: "`dram-ddr5`", preset: "dram-ddr5", sets: &[], threads: 16, table: IN_DRAM },
    Machine {
        name: "`dram-ddr5`, scattered",
        preset: "dram-ddr5",
        sets: &[("memory.frames", "4KiB")],
        threads: 16,
        table: IN_DRAM,
    },
    Machine { name: "`nvmm`", preset: "nvmm", sets: &[], threads: 16, table: IN_DRAM },
    Machine { name: "`cxl-ssd`", preset: "cxl-ssd", sets: &[], threads: 16, table: IN_DRAM },
    Machine { name: "`hbf`", preset: "hbf", sets: &[], threads: 16, table: IN_DRAM },
    Machine { name: "`dram-ddr5`, accelerator", preset: "dram-ddr5", sets: &ACCELERATOR, threads: 64, table: IN_DRAM },
    Machine { name: "`hbf-accelerator`", preset: "hbf-accelerator", sets: &[], threads: 64, table: IN_DRAM },
    Machine {
        name: "`hbf-accelerator`, from flash",
        preset: "hbf-accelerator",
        sets: &[("memory.cache.size", "64MiB")],
        threads: 64,
        table: "128MiB",
    },
];

/// Reasons why machines stay below half of their bounds, by the names of machine and column; each such result needs one.
const OUTLIERS: [(&str, &str, &str); 24] = [
    ("`dram-ddr5`", "GUPS", WINDOW),
    ("`dram-ddr5`, scattered", "GUPS", WINDOW),
    ("`dram-ddr5`, scattered", "copy", SCATTERED),
    ("`dram-ddr5`, scattered", "scale", SCATTERED),
    ("`dram-ddr5`, scattered", "add", SCATTERED),
    ("`dram-ddr5`, scattered", "triad", SCATTERED),
    ("`nvmm`", "GUPS", WINDOW),
    ("`cxl-ssd`", "GUPS", WINDOW),
    ("`hbf`", "GUPS", WINDOW),
    ("`hbf`", "copy", PAGES),
    ("`hbf`", "scale", PAGES),
    ("`hbf`", "add", PAGES),
    ("`hbf`", "triad", PAGES),
    ("`dram-ddr5`, accelerator", "GUPS", SAME_LINE),
    ("`hbf-accelerator`", "GUPS", SAME_LINE),
    ("`hbf-accelerator`, from flash", "GUPS", FROM_FLASH),
    ("`hbf-accelerator`, from flash", "copy", STREAM_FROM_FLASH),
    ("`hbf-accelerator`, from flash", "scale", STREAM_FROM_FLASH),
    ("`hbf-accelerator`, from flash", "add", STREAM_FROM_FLASH),
    ("`hbf-accelerator`, from flash", "triad", STREAM_FROM_FLASH),
    ("`hbf-accelerator`", "copy", STREAM_BESIDE),
    ("`hbf-accelerator`", "scale", STREAM_BESIDE),
    ("`hbf-accelerator`", "add", STREAM_BESIDE),
    ("`hbf-accelerator`", "triad", STREAM_BESIDE),
];

const WINDOW: &str = "The window of 128 instructions holds ten updates and retires in order: a line that comes late, because its \
                      rank was powered down or its bank is busy, holds up the younger ones. Of ten misses a thread has four or \
                      five under way.";
const PAGES: &str = "A stream reads a page of the cache, which lies in one channel (`memory.interleave` is a page), and tags that \
                     are not in the controller come first: a line takes 90 ns on average where one alone takes 50. The window \
                     keeps seven of ten misses under way.";
const SAME_LINE: &str = "An update stores to the line that it loads. The DRAM's controller takes the write only after the read, \
                         and what came later waits behind it: with reads and writes of different lines the same DRAM moves 230 GB/s.";
const SCATTERED: &str = "A frame has 256 bytes in each channel: a row that is opened for it serves four lines, then the stream goes on \
                         in another row, perhaps of the same bank.";
const FROM_FLASH: &str = "Each update reads a whole page of flash to change one word.";
const STREAM_FROM_FLASH: &str = "The flash's channels carry 461 GB/s at most; every line that is read was stored in DRAM before, \
                                 and what is written is fetched before and written back to flash after.";
const STREAM_BESIDE: &str = "A page of the cache lies in one channel: contexts that advance in step meet there, and tags that are \
                             not in the controller come first.";

/// Bytes a second that a machine's parts allow, whatever is asked: of DRAM; of the link, both ways together for a program that
/// reads `read` of its lines.
fn peak(system: &System, read: f64) -> f64 {
    let dram = system.memory.dram;
    let peak = dram.device().peak_bandwidth() * f64::from(dram.channels);
    let link = match (system.memory.kind, system.memory.link.bandwidth) {
        (Kind::Hybrid, Some(each)) => {
            let bytes = 64.0 / (64.0 + system.memory.link.header as f64);
            each as f64 * bytes / read.max(1.0 - read)
        }
        _ => f64::INFINITY,
    };
    peak.min(link)
}

fn main() {
    let folder = Folder(std::env::temp_dir().join(format!("nandram-main-memory-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let (mut rows, mut bounds, mut notes) = (String::new(), String::new(), Vec::new());
    for Machine { name, preset, sets, threads, table } in MACHINES {
        let system = System::load(preset, sets).unwrap_or_else(|error| panic!("{error}"));
        let awake = [sets, &[("memory.power_down", "never")]].concat();
        let unloaded = unloaded_ns(&System::load(preset, &awake).unwrap_or_else(|error| panic!("{error}")));
        let under_way = f64::from(threads * system.cpu.misses);
        let chase = format!("kind = \"chase\"\ntable = \"{table}\"\nloads = 20000\n");
        let chase = measure(&folder, &system, &chase, 20_000.0);
        let (instructions, updates) = (10, 1000 * threads + 20_000);
        let gups = format!(
            "kind = \"gups\"\ntable = \"{table}\"\nupdates = {updates}\nthreads = {threads}\nordered = false\n\
             instructions = {instructions}\ncreated = true\n"
        );
        let gups = measure(&folder, &system, &gups, f64::from(updates));
        let mut cells = format!("{:.0} | {:.0}", unloaded, chase.latency_ns);
        let mut limits = String::new();
        let mut of = |column: &'static str, bandwidth: f64, read: f64| {
            // Little: reads under way over the time that one takes at least; what is written comes on top.
            let (little, peak) = (under_way * 64.0 / (unloaded * 1e-9) / read, peak(&system, read));
            let part = bandwidth / little.min(peak);
            assert!(part < 1.001, "{name}, {column}: {bandwidth} B/s of {little} and {peak}");
            let mut mark = String::new();
            if part < 0.5 {
                let why = OUTLIERS.iter().find(|(machine, outlier, _)| *machine == name && *outlier == column);
                let Some((.., why)) = why else {
                    panic!("{name}, {column}: {part:.2} of its bound, and no line of OUTLIERS says why")
                };
                let number = notes.iter().position(|note| note == why).unwrap_or_else(|| {
                    notes.push(*why);
                    notes.len() - 1
                });
                write!(mark, " [{}]", number + 1).expect("a string");
            }
            write!(cells, " | {:.1}{mark}", bandwidth / 1e9).expect("a string");
            let which = if little < peak { "Little" } else { "peak" };
            write!(limits, " | {:.0} ({which}): {:.0} %", little.min(peak) / 1e9, 100.0 * part).expect("a string");
        };
        of("GUPS", gups.bandwidth, 0.5);
        for (kernel, loads) in [("copy", 1.0), ("scale", 1.0), ("add", 2.0), ("triad", 2.0)] {
            let array = if table == IN_DRAM { "21MiB" } else { "43MiB" };
            let text = format!("kind = \"stream\"\nkernel = \"{kernel}\"\narray = \"{array}\"\nthreads = {threads}\n");
            let stream = measure(&folder, &system, &text, 1.0);
            // Where there are caches a store reads its line first.
            let read = if system.cpu.caches { loads + 1.0 } else { loads };
            of(kernel, stream.bandwidth, read / (read + 1.0));
        }
        let rate = gups.rate / 1e6;
        writeln!(rows, "| {name} | {cells} | {rate:.0} |").expect("a string");
        writeln!(bounds, "| {name}{limits} |").expect("a string");
    }
    let notes: String = notes.iter().enumerate().map(|(n, note)| format!("{}. {note}\n", n + 1)).collect();
    print!(include_str!("main_memory.md"), rows = rows, bounds = bounds, notes = notes);
}
