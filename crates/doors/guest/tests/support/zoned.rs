//! Commands of a hostile guest for a drive with zones: mostly legal, often at a write pointer that it believes in.

use super::Command;
use super::hostile::Hostile;
use super::legal::{prps, sgl};

/// Logical blocks of a zone, and zones, of the drives that are attacked.
const SIZE: u64 = 2048;
const ZONES: u64 = 8;
const BLOCK: u64 = 4096;

/// Draws an I/O command.
pub fn io(guest: &mut Hostile, list: u64) -> Command {
    let zone = guest.below(ZONES);
    let count = 1 + guest.below(16);
    let mut command = Command { namespace: 1, ..Command::default() };
    let kind = guest.below(14);
    // An append's first block is that of its zone; the others begin anywhere in the written part, mostly.
    let first = match kind {
        0..=4 => zone * SIZE,
        _ if guest.below(3) == 0 => guest.below(ZONES * SIZE),
        _ => zone * SIZE + guest.below(64),
    };
    command.dwords = [first as u32, 0, count as u32 - 1, 0, 0, 0];
    command.dwords[2] |= u32::from(guest.below(8) == 0) << 30;
    match kind {
        5 => command.dwords = [0; 6],
        6 | 7 => {
            let action = [1, 2, 3, 4, 5, 0x10, 4][guest.below(7) as usize];
            let all = u32::from(guest.below(24) == 0) << 8;
            (command.opcode, command.dwords) = (0x79, [(zone * SIZE) as u32, 0, 0, action | all, 0, 0]);
        }
        8 => {
            let bytes = 4 * (1 + guest.below(1024));
            let fields = guest.below(9) << 8 | guest.below(2) << 16;
            (command.opcode, command.prp) = (0x7a, prps(guest, bytes, list));
            command.dwords = [first as u32, 0, (bytes / 4 - 1) as u32, fields as u32, 0, 0];
        }
        _ => {
            command.opcode = [0x7d, 0x7d, 0x7d, 0x7d, 0x7d, 0, 0, 0, 0, 2, 2, 1, 5, 0xc][kind as usize];
            let is_sgl = guest.below(3) == 0;
            command.flags = u8::from(is_sgl) << 6;
            command.prp = if is_sgl { sgl(guest, count * BLOCK, list) } else { prps(guest, count * BLOCK, list) };
        }
    }
    command
}

/// Changes an Identify or Get Log Page command to one of a command set.
pub fn by_set(guest: &mut Hostile, command: &mut Command) {
    let set = [0u32, 2, 2, 1][guest.below(4) as usize] << 24;
    match command.opcode {
        6 => {
            let cns = [0u32, 1, 2, 3, 5, 6, 7, 8, 0x1c];
            command.dwords[0] = cns[guest.below(cns.len() as u64) as usize];
            command.dwords[1] = set;
        }
        2 => command.dwords[4] = set,
        9 | 0xa if guest.below(8) == 0 => command.dwords[0] = 0x19,
        _ => {}
    }
}
