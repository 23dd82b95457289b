//! MQSim traces: `ARRIVAL DEVICE LBA SECTORS TYPE`, all whole numbers, separated by blanks.
//!
//! Source: MQSim's `traces/README.md` and `ASCII_Trace_Definition.h`. MQSim's workload file selects the unit of the
//! arrival time; this reader uses ns, like the traces that come with MQSim. The type is 1 for a read, 0 for a write. MQSim reads
//! a device number but ignores it: all devices share one address space.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

const ARRIVAL: Field = Field::new("arrival time", "a whole number of ns");
const DEVICE: Field = Field::new("device", "a whole number");
const START: Field = Field::new("start sector", "a whole number of 512-byte sectors");
const SECTORS: Field = Field::new("sectors", "a whole number of 512-byte sectors");
const TYPE: Field = Field::new("type", "1 (read) or 0 (write)");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "mqsim",
    title: "MQSim's ASCII traces",
    layout: "TIME DEVICE LBA SECTORS 1",
    example: b"938513000 4 264719034 16 0\n",
    extensions: &["mqsim"],
    recognizes,
    has_devices_apart: false,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.blanks(), fields @ [_, _, _, _, kind] if are_numbers(fields) && is_either(kind, ["0", "1"]))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_blanks(parse))
}

fn parse(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Parsed {
    let ticks = fields.number(&ARRIVAL)?;
    let device = fields.number(&DEVICE)?;
    let offset = fields.sectors(&START)?;
    let bytes = fields.sectors(&SECTORS)?;
    let op = match fields.word(&TYPE)? {
        b"1" => RecordOp::Read,
        b"0" => RecordOp::Write,
        other => return Err(Fault::quoted(&TYPE, other)),
    };
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, devices.number(device), op, offset, bytes)))
}
