//! Performs the hybrid controller's actions.

use dram::{Ack, Request, RequestKind};
use dram_cache::{DramRequest, Move, Port, Purpose};
use link::LineLink;
use media::line::LineKind;
use sim::Time;

use super::super::dram::Modules;
use super::data::Contents;
use super::dispatch_queue::DispatchQueue;
use super::link_fifo::LinkFifo;

/// Encodes the purpose of a DRAM request as a number: its kind in the upper half, the object in the lower.
fn word_of(purpose: Purpose) -> u64 {
    let (kind, of) = match purpose {
        Purpose::Fill(id) => (0, id),
        Purpose::WriteBack(id) => (6, id),
        Purpose::LateLine => (1, 0),
        Purpose::Tags(read) => (2, read),
        Purpose::TagsBack => (3, 0),
        Purpose::Store(fetch) => (4, fetch),
        Purpose::ReadOut(slot) => (5, slot),
    };
    kind << 32 | u64::from(of)
}

/// See [`word_of`].
pub(super) fn purpose_of(word: u64) -> Purpose {
    let of = word as u32;
    match word >> 32 {
        0 => Purpose::Fill(of),
        6 => Purpose::WriteBack(of),
        1 => Purpose::LateLine,
        2 => Purpose::Tags(of),
        3 => Purpose::TagsBack,
        4 => Purpose::Store(of),
        5 => Purpose::ReadOut(of),
        _ => unreachable!("{word:#x} is no request of this memory"),
    }
}

/// The parts on which the hybrid controller acts.
pub(super) struct Environment {
    /// The present time.
    pub now: Time,
    pub modules: Modules,
    /// A DRAM request was submitted.
    pub dram_changed: bool,
    pub dispatch: DispatchQueue,
    pub link: LineLink,
    /// Answers on their way back.
    pub answers: LinkFifo<u32>,
    pub contents: Option<Box<Contents>>,
}

impl Port for Environment {
    fn dram(&mut self, request: DramRequest) {
        self.dram_changed = true;
        let DramRequest { purpose, port, write, address, bytes } = request;
        let kind = if write { RequestKind::Write } else { RequestKind::Read };
        let ack = if purpose.is_awaited() { Ack::Accepted } else { Ack::Silent };
        self.modules.memory.submit(self.now, Request { id: word_of(purpose), port, kind, address, bytes, ack });
    }

    fn fetch(&mut self, fetch: u32, page: u64) {
        self.dispatch.fetch(fetch, page);
    }

    fn write(&mut self, slot: u32, page: u64) {
        self.dispatch.write(slot, page);
    }

    fn answer(&mut self, id: u32, kind: LineKind) {
        let at = self.link.answer(self.now, kind == LineKind::Fill);
        self.answers.send(id, at);
        if let Some(contents) = &mut self.contents {
            contents.answer(id);
        }
    }

    fn move_data(&mut self, movement: Move) {
        if let Some(contents) = &mut self.contents {
            contents.apply(movement);
        }
    }
}
