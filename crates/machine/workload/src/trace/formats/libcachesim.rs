//! libCacheSim's object traces, read as block traces: `oracleGeneral` records, and text with one object per line.
//!
//! Source: libCacheSim's `oracleGeneralBin.h` and its converter, which names each object of a block trace by the
//! 512-byte sector at which the request starts. A record has a size in bytes and a time in whole seconds. The text has
//! neither: its objects are blocks of 4 KiB, and its requests are issued one after another. Neither format records
//! operations, so all requests are reads. libCacheSim's CSV has user-defined columns; `--columns` reads it.

use media::SECTOR;

use crate::pages::oracle_general;
use crate::trace::RecordOp;
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field, SECTOR_MAX};
use crate::trace::reader::{Entry, Step};

/// Bytes of a record.
pub(crate) use crate::pages::oracle_general::RECORD;

/// Bytes of an object in the text format.
const BLOCK: u64 = 4096;

const SECTOR_OBJECT: Field = Field::new("obj_id", SECTOR_MAX);
const OBJECT: Field = Field::new("object", "a whole number of 4 KiB blocks, below 2^52");

/// Parses one record.
pub(crate) fn parse(record: &[u8], devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let (seconds, object, size, _) = oracle_general::fields(record);
    oracle_general::parse(record)?;
    let Some(offset) = object.checked_mul(SECTOR) else {
        return Err(Fault::new(&SECTOR_OBJECT, object.to_string()));
    };
    let ticks = u64::from(seconds) * 1_000_000_000;
    Ok(Step::Request(Entry::new(ticks, devices.number(0), RecordOp::Read, offset, u64::from(size))))
}

/// Parses one line of the text.
pub(crate) fn parse_text(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let object = fields.number(&OBJECT)?;
    fields.end()?;
    let Some(offset) = object.checked_mul(BLOCK) else { return Err(Fault::new(&OBJECT, object.to_string())) };
    Ok(Step::Request(Entry { timed: false, ..Entry::new(0, devices.number(0), RecordOp::Read, offset, BLOCK) }))
}
