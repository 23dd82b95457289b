//! libCacheSim's text with one object per line, read as a block trace.
//!
//! Source: libCacheSim's text reader. The objects are blocks of 4 KiB. The text has no times, so the requests are issued
//! one after another, and no operations, so all are reads. libCacheSim's CSV has user-defined columns; `--columns`
//! reads it.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

/// Bytes of an object.
const BLOCK: u64 = 4096;

const OBJECT: Field = Field::new("object", "a whole number of 4 KiB blocks, below 2^52");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "libcachesim-text",
    title: "libCacheSim's text with one object per line",
    layout: "OBJECT",
    example: b"4711\n",
    recognizes,
    has_operations: false,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    head.blanks().len() == 1 && are_numbers(head.blanks())
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_blanks(parse))
}

fn parse(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Parsed {
    let object = fields.number(&OBJECT)?;
    fields.end()?;
    let Some(offset) = object.checked_mul(BLOCK) else { return Err(Fault::new(&OBJECT, object.to_string())) };
    Ok(Step::Request(Entry { timed: false, ..Entry::new(0, devices.number(0), RecordOp::Read, offset, BLOCK) }))
}
