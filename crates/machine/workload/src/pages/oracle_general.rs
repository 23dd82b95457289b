//! libCacheSim's `oracleGeneral`: 24 bytes a request, little-endian, without a header.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 to 3 | time in seconds |
//! | 4 to 11 | object |
//! | 12 to 15 | its size; a request of 0 bytes is passed over, as libCacheSim does |
//! | 16 to 23 | when it is requested next, counted in requests from the start; -1 for never |
//!
//! Source: libCacheSim's `oracleGeneralBin.h`. An object is taken for a page, whatever its size: a pager's pages are
//! all of one. When it comes next is checked to be a number that the format allows, and not used: what a policy that
//! knows the future is told is computed from the trace.

use crate::trace::fields::{Fault, Field};

const NEXT: Field = Field::new("next_access_vtime", "-1 or a number of requests from 0");

/// Bytes of a record.
pub(crate) const RECORD: usize = 24;

/// Time, object, size, and when the object is requested next.
pub(crate) fn fields(record: &[u8]) -> (u32, u64, u32, i64) {
    let u32_at = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
    (u32_at(0), u64_at(4), u32_at(12), u64_at(16) as i64)
}

/// The page of a record; none if it asks for nothing.
pub(crate) fn parse(record: &[u8]) -> Result<Option<u64>, Box<Fault>> {
    let (_, object, size, next) = fields(record);
    if next < -1 {
        return Err(Fault::new(&NEXT, next.to_string()));
    }
    Ok((size > 0).then_some(object))
}

/// Whether the records at the start of a trace may all be such: times that do not go back, later next requests.
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
