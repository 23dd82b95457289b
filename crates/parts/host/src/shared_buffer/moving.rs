//! Movement of data between memory and data buffer: for each fragment, cache preparation, transfer by DMA engine or
//! processor, and cache maintenance.

use ::shared_buffer::{SECTOR, WORD};
use media::Op;
use sim::{Schedule, Time};

use crate::caches::maintenance;

use super::event::push;
use super::mover::Chunk;
use super::{DmaConfig, DriverEvent, Issued, Memory, Said, SharedBuffer, Transfer};

impl SharedBuffer {
    /// Starts to move the data of a command.
    pub(super) fn add(
        &mut self,
        now: Time,
        io: u32,
        piece: u32,
        bytes: u64,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
    ) {
        let place = &mut self.ios[io as usize];
        if place.mover.is_idle() {
            place.moving = now;
        }
        place.mover.add(piece, bytes);
        self.prepare(now, io, memory, s);
    }

    /// Prepares the caches for the next fragment, if none is being prepared.
    pub(super) fn prepare(&mut self, now: Time, io: u32, memory: &mut impl Memory, s: &mut impl Schedule<DriverEvent>) {
        let most = match self.config.transfer {
            Transfer::Dma => self.config.dma.piece,
            Transfer::Copy => u64::MAX,
        };
        let place = &mut self.ios[io as usize];
        // The processor copies one fragment at a time.
        if self.config.transfer == Transfer::Copy && place.mover.is_moving() {
            return;
        }
        let Some(chunk) = place.mover.prepare(most) else { return };
        let core = place.core;
        match self.config.transfer {
            Transfer::Dma => {
                let at = self.cores.submit(now, (core, io), self.invalidation(chunk.bytes), s);
                push(s, at, DriverEvent::Prepared(io));
            }
            Transfer::Copy => {
                place.mover.prepared();
                place.mover.start();
                let store = place.request.op == Op::Write;
                let offset = self.offset(&chunk);
                let length = memory.copy(now, offset, chunk.bytes, self.config.word, store, self.config.uncached);
                let at = self.cores.submit(now, (core, io), length, s);
                push(s, at, DriverEvent::Settled(io));
            }
        }
    }

    fn dma_config(&self) -> DmaConfig {
        assert_eq!(self.config.transfer, Transfer::Dma, "a copy has no transfers");
        self.config.dma
    }

    fn invalidation(&self, bytes: u64) -> Time {
        maintenance(self.config.invalidation_512kib, bytes)
    }

    /// Returns the byte of the region at which a fragment's data begins.
    fn offset(&self, chunk: &Chunk) -> usize {
        let extents = self.issued[chunk.piece as usize].expect("an issued command").command.extents;
        let mut left = chunk.from / SECTOR as u64;
        for extent in extents.as_slice() {
            if left < u64::from(extent.sectors) {
                return self.layout.db_sector(extent.index + left as u32) * WORD;
            }
            left -= u64::from(extent.sectors);
        }
        panic!("{chunk:?} lies beyond {extents:?}")
    }

    /// Sets up the next transfer if a fragment is ready, in the handler or as other work.
    pub(super) fn start(&mut self, now: Time, at: Time, io: u32, handler: bool, s: &mut impl Schedule<DriverEvent>) {
        let dma = self.dma_config();
        let place = &mut self.ios[io as usize];
        let Some(chunk) = place.mover.start() else { return };
        let length = dma.setup + dma.descriptor * dma.further_descriptors(chunk.bytes);
        let core = place.core;
        let at = if handler {
            self.cores.complete(now, (core, io), at, length, s).to
        } else {
            self.cores.submit(now, (core, io), length, s)
        };
        push(s, at, DriverEvent::Started(io));
    }

    /// Passes a transfer that has been set up to the engine, and prepares the caches for the next.
    pub(super) fn transfer(
        &mut self,
        now: Time,
        io: u32,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
    ) {
        let dma = self.dma_config();
        let place = &self.ios[io as usize];
        let store = place.request.op == Op::Write;
        let chunk = place.mover.in_flight();
        let (from, offset) = (self.dma.begins(now), self.offset(&chunk));
        let length = memory.transfer(from, offset, chunk.bytes, store, self.dma.least(chunk.bytes));
        let end = self.dma.transfer((now, from), chunk.bytes, length, (self.track(), io), s);
        push(s, end + dma.delivery, DriverEvent::Moved(io));
        self.prepare(now, io, memory, s);
    }

    /// Handles the interrupt of a transfer: starts the next, and maintains the caches.
    pub(super) fn moved(&mut self, now: Time, io: u32, s: &mut impl Schedule<DriverEvent>) {
        let dma = self.dma_config();
        let core = self.ios[io as usize].core;
        let handled = self.cores.complete(now, (core, io), now, dma.handler, s).to;
        let chunk = self.ios[io as usize].mover.moved();
        self.start(now, handled, io, true, s);
        let at = self.cores.submit(now, (core, io), self.invalidation(chunk.bytes), s);
        push(s, at, DriverEvent::Settled(io));
    }

    /// Handles the arrival of a fragment at its destination.
    pub(super) fn settled(
        &mut self,
        now: Time,
        io: u32,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
        said: &mut Vec<Said>,
    ) {
        let place = &mut self.ios[io as usize];
        if self.config.transfer == Transfer::Copy {
            place.mover.moved();
        }
        let chunk = place.mover.settled();
        let (core, op) = (place.core, place.request.op);
        if place.mover.is_idle() {
            self.counts.interface += now - place.moving;
        }
        if chunk.last {
            if op == Op::Write {
                let command = self.issued[chunk.piece as usize].expect("an issued command").command;
                let length = self.entry_time(now, &command, memory);
                let at = self.cores.submit(now, (core, io), length, s);
                push(s, at, DriverEvent::Ring(chunk.piece));
            } else {
                let Issued { command, .. } = self.issued[chunk.piece as usize].expect("an issued command");
                said.push(Said::Emptied { piece: chunk.piece, extents: command.extents });
                self.done(now, chunk.piece, s);
                self.issue(now, memory, s);
            }
        }
        self.prepare(now, io, memory, s);
    }
}
