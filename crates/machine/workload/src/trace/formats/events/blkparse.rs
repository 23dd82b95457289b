//! blkparse's default text: `MAJOR,MINOR CPU SEQUENCE TIME PID ACTION RWBS SECTOR + SECTORS [PROCESS]`.
//!
//! Source: blkparse(1), "Default output", and blktrace's `blkparse_fmt.c`. Requests are the Q events: requests as they
//! enter the block layer, before the scheduler merges, splits or delays them. If the start of the trace has none, they are
//! the D events, or else the C events. All other events and the totals at the end are ignored. Trace only one layer: a request that also passes through the trace of a partition or logical volume
//! has a Q event in each.
//!
//! RWBS starts with F for a flush before the request (or a flush alone, if there is no range). Then follows R, W, D
//! (discard) or N (none), then any of F (FUA), A (readahead), S (synchronous), M (metadata), E (secure) and B (barrier,
//! before Linux 2.6.37: a preceding flush and FUA). SCSI commands passed through the block layer do not count as
//! requests.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

const DEVICE: Field = Field::new("device", "MAJOR,MINOR as blkparse prints them");
const CPU: Field = Field::new("cpu", "a whole number");
const SEQUENCE: Field = Field::new("sequence", "a whole number");
const TIME: Field = Field::new("time", "seconds, such as 0.000012345");
const PID: Field = Field::new("pid", "a whole number");
const ACTION: Field = Field::new("action", "an event such as Q");
const RWBS: Field = Field::new("RWBS", "[F](R, W, D or N)[F, A, S, M, E, B] as blkparse prints them");
const SECTOR: Field = Field::new("sector", "a whole number of 512-byte sectors");
const SECTORS: Field = Field::new("sectors", "a whole number of 512-byte sectors");

/// First words of the summary lines between and after the events.
const TOTALS: [&[u8]; 5] = [b"CPU", b"Total", b"Throughput", b"Events", b"Skips"];

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "blkparse",
    title: "blkparse's default text",
    layout: "8,0 CPU SEQUENCE TIME PID Q WS LBA + SECTORS [NAME]",
    example: b"  8,0    3        1     0.000000100   697  Q  WS 8 + 8 [fio]\n",
    extensions: &["blkparse"],
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    // blkparse may print some lines before the first event.
    head.lines().take(20).any(is_event)
}

/// Starts to read a trace.
pub(crate) fn start(input: &mut Input, requests: &mut Requests) -> Started {
    let head = Head::new(input.head()?);
    let found = EVENTS.iter().find(|(event, _)| head.lines().any(|line| is_event(line) && action(line) == Some(event)));
    let (event, meaning) = *found.unwrap_or(&EVENTS[0]);
    let name = String::from_utf8_lossy(event);
    requests.remark =
        (event != EVENTS[0].0).then(|| format!("its requests are the events {name} ({meaning}): no Q is before"));
    let mut parser = Parser { totals: false, event };
    Ok(between_blanks(move |fields, devices| parser.parse(fields, devices)))
}

/// Events that stand for requests, the most wanted first.
const EVENTS: [(&[u8], &str); 3] = [(b"Q", "queued"), (b"D", "issued to the driver"), (b"C", "completed")];

/// Returns the action of an event.
fn action(line: &[u8]) -> Option<&[u8]> {
    let mut fields = BlankFields::new(line);
    (0..5).for_each(|_| _ = fields.next());
    fields.next()
}

struct Parser {
    // The event that stands for a request.
    event: &'static [u8],
    // Within the totals, where lines may begin with anything.
    totals: bool,
}

impl Parser {
    /// Parses one line.
    fn parse(&mut self, fields: &mut BlankFields<'_>, devices: &mut Devices) -> Parsed {
        let line = fields.rest();
        let device = fields.word(&DEVICE)?;
        if !is_device(device) {
            self.totals |= TOTALS.iter().any(|word| device.starts_with(word));
            if self.totals || line.starts_with(b"Input file ") {
                return Ok(Step::Nothing);
            }
            return Err(Fault::quoted(&DEVICE, device));
        }
        self.totals = false;
        fields.word(&CPU)?;
        fields.word(&SEQUENCE)?;
        let time = fields.word(&TIME)?;
        fields.word(&PID)?;
        if fields.word(&ACTION)? != self.event {
            return Ok(Step::Nothing);
        }
        let ticks = BlankFields::new(time).seconds(&TIME)?;
        let flags = Flags::read(fields.word(&RWBS)?)?;
        let range = match fields.next() {
            Some(word @ [b'0'..=b'9', ..]) => {
                if fields.next() != Some(b"+") {
                    // A byte count and a command: a passed-through SCSI command.
                    return Ok(Step::Skipped);
                }
                let offset = BlankFields::new(word).sectors(&SECTOR)?;
                Some((offset, fields.sectors(&SECTORS)?))
            }
            None | Some([b'[' | b'(', ..]) => None,
            Some(word) => return Err(Fault::quoted(&SECTOR, word)),
        };
        let device = devices.intern(device, || String::from_utf8_lossy(device).into_owned());
        let mut entry = match (flags.op, range) {
            (Some(op), Some((offset, bytes))) if bytes > 0 => Entry::new(ticks, device, op, offset, bytes),
            _ if flags.flush => return Ok(Step::Request(Entry::new(ticks, device, RecordOp::Flush, 0, 0))),
            _ => return Ok(Step::Skipped),
        };
        entry.flush_before = flags.flush;
        entry.fua = flags.fua;
        Ok(Step::Request(entry))
    }
}

/// Returns whether a line is an event of any kind.
fn is_event(line: &[u8]) -> bool {
    let mut fields = BlankFields::new(line);
    let device = fields.next().unwrap_or_default();
    let number = |field: Option<&[u8]>| field.is_some_and(|f| f.iter().all(u8::is_ascii_digit));
    let (cpu, sequence) = (number(fields.next()), number(fields.next()));
    let time = fields.next().unwrap_or_default();
    let decimal = time.contains(&b'.') && BlankFields::new(time).seconds(&TIME).is_ok();
    is_device(device) && cpu && sequence && decimal && number(fields.next())
}

/// Returns whether a word is a device such as `8,0`.
pub(crate) fn is_device(word: &[u8]) -> bool {
    let digits = |from: usize| word[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let major = digits(0);
    if major == 0 || word.get(major) != Some(&b',') {
        return false;
    }
    let minor = digits(major + 1);
    minor > 0 && major + 1 + minor == word.len()
}

/// Contents of the RWBS field.
pub(super) struct Flags {
    pub(super) flush: bool,
    pub(super) op: Option<RecordOp>,
    pub(super) fua: bool,
}

impl Flags {
    pub(super) fn read(word: &[u8]) -> Result<Flags, Box<Fault>> {
        let mut rest = word;
        let mut flags = Flags { flush: false, op: None, fua: false };
        if let [b'F', after @ ..] = rest {
            flags.flush = true;
            rest = after;
        }
        if let [op @ (b'R' | b'W' | b'D' | b'N'), after @ ..] = rest {
            flags.op = match op {
                b'R' => Some(RecordOp::Read),
                b'W' => Some(RecordOp::Write),
                b'D' => Some(RecordOp::Trim),
                _ => None,
            };
            rest = after;
        } else if !flags.flush {
            return Err(Fault::quoted(&RWBS, word));
        }
        for flag in rest {
            match flag {
                b'F' => flags.fua = true,
                b'B' => (flags.flush, flags.fua) = (true, true),
                b'A' | b'S' | b'M' | b'E' => {}
                _ => return Err(Fault::quoted(&RWBS, word)),
            }
        }
        Ok(flags)
    }
}
