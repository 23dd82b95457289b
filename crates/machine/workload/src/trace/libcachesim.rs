//! libCacheSim's traces of objects, for a drive: its `oracleGeneral` records, and its text of an object a line.
//!
//! Source: libCacheSim's `oracleGeneralBin.h` and its converter, which names an object of a block trace by its 512-byte
//! sector: the object of a record is where the request starts. A record has a size in bytes and a time in whole seconds;
//! the text has neither: its objects are blocks of 4 KiB, and its requests follow one another. Neither has operations:
//! all are reads. Its CSV has columns that its user names, as `--columns` does here.

use media::SECTOR;

use super::RecordOp;
use super::devices::Devices;
use super::fields::{BlankFields, Fault, Field, SECTOR_MAX};
use super::reader::{Entry, Step};
use crate::pages::oracle_general;

/// Bytes of a record.
pub(super) use crate::pages::oracle_general::RECORD;

/// Bytes of an object of the text.
const BLOCK: u64 = 4096;

const SECTOR_OBJECT: Field = Field::new("obj_id", SECTOR_MAX);
const OBJECT: Field = Field::new("object", "a whole number of 4 KiB blocks, below 2^52");

/// One record.
pub(super) fn parse(record: &[u8], devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let (seconds, object, size, _) = oracle_general::fields(record);
    oracle_general::parse(record)?;
    let Some(offset) = object.checked_mul(SECTOR) else {
        return Err(Fault::new(&SECTOR_OBJECT, object.to_string()));
    };
    let ticks = u64::from(seconds) * 1_000_000_000;
    Ok(Step::Request(Entry::new(ticks, devices.number(0), RecordOp::Read, offset, u64::from(size))))
}

/// One line of the text.
#[inline(always)]
pub(super) fn parse_text(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let object = fields.number(&OBJECT)?;
    fields.end()?;
    let Some(offset) = object.checked_mul(BLOCK) else { return Err(Fault::new(&OBJECT, object.to_string())) };
    Ok(Step::Request(Entry { timed: false, ..Entry::new(0, devices.number(0), RecordOp::Read, offset, BLOCK) }))
}
