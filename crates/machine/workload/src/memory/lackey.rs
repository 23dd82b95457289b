//! Valgrind's lackey with `--trace-mem=yes`: `I  04001000,3`, ` L 1ffefff8,8`, ` S …`, ` M …`.
//!
//! Source: the comments in lackey's `lk_main.c` and valgrind's manual. Addresses are hexadecimal without a prefix,
//! sizes are decimal bytes, and `M` is a load followed by a store. Valgrind's own output begins with `==`.

use super::{Access, Op};
use crate::trace::fields::{Fault, Field};

const KIND: Field = Field::new("access", "I, L, S or M");
const ADDRESS: Field = Field::new("address", "a hexadecimal address below 2^64, without 0x");
const SIZE: Field = Field::new("size", "bytes, from 1 to 65536");

/// Returns whether a line is in this format.
pub(super) fn is_one(line: &[u8]) -> bool {
    line.starts_with(b"==") || matches!(line, [b'I', b' ', ..] | [b' ', b'L' | b'S' | b'M', b' ', ..])
}

/// Returns whether a line is valgrind's own output.
pub(super) fn is_valgrind_output(line: &[u8]) -> bool {
    line.starts_with(b"==") || line.starts_with(b"--")
}

/// Parses the access of a line, and the second access of an `M`.
pub(super) fn parse(line: &[u8]) -> Result<(Access, Option<Access>), Box<Fault>> {
    let line = line.trim_ascii();
    let (kind, rest) = line.split_first().ok_or_else(|| Fault::quoted(&KIND, line))?;
    let op = match kind {
        b'I' => Op::Fetch,
        b'L' | b'M' => Op::Read,
        b'S' => Op::Write,
        _ => return Err(Fault::quoted(&KIND, line)),
    };
    let rest = rest.trim_ascii_start();
    let comma = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
    let address = digits(&rest[..comma], 16).ok_or_else(|| Fault::quoted(&ADDRESS, &rest[..comma]))?;
    let size = rest.get(comma + 1..).unwrap_or_default();
    let bytes = digits(size, 10).filter(|bytes| (1..=1 << 16).contains(bytes));
    let bytes = bytes.ok_or_else(|| Fault::quoted(&SIZE, size))?;
    let instructions = u64::from(op == Op::Fetch);
    let access = Access { instructions, op, address, cycle: None, bytes: bytes as u32 };
    let second = (*kind == b'M').then_some(Access { op: Op::Write, ..access });
    Ok((access, second))
}

/// Parses a number without a sign.
pub(super) fn digits(text: &[u8], radix: u32) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}
