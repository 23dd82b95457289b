//! Replays a memory trace as a program of one thread.

use std::collections::BTreeMap;
use std::path::Path;

use media::{Act, Step};

use super::builder::{Backing, Builder, InitialState, Regions, Thread};
use crate::error::Error;
use crate::memory::{Access, Format, Op, Reader};
use crate::trace::TraceError;

/// Granularity at which the touched addresses are compacted, so that memory need not span the trace's whole address
/// range.
const BLOCK: u64 = 64 << 10;

/// Builds the program. Keys: `trace`; `file`, relative to this file; `cached`, whether accesses go through the
/// processor's caches. By default they do, unless the trace records cache misses.
pub(super) fn make(builder: &mut Builder<'_>, _: &'static str) -> Result<(), Error> {
    let name = builder.keys.text("file", "a memory trace")?;
    let replay = Replay::open(&builder.folder.join(name), builder.regions)?;
    if !builder.keys.flag("cached", !replay.holds_misses())? {
        *builder.uncached |= 1_u64.checked_shl(builder.threads.len() as u32).unwrap_or(0);
    }
    builder.threads.push(Box::new(replay));
    Ok(())
}

/// A trace being replayed.
pub(super) struct Replay {
    reader: Reader,
    chunk: Vec<Access>,
    /// Maps blocks of the trace's addresses to their new positions.
    blocks: BTreeMap<u64, u64>,
    last: (u64, u64),
    /// Instructions fetched since the last access.
    fetched: u64,
}

impl Replay {
    /// Reads the trace once to lay out the blocks that it touches, in their original order.
    pub fn open(path: &Path, regions: &mut Regions) -> Result<Replay, Error> {
        let mut reader = Reader::open(path, None)?;
        let (mut blocks, mut chunk, mut last) = (BTreeMap::new(), Vec::new(), u64::MAX);
        loop {
            reader.next_chunk(&mut chunk)?;
            if chunk.is_empty() {
                break;
            }
            for access in chunk.iter().filter(|access| access.op != Op::Fetch) {
                let block = access.address / BLOCK;
                if block != last {
                    blocks.insert(block, 0);
                    last = block;
                }
            }
        }
        let base =
            regions.add("memory", Backing::Anonymous, InitialState::Existing, (blocks.len() as u64).max(1) * BLOCK);
        for (number, address) in blocks.values_mut().enumerate() {
            *address = base + number as u64 * BLOCK;
        }
        let reader = Reader::open(path, None)?;
        Ok(Replay { reader, chunk, blocks, last: (u64::MAX, 0), fetched: 0 })
    }

    /// Returns whether the accesses are fills and write-backs of processor caches.
    pub fn holds_misses(&self) -> bool {
        match self.reader.format() {
            Format::Nandram => self.reader.header().is_some_and(|header| !header.caches.is_empty()),
            Format::Ramulator | Format::Dram | Format::Dramsys | Format::ScaleSim => true,
            Format::Lackey => false,
        }
    }

    fn place(&mut self, address: u64) -> u64 {
        let block = address / BLOCK;
        if self.last.0 != block {
            self.last = (block, self.blocks[&block]);
        }
        self.last.1 + address % BLOCK
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
                // The access itself counts as one instruction.
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
