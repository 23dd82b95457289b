//! The configuration space of the PCI function: a type 0 header and the MSI-X capability.

use crate::controller::{QUEUES, VENDOR};

/// Bytes of configuration space.
pub const CONFIG_BYTES: usize = 256;
/// Bytes of BAR 0: registers and doorbells, MSI-X table, pending bits.
pub const BAR_BYTES: u64 = 0x4000;
/// Offset of the MSI-X table and of the pending bits in BAR 0.
pub const TABLE: u64 = 0x2000;
/// Offset of the pending bits in BAR 0.
pub const PENDING: u64 = 0x3000;

/// Device identifier. Assumed, like the vendor.
const DEVICE: u16 = 0x6e76;
/// Class code: mass storage, non-volatile memory, NVM Express.
const CLASS: [u8; 3] = [0x02, 0x08, 0x01];
/// Offsets.
const COMMAND: usize = 0x04;
const BAR0: usize = 0x10;
const LINE: usize = 0x3c;
const CAPABILITY: usize = 0x40;
const MSIX: u8 = 0x11;
/// Message control: enable, function mask.
const ENABLE: u16 = 1 << 15;
const FUNCTION_MASK: u16 = 1 << 14;

/// The configuration space.
#[derive(Clone, Debug)]
pub struct Config {
    bytes: [u8; CONFIG_BYTES],
    /// Bits that the host can change.
    writable: [u8; CONFIG_BYTES],
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

impl Config {
    /// Creates the configuration space after a reset.
    pub fn new() -> Config {
        let (mut bytes, mut writable) = ([0; CONFIG_BYTES], [0; CONFIG_BYTES]);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0x00, &VENDOR.to_le_bytes());
        put(0x02, &DEVICE.to_le_bytes());
        put(0x06, &(1u16 << 4).to_le_bytes()); // status: capability list
        put(0x09, &CLASS);
        put(BAR0, &[0b0100]); // memory, 64 bits
        put(0x2c, &VENDOR.to_le_bytes());
        put(0x2e, &DEVICE.to_le_bytes());
        put(0x34, &[CAPABILITY as u8]);
        put(CAPABILITY, &[MSIX, 0]);
        put(CAPABILITY + 2, &(QUEUES - 1).to_le_bytes());
        put(CAPABILITY + 4, &(TABLE as u32).to_le_bytes());
        put(CAPABILITY + 8, &(PENDING as u32).to_le_bytes());
        // Memory space, bus master, interrupt disable.
        writable[COMMAND..COMMAND + 2].copy_from_slice(&0x0406u16.to_le_bytes());
        writable[BAR0..BAR0 + 8].copy_from_slice(&(!(BAR_BYTES - 1)).to_le_bytes());
        writable[LINE] = 0xff;
        writable[CAPABILITY + 2..CAPABILITY + 4].copy_from_slice(&(ENABLE | FUNCTION_MASK).to_le_bytes());
        Config { bytes, writable }
    }

    /// Reads configuration space; beyond its end, ones.
    pub fn read(&self, offset: u64, to: &mut [u8]) {
        for (at, byte) in (offset..).zip(to) {
            *byte = self.bytes.get(at as usize).copied().unwrap_or(0xff);
        }
    }

    /// Writes configuration space, as far as its bits can be changed.
    pub fn write(&mut self, offset: u64, from: &[u8]) {
        for (at, value) in (offset..).zip(from) {
            if let (Some(byte), Some(mask)) = (self.bytes.get_mut(at as usize), self.writable.get(at as usize)) {
                *byte = *byte & !mask | value & mask;
            }
        }
    }

    /// Returns MSI-X enable and function mask.
    pub fn msix(&self) -> (bool, bool) {
        let control = u16::from_le_bytes([self.bytes[CAPABILITY + 2], self.bytes[CAPABILITY + 3]]);
        (control & ENABLE != 0, control & FUNCTION_MASK != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_bar_0_is_found_by_writing_ones() {
        let mut config = Config::new();
        config.write(0x10, &[0xff; 8]);
        let mut bar = [0; 8];
        config.read(0x10, &mut bar);
        let bar = u64::from_le_bytes(bar);
        assert_eq!((bar & 15, !(bar & !15) + 1), (0b0100, BAR_BYTES));
        config.write(0x10, &0xfeb0_0000u64.to_le_bytes());
        config.read(0x10, &mut bar.to_le_bytes());
    }

    #[test]
    fn only_the_enable_bits_of_msix_change() {
        let mut config = Config::new();
        let mut before = [0; 12];
        config.read(0x40, &mut before);
        config.write(0x40, &[0xff; 12]);
        let mut after = [0; 12];
        config.read(0x40, &mut after);
        assert_eq!((config.msix(), after[3]), ((true, true), before[3] | 0xc0));
        assert_eq!([&after[..3], &after[4..]].concat(), [&before[..3], &before[4..]].concat());
        assert_eq!(u16::from_le_bytes([before[2], before[3]]), QUEUES - 1);
    }
}
