//! Boot mode: before the first command, the first bytes of the storage can be read without the command set, like in
//! eMMC's boot mode; Seo et al. (7.2) suggest it for a device on the memory bus.
//!
//! A boot loader in ROM uses no queues, no interrupts and no DMA engine. It writes the sectors it needs to a register
//! of the device, polls another until they are in the data buffer, and copies them by loads, one window after the
//! other. The first command, or any other request, ends boot mode until the next power-on.

use std::collections::VecDeque;

use ::shared_buffer::{Extents, Region, SECTOR, WORD};
use media::{Op, Request, Status};
use sim::{Schedule, Time};

use super::{DriverEvent, Memory, Said, SharedBuffer, push};
use crate::Completed;

/// Word of the region for the requested window: first sector in the low 32 bits, number of sectors in the high 32 bits.
/// It and the next word are in the header's cache line, after the header's fields.
const WINDOW: usize = 4;
/// Word that is nonzero when the window is in the data buffer: the status plus one.
const READY: usize = 5;
/// Bytes per load: a word of the processor.
const LOAD: u32 = 4;

/// State of a boot loader.
#[derive(Debug)]
pub(super) struct Boot {
    /// Bytes that can be read in boot mode.
    bytes: u64,
    /// True until the first command is sent.
    on: bool,
    /// Requests, the first of which is being read.
    queue: VecDeque<u32>,
    /// Bytes of the first request read so far, and bytes of the current window.
    done: u64,
    window: u64,
    status: Status,
}

impl Boot {
    pub fn new(bytes: u64) -> Boot {
        Boot { bytes, on: bytes > 0, queue: VecDeque::new(), done: 0, window: 0, status: Status::Ok }
    }

    /// Returns true if a request is read in boot mode. If not, boot mode ends.
    pub fn takes(&mut self, request: &Request) -> bool {
        self.on &= request.op == Op::Read && request.end() <= self.bytes;
        self.on
    }

    /// Returns true while a request is being read.
    pub fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }
}

impl SharedBuffer {
    /// Queues a request for reading in boot mode.
    pub(super) fn boot(&mut self, now: Time, io: u32, memory: &mut impl Memory, s: &mut impl Schedule<DriverEvent>) {
        self.boot.queue.push_back(io);
        if self.boot.queue.len() == 1 {
            self.boot_window(now, memory, s);
        }
    }

    /// Requests the next window.
    fn boot_window(&mut self, now: Time, memory: &mut impl Memory, s: &mut impl Schedule<DriverEvent>) {
        let io = self.boot.queue[0];
        let place = &self.ios[io as usize];
        let most = u64::from(self.driver.split_sectors()) * SECTOR as u64;
        self.boot.window = (place.request.bytes - self.boot.done).min(most);
        let length = self.config.uncached + memory.word(now, WINDOW * WORD, true);
        self.counts.words += 1;
        let at = self.cores.submit(now, (place.core, io), length, s);
        push(s, at, DriverEvent::BootAsked);
    }

    /// Writes the window register, which tells the device what to fetch.
    pub(super) fn boot_asked<R: Region + ?Sized>(&mut self, now: Time, region: &R, said: &mut Vec<Said>) {
        use std::sync::atomic::Ordering::Relaxed;
        let place = &mut self.ios[self.boot.queue[0] as usize];
        place.submitted = now;
        let first = (place.request.offset + self.boot.done) / SECTOR as u64;
        let sectors = (self.boot.window / SECTOR as u64) as u32;
        region.store(READY, 0, Relaxed);
        region.store(WINDOW, first | u64::from(sectors) << 32, Relaxed);
        said.push(Said::Boot { first, sectors });
    }

    /// Handles the end of the device's read of the window, successful or not. A poll of the register will see it.
    pub fn boot_ready<R: Region + ?Sized>(
        &mut self,
        now: Time,
        status: Status,
        region: &R,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
    ) {
        use std::sync::atomic::Ordering::Relaxed;
        region.store(READY, 1 + u64::from(super::to_wire(status) as u8), Relaxed);
        self.boot.status = status;
        let io = self.boot.queue[0];
        let core = self.ios[io as usize].core;
        // The poll that sees it; earlier polls took the time until now.
        let look = self.config.uncached + memory.word(now, READY * WORD, false);
        self.counts.words += 1;
        let offset = self.layout.db_sector(0) * WORD;
        let copy = match status {
            Status::Ok => memory.copy(now + look, offset, self.boot.window, LOAD, false, self.config.uncached),
            _ => Time::ZERO,
        };
        let at = self.cores.submit(now, (core, io), look + copy, s);
        push(s, at, DriverEvent::BootCopied);
    }

    /// Handles the end of the copy of a window.
    pub(super) fn boot_copied(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
        said: &mut Vec<Said>,
    ) {
        let io = self.boot.queue[0];
        let sectors = (self.boot.window / SECTOR as u64) as u32;
        if self.boot.status.is_ok() {
            said.push(Said::Emptied { piece: self.boot_place(), extents: Extents::one(0, sectors) });
            self.counts.booted += self.boot.window;
        }
        self.boot.done += self.boot.window;
        let place = &mut self.ios[io as usize];
        if self.boot.done < place.request.bytes && self.boot.status.is_ok() {
            return self.boot_window(now, memory, s);
        }
        place.open = false;
        said.push(Said::Completed(Completed { io, status: self.boot.status, submitted: place.submitted }));
        self.boot.queue.pop_front();
        (self.boot.done, self.boot.status) = (0, Status::Ok);
        if self.boot.is_busy() {
            self.boot_window(now, memory, s);
        } else {
            self.issue(now, memory, s);
        }
    }

    /// Returns the request that is read in boot mode.
    pub fn boot_io(&self) -> u32 {
        self.boot.queue[0]
    }

    /// Returns the number that identifies a window in the data buffer, above the numbers of all commands.
    pub fn boot_place(&self) -> u32 {
        self.issued.len() as u32
    }
}
