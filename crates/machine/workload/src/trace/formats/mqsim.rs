//! MQSim traces: `ARRIVAL DEVICE LBA SECTORS TYPE`, all whole numbers, separated by blanks.
//!
//! Source: MQSim's `traces/README.md` and `ASCII_Trace_Definition.h`. MQSim's workload file selects the unit of the
//! arrival time; this reader uses ns, like the traces that come with MQSim. The type is 1 for a read, 0 for a write.

use crate::trace::RecordOp;
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field};
use crate::trace::reader::{Entry, Step};

const ARRIVAL: Field = Field::new("arrival time", "a whole number of ns");
const DEVICE: Field = Field::new("device", "a whole number");
const START: Field = Field::new("start sector", "a whole number of 512-byte sectors");
const SECTORS: Field = Field::new("sectors", "a whole number of 512-byte sectors");
const TYPE: Field = Field::new("type", "1 (read) or 0 (write)");

/// Parses one line.
pub(crate) fn parse(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
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
