//! The layout of the region, the accesses of each step, and the validation of untrusted entries.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use shared_buffer::{
    Access, AccessLog, Command, Config, Counts, DeviceQueue, DeviceQueues, Extent, Extents, HostQueue, Identity,
    Layout, LayoutError, Opcode, Region, SECTOR, Status,
};
use sim::Streams;

const CONFIG: Config = Config { queue_pairs: 2, sq_entries: 8, cq_entries: 16, extents_max: 1, db_sectors: 64 };

fn formatted(config: Config) -> (Layout, Vec<Cell<u64>>) {
    let layout = Layout::new(config).unwrap();
    let region = vec![Cell::new(0x5a5a_5a5a_5a5a_5a5a); layout.words()];
    layout.format(region.as_slice());
    (layout, region)
}

#[test]
fn nothing_overlaps_and_sides_write_different_lines() {
    for extents_max in 1..=6 {
        let layout = Layout::new(Config { extents_max, ..CONFIG }).unwrap();
        let mut seen = BTreeSet::from([0, 1, 2, 3]);
        let mut lines = [BTreeSet::new(), BTreeSet::new()];
        for queue in 0..CONFIG.queue_pairs {
            let entries = (0..CONFIG.sq_entries).flat_map(|index| {
                let entry = layout.sq_entry(queue, index);
                entry..entry + layout.sq_entry_words()
            });
            let host: Vec<_> = entries.chain([layout.doorbell(queue), layout.cq_head(queue)]).collect();
            let posted = (0..CONFIG.cq_entries).map(|index| layout.cq_entry(queue, index));
            let device: Vec<_> = posted.chain([layout.status(queue)]).collect();
            for (side, words) in [host, device].into_iter().enumerate() {
                lines[side].extend(words.iter().map(|word| word / 8));
                assert!(words.into_iter().all(|word| seen.insert(word)), "two fields share a word");
            }
        }
        assert!(lines[0].is_disjoint(&lines[1]), "both sides write to one line");
        assert!(seen.into_iter().all(|word| word < layout.db_sector(0)));
        assert_eq!(layout.db_sector(0) % 512, 0, "the data buffer starts at a page");
        assert_eq!(layout.db_sector(64), layout.words());
        assert_eq!(layout.sq_entry(1, 8), layout.sq_entry(1, 0), "indices wrap");
        assert_eq!(layout.cq_entry(1, 17), layout.cq_entry(1, 1));
    }
}

#[test]
fn sizes_out_of_range_are_rejected() {
    let rows = [
        (
            Config { sq_entries: 12, ..CONFIG },
            "submission queue of 12 entries: expected a power of two from 1 to 32768",
        ),
        (Config { cq_entries: 0, ..CONFIG }, "completion queue of 0 entries: expected a power of two from 1 to 32768"),
        (
            Config { cq_entries: 65536, ..CONFIG },
            "completion queue of 65536 entries: expected a power of two from 1 to 32768",
        ),
        (Config { queue_pairs: 0, ..CONFIG }, "0 queue pairs: expected 1 to 256"),
        (Config { extents_max: 7, ..CONFIG }, "7 extents per entry: expected 1 to 6"),
        (Config { db_sectors: 0, ..CONFIG }, "data buffer of 0 sectors: expected 1 to 16777216"),
    ];
    for (config, message) in rows {
        assert_eq!(Layout::new(config).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_header_contains_the_layout() {
    let (layout, region) = formatted(CONFIG);
    assert_eq!(Layout::read(region.as_slice()), Ok(layout));
    let needed = layout.bytes();
    let short = Layout::read(&region[..layout.words() - 1]);
    assert_eq!(short, Err(LayoutError::TooSmall { found: needed - 8, needed }));
    assert_eq!(Layout::read(&region[..4]), Err(LayoutError::NoHeader));
    region[0].set(region[0].get() ^ 1);
    assert_eq!(Layout::read(region.as_slice()).unwrap_err().to_string(), "no shared-buffer header of version 1");
    // A header with invalid sizes is an error.
    for seed in 0..1000 {
        let mut rng = Streams::new(seed).stream("header");
        layout.format(region.as_slice());
        region[1 + rng.below(3) as usize].set(rng.bits());
        assert!(Layout::read(region.as_slice()).is_err());
    }
}

fn store(word: usize, order: std::sync::atomic::Ordering) -> Access {
    Access { store: true, offset: word * 8, bytes: 8, order }
}

fn load(word: usize, order: std::sync::atomic::Ordering) -> Access {
    Access { store: false, ..store(word, order) }
}

/// Lists the accesses of one write of 4 KiB, as they are charged to a bus.
#[test]
fn each_step_accesses_the_expected_words() {
    let (layout, region) = formatted(CONFIG);
    let region = region.as_slice();
    let mut log = AccessLog::new();
    let mut host = HostQueue::new(&layout, 1);
    let mut device = DeviceQueue::new(&layout, 1);
    let command = Command::new(Opcode::Write, 1234, 8, Extents::one(16, 8));

    log.over(region).write(layout.db_sector(16), &[1; 8 * SECTOR]);
    let copied = Access { store: true, offset: layout.db_sector(16) * 8, bytes: 4096, order: Relaxed };
    assert_eq!(log.accesses(), [copied]);
    log.clear();

    host.submit(&log.over(region), &command, 7).unwrap();
    host.ring(&log.over(region));
    let entry = layout.sq_entry(1, 0);
    let written = [store(entry + 1, Relaxed), store(entry + 2, Relaxed), store(entry, Release)];
    assert_eq!(log.accesses()[..3], written);
    assert_eq!(log.accesses()[3..], [store(layout.doorbell(1), Release)]);
    log.clear();

    assert_eq!(device.announced(&log.over(region)), 1);
    let fetched = device.fetch(&log.over(region)).unwrap();
    assert_eq!(fetched.command, Ok(command));
    let read =
        [load(layout.doorbell(1), Acquire), load(entry, Acquire), load(entry + 2, Relaxed), load(entry + 1, Relaxed)];
    assert_eq!(log.accesses(), read);
    log.clear();

    device.post(&log.over(region), fetched.id, Status::Success);
    assert!(device.notify(&log.over(region)) && !device.notify(&log.over(region)));
    assert_eq!(log.accesses(), [store(layout.cq_entry(1, 0), Release), store(layout.status(1), Release)]);
    assert!(device.is_pending(region));
    log.clear();

    assert_eq!(host.announced(&log.over(region)), 1);
    let completion = host.take(&log.over(region)).unwrap().unwrap();
    assert_eq!((completion.token, completion.status), (7, Status::Success));
    assert!(host.acknowledge(&log.over(region)) && !host.acknowledge(&log.over(region)));
    let taken =
        [load(layout.status(1), Acquire), load(layout.cq_entry(1, 0), Acquire), store(layout.cq_head(1), Relaxed)];
    assert_eq!(log.accesses(), taken);
    assert_eq!(log.counts(), Counts { loads: 2, stores: 1, load_bytes: 16, store_bytes: 8 });
    assert!(!device.is_pending(region));
}

#[test]
fn a_device_identifies_itself() {
    let (layout, region) = formatted(CONFIG);
    let region = region.as_slice();
    let (mut host, mut device) = (HostQueue::new(&layout, 0), DeviceQueue::new(&layout, 0));
    let identity = Identity::new(62_500_000, &Opcode::ALL, 256, false);
    host.submit(region, &Command::new(Opcode::Identify, 0, 1, Extents::one(3, 1)), 0).unwrap();
    let fetched = device.fetch(region).unwrap();
    let at = layout.db_sector(fetched.command.unwrap().extents.as_slice()[0].index);
    region.write(at, &identity.encode());
    device.post(region, fetched.id, Status::Success);
    assert!(host.take(region).unwrap().is_some());
    let mut sector = [0; SECTOR];
    region.read(layout.db_sector(3), &mut sector);
    assert_eq!(Identity::decode(&sector), identity);
}

/// A full submission queue rejects commands; a full completion queue makes the device wait, and nothing is lost.
#[test]
fn full_queues_wait() {
    let (layout, region) = formatted(Config { sq_entries: 8, cq_entries: 2, ..CONFIG });
    let region = region.as_slice();
    let (mut host, mut device) = (HostQueue::new(&layout, 0), DeviceQueue::new(&layout, 0));
    let flush = Command::new(Opcode::Flush, 0, 0, Extents::NONE);
    for token in 0..8 {
        host.submit(region, &flush, token).unwrap();
    }
    assert!(host.submit(region, &flush, 8).is_err());
    let mut tokens = Vec::new();
    while tokens.len() < 8 {
        let ids: Vec<_> = std::iter::from_fn(|| device.fetch(region)).map(|fetched| fetched.id).collect();
        assert_eq!(ids.len(), 2, "limited by the completion queue");
        for id in ids {
            device.post(region, id, Status::Success);
        }
        assert!(device.fetch(region).is_none(), "no completion has been taken");
        tokens.extend(std::iter::from_fn(|| host.take(region).unwrap()).map(|completion| completion.token));
        assert!(device.fetch(region).is_none(), "no completion has been acknowledged");
        host.acknowledge(region);
    }
    assert_eq!(tokens, (0..8).collect::<Vec<_>>());
}

/// A pair whose host submits continuously does not starve the others.
#[test]
fn queue_pairs_are_served_in_turn() {
    let (layout, region) = formatted(Config { queue_pairs: 3, ..CONFIG });
    let region = region.as_slice();
    let mut hosts: Vec<_> = (0..3).map(|queue| HostQueue::new(&layout, queue)).collect();
    let mut queues = DeviceQueues::new(&layout);
    for (queue, commands) in [4, 1, 3].into_iter().enumerate() {
        for token in 0..commands {
            hosts[queue].submit(region, &Command::new(Opcode::Flush, 0, 0, Extents::NONE), token).unwrap();
        }
    }
    let order: Vec<_> = std::iter::from_fn(|| queues.fetch(region)).map(|(queue, _)| queue).collect();
    assert_eq!(order, [0, 1, 2, 0, 2, 0, 2, 0]);
}

/// The device handles arbitrary entries, valid or not, without accessing anything outside the data buffer.
#[test]
fn a_device_validates_every_entry() {
    let (layout, region) = formatted(Config { extents_max: 3, ..CONFIG });
    let region = region.as_slice();
    let mut answers = BTreeSet::new();
    let mut rng = Streams::new(3).stream("hostile");
    let mut queues = DeviceQueues::new(&layout);
    let (mut good, mut posted) = (0, [0; 2]);
    for _ in 0..300_000 {
        let queue = rng.below(2) as u16;
        let entry = layout.sq_entry(queue, rng.below(8) as u32);
        match rng.below(4) {
            0 => region.store(layout.cq_head(queue), posted[usize::from(queue)], Relaxed),
            1 => {
                let word = layout.doorbell(0) + rng.below((layout.db_sector(0) - layout.doorbell(0)) as u64) as usize;
                region.store(word, rng.bits() >> rng.below(64), Relaxed);
            }
            // Almost valid entries.
            _ => {
                let extents = rng.below(5);
                let (opcode, sectors, phase) = (rng.below(7), rng.below(4), rng.below(2));
                for extent in 0..extents.min(3) as usize {
                    region.store(entry + 2 + extent, rng.below(66) | rng.below(3) << 32, Relaxed);
                }
                region.store(entry, opcode << 16 | extents << 24 | phase << 31 | sectors << 32, Relaxed);
            }
        }
        if let Some((queue, fetched)) = queues.fetch(region) {
            if let Ok(command) = fetched.command {
                let inside = |extent: &Extent| extent.index + extent.sectors <= CONFIG.db_sectors;
                assert!(command.extents.as_slice().iter().all(inside));
                good += 1;
            }
            answers.extend(fetched.command.err().map(|status| status as u8));
            posted[usize::from(queue)] += 1;
            queues.pair(queue).post(region, fetched.id, fetched.command.err().unwrap_or(Status::Success));
        }
    }
    assert_eq!(answers, BTreeSet::from([Status::InvalidOpcode as u8, Status::InvalidField as u8]));
    assert!(good > 500, "{good} entries were good");
}

/// The host takes arbitrary completions if they are due, and reports a fault otherwise.
#[test]
fn a_host_validates_every_completion() {
    let (mut taken, mut faults) = (0, 0);
    for seed in 0..3_000 {
        let (layout, region) = formatted(CONFIG);
        let region = region.as_slice();
        let mut rng = Streams::new(seed).stream("hostile");
        let mut host = HostQueue::new(&layout, 0);
        for token in 0..rng.below(9) as u32 {
            host.submit(region, &Command::new(Opcode::Flush, 0, 0, Extents::NONE), token).unwrap();
        }
        let outstanding = host.outstanding();
        for index in 0..CONFIG.cq_entries {
            let word = rng.below(9) | rng.below(7) << 16 | 1 << 31;
            region.store(layout.cq_entry(0, index), word, Relaxed);
        }
        let mut tokens = BTreeSet::new();
        loop {
            match host.take(region) {
                Ok(Some(completion)) => assert!(tokens.insert(completion.token), "a command completes once"),
                Ok(None) => panic!("every entry is written"),
                Err(fault) => {
                    assert_eq!(fault.queue, 0);
                    assert_eq!(host.take(region), Err(fault), "the fault persists");
                    faults += 1;
                    break;
                }
            }
        }
        taken += tokens.len();
        assert_eq!(host.outstanding(), outstanding - tokens.len() as u32);
    }
    assert!(taken > 1_000 && faults == 3_000, "{taken} taken, {faults} faults");
}

/// Exercises the arithmetic of a ring after many passes.
#[test]
fn indices_wrap() {
    let (layout, region) = formatted(Config { sq_entries: 1, cq_entries: 4, ..CONFIG });
    let region = region.as_slice();
    let (mut host, mut device) = (HostQueue::new(&layout, 0), DeviceQueue::new(&layout, 0));
    for round in 0..70_000 {
        host.submit(region, &Command::new(Opcode::Trim, u64::from(round), 1, Extents::NONE), round).unwrap();
        host.ring(region);
        assert_eq!(device.announced(region), 1);
        let fetched = device.fetch(region).unwrap();
        assert!(device.fetch(region).is_none());
        assert_eq!(fetched.command.unwrap().start, u64::from(round));
        device.post(region, fetched.id, Status::Success);
        device.notify(region);
        assert_eq!(host.announced(region), 1);
        assert_eq!(host.take(region).unwrap().unwrap().token, round);
        assert_eq!(host.take(region), Ok(None));
        host.acknowledge(region);
    }
}
