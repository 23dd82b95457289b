//! What a device says of itself when it is asked to identify (paper, 5.3: capacity and supported primitives).

use crate::entry::Opcode;
use crate::layout::SECTOR;

/// The answer to [`Opcode::Identify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Sectors of the storage.
    pub capacity_sectors: u64,
    /// The opcodes it serves: bit n for opcode n.
    pub opcodes: u32,
    /// Sectors of one command at most.
    pub command_sectors_max: u32,
    /// Whether a write may complete before it is durable, so that flush and FUA mean something.
    pub cached_writes: bool,
}

impl Identity {
    /// A device that serves `opcodes`.
    pub fn new(capacity_sectors: u64, opcodes: &[Opcode], command_sectors_max: u32, cached_writes: bool) -> Identity {
        let opcodes = opcodes.iter().fold(0, |bits, &opcode| bits | 1 << opcode as u8);
        Identity { capacity_sectors, opcodes, command_sectors_max, cached_writes }
    }

    /// Whether it serves an opcode.
    pub const fn serves(&self, opcode: Opcode) -> bool {
        self.opcodes >> opcode as u8 & 1 == 1
    }

    /// As a sector: little-endian, capacity at byte 0, opcodes at 8, sectors a command at 12, cached writes at 16; the
    /// rest is zero.
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut sector = [0; SECTOR];
        sector[0..8].copy_from_slice(&self.capacity_sectors.to_le_bytes());
        sector[8..12].copy_from_slice(&self.opcodes.to_le_bytes());
        sector[12..16].copy_from_slice(&self.command_sectors_max.to_le_bytes());
        sector[16] = u8::from(self.cached_writes);
        sector
    }

    /// Of a sector.
    pub fn decode(sector: &[u8; SECTOR]) -> Identity {
        let long = |at: usize| u64::from_le_bytes(*sector[at..].first_chunk().expect("a sector is longer"));
        let short = |at: usize| u32::from_le_bytes(*sector[at..].first_chunk().expect("a sector is longer"));
        Identity {
            capacity_sectors: long(0),
            opcodes: short(8),
            command_sectors_max: short(12),
            cached_writes: sector[16] != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_its_sector() {
        let identity = Identity::new(62_500_000, &[Opcode::Read, Opcode::Write, Opcode::Identify], 1024, true);
        assert_eq!(Identity::decode(&identity.encode()), identity);
        let served: Vec<_> = Opcode::ALL.into_iter().filter(|&opcode| identity.serves(opcode)).collect();
        assert_eq!(served, [Opcode::Read, Opcode::Write, Opcode::Identify]);
    }
}
