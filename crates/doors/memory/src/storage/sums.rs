//! Checksums of the pages in the blocks: one row per block, loaded on demand and written before a flush.

use twox_hash::XxHash3_64;

/// Computes the checksum of a page with content `bytes`, the page number `at` being the seed. Never 0, which marks
/// unwritten pages.
pub(crate) fn sum(bytes: &[u8], at: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(at.wrapping_mul(0x9e37_79b9_7f4a_7c15), bytes).max(1)
}

#[derive(Debug)]
struct Row {
    sums: Box<[u64]>,
    /// The row differs from the file.
    dirty: bool,
}

/// The checksum rows in DRAM, by block.
#[derive(Debug)]
pub(crate) struct Sums {
    rows: Vec<Option<Row>>,
    dirty: Vec<u32>,
    pages: usize,
}

impl Sums {
    /// Creates an empty table for `blocks` blocks of `pages` pages.
    pub fn new(blocks: u32, pages: u32) -> Sums {
        let rows = std::iter::repeat_with(|| None).take(blocks as usize).collect();
        Sums { rows, dirty: Vec::new(), pages: pages as usize }
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns the checksum of a page (0 if it was never written), or `None` if the row is not in DRAM.
    pub fn get(&self, block: u32, page: u32) -> Option<u64> {
        self.rows[block as usize].as_ref().map(|row| row.sums[page as usize])
    }

    /// Sets the checksum of a page in a block whose row is in DRAM.
    pub fn set(&mut self, block: u32, page: u32, sum: u64) {
        let row = self.rows[block as usize].as_mut().expect("a block is erased before it is written");
        row.sums[page as usize] = sum;
        if !std::mem::replace(&mut row.dirty, true) {
            self.dirty.push(block);
        }
    }

    /// Marks all pages of a block as unwritten.
    pub fn clear(&mut self, block: u32) {
        let row = Row { sums: vec![0; self.pages].into_boxed_slice(), dirty: true };
        if !self.rows[block as usize].replace(row).is_some_and(|old| old.dirty) {
            self.dirty.push(block);
        }
    }

    /// Loads a block's row from the file's bytes, unless it is already in DRAM.
    pub fn load(&mut self, block: u32, bytes: &[u8]) {
        let sums = bytes.chunks_exact(8).take(self.pages).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
        self.rows[block as usize].get_or_insert_with(|| Row { sums: sums.collect(), dirty: false });
    }

    /// Writes a dirty row to `into`, marks it clean, and returns its block.
    pub fn take_dirty(&mut self, into: &mut [u8]) -> Option<u32> {
        let block = self.dirty.pop()?;
        let row = self.rows[block as usize].as_mut().expect("dirty rows are in DRAM");
        row.dirty = false;
        into.fill(0);
        for (bytes, sum) in into.chunks_exact_mut(8).zip(&row.sums) {
            bytes.copy_from_slice(&sum.to_le_bytes());
        }
        Some(block)
    }
}
