//! Drives whose flash is in a file: flushed data survive, and files that do not belong to the drive are refused.
#![cfg(target_os = "linux")]

#[path = "support/small.rs"]
mod small;
#[path = "../../guest/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use guest::{Options, Ram};
use guest_store::{Kept, Mode, StoreError, cut, export, open};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256StarStar;
use sim::Time;
use small::SMALL;
use support::{Command, Host, MEMORY, pattern, system};

/// A file that is removed at the end of its test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str) -> TempFile {
        let place = TempFile(std::env::temp_dir().join(format!("nandram-store-{}-{name}", std::process::id())));
        let _ = std::fs::remove_file(&place.0);
        place
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn attached(path: &Path) -> (Host, Kept) {
    let ram = Ram::new(MEMORY);
    let found = open(&system("", &SMALL), &Options::default(), Box::new(ram.clone()), path, Mode::OpenOrCreate);
    let (drive, kept) = found.unwrap_or_else(|error| panic!("{error}"));
    let mut host = Host::over(drive, ram, Time::ZERO);
    host.attach(1);
    (host, kept)
}

fn refused(path: &Path, sets: &[(&str, &str)]) -> String {
    let memory = Box::new(Ram::new(4096));
    match open(&system("", sets), &Options::default(), memory, path, Mode::OpenOrCreate) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

/// Blocks that the workload writes.
const BLOCKS: u64 = 6000;

fn draw(seed: u64) -> Xoshiro256StarStar {
    Xoshiro256StarStar::seed_from_u64(seed)
}

/// Writes one to eight blocks of 512 bytes. Returns the first and their number.
fn write(host: &mut Host, random: &mut Xoshiro256StarStar, version: u64) -> (u64, u64) {
    let count = random.random_range(1..=8);
    let first = random.random_range(0..BLOCKS - count);
    let data: Vec<u8> = (0..count).flat_map(|i| pattern(version << 32 | (first + i), 512)).collect();
    assert_eq!(host.write_blocks(first, &data).status, 0);
    (first, count)
}

/// Checks that every block has its version of `flushed` or a newer one, at most `last`.
fn check(host: &mut Host, flushed: &HashMap<u64, u64>, last: u64) {
    for (block, version) in flushed {
        let (done, data) = host.read_blocks(*block, 1);
        assert_eq!(done.status, 0);
        let is_there = (*version..=last).any(|version| data == pattern(version << 32 | block, 512));
        assert!(is_there, "block {block} has lost version {version}");
    }
}

#[test]
fn data_and_counters_outlive_the_drive() {
    let place = TempFile::new("outlive");
    let mut random = draw(1);
    let mut flushed = HashMap::new();
    for start in 0..3 {
        let (mut host, kept) = attached(&place.0);
        check(&mut host, &flushed, 10_000);
        for version in start * 1000..start * 1000 + 400 {
            let (first, count) = write(&mut host, &mut random, version);
            flushed.extend((first..first + count).map(|block| (block, version)));
        }
        let health = host.log(2, 512, 0).expect("the health log");
        let number = |at: usize| u64::from_le_bytes(health[at..at + 8].try_into().expect("eight bytes"));
        assert_eq!((number(112), number(144)), (start + 1, 0), "power cycles and unsafe shutdowns");
        assert!(number(80) >= 400 * (start + 1), "writes of all starts");
        host.shut_down();
        kept.close(&mut host.drive).expect("a writable file");
    }
    let (mut host, _) = attached(&place.0);
    check(&mut host, &flushed, 10_000);
    drop(host);
    let (mut host, _) = attached(&place.0);
    let health = host.log(2, 512, 0).expect("the health log");
    assert_eq!(health[144], 1, "the drive before was not shut down");
}

#[test]
fn the_file_holds_the_flash_exactly() {
    let place = TempFile::new("exact");
    let (mut host, kept) = attached(&place.0);
    let mut random = draw(2);
    for version in 0..6000 {
        write(&mut host, &mut random, version);
        if version % 50 == 0 {
            host.flush();
            let trim = random.random_range(0..BLOCKS / 8) * 8;
            let range = [0u32.to_le_bytes(), 64u32.to_le_bytes(), (trim as u32).to_le_bytes(), 0u32.to_le_bytes()];
            host.store(support::DATA, &range.concat());
            let command = Command {
                opcode: 9,
                namespace: 1,
                prp: [support::DATA, 0],
                dwords: [0, 4, 0, 0, 0, 0],
                ..Command::default()
            };
            assert_eq!(host.run(1, command).status, 0);
        }
    }
    host.shut_down();
    host.wait(Time::from_ms(100));
    kept.close(&mut host.drive).expect("a writable file");
    let image = |host: &Host| {
        let mut bytes = Vec::new();
        host.drive.machine().nand().store().save(&mut bytes).expect("memory");
        bytes
    };
    let before = image(&host);
    assert!(host.drive.machine().nand().store().blocks().any(|block| block.erases > 0), "nothing was collected");
    drop((host, kept));
    let ram = Ram::new(MEMORY);
    let (drive, _kept) =
        open(&system("", &SMALL), &Options::default(), Box::new(ram.clone()), &place.0, Mode::Open).expect("a store");
    assert!(image(&Host::over(drive, ram, Time::ZERO)) == before, "the flash differs");
}

#[test]
fn the_same_commands_leave_the_same_bytes() {
    let bytes = |name: &str| {
        let place = TempFile::new(name);
        let (mut host, kept) = attached(&place.0);
        let mut random = draw(3);
        for version in 0..300 {
            write(&mut host, &mut random, version);
        }
        host.shut_down();
        kept.close(&mut host.drive).expect("a writable file");
        std::fs::read(&place.0).expect("the store")
    };
    assert!(bytes("same-1") == bytes("same-2"));
}

#[test]
fn a_format_outlives_the_drive() {
    let place = TempFile::new("format");
    let (mut host, _kept) = attached(&place.0);
    let format = Command { opcode: 0x80, namespace: 1, dwords: [1, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(format).status, 0);
    drop((host, _kept));
    let (mut host, _kept) = attached(&place.0);
    assert_eq!(host.identify(0, 1)[26] & 15, 1, "the format with blocks of 4096 bytes");
}

/// The workload of a process that is killed: prints the number of the last flush after it completed.
#[test]
#[ignore = "a part of `a_killed_server_loses_nothing_that_was_flushed`"]
fn victim() {
    let path = PathBuf::from(std::env::var_os("NANDRAM_VICTIM").expect("started by its test"));
    let round: u64 = std::env::var("NANDRAM_ROUND").expect("a number").parse().expect("a number");
    let (mut host, _kept) = attached(&path);
    let mut random = draw(100 + round);
    let mut out = std::io::stdout();
    for version in round * 100_000.. {
        write(&mut host, &mut random, version);
        if random.random_bool(0.1) {
            assert_eq!(host.flush().status, 0);
            writeln!(out, "\nflushed {version}").and_then(|()| out.flush()).expect("the parent reads");
        }
    }
}

#[test]
fn a_killed_server_loses_nothing_that_was_flushed() {
    let place = TempFile::new("killed");
    let mut random = draw(5);
    let mut flushed = HashMap::new();
    let mut acknowledged = 0;
    for round in 1..=8 {
        let mut child = Process::new(std::env::current_exe().expect("this program"))
            .args(["victim", "--exact", "--ignored", "--nocapture"])
            .env("NANDRAM_VICTIM", &place.0)
            .env("NANDRAM_ROUND", round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let kill_after = random.random_range(1..60);
        let instant = Duration::from_micros(random.random_range(0..20_000));
        let (mut last, mut seen) = (None, 0);
        for line in lines.map_while(Result::ok) {
            let Some(version) = line.strip_prefix("flushed ") else { continue };
            last = Some(version.parse::<u64>().expect("a number"));
            seen += 1;
            if seen == kill_after {
                std::thread::sleep(instant);
                child.kill().expect("a child");
            }
        }
        child.wait().expect("a child");
        let last = last.expect("a flush before the end");
        acknowledged += seen;
        // What the victim wrote up to the last flush that it reported. Later writes may be there too.
        let mut replay = draw(100 + round);
        let mut after = HashMap::new();
        for version in round * 100_000..last + 5000 {
            let count = replay.random_range(1..=8);
            let first = replay.random_range(0..BLOCKS - count);
            if version <= last {
                flushed.extend((first..first + count).map(|block| (block, version)));
            } else {
                after.extend((first..first + count).map(|block| (block, version)));
            }
            replay.random_bool(0.1);
        }
        let (mut host, _kept) = attached(&place.0);
        for (block, version) in &flushed {
            let (done, data) = host.read_blocks(*block, 1);
            assert_eq!(done.status, 0);
            let newer = (round * 100_000..last + 5000).rev().any(|newer| data == pattern(newer << 32 | block, 512));
            assert!(data == pattern(version << 32 | block, 512) || newer, "round {round}: block {block} is lost");
        }
        // Later rounds must find the present content.
        for (block, version) in after {
            let (_, data) = host.read_blocks(block, 1);
            if data == pattern(version << 32 | block, 512) {
                flushed.insert(block, version);
            }
        }
    }
    assert!(acknowledged >= 20, "only {acknowledged} flushes");
}

/// A server killed between the planes of a program leaves half of it. The next server must not leave it for the one after.
#[test]
fn half_a_program_is_forgotten_once() {
    const SECTOR: usize = 4096;
    let place = TempFile::new("half");
    let (mut host, _kept) = attached(&place.0);
    for block in 0..40 {
        assert_eq!(host.write_blocks(block * 128, &pattern(block, 65_536)).status, 0);
    }
    host.wait(Time::from_ms(100));
    drop((host, _kept));
    let bytes = std::fs::read(&place.0).expect("the store");
    let spares = bytes.chunks_exact(SECTOR).enumerate().filter(|(_, sector)| &sector[8..12] == b"NPG1");
    let of_two_planes = spares.filter(|(_, spare)| spare[32].count_ones() == 2);
    let newest = of_two_planes.max_by_key(|(_, spare)| u64::from_le_bytes(spare[36..44].try_into().expect("eight")));
    let (sector, _) = newest.expect("a program of two planes");
    let file = OpenOptions::new().write(true).open(&place.0).expect("the store");
    file.write_all_at(&[0; SECTOR], (sector * SECTOR) as u64).expect("written");
    for version in 0..3 {
        let (mut host, _kept) = attached(&place.0);
        assert_eq!(host.write_blocks(0, &pattern(version, 65_536)).status, 0);
        assert_eq!(host.flush().status, 0);
        assert_eq!(host.write_blocks(0, &pattern(version, 65_536)).status, 0);
        assert_eq!(host.flush().status, 0);
    }
    let (mut host, _kept) = attached(&place.0);
    assert!(host.read_blocks(0, 128).1 == pattern(2, 65_536), "flushed data");
}

#[test]
fn cuts_at_any_instant_keep_what_was_flushed() {
    let place = TempFile::new("cut-source");
    let (mut host, _kept) = attached(&place.0);
    let mut random = draw(6);
    let cuts: Vec<Time> = (0..25).map(|_| Time::from_us(random.random_range(1000..200_000))).collect();
    let name = |at: Time| std::env::temp_dir().join(format!("nandram-store-{}-cut-{}", std::process::id(), at.ps()));
    let of = system("", &SMALL);
    let (names, cut_system) = (cuts.iter().map(|at| name(*at)).collect::<Vec<_>>(), of.clone());
    let inspect = move |drive: &guest::Drive, at: Time| {
        cut(&cut_system, drive, at, &name(at)).unwrap_or_else(|error| panic!("{error}"));
    };
    host.drive.inspect_at(cuts.clone(), Box::new(inspect));
    let mut history: Vec<(Time, HashMap<u64, u64>)> = Vec::new();
    let mut written = HashMap::new();
    let mut last = 0;
    for version in 0.. {
        if host.now > Time::from_us(210_000) {
            break;
        }
        last = version;
        let (first, count) = write(&mut host, &mut random, version);
        written.extend((first..first + count).map(|block| (block, version)));
        if random.random_bool(0.2) {
            assert_eq!(host.flush().status, 0);
            history.push((host.now, written.clone()));
        }
    }
    let mut torn = 0;
    for (at, path) in cuts.iter().zip(&names) {
        let flushed = history.iter().rev().find(|(when, _)| when < at).map(|(_, blocks)| blocks.clone());
        let place = TempFile(path.clone());
        let (mut host, _kept) = attached(&place.0);
        torn += host.drive.machine().nand().store().blocks().filter(|block| block.torn || block.erase_torn).count();
        check(&mut host, &flushed.unwrap_or_default(), last);
    }
    assert!(torn > 0, "no cut tore a program");
}

#[test]
fn an_export_is_what_the_host_reads() {
    let (place, image) = (TempFile::new("export"), TempFile::new("image"));
    let (mut host, kept) = attached(&place.0);
    let mut random = draw(7);
    for version in 0..200 {
        write(&mut host, &mut random, version);
    }
    host.flush();
    let mut expected = Vec::new();
    for block in (0..BLOCKS).step_by(120) {
        expected.extend(host.read_blocks(block, 120.min((BLOCKS - block) as u32)).1);
    }
    drop((host, kept));
    export(&system("", &SMALL), &Options::default(), &place.0, &image.0).expect("a store");
    let mut found = vec![0; expected.len()];
    File::open(&image.0).expect("the image").read_exact_at(&mut found, 0).expect("its beginning");
    assert!(found == expected, "the image differs");
}

#[test]
fn other_files_are_refused_in_one_line() {
    let place = TempFile::new("refused");
    let named = |message: &str| format!("store {}: {message}", place.0.display());
    let (host, kept) = attached(&place.0);
    assert_eq!(refused(&place.0, &SMALL), named("in use by another process"));
    drop((host, kept));

    let mut other = SMALL;
    other[0] = ("flash.channels", "1");
    let message = refused(&place.0, &other);
    assert!(message.starts_with(&named("found the flash of \"drive\" (")), "{message}");
    assert!(message.contains("), expected that of \"drive\" ("), "{message}");

    let file = OpenOptions::new().write(true).open(&place.0).expect("the store");
    file.write_all_at(b"x", 100).expect("written");
    assert_eq!(refused(&place.0, &SMALL), named("found a damaged header, expected the store of a drive or no file"));
    file.set_len(100).expect("shortened");
    assert_eq!(refused(&place.0, &SMALL), named("found a shorter file, expected the store of a drive or no file"));
    file.set_len(0).expect("shortened");
    drop(attached(&place.0));
    file.write_all_at(b"x", 3 * 4096).expect("written");
    assert_eq!(refused(&place.0, &SMALL), named("damaged: state of block 0 at byte 12288"));
    std::fs::write(&place.0, vec![b'x'; 20_000]).expect("written");
    assert_eq!(refused(&place.0, &SMALL), named("found another file, expected the store of a drive or no file"));
    let folder = std::env::temp_dir();
    let found = format!("store {}: found a folder, expected the store of a drive or no file", folder.display());
    assert_eq!(refused(&folder, &SMALL), found);
    let error = export(&system("", &SMALL), &Options::default(), Path::new("/nowhere/x"), &place.0);
    assert!(matches!(error, Err(StoreError::Io { .. })), "{error:?}");
}

#[test]
fn damage_to_flushed_data_is_reported() {
    let place = TempFile::new("damage");
    let (mut host, kept) = attached(&place.0);
    for block in 0..40 {
        assert_eq!(host.write_blocks(block * 128, &pattern(block, 65_536)).status, 0);
    }
    host.flush();
    kept.close(&mut host.drive).expect("a writable file");
    drop((host, kept));
    let bytes = std::fs::read(&place.0).expect("the store");
    let at = bytes.chunks_exact(512).position(|chunk| chunk == &pattern(3, 65_536)[..512]).expect("the data") * 512;
    let file = OpenOptions::new().write(true).open(&place.0).expect("the store");
    file.write_all_at(&[!bytes[at]], at as u64).expect("written");
    let message = refused(&place.0, &SMALL);
    assert!(message.contains(": damaged: payload of block ") && message.contains(" at byte "), "{message}");
}
