//! Legal commands with their lists in memory, of which some are then mutated in a few bits.

use super::Command;
use super::hostile::{Hostile, MEMORY, REACH};
use super::zoned;

/// Reclaim unit handles of a drive with placement.
pub const HANDLES: u64 = 3;
/// Bytes of a memory page.
const PAGE: u64 = 4096;

/// Draws commands for one queue. Returns it, their entries, and the page of the last command's list.
pub fn commands(guest: &mut Hostile) -> (usize, Vec<[u8; 64]>, u64) {
    let queue = guest.below(4) as usize;
    let mut entries = Vec::new();
    let mut list = 0;
    for _ in 0..=guest.below(8) {
        list = page(guest);
        let mut command = match queue {
            0 => admin(guest, list),
            _ if guest.zoned && guest.below(4) > 0 => zoned::io(guest, list),
            _ => io(guest, list),
        };
        if queue > 0 && guest.below(6) == 0 {
            // A fused pair: a comparison, which often fails, and the command itself, which is often a write.
            let dwords = [command.dwords[0], command.dwords[1], command.dwords[2] & 7, 0, 0, 0];
            let first = Command { opcode: 5, flags: command.flags | 1, dwords, ..command };
            entries.push(first.bytes(guest.below(1 << 16) as u16));
            command = Command { opcode: 1, flags: command.flags | 2, ..first };
        }
        let mut entry = command.bytes(guest.below(1 << 16) as u16);
        while guest.below(3) == 0 {
            let bit = guest.below(512) as usize;
            entry[bit / 8] ^= 1 << (bit % 8);
        }
        if guest.below(5) == 0 {
            let (at, value) = (list + guest.below(256), guest.below(256) as u8);
            store(guest, at, &[value]);
        }
        entries.push(entry);
    }
    (queue, entries, list)
}

/// Returns a page in the part of memory that the guest plays in, above its queues.
fn page(guest: &mut Hostile) -> u64 {
    (0x100 + guest.below((REACH / PAGE) - 0x110)) * PAGE
}

fn store(guest: &mut Hostile, at: u64, bytes: &[u8]) {
    guest.host.store(at, bytes);
}

/// Draws a data pointer of `bytes` bytes: PRP entries with a list if there must be one.
pub(super) fn prps(guest: &mut Hostile, bytes: u64, list: u64) -> [u64; 2] {
    let first = page(guest) + guest.below(2) * 4 * guest.below(PAGE / 4);
    let left = bytes.saturating_sub(PAGE - first % PAGE).div_ceil(PAGE);
    if left <= 1 {
        return [first, page(guest)];
    }
    for i in 0..left.min(PAGE / 8) {
        let entry = page(guest);
        store(guest, list + i * 8, &entry.to_le_bytes());
    }
    [first, list]
}

/// Draws an SGL of `bytes` bytes: one data block, or a segment of several.
pub(super) fn sgl(guest: &mut Hostile, bytes: u64, list: u64) -> [u64; 2] {
    if guest.below(2) == 0 {
        return [page(guest) + guest.below(PAGE), bytes];
    }
    let (mut left, mut count) = (bytes, 0);
    while left > 0 && count < PAGE / 16 {
        let length = if count == PAGE / 16 - 1 { left } else { left.min(1 + guest.below(2048)) };
        let address = page(guest) + guest.below(PAGE);
        store(guest, list + count * 16, &[address.to_le_bytes(), length.to_le_bytes()].concat());
        (left, count) = (left - length, count + 1);
    }
    [list, (count * 16) | (3 << 60)]
}

/// Draws an I/O command.
fn io(guest: &mut Hostile, list: u64) -> Command {
    let namespace = 1 + guest.below(2) as u32;
    let (block, blocks) = if namespace == 1 { (512, 2048) } else { (4096, guest.blocks) };
    let count = 1 + guest.below(64 << 10 >> (9 + 3 * u64::from(namespace == 2)));
    // Mostly the first blocks of a translation unit, so that their entries are used again.
    let first = match guest.below(4) {
        0 => guest.below(blocks - count + 1),
        _ => (guest.below(blocks) / 1024 * 1024 + guest.below(32)).min(blocks - count),
    } as u32;
    let mut command = Command { namespace, dwords: [first, 0, count as u32 - 1, 0, 0, 0], ..Command::default() };
    command.dwords[2] |= u32::from(guest.below(8) == 0) << 30;
    match guest.below(16) {
        0 => command.dwords = [0; 6],
        1 => command.opcode = 8,
        2 => {
            let ranges = 1 + guest.below(32);
            for i in 0..ranges {
                let (length, at) = (guest.below(64) as u32, guest.below(blocks - 64));
                let range = [&[0; 4][..], &length.to_le_bytes(), &at.to_le_bytes()].concat();
                store(guest, list + i * 16, &range);
            }
            (command.opcode, command.prp) = (9, [list, 0]);
            command.dwords = [ranges as u32 - 1, 4, 0, 0, 0, 0];
        }
        3 => {
            (command.opcode, command.prp) = (0x12, prps(guest, PAGE, list));
            command.dwords = [1, guest.below(1024) as u32, 0, 0, 0, 0];
        }
        4 => {
            let count = 1 + guest.below(3);
            for i in 0..count {
                let identifier = guest.below(HANDLES) as u16;
                store(guest, list + i * 2, &identifier.to_le_bytes());
            }
            (command.opcode, command.prp) = (0x1d, [list, 0]);
            command.dwords = [1 | (count as u32 - 1) << 16, 0, 0, 0, 0, 0];
        }
        5 => command.opcode = 0xc,
        6 => copy(guest, &mut command, list, blocks),
        kind => {
            command.opcode = if kind == 7 { 5 } else { 1 + (kind % 2) as u8 };
            if command.opcode == 1 && guest.below(2) == 0 {
                // Sometimes a handle that does not exist.
                command.dwords[2] |= 2 << 20;
                command.dwords[3] = (guest.below(HANDLES + 1) as u32) << 16;
            }
            let is_sgl = guest.below(3) == 0;
            command.flags = u8::from(is_sgl) << 6;
            command.prp = if is_sgl { sgl(guest, count * block, list) } else { prps(guest, count * block, list) };
        }
    }
    command
}

/// Makes `command` a Copy, to the place that it has, of some ranges near the start of the namespace.
fn copy(guest: &mut Hostile, command: &mut Command, list: u64, blocks: u64) {
    let ranges = 1 + guest.below(8);
    for i in 0..ranges {
        let (first, count) = (guest.below(blocks.min(1024) - 16), guest.below(16));
        let range = [&[0; 8][..], &first.to_le_bytes(), &count.to_le_bytes(), &[0; 8]].concat();
        store(guest, list + i * 32, &range);
    }
    let unit_access = command.dwords[2] & 1 << 30;
    (command.opcode, command.prp, command.dwords[2]) = (0x19, [list, 0], (ranges as u32 - 1) | unit_access);
}

/// Draws an admin command.
fn admin(guest: &mut Hostile, list: u64) -> Command {
    let mut command = Command { prp: prps(guest, PAGE, list), ..Command::default() };
    let opcodes = [0, 1, 2, 2, 4, 5, 6, 8, 9, 9, 9, 0xa, 0xc, 0xd, 0x15, 0x19, 0x1a, 0x7c, 0x80, 0x84];
    command.opcode = opcodes[guest.below(opcodes.len() as u64) as usize];
    let queue = 1 + guest.below(3) as u32;
    match command.opcode {
        0 | 4 => command.dwords[0] = queue,
        1 | 5 => {
            let size = 1 + guest.below(63) as u32;
            command.prp[0] = page(guest);
            command.dwords[0] = queue | size << 16;
            command.dwords[1] = if command.opcode == 1 { 1 | queue << 16 } else { 3 | queue << 16 };
        }
        2 => {
            let pages = [1u32, 2, 3, 4, 5, 0x80, 0x81, 9, 0x12, 0x20, 0x21, 0x22, 0x23, 0x123];
            let log = pages[guest.below(pages.len() as u64) as usize];
            command.namespace = u32::MAX;
            command.dwords[0] = log | (guest.below(1024) as u32) << 16;
            // The endurance group.
            command.dwords[1] = 1 << 16;
        }
        6 => {
            command.dwords[0] = [0, 1, 2, 3, 0x10, 0x11, 0x12, 0x13, 0x19][guest.below(9) as usize];
            command.namespace = guest.below(3) as u32;
        }
        8 => command.dwords[0] = guest.number(),
        9 if guest.below(2) == 0 => command.dwords = host_memory(guest, list),
        9 if guest.below(3) == 0 => {
            let types = [0, 3, 0x80, 0x81];
            store(guest, list, &types);
            (command.prp, command.namespace) = ([list, 0], 1);
            let (handle, count) = (guest.below(HANDLES) as u32, guest.below(5) as u32);
            command.dwords = [0x1e, handle | count << 16, u32::from(guest.below(4) > 0), 0, 0, 0];
        }
        9 | 0xa => {
            let features = [1u32, 2, 4, 5, 6, 7, 8, 9, 10, 11, 0xd, 0xe, 0x1d, 0x1e, 0x81];
            command.dwords[0] = features[guest.below(features.len() as u64) as usize];
            command.dwords[1] = guest.number();
        }
        0x19 | 0x1a => {
            command.namespace = 1 + guest.below(2) as u32;
            command.dwords = [guest.below(1024) as u32, 1 | (guest.below(4) as u32 / 3) << 9, 0, 0, 0, 0];
        }
        // A new namespace, mostly; namespaces 1 and 2 go rarely, because most commands need them.
        0xd => {
            let (size, format) = (1 + guest.below(512), guest.below(2) as u8);
            let mut data = vec![0; PAGE as usize];
            data[..16].copy_from_slice(&[size.to_le_bytes(), size.to_le_bytes()].concat());
            data[26] = format;
            store(guest, list, &data);
            command.prp = [list, 0];
            if guest.below(3) == 0 {
                let first = if guest.below(16) == 0 { 1 } else { 3 };
                (command.namespace, command.dwords[0]) = (first + guest.below(4) as u32, 1);
            }
        }
        0x15 => {
            store(guest, list, &[1, 0, 0, 0]);
            let detaches = guest.below(12) == 0;
            (command.prp, command.dwords[0]) = ([list, 0], u32::from(detaches));
            command.namespace = 1 + guest.below(6) as u32;
        }
        0x7c => command.prp = [page(guest), page(guest)],
        // Rarely, because each erases the drive.
        0x80 | 0x84 if guest.below(8) > 0 => command.opcode = 6,
        0x80 => (command.namespace, command.dwords[0]) = (1 + guest.below(2) as u32, guest.below(2) as u32),
        0x84 => command.dwords[0] = 1 + guest.below(4) as u32,
        _ => {}
    }
    if guest.zoned {
        zoned::by_set(guest, &mut command);
    }
    command
}

/// Draws Set Features for the Host Memory Buffer with a descriptor list, whose entries may overlap.
fn host_memory(guest: &mut Hostile, list: u64) -> [u32; 6] {
    if guest.below(3) == 0 {
        return [0xd, 0, 0, 0, 0, 0];
    }
    let (count, mut pages) = (1 + guest.below(16), 0);
    for i in 0..count {
        let size = 1 + guest.below(64);
        let address = guest.below(MEMORY as u64 / PAGE - size) * PAGE;
        store(guest, list + i * 16, &[address.to_le_bytes(), size.to_le_bytes()].concat());
        pages += size;
    }
    let flags = 1 | (guest.below(3) as u32 / 2) << 1;
    [0xd, flags, pages as u32, list as u32, 0, count as u32]
}
