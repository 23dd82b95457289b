//! What the memory waits for beside DRAM and its link.

use sim::{EventQueue, Lane, Schedule, Time};

use nand::Nand;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Event {
    /// The head of the translation queue has its place.
    #[default]
    Translated,
    Flash(nand::Event),
}

pub(super) const TRANSLATED: Lane = Lane(Nand::LANES as u8);

/// What the flash sees of the queue.
pub(super) struct View<'a>(pub &'a mut EventQueue<Event>);

impl View<'_> {
    pub const LANES: usize = Nand::LANES + 1;
}

impl Schedule<nand::Event> for View<'_> {
    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.0.push(lane, when, Event::Flash(event));
    }
}
