//! SYSTOR '17 traces (LUN traces of virtual desktops): `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! Source: the README of the traces at SNIA's IOTTA repository. The timestamp is in seconds, offset and size are bytes, and
//! the response time may be missing.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field, nanoseconds};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const TIMESTAMP: Field = Field::new("Timestamp", "seconds, such as 1455592218.154022000");
const RESPONSE: Field = Field::new("Response", "seconds, or nothing");
const TYPE: Field = Field::new("IOType", "R or W");
const LUN: Field = Field::new("LUN", "a whole number");
const OFFSET: Field = Field::new("Offset", "a whole number of bytes");
const SIZE: Field = Field::new("Size", "a whole number of bytes");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "systor17",
    title: "SYSTOR '17 CSV",
    layout: "TIME,RESPONSE,R,LUN,OFFSET,SIZE",
    example: b"1455592218.154022000,0.000512,R,2,1048576,4096\n",
    extensions: &["systor17"],
    header: "timestamp,response,iotype,",
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.commas(), [time, response, op, lun, offset, size]
        if is_either(op, ["r", "w"]) && are_numbers(&[lun, offset, size]) && nanoseconds(time).is_some()
            && (response.is_empty() || nanoseconds(response).is_some()))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
    let ticks = fields.seconds(&TIMESTAMP)?;
    let response = fields.next().unwrap_or_default();
    if !response.is_empty() && nanoseconds(response).is_none() {
        return Err(Fault::quoted(&RESPONSE, response));
    }
    let op = match fields.word(&TYPE)? {
        b"R" | b"r" => RecordOp::Read,
        b"W" | b"w" => RecordOp::Write,
        other => return Err(Fault::quoted(&TYPE, other)),
    };
    let device = devices.number(fields.number(&LUN)?);
    let offset = fields.number(&OFFSET)?;
    let bytes = fields.number(&SIZE)?;
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, device, op, offset, bytes)))
}
