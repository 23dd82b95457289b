//! fio iolog, versions 2 and 3.
//!
//! Source: fio's HOWTO, "Trace file format", and fio's `iolog.c` where the HOWTO is silent. The first line is `fio
//! version N iolog`. Every other line is `FILE ACTION` (add, open, close) or `FILE ACTION OFFSET LENGTH` in bytes.
//!
//! * **Version 3** puts a timestamp before each line. The HOWTO gives no unit; fio writes and replays microseconds
//!   (`utime_since_now` in `log_io_u` and `iolog_delay`).
//! * **Version 2** has no timestamps, only `wait`, whose offset is in microseconds since the previous wait. (The HOWTO
//!   says so, and that waits below 100 us are discarded. fio's code takes milliseconds since the job's start and
//!   discards none. This reader uses the HOWTO's unit and discards none.)
//!
//! A file must be added before it is used. Whether it is open makes no difference to a drive.

use sim::Time;

use crate::trace::RecordOp;
use crate::trace::clock::Clock;
use crate::trace::declaration::{Declaration, Head};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field, line_length};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

/// Start of the first line.
const START: &[u8] = b"fio version ";

const HEADER: Field = Field::new("header", "\"fio version 2 iolog\" or \"fio version 3 iolog\"");
const TIMESTAMP: Field = Field::new("timestamp", "a whole number of us");
const FILE: Field = Field::new("file name", "a file name");
const KNOWN_FILE: Field = Field::new("file name", "a file that was added before");
const ACTION_2: Field = Field::new("action", "add, open, close, read, write, sync, datasync, trim or wait");
const ACTION_3: Field = Field::new("action", "add, open, close, read, write, sync, datasync or trim");
const OFFSET: Field = Field::new("offset", "a whole number of bytes");
const WAIT: Field = Field::new("offset", "a whole number of us");
const WAITS: Field = Field::new("offset", "waits that add up to less than 2^64 us");
const LENGTH: Field = Field::new("length", "a whole number of bytes");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "fio-iolog",
    title: "fio iolog, version 2 or 3",
    layout: "TIME FILE read OFFSET LENGTH",
    example: b"fio version 3 iolog\n0 /dev/sda add\n100 /dev/sda read 0 4096\n",
    extensions: &["iolog"],
    tick: Time::from_us(1),
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    head.lines().next().is_some_and(|line| line.starts_with(START))
}

/// Reads the first line and starts to read the others.
pub(crate) fn start(input: &mut Input, requests: &mut Requests) -> Started {
    let text = input.line()?.unwrap_or_default();
    let length = line_length(text);
    let parser = Parser::new(&text[..length]);
    if !text.is_empty() {
        input.pass(length + 1);
    }
    let mut parser = parser.map_err(|fault| input.fault(*fault))?;
    if !parser.timestamps {
        requests.clock = Clock::since_zero(FORMAT.tick);
    }
    Ok(between_blanks(move |fields, devices| parser.parse(fields, devices)))
}

struct Parser {
    /// Whether records have timestamps (version 3).
    timestamps: bool,
    /// Version 2: sum of the waits so far, in microseconds.
    waited: u64,
}

impl Parser {
    /// Creates a parser from the first line.
    fn new(header: &[u8]) -> Result<Parser, Box<Fault>> {
        let timestamps = match header.trim_ascii_end() {
            b"fio version 2 iolog" => false,
            b"fio version 3 iolog" => true,
            other => return Err(Fault::quoted(&HEADER, other)),
        };
        Ok(Parser { timestamps, waited: 0 })
    }

    /// Parses one line after the first.
    fn parse(&mut self, fields: &mut BlankFields<'_>, devices: &mut Devices) -> Parsed {
        let ticks = if self.timestamps { fields.number(&TIMESTAMP)? } else { self.waited };
        let file = fields.word(&FILE)?;
        let action = fields.word(self.actions())?;
        let op = match action {
            b"read" => RecordOp::Read,
            b"write" => RecordOp::Write,
            b"sync" | b"datasync" => RecordOp::Flush,
            b"trim" => RecordOp::Trim,
            b"wait" if !self.timestamps => RecordOp::Wait,
            b"add" => {
                fields.end()?;
                devices.intern(file, || String::from_utf8_lossy(file).into_owned());
                return Ok(Step::Nothing);
            }
            b"open" | b"close" => {
                fields.end()?;
                known(file, devices)?;
                return Ok(Step::Nothing);
            }
            other => return Err(Fault::quoted(self.actions(), other)),
        };
        let device = known(file, devices)?;
        let offset = fields.number(if op == RecordOp::Wait { &WAIT } else { &OFFSET })?;
        let bytes = fields.number(&LENGTH)?;
        fields.end()?;
        let mut entry = Entry::new(ticks, device, op, offset, bytes);
        entry.timed = self.timestamps;
        if op == RecordOp::Wait {
            let Some(waited) = self.waited.checked_add(offset) else {
                return Err(Fault::new(&WAITS, offset.to_string()));
            };
            self.waited = waited;
            entry.ticks = waited;
        }
        Ok(Step::Request(entry))
    }

    fn actions(&self) -> &'static Field {
        if self.timestamps { &ACTION_3 } else { &ACTION_2 }
    }
}

fn known(file: &[u8], devices: &mut Devices) -> Result<u32, Box<Fault>> {
    devices.find(file).ok_or_else(|| Fault::quoted(&KNOWN_FILE, file))
}
