//! bcc's biosnoop: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`.
//!
//! Source: bcc's `tools/biosnoop_example.txt`. A request is printed when it completes. `COMM` may contain blanks, so that
//! fields count from the end; a header names the columns.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field, line_length, nanoseconds, unsigned};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

const LINE: Field = Field::new("line", "TIME COMM PID DISK T SECTOR BYTES LAT");
const TIME: Field = Field::new("TIME(s)", "seconds");
const TYPE: Field = Field::new("T", "R or W");
const SECTOR: Field = Field::new("SECTOR", "a whole number of 512-byte sectors");
const BYTES: Field = Field::new("BYTES", "a whole number of bytes");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "biosnoop",
    title: "bcc's biosnoop",
    layout: "TIME COMM PID DISK R LBA BYTES LATENCY",
    example: b"0.000004001    supervise      1950   xvda1   W  13092560   4096      0.74\n",
    extensions: &["biosnoop"],
    header: "time(s)",
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.blanks(), [time, _, pid, _, b"R" | b"W", sector, bytes, latency]
        if are_numbers(&[pid, sector, bytes]) && nanoseconds(time).is_some() && nanoseconds(latency).is_some())
}

/// Starts to read a trace.
pub(crate) fn start(input: &mut Input, _: &mut Requests) -> Started {
    let head = Head::new(input.head()?);
    let waits = head.lines().next().is_some_and(|line| line.windows(7).any(|word| word == b"QUE(ms)"));
    let behind = if waits { 2 } else { 1 };
    Ok(between_blanks(move |fields, devices| parse(fields.rest(), behind, devices)))
}

/// Parses a line with `behind` columns after that of the bytes.
fn parse(text: &[u8], behind: usize, devices: &mut Devices) -> Parsed {
    let line = &text[..line_length(text)];
    let words: Vec<&[u8]> = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
    let Some(last) = words.len().checked_sub(behind + 3).filter(|last| *last >= 4) else {
        return Err(Fault::quoted(&LINE, line));
    };
    let (disk, kind, sector, bytes) = (words[last - 1], words[last], words[last + 1], words[last + 2]);
    let op = match kind {
        b"R" => RecordOp::Read,
        b"W" => RecordOp::Write,
        other => return Err(Fault::quoted(&TYPE, other)),
    };
    let ticks = BlankFields::new(words[0]).seconds(&TIME)?;
    // A flush has no sector.
    if matches!(sector, b"-1" | b"18446744073709551615") {
        return Ok(Step::Skipped);
    }
    let offset = BlankFields::new(sector).sectors(&SECTOR)?;
    let bytes = unsigned(bytes).ok_or_else(|| Fault::quoted(&BYTES, bytes))?;
    let device = devices.intern(disk, || String::from_utf8_lossy(disk).into_owned());
    Ok(Step::Request(Entry::new(ticks, device, op, offset, bytes)))
}
