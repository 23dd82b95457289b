//! Quantities in users' notation, a number with its unit: `"25us"`, `"8KiB"`, `"400MB/s"`.
//!
//! A bare number is rejected, because 400 could mean MB/s or MiB/s. Zero needs a unit too.

use crate::Time;

/// Error for a quantity that cannot be parsed. The message names the text found and the form expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

const TIME: [(&str, f64); 8] =
    [("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12), ("min", 60e12), ("h", 3600e12), ("d", 86400e12)];
const SIZE: [(&str, f64); 11] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("TiB", 1099511627776.0),
    ("PiB", 1125899906842624.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];
const RATE: [(&str, f64); 10] = [
    ("B/s", 1.0),
    ("KiB/s", 1024.0),
    ("MiB/s", 1048576.0),
    ("GiB/s", 1073741824.0),
    ("kB/s", 1e3),
    ("KB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("Mb/s", 1e6 / 8.0),
    ("Gb/s", 1e9 / 8.0),
];
const TRANSFERS: [(&str, f64); 2] = [("MT/s", 1e6), ("GT/s", 1e9)];
const FREQUENCY: [(&str, f64); 4] = [("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
const POWER: [(&str, f64); 3] = [("uW", 1.0), ("mW", 1e3), ("W", 1e6)];
const ENERGY: [(&str, f64); 5] = [("pJ", 1.0), ("nJ", 1e3), ("uJ", 1e6), ("mJ", 1e9), ("J", 1e12)];

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(i, c)| !(c.is_ascii_digit() || *c == '.' || *c == '_' || (*i == 0 && (*c == '-' || *c == '+'))))
        .map_or(text.len(), |(i, _)| i);
    // `1e9B` would be ambiguous with a unit that starts with `e`, so only plain decimals are accepted.
    (&text[..end], text[end..].trim())
}

fn parse(text: &str, kind: &str, example: &str, units: &[(&str, f64)]) -> Result<f64, UnitError> {
    let (number, unit) = split(text);
    let known = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let value: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| UnitError(format!("found \"{text}\", expected {kind} with its unit, such as \"{example}\"")))?;
    if unit.is_empty() {
        return Err(UnitError(format!("found \"{text}\" without a unit, expected {kind} such as \"{example}\"")));
    }
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let nearest = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let hint = nearest.map_or_else(|| format!("one of {}", known()), |(name, _)| format!("\"{name}\""));
        return Err(UnitError(format!("found the unit \"{unit}\" in \"{text}\", expected {hint}")));
    };
    if value < 0.0 {
        return Err(UnitError(format!("found \"{text}\", expected {kind} of zero or more")));
    }
    Ok(value * scale)
}

fn whole(value: f64, text: &str, what: &str) -> Result<u64, UnitError> {
    if value >= 9.2e18 {
        return Err(UnitError(format!("found \"{text}\", expected at most 9.2e18 {what}")));
    }
    if (value - value.round()).abs() > 1e-6 * value.max(1.0) {
        return Err(UnitError(format!("found \"{text}\", expected a whole number of {what}")));
    }
    Ok(value.round() as u64)
}

/// Parses a time: `"25us"`, `"3.8ms"`, `"0s"`.
pub fn time(text: &str) -> Result<Time, UnitError> {
    whole(parse(text, "a time", "25us", &TIME)?, text, "picoseconds").map(Time::from_ps)
}

/// Parses a size in bytes: `"8KiB"`, `"512GB"`.
pub fn size(text: &str) -> Result<u64, UnitError> {
    whole(parse(text, "a size", "8KiB", &SIZE)?, text, "bytes")
}

/// Parses a bandwidth in bytes per second: `"400MB/s"`, `"6Gb/s"`.
pub fn rate(text: &str) -> Result<u64, UnitError> {
    Ok(parse(text, "a bandwidth", "400MB/s", &RATE)?.round() as u64)
}

/// Parses the transfers per second of a bus: `"333MT/s"`.
pub fn transfers(text: &str) -> Result<u64, UnitError> {
    Ok(parse(text, "a transfer rate", "333MT/s", &TRANSFERS)?.round() as u64)
}

/// Parses a frequency in Hz: `"266MHz"`.
pub fn frequency(text: &str) -> Result<u64, UnitError> {
    Ok(parse(text, "a frequency", "266MHz", &FREQUENCY)?.round() as u64)
}

/// Parses a power in microwatts: `"60mW"`.
pub fn power(text: &str) -> Result<u64, UnitError> {
    whole(parse(text, "a power", "60mW", &POWER)?, text, "microwatts")
}

/// Parses an energy in picojoules: `"7.2nJ"`.
pub fn energy(text: &str) -> Result<u64, UnitError> {
    whole(parse(text, "an energy", "7.2nJ", &ENERGY)?, text, "picojoules")
}

/// Formats a size in the largest binary unit that divides it evenly, else in bytes: `8KiB`, `4097B`.
pub fn show_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 5] =
        [(1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let (scale, unit) = UNITS.into_iter().find(|(s, _)| bytes >= *s && bytes.is_multiple_of(*s)).unwrap_or((1, "B"));
    format!("{}{unit}", bytes / scale)
}

/// Formats a size in decimal units with three significant digits, as drives are sold: `512 B`, `1.50 MB`.
pub fn decimal(bytes: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    let Some((scale, unit)) = UNITS.into_iter().find(|(scale, _)| bytes >= *scale) else {
        return format!("{bytes} B");
    };
    let amount = bytes / scale;
    let decimals = if amount < 10.0 { 2 } else { usize::from(amount < 100.0) };
    format!("{amount:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_carry_their_unit() {
        assert_eq!(time("25us"), Ok(Time::from_us(25)));
        assert_eq!(time("3.8 ms"), Ok(Time::from_us(3800)));
        assert_eq!(size("8KiB"), Ok(8192));
        assert_eq!(rate("6Gb/s"), Ok(750_000_000));
        assert_eq!(transfers("333MT/s"), Ok(333_000_000));
        assert_eq!(power("60mW"), Ok(60_000));
    }

    #[test]
    fn decimal_sizes_have_three_digits() {
        let sizes = [0, 512, 1_500, 86_016, 123_456_789, 2_000_000_000_000].map(decimal);
        assert_eq!(sizes, ["0 B", "512 B", "1.50 kB", "86.0 kB", "123 MB", "2.00 TB"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |r: Result<u64, UnitError>| r.unwrap_err().to_string();
        assert_eq!(said(size("8")), "found \"8\" without a unit, expected a size such as \"8KiB\"");
        assert_eq!(said(size("8kib")), "found the unit \"kib\" in \"8kib\", expected \"KiB\"");
        assert_eq!(said(size("eight")), "found \"eight\", expected a size with its unit, such as \"8KiB\"");
        assert_eq!(said(size("-1B")), "found \"-1B\", expected a size of zero or more");
        assert_eq!(said(size("1.5B")), "found \"1.5B\", expected a whole number of bytes");
        assert_eq!(time("0.1ps").unwrap_err().to_string(), "found \"0.1ps\", expected a whole number of picoseconds");
    }

    #[test]
    fn a_sign_stands_before_the_number_alone() {
        assert_eq!(time("+5us"), Ok(Time::from_us(5)));
        let said = time("5-3us").unwrap_err().to_string();
        assert_eq!(said, "found the unit \"-3us\" in \"5-3us\", expected one of ps, ns, us, ms, s, min, h, d");
    }

    #[test]
    fn a_quantity_is_below_its_limit() {
        assert!(size("9.1e18B").is_err());
        assert_eq!(size("9100000000GB"), Ok(9_100_000_000_000_000_000));
        let said = size("9200000000GB").unwrap_err().to_string();
        assert_eq!(said, "found \"9200000000GB\", expected at most 9.2e18 bytes");
    }

    #[test]
    fn zero_is_a_quantity() {
        assert_eq!((time("0s"), size("0B")), (Ok(Time::ZERO), Ok(0)));
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_that_divides_it() {
        assert_eq!([0, 1, 1023, 1024, 4097].map(show_size), ["0B", "1B", "1023B", "1KiB", "4097B"]);
        assert_eq!([3 << 20, (1 << 30) + (1 << 20), 1 << 50].map(show_size), ["3MiB", "1025MiB", "1PiB"]);
    }
}
