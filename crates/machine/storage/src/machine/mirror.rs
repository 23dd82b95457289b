//! A copy of the flash outside the simulation, such as in a file, that outlives the machine.

use media::{BlockAddr, PageAddr};
use nand::{PayloadKind, Store, Torn};
use sim::Time;

use super::Machine;

/// A copy of the contents of flash. The machine reports each change at the virtual time at which it happens.
pub trait Mirror: Send {
    /// Copies a page that was programmed or torn.
    fn page(&mut self, store: &Store, page: PageAddr);

    /// Copies the state of a block that was erased, failed to erase, or became bad.
    fn block(&mut self, store: &Store, block: BlockAddr);

    /// Copies everything.
    fn all(&mut self, store: &Store);

    /// Makes everything copied so far durable, with all programs of sequences below `oldest`. Returns false if it is not durable because the copy has failed: then the
    /// command that waits for it never completes.
    fn barrier(&mut self, store: &Store, oldest: u64) -> bool;
}

impl Machine {
    /// Copies every change of the flash to `mirror` from now on.
    ///
    /// # Panics
    /// Panics if the flash does not keep whole payload.
    pub fn keep_mirror(&mut self, mirror: Box<dyn Mirror>) {
        assert_eq!(self.nand.store().payload(), PayloadKind::Bytes, "payload of a mirror");
        self.mirror = Some(mirror);
    }

    /// Tears in `store`, a copy of the flash, the programs and erases that a power cut after the last event would tear.
    /// Returns them.
    pub fn tear_copy(&self, now: Time, store: &mut Store) -> Vec<Torn> {
        self.nand.tear_copy(now, store)
    }

    /// Copies everything after a power cut, which tears pages and blocks.
    pub(super) fn mirror_all(&mut self) {
        if let Some(mirror) = &mut self.mirror {
            mirror.all(self.nand.store());
        }
    }

    /// Makes the copy durable. Returns false if it cannot be.
    pub(super) fn mirror_barrier(&mut self) -> bool {
        let oldest = self.ftl.oldest_sequence();
        self.mirror.as_mut().is_none_or(|mirror| mirror.barrier(self.nand.store(), oldest))
    }

    /// Copies a page or a block after an operation on it.
    pub(super) fn mirror_write(&mut self, kind: nand::OpKind, page: PageAddr) {
        let Some(mirror) = &mut self.mirror else { return };
        match kind {
            nand::OpKind::Program => mirror.page(self.nand.store(), page),
            _ => mirror.block(self.nand.store(), page.block()),
        }
    }
}
