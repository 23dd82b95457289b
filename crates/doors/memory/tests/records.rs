//! Records of the newest commit: they tell damage from the effects of a crash, for every commit but the last one before
//! a crash.

mod support;

use memory::{Error, Memory};
use support::histories::{Calls, DRAM, shape};
use support::recorder::{Event, Recorder};

/// The offsets of the two records.
const RECORDS: [usize; 2] = [8192, 12288];

fn word(image: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(image[at..at + 8].try_into().expect("8 bytes"))
}

/// Returns the commit of the record at `at`: root and group.
fn recorded(image: &[u8], at: usize) -> (u64, u64) {
    (word(image, at + 8), word(image, at + 16))
}

/// Flips a bit in the checksum of each journal page of a commit, in both copies.
fn damage(image: &mut [u8], (root, group): (u64, u64)) {
    let shape = shape();
    let mut found = 0;
    for (block, page) in (0..shape.own_blocks()).flat_map(|block| (0..shape.block_segments).map(move |p| (block, p))) {
        let at = shape.page(block, page) as usize;
        let journal = image[at..].starts_with(b"nvmm\0\0\0\x01") && word(image, at + 8) == 3;
        if journal && (word(image, at + 16), word(image, at + 24)) == (root, group) {
            [block, block + shape.blocks]
                .iter()
                .for_each(|copy| image[shape.row(*copy) as usize + 8 * page as usize] ^= 1);
            found += 1;
        }
    }
    assert!(found > 0, "no journal page of commit {group} after root {root}");
}

/// Returns the names of the tokens in `image`, and the byte at `at`.
fn open(image: Vec<u8>, at: u64) -> Result<(Vec<String>, u8), Error> {
    let mut memory = Memory::open_on(Recorder::new(image, 1), shape(), DRAM, "FILE")?;
    let names = memory.tokens()?.into_iter().filter_map(|(_, name)| name).collect();
    let mut byte = [0];
    memory.read(at, &mut byte)?;
    Ok((names, byte[0]))
}

#[test]
fn a_damaged_commit_is_named_unless_a_crash_lost_its_record_too() {
    let image = vec![0; shape().file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, 1), shape(), DRAM, "FILE").expect("created");
    let at = memory.alloc(1, false).expect("enough space");
    for (byte, name) in [(1, "first"), (2, "second")] {
        memory.write(at, &[byte]).expect("written");
        memory.sync(Some(name)).expect("synced");
    }
    let closed = memory.close_device().expect("closed").image;
    let both = (vec!["first".to_owned(), "second".to_owned()], 2);
    assert_eq!(open(closed.clone(), at).expect("opened"), both);
    let newest = RECORDS.into_iter().max_by_key(|record| recorded(&closed, *record)).expect("two records");
    let (root, group) = recorded(&closed, newest);
    let mut crashed = closed.clone();
    crashed[newest..newest + 4096].fill(0);
    assert_eq!(open(crashed.clone(), at).expect("opened"), both);

    for lost in [group, group - 1] {
        let mut image = closed.clone();
        damage(&mut image, (root, lost));
        let error = open(image, at).expect_err("a durable commit is unreadable").to_string();
        let expected = format!("the newest readable commit is {} after root {root}, but {group} after root", lost - 1);
        assert!(error.contains(&expected), "{error}");
    }
    // After a crash right behind a sync, only the previous commit is known to be durable.
    let mut image = crashed.clone();
    damage(&mut image, (root, group - 1));
    assert!(matches!(open(image, at), Err(Error::Damaged { .. })));
    let mut image = crashed;
    damage(&mut image, (root, group));
    assert_eq!(open(image, at).expect("as after a crash during the sync"), (vec!["first".to_owned()], 1));
}

#[test]
fn every_barrier_waits_for_the_record_of_the_commit_before_it() {
    let image = vec![0; shape().file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, 2), shape(), DRAM, "FILE").expect("created");
    let mut calls = Calls::new(2);
    (0..300).for_each(|_| calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("succeeds"));
    let events = &memory.device().events;
    let is_record = |offset: u64| RECORDS.contains(&(offset as usize));
    let (mut records, mut flushes) = (0, 0);
    for event in events {
        let Event::Flushed { events: before } = event else { continue };
        let before = &events[..*before];
        let started =
            before.iter().filter(|event| matches!(event, Event::Started { offset, .. } if is_record(*offset)));
        records = started.clone().count();
        for record in started.rev().take(2) {
            let Event::Started { id: record, .. } = record else { unreachable!("filtered") };
            let ended = before.iter().rev().any(|event| matches!(event, Event::Ended { id } if id == record));
            assert!(ended, "flush {flushes} began before record {records} was written");
        }
        flushes += 1;
    }
    assert!(records > 20 && flushes > records, "{records} records, {flushes} flushes");
}

#[test]
fn a_closed_memory_records_its_newest_commit() {
    for seed in 0..50 {
        let image = vec![0; shape().file_bytes() as usize];
        let mut memory = Memory::create_on(Recorder::new(image, seed), shape(), DRAM, "FILE").expect("created");
        let mut calls = Calls::new(seed);
        (0..60).for_each(|_| calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("succeeds"));
        let image = memory.close_device().expect("closed").image;
        let newest = RECORDS.map(|record| recorded(&image, record)).into_iter().max().expect("two records");
        let shape = shape();
        let mut written = (0, 0);
        for block in 0..shape.own_blocks() {
            for page in 0..shape.block_segments {
                let at = shape.page(block, page) as usize;
                if image[at..].starts_with(b"nvmm\0\0\0\x01") && [1, 3].contains(&word(&image, at + 8)) {
                    let group = if word(&image, at + 8) == 3 { word(&image, at + 24) } else { 0 };
                    written = written.max((word(&image, at + 16), group));
                }
            }
        }
        assert_eq!(newest, written, "history {seed}");
    }
}

#[test]
fn the_first_record_after_opening_replaces_the_older_one() {
    let image = vec![0; shape().file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, 3), shape(), DRAM, "FILE").expect("created");
    // An odd number of commits, and an even one.
    for round in 0..4 {
        let token = memory.sync(None).expect("synced");
        if round % 2 == 1 {
            memory.drop_token(token).expect("live");
        }
        let image = memory.close_device().expect("closed").image;
        let newest = RECORDS.into_iter().max_by_key(|record| recorded(&image, *record)).expect("two records");
        memory = Memory::open_on(Recorder::new(image, round), shape(), DRAM, "FILE").expect("opened");
        let first = memory.device().events.iter().find_map(|event| match event {
            Event::Started { offset, .. } if RECORDS.contains(&(*offset as usize)) => Some(*offset as usize),
            _ => None,
        });
        assert!(first.is_some_and(|first| first != newest), "round {round}: {first:?} after {newest}");
    }
}
