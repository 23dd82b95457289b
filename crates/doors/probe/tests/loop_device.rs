//! Tests on a real block device, a loop device over a file. They need root and loop devices: `make test-system`.
#![cfg(target_os = "linux")]

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use media::{Op, Request};
use probe::Target;
use probe::block::{Block, Found, Options, Refusal, Roots};

/// A loop device and its backing file, removed when the test ends. The name of a detached device is empty.
struct Loop {
    image: PathBuf,
    device: String,
}

impl Loop {
    fn new(name: &str) -> Loop {
        let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loop-{}-{name}", std::process::id()));
        fs::write(&image, vec![7; 4 << 20]).expect("a file for the test");
        let made = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .arg(&image)
            .output()
            .expect("losetup is there");
        assert!(made.status.success(), "needs root and loop devices: {}", String::from_utf8_lossy(&made.stderr));
        Loop { image, device: String::from_utf8_lossy(&made.stdout).trim().to_owned() }
    }

    /// Waits until the kernel has detached the device. While another program has it open, such as one that watches for new
    /// devices, the kernel only notes the request, and the device still serves its file.
    fn detach(mut self) {
        let device = mem::take(&mut self.device);
        let detached = Command::new("losetup").args(["--detach", &device]).status().expect("losetup is there");
        assert!(detached.success(), "{device} cannot be detached");
        let file = self.image.to_str().expect("a path of ASCII letters");
        let backing = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("loop/backing_file");
        for _ in 0..600 {
            if !fs::read_to_string(&backing).is_ok_and(|now| now.contains(file)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{device} is still attached: another program has had it open for 30 s");
    }

    fn look(&self) -> Result<Found, Refusal> {
        Found::inspect(&self.device, &Roots::default())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            drop(Command::new("losetup").args(["--detach", &self.device]).status());
        }
        drop(fs::remove_file(&self.image));
    }
}

fn opening() -> Options {
    Options { write: None, switch_hmb: false, seed: 1, stop: Arc::new(AtomicBool::new(false)) }
}

#[test]
#[ignore = "needs root and loop devices"]
fn a_device_is_written_trimmed_and_opened_exclusively() {
    let drive = Loop::new("written");
    let found = drive.look().expect("nothing uses it");
    assert_eq!((found.capacity_bytes(), found.block_bytes()), (4 << 20, 512));
    // A loop device has no serial number, so its path is the key.
    let confirmed = found.confirm(&drive.device).expect("it is its path");
    let mut target = Block::open(&found, Options { write: Some(confirmed), ..opening() }).expect("it can be opened");
    assert!(target.facts().writable && target.facts().trims);
    let held = Block::open(&found, opening()).expect_err("it is held").to_string();
    let expected = "found it in use (the kernel refuses exclusive access), expected a drive that nothing uses";
    assert_eq!(held, format!("{}: {expected}", drive.device));
    for (depth, at) in [(1, 0), (4, 1 << 20)] {
        let requests = [
            Request::new(Op::Write, at, 4096),
            Request { fua: true, ..Request::new(Op::Write, at + 8192, 4096) },
            Request::new(Op::Trim, at + 65536, 65536),
            Request::flush(),
            Request::new(Op::Read, at + 131_072, 4096),
        ];
        let mut timed = Vec::new();
        target.run(&requests, depth, &mut timed).expect("a loop device takes all of these");
        assert!(timed.iter().all(|each| each.ended > each.submitted));
    }
    target.close().expect("nothing was switched");
    let image = fs::read(&drive.image).expect("it is there");
    for (index, sector) in image.chunks(512).enumerate() {
        let within = (index * 512) % (1 << 20);
        let touched = index * 512 < 2 << 20;
        match within {
            0..4096 | 8192..12288 if touched => assert_ne!(sector, [7; 512], "sector {index} is written"),
            65536..131_072 if touched => assert_eq!(sector, [0; 512], "sector {index} is trimmed"),
            _ => assert_eq!(sector, [7; 512], "sector {index} is unchanged"),
        }
    }
}

#[test]
#[ignore = "needs root and loop devices"]
fn a_detached_device_is_refused() {
    let first = Loop::new("first");
    let found = first.look().expect("nothing uses it");
    first.detach();
    let opened = Block::open(&found, opening()).expect_err("there is nothing behind it");
    assert!(matches!(opened, Refusal::Changed { .. } | Refusal::Io { .. }), "{opened}");
}

#[test]
#[ignore = "needs root and loop devices"]
fn a_device_that_uses_the_page_cache_is_refused() {
    let drive = Loop::new("buffered");
    drive.look().expect("it bypasses the page cache");
    let changed = Command::new("losetup").args(["--direct-io=off", &drive.device]).status().expect("losetup is there");
    assert!(changed.success(), "{} keeps direct I/O", drive.device);
    let refused = drive.look().expect_err("it uses the page cache").to_string();
    assert!(refused.contains("without direct I/O, expected one that bypasses the page cache"), "{refused}");
}
