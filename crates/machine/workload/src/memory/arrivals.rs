//! A first reading of a trace whose accesses arrive at cycles.

use std::path::Path;

use super::{Op, Reader};
use crate::trace::TraceError;

/// Facts about a trace whose accesses arrive at cycles of the memory's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Cycle of the first access.
    pub first: u64,
    /// The highest cycle; the sum of the cycles if they are relative.
    pub last: u64,
    /// Accesses with an earlier cycle than one before them. They follow it immediately.
    pub reordered: u64,
    /// The highest address.
    pub highest: u64,
    /// Whether cycles count from the end of the access before.
    pub relative: bool,
}

impl Arrivals {
    /// Reads a trace from start to end. Returns `None` if its accesses have no cycles.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn survey(path: &Path) -> Result<Option<Arrivals>, TraceError> {
        let mut reader = Reader::open(path, None)?;
        let mut found = Arrivals { relative: reader.counts_from_previous(), ..Arrivals::default() };
        let mut chunk = Vec::new();
        let mut begun = false;
        loop {
            reader.next_chunk(&mut chunk)?;
            if chunk.is_empty() {
                return Ok(begun.then_some(found));
            }
            for access in &chunk {
                let Some(cycle) = access.cycle else { return Ok(None) };
                if !std::mem::replace(&mut begun, true) {
                    found.first = cycle;
                }
                if found.relative {
                    found.last = found.last.saturating_add(cycle);
                } else {
                    found.reordered += u64::from(cycle < found.last);
                    found.last = found.last.max(cycle);
                }
                found.highest = found.highest.max(access.address);
                *(if access.op == Op::Write { &mut found.writes } else { &mut found.reads }) += 1;
            }
        }
    }
}
