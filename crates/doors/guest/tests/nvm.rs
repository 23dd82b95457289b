//! The NVM command set: zeroes, deallocation, data pointers, errors, shadow doorbells, coalescing.

mod support;

use guest::Options;
use sim::Time;
use support::{Command, DATA, Host, SMALL, pattern, system};

fn host() -> Host {
    Host::attached(&system("", &SMALL), &Options::default())
}

fn zeroes(lba: u64, blocks: u32) -> Command {
    Command {
        opcode: 8,
        namespace: 1,
        dwords: [lba as u32, (lba >> 32) as u32, blocks - 1, 0, 0, 0],
        ..Command::default()
    }
}

/// Sends Dataset Management with the deallocate attribute for ranges of first block and count.
fn deallocate(host: &mut Host, ranges: &[(u64, u32)]) -> u16 {
    let list: Vec<u8> = ranges
        .iter()
        .flat_map(|(lba, blocks)| {
            [0u32.to_le_bytes(), blocks.to_le_bytes()].concat().into_iter().chain(lba.to_le_bytes())
        })
        .collect();
    host.store(DATA, &list);
    let dwords = [ranges.len() as u32 - 1, 4, 0, 0, 0, 0];
    host.run(1, Command { opcode: 9, namespace: 1, prp: [DATA, 0], dwords, ..Command::default() }).status
}

#[test]
fn zeroes_are_written_wherever_they_begin_and_end() {
    let mut host = host();
    for (lba, blocks) in [(0u64, 8u32), (3, 2), (5, 11), (17, 47), (1, 6), (64, 64)] {
        let before = pattern(lba, 65_536);
        assert_eq!(host.write_blocks(0, &before).status, 0);
        assert_eq!(host.run(1, zeroes(lba, blocks)).status, 0);
        let mut expected = before;
        expected[lba as usize * 512..][..blocks as usize * 512].fill(0);
        assert_eq!(host.read_blocks(0, 128).1, expected, "{blocks} from {lba}");
        host.flush();
        host.drive.power_cut(host.now).expect("the parts of the drive");
        host.attach(1);
        assert_eq!(host.read_blocks(0, 128).1, expected, "{blocks} from {lba} after a power cut");
    }
    assert_eq!(host.run(1, zeroes(1 << 40, 1)).status, 0x80);
}

#[test]
fn deallocated_units_read_as_zeros_and_others_stay() {
    let mut host = host();
    let before = pattern(1, 65_536);
    assert_eq!(host.write_blocks(0, &before).status, 0);
    assert_eq!(deallocate(&mut host, &[(8, 8), (32, 16), (100, 3), (60, 0)]), 0);
    let mut expected = before;
    expected[8 * 512..16 * 512].fill(0);
    expected[32 * 512..48 * 512].fill(0);
    assert_eq!(host.read_blocks(0, 128).1, expected);
    // One range out of range: nothing is deallocated.
    assert_eq!(deallocate(&mut host, &[(64, 8), (1 << 40, 8)]), 0x80);
    assert_eq!(host.read_blocks(0, 128).1, expected);
    // 256 ranges, and the other attributes, which are hints.
    let many: Vec<(u64, u32)> = (0..256).map(|i| (i * 8, 8)).collect();
    assert_eq!(deallocate(&mut host, &many), 0);
    assert_eq!(host.read_blocks(0, 128).1, [0; 65_536]);
    let hints = Command { opcode: 9, namespace: 1, prp: [DATA, 0], dwords: [0, 3, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.run(1, hints).status, 0);
}

#[test]
fn data_is_where_the_prps_say() {
    let mut host = host();
    // Transfers at odd places within pages, with zero, one and two PRPs and lists.
    for (offset, blocks) in [(0u64, 1u32), (512, 7), (512, 8), (4, 16), (3584, 9), (2048, 128), (4092, 2)] {
        let bytes = u64::from(blocks) * 512;
        let data = pattern(offset + 5, bytes as usize);
        host.store(DATA + offset, &data);
        let prp = host.prps(DATA + offset, bytes);
        let write = Command { prp, ..host.transfer(1, 40, blocks, 512) };
        let prp = host.prps(DATA + offset, bytes);
        assert_eq!(host.run(1, Command { prp, ..write }).status, 0, "{blocks} at {offset}");
        assert_eq!(host.read_blocks(40, blocks).1, data, "{blocks} at {offset}");
        // Read to another odd place; its neighbors stay.
        let to = DATA + 0x20_000 + offset;
        host.store(to - 4, &vec![0x11; bytes as usize + 8]);
        let prp = host.prps(to, bytes);
        assert_eq!(host.run(1, Command { opcode: 2, prp, ..write }).status, 0);
        assert_eq!(host.load(to, bytes as usize), data);
        assert_eq!((host.load(to - 4, 4), host.load(to + bytes, 4)), (vec![0x11; 4], vec![0x11; 4]));
    }
}

#[test]
fn data_is_where_the_sgls_say() {
    let mut host = host();
    let data = pattern(3, 8192);
    let descriptor = |address: u64, bytes: u32, kind: u8| {
        [address.to_le_bytes().to_vec(), bytes.to_le_bytes().to_vec(), vec![0, 0, 0, kind << 4]].concat()
    };
    let pointer = |address: u64, bytes: u32, kind: u8| [address, u64::from(bytes) | u64::from(kind) << 60];
    // Three pieces, in two segments.
    host.store(DATA, &data[..100]);
    host.store(DATA + 0x1001, &data[100..5000]);
    host.store(DATA + 0x3000, &data[5000..]);
    let list = DATA + 0x8000;
    host.store(list, &[descriptor(DATA, 100, 0), descriptor(list + 0x100, 32, 3)].concat());
    host.store(list + 0x100, &[descriptor(DATA + 0x1001, 4900, 0), descriptor(DATA + 0x3000, 3192, 0)].concat());
    let write = Command { flags: 1 << 6, ..host.transfer(1, 24, 16, 512) };
    assert_eq!(host.run(1, Command { prp: pointer(list, 32, 2), ..write }).status, 0);
    assert_eq!(host.read_blocks(24, 16).1, data);
    // One descriptor in the command.
    let read = Command { opcode: 2, prp: pointer(DATA + 0x5003, 8192, 0), ..write };
    assert_eq!(host.run(1, read).status, 0);
    assert_eq!(host.load(DATA + 0x5003, 8192), data);
    // Wrong descriptors are refused.
    for (prp, status) in [
        (pointer(DATA, 8191, 0), 0x0f),
        (pointer(DATA, 8193, 0), 0x0f),
        (pointer(DATA, 8192, 7), 0x11),
        (pointer(list, 33, 3), 0x0d),
        (pointer(list, 0, 3), 0x0d),
        (pointer(1 << 50, 8192, 0), 0x04),
        (pointer(1 << 50, 32, 3), 0x04),
        (pointer(u64::MAX - 7, 32, 3), 0x04),
    ] {
        assert_eq!(host.run(1, Command { opcode: 2, prp, ..write }).status, status, "{prp:x?}");
    }
    // A segment that points to itself ends.
    host.store(list, &descriptor(list, 16, 2));
    assert_eq!(host.run(1, Command { prp: pointer(list, 16, 2), ..write }).status, 0x0e);
}

#[test]
fn commands_with_wrong_fields_fail_with_their_status() {
    let mut host = host();
    let good = host.transfer(2, 0, 8, 512);
    for (command, status) in [
        (Command { opcode: 0x55, ..good }, 0x01),
        (Command { namespace: 0, ..good }, 0x0b),
        (Command { namespace: 2, ..good }, 0x02),
        (Command { namespace: 33, ..good }, 0x0b),
        (Command { flags: 1, ..good }, 0x0a),
        (Command { flags: 3 << 6, ..good }, 0x02),
        (Command { dwords: [0, 0, 128, 0, 0, 0], ..good }, 0x02),
        (Command { dwords: [u32::MAX, u32::MAX, 7, 0, 0, 0], ..good }, 0x80),
        (Command { prp: [DATA + 1, 0], ..good }, 0x13),
        (Command { prp: [DATA + 512, 8], ..good }, 0x13),
        (Command { prp: [1 << 60, 0], ..good }, 0x04),
        (Command { opcode: 0, namespace: 9, ..good }, 0x02),
        (Command { opcode: 0, namespace: 33, ..good }, 0x0b),
        (Command { opcode: 0, namespace: u32::MAX, ..good }, 0),
    ] {
        assert_eq!(host.run(1, command).status, status, "{command:x?}");
    }
    for (command, status) in [
        (Command { opcode: 0x77, ..Command::default() }, 0x01),
        (Command { opcode: 6, flags: 1 << 6, prp: [DATA, 0], dwords: [1, 0, 0, 0, 0, 0], ..Command::default() }, 0x02),
        (Command { opcode: 6, prp: [1 << 60, 0], dwords: [1, 0, 0, 0, 0, 0], ..Command::default() }, 0x04),
        (Command { opcode: 0x7c, prp: [DATA + 8, DATA], ..Command::default() }, 0x02),
    ] {
        assert_eq!(host.admin(command).status, status, "{command:x?}");
    }
}

#[test]
fn shadow_doorbells_replace_registers_values() {
    let mut host = host();
    let (shadow, index) = (DATA + 0x30_000, DATA + 0x31_000);
    host.store(shadow, &[0; 8192]);
    assert_eq!(host.admin(Command { opcode: 0x7c, prp: [shadow, index], ..Command::default() }).status, 0);
    let data = pattern(8, 4096);
    host.store(DATA, &data);
    let write = host.transfer(1, 16, 8, 512);
    host.store(0x10_000, &write.bytes(1));
    // The host writes the shadow, sees that it passes the event index, and writes anything to the register.
    host.store(shadow + 8, &1u32.to_le_bytes());
    host.write32(0x1008, 0xffff);
    let done = host.reap(1);
    assert_eq!((done.cid, done.status), (1, 0));
    assert_eq!(host.load(index + 8, 4), 1u32.to_le_bytes(), "the event index");
    host.store(shadow + 12, &1u32.to_le_bytes());
    host.write32(0x100c, 0);
    assert_eq!(host.load(index + 12, 4), 1u32.to_le_bytes());
    // A reset ends them.
    host.attach(1);
    host.store(shadow + 8, &9u32.to_le_bytes());
    assert_eq!(host.read_blocks(16, 8).1, data);
}

#[test]
fn interrupts_are_coalesced_as_the_host_sets() {
    let mut host = host();
    // Four completions or 500 us.
    assert_eq!(host.feature(0x08, 3 | 5 << 8).status, 0);
    let read = host.transfer(2, 0, 8, 512);
    host.submit(1, &[read; 4]);
    host.wait(Time::from_us(300));
    assert_eq!(host.drive.take_interrupts(), [1], "one for four");
    for _ in 0..4 {
        assert!(host.peek(1).is_some());
        host.consume(1);
    }
    host.submit(1, &[read]);
    host.wait(Time::from_us(300));
    assert!(host.drive.take_interrupts().is_empty() && host.peek(1).is_some());
    host.wait(Time::from_us(400));
    assert_eq!(host.drive.take_interrupts(), [1], "after the aggregation time");
    host.consume(1);
    // Coalescing can be off for a vector, and never delays the admin queue.
    assert_eq!(host.feature(0x09, 1 | 1 << 16).status, 0);
    assert_eq!(host.run(1, read).status, 0);
}

#[test]
fn a_completion_held_back_is_coalesced_when_it_is_posted() {
    let mut host = host();
    assert_eq!(host.feature(0x08, 3 | 1 << 8).status, 0);
    // A completion queue of two entries: the second completion waits longer than the aggregation time.
    host.store(0x90_000, &[0; 4096]);
    for (opcode, flags, address) in [(5, 3 | 2 << 16, 0x90_000), (1, 1 | 2 << 16, 0x30_000)] {
        let dwords = [2 | 1 << 16, flags, 0, 0, 0, 0];
        let done = host.admin(Command { opcode, prp: [address, 0], dwords, ..Command::default() });
        assert_eq!(done.status, 0);
    }
    for turn in 0..4u32 {
        let flush = Command { namespace: 1, ..Command::default() };
        host.store(0x30_000 + 64 * u64::from(turn % 2), &flush.bytes(turn as u16));
        host.write32(0x1010, (turn + 1) % 2);
        host.wait(Time::from_ms(50));
        // The entry of the turn before is freed only now.
        if turn > 0 {
            host.write32(0x1014, turn % 2);
        }
        host.wait(Time::from_ms(50));
    }
    let raised = host.drive.take_interrupts();
    assert!(raised.len() >= 4 && raised.iter().all(|vector| *vector == 2), "{raised:?}");
}
