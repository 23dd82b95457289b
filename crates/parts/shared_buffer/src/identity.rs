//! The identification of a device (paper, 5.3: capacity and supported primitives).

use crate::entry::Opcode;
use crate::layout::SECTOR;

/// The response to [`Opcode::Identify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Capacity of the storage in sectors.
    pub capacity_sectors: u64,
    /// The supported opcodes: bit n stands for opcode n.
    pub opcodes: u32,
    /// Maximum number of sectors per command.
    pub command_sectors_max: u32,
    /// Whether a write may complete before it is durable, which gives flush and FUA their meaning.
    pub cached_writes: bool,
}

impl Identity {
    /// Creates the identity of a device that supports `opcodes`.
    pub fn new(capacity_sectors: u64, opcodes: &[Opcode], command_sectors_max: u32, cached_writes: bool) -> Identity {
        let opcodes = opcodes.iter().fold(0, |bits, &opcode| bits | 1 << opcode as u8);
        Identity { capacity_sectors, opcodes, command_sectors_max, cached_writes }
    }

    /// Returns whether the device supports an opcode.
    pub const fn serves(&self, opcode: Opcode) -> bool {
        self.opcodes >> opcode as u8 & 1 == 1
    }

    /// Encodes the identity as a sector: little-endian, with the capacity at byte 0, the opcodes at 8, the sectors per
    /// command at 12 and the flag for cached writes at 16; the rest is zero.
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut sector = [0; SECTOR];
        sector[0..8].copy_from_slice(&self.capacity_sectors.to_le_bytes());
        sector[8..12].copy_from_slice(&self.opcodes.to_le_bytes());
        sector[12..16].copy_from_slice(&self.command_sectors_max.to_le_bytes());
        sector[16] = u8::from(self.cached_writes);
        sector
    }

    /// Decodes the identity from a sector.
    pub fn decode(sector: &[u8; SECTOR]) -> Identity {
        let read_u64 = |at: usize| u64::from_le_bytes(*sector[at..].first_chunk().expect("a sector is longer"));
        let read_u32 = |at: usize| u32::from_le_bytes(*sector[at..].first_chunk().expect("a sector is longer"));
        Identity {
            capacity_sectors: read_u64(0),
            opcodes: read_u32(8),
            command_sectors_max: read_u32(12),
            cached_writes: sector[16] != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_round_trips_through_its_sector() {
        let identity = Identity::new(62_500_000, &[Opcode::Read, Opcode::Write, Opcode::Identify], 1024, true);
        assert_eq!(Identity::decode(&identity.encode()), identity);
        let served: Vec<_> = Opcode::ALL.into_iter().filter(|&opcode| identity.serves(opcode)).collect();
        assert_eq!(served, [Opcode::Read, Opcode::Write, Opcode::Identify]);
    }
}
