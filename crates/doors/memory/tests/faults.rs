//! A disk that is full, a device that fails: what is told, what stays readable, what is there afterwards.

mod support;

use memory::device::Op;
use memory::{Error, Memory};
use sim::Streams;
use support::histories::{Calls, DRAM, shape, verify};
use support::obvious::compare;
use support::recorder::Recorder;

fn made(seed: u64) -> Memory<Recorder> {
    let image = vec![0; shape().file_bytes() as usize];
    Memory::create_on(Recorder::new(image, seed), shape(), DRAM, "a disk").expect("it is made")
}

/// What a crash now leaves.
fn reopened(memory: Memory<Recorder>, seed: u64) -> Memory<Recorder> {
    let recorder = memory.into_device();
    let mut rng = Streams::new(seed).stream("test.faults");
    let image = recorder.crashed(recorder.events.len(), &mut rng);
    Memory::open_on(Recorder::new(image, seed), shape(), DRAM, "what is left").expect("it opens")
}

#[test]
fn a_full_disk_is_told_what_is_there_stays_readable_and_with_room_it_goes_on() {
    let mut rng = Streams::new(9).stream("test.full");
    let mut told = 0;
    for seed in 0..60 {
        let mut memory = made(seed);
        let mut calls = Calls::new(seed);
        for _ in 0..40 {
            calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("there is room");
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
        let kept = calls.state.kept.len();
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
        told += 1;
        calls.state.now.insert(address, bytes);
        // What is in DRAM or durable is read; again it is told; with room it goes on.
        assert!(matches!(memory.sync(None), Err(Error::DiskFull { .. })));
        let mut found = vec![0; page as usize];
        memory.read(address, &mut found).expect("it is in DRAM");
        assert_eq!(found, calls.state.now[&address]);
        memory.device_mut().room = None;
        let token = memory.sync(None).expect("there is room");
        compare(&mut memory, &calls.state.now).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        calls.state.kept.push((token, None, calls.state.now.clone()));
        let mut memory = reopened(memory, seed);
        verify(&mut memory, &calls.state).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(told > 10, "{told}");
}

#[test]
fn a_flush_that_fails_ends_it_and_the_last_sync_is_there() {
    let mut memory = made(1);
    let at = memory.alloc(10, false).expect("room");
    memory.write(at, b"first").expect("written");
    memory.sync(None).expect("synced");
    memory.write(at, b"other").expect("written");
    memory.device_mut().failing = Some((Op::Flush, 0));
    let words = memory.sync(None).expect_err("it fails").to_string();
    let expected = "a disk: the file could not be flushed: Input/output error (os error 5): \
                    what was not synced is lost; open the memory again";
    assert_eq!(words, expected);
    assert_eq!(memory.sync(None).expect_err("it stays so").to_string(), expected);
    let mut memory = reopened(memory, 1);
    let mut found = [0; 5];
    memory.read(at, &mut found).expect("read");
    assert_eq!(&found, b"first");
}

/// A page that cannot be written is written elsewhere; one that cannot be read is named, and may be read again.
#[test]
fn single_pages_that_fail_are_gone_around() {
    let mut elsewhere = 0;
    for before in 0..30 {
        let mut memory = made(before);
        let at = memory.alloc(40_000, false).expect("room");
        let bytes: Vec<u8> = (0..40_000u32).map(|n| (n % 241) as u8).collect();
        memory.write(at, &bytes).expect("written");
        memory.device_mut().failing = Some((Op::Write, before));
        match memory.sync(None) {
            Ok(_) => elsewhere += 1,
            // A row of checksums has one place.
            Err(error) => {
                assert!(error.to_string().contains("checksums could not be written"), "{error}");
                continue;
            }
        }
        let mut memory = reopened(memory, before);
        let mut found = vec![0; bytes.len()];
        memory.device_mut().failing = Some((Op::Read, before % 7));
        if let Err(error) = memory.read(at, &mut found) {
            let words = error.to_string();
            assert!(matches!(error, Error::Unreadable { .. } | Error::TableUnreadable { .. }), "{words}");
            assert!(words.contains("Input/output error"), "{words}");
            if matches!(error, Error::TableUnreadable { .. }) {
                continue;
            }
            memory.read(at, &mut found).expect("this time it can");
        }
        assert!(found == bytes);
    }
    assert!(elsewhere > 20, "{elsewhere}");
}

/// Rows of checksums are read together; one that cannot be read takes with it what lies in its block, and nothing else.
#[test]
fn a_row_of_checksums_that_cannot_be_read_loses_its_block_alone() {
    let mut memory = made(3);
    let page = memory.shape().page_bytes();
    let pages = memory.shape().capacity() / page / 2;
    let at = memory.alloc(pages * page, false).expect("room");
    memory.write(at, &vec![7; (pages * page) as usize]).expect("written");
    memory.sync(None).expect("synced");
    let image = memory.into_device().image;
    let segments = pages * u64::from(shape().segments);
    let mut lost = 0;
    for block in 0..shape().blocks {
        let mut recorder = Recorder::new(image.clone(), 3);
        recorder.bad = shape().row(block)..shape().row(block) + 1;
        let mut memory = Memory::open_on(recorder, shape(), DRAM, "a disk").expect("its own state is there twice");
        let (found, _) = memory.verify().expect("the table is there");
        assert!(found.len() <= shape().block_segments as usize, "block {block}: {}", found.len());
        for error in &found {
            assert!(error.to_string().contains("its checksum cannot be read: Input/output error"), "{error}");
        }
        lost += found.len() as u64;
    }
    // The catalog's page has something too.
    assert!((segments..=segments + u64::from(shape().segments)).contains(&lost), "{lost} of {segments}");
}
