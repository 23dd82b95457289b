//! Events of the memory, apart from its DRAM and its link.

use sim::{EventQueue, Lane, Schedule, Time};

use nand::Nand;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HybridEvent {
    /// The translation of the queue's head ends.
    #[default]
    Translated,
    Flash(nand::Event),
}

pub(super) const TRANSLATED: Lane = Lane(Nand::LANES as u8);

/// The flash's view of the event queue.
pub(super) struct View<'a>(pub &'a mut EventQueue<HybridEvent>);

impl View<'_> {
    pub const LANES: usize = Nand::LANES + 1;
}

impl Schedule<nand::Event> for View<'_> {
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.0.push(lane, when, HybridEvent::Flash(event));
    }
}
