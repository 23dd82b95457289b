//! The two lines of text at the start of nandram's binary traces: the format's name, and a header in JSON.

use serde::de::DeserializeOwned;

use crate::trace::fields::{line_length, quote};
use crate::trace::{Input, Position, TraceError};
use crate::varint;

/// Reads the first two lines. `keys` describes the header's keys for error messages.
///
/// # Errors
/// If the first line is not `magic`, or the second is not a valid header.
pub(crate) fn read<H: DeserializeOwned>(input: &mut Input, magic: &str, keys: &str) -> Result<H, TraceError> {
    let first = line(input)?;
    if first != magic.as_bytes() {
        return Err(fault(input, "format", quote(&first), format!("\"{magic}\"")));
    }
    let text = line(input)?;
    serde_json::from_slice::<H>(&text)
        .map_err(|error| fault(input, "header", quote(&text), format!("{keys} in JSON: {error}")))
}

/// Returns the error for a position without a readable record: the end of the file, or an invalid number.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn no_record(input: &mut Input, field: &'static str) -> Result<TraceError, TraceError> {
    let bytes = input.at_least(2 * varint::LONGEST)?;
    let (found, expected) = if bytes.len() < varint::LONGEST {
        ("the end of the file".to_owned(), format!("a {field}, or 0 and the number of records"))
    } else {
        let bytes: Vec<String> = bytes.iter().take(varint::LONGEST).map(|byte| format!("{byte:02x}")).collect();
        (format!("the bytes {}", bytes.join(" ")), "a number below 2^64 in LEB128".to_owned())
    };
    Ok(next_fault(input, field, found, expected))
}

/// Reads the next line, without its line ending.
fn line(input: &mut Input) -> Result<Vec<u8>, TraceError> {
    let Some(text) = input.line()? else { return Ok(Vec::new()) };
    let length = line_length(text);
    let line = text[..length].to_vec();
    input.pass(length + 1);
    Ok(line)
}

/// Returns an error for the last line or record.
pub(crate) fn fault(input: &Input, field: &'static str, found: String, expected: String) -> TraceError {
    TraceError::Field { file: input.file().to_owned(), place: input.place(), field, found, expected }
}

/// Returns an error for the record after the last one.
pub(crate) fn next_fault(input: &Input, field: &'static str, found: String, expected: String) -> TraceError {
    let place = Position::Record(input.taken() + 1);
    TraceError::Field { file: input.file().to_owned(), place, field, found, expected }
}
