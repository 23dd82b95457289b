//! The C++ interface under a host that is written against it alone, compared with runs of the same machine. `make test-system` runs
//! these; they need a C++ compiler.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use main_memory::MainMemory;
use main_memory::run::run;
use media::line::{LineKind, LineRequest};
use nandram_dramsim3::first_edge;
use sim::{Streams, Time};
use system::System;

/// Systems, and cycles between two transactions, so many that one is done before the next begins.
const UNLOADED: [(&str, &str); 3] = [("dram-ddr5", "397"), ("cxl-ssd", "400003"), ("hbf", "20011")];

fn call(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn succeed(command: &mut Command) -> String {
    let output = call(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Builds library and host once, and returns their folder.
fn built() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder =
            std::env::current_exe().expect("a test").parent().and_then(Path::parent).expect("a profile").to_owned();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--offline", "--lib", "--manifest-path"]).arg(here.join("Cargo.toml"));
        if folder.ends_with("release") {
            build.arg("--release");
        }
        succeed(build.env("CARGO_TARGET_DIR", folder.parent().expect("a target folder")));
        succeed(Command::new(here.join("build.sh")).arg(&folder).arg(&folder));
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let mut host = Command::new(compiler);
        host.args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here.join("cpp"));
        host.arg(here.join("tests/host.cc")).arg("-o").arg(folder.join("dramsim3-host"));
        host.arg("-L").arg(&folder).arg("-ldramsim3").arg(format!("-Wl,-rpath,{}", folder.display()));
        succeed(&mut host);
        folder
    })
}

fn host(arguments: &[&str]) -> Command {
    let mut command = Command::new(built().join("dramsim3-host"));
    command.args(arguments);
    command
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("nandram-dramsim3-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder");
        Folder(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Address, cycle and latency in cycles of each transaction that the host printed.
fn transactions(printed: &str) -> Vec<(u64, u64, u64)> {
    let parse = |line: &str| {
        let mut numbers = line.split(' ').map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        (next(), next(), next())
    };
    printed.lines().map(parse).collect()
}

/// Advances like the loop of a run, from completion to completion.
fn advance(memory: &mut MainMemory, until: Time, done: &mut Vec<(u32, Time)>) {
    let mut before = usize::MAX;
    while before != done.len() {
        before = done.len();
        memory.advance_to_completion(until, done);
    }
}

#[test]
#[ignore = "needs a C++ compiler: make test-system"]
fn every_latency_is_that_of_the_machine_to_the_clock() {
    let folder = Folder::new("paced");
    for (name, cycles) in UNLOADED {
        let found = transactions(&succeed(&mut host(&[name, folder.path(), "paced", "1200", cycles])));
        assert_eq!(found.len(), 1200, "{name}");
        let system = System::load(name, &[]).expect("a preset");
        let clock = system.memory.dram.device().clock;
        let mut memory = MainMemory::new(&system, &Streams::new(1)).expect("a memory");
        memory.is_set_up();
        let mut ordered = found.clone();
        ordered.sort_by_key(|(_, cycle, _)| *cycle);
        let (mut done, mut completed) = (Vec::new(), vec![Time::ZERO; ordered.len()]);
        for (id, (address, cycle, _)) in ordered.iter().enumerate() {
            let now = clock.time(*cycle);
            advance(&mut memory, now, &mut done);
            let kind = if id % 4 == 3 { LineKind::WriteBack } else { LineKind::Fill };
            memory.submit(now, LineRequest { id: id as u32, address: *address, kind });
        }
        advance(&mut memory, Time::from_ms(1000), &mut done);
        for (id, at) in done {
            completed[id as usize] = at;
        }
        for (at, (address, cycle, latency)) in completed.iter().zip(&ordered) {
            assert_eq!(
                first_edge(clock, *at).max(cycle + 1) - cycle,
                *latency,
                "{name}: {address:#x} in cycle {cycle}"
            );
        }
        let summary = std::fs::read_to_string(folder.0.join("nandram.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
        assert_eq!(summary["reads"]["transactions"], 900, "{name}");
        assert!(summary["energy_j"].as_f64().is_some_and(|energy| energy > 0.0), "{name}: {summary}");
    }
}

/// Lines over which the host draws its addresses.
const LINES: u64 = 1 << 30;

/// Returns the bytes per second of the host's reads in the machine of a run: `outstanding` at a time, each followed by the
/// next when it has completed.
fn closed_loop(name: &str, count: u64, outstanding: u64) -> f64 {
    let system = System::load(name, &[]).expect("a preset");
    let mut memory = MainMemory::new(&system, &Streams::new(1)).expect("a memory");
    memory.is_set_up();
    let mut state = 1_u64;
    let mut read = |memory: &mut MainMemory, now, id| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        memory.submit(now, LineRequest { id, address: (state >> 20) % LINES * 64, kind: LineKind::Fill });
    };
    for id in 0..outstanding {
        read(&mut memory, Time::ZERO, id as u32);
    }
    let (mut issued, mut ended, mut done, mut end) = (outstanding, 0, Vec::new(), Time::ZERO);
    while ended < count {
        memory.advance_to_completion(Time::MAX, &mut done);
        for (id, at) in done.drain(..) {
            (ended, end) = (ended + 1, at);
            if issued < count {
                issued += 1;
                read(&mut memory, at, id);
            }
        }
    }
    count as f64 * 64.0 / end.secs_f64()
}

/// Returns the bytes per second that `nandram run` measures of random reads by 64 contexts without caches.
fn ran(name: &str, count: u64) -> f64 {
    let folder = Folder::new(&format!("run-{name}"));
    let file = folder.0.join("program.toml");
    let text = format!(
        "kind = \"mix\"\ntable = \"64GiB\"\naccesses = {count}\nrandom = 1.0\nthreads = 64\ninstructions = 1\nordered = false\ncreated = true\n"
    );
    std::fs::write(&file, text).expect("a file");
    let sets = [("cpu.caches", "false"), ("cpu.misses", "64"), ("cpu.window", "16384")];
    let system = System::load(name, &sets).expect("a preset");
    let outcome = run(&system, &file, &storage::run::RunOptions::default(), &mut |_| true);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let of = |key: &str| outcome.inside.pointer(key).and_then(serde_json::Value::as_f64).expect("a number");
    of("/cpu/fills") * 64.0 / of("/measured_s")
}

#[test]
#[ignore = "needs a C++ compiler: make test-system"]
fn saturated_bandwidth_is_that_of_a_run() {
    let (folder, lines) = (Folder::new("saturated"), LINES.to_string());
    for (name, count) in [("dram-ddr5", 1_000_000), ("cxl-ssd", 30_000), ("hbf", 100_000)] {
        let queue = 256 * u64::from(System::load(name, &[]).expect("a preset").memory.dram.channels);
        let printed = succeed(&mut host(&[name, folder.path(), "saturate", &count.to_string(), "0", &lines]));
        let numbers: Vec<f64> = printed.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let bandwidth = count as f64 * 64.0 / (numbers[0] * numbers[2] * 1e-9);
        let machine = closed_loop(name, count, queue);
        println!("{name}: {:.4} GB/s, in the machine {:.4}", bandwidth / 1e9, machine / 1e9);
        assert!((bandwidth / machine - 1.0).abs() < 0.01, "{name}: {bandwidth} B/s, in the machine {machine}");
        if name == "dram-ddr5" {
            let run = ran(name, count);
            println!("{name}: nandram run {:.4}", run / 1e9);
            assert!((bandwidth / run - 1.0).abs() < 0.01, "{name}: {bandwidth} B/s, nandram run {run}");
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler: make test-system"]
fn mistakes_are_one_line_and_status_2() {
    let folder = Folder::new("mistakes");
    let file = folder.0.join("bad.toml");
    std::fs::write(&file, "title = \"bad\"\nextends = \"cxl-ssd\"\n[memory]\nchanels = 2\n").expect("a file");
    let cases = [
        ("no-such-file.toml", "no-such-file.toml"),
        (file.to_str().expect("text"), "memory.chanels"),
        ("nvme-client-tlc", "memory.type: found none, expected dram or hybrid"),
    ];
    for (config, expected) in cases {
        let output = call(&mut host(&[config, folder.path(), "paced", "10", "10"]));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{config}: {stderr}");
        assert!(stderr.starts_with("libdramsim3: ") && stderr.contains(expected), "{config}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let output = call(&mut host(&["dram-ddr5", folder.path(), "paced", "10", "10", "17592186044416"]));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.ends_with("expected less than 0x8000000000, the memory's bytes\n"), "{stderr}");
}
