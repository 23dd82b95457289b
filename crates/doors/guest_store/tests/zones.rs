//! Zoned drives whose flash is in a file: what was flushed, reset or finished outlives a killed server and a power cut, and
//! an image holds what a host would read.
#![cfg(target_os = "linux")]

#[path = "../../guest/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use guest::{Options, Ram};
use guest_store::{Kept, Mode, cut, export, open};
use sim::Time;
use support::{Command, DATA, Host, MEMORY, ZONED, pattern, system};

const SIZE: u64 = 2048;
const BLOCK: u64 = 4096;

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("nandram-zoned-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Attaches to the drive in the file. Dropping the host leaves the file as a killed server does.
fn attached(path: &Path) -> Host {
    opened(path, &[]).0
}

fn opened(path: &Path, sets: &[(&str, &str)]) -> (Host, Kept) {
    let (ram, system) = (Ram::new(MEMORY), system("", &[&ZONED[..], sets].concat()));
    let found = open(&system, &Options::default(), Box::new(ram.clone()), path, Mode::OpenOrCreate);
    let (drive, kept) = found.unwrap_or_else(|error| panic!("{error}"));
    let mut host = Host::over(drive, ram, Time::ZERO);
    host.attach(1);
    (host, kept)
}

/// Appends `count` blocks of pattern `seed` to `zone`.
fn append(host: &mut Host, zone: u64, seed: u64, count: u64) {
    host.store(DATA, &pattern(seed, (count * BLOCK) as usize));
    let command = host.transfer(0x7d, zone * SIZE, count as u32, BLOCK);
    assert_eq!(host.run(1, command).status, 0);
}

fn read(host: &mut Host, zone: u64, count: u64) -> Vec<u8> {
    let command = host.transfer(2, zone * SIZE, count as u32, BLOCK);
    assert_eq!(host.run(1, command).status, 0);
    host.load(DATA, (count * BLOCK) as usize)
}

fn send(host: &mut Host, action: u32, zone: u64) {
    let dwords = [(zone * SIZE) as u32, 0, 0, action, 0, 0];
    assert_eq!(host.run(1, Command { opcode: 0x79, namespace: 1, dwords, ..Command::default() }).status, 0);
}

/// Returns state and write pointer, relative to its start, of `zone`.
fn state(host: &mut Host, zone: u64) -> (u8, u64) {
    let dwords = [(zone * SIZE) as u32, 0, 31, 0, 0, 0];
    let command = Command { opcode: 0x7a, namespace: 1, prp: [DATA, 0], dwords, ..Command::default() };
    assert_eq!(host.run(1, command).status, 0);
    let report = host.load(DATA, 128);
    let pointer = u64::from_le_bytes(report[88..96].try_into().expect("eight bytes"));
    (report[65] >> 4, pointer.wrapping_sub(zone * SIZE))
}

#[test]
fn a_killed_server_loses_nothing_that_was_flushed_reset_or_finished() {
    let folder = Folder::new("killed");
    let (path, image) = (folder.0.join("store"), folder.0.join("image"));
    for turn in 0..3u64 {
        let mut host = attached(&path);
        if turn > 0 {
            assert_eq!((state(&mut host, 0), state(&mut host, 2)), ((4, 40 * turn), (0xe, u64::MAX - 2 * SIZE)));
            assert_eq!(state(&mut host, 1), (1, 0), "a zone that was reset");
            assert_eq!(read(&mut host, 1, 8), [0; 8 * BLOCK as usize]);
            assert_eq!(read(&mut host, 2, 3), pattern(turn - 1, 3 * BLOCK as usize));
            send(&mut host, 4, 2);
        }
        for part in 0..4 {
            append(&mut host, 0, 10 * turn + part, 10);
        }
        append(&mut host, 1, 7, 16);
        append(&mut host, 2, turn, 3);
        send(&mut host, 2, 2);
        assert_eq!(host.flush().status, 0);
        send(&mut host, 4, 1);
        // Not flushed, and lost or not.
        append(&mut host, 3, 5, 5);
    }
    export(&system("", &ZONED), &Options::default(), &path, &image).expect("an image");
    let image = std::fs::read(&image).expect("the image");
    assert_eq!(image.len() as u64, 8 * SIZE * BLOCK);
    for part in 0..12u64 {
        let expected = pattern(10 * (part / 4) + part % 4, 10 * BLOCK as usize);
        assert_eq!(image[(part * 10 * BLOCK) as usize..][..expected.len()], expected[..], "part {part}");
    }
    assert!(image[(SIZE * BLOCK) as usize..][..(16 * BLOCK) as usize].iter().all(|byte| *byte == 0));
}

#[test]
fn a_protected_drive_writes_its_buffer_out_at_the_end_of_its_server() {
    let folder = Folder::new("protected");
    let path = folder.0.join("store");
    for turn in 0..4u64 {
        let (mut host, kept) = opened(&path, &[("device.power_loss_protection", "true")]);
        if turn > 0 {
            assert_eq!(state(&mut host, 5), (4, 3 * turn));
            let data = read(&mut host, 5, 3 * turn);
            assert_eq!(data[data.len() - 3 * BLOCK as usize..], pattern(turn - 1, 3 * BLOCK as usize));
        }
        append(&mut host, 5, turn, 3);
        // Another append is under way, whose end the host does not see.
        let command = host.transfer(0x7d, 6 * SIZE, 4, BLOCK);
        host.submit(1, &[command]);
        kept.close(&mut host.drive).expect("a file that can be written");
    }
}

#[test]
fn a_cut_at_any_instant_leaves_write_pointers_that_agree_with_the_data() {
    let folder = Folder::new("cut");
    let whole = system("", &ZONED);
    let mut host = attached(&folder.0.join("store"));
    let mut flushed = 0;
    for turn in 0..20u64 {
        append(&mut host, 0, turn, 8);
        if turn % 4 == 1 {
            assert_eq!(host.flush().status, 0);
            flushed = 8 * (turn + 1);
        }
        host.wait(Time::from_us(37 * turn));
        let path = folder.0.join(format!("cut-{turn}"));
        cut(&whole, &host.drive, host.now, &path).expect("a cut");
        let mut after = attached(&path);
        let (_, pointer) = state(&mut after, 0);
        assert!((flushed..=8 * (turn + 1)).contains(&pointer), "cut {turn}: {pointer}, {flushed} flushed");
        for part in 0..pointer / 8 {
            let command = after.transfer(2, part * 8, 8, BLOCK);
            assert_eq!(after.run(1, command).status, 0);
            assert_eq!(
                after.load(DATA, 8 * BLOCK as usize),
                pattern(part, 8 * BLOCK as usize),
                "cut {turn}, part {part}"
            );
        }
    }
    assert!(flushed > 100);
}
