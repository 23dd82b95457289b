//! The registers of a shared buffer, in BAR 0. All are little-endian.
//!
//! A device on the memory bus sees every store to its buffer. A process sees none, so the doorbell is a register, which
//! replaces the doorbell words of the region. Everything else of the protocol is in BAR 2: the header, the heads of the
//! completion queues, the status words, the queues and the data buffer.
//!
//! | offset | bytes | access | register |
//! | --- | --- | --- | --- |
//! | 0x00 | 4 | read | [`SIGNATURE`]: `"NDSB"` |
//! | 0x04 | 4 | read | [`VERSION`] of the region's protocol |
//! | 0x08 | 4 | write | control: bit 0 resets queues, commands and region |
//! | 0x0c | 4 | read | status: bit 0, the device is ready |
//! | 0x10 | 4 | read | number of queue pairs |
//! | 0x18 | 8 | read | bytes of the region in BAR 2 |
//! | 0x20 | 8 | read | interrupt status: a bit for each pair with completions that its host has not taken |
//! | 0x28 | 8 | both | interrupt enable: a bit for each pair; all are set after a reset |
//! | 0x1000 + 4 n | 4 | write | doorbell of pair n: the device looks for commands in all pairs; the value is ignored |
//!
//! Vector n of MSI-X belongs to pair n.

/// The signature.
pub const SIGNATURE: u32 = u32::from_le_bytes(*b"NDSB");
/// The version of the region's protocol, which its header repeats.
pub const VERSION: u32 = 1;

/// Offset of the signature.
pub const SIGNATURE_AT: u64 = 0x00;
/// Offset of the version.
pub const VERSION_AT: u64 = 0x04;
/// Offset of the control register.
pub const CONTROL: u64 = 0x08;
/// Bit of the control register: reset.
pub const RESET: u32 = 1;
/// Offset of the status register.
pub const STATUS: u64 = 0x0c;
/// Offset of the number of queue pairs.
pub const PAIRS: u64 = 0x10;
/// Offset of the size of the region.
pub const REGION_BYTES: u64 = 0x18;
/// Offset of the interrupt status.
pub const INTERRUPT_STATUS: u64 = 0x20;
/// Offset of the interrupt enable bits.
pub const INTERRUPT_ENABLE: u64 = 0x28;
/// Offset of the first doorbell.
pub const DOORBELLS: u64 = 0x1000;

use sim::{Schedule, Time};

use super::{Bus, Event};

/// Bytes of the registers that can be read.
const READABLE: usize = 0x30;

impl Bus {
    /// Reads registers, in any size.
    pub(crate) fn read(&mut self, offset: u64, to: &mut [u8]) {
        let mut all = [0; READABLE];
        let mut put = |at: u64, value: &[u8]| all[at as usize..][..value.len()].copy_from_slice(value);
        put(SIGNATURE_AT, &SIGNATURE.to_le_bytes());
        put(VERSION_AT, &VERSION.to_le_bytes());
        put(STATUS, &1u32.to_le_bytes());
        put(PAIRS, &u32::from(self.pairs()).to_le_bytes());
        put(REGION_BYTES, &self.region_bytes().to_le_bytes());
        put(INTERRUPT_STATUS, &self.pending().to_le_bytes());
        put(INTERRUPT_ENABLE, &self.enabled.to_le_bytes());
        for (at, byte) in (offset as usize..).zip(to) {
            *byte = all.get(at).copied().unwrap_or(0);
        }
    }

    /// Writes a register at `now`. A write of another size than the register's is ignored.
    pub(crate) fn write(&mut self, now: Time, offset: u64, from: &[u8], s: &mut dyn Schedule<Event>) {
        match (offset, from.len()) {
            (CONTROL, 4) if from[0] & RESET as u8 != 0 => self.needs_reset(),
            (INTERRUPT_ENABLE, 8) => {
                let bits = u64::from_le_bytes(std::array::from_fn(|i| from[i]));
                self.enable(now, bits, s);
            }
            // A processor may split a store of 8 bytes.
            (INTERRUPT_ENABLE | 0x2c, 4) => {
                let shift = 8 * (offset - INTERRUPT_ENABLE);
                let half = u64::from(u32::from_le_bytes(std::array::from_fn(|i| from[i])));
                self.enable(now, self.enabled & !(0xffff_ffff << shift) | half << shift, s);
            }
            (DOORBELLS.., 4) if (offset - DOORBELLS) / 4 < u64::from(self.pairs()) => self.look(now, s),
            _ => {}
        }
    }
}
