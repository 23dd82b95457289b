//! Disk events of Windows (ETW) as `xperf -a dumper` prints them: `DiskRead, TIME, PROCESS, THREAD, IRP, OFFSET, SIZE, …`.
//!
//! Source: the header that the program itself prints. The time is in microseconds; offset and size are hexadecimal bytes.
//! `DiskFlush` has neither. All other events, and the lines that name their columns, are ignored.

use sim::Time;

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field, unsigned};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const EVENT: Field = Field::new("event", "a name such as DiskRead");
const TIMESTAMP: Field = Field::new("TimeStamp", "a whole number of us");
const PROCESS: Field = Field::new("Process Name ( PID)", "a process");
const THREAD: Field = Field::new("ThreadID", "a whole number");
const IRP: Field = Field::new("IrpPtr", "a hexadecimal number");
const OFFSET: Field = Field::new("ByteOffset", "hexadecimal bytes such as 0x0000100000");
const SIZE: Field = Field::new("IOSize", "hexadecimal bytes such as 0x00001000");
const ELAPSED: Field = Field::new("ElapsedTime", "a whole number of us");
const DISK: Field = Field::new("DiskNum", "a whole number");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "etw",
    title: "ETW disk events of xperf",
    layout: "DiskRead, TIME, PROCESS (PID), THREAD, IRP, OFFSET, SIZE, ELAPSED, DISK",
    example: b"DiskRead, 1000, app ( 100), 4242, 0xfffffa8001a9b010, 0x0000100000, 0x00001000, 512, 1\n",
    extensions: &["etw"],
    tick: Time::from_us(1),
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    // Other events and the names of columns may come first.
    head.lines().any(|line| {
        let mut fields = CommaFields::new(line);
        operation(fields.next().unwrap_or_default()).is_some() && fields.next().is_some() && fields.next().is_some()
    })
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn operation(event: &[u8]) -> Option<RecordOp> {
    match event {
        b"DiskRead" => Some(RecordOp::Read),
        b"DiskWrite" => Some(RecordOp::Write),
        b"DiskFlush" => Some(RecordOp::Flush),
        _ => None,
    }
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
    let Some(op) = operation(fields.word(&EVENT)?) else { return Ok(Step::Nothing) };
    let time = fields.word(&TIMESTAMP)?;
    if time.eq_ignore_ascii_case(b"TimeStamp") {
        return Ok(Step::Nothing);
    }
    let ticks = unsigned(time).ok_or_else(|| Fault::quoted(&TIMESTAMP, time))?;
    fields.word(&PROCESS)?;
    fields.word(&THREAD)?;
    fields.word(&IRP)?;
    let mut number = |field: &'static Field| {
        let word = fields.word(field)?;
        unsigned(word).ok_or_else(|| Fault::quoted(field, word))
    };
    let (offset, bytes) = if op == RecordOp::Flush { (0, 0) } else { (number(&OFFSET)?, number(&SIZE)?) };
    number(&ELAPSED)?;
    let device = devices.number(number(&DISK)?);
    Ok(Step::Request(Entry::new(ticks, device, op, offset, bytes)))
}
