//! MSI-X: the vector table and the pending bits (PCI Local Bus Specification 3.0, 6.8.2).
//!
//! A monitor that keeps the table itself, like QEMU's VFIO, never writes this one and takes vectors when they are raised.

use crate::controller::QUEUES;

/// Bytes of an entry: message address, message data, vector control.
const ENTRY: usize = 16;
/// Bit of vector control: masked. All vectors are masked after a reset.
const MASKED: u32 = 1;

/// An interrupt message: a write of `data` to `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The vector.
    pub vector: u16,
    /// Address in guest memory or of an interrupt controller.
    pub address: u64,
    /// Value to write.
    pub data: u32,
}

/// The table of a function.
#[derive(Clone, Debug)]
pub struct Msix {
    table: Vec<u8>,
    pending: Vec<bool>,
    /// Message control of the capability: function enabled, all vectors masked.
    enabled: bool,
    masked: bool,
}

impl Default for Msix {
    fn default() -> Msix {
        Msix::new()
    }
}

impl Msix {
    /// Bytes of the table.
    pub const TABLE_BYTES: u64 = QUEUES as u64 * ENTRY as u64;
    /// Bytes of the pending bits.
    pub const PENDING_BYTES: u64 = (QUEUES as u64).div_ceil(64) * 8;

    /// Creates a disabled table with all vectors masked.
    pub fn new() -> Msix {
        let entry = [[0; 12].as_slice(), &MASKED.to_le_bytes()].concat();
        Msix {
            table: entry.repeat(usize::from(QUEUES)),
            pending: vec![false; usize::from(QUEUES)],
            enabled: false,
            masked: false,
        }
    }

    /// Sets the function's enable and mask bits. Returns the messages that become due.
    pub fn control(&mut self, enabled: bool, masked: bool) -> Vec<Message> {
        (self.enabled, self.masked) = (enabled, masked);
        self.due()
    }

    /// Reads the table.
    pub fn read_table(&self, offset: u64, to: &mut [u8]) {
        for (at, byte) in (offset as usize..).zip(to) {
            *byte = self.table.get(at).copied().unwrap_or(0);
        }
    }

    /// Writes the table. Returns the messages that become due.
    pub fn write_table(&mut self, offset: u64, from: &[u8]) -> Vec<Message> {
        for (at, byte) in (offset as usize..).zip(from) {
            if let Some(to) = self.table.get_mut(at) {
                *to = *byte;
            }
        }
        self.due()
    }

    /// Reads the pending bits.
    pub fn read_pending(&self, offset: u64, to: &mut [u8]) {
        for (at, byte) in (offset as usize..).zip(to) {
            let bits = (0..8).filter(|bit| self.pending.get(8 * at + bit).copied().unwrap_or(false));
            *byte = bits.fold(0, |byte, bit| byte | 1 << bit);
        }
    }

    /// Raises a vector. Returns its message, or `None` while it is masked or the function disabled.
    pub fn raise(&mut self, vector: u16) -> Option<Message> {
        let index = usize::from(vector);
        if self.enabled && !self.masked && self.word(index, 3) & MASKED == 0 {
            return Some(self.message(index));
        }
        if self.enabled {
            self.pending[index] = true;
        }
        None
    }

    fn word(&self, index: usize, word: usize) -> u32 {
        let at = index * ENTRY + 4 * word;
        u32::from_le_bytes(std::array::from_fn(|i| self.table[at + i]))
    }

    fn message(&self, index: usize) -> Message {
        let address = u64::from(self.word(index, 0)) | u64::from(self.word(index, 1)) << 32;
        Message { vector: index as u16, address, data: self.word(index, 2) }
    }

    /// Returns the messages of pending vectors that are not masked, and clears their bits.
    fn due(&mut self) -> Vec<Message> {
        if !self.enabled || self.masked {
            return Vec::new();
        }
        let due = |index: &usize| self.pending[*index] && self.word(*index, 3) & MASKED == 0;
        let due: Vec<usize> = (0..self.pending.len()).filter(due).collect();
        due.into_iter()
            .map(|index| {
                self.pending[index] = false;
                self.message(index)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_vector_is_pending_until_it_is_unmasked() {
        let mut msix = Msix::new();
        assert_eq!(msix.raise(2), None, "the function is disabled");
        assert!(msix.control(true, false).is_empty(), "nothing was recorded");
        let entry = [0x00, 0x10, 0xe0, 0xfe, 1, 0, 0, 0, 0x42, 0, 0, 0, 1, 0, 0, 0];
        assert!(msix.write_table(32, &entry).is_empty());
        assert_eq!(msix.raise(2), None, "the vector is masked");
        let mut pending = [0; 8];
        msix.read_pending(0, &mut pending);
        assert_eq!(pending[0], 1 << 2);
        let message = Message { vector: 2, address: 0x1_fee0_1000, data: 0x42 };
        assert_eq!(msix.write_table(44, &[0; 4]), [message]);
        assert_eq!(msix.raise(2), Some(message));
        msix.control(true, true);
        assert_eq!((msix.raise(2), msix.raise(2)), (None, None), "the function is masked");
        assert_eq!(msix.control(true, false), [message], "once");
        let mut read = [0; 16];
        msix.read_table(32, &mut read);
        assert_eq!(read[..12], entry[..12]);
    }
}
