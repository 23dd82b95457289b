//! Stores with right checksums and wrong contents: each is refused in one line, or serves a drive that works.
#![cfg(target_os = "linux")]

#[path = "../../guest/tests/support/mod.rs"]
mod support;

use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use guest::{Options, Ram};
use guest_store::{Kept, Mode, StoreError, export, open};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256StarStar;
use sim::Time;
use support::{Host, MEMORY, ZONED, pattern, system};
use system::System;

const SECTOR: usize = 4096;
/// Bytes of the fixed part of a spare area, and the place of its numbers of units, lost units and notes.
const HEAD: usize = 60;

/// A small drive that collects garbage.
const SMALL: [(&str, &str); 9] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.blocks", "16"),
    ("flash.pages", "8"),
    ("ftl.over_provisioning", "0.6"),
    ("ftl.gc.start", "3"),
    ("host.max_transfer", "64KiB"),
    ("device.write_cache.size", "128KiB"),
];

type Random = Xoshiro256StarStar;

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("nandram-forged-{}-{name}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(system: &System, path: &Path) -> Result<(Host, Kept), StoreError> {
    let ram = Ram::new(MEMORY);
    let (drive, kept) = open(system, &Options::default(), Box::new(ram.clone()), path, Mode::OpenOrCreate)?;
    let mut host = Host::over(drive, ram, Time::ZERO);
    host.attach(1);
    Ok((host, kept))
}

/// Writes, trims and flushes at random, whatever the drive replies.
fn work(host: &mut Host, random: &mut Random, steps: u32, block: u64) {
    for step in 0..steps {
        match random.random_range(0..20) {
            0 => _ = host.flush(),
            1 => _ = host.trim(random.random_range(0..500) * 8, 64),
            2..5 => _ = host.read_blocks(random.random_range(0..500) * 8, 8),
            _ => {
                let first = random.random_range(0..500) * 8;
                let _ = host.write_blocks(first, &pattern(u64::from(step), (8 * block) as usize));
            }
        }
    }
    host.flush();
}

/// Returns the bytes of a store with data.
fn store_of(system: &System, path: &Path, block: u64) -> Vec<u8> {
    let mut random = Random::seed_from_u64(1);
    for _ in 0..2 {
        let (mut host, kept) = start(system, path).expect("a store");
        work(&mut host, &mut random, 1500, block);
        host.shut_down();
        kept.close(&mut host.drive).expect("a writable file");
    }
    std::fs::read(path).expect("the store")
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Returns a number that is likely to be wrong.
fn wrong(random: &mut Random, right: u32) -> u32 {
    match random.random_range(0..8) {
        0 => u32::MAX,
        1 => u32::MAX - random.random_range(1..8),
        2 => 0,
        3 => right ^ 1 << random.random_range(0..32),
        4 => random.random_range(0..5000),
        5 => random.random(),
        6 => right.wrapping_sub(random.random_range(1..4)),
        _ => right.wrapping_add(random.random_range(1..4)),
    }
}

fn put_wrong(bytes: &mut [u8], at: usize, random: &mut Random) {
    let value = wrong(random, number(bytes, at));
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn seal_sector(sector: &mut [u8]) {
    let sum = crc32fast::hash(&sector[..SECTOR - 4]);
    sector[SECTOR - 4..].copy_from_slice(&sum.to_le_bytes());
}

/// Changes a store in one to three places, with right checksums. Returns a description.
fn forge(bytes: &mut [u8], random: &mut Random) -> String {
    let spares: Vec<usize> =
        (3..bytes.len() / SECTOR).filter(|at| &bytes[at * SECTOR + 8..at * SECTOR + 12] == b"NPG1").collect();
    let mut what = String::new();
    for _ in 0..random.random_range(1..4) {
        let kind = random.random_range(0..10);
        match kind {
            0 => {
                let at = 16 + 4 * random.random_range(0..12);
                put_wrong(bytes, at, random);
                seal_sector(&mut bytes[..SECTOR]);
                what += &format!("header {at}; ");
            }
            1 => {
                let sector = SECTOR * random.random_range(1..3);
                let at = random.random_range(0..70);
                put_wrong(&mut bytes[sector..], at, random);
                seal_sector(&mut bytes[sector..sector + SECTOR]);
                what += &format!("state {at}; ");
            }
            2 | 3 => {
                let entry = 3 * SECTOR + 32 * random.random_range(0..32);
                let at = 4 * random.random_range(0..4);
                put_wrong(bytes, entry + at, random);
                let sum = crc32fast::hash(&bytes[entry..entry + 28]);
                bytes[entry + 28..entry + 32].copy_from_slice(&sum.to_le_bytes());
                what += &format!("entry {at}; ");
            }
            _ => {
                let spare = spares[random.random_range(0..spares.len())] * SECTOR;
                let length = number(bytes, spare + 4) as usize;
                let area = &mut bytes[spare..];
                let (units, notes) = (number(area, 48) as usize, number(area, 56) as usize);
                let at = match kind {
                    4 | 5 => HEAD + 4 * random.random_range(0..units.max(1)),
                    6 if notes > 0 => random.random_range(HEAD + 4 * units..length - 3),
                    _ => 12 + 4 * random.random_range(0..12),
                };
                put_wrong(area, at, random);
                let sum = crc32fast::hash(&area[4..length]);
                area[..4].copy_from_slice(&sum.to_le_bytes());
                what += &format!("spare {at} of {length}; ");
            }
        }
    }
    what
}

/// Writes a file without its sectors of zeros, of which a store has many.
fn write_sparse(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    let file = std::fs::File::create(path).expect("a file");
    file.set_len(bytes.len() as u64).expect("a length");
    for (at, sector) in bytes.chunks(SECTOR).enumerate().filter(|(_, sector)| sector.iter().any(|byte| *byte != 0)) {
        file.write_all_at(sector, (at * SECTOR) as u64).expect("written");
    }
}

/// The outcome of a mutant.
enum Outcome {
    Refused(String),
    Works,
    Panicked(String),
}

static PANIC: Mutex<String> = Mutex::new(String::new());

fn play(system: &System, path: &Path, seed: u64, block: u64) -> Outcome {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut text) = PANIC.lock() {
            *text = info.to_string();
        }
    }));
    let played = catch_unwind(AssertUnwindSafe(|| {
        // An export of a drive with a unit that cannot be read fails.
        let _ = export(system, &Options::default(), path, &path.with_extension("image"));
        let (mut host, kept) = start(system, path)?;
        work(&mut host, &mut Random::seed_from_u64(seed), 150, block);
        host.shut_down();
        kept.close(&mut host.drive)?;
        drop((host, kept));
        start(system, path).map(|_| ())
    }));
    let _ = std::panic::take_hook();
    match played {
        Ok(Ok(())) => Outcome::Works,
        Ok(Err(error)) => Outcome::Refused(error.to_string()),
        Err(_) => Outcome::Panicked(PANIC.lock().map(|text| text.clone()).unwrap_or_default()),
    }
}

fn no_mutant_panics(name: &str, system: &System, block: u64) {
    let folder = Folder::new(name);
    let count: u64 = std::env::var("NANDRAM_FORGED").ok().and_then(|text| text.parse().ok()).unwrap_or(24);
    let whole = store_of(system, &folder.0.join("whole"), block);
    let (mut works, mut refused, mut panics) = (0, 0, Vec::new());
    for seed in 0..count {
        let mut bytes = whole.clone();
        let what = forge(&mut bytes, &mut Random::seed_from_u64(seed));
        let path = folder.0.join("forged");
        write_sparse(&path, &bytes);
        match play(system, &path, seed, block) {
            Outcome::Works => works += 1,
            Outcome::Refused(message) => {
                assert!(!message.contains('\n') && message.starts_with("store "), "{seed}: {message}");
                refused += 1;
            }
            Outcome::Panicked(text) => panics.push(format!("{name} {seed}: {what}\n  {}", text.replace('\n', " "))),
        }
    }
    assert!(panics.is_empty(), "{} of {count} panic:\n{}", panics.len(), panics.join("\n"));
    assert!(works >= count / 10 && refused >= count / 10, "{works} work and {refused} are refused");
}

#[test]
fn stores_with_right_sums_and_wrong_contents_are_refused_or_work() {
    let with = |sets: &[(&'static str, &'static str)]| system("", &[&SMALL[..], sets].concat());
    no_mutant_panics("pages", &with(&[]), 512);
    no_mutant_panics("map", &with(&[("ftl.map_cache.size", "16KiB")]), 512);
    no_mutant_panics("zones", &system("", &ZONED), 4096);
}
