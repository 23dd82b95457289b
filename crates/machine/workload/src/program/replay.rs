//! A memory trace as a program of one thread.

use std::collections::BTreeMap;
use std::path::Path;

use media::{Act, Step};

use super::{Backing, Before, Making, Regions, Thread};
use crate::error::Error;
use crate::memory::{Access, Format, Op, Reader};
use crate::trace::TraceError;

/// What a trace touches is brought together in pieces of this many bytes, so that memory need not be as large as its
/// addresses are far apart.
const PIECE: u64 = 64 << 10;

/// `trace`: `file`, beside this one; `cached`: its accesses go through the processor's caches, which is what is done with
/// those of a trace that does not say that they are what caches have missed.
pub(super) fn make(making: &mut Making<'_>, _: &'static str) -> Result<(), Error> {
    let name = making.keys.text("file", "a memory trace")?;
    let replay = Replay::open(&making.folder.join(name), making.regions)?;
    if !making.keys.flag("cached", !replay.holds_misses())? {
        *making.uncached |= 1_u64.checked_shl(making.threads.len() as u32).unwrap_or(0);
    }
    making.threads.push(Box::new(replay));
    Ok(())
}

/// A trace that is replayed.
pub(super) struct Replay {
    reader: Reader,
    chunk: Vec<Access>,
    /// Pieces of the trace's addresses, and where they are.
    pieces: BTreeMap<u64, u64>,
    last: (u64, u64),
    /// Instructions that were fetched since the last access.
    fetched: u64,
}

impl Replay {
    /// Reads the trace once, to lay out what it touches; its addresses keep their order.
    pub fn open(path: &Path, regions: &mut Regions) -> Result<Replay, Error> {
        let mut reader = Reader::open(path, None)?;
        let (mut pieces, mut chunk, mut last) = (BTreeMap::new(), Vec::new(), u64::MAX);
        loop {
            reader.next_chunk(&mut chunk)?;
            if chunk.is_empty() {
                break;
            }
            for access in chunk.iter().filter(|access| access.op != Op::Fetch) {
                let piece = access.address / PIECE;
                if piece != last {
                    pieces.insert(piece, 0);
                    last = piece;
                }
            }
        }
        let base = regions.add("memory", Backing::Anonymous, Before::Found, (pieces.len() as u64).max(1) * PIECE);
        for (number, place) in pieces.values_mut().enumerate() {
            *place = base + number as u64 * PIECE;
        }
        let reader = Reader::open(path, None)?;
        Ok(Replay { reader, chunk, pieces, last: (u64::MAX, 0), fetched: 0 })
    }

    /// Whether its accesses are what caches of a processor have filled and written back.
    pub fn holds_misses(&self) -> bool {
        match self.reader.format() {
            Format::Nandram => self.reader.header().is_some_and(|header| !header.caches.is_empty()),
            Format::Ramulator | Format::Dram => true,
            Format::Lackey => false,
        }
    }

    fn place(&mut self, address: u64) -> u64 {
        let piece = address / PIECE;
        if self.last.0 != piece {
            self.last = (piece, self.pieces[&piece]);
        }
        self.last.1 + address % PIECE
    }
}

impl Thread for Replay {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        let mut chunk = std::mem::take(&mut self.chunk);
        while steps.is_empty() {
            self.reader.next_chunk(&mut chunk)?;
            if chunk.is_empty() {
                break;
            }
            for access in &chunk {
                self.fetched += access.instructions;
                if access.op == Op::Fetch {
                    continue;
                }
                // The access is itself an instruction.
                let instructions = u32::try_from(self.fetched.saturating_sub(1)).unwrap_or(u32::MAX);
                self.fetched = 0;
                let act = if access.op == Op::Write { Act::Store } else { Act::Load };
                let address = self.place(access.address);
                steps.push(Step { instructions, act, bytes: access.bytes, address });
            }
        }
        self.chunk = chunk;
        Ok(())
    }
}
