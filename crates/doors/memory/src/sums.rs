//! Checksums of what lies in the blocks: a row a block, read when it is needed, written before a flush.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The checksum of a page that holds `bytes`, at `at` among all. Never 0, which stands for a page that was not written.
pub(crate) fn sum(bytes: &[u8], at: u64) -> u64 {
    xxh3_64_with_seed(bytes, at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1)
}

#[derive(Debug)]
struct Row {
    sums: Box<[u64]>,
    /// It differs from what is in the file.
    dirty: bool,
}

/// The rows that are in DRAM, by block.
#[derive(Debug)]
pub(crate) struct Sums {
    rows: Vec<Option<Row>>,
    dirty: Vec<u32>,
    pages: usize,
}

impl Sums {
    /// Of `blocks` blocks of `pages` pages.
    pub fn new(blocks: u32, pages: u32) -> Sums {
        let rows = std::iter::repeat_with(|| None).take(blocks as usize).collect();
        Sums { rows, dirty: Vec::new(), pages: pages as usize }
    }

    /// Blocks that there are.
    pub fn blocks(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The checksum of a page; 0: it was not written. None: the row is not in DRAM.
    pub fn get(&self, block: u32, page: u32) -> Option<u64> {
        self.rows[block as usize].as_ref().map(|row| row.sums[page as usize])
    }

    /// That of a page of a block whose row is in DRAM.
    pub fn set(&mut self, block: u32, page: u32, sum: u64) {
        let row = self.rows[block as usize].as_mut().expect("a block is erased before it is written");
        row.sums[page as usize] = sum;
        if !std::mem::replace(&mut row.dirty, true) {
            self.dirty.push(block);
        }
    }

    /// Nothing of a block is written.
    pub fn clear(&mut self, block: u32) {
        let row = Row { sums: vec![0; self.pages].into_boxed_slice(), dirty: true };
        if !self.rows[block as usize].replace(row).is_some_and(|old| old.dirty) {
            self.dirty.push(block);
        }
    }

    /// The row of a block, as it is in the file, unless it is in DRAM.
    pub fn load(&mut self, block: u32, bytes: &[u8]) {
        let sums = bytes.chunks_exact(8).take(self.pages).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
        self.rows[block as usize].get_or_insert_with(|| Row { sums: sums.collect(), dirty: false });
    }

    /// A row that differs from what is in the file, for `into`; it counts as written from now on.
    pub fn take_dirty(&mut self, into: &mut [u8]) -> Option<u32> {
        let block = self.dirty.pop()?;
        let row = self.rows[block as usize].as_mut().expect("what is dirty is here");
        row.dirty = false;
        into.fill(0);
        for (bytes, sum) in into.chunks_exact_mut(8).zip(&row.sums) {
            bytes.copy_from_slice(&sum.to_le_bytes());
        }
        Some(block)
    }
}
