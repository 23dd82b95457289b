//! The protocol in real memory, with a host and a device as threads of one process.

use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use shared_buffer::{
    Config, DeviceQueues, Driver, DriverConfig, HostQueue, IoRequest, Layout, Opcode, Region, SECTOR, Shortage,
    SplitCommand, Status,
};

const REQUESTS: u64 = 2_000;
const CAPACITY: usize = 256;

/// A side that finds no work for this long fails the test.
const PATIENCE: Duration = Duration::from_secs(20);

/// Yields, or fails if no work has been found since `since` for too long.
fn wait(since: Instant) {
    assert!(since.elapsed() < PATIENCE, "the other side is stuck");
    thread::yield_now();
}

/// Returns the content of sector `sector` as written by request `token`.
fn pattern(token: u64, sector: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    for (index, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = (token << 32 | sector << 8 | index as u64).to_le_bytes();
    }
    bytes
}

fn buffer_sectors(split: &SplitCommand) -> impl Iterator<Item = u32> {
    split.command.extents.as_slice().iter().flat_map(|extent| extent.index..extent.index + extent.sectors)
}

/// The host: each iteration writes a part of the storage and reads it back.
fn host(region: &[AtomicU64], polling: bool) {
    let mut since = Instant::now();
    let layout = loop {
        match Layout::read(region) {
            Ok(layout) => break layout,
            Err(_) => wait(since),
        }
    };
    let config = layout.config();
    let mut queues: Vec<_> = (0..config.queue_pairs).map(|queue| HostQueue::new(&layout, queue)).collect();
    let mut driver = Driver::new(DriverConfig {
        db_sectors: config.db_sectors,
        split_sectors: 5,
        extents_max: config.extents_max,
        shortage: Shortage::Wait,
        requests_max: 4,
        commands_max: 64,
    });
    let mut out = vec![None; 64];
    let mut turn = 0;
    for token in 1..=REQUESTS {
        for opcode in [Opcode::Write, Opcode::Read] {
            let start = token * 7 % (CAPACITY as u64 - 32);
            driver.request(IoRequest { opcode, fua: false, start, sectors: 1 + token % 32, token }).unwrap();
            let mut finished = false;
            while !finished {
                turn = (turn + 1) % queues.len();
                let queue = &mut queues[turn];
                while queue.room() > 0
                    && let Some(split) = driver.issue()
                {
                    if opcode == Opcode::Write {
                        for (sector, buffer) in (split.command.start..).zip(buffer_sectors(&split)) {
                            region.write(layout.db_sector(buffer), &pattern(token, sector));
                        }
                    }
                    queue.submit(region, &split.command, split.slot).unwrap();
                    out[split.slot as usize] = Some(split);
                }
                queue.ring(region);
                for queue in &mut queues {
                    if !polling && queue.announced(region) == 0 {
                        continue;
                    }
                    while let Some(completion) = queue.take(region).unwrap() {
                        since = Instant::now();
                        assert_eq!(completion.status, Status::Success);
                        let split = out[completion.token as usize].take().expect("a command completes once");
                        if opcode == Opcode::Read {
                            for (sector, buffer) in (split.command.start..).zip(buffer_sectors(&split)) {
                                let mut bytes = [0; SECTOR];
                                region.read(layout.db_sector(buffer), &mut bytes);
                                assert_eq!(bytes, pattern(token, sector));
                            }
                        }
                        finished |= driver.done(completion.token, completion.status).is_some();
                    }
                    queue.acknowledge(region);
                }
                wait(since);
            }
        }
    }
    // A flush ends the device's thread.
    let flush = IoRequest { opcode: Opcode::Flush, fua: false, start: 0, sectors: 0, token: 0 };
    driver.request(flush).unwrap();
    let split = driver.issue().unwrap();
    queues[0].submit(region, &split.command, split.slot).unwrap();
    queues[0].ring(region);
}

fn device(region: &[AtomicU64], layout: &Layout) {
    layout.format(region);
    let mut storage = vec![[0; SECTOR]; CAPACITY];
    let mut queues = DeviceQueues::new(layout);
    let mut since = Instant::now();
    loop {
        let Some((queue, fetched)) = queues.fetch(region) else {
            wait(since);
            continue;
        };
        since = Instant::now();
        let command = fetched.command.expect("the host writes valid commands");
        assert!(command.within(CAPACITY as u64));
        let buffer = command.extents.as_slice().iter().flat_map(|extent| extent.index..extent.index + extent.sectors);
        for (sector, buffer) in (command.start as usize..).zip(buffer) {
            match command.opcode {
                Opcode::Read => region.write(layout.db_sector(buffer), &storage[sector]),
                _ => region.read(layout.db_sector(buffer), &mut storage[sector]),
            }
        }
        queues.pair(queue).post(region, fetched.id, Status::Success);
        queues.pair(queue).notify(region);
        if command.opcode == Opcode::Flush {
            return;
        }
    }
}

#[test]
fn data_is_transferred_between_two_threads() {
    for polling in [true, false] {
        let config = Config { queue_pairs: 2, sq_entries: 4, cq_entries: 2, extents_max: 3, db_sectors: 24 };
        let layout = Layout::new(config).unwrap();
        let region: Vec<AtomicU64> = (0..layout.words()).map(|_| AtomicU64::new(0)).collect();
        thread::scope(|scope| {
            scope.spawn(|| device(&region, &layout));
            host(&region, polling);
        });
    }
}
