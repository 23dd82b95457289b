//! The two lines of text that our binary traces begin with: which format, and a header in JSON.

use serde::de::DeserializeOwned;

use crate::trace::fields::{line_length, quote};
use crate::trace::{Input, Place, TraceError};
use crate::varint;

/// Reads the first two lines. `keys` says what the header holds.
///
/// # Errors
/// If the first line is not `magic`, or the second not such a header.
pub(crate) fn read<H: DeserializeOwned>(input: &mut Input, magic: &str, keys: &str) -> Result<H, TraceError> {
    let first = line(input)?;
    if first != magic.as_bytes() {
        return Err(fault(input, "format", quote(&first), format!("\"{magic}\"")));
    }
    let text = line(input)?;
    serde_json::from_slice::<H>(&text)
        .map_err(|error| fault(input, "header", quote(&text), format!("{keys} in JSON: {error}")))
}

/// What stands where a record cannot be read: the end of the file, or no number.
///
/// # Errors
/// If the file cannot be read.
#[cold]
pub(crate) fn no_record(input: &mut Input, field: &'static str) -> Result<TraceError, TraceError> {
    let bytes = input.at_least(2 * varint::LONGEST)?;
    let (found, expected) = if bytes.len() < varint::LONGEST {
        ("the end of the file".to_owned(), format!("a {field}, or 0 and how many there are"))
    } else {
        let bytes: Vec<String> = bytes.iter().take(varint::LONGEST).map(|byte| format!("{byte:02x}")).collect();
        (format!("the bytes {}", bytes.join(" ")), "a number below 2^64 in LEB128".to_owned())
    };
    Ok(next_fault(input, field, found, expected))
}

/// The next line, without its end.
fn line(input: &mut Input) -> Result<Vec<u8>, TraceError> {
    let Some(text) = input.line()? else { return Ok(Vec::new()) };
    let length = line_length(text);
    let line = text[..length].to_vec();
    input.pass(length + 1);
    Ok(line)
}

/// A fault of the last line or record.
#[cold]
pub(crate) fn fault(input: &Input, field: &'static str, found: String, expected: String) -> TraceError {
    TraceError::Field { file: input.file().to_owned(), place: input.place(), field, found, expected }
}

/// A fault of the record behind the last one.
#[cold]
pub(crate) fn next_fault(input: &Input, field: &'static str, found: String, expected: String) -> TraceError {
    let place = Place::Record(input.taken() + 1);
    TraceError::Field { file: input.file().to_owned(), place, field, found, expected }
}
