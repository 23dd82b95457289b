//! A closed loop outside the simulation has every completion that a run of the same job has, at the same picosecond.

use std::path::{Path, PathBuf};

use host::cpu::{Cpu, PAGE};
use host::linux::{Area, AreaKind, Resident};
use main_memory::frames::Frames;
use media::{LineKind, LineRequest, Op as StorageOp};
use sim::{Streams, Time};
use simulation::{Completion, DeviceOptions, Op, Options, Request, Simulation};
use storage::prepare::Preparation;
use storage::run::{RunOptions, WarmUp, run};
use system::System;
use workload::program::{InitialState, Programs};
use workload::{Next, Player, Workload};

fn op_of(op: StorageOp) -> Op {
    match op {
        StorageOp::Read => Op::Read,
        StorageOp::Write => Op::Write,
        StorageOp::Flush => Op::Flush,
        StorageOp::Trim => Op::Trim,
        op => unreachable!("{op:?} of a drive without zones"),
    }
}

/// Plays a workload outside the simulation. Returns the completions in order.
fn play_outside(simulation: &mut Simulation, workload: &Workload, seed: u64) -> Vec<Completion> {
    let play = workload::Options {
        capacity: simulation.bytes(0).expect("a device"),
        replay: RunOptions::default().replay,
        beyond: RunOptions::default().beyond,
        continue_on_error: RunOptions::default().continue_on_error,
        handles: 0,
        zones: None,
    };
    let mut player = Player::new(workload, &play, &Streams::new(seed)).expect("a workload");
    let mut completions = Vec::new();
    loop {
        let until = loop {
            match player.next(simulation.now()).expect("a workload") {
                Next::Issue(io) => {
                    let request = Request {
                        op: op_of(io.request.op),
                        fua: io.request.fua,
                        thread: io.job,
                        address: io.request.offset,
                        bytes: io.request.bytes,
                        handle: io.id.into(),
                        ..Request::default()
                    };
                    simulation.submit(simulation.now(), request).expect("room");
                }
                Next::At(at) => break Some(at),
                Next::Blocked => break None,
                Next::Finished => return completions,
            }
        };
        for completion in simulation.next_completions(until, usize::MAX).expect("a time to come") {
            player.complete(completion.completed, completion.handle as u32);
            completions.push(*completion);
        }
    }
}

fn same_as_run(preset: &str, sets: &[(&str, &str)], preparation: Preparation, job: &str) {
    let system = System::load(preset, sets).expect("a preset");
    let workload = Workload::parse_fio("job.fio", &format!("[job]\n{job}\n")).expect("a job");
    for seed in [1, 7] {
        let options = RunOptions {
            seed,
            preparation: Some(preparation),
            warm_up: WarmUp::Keep,
            log: true,
            ..RunOptions::default()
        };
        let outcome = run(&system, &workload, &options, &mut |_| true).expect("a run");
        let device = DeviceOptions { preparation, ..DeviceOptions::new(preset, system.clone()) };
        let mut simulation = Simulation::new(vec![device], Options { seed, ..Options::default() }).expect("a drive");
        let found = play_outside(&mut simulation, &workload, seed);
        let found: Vec<_> = found.iter().map(|c| (c.submitted, c.completed, c.status)).collect();
        let expected: Vec<_> = outcome.recorder.log().iter().map(|io| (io.issued, io.at, io.status)).collect();
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{preset}, seed {seed}, {job}");
        let (ours, runs) = (simulation.summary(0).expect("a device"), storage::summary::summary(&system, &outcome));
        for section in ["ftl", "energy_j", "busy", "interrupts", "requests", "simulated_s", "mount", "preparation"] {
            assert_eq!(ours["nandram"][section], runs["nandram"][section], "{preset}, seed {seed}, {job}: {section}");
        }
        // A device has one job, whatever threads submit to it.
        for part in outcome.jobs.len().eq(&1).then_some(["clat_ns", "slat_ns", "lat_ns"]).into_iter().flatten() {
            assert_eq!(ours["jobs"][0]["read"][part], runs["jobs"][0]["read"][part], "{preset}: {part}");
        }
    }
}

const SMALL: [(&str, &str); 2] = [("scale", "1/16"), ("ftl.gc.start", "3")];

#[test]
fn reads_of_a_drive_complete_as_in_a_run_at_depth_1_and_32() {
    for depth in [1, 32] {
        let job = format!("rw=randread\nbs=4k\niodepth={depth}\nnumber_ios=3000\nnorandommap");
        same_as_run("nvme-client-tlc", &SMALL[..1], Preparation::Filled, &job);
    }
}

#[test]
fn mixed_requests_of_a_steady_drive_complete_as_in_a_run_at_depth_1_and_32() {
    for depth in [1, 32] {
        let job = format!("rw=randrw\nbsrange=4k-64k\niodepth={depth}\nnumber_ios=4000\nfsync=50\nnorandommap");
        same_as_run("nvme-client-tlc", &SMALL[..1], Preparation::Steady, &job);
    }
}

#[test]
fn several_threads_complete_as_in_a_run_on_every_host_interface() {
    for preset in ["sata-mlc", "ufs2", "drambus", "ddrssd", "hmb-a", "nvme-enterprise-tlc"] {
        let job = "rw=randrw\nbs=8k\niodepth=8\nnumjobs=3\nnumber_ios=300\nnorandommap";
        same_as_run(preset, &[("scale", "1/4")], Preparation::Erased, job);
    }
}

#[test]
fn arrivals_at_their_own_times_complete_as_in_a_run() {
    let job = "rw=randread\nbs=4k\nrate_iops=20000\nrate_process=poisson\niodepth=64\nnumber_ios=2000\nnorandommap";
    same_as_run("nvme-client-tlc", &SMALL[..1], Preparation::Filled, job);
}

/// A file of programs that is removed at the end of a test.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let folder = std::env::temp_dir().join(format!("nandram-outside-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join(format!("{name}.toml"));
        std::fs::write(&path, text).expect("a temporary file");
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(self.0.parent().expect("it is in a folder")));
    }
}

/// Runs programs on a processor outside the simulation, which serves the lines of its last-level cache. Returns the times
/// at which each line that a program waits for was requested and arrived.
fn compute_outside(system: &System, file: &File, seed: u64) -> (Vec<(Time, Time)>, Simulation) {
    let streams = Streams::new(seed);
    let mut programs = Programs::open(&file.0, &streams).expect("programs");
    assert!(programs.regions().iter().all(|region| region.initial == InitialState::Existing), "memory as it begins");
    let areas: Vec<Area> = programs
        .regions()
        .iter()
        .map(|region| Area { first: region.base / PAGE, pages: region.bytes.div_ceil(PAGE), kind: AreaKind::Anonymous })
        .collect();
    let mut kernel = Resident::new(system.kernel, &areas, &streams);
    let mut cpu = Cpu::new(system.cpu, programs.threads(), programs.uncached());
    let frames = Frames::of(system, &streams);
    let device = DeviceOptions::new("memory", system.clone());
    let mut simulation = Simulation::new(vec![device], Options { seed, ..Options::default() }).expect("memory");
    let (mut requests, mut filled) = (Vec::new(), Vec::new());
    while !cpu.ended() {
        let (memory, next) = (simulation.next_event().unwrap_or(Time::MAX), cpu.next_event().unwrap_or(Time::MAX));
        if memory <= next {
            let until = (next < Time::MAX).then_some(next);
            for completion in simulation.next_completions(until, usize::MAX).expect("a time to come") {
                if let Some(line) = cpu.complete(completion.handle as u32, completion.completed) {
                    filled.push((line.requested, completion.completed));
                }
            }
            continue;
        }
        cpu.advance(memory, &mut kernel, &mut programs, &mut requests);
        for (at, LineRequest { id, address, kind }) in requests.drain(..) {
            let address = frames.as_ref().map_or(address, |frames| frames.place(address));
            let op = if kind == LineKind::Fill { Op::Read } else { Op::Write };
            let request = Request { op, address, bytes: 64, handle: id.into(), ..Request::default() };
            simulation.submit(at, request).expect("room");
        }
    }
    (filled, simulation)
}

#[test]
fn lines_of_main_memory_arrive_as_in_a_run() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machine/workload/tests/data/sample.memory.zst");
    let trace = format!("kind = \"trace\"\nfile = \"{}\"\n", trace.display());
    let gups = "kind = \"gups\"\ntable = \"64MiB\"\nupdates = 5000\nordered = false\nthreads = 2\n";
    for (name, text) in [("trace", &trace[..]), ("gups", gups)] {
        // The programs outside have no kernel, whose own memory would have lines too.
        let no_structures = ("kernel.structures", "false");
        let presets = [("dram-only", None), ("dram-ddr5", None), ("cxl-ssd", None), ("hbf", None)];
        for (preset, set) in presets.into_iter().chain([("nvmm", Some(no_structures))]) {
            let system = System::load(preset, set.as_slice()).expect("a preset");
            let file = File::new(&format!("{name}-{preset}"), text);
            let options = RunOptions { log: true, ..RunOptions::default() };
            let outcome = main_memory::run::run(&system, &file.0, &options, &mut |_| true).expect("a run");
            let expected: Vec<_> = outcome.recorder.log().iter().map(|line| (line.issued, line.at)).collect();
            let (found, _) = compute_outside(&system, &file, 1);
            assert!(expected.len() > 100, "{preset}: {} lines", expected.len());
            // Measuring begins after the programs have set up their data.
            let found: Vec<_> = found.into_iter().filter(|(requested, _)| *requested >= outcome.begun).collect();
            assert_eq!(found, expected, "{name} on {preset}");
        }
    }
}
