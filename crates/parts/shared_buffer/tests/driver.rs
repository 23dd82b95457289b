//! Requests are split into commands that cover them exactly and in order, and each request finishes once.

mod common;

use std::collections::{BTreeMap, VecDeque};

use common::history_range;
use shared_buffer::{Driver, DriverConfig, EXTENTS_MAX, Extent, IoRequest, Opcode, Shortage, SplitCommand, Status};
use sim::Streams;

fn driver(db_sectors: u32, split_sectors: u32) -> Driver {
    Driver::new(DriverConfig {
        db_sectors,
        split_sectors,
        extents_max: 1,
        shortage: Shortage::Wait,
        requests_max: 8,
        commands_max: 32,
    })
}

fn read(sectors: u64, token: u64) -> IoRequest {
    IoRequest { opcode: Opcode::Read, fua: false, start: 1000 * token, sectors, token }
}

#[test]
fn a_request_is_split_by_the_split_size() {
    // 512 KiB split into 128 KiB: figure 5 of the paper.
    let mut driver = driver(1024, 256);
    assert_eq!(driver.commands(1024), 4);
    driver.request(read(1024, 3)).unwrap();
    let commands: Vec<SplitCommand> = std::iter::from_fn(|| driver.issue()).collect();
    let ranges: Vec<_> =
        commands.iter().map(|split| (split.first, split.command.start, split.command.sectors)).collect();
    assert_eq!(ranges, [(0, 3000, 256), (256, 3256, 256), (512, 3512, 256), (768, 3768, 256)]);
    for split in &commands[..3] {
        assert_eq!(driver.done(split.slot, Status::Success), None);
    }
    let finished = driver.done(commands[3].slot, Status::Success).unwrap();
    assert_eq!((finished.token, finished.status, finished.commands), (3, Status::Success, 4));
}

#[test]
fn a_command_never_exceeds_what_the_buffer_can_provide() {
    // A buffer of 100 sectors provides 64 in one run, and 64 + 32 in two.
    assert_eq!(driver(100, 1000).split_sectors(), 64);
    assert_eq!(driver(100, 1000).commands(129), 3);
    let mut driver = driver(100, 1000);
    driver.request(read(129, 0)).unwrap();
    let mut sectors = Vec::new();
    while let Some(split) = driver.issue() {
        sectors.push(split.command.sectors);
        driver.done(split.slot, Status::Success);
    }
    assert_eq!(sectors, [64, 64, 1]);

    let config = DriverConfig { extents_max: 2, ..*driver.config() };
    let mut driver = Driver::new(config);
    assert_eq!(driver.split_sectors(), 96);
    driver.request(read(96, 0)).unwrap();
    assert_eq!(driver.issue().unwrap().command.extents.len(), 2);
}

#[test]
fn a_large_request_is_not_overtaken() {
    let mut driver = driver(16, 16);
    driver.request(read(4, 0)).unwrap();
    driver.request(read(16, 1)).unwrap();
    let mut out = VecDeque::from([driver.issue().unwrap()]);
    assert!(driver.issue().is_none() && driver.is_waiting(), "4 of 16 sectors are in use");
    let mut order = Vec::new();
    for token in 2..100 {
        // A small request that would fit is always available.
        driver.request(read(4, token)).unwrap();
        out.extend(std::iter::from_fn(|| driver.issue()));
        let split = out.pop_front().unwrap();
        order.extend(driver.done(split.slot, Status::Success).map(|finished| finished.token));
    }
    assert_eq!(order, (0..98).collect::<Vec<_>>());
}

#[test]
fn shrunken_commands_use_what_is_free() {
    let config = DriverConfig { shortage: Shortage::Shrink { sectors_min: 4 }, ..*driver(16, 16).config() };
    let mut driver = Driver::new(config);
    driver.request(read(6, 0)).unwrap();
    driver.request(read(16, 1)).unwrap();
    assert_eq!(driver.issue().unwrap().command.sectors, 6);
    assert_eq!(driver.issue().unwrap().command.extents.as_slice(), [Extent { index: 8, sectors: 8 }]);
    assert!(driver.issue().is_none(), "the rest of the first run's block is not free");
}

#[test]
fn a_request_reports_its_first_failure() {
    let mut driver = driver(16, 4);
    driver.request(read(12, 0)).unwrap();
    let commands: Vec<SplitCommand> = std::iter::from_fn(|| driver.issue()).collect();
    assert_eq!(driver.done(commands[2].slot, Status::Success), None);
    assert_eq!(driver.done(commands[0].slot, Status::ReadError), None);
    assert_eq!(driver.done(commands[1].slot, Status::WriteError).unwrap().status, Status::ReadError);
}

#[test]
fn commands_without_data_need_no_space() {
    let mut driver = driver(4, 4);
    driver.request(read(4, 0)).unwrap();
    let flush = IoRequest { opcode: Opcode::Flush, sectors: 0, ..read(0, 1) };
    let trim = IoRequest { opcode: Opcode::Trim, ..read((1 << 32) + 5, 2) };
    driver.request(flush).unwrap();
    driver.request(trim).unwrap();
    let commands: Vec<SplitCommand> = std::iter::from_fn(|| driver.issue()).collect();
    let sectors: Vec<_> = commands.iter().map(|split| (split.command.opcode, split.command.sectors)).collect();
    assert_eq!(
        sectors,
        [(Opcode::Read, 4), (Opcode::Flush, 0), (Opcode::Trim, u32::MAX), (Opcode::Trim, 6)],
        "a trim is split only by the range of an entry's field"
    );
    for split in commands {
        driver.done(split.slot, Status::Success);
    }
    assert_eq!(driver.unfinished(), 0);
}

#[test]
fn requests_and_commands_are_bounded() {
    let mut driver = driver(1024, 1);
    for token in 0..8 {
        driver.request(read(8, token)).unwrap();
    }
    assert!(driver.request(read(8, 8)).is_err());
    let commands: Vec<SplitCommand> = std::iter::from_fn(|| driver.issue()).collect();
    assert_eq!(commands.len(), 32);
    driver.done(commands[7].slot, Status::Success);
    assert!(driver.issue().is_some());
}

/// Compares with a simple model: the sectors of all requests are issued one after another, in order.
#[test]
fn random_requests_are_covered_in_order() {
    let mut shrunken = 0;
    for history in history_range(500) {
        let mut rng = Streams::new(history).stream("driver");
        let config = DriverConfig {
            db_sectors: 1 + rng.below(200) as u32,
            split_sectors: 1 + rng.below(100) as u32,
            extents_max: 1 + rng.below(EXTENTS_MAX as u64) as u8,
            shortage: if rng.chance(0.5) { Shortage::Wait } else { Shortage::Shrink { sectors_min: 2 } },
            requests_max: 1 + rng.below(8) as u32,
            commands_max: 1 + rng.below(40) as u32,
        };
        let mut driver = Driver::new(config);
        let mut expected: VecDeque<(u64, u64, u64)> = VecDeque::new();
        let mut commands: BTreeMap<u64, u32> = BTreeMap::new();
        let mut out: Vec<SplitCommand> = Vec::new();
        let (mut accepted, mut finished) = (0, 0);
        for token in 0..300 {
            let request = read(1 + rng.below(400), token);
            if driver.request(request).is_ok() {
                accepted += 1;
                expected.extend((0..request.sectors).map(|sector| (token, sector, request.start + sector)));
            }
            while rng.chance(0.7)
                && let Some(split) = driver.issue()
            {
                let SplitCommand { command, first, .. } = split;
                assert!(command.sectors <= driver.split_sectors() && command.is_consistent(config.db_sectors));
                assert!(command.extents.len() <= usize::from(config.extents_max));
                for sector in 0..u64::from(command.sectors) {
                    let issued = (split.token, first + sector, command.start + sector);
                    assert_eq!(expected.pop_front(), Some(issued), "history {history}");
                }
                let full = expected.front().is_some_and(|&(token, ..)| token == split.token);
                shrunken += u32::from(full && command.sectors < driver.split_sectors());
                *commands.entry(split.token).or_default() += 1;
                out.push(split);
                assert!(out.len() <= config.commands_max as usize);
            }
            // A request waits only for space or for commands.
            if out.is_empty() && driver.is_waiting() {
                let split = driver.issue().expect("an empty buffer has room for every command");
                for _ in 0..split.command.sectors {
                    expected.pop_front();
                }
                *commands.entry(split.token).or_default() += 1;
                out.push(split);
            }
            while rng.chance(0.6) && !out.is_empty() {
                let split = out.swap_remove(rng.below(out.len() as u64) as usize);
                if let Some(done) = driver.done(split.slot, Status::Success) {
                    assert_eq!(commands.remove(&done.token), Some(done.commands), "history {history}");
                    finished += 1;
                }
            }
        }
        assert_eq!(accepted, finished + driver.unfinished(), "history {history}");
    }
    assert!(shrunken > 100, "{shrunken} commands were shortened");
}
