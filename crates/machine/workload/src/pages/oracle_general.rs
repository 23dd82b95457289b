//! libCacheSim's `oracleGeneral` format: 24 bytes per request, little-endian, without a header.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 to 3 | time in seconds |
//! | 4 to 11 | object |
//! | 12 to 15 | its size; requests of 0 bytes are ignored, as in libCacheSim |
//! | 16 to 23 | time of its next request, counted in requests from the start; -1 for never |
//!
//! Source: libCacheSim's `oracleGeneralBin.h`. Each object counts as one page whatever its size, because a pager's
//! pages all have the same size. The time of the next request is validated but not used: policies that know the future
//! compute it from the trace.

use crate::trace::fields::{Fault, Field};

const NEXT: Field = Field::new("next_access_vtime", "-1 or a number of requests from 0");

/// Bytes of a record.
pub(crate) const RECORD: usize = 24;

/// Returns time, object, size, and time of the object's next request.
pub(crate) fn fields(record: &[u8]) -> (u32, u64, u32, i64) {
    let u32_at = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
    (u32_at(0), u64_at(4), u32_at(12), u64_at(16) as i64)
}

/// Returns the page of a record, or `None` if it requests zero bytes.
pub(crate) fn parse(record: &[u8]) -> Result<Option<u64>, Box<Fault>> {
    let (_, object, size, next) = fields(record);
    if next < -1 {
        return Err(Fault::new(&NEXT, next.to_string()));
    }
    Ok((size > 0).then_some(object))
}

/// Returns whether the records at the start of a trace are consistent with the format: times do not decrease, and next
/// requests are in the future.
pub(crate) fn is_one(head: &[u8]) -> bool {
    let mut records = head.chunks_exact(RECORD).take(64).map(fields).enumerate();
    let mut before = 0;
    records.len() > 0
        && head.contains(&0)
        && records.all(|(index, (time, _, _, next))| {
            let fits = time >= before && (next == -1 || next > index as i64);
            before = time;
            fits
        })
}
