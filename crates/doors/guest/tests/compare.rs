//! Compare, alone and fused with a write, and Verify: their results, the status of each wrong field, and the time and link
//! traffic that they cost.

mod support;

use guest::Options;
use sim::Time;
use support::{Command, DATA, Done, Host, SMALL, ZONED, pattern, system};

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
        (Command { namespace: 2, ..good }, 0x02),
        (Command { namespace: 33, ..good }, 0x0b),
        (Command { dwords: [0, 0, 128, 0, 0, 0], ..good }, INVALID_FIELD),
        (Command { dwords: [u32::MAX, u32::MAX, 7, 0, 0, 0], ..good }, OUT_OF_RANGE),
        (Command { prp: [DATA + 1, 0], ..good }, 0x13),
        (Command { prp: [1 << 60, 0], ..good }, 0x04),
        (Command { flags: 3 << 6, ..good }, INVALID_FIELD),
        (Command { namespace: 33, ..verify(0, 8) }, 0x0b),
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

/// The fields FUSE of the first and the second command of a pair.
const FIRST: u8 = 1;
const SECOND: u8 = 2;
const FAILED_FUSED: u16 = 0x09;
const MISSING_FUSED: u16 = 0x0a;

/// Returns a fused pair that expects `old` at `lba` and writes `new`, with its data from `at` on.
fn pair(host: &mut Host, at: u64, lba: u64, [old, new]: [&[u8]; 2]) -> [Command; 2] {
    let blocks = (old.len() / 512) as u32;
    host.store(at, old);
    host.store(at + 0x8000, new);
    let first = Command { prp: host.prps(at, old.len() as u64), flags: FIRST, ..host.transfer(5, lba, blocks, 512) };
    let prp = host.prps(at + 0x8000, new.len() as u64);
    [first, Command { opcode: 1, flags: SECOND, prp, ..first }]
}

/// Sends commands at once and returns the statuses of all, in the order of the commands.
fn run_all(host: &mut Host, commands: &[Command]) -> Vec<u16> {
    let cids = host.submit(1, commands);
    let done: Vec<Done> = commands.iter().map(|_| host.reap(1)).collect();
    let of = |cid: &u16| done.iter().find(|done| done.cid == *cid).expect("a completion of each command").status;
    cids.iter().map(of).collect()
}

#[test]
fn a_fused_pair_writes_only_if_it_finds_what_it_expects() {
    let mut host = host();
    let [old, new] = [pattern(1, 4096), pattern(2, 4096)];
    assert_eq!(host.identify(1, 0)[522], 1, "FUSES");
    assert_eq!(host.identify(0, 1)[38..40], [7, 0], "NACWU");
    host.write_blocks(8, &old);
    let commands = pair(&mut host, DATA, 8, [&old, &new]);
    assert_eq!(run_all(&mut host, &commands), [0, 0]);
    assert_eq!(host.read_blocks(8, 8).1, new);
    let commands = pair(&mut host, DATA, 8, [&old, &old]);
    assert_eq!(run_all(&mut host, &commands), [MISMATCH, FAILED_FUSED]);
    assert_eq!(host.read_blocks(8, 8).1, new);
    // A single block, and completions in the order of the commands.
    let commands = pair(&mut host, DATA, 9, [&new[512..1024], &old[..512]]);
    let cids = host.submit(1, &commands);
    assert_eq!([host.reap(1).cid, host.reap(1).cid], [cids[0], cids[1]]);
    assert_eq!(host.read_blocks(9, 1).1, old[..512]);
}

#[test]
fn incomplete_and_impossible_pairs_fail_with_their_status() {
    let mut host = host();
    let [old, new] = [vec![0; 4096], pattern(2, 4096)];
    let [first, second] = pair(&mut host, DATA, 8, [&old, &new]);
    let flush = Command { namespace: 1, ..Command::default() };
    let at = |command: Command, lba: u32| Command { dwords: [lba, 0, 7, 0, 0, 0], ..command };
    let far = [first, second].map(|command| Command { dwords: [u32::MAX, u32::MAX, 7, 0, 0, 0], ..command });
    let large = [first, second].map(|command| Command { dwords: [8, 0, 8, 0, 0, 0], ..command });
    for (commands, statuses) in [
        (vec![first], vec![MISSING_FUSED]),
        (vec![second], vec![MISSING_FUSED]),
        (vec![first, flush], vec![MISSING_FUSED, 0]),
        (vec![flush, second], vec![0, MISSING_FUSED]),
        (vec![second, first], vec![MISSING_FUSED; 2]),
        (vec![first, first, second], vec![MISSING_FUSED, 0, 0]),
        (vec![Command { flags: 3, ..first }], vec![INVALID_FIELD]),
        (vec![Command { opcode: 2, ..first }, second], vec![INVALID_FIELD; 2]),
        (vec![first, Command { opcode: 8, ..second }], vec![INVALID_FIELD; 2]),
        (vec![first, at(second, 16)], vec![INVALID_FIELD; 2]),
        (vec![first, Command { dwords: [8, 0, 6, 0, 0, 0], ..second }], vec![INVALID_FIELD; 2]),
        (vec![first, Command { namespace: 2, ..second }], vec![INVALID_FIELD; 2]),
        (large.to_vec(), vec![INVALID_FIELD; 2]),
        (far.to_vec(), vec![OUT_OF_RANGE; 2]),
        (vec![Command { prp: [DATA + 1, 0], ..first }, second], vec![0x13, FAILED_FUSED]),
        (vec![first, Command { prp: [1 << 60, 0], ..second }], vec![FAILED_FUSED, 0x04]),
    ] {
        let is_written = statuses.ends_with(&[0, 0]);
        assert_eq!(run_all(&mut host, &commands), statuses, "{commands:x?}");
        assert_eq!(host.read_blocks(8, 8).1 == new, is_written, "{commands:x?}");
        host.write_blocks(8, &old);
        host.store(DATA, &old);
    }
    // With two slots, the second of two first commands is fetched together with its partner.
    let sets = [("device.max_commands", "2")];
    let mut narrow = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &Options::default());
    let [first, second] = pair(&mut narrow, DATA, 8, [&old, &new]);
    for commands in
        [vec![first, first, second, flush], vec![flush, first, first, second], vec![first, flush, first, second]]
    {
        let lone = commands.iter().position(|command| command.flags == FIRST).expect("a lone first command");
        let statuses = run_all(&mut narrow, &commands);
        let expected = |at: usize| if at == lone { MISSING_FUSED } else { 0 };
        assert!((0..4).all(|at| statuses[at] == expected(at)), "{statuses:x?} of {commands:x?}");
        assert_eq!(narrow.write_blocks(8, &old).status, 0);
        let [_, _] = pair(&mut narrow, DATA, 8, [&old, &new]);
    }
    let admin = Command { opcode: 6, flags: 1, prp: [DATA, 0], dwords: [1, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(admin).status, INVALID_FIELD);
    // Zones, and a controller with one slot, have none.
    for sets in [ZONED.to_vec(), [&SMALL[..], &[("device.max_commands", "1")]].concat()] {
        let mut host = Host::attached(&system("", &sets), &Options::default());
        assert_eq!(host.identify(1, 0)[522], 0, "FUSES");
        assert_eq!(run_all(&mut host, &[first, second]), [INVALID_FIELD; 2]);
    }
}

#[test]
fn counters_that_several_queues_raise_with_pairs_lose_nothing() {
    // Every queue swaps the same block from n to n + 1, while other writes go elsewhere.
    for commands in ["2", "3", "24"] {
        let sets = [("device.max_commands", commands), ("flash.read", "20us")];
        let mut host = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &Options::default());
        host.attach(3);
        let value = |n: u64| n.to_le_bytes().repeat(64);
        assert_eq!(host.write_blocks(8, &value(0)).status, 0);
        let (mut raised, mut failed) = (0, 0);
        for round in 0..120u64 {
            let mut expected = Vec::new();
            for queue in 1..=3usize {
                let at = DATA + 0x10_000 * queue as u64;
                let [old, new] = [value(round), value(round + 1)];
                let [first, second] = pair(&mut host, at, 8, [&old, &new]);
                host.store(at + 0x4000, &pattern(round, 4096));
                let dwords = [800 + 8 * queue as u32, 0, 7, 0, 0, 0];
                let other = Command { opcode: 1, flags: 0, prp: [at + 0x4000, 0], dwords, ..first };
                expected.push((queue, host.submit(queue, &[other, first, second, other])));
            }
            for (queue, cids) in expected {
                let done: Vec<Done> = cids.iter().map(|_| host.reap(queue)).collect();
                let status = |at: usize| done.iter().find(|done| done.cid == cids[at]).expect("its completion").status;
                assert_eq!([status(0), status(3)], [0; 2]);
                match [status(1), status(2)] {
                    [0, 0] => raised += 1,
                    statuses => {
                        assert_eq!(statuses, [MISMATCH, FAILED_FUSED]);
                        failed += 1;
                    }
                }
            }
            assert_eq!(host.read_blocks(8, 1).1, value(round + 1), "with {commands} commands");
        }
        assert!(raised == 120 && failed == 240, "{raised} pairs succeeded and {failed} failed: one of each round");
    }
}

#[test]
fn a_write_of_the_same_blocks_waits_for_the_pair_and_the_pair_for_earlier_writes() {
    let sets = [("flash.read", "1ms")];
    let mut host = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &Options::default());
    let [old, new, last] = [1, 2, 3].map(|seed| pattern(seed, 4096));
    host.write_blocks(8, &old);
    host.flush();
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    // The comparison takes a flash read; the write comes right behind the pair, and must not fail it.
    let [first, second] = pair(&mut host, DATA, 8, [&old, &new]);
    host.store(DATA + 0x10_000, &last);
    let write = Command { flags: 0, prp: [DATA + 0x10_000, 0], ..second };
    let elsewhere = Command { dwords: [800, 0, 7, 0, 0, 0], ..write };
    let cids = host.submit(1, &[first, second, write, elsewhere]);
    let order: Vec<u16> = (0..4)
        .map(|_| host.reap(1))
        .map(|done| {
            assert_eq!(done.status, 0);
            done.cid
        })
        .collect();
    assert_eq!(order, [cids[3], cids[0], cids[1], cids[2]], "only the write of other blocks overtakes the pair");
    assert_eq!(host.read_blocks(8, 8).1, last);
    // A pair behind a write that is under way finds what it wrote.
    let [first, second] = pair(&mut host, DATA, 8, [&new, &old]);
    host.store(DATA + 0x10_000, &new);
    assert_eq!(run_all(&mut host, &[write, first, second]), [0; 3]);
    assert_eq!(host.read_blocks(8, 8).1, old);
}

#[test]
fn a_pair_is_atomic_over_a_power_cut_and_ends_with_a_reset() {
    let mut outcomes = [0; 2];
    for at in 0..60u64 {
        let mut host = host();
        let [old, new] = [pattern(1, 4096), pattern(2, 4096)];
        host.write_blocks(8, &old);
        host.flush();
        let mut commands = pair(&mut host, DATA, 8, [&old, &new]);
        commands[1].dwords[2] |= 1 << 30;
        host.submit(1, &commands);
        host.wait(Time::from_us(at * 20));
        host.drive.power_cut(host.now).expect("the parts of the drive");
        host.attach(1);
        let found = host.read_blocks(8, 8).1;
        assert!(found == old || found == new, "a torn pair after {at}");
        outcomes[usize::from(found == new)] += 1;
        // A reset amid a pair leaves nothing that waits.
        let commands = pair(&mut host, DATA, 8, [&found, &new]);
        host.submit(1, &commands);
        host.wait(Time::from_us(at % 7));
        host.attach(1);
        assert_eq!(host.write_blocks(8, &old).status, 0);
    }
    assert!(outcomes.iter().all(|count| *count > 5), "{outcomes:?}");
}

#[test]
fn a_queue_can_be_deleted_while_its_pairs_wait_for_slots() {
    let mut host =
        Host::attached(&system("", &[&SMALL[..], &[("device.max_commands", "2")]].concat()), &Options::default());
    host.attach(2);
    let data = vec![0; 4096];
    let pairs: Vec<Command> = (0..8).flat_map(|_| pair(&mut host, DATA, 8, [&data, &data])).collect();
    host.submit(2, &pairs);
    let delete = Command { opcode: 0, dwords: [2, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(delete).status, 0);
    assert_eq!(host.write_blocks(0, &pattern(1, 512)).status, 0, "other queues are fetched");
}
