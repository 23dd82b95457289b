//! A copy of the flash outside the simulation, such as in a file, that outlives the machine.

use media::{BlockAddr, PageAddr, Status, Tag};
use nand::{PayloadKind, Store, Torn};
use sim::Time;
use system::parts::Promise;

use super::Machine;

/// A copy of the contents of flash. The machine reports each change at the virtual time at which it happens.
pub trait Mirror: Send {
    /// Copies a page that was programmed or torn.
    fn page(&mut self, store: &Store, page: PageAddr);

    /// Copies the state of a block that was erased, failed to erase, or became bad.
    fn block(&mut self, store: &Store, block: BlockAddr);

    /// Copies everything.
    fn all(&mut self, store: &Store);

    /// Returns the status of a command that changes flash and ends now: not a success while the copy lacks changes,
    /// which it first tries again to make.
    fn follow(&mut self, store: &Store) -> Status;

    /// Makes everything copied so far durable, with all programs of sequences below `oldest`. Returns the status of the
    /// command that waits for it: a success only if everything is durable.
    fn barrier(&mut self, store: &Store, oldest: u64) -> Status;
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

    /// Makes the copy durable. Returns the status of the commands that wait for it.
    pub(super) fn mirror_barrier(&mut self) -> Status {
        let oldest = self.ftl.oldest_sequence();
        self.mirror.as_mut().map_or(Status::Ok, |mirror| mirror.barrier(self.nand.store(), oldest))
    }

    /// Returns the status of a successful command after the copy has kept the command's promise, or failed to.
    pub(super) fn mirror_end(&mut self, tag: Tag) -> Status {
        let promise = if self.mirror.is_some() { self.ftl.promise(tag) } else { Promise::Nothing };
        match (promise, &mut self.mirror) {
            (Promise::Durable, _) => self.mirror_barrier(),
            (Promise::Written, Some(mirror)) => mirror.follow(self.nand.store()),
            _ => Status::Ok,
        }
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
