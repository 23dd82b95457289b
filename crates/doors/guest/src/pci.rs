//! The configuration space of a PCI function: a type 0 header and the MSI-X capability.

use crate::controller::{QUEUES, VENDOR};

/// Bytes of configuration space.
pub const CONFIG_BYTES: usize = 256;
/// Bytes of BAR 0: registers and doorbells, MSI-X table, pending bits.
pub const BAR_BYTES: u64 = 0x4000;
/// Offset of the MSI-X table and of the pending bits in BAR 0.
pub const TABLE: u64 = 0x2000;
/// Offset of the pending bits in BAR 0.
pub const PENDING: u64 = 0x3000;

/// A kind of function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Device identifier. Assumed, like the vendor.
    pub device: u16,
    /// Class code: programming interface, subclass, class.
    pub class: [u8; 3],
    /// Bytes of BAR 2, prefetchable memory: a power of two. `None` for a function without it.
    pub memory: Option<u64>,
}

impl Function {
    /// An NVMe controller: mass storage, non-volatile memory, NVM Express.
    pub const NVME: Function = Function { device: 0x6e76, class: [0x02, 0x08, 0x01], memory: None };

    /// A shared buffer: mass storage, other; with memory of at least `bytes`.
    pub fn shared_buffer(bytes: u64) -> Function {
        Function { device: 0x6e62, class: [0x00, 0x80, 0x01], memory: Some(bytes.next_power_of_two().max(4096)) }
    }
}

/// Offsets.
const COMMAND: usize = 0x04;
const BAR0: usize = 0x10;
const BAR2: usize = 0x18;
const LINE: usize = 0x3c;
const CAPABILITY: usize = 0x40;
const MSIX: u8 = 0x11;
/// Message control: enable, function mask.
const ENABLE: u16 = 1 << 15;
const FUNCTION_MASK: u16 = 1 << 14;

/// The configuration space.
#[derive(Clone, Debug)]
pub struct ConfigSpace {
    bytes: [u8; CONFIG_BYTES],
    /// Bits that the host can change.
    writable: [u8; CONFIG_BYTES],
    function: Function,
}

impl ConfigSpace {
    /// Creates the configuration space after a reset.
    ///
    /// # Panics
    /// Panics if the size of a BAR is no power of two.
    pub fn new(function: Function) -> ConfigSpace {
        let (mut bytes, mut writable) = ([0; CONFIG_BYTES], [0; CONFIG_BYTES]);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0x00, &VENDOR.to_le_bytes());
        put(0x02, &function.device.to_le_bytes());
        put(0x06, &(1u16 << 4).to_le_bytes()); // status: capability list
        put(0x09, &function.class);
        put(BAR0, &[0b0100]); // memory, 64 bits
        if function.memory.is_some() {
            put(BAR2, &[0b1100]); // the same, prefetchable
        }
        put(0x2c, &VENDOR.to_le_bytes());
        put(0x2e, &function.device.to_le_bytes());
        put(0x34, &[CAPABILITY as u8]);
        put(CAPABILITY, &[MSIX, 0]);
        put(CAPABILITY + 2, &(QUEUES - 1).to_le_bytes());
        put(CAPABILITY + 4, &(TABLE as u32).to_le_bytes());
        put(CAPABILITY + 8, &(PENDING as u32).to_le_bytes());
        // Memory space, bus master, interrupt disable.
        writable[COMMAND..COMMAND + 2].copy_from_slice(&0x0406u16.to_le_bytes());
        writable[BAR0..BAR0 + 8].copy_from_slice(&(!(BAR_BYTES - 1)).to_le_bytes());
        if let Some(bytes) = function.memory {
            assert!(bytes.is_power_of_two(), "BAR 2 of {bytes} bytes");
            writable[BAR2..BAR2 + 8].copy_from_slice(&(!(bytes - 1)).to_le_bytes());
        }
        writable[LINE] = 0xff;
        writable[CAPABILITY + 2..CAPABILITY + 4].copy_from_slice(&(ENABLE | FUNCTION_MASK).to_le_bytes());
        ConfigSpace { bytes, writable, function }
    }

    /// Returns the kind of function.
    pub fn function(&self) -> Function {
        self.function
    }

    /// Resets the configuration space.
    pub fn reset(&mut self) {
        *self = ConfigSpace::new(self.function);
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
    fn the_memory_of_a_shared_buffer_is_bar_2() {
        let mut config = ConfigSpace::new(Function::shared_buffer(1_100_000));
        config.write(0x18, &[0xff; 8]);
        let mut bar = [0; 8];
        config.read(0x18, &mut bar);
        let bar = u64::from_le_bytes(bar);
        assert_eq!((bar & 15, !(bar & !15) + 1), (0b1100, 2 << 20));
        let mut nvme = ConfigSpace::new(Function::NVME);
        nvme.write(0x18, &[0xff; 8]);
        let mut bar = [1; 8];
        nvme.read(0x18, &mut bar);
        assert_eq!(bar, [0; 8], "an NVMe controller has no such memory");
        config.reset();
        config.read(0x18, &mut bar);
        assert_eq!(bar, [0b1100, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_size_of_bar_0_is_found_by_writing_ones() {
        let mut config = ConfigSpace::new(Function::NVME);
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
        let mut config = ConfigSpace::new(Function::NVME);
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
