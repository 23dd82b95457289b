//! Linux's block tracepoints as ftrace and `perf script` print them: `app 4242 [000] 100.000001: block:block_rq_issue: 259,0
//! R 4096 () 2048 + 8 [app]`.
//!
//! Source: the print formats in Linux's `include/trace/events/block.h`. A request appears at several tracepoints, so that
//! only the first of these kinds that the start of the trace has counts: `block_bio_queue`, `block_rq_issue`,
//! `block_rq_insert`, `block_rq_complete`. The other events are ignored. RWBS is that of blkparse.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field, line_length};
use crate::trace::formats::events::blkparse::{Flags, is_device};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

const TIME: Field = Field::new("time", "seconds and a colon, such as 100.000001:");
const DEVICE: Field = Field::new("device", "MAJOR,MINOR such as 259,0");
const RWBS: Field = Field::new("RWBS", "letters such as R, WS or FF");
const RANGE: Field = Field::new("range", "SECTOR + SECTORS");

/// Tracepoints that stand for requests, the most wanted first.
const KINDS: [&str; 4] = ["block_bio_queue", "block_rq_issue", "block_rq_insert", "block_rq_complete"];

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "tracepoints",
    title: "block tracepoints of ftrace and perf",
    layout: "COMM PID [CPU] TIME: block:block_rq_issue: 259,0 R BYTES () LBA + SECTORS [COMM]",
    example: b"app  4242 [000]   100.000001: block:block_rq_issue: 259,0 R 4096 () 2048 + 8 [app]\n",
    extensions: &["ftrace"],
    recognizes: |head| kind(head).is_some(),
    ..Declaration::PLAIN
};

/// Returns the most wanted tracepoint among the first lines.
fn kind(head: &Head<'_>) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| head.lines().any(|line| split(line, kind).is_some()))
}

/// Splits a line at a tracepoint into its time and what follows.
fn split<'a>(line: &'a [u8], kind: &str) -> Option<(&'a [u8], &'a [u8])> {
    let name = format!("{kind}:");
    let at = line.windows(name.len()).position(|window| window == name.as_bytes())?;
    let before = line[..at].strip_suffix(b"block:").unwrap_or(&line[..at]).trim_ascii_end();
    let time = before.rsplit(|byte| byte.is_ascii_whitespace()).next()?.strip_suffix(b":")?;
    Some((time, &line[at + name.len()..]))
}

/// Starts to read a trace.
pub(crate) fn start(input: &mut Input, requests: &mut Requests) -> Started {
    let kind = kind(&Head::new(input.head()?)).unwrap_or(KINDS[1]);
    requests.remark = (kind != KINDS[0]).then(|| format!("its requests are the events {kind}, as it has none before"));
    Ok(between_blanks(move |fields, devices| parse(fields.rest(), kind, devices)))
}

fn parse(text: &[u8], kind: &str, devices: &mut Devices) -> Parsed {
    let line = &text[..line_length(text)];
    let Some((time, rest)) = split(line, kind) else { return Ok(Step::Nothing) };
    let ticks = BlankFields::new(time).seconds(&TIME)?;
    let mut fields = BlankFields::new(rest);
    let device = fields.word(&DEVICE)?;
    if !is_device(device) {
        return Err(Fault::quoted(&DEVICE, device));
    }
    let flags = Flags::read(fields.word(&RWBS)?)?;
    let device = devices.intern(device, || String::from_utf8_lossy(device).into_owned());
    let mut before: &[u8] = b"";
    let range = loop {
        match fields.next() {
            None => return Err(Fault::quoted(&RANGE, line)),
            Some(b"+") => {
                let offset = BlankFields::new(before).sectors(&RANGE)?;
                break (offset, fields.sectors(&RANGE)?);
            }
            Some(word) => before = word,
        }
    };
    let mut entry = match (flags.op, range) {
        (Some(op), (offset, bytes)) if bytes > 0 => Entry::new(ticks, device, op, offset, bytes),
        _ if flags.flush => return Ok(Step::Request(Entry::new(ticks, device, RecordOp::Flush, 0, 0))),
        _ => return Ok(Step::Skipped),
    };
    (entry.flush_before, entry.fua) = (flags.flush, flags.fua);
    Ok(Step::Request(entry))
}
