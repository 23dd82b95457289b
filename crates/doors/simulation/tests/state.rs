//! Saved and restored states, several devices, readings at any time, and misuse.

use std::path::{Path, PathBuf};

use sim::{Rng, Streams, Time};
use simulation::{Completion, DeviceOptions, Op, Options, Request, Simulation};
use storage::prepare::Preparation;
use system::System;

fn device(name: &str, sets: &[(&str, &str)], preparation: Preparation) -> DeviceOptions {
    let system = System::load(name, sets).expect("a preset");
    DeviceOptions { preparation, outstanding: 4096, ..DeviceOptions::new(name, system) }
}

/// A drive, flash behind DRAM, and DRAM.
fn three() -> Simulation {
    let devices = vec![
        device("nvme-client-tlc", &[("scale", "1/16")], Preparation::Steady),
        device("cxl-ssd", &[], Preparation::Erased),
        device("dram-ddr5", &[], Preparation::Erased),
    ];
    Simulation::new(devices, Options::default()).expect("three devices")
}

fn request(rng: &mut Rng, devices: u16, handle: u64) -> Request {
    let device = rng.below(u64::from(devices)) as u16;
    let unit = if device == 0 { 4096 } else { 64 };
    let op = if rng.below(3) == 0 { Op::Write } else { Op::Read };
    let op = if device == 0 && rng.below(40) == 0 { Op::Flush } else { op };
    let (address, bytes) = if op == Op::Flush { (0, 0) } else { (rng.below(10_000) * unit, (rng.below(4) + 1) * unit) };
    Request { device, op, address, bytes, thread: rng.below(3) as u16, handle, ..Request::default() }
}

/// Does `steps` random steps and returns the completions.
fn play(simulation: &mut Simulation, rng: &mut Rng, steps: u32) -> Vec<Completion> {
    let mut completions = Vec::new();
    for step in 0..steps {
        let now = simulation.now();
        match rng.below(6) {
            0 => simulation.advance(now + Time::from_ns(rng.below(20_000)), &mut completions).expect("a time to come"),
            // Some of several completions of a time may be left.
            1 | 2 => {
                let most = [1, 2, usize::MAX][rng.below(3) as usize];
                completions.extend(simulation.next_completions(None, most).expect("no time is named"));
            }
            _ => {
                let at = now + Time::from_ns(rng.below(2) * rng.below(30_000));
                drop(simulation.submit(at, request(rng, 3, u64::from(step))));
            }
        }
    }
    completions
}

/// A file that is removed at the end of a test.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("nandram-simulation-{}-{name}", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn restore(path: &Path) -> Result<Simulation, String> {
    Simulation::restore(path, None, &mut || true).map_err(|error| error.to_string())
}

#[test]
fn a_restored_simulation_continues_as_if_it_had_not_been_saved() {
    for seed in 0..6 {
        let mut rng = Streams::new(seed).stream("steps");
        let mut simulation = three();
        let steps = 400 + rng.below(300) as u32;
        play(&mut simulation, &mut rng, steps);
        let file = File::new(&format!("restore-{seed}"));
        simulation.save(&file.0).expect("written");
        let mut restored = restore(&file.0).expect("read");
        assert_eq!(restored.now(), simulation.now(), "seed {seed}");
        let mut again = rng.clone();
        let (expected, found) = (play(&mut simulation, &mut rng, 500), play(&mut restored, &mut again, 500));
        assert!(expected.len() > 50);
        assert_eq!(found, expected, "seed {seed}");
        for device in 0..3 {
            assert_eq!(restored.outstanding(device).ok(), simulation.outstanding(device).ok());
            assert_eq!(restored.summary(device).expect("it exists"), simulation.summary(device).expect("it exists"));
        }
        // A restored simulation can be saved again.
        restored.save(&file.0).expect("written");
        assert_eq!(restore(&file.0).expect("read").now(), simulation.now());
    }
}

#[test]
fn readings_change_no_completion() {
    let played = |reads| {
        let mut rng = Streams::new(5).stream("steps");
        let mut quiet = Streams::new(6).stream("steps");
        let mut simulation = three();
        let mut all = Vec::new();
        for _ in 0..200 {
            all.extend(play(&mut simulation, &mut rng, 5));
            if reads && quiet.below(2) == 0 {
                (0..3).for_each(|device| drop(simulation.summary(device).expect("it exists")));
            }
        }
        all
    };
    assert_eq!(played(true), played(false));
}

#[test]
fn completions_of_several_devices_are_in_order_and_equal_those_of_each_alone() {
    let mut together = three();
    let mut alone: Vec<Simulation> = (0..3)
        .map(|index| {
            let one = match index {
                0 => device("nvme-client-tlc", &[("scale", "1/16")], Preparation::Steady),
                1 => device("cxl-ssd", &[], Preparation::Erased),
                _ => device("dram-ddr5", &[], Preparation::Erased),
            };
            Simulation::new(vec![one], Options { seed: 1 + index, ..Options::default() }).expect("a device")
        })
        .collect();
    let mut rng = Streams::new(3).stream("requests");
    for handle in 0..1500 {
        let at = Time::from_ns(handle * 900 + rng.below(5000));
        let one = request(&mut rng, 3, handle);
        together.submit(at, one).expect("room");
        alone[usize::from(one.device)].submit(at, Request { device: 0, ..one }).expect("room");
    }
    let (mut all, mut each) = (Vec::new(), Vec::new());
    let end = Time::from_ms(50);
    together.advance(end, &mut all).expect("a time to come");
    assert_eq!(all.len(), 1500);
    assert!(all.windows(2).all(|p| (p[0].completed, p[0].device) <= (p[1].completed, p[1].device)));
    for (index, one) in alone.iter_mut().enumerate() {
        one.advance(end, &mut each).expect("a time to come");
        let found = all.iter().filter(|c| usize::from(c.device) == index).map(|c| (c.handle, c.completed));
        assert_eq!(found.collect::<Vec<_>>(), each.drain(..).map(|c| (c.handle, c.completed)).collect::<Vec<_>>());
        let (found, expected) = (together.summary(index).expect("it exists"), one.summary(0).expect("it exists"));
        assert_eq!(found["nandram"]["energy_j"], expected["nandram"]["energy_j"]);
    }
}

#[test]
fn requests_beyond_the_queue_depth_wait_in_the_driver_in_order() {
    let drive = device("nvme-client-tlc", &[("scale", "1/16"), ("host.queue_depth", "4")], Preparation::Filled);
    let mut simulation = Simulation::new(vec![drive], Options::default()).expect("a drive");
    for handle in 0..50 {
        let request = Request { address: handle << 20, bytes: 4096, handle, ..Request::default() };
        simulation.submit(Time::ZERO, request).expect("room");
    }
    let mut completions = Vec::new();
    simulation.advance(Time::from_ms(100), &mut completions).expect("a time to come");
    assert_eq!(completions.len(), 50);
    assert!(completions.iter().enumerate().all(|(place, c)| c.handle.abs_diff(place as u64) <= 4), "{completions:?}");
}

#[test]
fn several_requests_are_submitted_together_or_not_at_all() {
    let mut simulation = three();
    let good = (Time::ZERO, Request { bytes: 4096, ..Request::default() });
    let bad = (Time::ZERO, Request { bytes: 4095, ..Request::default() });
    let refused = simulation.submit_all([good, good, bad]).expect_err("the last is no sector");
    assert_eq!(
        refused.to_string(),
        "request 2: bytes: found 4095, expected a multiple of 512 above 0 for a read to nvme-client-tlc"
    );
    let refused = simulation.submit_all([good; 4097]).expect_err("too many");
    assert_eq!(
        refused.to_string(),
        "nvme-client-tlc has 0 outstanding, expected at most 4096 with these 4097: advance first"
    );
    assert_eq!(simulation.outstanding(0).ok(), Some(0));
    assert_eq!(simulation.submit_all([good; 3]).ok(), Some(0));
    assert_eq!(simulation.submit_all([good; 3]).ok(), Some(3));
}

#[test]
fn each_misuse_has_its_message() {
    let mut simulation = three();
    simulation.advance(Time::from_us(10), &mut Vec::new()).expect("a time to come");
    let now = simulation.now();
    let read = Request { bytes: 4096, ..Request::default() };
    let on = |device, op, address, bytes| Request { device, op, address, bytes, ..Request::default() };
    let capacity = simulation.bytes(0).expect("it exists");
    let cases = [
        (Time::from_us(9), read, "at: found 9us, expected 10us (now) or later".to_owned()),
        (Time::MAX, read, "at: found 18446744.074s, expected at most 9200000s".to_owned()),
        (now, on(3, Op::Read, 0, 4096), "device: found 3, expected 0 to 2".to_owned()),
        (
            now,
            on(0, Op::Rollback, 0, 0),
            "op: found rollback, expected read, write, flush or trim for nvme-client-tlc".to_owned(),
        ),
        (now, on(1, Op::Trim, 0, 64), "op: found trim, expected read, write, flush or rollback for cxl-ssd".to_owned()),
        (now, on(2, Op::Flush, 0, 0), "op: found flush, expected read or write for dram-ddr5".to_owned()),
        (
            now,
            on(0, Op::Read, 100, 512),
            "address: found 100, expected a multiple of 512 for a read to nvme-client-tlc".to_owned(),
        ),
        (
            now,
            on(0, Op::Write, 0, 0),
            "bytes: found 0, expected a multiple of 512 above 0 for a write to nvme-client-tlc".to_owned(),
        ),
        (now, on(0, Op::Flush, 512, 0), "address: found 512, expected 0 for a flush to nvme-client-tlc".to_owned()),
        (now, on(0, Op::Flush, 0, 512), "bytes: found 512, expected 0 for a flush to nvme-client-tlc".to_owned()),
        (now, on(1, Op::Read, 32, 64), "address: found 32, expected a multiple of 64 for a read to cxl-ssd".to_owned()),
        (
            now,
            on(0, Op::Read, capacity, 512),
            format!(
                "address: found {capacity} with 512 bytes, expected an end at or below the {capacity} bytes of \
                 nvme-client-tlc"
            ),
        ),
        (
            now,
            on(2, Op::Read, 0, 4097 * 64),
            "bytes: found 262208, expected at most 4096 lines of 64 bytes at once for dram-ddr5 (outstanding)"
                .to_owned(),
        ),
    ];
    for (at, request, message) in cases {
        let refused = simulation.submit(at, request).expect_err(&message);
        assert_eq!(refused.to_string(), message);
    }
    let refused = simulation.advance(Time::from_us(9), &mut Vec::new()).expect_err("the past");
    assert_eq!(refused.to_string(), "until: found 9us, expected 10us (now) or later");
    assert_eq!(simulation.summary(3).expect_err("none").to_string(), "device: found 3, expected 0 to 2");
}

#[test]
fn a_device_that_cannot_be_built_is_refused() {
    let built = |device: DeviceOptions| match Simulation::new(vec![device], Options::default()) {
        Ok(_) => panic!("built"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        built(device("onenand-xip", &[], Preparation::Erased)),
        "onenand-xip: link.type: found onenand, expected a drive or main memory"
    );
    assert_eq!(
        built(device("dram-ssd", &[], Preparation::Erased)),
        "dram-ssd: memory.files: found drive, expected main memory or a drive, each a device of its own"
    );
    assert_eq!(
        built(device("nvmm", &[], Preparation::Filled)),
        "nvmm: prepare: found fill, expected none for main memory"
    );
    let none = DeviceOptions { outstanding: 0, ..device("nvmm", &[], Preparation::Erased) };
    assert_eq!(built(none), "nvmm: outstanding: found 0, expected 1 to 16777216");
    let Err(error) = Simulation::new(Vec::new(), Options::default()) else { panic!("built") };
    assert_eq!(error.to_string(), "devices: found 0, expected 1 to 256");
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let file = File::new("damaged");
    let path = file.0.display().to_string();
    let refused = |text: &str| assert_eq!(restore(&file.0).err(), Some(format!("{path}: {text}")));
    refused("No such file or directory (os error 2)");
    std::fs::write(&file.0, "title = \"a drive\"").expect("written");
    refused("found another kind of file, expected the saved state of a simulation");
    let mut simulation = three();
    play(&mut simulation, &mut Streams::new(1).stream("steps"), 100);
    simulation.save(&file.0).expect("written");
    let whole = std::fs::read(&file.0).expect("read");
    for place in [50, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        std::fs::write(&file.0, &damaged).expect("written");
        refused("the file is damaged: its checksum does not match");
    }
    std::fs::write(&file.0, &whole[..whole.len() - 5]).expect("written");
    refused("the file is damaged: its checksum does not match");
}

#[test]
fn a_history_beyond_its_limit_cannot_be_saved_and_the_simulation_goes_on() {
    let drive = device("nvme-client-tlc", &[("scale", "1/16")], Preparation::Erased);
    let mut simulation = Simulation::new(vec![drive], Options { history: 100, ..Options::default() }).expect("a drive");
    let file = File::new("history");
    for n in 0..100 {
        let request = Request { address: n << 20, bytes: 4096, ..Request::default() };
        simulation.submit(Time::from_us(n), request).expect("room");
    }
    let refused = simulation.save(&file.0).expect_err("the history is gone");
    assert_eq!(refused.to_string(), "save: the history of submissions exceeds 100 bytes (history)");
    let mut completions = Vec::new();
    simulation.advance(Time::from_ms(10), &mut completions).expect("a time to come");
    assert_eq!(completions.len(), 100);
}
