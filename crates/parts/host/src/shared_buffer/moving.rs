//! Data on their way between memory and data buffer: the caches made ready, the DMA engine or the processor, the caches
//! cleaned up, part by part.

use ::shared_buffer::{SECTOR, WORD};
use media::Op;
use sim::{Schedule, Time};

use crate::caches::maintenance;

use super::event::push;
use super::mover::Chunk;
use super::{Event, Issued, Memory, Said, SharedBuffer, Transfer};

impl SharedBuffer {
    /// The data of a command may be moved.
    pub(super) fn add(
        &mut self,
        now: Time,
        io: u32,
        piece: u32,
        bytes: u64,
        memory: &mut impl Memory,
        s: &mut impl Schedule<Event>,
    ) {
        let place = &mut self.ios[io as usize];
        if place.mover.is_idle() {
            place.moving = now;
        }
        place.mover.add(piece, bytes);
        self.prepare(now, io, memory, s);
    }

    /// Has the caches made ready for the next part, if none is.
    pub(super) fn prepare(&mut self, now: Time, io: u32, memory: &mut impl Memory, s: &mut impl Schedule<Event>) {
        let most = match &self.config.transfer {
            Transfer::Dma(dma) => dma.piece,
            Transfer::Copy { .. } => u64::MAX,
        };
        let place = &mut self.ios[io as usize];
        // The processor copies one part after the other.
        if matches!(self.config.transfer, Transfer::Copy { .. }) && place.mover.is_moving() {
            return;
        }
        let Some(chunk) = place.mover.prepare(most) else { return };
        let core = place.core;
        match self.config.transfer {
            Transfer::Dma(_) => {
                let at = self.cores.submit(now, core, self.invalidation(chunk.bytes), s);
                push(s, at, Event::Prepared(io));
            }
            Transfer::Copy { word } => {
                place.mover.prepared();
                place.mover.start();
                let store = place.request.op == Op::Write;
                let offset = self.offset(&chunk);
                let length = memory.copy(now, offset, chunk.bytes, word, store, self.config.uncached);
                let at = self.cores.submit(now, core, length, s);
                push(s, at, Event::Settled(io));
            }
        }
    }

    fn invalidation(&self, bytes: u64) -> Time {
        maintenance(self.config.invalidation_512kib, bytes)
    }

    /// Byte of the region at which a part's data begin.
    fn offset(&self, chunk: &Chunk) -> usize {
        let extents = self.issued[chunk.piece as usize].expect("a piece that is out").command.extents;
        let mut left = chunk.from / SECTOR as u64;
        for extent in extents.as_slice() {
            if left < u64::from(extent.sectors) {
                return self.layout.db_sector(extent.index + left as u32) * WORD;
            }
            left -= u64::from(extent.sectors);
        }
        panic!("{chunk:?} lies behind {extents:?}")
    }

    /// Sets the next transfer up, if there is one that can go; from the handler, or as other work.
    pub(super) fn start(&mut self, now: Time, at: Time, io: u32, handler: bool, s: &mut impl Schedule<Event>) {
        let Transfer::Dma(dma) = self.config.transfer else { unreachable!("a copy has no transfers") };
        let place = &mut self.ios[io as usize];
        let Some(chunk) = place.mover.start() else { return };
        let runs = chunk.bytes.div_ceil(dma.run);
        let length = dma.setup + dma.descriptor * (runs - 1);
        let core = place.core;
        let at = if handler {
            self.cores.interrupt(now, core, at, length, s).to
        } else {
            self.cores.submit(now, core, length, s)
        };
        push(s, at, Event::Started(io));
    }

    /// A transfer that was set up goes to the engine; the caches are made ready for the next.
    pub(super) fn transfer(&mut self, now: Time, io: u32, memory: &mut impl Memory, s: &mut impl Schedule<Event>) {
        let Transfer::Dma(dma) = self.config.transfer else { unreachable!("a copy has no transfers") };
        let place = &self.ios[io as usize];
        let store = place.request.op == Op::Write;
        let chunk = place.mover.in_flight();
        let (from, offset) = (self.dma.begins(now), self.offset(&chunk));
        let length = memory.transfer(from, offset, chunk.bytes, store, self.dma.least(chunk.bytes));
        let end = self.dma.transfer(from, chunk.bytes, length, self.track(), s);
        push(s, end + dma.delivery, Event::Moved(io));
        self.prepare(now, io, memory, s);
    }

    /// The interrupt of a transfer: its handler starts the next, and has the caches cleaned up.
    pub(super) fn moved(&mut self, now: Time, io: u32, s: &mut impl Schedule<Event>) {
        let Transfer::Dma(dma) = self.config.transfer else { unreachable!("a copy has no transfers") };
        let core = self.ios[io as usize].core;
        let handled = self.cores.interrupt(now, core, now, dma.handler, s).to;
        let chunk = self.ios[io as usize].mover.moved();
        self.start(now, handled, io, true, s);
        let at = self.cores.submit(now, core, self.invalidation(chunk.bytes), s);
        push(s, at, Event::Settled(io));
    }

    /// A part of a command's data is where it belongs.
    pub(super) fn settled(
        &mut self,
        now: Time,
        io: u32,
        memory: &mut impl Memory,
        s: &mut impl Schedule<Event>,
        said: &mut Vec<Said>,
    ) {
        let place = &mut self.ios[io as usize];
        if matches!(self.config.transfer, Transfer::Copy { .. }) {
            place.mover.moved();
        }
        let chunk = place.mover.settled();
        let (core, op) = (place.core, place.request.op);
        if place.mover.is_idle() {
            self.counts.interface += now - place.moving;
        }
        if chunk.last {
            if op == Op::Write {
                let command = self.issued[chunk.piece as usize].expect("a piece that is out").command;
                let length = self.entry_time(now, &command, memory);
                let at = self.cores.submit(now, core, length, s);
                push(s, at, Event::Ring(chunk.piece));
            } else {
                let Issued { command, .. } = self.issued[chunk.piece as usize].expect("a piece that is out");
                said.push(Said::Emptied { piece: chunk.piece, extents: command.extents });
                self.done(now, chunk.piece, s);
                self.issue(now, memory, s);
            }
        }
        self.prepare(now, io, memory, s);
    }
}
