//! Full disks and failing devices: the errors, the data that stays readable, and the state afterwards.

mod support;

use memory::device::Op;
use memory::{Error, Memory};
use sim::Streams;
use support::histories::{Calls, DRAM, shape, verify};
use support::model::compare;
use support::recorder::Recorder;

fn create(seed: u64) -> Memory<Recorder> {
    let image = vec![0; shape().file_bytes() as usize];
    Memory::create_on(Recorder::new(image, seed), shape(), DRAM, "a disk").expect("created")
}

/// Reopens the memory as a crash at this moment would leave it.
fn reopened(memory: Memory<Recorder>, seed: u64) -> Memory<Recorder> {
    let recorder = memory.into_device();
    let mut rng = Streams::new(seed).stream("test.faults");
    let image = recorder.crashed(recorder.events.len(), &mut rng);
    Memory::open_on(Recorder::new(image, seed), shape(), DRAM, "after a crash").expect("opened")
}

#[test]
fn a_full_disk_is_reported_and_sync_succeeds_once_there_is_space() {
    let mut rng = Streams::new(9).stream("test.full");
    let mut reported = 0;
    for seed in 0..60 {
        let mut memory = create(seed);
        let mut calls = Calls::new(seed);
        for _ in 0..40 {
            calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("enough space");
        }
        let page = memory.shape().page_bytes();
        memory.device_mut().room = Some(rng.below(40) * 1024);
        let address = match memory.alloc(page, false) {
            Ok(address) => address,
            Err(Error::NoPages { .. }) => continue,
            Err(other) => panic!("{other}"),
        };
        let bytes = vec![seed as u8; page as usize];
        memory.write(address, &bytes).expect("it stays in DRAM");
        let kept = calls.state.snapshots.len();
        if kept == 4 {
            continue;
        }
        let full = match memory.sync(None) {
            Err(full @ Error::DiskFull { .. }) => full.to_string(),
            Ok(_) => continue,
            Err(other) => panic!("{other}"),
        };
        assert!(full.starts_with("a disk: the file system is full: "), "{full}");
        assert!(full.ends_with("; make room and try again"), "{full}");
        reported += 1;
        calls.state.now.insert(address, bytes);
        // Cached and durable data stays readable, another sync fails the same way, and once there is space it succeeds.
        assert!(matches!(memory.sync(None), Err(Error::DiskFull { .. })));
        let mut found = vec![0; page as usize];
        memory.read(address, &mut found).expect("it is in DRAM");
        assert_eq!(found, calls.state.now[&address]);
        memory.device_mut().room = None;
        let token = memory.sync(None).expect("enough space");
        compare(&mut memory, &calls.state.now).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        calls.state.snapshots.push((token, None, calls.state.now.clone()));
        let mut memory = reopened(memory, seed);
        verify(&mut memory, &calls.state).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(reported > 10, "{reported}");
}

/// Whatever a full disk stops, everything that was written can be read: from DRAM, or from the file.
#[test]
fn reads_never_fail_for_want_of_disk() {
    let mut rng = Streams::new(11).stream("test.full");
    let (mut refused, mut from_file) = (0, 0);
    for seed in 0..60 {
        let mut memory = create(seed);
        let mut calls = Calls::new(seed);
        for _ in 0..120 {
            calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("enough space");
        }
        memory.device_mut().room = Some(rng.below(60) * 1024);
        let page = memory.shape().page_bytes();
        let mut unknown = std::collections::BTreeSet::new();
        for round in 0..120 {
            let count = calls.state.now.len() as u64;
            let Some(address) =
                (count > 0).then(|| *calls.state.now.keys().nth(rng.below(count) as usize).expect("one"))
            else {
                break;
            };
            let from = rng.below(page);
            let bytes = vec![round; (1 + rng.below(page - from)) as usize];
            match memory.write(address + from, &bytes) {
                Ok(()) => {
                    let content = calls.state.now.get_mut(&address).expect("allocated");
                    content[from as usize..][..bytes.len()].copy_from_slice(&bytes);
                }
                // A prefix may have been written.
                Err(Error::DiskFull { .. } | Error::Full(_)) => drop((unknown.insert(address), refused += 1)),
                Err(error) => panic!("seed {seed}: {error}"),
            }
            if rng.chance(0.1) && matches!(memory.sync(None), Err(Error::DiskFull { .. })) {
                refused += 1;
            }
            let before = memory.stats().misses;
            for (address, expected) in &calls.state.now {
                let mut found = vec![0; page as usize];
                memory.read(*address, &mut found).unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
                assert!(unknown.contains(address) || found == *expected, "seed {seed}, round {round}, {address:#x}");
            }
            from_file += memory.stats().misses - before;
        }
    }
    assert!(refused > 1000 && from_file > 10_000, "{refused} refused, {from_file} segments read");
}

#[test]
fn a_failed_flush_breaks_the_memory_and_keeps_the_last_sync() {
    let mut memory = create(1);
    let at = memory.alloc(10, false).expect("enough space");
    memory.write(at, b"first").expect("written");
    memory.sync(None).expect("synced");
    memory.write(at, b"other").expect("written");
    memory.device_mut().failing = Some((Op::Flush, 0));
    let message = memory.sync(None).expect_err("it fails").to_string();
    let expected = "a disk: the file could not be flushed: Input/output error (os error 5): \
                    unsynced data is lost; reopen the memory";
    assert_eq!(message, expected);
    assert_eq!(memory.sync(None).expect_err("it stays so").to_string(), expected);
    let mut memory = reopened(memory, 1);
    let mut found = [0; 5];
    memory.read(at, &mut found).expect("read");
    assert_eq!(&found, b"first");
}

/// A page whose write fails is written elsewhere; an unreadable page is reported, and can be read again later.
#[test]
fn single_failed_pages_are_replaced_or_reported() {
    let mut elsewhere = 0;
    for before in 0..30 {
        let mut memory = create(before);
        let at = memory.alloc(40_000, false).expect("enough space");
        let bytes: Vec<u8> = (0..40_000u32).map(|n| (n % 241) as u8).collect();
        memory.write(at, &bytes).expect("written");
        memory.device_mut().failing = Some((Op::Write, before));
        match memory.sync(None) {
            Ok(_) => elsewhere += 1,
            // A row of checksums cannot move elsewhere.
            Err(error) => {
                assert!(error.to_string().contains("checksums could not be written"), "{error}");
                continue;
            }
        }
        let mut memory = reopened(memory, before);
        let mut found = vec![0; bytes.len()];
        memory.device_mut().failing = Some((Op::Read, before % 7));
        if let Err(error) = memory.read(at, &mut found) {
            let message = error.to_string();
            assert!(matches!(error, Error::Unreadable { .. } | Error::TableUnreadable { .. }), "{message}");
            assert!(message.contains("Input/output error"), "{message}");
            if matches!(error, Error::TableUnreadable { .. }) {
                continue;
            }
            memory.read(at, &mut found).expect("the fault is gone");
        }
        assert!(found == bytes);
    }
    assert!(elsewhere > 20, "{elsewhere}");
}

/// Checksum rows are loaded together, but an unreadable row affects only the data in its block.
#[test]
fn an_unreadable_checksum_row_affects_only_its_block() {
    let mut memory = create(3);
    let page = memory.shape().page_bytes();
    let pages = memory.shape().capacity() / page / 2;
    let at = memory.alloc(pages * page, false).expect("enough space");
    memory.write(at, &vec![7; (pages * page) as usize]).expect("written");
    memory.sync(None).expect("synced");
    let image = memory.into_device().image;
    let segments = pages * u64::from(shape().segments);
    let mut lost = 0;
    for block in 0..shape().blocks {
        let mut recorder = Recorder::new(image.clone(), 3);
        recorder.bad = shape().row(block)..shape().row(block) + 1;
        let mut memory =
            Memory::open_on(recorder, shape(), DRAM, "a disk").expect("the controller's state is mirrored");
        let (found, _) = memory.verify().expect("the table is mirrored");
        assert!(found.len() <= shape().block_segments as usize, "block {block}: {}", found.len());
        for error in &found {
            assert!(error.to_string().contains("its checksum cannot be read: Input/output error"), "{error}");
        }
        lost += found.len() as u64;
    }
    // The catalog's page has data too.
    assert!((segments..=segments + u64::from(shape().segments)).contains(&lost), "{lost} of {segments}");
}
