//! Traces of Meta's Tectonic: `BLOCK OFFSET SIZE TIME OPERATION NAMESPACE USER SHARD COUNT HOST`.
//!
//! Source: the header of the traces published with Baleen (FAST '24). Offset and size are bytes within a block, which counts
//! as a device of its own; the time is in seconds. `getChunkData` reads and `putChunk` writes; what follows the dot of an
//! operation is the state of the block.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field, nanoseconds};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

const BLOCK: Field = Field::new("block_id", "a whole number");
const OFFSET: Field = Field::new("io_offset", "a whole number of bytes");
const SIZE: Field = Field::new("io_size", "a whole number of bytes");
const TIME: Field = Field::new("op_time", "seconds");
const OPERATION: Field = Field::new("op_name", "getChunkData or putChunk, and the state of the block");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "tectonic",
    title: "Meta's Tectonic",
    layout: "BLOCK OFFSET SIZE TIME getChunkData.STATE NAMESPACE USER SHARD COUNT HOST",
    example: b"77 1048576 4096 1000.000 getChunkData.Permanent 3 9 0 1 5\n",
    extensions: &["tectonic"],
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.blanks(), [block, offset, size, time, name, ..]
        if are_numbers(&[block, offset, size]) && nanoseconds(time).is_some() && operation(name).is_some())
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_blanks(parse))
}

fn operation(name: &[u8]) -> Option<RecordOp> {
    match name.split(|byte| *byte == b'.').next() {
        Some(b"getChunkData") => Some(RecordOp::Read),
        Some(b"putChunk") => Some(RecordOp::Write),
        _ => None,
    }
}

fn parse(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Parsed {
    let block = fields.number(&BLOCK)?;
    let offset = fields.number(&OFFSET)?;
    let bytes = fields.number(&SIZE)?;
    let ticks = fields.seconds(&TIME)?;
    let name = fields.word(&OPERATION)?;
    let op = operation(name).ok_or_else(|| Fault::quoted(&OPERATION, name))?;
    Ok(Step::Request(Entry::new(ticks, devices.number(block), op, offset, bytes)))
}
