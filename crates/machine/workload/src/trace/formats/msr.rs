//! MSR Cambridge block traces: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Source: the README of the MSR Cambridge block traces (SNIA IOTTA, trace set 388), published with Narayanan et al.,
//! "Write Off-Loading", FAST 2008. The timestamp is a Windows file time in units of 100 ns; offset and size are bytes.
//! The response time, which is that of the traced disk, is validated but not used.

use sim::Time;

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const TIMESTAMP: Field = Field::new("Timestamp", "a Windows file time: a whole number of 100 ns");
const HOSTNAME: Field = Field::new("Hostname", "the name of the traced server");
const DISK_NUMBER: Field = Field::new("DiskNumber", "a whole number");
const TYPE: Field = Field::new("Type", "Read or Write");
const OFFSET: Field = Field::new("Offset", "a whole number of bytes");
const SIZE: Field = Field::new("Size", "a whole number of bytes");
const RESPONSE_TIME: Field = Field::new("ResponseTime", "a whole number of 100 ns");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "msr",
    title: "MSR Cambridge CSV",
    layout: "TIME,HOST,DISK,Read,OFFSET,SIZE,LATENCY",
    example: b"128166372003061629,usr,0,Read,7014609920,24576,41286\n",
    extensions: &["msr"],
    tick: Time::from_ns(100),
    header: "timestamp,hostname,",
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.commas(), [time, _, disk, kind, offset, size, ..]
        if is_either(kind, ["read", "write"]) && are_numbers(&[time, disk, offset, size]))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
    let ticks = fields.number(&TIMESTAMP)?;
    let device = match devices.repeated(fields.rest()) {
        Some((device, length)) => {
            fields.skip(length);
            device
        }
        None => {
            let (device, behind) = device(*fields, devices)?;
            *fields = behind;
            device
        }
    };
    // Fast path for the spelling of the published traces.
    let op = if fields.rest().starts_with(b"Read,") {
        fields.skip(b"Read,".len());
        RecordOp::Read
    } else if fields.rest().starts_with(b"Write,") {
        fields.skip(b"Write,".len());
        RecordOp::Write
    } else {
        match fields.word(&TYPE)? {
            kind if kind.eq_ignore_ascii_case(b"read") => RecordOp::Read,
            kind if kind.eq_ignore_ascii_case(b"write") => RecordOp::Write,
            other => return Err(Fault::quoted(&TYPE, other)),
        }
    };
    let offset = fields.number(&OFFSET)?;
    let bytes = fields.number(&SIZE)?;
    fields.number(&RESPONSE_TIME)?;
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, device, op, offset, bytes)))
}

/// Parses the disk in the next two fields. It is named like its trace file: `usr_0`.
fn device<'a>(mut fields: CommaFields<'a>, devices: &mut Devices) -> Result<(u32, CommaFields<'a>), Box<Fault>> {
    let before = fields.rest();
    let host = fields.word(&HOSTNAME)?;
    let disk = fields.word(&DISK_NUMBER)?;
    if !disk.iter().all(u8::is_ascii_digit) {
        return Err(Fault::quoted(&DISK_NUMBER, disk));
    }
    // Key: both fields with their commas.
    let key = &before[..before.len() - fields.rest().len()];
    if !key.ends_with(b",") {
        return fields.word(&TYPE).map(|_| unreachable!("the line ends here"));
    }
    let name = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let device = devices.intern(key, || name(host) + "_" + &name(disk));
    Ok((device, fields))
}
