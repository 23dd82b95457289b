//! libCacheSim's `oracleGeneral` records, read as a block trace.
//!
//! Source: libCacheSim's `oracleGeneralBin.h` and its converter, which names each object of a block trace by the
//! 512-byte sector at which the request starts. A record has a size in bytes and a time in whole seconds. It has no
//! operation, so all requests are reads.

use media::SECTOR;

use crate::pages::oracle_general;
use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head};
use crate::trace::devices::Devices;
use crate::trace::fields::{Fault, Field, SECTOR_MAX};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, records};

const OBJECT: Field = Field::new("obj_id", SECTOR_MAX);

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "oracleGeneral",
    title: "libCacheSim's `oracleGeneral` records",
    layout: "24 bytes, little-endian",
    example: b"\x07\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    extensions: &["oraclegeneral"],
    recognizes,
    has_operations: false,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    head.binary().is_some_and(oracle_general::is_one)
}

/// Starts to read a trace.
pub(crate) fn start(input: &mut Input, _: &mut Requests) -> Started {
    Ok(records(input, oracle_general::RECORD, parse))
}

fn parse(record: &[u8], devices: &mut Devices) -> Parsed {
    let (seconds, object, size, _) = oracle_general::fields(record);
    oracle_general::parse(record)?;
    let Some(offset) = object.checked_mul(SECTOR) else {
        return Err(Fault::new(&OBJECT, object.to_string()));
    };
    let ticks = u64::from(seconds) * 1_000_000_000;
    Ok(Step::Request(Entry::new(ticks, devices.number(0), RecordOp::Read, offset, u64::from(size))))
}
