//! Splits a line into fields, and parses and validates them.

/// Description of an invalid field; the reader adds the file and line.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The field's name.
    pub field: &'static str,
    /// The value that was found, in quotes, or a phrase.
    pub found: String,
    /// Description of a valid value.
    pub expected: String,
}

/// Name and contents of a format's column.
#[derive(Debug)]
pub(crate) struct Field {
    /// Name in the format's own documentation.
    pub name: &'static str,
    /// Description of a valid value.
    pub holds: &'static str,
}

impl Field {
    pub const fn new(name: &'static str, holds: &'static str) -> Field {
        Field { name, holds }
    }
}

impl Fault {
    /// Creates a fault for `found` in place of `field`.
    pub fn new(field: &Field, found: String) -> Box<Fault> {
        Box::new(Fault { field: field.name, found, expected: field.holds.to_owned() })
    }

    /// Creates a fault that shows `found` in quotes.
    pub fn quoted(field: &Field, found: &[u8]) -> Box<Fault> {
        Fault::new(field, quote(found))
    }
}

/// Returns `bytes` in double quotes, shortened for a message, with control characters escaped.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let mut out = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN {
            out.push('…');
            break;
        }
        match c {
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The fields of one line, separated by commas (with optional blanks around them) or by blanks.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a, const COMMAS: bool> {
    // Everything after the fields taken so far: the rest of the line, its end, and the following lines. The fast number
    // parser reads words of eight bytes and therefore looks past the end of the line.
    rest: &'a [u8],
    // Separated by commas: the line has another field. Separated by blanks: it may have one.
    more: bool,
}

/// Fields separated by commas.
pub(crate) type CommaFields<'a> = Fields<'a, true>;
/// Fields separated by blanks.
pub(crate) type BlankFields<'a> = Fields<'a, false>;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

/// Removes blanks at the end, and the CR of a CR LF.
fn trim_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t' | b'\r'] = text {
        text = rest;
    }
    text
}

impl<'a, const COMMAS: bool> Fields<'a, COMMAS> {
    /// Creates the fields of the line at the start of `text`, which ends at a `\n` or at the end of the text.
    pub fn new(text: &'a [u8]) -> Self {
        Fields { rest: text, more: true }
    }

    /// Returns everything after the fields taken so far: the rest of the line, its end, and the following lines.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Skips `bytes` bytes, which must be whole fields with their separators.
    pub fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Returns the text after the line.
    pub fn behind_line(&self) -> &'a [u8] {
        if let [b'\n', behind @ ..] = self.rest {
            return behind;
        }
        self.rest.get(line_length(self.rest) + 1..).unwrap_or_default()
    }

    /// Takes the next field, if the line has one. A field between blanks is never empty; one between commas may be.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        if !self.more {
            return None;
        }
        let text = trim_start(self.rest);
        let ends = |byte: u8| byte == b'\n' || if COMMAS { byte == b',' } else { is_blank(byte) };
        let length = text.iter().position(|byte| ends(*byte)).unwrap_or(text.len());
        let (word, behind) = text.split_at(length);
        (self.rest, self.more) = match behind {
            [] | [b'\n', ..] => (behind, false),
            [_, rest @ ..] => (rest, true),
        };
        let word = trim_end(word);
        (COMMAS || !word.is_empty()).then_some(word)
    }

    /// Takes the next field, which must exist and not be empty.
    pub fn word(&mut self, field: &'static Field) -> Result<&'a [u8], Box<Fault>> {
        match self.next() {
            Some(word) if !word.is_empty() => Ok(word),
            other => Err(fault(field, other)),
        }
    }

    /// Takes the next field as a whole number.
    pub fn number(&mut self, field: &'static Field) -> Result<u64, Box<Fault>> {
        let (value, count) = digits(self.rest);
        if is_count(count) {
            match self.rest[count..] {
                [separator, ref rest @ ..] if separator == if COMMAS { b',' } else { b' ' } => {
                    self.rest = rest;
                    return Ok(value);
                }
                [] | [b'\n', ..] => {
                    self.rest = &self.rest[count..];
                    self.more = false;
                    return Ok(value);
                }
                _ => {}
            }
        }
        let (value, behind) = self.number_among_blanks(field)?;
        *self = behind;
        Ok(value)
    }

    /// Parses numbers that the fast path of [`Self::number`] does not handle.
    fn number_among_blanks(mut self, field: &'static Field) -> Result<(u64, Self), Box<Fault>> {
        let word = self.next();
        let (value, count) = digits(word.unwrap_or_default());
        if is_count(count) && word.map(<[u8]>::len) == Some(count) {
            Ok((value, self))
        } else {
            Err(fault(field, word))
        }
    }

    /// Takes the next field, a number of 512-byte sectors, and converts it to bytes.
    pub fn sectors(&mut self, field: &'static Field) -> Result<u64, Box<Fault>> {
        let sectors = self.number(field)?;
        match sectors.checked_mul(media::request::SECTOR) {
            Some(bytes) => Ok(bytes),
            None => Err(Fault::new(&Field::new(field.name, SECTOR_MAX), format!("\"{sectors}\""))),
        }
    }

    /// Takes the next field, seconds with an optional fraction, and converts it to nanoseconds. Further digits are
    /// dropped.
    pub fn seconds(&mut self, field: &'static Field) -> Result<u64, Box<Fault>> {
        let word = self.next();
        match nanoseconds(word.unwrap_or_default()) {
            Some(nanoseconds) => Ok(nanoseconds),
            None => Err(fault(field, word)),
        }
    }

    /// Checks that the line has no further field.
    pub fn end(&mut self) -> Result<(), Box<Fault>> {
        match self.next() {
            None => Ok(()),
            further => Err(fault(&END, further)),
        }
    }
}

/// Returns the fault of an invalid or missing field.
fn fault(field: &Field, word: Option<&[u8]>) -> Box<Fault> {
    Fault::new(field, word.map_or_else(|| "the end of the line".to_owned(), quote))
}

/// Parses a whole number below 2^64, decimal or hexadecimal with `0x`.
pub(crate) fn unsigned(text: &[u8]) -> Option<u64> {
    let plain = |text: &[u8], radix| {
        let text = std::str::from_utf8(text).ok()?;
        (!text.starts_with('+')).then(|| u64::from_str_radix(text, radix).ok()).flatten()
    };
    match text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) {
        Some(hexadecimal) => plain(hexadecimal, 16),
        None => plain(text, 10),
    }
}

/// Converts seconds in decimal notation to nanoseconds.
pub(crate) fn nanoseconds(text: &[u8]) -> Option<u64> {
    const PLACES: usize = 9;
    let (whole, count) = digits(text);
    let fraction = match &text[count..] {
        [] if count > 0 => 0,
        [b'.', fraction @ ..] if count + fraction.len() > 0 => {
            let (value, places) = digits(&fraction[..fraction.len().min(PLACES)]);
            if places < fraction.len() && digits(&fraction[places..]).1 < fraction.len() - places {
                return None;
            }
            value * POWERS[PLACES - places]
        }
        _ => return None,
    };
    if count > 19 {
        return None;
    }
    whole.checked_mul(POWERS[PLACES])?.checked_add(fraction)
}

/// Returns whether `digits` digits form a supported number: 19 digits never overflow 64 bits, and no trace needs more.
fn is_count(digits: usize) -> bool {
    (1..=19).contains(&digits)
}

/// Returns the length of the line at the start of `text`.
///
/// Checks eight bytes at a time. The lowest set bit of `(x - 1…) & !x & 0x80…` marks the first zero byte of `x`,
/// because borrows only affect higher bytes.
pub(crate) fn line_length(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let x = u64::from_le_bytes(*word) ^ (ONES * b'\n' as u64);
        let zeros = x.wrapping_sub(ONES) & !x & (ONES << 7);
        if zeros != 0 {
            return text.len() - rest.len() + zeros.trailing_zeros() as usize / 8;
        }
        rest = behind;
    }
    let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    text.len() - rest.len() + length
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// The end of a line.
const END: Field = Field::new("line", "the end of the line");
/// Description of a sector number whose byte address fits 64 bits.
pub(crate) const SECTOR_MAX: &str = "a sector below 2^55";

const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Returns the number at the start of `text`, modulo 2^64, and its number of digits.
fn digits(text: &[u8]) -> (u64, usize) {
    match text.split_first_chunk() {
        Some((word, behind)) => match up_to_eight(word) {
            (value, 8) => more_digits(value, 8, behind),
            (value, count) => (value, count),
        },
        None => more_digits(0, 0, text),
    }
}

/// Continues [`digits`] in `text` after `count` digits with the value `value`.
fn more_digits(mut value: u64, mut count: usize, text: &[u8]) -> (u64, usize) {
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let (eight, length) = up_to_eight(word);
        value = value.wrapping_mul(POWERS[length]).wrapping_add(eight);
        count += length;
        if length < 8 {
            return (value, count);
        }
        rest = behind;
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// Returns the number at the start of a word, and its number of digits.
///
/// Converts all eight bytes at once, because decimal numbers make up most of a trace: it shifts the digits to the upper
/// end of the word with zeros below, then combines neighbors into pairs, fours and eights.
fn up_to_eight(word: &[u8; 8]) -> (u64, usize) {
    let word = u64::from_le_bytes(*word) ^ (ONES * b'0' as u64);
    // Sets the top bit of each byte that is not a digit. A carry out of such a byte only affects the bytes after it.
    let others = (word.wrapping_add(ONES * (0x80 - 10)) | word) & (ONES << 7);
    let length = others.trailing_zeros() as usize / 8;
    if length == 0 {
        return (0, 0);
    }
    let ones = word << (64 - 8 * length);
    let pairs = (ones.wrapping_mul(10).wrapping_add(ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let eight = (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xffff_ffff;
    (eight, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const N: Field = Field::new("n", "a number");
    const M: Field = Field::new("m", "a number");

    fn commas<T: AsRef<[u8]> + ?Sized>(line: &T) -> CommaFields<'_> {
        CommaFields::new(line.as_ref())
    }

    fn blanks<T: AsRef<[u8]> + ?Sized>(line: &T) -> BlankFields<'_> {
        BlankFields::new(line.as_ref())
    }

    fn message(fault: &Fault) -> String {
        format!("{}: found {}, expected {}", fault.field, fault.found, fault.expected)
    }

    #[test]
    fn fields_between_commas_may_be_padded_or_empty() {
        let mut fields = commas(b" 1 ,\tb c , ,4");
        assert_eq!(fields.number(&N).unwrap(), 1);
        assert_eq!(fields.next(), Some(&b"b c"[..]));
        assert_eq!(fields.next(), Some(&b""[..]));
        assert_eq!(fields.number(&N).unwrap(), 4);
        assert_eq!(fields.next(), None);
        let mut fields = commas(b"1,");
        assert_eq!((fields.next(), fields.next(), fields.next()), (Some(&b"1"[..]), Some(&b""[..]), None));
    }

    #[test]
    fn a_run_of_blanks_is_one_separator() {
        let mut fields = blanks(b"  8,0 \t 3  ");
        assert_eq!(fields.next(), Some(&b"8,0"[..]));
        assert_eq!(fields.number(&N).unwrap(), 3);
        assert!(fields.end().is_ok());
    }

    #[test]
    fn errors_show_the_field() {
        let bad = |line: &[u8]| message(&commas(line).number(&N).unwrap_err());
        assert_eq!(bad(b"12x ,3"), "n: found \"12x\", expected a number");
        assert_eq!(bad(b",3"), "n: found \"\", expected a number");
        assert_eq!(bad(b"-3"), "n: found \"-3\", expected a number");
        assert_eq!(bad(b"12345678901234567890"), "n: found \"12345678901234567890\", expected a number");
        assert_eq!(bad(&[0, 255, b'a']), "n: found \"\\u{0}\u{fffd}a\", expected a number");
        let mut fields = blanks(b"1 ");
        assert_eq!(fields.number(&N).unwrap(), 1);
        assert_eq!(message(&fields.number(&M).unwrap_err()), "m: found the end of the line, expected a number");
        assert_eq!(
            message(&commas(&[b'y'; 1000]).number(&N).unwrap_err()),
            format!("n: found \"{}…\", expected a number", "y".repeat(40))
        );
    }

    #[test]
    fn seconds_are_kept_to_the_nanosecond() {
        let read = |line: &str| blanks(&line).seconds(&N).ok();
        assert_eq!(read("0.026214"), Some(26_214_000));
        assert_eq!(read("12"), Some(12_000_000_000));
        assert_eq!(read("12."), Some(12_000_000_000));
        assert_eq!(read(".5"), Some(500_000_000));
        assert_eq!(read("1.1234567899"), Some(1_123_456_789));
        for bad in [".", "", "1.2.3", "1e3", "-1", "18446744074", "99999999999999999999999"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn line_ends_are_found(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), 0u8..255, 8u8..13], 0..40)) {
            prop_assert_eq!(line_length(&bytes), bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len()));
        }

        #[test]
        fn digits_agree_with_std(text in prop_oneof!["[0-9]{0,19}[^0-9]?[0-9a-z]{0,9}", "[\\x00-\\xff]{0,12}"]) {
            let count = text.bytes().take_while(u8::is_ascii_digit).count();
            let value = text[..count].parse::<u128>().unwrap_or(0) as u64;
            prop_assert_eq!(digits(text.as_bytes()), (value, count));
        }

        #[test]
        fn printed_numbers_are_parsed(value in 0u64..10_000_000_000_000_000_000, pad in "[ \t]{0,3}") {
            let line = format!("{pad}{value}{pad},x");
            prop_assert_eq!(commas(&line).number(&N).unwrap(), value);
            let line = format!("{pad}{value} x");
            prop_assert_eq!(blanks(&line).number(&N).unwrap(), value);
        }

        #[test]
        fn seconds_agree_with_arithmetic(whole in 0u64..1_000_000_000, nano in 0u64..1_000_000_000) {
            let line = format!("{whole}.{nano:09}");
            prop_assert_eq!(blanks(&line).seconds(&N).unwrap(), whole * 1_000_000_000 + nano);
        }

        #[test]
        fn splitting_agrees_with_std(line in "[a-c ,\t]{0,20}") {
            let mut fields = commas(&line);
            let ours: Vec<&[u8]> = std::iter::from_fn(|| fields.next()).collect();
            let theirs: Vec<&[u8]> = line.split(',').map(|f| f.trim_matches([' ', '\t']).as_bytes()).collect();
            prop_assert_eq!(ours, theirs);
            let mut fields = blanks(&line);
            let ours: Vec<&[u8]> = std::iter::from_fn(|| fields.next()).collect();
            let theirs: Vec<&[u8]> = line.split([' ', '\t']).filter(|f| !f.is_empty()).map(str::as_bytes).collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}
