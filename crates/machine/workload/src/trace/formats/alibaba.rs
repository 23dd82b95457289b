//! Alibaba Cloud block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Source: README of the published traces (<https://github.com/alibaba/block-traces>). The operation is R or W, offset
//! and length are bytes, the timestamp is in microseconds.

use sim::Time;

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const DEVICE: Field = Field::new("device_id", "a whole number");
const OPCODE: Field = Field::new("opcode", "R or W");
const OFFSET: Field = Field::new("offset", "a whole number of bytes");
const LENGTH: Field = Field::new("length", "a whole number of bytes");
const TIMESTAMP: Field = Field::new("timestamp", "a whole number of us");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "alibaba",
    title: "Alibaba Cloud CSV",
    layout: "DEVICE,R,OFFSET,LENGTH,TIME",
    example: b"0,R,126703661056,4096,1577808000000046\n",
    extensions: &["alibaba"],
    tick: Time::from_us(1),
    header: "device_id,",
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.commas(), [device, op, offset, length, time]
        if is_either(op, ["r", "w"]) && are_numbers(&[device, offset, length, time]))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
    let device = fields.number(&DEVICE)?;
    let op = match fields.word(&OPCODE)? {
        b"R" => RecordOp::Read,
        b"W" => RecordOp::Write,
        other => return Err(Fault::quoted(&OPCODE, other)),
    };
    let offset = fields.number(&OFFSET)?;
    let bytes = fields.number(&LENGTH)?;
    let ticks = fields.number(&TIMESTAMP)?;
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, devices.number(device), op, offset, bytes)))
}
