//! A controller's observable state.

use media::BlockAddr;

use crate::space::blocks::Block;
use crate::table::Fault;
use crate::{Actions, Application, Nvmm, Permissions, Stats, Token};

impl Nvmm {
    /// Returns the live tokens, oldest first.
    pub fn tokens(&self) -> impl Iterator<Item = Token> {
        self.epochs.tokens.iter().map(|(token, _)| *token)
    }

    /// Returns the counters so far.
    pub fn stats(&self) -> Stats {
        Stats {
            needed: self.blocks.needed(),
            capacity: self.blocks.capacity(),
            free_versions: self.table.available,
            collected: self.collector.rounds,
            taken_versions: self.table.taken,
            dram_bytes: self.table.bytes_here() + self.blocks.len() as u64 * size_of::<Block>() as u64,
            ..self.stats
        }
    }

    /// Returns whether no operation is under way and no request waits.
    pub fn is_idle(&self) -> bool {
        self.operations.active() == 0 && self.requests.none_waits()
    }

    /// Loads the table's entries for `page` into DRAM. Returns true if they are already there.
    pub fn prefetch(&mut self, page: u32, out: &mut Actions) -> bool {
        match self.chain.fetch(page, &self.table) {
            Err(Fault::Missing(chunk)) => {
                self.load(chunk, out);
                false
            }
            _ => true,
        }
    }

    /// Returns permissions and owner of a page, if its entries are in DRAM; the inner option is `None` if the page does
    /// not exist.
    pub fn ownership(&mut self, page: u32) -> Option<Option<(Permissions, Application)>> {
        self.chain.fetch(page, &self.table).ok()?;
        Some(self.chain.ownership().map(|(status, owner)| (status.permissions(), Application(owner))))
    }

    /// Returns the token that the next sync will return.
    pub fn next_token(&self) -> Token {
        Token(self.epochs.next)
    }

    /// Returns the newest durable commit: the number of the root, and of the last journal group behind it. It grows; a
    /// memory that opens with a smaller one has lost durable data.
    pub fn committed(&self) -> (u64, u64) {
        self.durable.committed()
    }

    /// Reuses free blocks from the first on, and reports blocks that become free through [`released`](Self::released).
    /// For a medium that levels its own wear and can give space back; call it before anything else. On such a medium,
    /// copies cost more than version entries do: collection merges versions only while half of the entries are in use.
    pub fn keep_dense(&mut self) {
        self.blocks.keep_dense();
        self.collector.spares = true;
    }

    /// Lets reads overtake waiting writes of other segments of their page. For a medium whose writes may wait for long,
    /// such as a file on a full disk.
    pub fn let_reads_overtake(&mut self) {
        self.requests.reads_overtake = true;
    }

    /// Keeps `blocks` more blocks from data, so that collection copies less; call it before anything else.
    pub fn reserve(&mut self, blocks: u32) {
        self.blocks.reserve(blocks);
    }

    /// Returns the number of free blocks that were written and not yet taken by [`released`](Self::released).
    pub fn releasable(&self) -> usize {
        self.blocks.releasable()
    }

    /// Takes the last block that became free and still is: nothing in it is needed, whatever happens.
    pub fn released(&mut self) -> Option<BlockAddr> {
        self.blocks.released().map(|block| self.layout.block(block))
    }

    /// Returns all free data blocks, in order.
    pub fn free_blocks(&self) -> impl Iterator<Item = BlockAddr> {
        self.blocks.free_data().map(|block| self.layout.block(block))
    }

    /// Returns the data blocks that the present state or a token needs, in order.
    pub fn blocks_in_use(&self) -> impl Iterator<Item = BlockAddr> {
        let used = self.blocks.iter().filter(|(block, state)| *block >= self.layout.first_data && state.valid > 0);
        used.map(|(block, _)| self.layout.block(block))
    }

    /// Sets whether another process reads what commits so far made durable. Data blocks that become free from then on
    /// are not erased until nobody reads or no other room is left; [`revoked`](Self::revoked) then reports it. Call it
    /// before handling the end of each barrier, since that is where blocks become free.
    pub fn watch(&mut self, watched: bool) {
        self.blocks.watched = watched;
    }

    /// Switches collection off, so that data stays where it is. For a reader; call it before anything else.
    pub fn keep_still(&mut self) {
        self.collector.still = true;
    }

    /// Returns whether blocks kept for readers were given up since the last call: they may be erased once the next
    /// barrier has ended.
    pub fn revoked(&mut self) -> bool {
        self.blocks.take_revocation()
    }

    /// Makes `next` the number of the next token, for a copy that keeps the numbers of its original. The next sync makes it
    /// durable.
    ///
    /// # Panics
    /// If the number may have been given already.
    pub fn number_next_token(&mut self, next: Token) {
        assert!(next.0 >= self.epochs.next, "token {} may exist", next.0);
        self.epochs.next = next.0;
    }

    /// Collects until no block has anything to gain. The next input starts it; [`is_idle`](Self::is_idle) reports its
    /// end.
    pub fn compact(&mut self) {
        self.collector.compact = true;
        self.sweep_first();
    }
}
