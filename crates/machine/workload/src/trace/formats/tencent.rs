//! Tencent Cloud block traces: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Source: the README of the published traces (SNIA IOTTA, trace set 27917; Zhang et al., "OSCA", ATC 2020). The
//! timestamp is Unix time in whole seconds, offset and size count 512-byte sectors, and the type is 0 for a read and 1
//! for a write.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field, nanoseconds};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const TIMESTAMP: Field = Field::new("Timestamp", "seconds since 1970");
const OFFSET: Field = Field::new("Offset", "a whole number of 512-byte sectors");
const SIZE: Field = Field::new("Size", "a whole number of 512-byte sectors");
const TYPE: Field = Field::new("IOType", "0 (read) or 1 (write)");
const VOLUME: Field = Field::new("VolumeID", "a whole number");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "tencent",
    title: "Tencent Cloud CSV",
    layout: "TIME,OFFSET,SIZE,0,VOLUME",
    example: b"1538323199,1003027216,16,0,2313\n",
    extensions: &["tencent"],
    header: "timestamp,offset,",
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    // A CloudPhysics line begins with a version rather than a time.
    matches!(head.commas(), [time, offset, size, kind, volume]
        if is_either(kind, ["0", "1"])
            && time.len() >= 9
            && nanoseconds(time).is_some()
            && are_numbers(&[offset, size, volume]))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
    let ticks = fields.seconds(&TIMESTAMP)?;
    let offset = fields.sectors(&OFFSET)?;
    let bytes = fields.sectors(&SIZE)?;
    let op = match fields.word(&TYPE)? {
        b"0" => RecordOp::Read,
        b"1" => RecordOp::Write,
        other => return Err(Fault::quoted(&TYPE, other)),
    };
    let volume = fields.number(&VOLUME)?;
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, devices.number(volume), op, offset, bytes)))
}
