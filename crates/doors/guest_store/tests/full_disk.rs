//! A drive whose file cannot be written: commands fail, the drive goes on, and nothing that was flushed is lost.
//!
//! The faults are the kernel's: a limit of the file's length (`RLIMIT_FSIZE`), which makes writes fail at some places of the
//! file, and a full file system. A process of its own has the limit, and ignores the signal that comes with it.
#![cfg(target_os = "linux")]

#[path = "support/small.rs"]
mod small;
#[path = "../../guest/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use guest::{Options, Ram};
use guest_store::{Kept, Mode, open};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256StarStar;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::process::{Resource, getrlimit, setrlimit};
use sim::Time;
use small::SMALL;
use support::{Host, MEMORY, pattern, system};

/// Blocks of 512 bytes that the workload writes.
const BLOCKS: u64 = 6000;
/// Status of a command for which the file has no room: Capacity Exceeded.
const NO_SPACE: u16 = 0x81;
/// A folder on a file system of its own, for the test's second process.
const FOLDER: &str = "NANDRAM_FULL_FOLDER";
const IS_DISK: &str = "NANDRAM_FULL_DISK";

/// A way to make writes to a store fail.
enum Fault {
    /// The file's length is limited.
    Limit,
    /// Another file takes the file system's room.
    Disk(PathBuf),
}

impl Fault {
    /// Lets writes to `store` fail at a drawn place, or after drawn bytes.
    fn engage(&self, store: &Path, random: &mut Xoshiro256StarStar) {
        match self {
            Fault::Limit => {
                let bytes = std::fs::metadata(store).expect("the store").len();
                limit(Some(random.random_range(64 << 10..bytes)));
            }
            Fault::Disk(filler) => {
                let file = File::create(filler).expect("a file");
                let about = statvfs(filler).expect("a file system");
                let left = random.random_range(0..1u64 << 20);
                let bytes = (about.f_bavail * about.f_frsize).saturating_sub(left);
                fallocate(&file, FallocateFlags::empty(), 0, bytes).expect("room");
            }
        }
    }

    fn lift(&self) {
        match self {
            Fault::Limit => limit(None),
            Fault::Disk(filler) => std::fs::remove_file(filler).expect("the file"),
        }
    }
}

fn limit(bytes: Option<u64>) {
    setrlimit(Resource::Fsize, rustix::process::Rlimit { current: bytes, ..getrlimit(Resource::Fsize) })
        .expect("a limit");
}

/// A store, and what its host knows.
struct History {
    store: PathBuf,
    random: Xoshiro256StarStar,
    version: u64,
    /// The version of each block, as far as successful commands tell.
    written: HashMap<u64, u64>,
    flushed: HashMap<u64, u64>,
}

/// Returns the contents of a block.
fn contents(block: u64, version: u64) -> Vec<u8> {
    [&version.to_le_bytes()[..], &pattern(version << 32 | block, 504)].concat()
}

impl History {
    fn start(&mut self) -> (Host, Kept) {
        let ram = Ram::new(MEMORY);
        let found =
            open(&system("", &SMALL), &Options::default(), Box::new(ram.clone()), &self.store, Mode::OpenOrCreate);
        let (drive, kept) = found.unwrap_or_else(|error| panic!("the store does not mount: {error}"));
        let mut host = Host::over(drive, ram, Time::ZERO);
        host.attach(1);
        self.check(&mut host);
        // The server before may have been killed, with writes that it had not flushed.
        self.written.clone_from(&self.flushed);
        (host, kept)
    }

    /// Checks that every block has the version that was flushed, or a newer one.
    fn check(&self, host: &mut Host) {
        for (block, flushed) in &self.flushed {
            let (done, data) = host.read_blocks(*block, 1);
            assert_eq!(done.status, 0, "a read of block {block}");
            let version = u64::from_le_bytes(data[..8].try_into().expect("eight bytes"));
            assert!(
                (*flushed..=self.version).contains(&version),
                "block {block}: version {version}, flushed {flushed}"
            );
            assert!(data == contents(*block, version), "block {block} of version {version}");
        }
    }

    /// Writes some blocks, or flushes. Returns the status.
    fn step(&mut self, host: &mut Host) -> u16 {
        if self.random.random_bool(0.1) {
            return self.flush(host);
        }
        self.version += 1;
        let count = self.random.random_range(1..=8);
        let first = self.random.random_range(0..BLOCKS - count);
        let data: Vec<u8> = (first..first + count).flat_map(|block| contents(block, self.version)).collect();
        let status = host.write_blocks(first, &data).status;
        if status == 0 {
            self.written.extend((first..first + count).map(|block| (block, self.version)));
        }
        status
    }

    fn flush(&mut self, host: &mut Host) -> u16 {
        let status = host.flush().status;
        if status == 0 {
            self.flushed.clone_from(&self.written);
        }
        status
    }

    /// Works until a command fails, and on. Returns false if none does.
    fn work_until_failure(&mut self, host: &mut Host, kept: &Kept) -> bool {
        let Some(_) = (0..20_000).find(|_| match self.step(host) {
            0 => false,
            status => {
                assert_eq!(status, NO_SPACE);
                true
            }
        }) else {
            return false;
        };
        let notice = kept.take_notice().expect("a message");
        assert!(notice.ends_with("; the drive fails writes until it can") && !notice.contains('\n'), "{notice}");
        for _ in 0..30 {
            let status = self.step(host);
            assert!([0, NO_SPACE].contains(&status), "status {status:#x}");
        }
        self.check(host);
        true
    }
}

/// The work of the process that has the fault.
#[test]
#[ignore = "a part of the other tests"]
fn works_with_a_fault() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("started by its test"));
    let fault = if std::env::var_os(IS_DISK).is_some() { Fault::Disk(folder.join("filler")) } else { Fault::Limit };
    let (store, random) = (folder.join("store"), Xoshiro256StarStar::seed_from_u64(8));
    let mut history =
        History { store: store.clone(), random, version: 0, written: HashMap::new(), flushed: HashMap::new() };
    let mut failures = 0;
    for round in 0..24 {
        let (mut host, kept) = history.start();
        for _ in 0..history.random.random_range(0..200) {
            assert_eq!(history.step(&mut host), 0);
        }
        fault.engage(&store, &mut history.random);
        failures += u32::from(history.work_until_failure(&mut host, &kept));
        match round % 6 {
            // Killed with the fault, and started without.
            0 => {
                drop((host, kept));
                fault.lift();
            }
            // Killed with the fault, and started with it.
            1 => {
                drop((host, kept));
                let (mut host, kept) = history.start();
                for _ in 0..100 {
                    history.step(&mut host);
                }
                fault.lift();
                assert_eq!(history.flush(&mut host), 0);
                drop((host, kept));
            }
            // There is room again, and the server is killed some time later.
            2 => {
                fault.lift();
                assert_eq!(history.flush(&mut host), 0);
                let notice = kept.take_notice().unwrap_or_default();
                assert!(notice.is_empty() || notice.ends_with("can be written again and has every change"), "{notice}");
                for _ in 0..history.random.random_range(0..300) {
                    assert_eq!(history.step(&mut host), 0);
                }
                drop((host, kept));
            }
            // There is room again, and the server ends in order.
            3 => {
                fault.lift();
                host.shut_down();
                history.flushed.clone_from(&history.written);
                kept.close(&mut host.drive).expect("a writable file");
            }
            // The server ends in order without room.
            4 => {
                host.shut_down();
                if let Err(error) = kept.close(&mut host.drive) {
                    assert!(error.to_string().contains(": cannot be written: "), "{error}");
                }
                drop((host, kept));
                fault.lift();
            }
            // The room suffices for some of the changes, and the server is killed.
            _ => {
                if matches!(fault, Fault::Limit) {
                    let bytes = std::fs::metadata(&store).expect("the store").len();
                    limit(Some(bytes + history.random.random_range(0..100 << 10)));
                } else {
                    fault.lift();
                    fault.engage(&store, &mut history.random);
                }
                for _ in 0..3 {
                    history.flush(&mut host);
                }
                drop((host, kept));
                fault.lift();
            }
        }
    }
    let (_host, _kept) = history.start();
    println!("{failures} failures, {} blocks flushed", history.flushed.len());
    assert!(failures >= 10, "only {failures} rounds met the fault");
}

/// Runs the work in a process that ignores SIGXFSZ, on a store below `folder`.
fn work_in(folder: &Path, is_disk: bool) {
    let program = std::env::current_exe().expect("this program");
    let mut process = Process::new("sh");
    process.args(["-c", "trap '' XFSZ; exec \"$0\" works_with_a_fault --exact --ignored --nocapture"]);
    process.arg(program).env(FOLDER, folder);
    if is_disk {
        process.env(IS_DISK, "1");
    }
    let done = process.output().expect("a process");
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
}

/// A folder that is unmounted and removed at the end of its test.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> TempFolder {
        let place = std::env::temp_dir().join(format!("nandram-full-{}-{name}", std::process::id()));
        std::fs::create_dir(&place).expect("a folder");
        TempFolder(place)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = Process::new("umount").arg(&self.0).output();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_that_must_not_grow_fails_commands_and_loses_nothing() {
    let folder = TempFolder::new("limit");
    work_in(&folder.0, false);
}

#[test]
fn a_full_disk_fails_commands_and_loses_nothing() {
    let folder = TempFolder::new("disk");
    let mounted = Process::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "nandram"]).arg(&folder.0).output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: this user cannot mount a file system");
        return;
    }
    work_in(&folder.0, true);
}
