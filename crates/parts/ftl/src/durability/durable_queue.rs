//! Commands that complete when data is durable.

use std::collections::VecDeque;

use media::Tag;

/// A command that completes when all data written before it is durable.
#[derive(Clone, Copy, Debug)]
struct Durable {
    tag: Tag,
    /// Waits for slots dirtied up to this epoch.
    epoch: u64,
    /// Waits for programs below this sequence number; set once all those slots are in programs.
    seal: Option<u64>,
    /// Waits for this generation of the trim journal.
    trims: u32,
}

/// Commands that wait until data is durable, in order of arrival.
#[derive(Default)]
pub(crate) struct DurableQueue {
    commands: VecDeque<Durable>,
    /// Number of commands, from the first on, that are sealed.
    sealed: usize,
    /// Commands were added since the last dispatch began.
    due: bool,
}

impl DurableQueue {
    /// Adds the command `tag`: it waits for slots dirtied up to `epoch`, and for generation `trims` of the journal.
    pub(super) fn add(&mut self, tag: Tag, epoch: u64, trims: u32) {
        self.commands.push_back(Durable { tag, epoch, seal: None, trims });
        self.due = true;
    }

    /// Returns true if no command waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Drops all commands.
    pub(crate) fn clear(&mut self) {
        self.commands.clear();
        self.sealed = 0;
    }

    /// Makes all commands wait for `generation` of the trim journal too.
    pub(super) fn wait_for_trims(&mut self, generation: u32) {
        self.commands.iter_mut().for_each(|waiting| waiting.trims = waiting.trims.max(generation));
    }

    /// Makes sealed commands wait for all programs below `sequence`.
    pub(super) fn hold(&mut self, sequence: u64) {
        for seal in self.commands.iter_mut().filter_map(|waiting| waiting.seal.as_mut()) {
            *seal = (*seal).max(sequence);
        }
    }

    /// Seals commands that wait for slots dirtied before `epoch`, all of which are in programs below `sequence`.
    pub(super) fn seal(&mut self, epoch: u64, sequence: u64) {
        while let Some(waiting) = self.commands.get_mut(self.sealed).filter(|waiting| waiting.epoch < epoch) {
            waiting.seal = Some(sequence);
            self.sealed += 1;
        }
    }

    /// Returns the generation of the trim journal that the first command waits for, if all programs that it waits for
    /// are below `oldest`, the oldest sequence number that is not durable.
    pub(super) fn first_programmed(&self, oldest: u64) -> Option<u32> {
        let first = self.commands.front()?;
        (oldest >= first.seal?).then_some(first.trims)
    }

    /// Removes and returns the first command.
    pub(crate) fn take_first(&mut self) -> Option<Tag> {
        let first = self.commands.pop_front()?;
        self.sealed = self.sealed.saturating_sub(1);
        Some(first.tag)
    }

    /// Returns true if a dispatch should serve new commands.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_end_in_order_once_their_programs_are_durable() {
        let mut queue = DurableQueue::default();
        queue.add(Tag(1), 5, 0);
        queue.add(Tag(2), 6, 3);
        assert_eq!(queue.first_programmed(u64::MAX), None);
        queue.seal(6, 20);
        assert_eq!((queue.first_programmed(19), queue.first_programmed(20)), (None, Some(0)));
        assert_eq!(queue.take_first(), Some(Tag(1)));
        assert_eq!(queue.first_programmed(u64::MAX), None);
        queue.seal(7, 30);
        queue.hold(40);
        assert_eq!((queue.first_programmed(39), queue.first_programmed(40)), (None, Some(3)));
        queue.wait_for_trims(4);
        assert_eq!(queue.first_programmed(40), Some(4));
        queue.clear();
        assert!(queue.is_empty() && queue.take_first().is_none());
    }
}
