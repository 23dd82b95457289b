//! Traces with user-defined columns: `time=0:us,op=2,offset=3:sectors,bytes=4`.

use std::str::FromStr;

use crate::nearest::nearest;
use crate::trace::declaration::{Declaration, lines};
use crate::trace::devices::Devices;
use crate::trace::fields::{Fault, Field, Fields, line_length, nanoseconds, unsigned};
use crate::trace::formats::events::blkparse::is_device;
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Source, Started, Step};
use crate::trace::{Record, RecordOp, TraceError};

/// Maximum number of columns.
const COLUMNS_MAX: usize = 64;
/// Bytes per request if no column specifies them.
const BYTES: u64 = 4096;

/// Columns of the fields, from 0, and their units. Without a separator, fields are separated by commas, or by blanks if the
/// first line has no comma outside of device numbers such as `8,0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    /// Column of the time, and its unit in nanoseconds. Without this column requests are issued one after another.
    time: Option<(u8, u64)>,
    /// Column of the operation. Without it all requests are reads.
    op: Option<u8>,
    /// Column of the first byte, and its unit in bytes.
    offset: (u8, u64),
    /// Column of the length, and its unit in bytes. Without it the length is 4 KiB.
    bytes: Option<(u8, u64)>,
    /// Column of the device. Without it there is one device.
    device: Option<u8>,
    /// Words of the operation, if not the usual ones.
    words: Option<Words>,
    /// Separator of the fields, if given.
    separator: Option<u8>,
}

/// Maximum length of all words, with their signs.
const WORDS_MAX: usize = 96;

/// Words for reads, writes, trims and flushes: lists separated by slashes, whose words are separated by plus signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Words {
    text: [u8; WORDS_MAX],
    length: usize,
}

impl Words {
    fn parse(text: &str) -> Option<Words> {
        let mut words = Words { text: [0; WORDS_MAX], length: text.len() };
        words.text.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let mut all: Vec<Vec<u8>> = words.lists().flatten().map(<[u8]>::to_ascii_lowercase).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        ((2..=4).contains(&words.lists().count()) && count > 0 && all.len() == count).then_some(words)
    }

    /// Returns the words of each operation.
    fn lists(&self) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.text[..self.length]
            .split(|byte| *byte == b'/')
            .map(|list| list.split(|byte| *byte == b'+').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty()))
    }

    fn operation(&self, text: &[u8]) -> Option<RecordOp> {
        let ops = [RecordOp::Read, RecordOp::Write, RecordOp::Trim, RecordOp::Flush];
        self.lists()
            .zip(ops)
            .find_map(|(mut words, op)| words.any(|word| word.eq_ignore_ascii_case(text)).then_some(op))
    }
}

const TIME_UNITS: [(&str, u64); 5] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("100ns", 100), ("ns", 1)];
const SIZE_UNITS: [(&str, u64); 4] = [("bytes", 1), ("sectors", 512), ("kib", 1024), ("pages", 4096)];
const NAMES: [&str; 6] = ["time", "op", "offset", "bytes", "device", "separator"];
const SEPARATORS: [(&str, u8); 6] =
    [("comma", b','), ("blank", b' '), ("tab", b'\t'), ("semicolon", b';'), ("colon", b':'), ("pipe", b'|')];

impl FromStr for Columns {
    type Err = String;

    /// # Errors
    /// A message with the invalid part and the expected form.
    fn from_str(text: &str) -> Result<Columns, String> {
        let (mut time, mut op, mut offset, mut bytes, mut device) = (None, None, None, None, None);
        let (mut words, mut separator) = (None, None);
        for part in text.split(',') {
            let Some((name, place)) = part.split_once('=') else {
                return Err(format!(
                    "found \"{part}\", expected NAME=COLUMN or NAME=COLUMN:UNIT, such as offset=3:sectors"
                ));
            };
            if name.trim() == "separator" {
                let known = SEPARATORS.iter().find(|(known, _)| *known == place.trim());
                let (_, byte) = known.ok_or_else(|| {
                    let known: Vec<&str> = SEPARATORS.iter().map(|(name, _)| *name).collect();
                    format!("separator: found \"{place}\", expected one of {}", known.join(", "))
                })?;
                if separator.replace(*byte).is_some() {
                    return Err("separator: found two, expected one".to_owned());
                }
                continue;
            }
            let (column, unit) = place.split_once(':').map_or((place, None), |(column, unit)| (column, Some(unit)));
            let column: u8 =
                column.trim().parse().ok().filter(|column| usize::from(*column) < COLUMNS_MAX).ok_or_else(|| {
                    format!("{name}: found \"{column}\", expected a column's number from 0 to {}", COLUMNS_MAX - 1)
                })?;
            let name = name.trim();
            if !NAMES.contains(&name) {
                let names = NAMES.join(", ");
                let nearest = nearest(name, NAMES);
                return Err(format!(
                    "found the name \"{name}\", expected one of {names}; the nearest is \"{nearest}\""
                ));
            }
            if let ("op", Some(text)) = (name, unit) {
                if text.len() > WORDS_MAX {
                    return Err(format!("op: found {} bytes of words, expected at most {WORDS_MAX}", text.len()));
                }
                words = Some(Words::parse(text).ok_or_else(|| {
                    format!(
                        "op: found \"{text}\", expected words for reads, writes, trims and flushes, such as 1/0 or \
                         read+get/write/discard"
                    )
                })?);
            }
            let units: &[(&str, u64)] = match name {
                "time" => &TIME_UNITS,
                "offset" | "bytes" => &SIZE_UNITS,
                _ => &[],
            };
            let factor = match unit.map(str::trim) {
                None if name == "time" => {
                    return Err("time: found no unit, expected one such as time=0:us (s, ms, us, 100ns, ns)".to_owned());
                }
                None => 1,
                Some(_) if name == "op" => 1,
                Some(unit) => match units.iter().find(|(known, _)| *known == unit) {
                    Some((_, factor)) => *factor,
                    None if units.is_empty() => {
                        return Err(format!("{name}: found the unit \"{unit}\", expected none"));
                    }
                    None => {
                        let known: Vec<&str> = units.iter().map(|(known, _)| *known).collect();
                        return Err(format!("{name}: found the unit \"{unit}\", expected one of {}", known.join(", ")));
                    }
                },
            };
            let twice = match name {
                "time" => time.replace((column, factor)).is_some(),
                "op" => op.replace(column).is_some(),
                "offset" => offset.replace((column, factor)).is_some(),
                "bytes" => bytes.replace((column, factor)).is_some(),
                _ => device.replace(column).is_some(),
            };
            if twice {
                return Err(format!("{name}: found two columns, expected one"));
            }
        }
        let offset = offset.ok_or("found no offset, expected its column, such as offset=3:sectors")?;
        Ok(Columns { time, op, offset, bytes, device, words, separator })
    }
}

const TIME: Field = Field::new("time", "a number of the column's unit, below 584 years");
const OP: Field = Field::new(
    "op",
    "read, write, trim or flush, their first letter, 0 (read) or 1 (write), or an operation on zones (append, zone-reset, zone-finish, zone-open, zone-close)",
);
const WORD: Field = Field::new("op", "one of the words that --columns lists");
const OFFSET: Field = Field::new("offset", "a whole number of the column's unit, below 2^64 bytes");
const LENGTH: Field = Field::new("bytes", "a whole number of the column's unit, below 2^64 bytes");
const DEVICE: Field = Field::new("device", "a name");

/// The format; its name and detection do not apply, because the user describes it.
pub(crate) const FORMAT: Declaration = Declaration { name: "columns", ..Declaration::PLAIN };

/// Starts to read a trace with these columns.
pub(crate) fn start(columns: Columns, input: &mut Input) -> Started {
    let commas = match columns.separator {
        Some(separator) => separator == b',',
        None => lines(input.head()?).next().is_some_and(has_commas),
    };
    match commas {
        true => Ok(Box::new(Lines::<true>(columns))),
        false => Ok(Box::new(Lines::<false>(columns))),
    }
}

/// Returns whether a line has a comma other than in device numbers between blanks, such as `8,0`.
fn has_commas(line: &[u8]) -> bool {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| word.contains(&b',')).peekable();
    let blanks = line.trim_ascii().iter().any(u8::is_ascii_whitespace);
    words.peek().is_some() && !(blanks && words.all(is_device))
}

/// Lines with these columns, separated by commas or by blanks.
struct Lines<const COMMAS: bool>(Columns);

impl<const COMMAS: bool> Source for Lines<COMMAS> {
    fn next(&mut self, input: &mut Input, requests: &mut Requests) -> Result<Option<Record>, TraceError> {
        // Until the first request, a line may hold the names of the columns.
        let first = !requests.clock.has_begun();
        requests.next_line::<COMMAS>(input, |fields, devices| self.0.parse(fields, devices, first))
    }
}

impl Columns {
    /// Parses one line. `first` allows for a line of column names.
    fn parse<const COMMAS: bool>(&self, fields: &mut Fields<'_, COMMAS>, devices: &mut Devices, first: bool) -> Parsed {
        let mut line: [&[u8]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
        let mut count = 0;
        let mut add = |field| {
            if count < COLUMNS_MAX {
                line[count] = field;
            }
            count += 1;
        };
        match self.separator {
            Some(separator) if !matches!(separator, b',' | b' ') => {
                let text = &fields.rest()[..line_length(fields.rest())];
                text.split(|byte| *byte == separator).for_each(|field| add(field.trim_ascii()));
            }
            _ => {
                while let Some(field) = fields.next() {
                    add(field);
                }
            }
        }
        let field = |column: u8| line.get(usize::from(column)).copied().unwrap_or_default();
        let fault = |column: u8, of: &'static Field| match count {
            0..=COLUMNS_MAX if usize::from(column) >= count => {
                Fault::new(of, format!("the end of the line before column {column}"))
            }
            _ => Fault::quoted(of, field(column)),
        };
        let number = |(column, factor): (u8, u64), of: &'static Field| {
            unsigned(field(column)).and_then(|number| number.checked_mul(factor)).ok_or_else(|| fault(column, of))
        };
        let offset = match number(self.offset, &OFFSET) {
            Ok(offset) => offset,
            Err(_) if first && field(self.offset.0).first().is_some_and(u8::is_ascii_alphabetic) => {
                return Ok(Step::Nothing);
            }
            Err(fault) => return Err(fault),
        };
        let bytes = self.bytes.map_or(Ok(BYTES), |column| number(column, &LENGTH))?;
        let op = match self.op {
            Some(column) => match &self.words {
                Some(words) => words.operation(field(column)).ok_or_else(|| fault(column, &WORD))?,
                None => operation(field(column)).ok_or_else(|| fault(column, &OP))?,
            },
            None => RecordOp::Read,
        };
        let ticks = match self.time {
            Some((column, factor)) => ticks(field(column), factor).ok_or_else(|| fault(column, &TIME))?,
            None => 0,
        };
        let device = match self.device.map(|column| (column, field(column))) {
            Some((column, b"")) => return Err(fault(column, &DEVICE)),
            Some((_, name)) => devices.intern(name, || String::from_utf8_lossy(name).into_owned()),
            None => devices.number(0),
        };
        Ok(Step::Request(Entry { timed: self.time.is_some(), ..Entry::new(ticks, device, op, offset, bytes) }))
    }
}

fn operation(text: &[u8]) -> Option<RecordOp> {
    match text.to_ascii_lowercase().as_slice() {
        b"0" | b"r" | b"rd" | b"rs" | b"read" => Some(RecordOp::Read),
        b"1" | b"w" | b"wr" | b"ws" | b"write" => Some(RecordOp::Write),
        b"d" | b"t" | b"trim" | b"discard" | b"unmap" => Some(RecordOp::Trim),
        b"f" | b"flush" | b"sync" => Some(RecordOp::Flush),
        b"append" => Some(RecordOp::Append),
        b"zone-open" => Some(RecordOp::ZoneOpen),
        b"zone-close" => Some(RecordOp::ZoneClose),
        b"zone-finish" => Some(RecordOp::ZoneFinish),
        b"zone-reset" => Some(RecordOp::ZoneReset),
        _ => None,
    }
}

/// Converts a decimal number of units of `factor` nanoseconds to nanoseconds.
fn ticks(text: &[u8], factor: u64) -> Option<u64> {
    if let Ok(whole) = std::str::from_utf8(text).ok()?.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    // Value in billionths of the unit.
    let billionths = nanoseconds(text)?;
    u64::try_from(u128::from(billionths) * u128::from(factor) / 1_000_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_parsed_and_errors_explained() {
        let read = |text: &str| text.parse::<Columns>();
        let columns = read("time=0:us,op=2,offset=3:sectors,bytes=4").expect("valid");
        assert_eq!((columns.time, columns.offset, columns.bytes), (Some((0, 1000)), (3, 512), Some((4, 1))));
        for (text, message) in [
            ("offset", "found \"offset\", expected NAME=COLUMN or NAME=COLUMN:UNIT, such as offset=3:sectors"),
            ("offset=x", "offset: found \"x\", expected a column's number from 0 to 63"),
            ("op=1", "found no offset, expected its column, such as offset=3:sectors"),
            ("time=0,offset=1", "time: found no unit, expected one such as time=0:us (s, ms, us, 100ns, ns)"),
            ("offset=1:blocks", "offset: found the unit \"blocks\", expected one of bytes, sectors, kib, pages"),
            ("device=1:us,offset=0", "device: found the unit \"us\", expected none"),
            (
                "ofset=1",
                "found the name \"ofset\", expected one of time, op, offset, bytes, device, separator; the nearest is \"offset\"",
            ),
            (
                "ofset=1:sectors",
                "found the name \"ofset\", expected one of time, op, offset, bytes, device, separator; the nearest is \"offset\"",
            ),
            ("offset=1,offset=2", "offset: found two columns, expected one"),
        ] {
            assert_eq!(read(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn fractions_of_any_unit_are_kept_to_the_nanosecond() {
        assert_eq!(ticks(b"1.5", 1_000), Some(1_500));
        assert_eq!(ticks(b"1577808000000046", 1_000), Some(1_577_808_000_000_046_000));
        assert_eq!(ticks(b"0.000000001", 1_000_000_000), Some(1));
        assert_eq!((ticks(b"x", 1), ticks(b"-1", 1), ticks(b"99999999999999999999", 1)), (None, None, None));
    }
}
