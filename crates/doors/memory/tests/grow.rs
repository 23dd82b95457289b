//! Growth of a memory in its file: every state, token, name and permission stays, whatever kills it.

mod support;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use memory::{Disk, Error, Memory, Options, Permissions, Reader, Shape, grow};
use sim::Streams;
use support::histories::{Calls, verify};
use support::place::{TempFile, message};

const MIB: u64 = 1 << 20;

fn open(path: &Path) -> Memory {
    Memory::open(path, &Options { dram: 2 * MIB, ..Options::default() }).unwrap_or_else(|error| panic!("{error}"))
}

/// Creates a memory of 4 MiB with 8 MiB of space and four tokens.
fn create(path: &Path, of_format_1: bool) -> Memory {
    let shape = Shape::of(4 * MIB, 8 * MIB, 4).expect("sizes that work");
    let shape = if of_format_1 { shape.of_format_1() } else { shape };
    let file = std::fs::File::options().read(true).write(true).create_new(true).open(path).expect("a new file");
    file.set_len(shape.file_bytes()).expect("a file system with holes");
    Memory::create_on(Disk::new(file, true), shape, 2 * MIB, "a file").unwrap_or_else(|error| panic!("{error}"))
}

/// Random histories in files of both formats, and a growth after each part.
#[test]
fn growth_keeps_every_state() {
    for seed in 0..8 {
        let place = TempFile::new(&format!("grow-{seed}"));
        let mut memory = create(&place.0, seed % 2 == 1);
        let mut calls = Calls::new(seed);
        let (mut capacity, mut space) = (4 * MIB, 8 * MIB);
        for part in 0..3 {
            let mut made = 0;
            while made < 120 {
                match calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()) {
                    Ok(()) => made += 1,
                    Err(Error::Full(_)) => break,
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
            let next = memory.next_token();
            memory.close().expect("closed");
            let more =
                [(Some(2 * capacity), None), (None, Some(space + 3 * MIB)), (Some(capacity + 1), Some(4 * space))];
            let (wanted_capacity, wanted_space) = more[(seed as usize + part) % 3];
            grow(&place.0, wanted_capacity, wanted_space).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            memory = open(&place.0);
            capacity = wanted_capacity.unwrap_or(capacity).next_multiple_of(memory::PAGE_BYTES);
            space = wanted_space.unwrap_or(space.max(2 * capacity)).next_multiple_of(MIB);
            let shape = memory.shape();
            assert_eq!((shape.capacity(), shape.space(), shape.tokens), (capacity, space, 4), "seed {seed}");
            assert!(shape.reserve > 0, "the result has the newest format");
            assert!(memory.next_token() >= next, "tokens are never reused");
            // What was not synced is gone, as after any close.
            calls.state = calls.synced.clone();
            verify(&mut memory, &calls.state).unwrap_or_else(|error| panic!("seed {seed}, part {part}: {error}"));
            // Verifying rolled back to the oldest token.
            memory.into_device();
            memory = open(&place.0);
            calls.synced.snapshots.truncate(1);
            if let [(_, _, pages)] = &calls.synced.snapshots[..] {
                calls.synced.now.clone_from(pages);
            }
            calls.state = calls.synced.clone();
        }
    }
}

#[test]
fn growth_keeps_permissions_names_and_temporary_pages_as_opening_does() {
    let place = TempFile::new("grow-permissions");
    let mut memory = create(&place.0, false);
    let page = memory.shape().page_bytes();
    let at = memory.alloc(3 * page, false).expect("enough space");
    memory.name("first page", at, page).expect("a new name");
    memory.write(at, &vec![7; 3 * page as usize]).expect("written");
    let may = |read, write| Permissions { read, write, permanent: true, ..Permissions::PRIVATE };
    memory.set_permissions(at, page, may(true, false)).expect("allocated");
    memory.set_permissions(at + page, page, may(false, true)).expect("allocated");
    let first = memory.sync(Some("first")).expect("synced");
    memory.set_permissions(at, page, may(true, true)).expect("allocated");
    memory.write(at, &[8]).expect("writable");
    memory.set_permissions(at, page, may(true, false)).expect("allocated");
    let temporary = memory.alloc(page, true).expect("enough space");
    memory.write(temporary, &[9]).expect("written");
    memory.flush().expect("synced");
    memory.close().expect("closed");
    grow(&place.0, Some(16 * MIB), None).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = open(&place.0);
    assert_eq!(memory.find("first page").expect("named"), (at, page));
    assert_eq!(memory.token("first").expect("live"), first);
    for (state, byte) in [("now", 8), ("first", 7)] {
        let mut found = [0];
        memory.read(at, &mut found).expect("readable");
        assert_eq!(found, [byte], "{state}");
        assert!(matches!(memory.write(at, &[1]), Err(Error::NotPermitted { .. })), "{state}");
        assert!(matches!(memory.read(at + page, &mut found), Err(Error::NotPermitted { .. })), "{state}");
        memory.read(at + 2 * page, &mut found).expect("readable");
        assert_eq!(found, [7], "{state}");
        assert!(matches!(memory.read(temporary, &mut found), Err(Error::NotAllocated { .. })), "{state}");
        memory.rollback(first).expect("live");
    }
    memory.set_permissions(at + page, page, may(true, true)).expect("allocated");
    let mut found = [0];
    memory.read(at + page, &mut found).expect("readable now");
    assert_eq!(found, [7]);
    memory.alloc(10 * MIB, false).expect("the capacity has grown");
}

#[test]
fn mistakes_leave_the_memory_unchanged_and_readers_find_the_new_file() {
    let place = TempFile::new("grow-mistakes");
    let mut memory = create(&place.0, false);
    let at = memory.alloc(8, false).expect("enough space");
    memory.write(at, b"grown up").expect("written");
    memory.flush().expect("synced");
    let name = place.name();
    let locked = format!("{name}: the memory is already open for writing, and only one writer is allowed");
    let refused = |capacity, space| message(grow(&place.0, capacity, space));
    // The test's file has no lock of its own.
    memory.close().expect("closed");
    let held = open(&place.0);
    assert_eq!(refused(Some(8 * MIB), None), locked);
    held.close().expect("closed");
    assert_eq!(
        refused(Some(MIB), None),
        format!("{name}: capacity is 1048576 bytes, expected at least the present one, 4194304")
    );
    assert_eq!(
        refused(None, Some(4 * MIB)),
        format!("{name}: space is 4194304 bytes, expected at least the present one, 8388608")
    );
    let same = format!("{name}: the memory has this capacity and space already");
    assert_eq!(refused(None, None), same);
    assert_eq!(refused(Some(4 * MIB), Some(8 * MIB)), same);
    let mut reader = Reader::open(&place.0, MIB).unwrap_or_else(|error| panic!("{error}"));
    grow(&place.0, None, Some(9 * MIB)).unwrap_or_else(|error| panic!("{error}"));
    let mut found = [0; 8];
    assert!(matches!(reader.read(at, &mut found), Err(Error::Stale { .. })));
    reader.refresh().unwrap_or_else(|error| panic!("{error}"));
    reader.read(at, &mut found).expect("synced");
    assert_eq!(&found, b"grown up");
    assert_eq!(reader.shape().space(), 9 * MIB);
}

/// The part of [`a_killed_growth_leaves_the_old_memory`] that is killed.
#[test]
fn child_grows_without_end() {
    let Ok(path) = std::env::var("GROW_FILE") else { return };
    let path = Path::new(&path);
    loop {
        let shape = open(path).shape();
        grow(path, Some(shape.capacity()), Some(shape.space() + MIB)).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_killed_growth_leaves_the_old_memory() {
    let place = TempFile::new("grow-killed");
    let mut memory = create(&place.0, true);
    let mut calls = Calls::new(7);
    for _ in 0..200 {
        calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).unwrap_or_else(|error| panic!("{error}"));
    }
    memory.close().expect("closed");
    let mut rng = Streams::new(3).stream("test.kills");
    let (mut killed, mut grown) = (0, 0);
    let began = Instant::now();
    grow(&place.0, None, Some(9 * MIB)).unwrap_or_else(|error| panic!("{error}"));
    let duration = began.elapsed().as_micros() as u64;
    let mut before = 9 * MIB;
    for _ in 0..20 {
        let mut child = Command::new(std::env::current_exe().expect("this test"));
        child.args(["--exact", "child_grows_without_end", "--nocapture"]).env("GROW_FILE", &place.0);
        let mut child = child.stdout(std::process::Stdio::null()).spawn().expect("a child");
        thread::sleep(Duration::from_micros(10_000 + rng.below(3 * duration)));
        child.kill().expect("it runs");
        killed += u32::from(child.wait().expect("it ended").signal() == Some(9));
        let mut memory = open(&place.0);
        let space = memory.shape().space();
        grown += u32::from(space > before);
        before = space;
        verify(&mut memory, &calls.synced).unwrap_or_else(|error| panic!("{error}"));
        // Verifying rolled back; nothing of that is kept.
        calls.synced.snapshots.truncate(1);
        if let [(_, _, pages)] = &calls.synced.snapshots[..] {
            calls.synced.now.clone_from(pages);
        }
    }
    assert!(killed == 20 && grown > 0, "{killed} killed, {grown} grown");
}

/// An opener that waited for the lock of the old file must not write to it, since that file is gone.
#[test]
fn writers_that_wait_meanwhile_lose_nothing() {
    let place = TempFile::new("grow-race");
    let mut memory = create(&place.0, false);
    let at = memory.alloc(8, false).expect("enough space");
    memory.flush().expect("synced");
    memory.close().expect("closed");
    let (over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let Ok(mut memory) = Memory::open(&place.0, &Options { dram: 2 * MIB, ..Options::default() }) else {
                    continue;
                };
                let mut found = [0; 8];
                memory.read(at, &mut found).expect("read");
                assert_eq!(u64::from_le_bytes(found), count.load(Ordering::Relaxed), "a write is lost");
                let next = count.fetch_add(1, Ordering::Relaxed) + 1;
                memory.write(at, &next.to_le_bytes()).expect("written");
                memory.flush().expect("synced");
                memory.close().expect("closed");
            }
        });
        let mut grown = 0;
        while (grown < 10 || count.load(Ordering::Relaxed) < 10) && !writer.is_finished() {
            match grow(&place.0, None, Some((9 + grown) * MIB)) {
                Ok(()) => grown += 1,
                Err(Error::Locked { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        over.store(true, Ordering::Relaxed);
        writer.join().expect("no write is lost");
    });
}
