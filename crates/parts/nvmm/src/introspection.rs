//! What can be seen of a controller from outside.

use media::BlockAddr;

use crate::blocks::Block;
use crate::table::Fault;
use crate::{Actions, Application, Nvmm, Permissions, Stats, Token};

impl Nvmm {
    /// Live tokens, oldest first.
    pub fn tokens(&self) -> impl Iterator<Item = Token> {
        self.epochs.tokens.iter().map(|(token, _)| *token)
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        Stats {
            needed: self.blocks.needed(),
            capacity: self.blocks.capacity(),
            free_versions: self.table.available,
            collected: self.collector.rounds,
            dram_bytes: self.table.bytes_here() + self.blocks.len() as u64 * size_of::<Block>() as u64,
            ..self.stats
        }
    }

    /// Nothing is under way and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.operations.active() == 0 && self.queue.is_empty()
    }

    /// Brings what the table has of `page` into DRAM. True if it is there.
    pub fn prefetch(&mut self, page: u32, out: &mut Actions) -> bool {
        match self.chain.fetch(page, &self.table) {
            Err(Fault::Missing(chunk)) => {
                self.load(chunk, out);
                false
            }
            _ => true,
        }
    }

    /// Permissions and owner of a page, if they are in DRAM; within, none if the page is not there.
    pub fn ownership(&mut self, page: u32) -> Option<Option<(Permissions, Application)>> {
        self.chain.fetch(page, &self.table).ok()?;
        Some(self.chain.ownership().map(|(status, owner)| (status.permissions(), Application(owner))))
    }

    /// What the next sync will return.
    pub fn next_token(&self) -> Token {
        Token(self.epochs.next)
    }

    /// The newest commit that is durable: the number of the root, and of the last group of the journal behind it. It grows; a memory
    /// that was opened with less has lost what was durable.
    pub fn committed(&self) -> (u64, u64) {
        self.committed
    }

    /// To be called at first for a medium that levels its own wear and can give space back: free blocks are used again from the
    /// first on, and those that become free are told by [`released`](Self::released).
    pub fn keep_dense(&mut self) {
        self.blocks.keep_dense();
    }

    /// Free blocks that were used, and not taken by [`released`](Self::released).
    pub fn releasable(&self) -> usize {
        self.blocks.releasable()
    }

    /// Takes a block that has become free since and still is, the last of all: nothing in it is needed, whatever happens.
    pub fn released(&mut self) -> Option<BlockAddr> {
        self.blocks.released().map(|block| self.layout.block(block))
    }

    /// All free blocks of data, in order.
    pub fn free_blocks(&self) -> impl Iterator<Item = BlockAddr> {
        self.blocks.free_data().map(|block| self.layout.block(block))
    }

    /// Blocks of data that hold something that the present or a token needs, in order.
    pub fn blocks_in_use(&self) -> impl Iterator<Item = BlockAddr> {
        let used = self.blocks.iter().filter(|(block, state)| *block >= self.layout.first_data && state.valid > 0);
        used.map(|(block, _)| self.layout.block(block))
    }

    /// Says whether somebody else reads what commits left that were durable until now. Of the blocks of data that become free from then
    /// on none is erased, until nobody reads or there is no other room; then [`revoked`](Self::revoked) says so. To be called before
    /// each end of a barrier is handled: what becomes free does so there.
    pub fn watch(&mut self, watched: bool) {
        self.blocks.watched = watched;
    }

    /// To be called at first by whoever only reads and goes back: nothing is collected, so that data stay where they are.
    pub fn keep_still(&mut self) {
        self.still = true;
    }

    /// Whether blocks that were kept for readers are not any more, since this was last asked: they may be erased once the next barrier
    /// has ended.
    pub fn revoked(&mut self) -> bool {
        std::mem::take(&mut self.revoked)
    }

    /// Collects until no block has anything to gain. [`is_idle`](Self::is_idle) says when it is over; input is what sets it going.
    pub fn compact(&mut self) {
        self.collector.compact = true;
        self.sweep_first();
    }
}
