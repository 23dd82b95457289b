//! Compare and Verify: their results, the status of each wrong field, and the time and link traffic that they cost.

mod support;

use guest::Options;
use sim::Time;
use support::{Command, DATA, Host, SMALL, ZONED, pattern, system};

const INVALID_FIELD: u16 = 0x02;
const OUT_OF_RANGE: u16 = 0x80;
const MISMATCH: u16 = 0x285;

fn host() -> Host {
    Host::attached(&system("", &SMALL), &Options::default())
}

/// Compares `data` with the blocks from `lba` on.
fn compare(host: &mut Host, lba: u64, data: &[u8]) -> u16 {
    host.store(DATA, data);
    let command = host.transfer(5, lba, (data.len() / 512) as u32, 512);
    host.run(1, command).status
}

fn verify(lba: u64, blocks: u32) -> Command {
    Command {
        opcode: 0xc,
        namespace: 1,
        dwords: [lba as u32, (lba >> 32) as u32, blocks - 1, 0, 0, 0],
        ..Command::default()
    }
}

/// Bytes that have crossed the link to the device and to the host.
fn payload(host: &Host) -> [u64; 2] {
    host.drive.machine().external().link(host.now).map(|way| way.payload)
}

#[test]
fn compare_finds_a_difference_in_any_byte() {
    let mut host = host();
    let data = pattern(3, 16_384);
    assert_eq!(host.write_blocks(13, &data).status, 0);
    for round in ["in the write cache", "in flash"] {
        assert_eq!(compare(&mut host, 13, &data), 0, "{round}");
        assert_eq!(compare(&mut host, 14, &data[512..1024]), 0, "{round}");
        for at in [0, 511, 512, 4095, 8191, 16_383] {
            let mut other = data.clone();
            other[at] ^= 1;
            assert_eq!(compare(&mut host, 13, &other), MISMATCH, "byte {at}, {round}");
        }
        host.flush();
        host.drive.power_cut(host.now).expect("the parts of the drive");
        host.attach(1);
    }
    // Blocks that were never written are zeros.
    assert_eq!(compare(&mut host, 600, &[0; 4096]), 0);
    assert_eq!(compare(&mut host, 600, &[1; 4096]), MISMATCH);
    assert_eq!(host.read_blocks(13, 32).1, data, "a comparison changes nothing");
}

#[test]
fn compare_reads_the_guests_data_through_lists_and_segments() {
    let mut host = host();
    let data = pattern(5, 65_536);
    assert_eq!(host.write_blocks(0, &data).status, 0);
    let at = DATA + 0x40_0e04;
    host.store(at, &data);
    let prp = host.prps(at, 65_536);
    let command = Command { prp, ..host.transfer(5, 0, 128, 512) };
    let prp = host.prps(at, 65_536);
    assert_eq!(host.run(1, Command { prp, ..command }).status, 0);
    let sgl = Command { flags: 1 << 6, prp: [at, 65_536], ..command };
    assert_eq!(host.run(1, sgl).status, 0);
    host.store(at + 65_535, &[!data[65_535]]);
    assert_eq!(host.run(1, sgl).status, MISMATCH);
}

#[test]
fn verify_reads_flash_and_moves_nothing_over_the_link() {
    let read = Time::from_us(50);
    let mut host = Host::attached(&system("", &[&SMALL[..], &[("flash.read", "50us")]].concat()), &Options::default());
    assert_eq!(host.write_blocks(0, &pattern(1, 65_536)).status, 0);
    host.flush();
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    let before = payload(&host);
    let one = host.run(1, verify(0, 8));
    let crossed: [u64; 2] = std::array::from_fn(|way| payload(&host)[way] - before[way]);
    assert!(one.status == 0 && one.latency > read && one.latency < read * 2, "{one:?}");
    assert!(crossed.iter().all(|bytes| *bytes < 256), "a command and its completion: {crossed:?}");
    // Data of more than one transfer, and blocks that were never written, which take no flash operation.
    let all = host.run(1, verify(0, 4096));
    assert!(all.status == 0 && all.latency > read, "{all:?}");
    let empty = host.run(1, verify(2048, 2048));
    assert!(empty.status == 0 && empty.latency < read, "{empty:?}");
    assert_eq!(host.run(1, verify(1, 65_536)).status, 0, "the most that a command can name");
    let blocks = u64::from_le_bytes(host.identify(0, 1)[..8].try_into().expect("8"));
    assert_eq!(host.run(1, verify(blocks - 7, 8)).status, OUT_OF_RANGE);
}

#[test]
fn compare_takes_a_flash_read_and_moves_the_guests_data_meanwhile() {
    let read = Time::from_us(50);
    let mut host = Host::attached(&system("", &[&SMALL[..], &[("flash.read", "50us")]].concat()), &Options::default());
    let data = pattern(1, 4096);
    assert_eq!(host.write_blocks(0, &data).status, 0);
    host.flush();
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    host.store(DATA, &data);
    let (before, command) = (payload(&host), host.transfer(5, 0, 8, 512));
    let done = host.run(1, command);
    let crossed: [u64; 2] = std::array::from_fn(|way| payload(&host)[way] - before[way]);
    assert!(done.status == 0 && done.latency > read && done.latency < read * 2, "{done:?}");
    assert!(crossed[0] >= 4096 && crossed[1] < 256, "only to the device: {crossed:?}");
    // In the write cache, the comparison waits for the data on the link alone.
    host.write_blocks(0, &data);
    let command = host.transfer(5, 0, 8, 512);
    let done = host.run(1, command);
    assert!(done.status == 0 && done.latency < read, "{done:?}");
}

#[test]
fn wrong_fields_fail_with_their_status() {
    let mut host = host();
    let good = host.transfer(5, 0, 8, 512);
    for (command, status) in [
        (Command { namespace: 0, ..good }, 0x0b),
        (Command { namespace: 2, ..good }, 0x0b),
        (Command { dwords: [0, 0, 128, 0, 0, 0], ..good }, INVALID_FIELD),
        (Command { dwords: [u32::MAX, u32::MAX, 7, 0, 0, 0], ..good }, OUT_OF_RANGE),
        (Command { prp: [DATA + 1, 0], ..good }, 0x13),
        (Command { prp: [1 << 60, 0], ..good }, 0x04),
        (Command { flags: 3 << 6, ..good }, INVALID_FIELD),
        (Command { namespace: 2, ..verify(0, 8) }, 0x0b),
        (verify(1 << 40, 8), OUT_OF_RANGE),
        (verify(u64::MAX, 1), OUT_OF_RANGE),
    ] {
        assert_eq!(host.run(1, command).status, status, "{command:x?}");
    }
}

#[test]
fn they_are_listed_and_counted() {
    let mut host = host();
    assert_eq!(host.identify(1, 0)[520] & 0b1000_0001, 0b1000_0001, "ONCS: Compare and Verify");
    let effects = host.log(5, 4096, 0).expect("the effects");
    assert_eq!([effects[1024 + 4 * 5], effects[1024 + 4 * 0xc]], [1, 1], "no effects");
    let quad = |page: &[u8], at: usize| u64::from_le_bytes(page[at..at + 8].try_into().expect("8"));
    host.write_blocks(0, &pattern(1, 65_536));
    for _ in 0..16 {
        assert_eq!(compare(&mut host, 0, &pattern(1, 65_536)), 0);
        assert_eq!(host.run(1, verify(0, 128)).status, 0);
    }
    let health = host.log(2, 512, 0).expect("the health log");
    let units = (32 * 65_536u64).div_ceil(512_000);
    assert_eq!((quad(&health, 32), quad(&health, 64)), (units, 16), "data units read, and read commands");
    assert_eq!(quad(&health, 80), 1, "write commands");
}

#[test]
fn zones_can_be_compared_and_verified_but_not_copied() {
    let mut host = Host::attached(&system("", &ZONED), &Options::default());
    let data = pattern(2, 8192);
    host.store(DATA, &data);
    let write = host.transfer(1, 0, 2, 4096);
    assert_eq!(host.run(1, write).status, 0);
    let compare = Command { opcode: 5, ..write };
    assert_eq!(host.run(1, compare).status, 0);
    host.store(DATA + 5000, &[!data[5000]]);
    assert_eq!(host.run(1, compare).status, MISMATCH);
    assert_eq!(host.run(1, verify(0, 2048)).status, 0);
    let controller = host.identify(1, 0);
    assert_eq!((controller[521] & 1, controller[534]), (0, 0), "ONCS and OCFS without Copy");
    assert_eq!(host.run(1, Command { opcode: 0x19, ..write }).status, 0x01);
}
