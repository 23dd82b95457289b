//! Ages: durations beyond a run's clock, in seconds.

const UNITS: [(&str, u64); 5] = [("y", 365 * 86400), ("d", 86400), ("h", 3600), ("min", 60), ("s", 1)];

/// Returns the names of the units, largest first. A year has 365 days.
pub fn units() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|(name, _)| *name)
}

/// Parses an age in seconds: `"90d"`, `"1.5y"`, `"0s"`.
///
/// # Errors
/// Describes what was found and what was expected.
pub fn parse(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "expected a long time such as \"90d\" (y, d, h, min, s)";
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let number: f64 = number.parse().map_err(|_| format!("found \"{text}\", {EXPECTED}"))?;
    if unit.is_empty() {
        return Err(format!("found \"{text}\" without a unit, {EXPECTED}"));
    }
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("found the unit \"{unit}\" in \"{text}\", {EXPECTED}"));
    };
    let seconds = number * *scale as f64;
    match seconds.fract() == 0.0 && seconds < 9e15 {
        true => Ok(seconds as u64),
        false => Err(format!("found \"{text}\", expected a whole number of seconds")),
    }
}

/// Formats an age in the largest unit that divides it evenly: `90d`.
pub fn show(seconds: u64) -> String {
    let (name, scale) =
        UNITS.iter().find(|(_, scale)| seconds >= *scale && seconds.is_multiple_of(*scale)).unwrap_or(&("s", 1));
    format!("{}{name}", seconds / scale)
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn ages_round_trip() {
        assert_eq!(parse("90d"), Ok(90 * 86400));
        assert_eq!(parse("1.5y"), Ok(547 * 86400 + 43200));
        for seconds in [0, 1, 59, 60, 3600, 86400, 365 * 86400, 366 * 86400, 100_001] {
            assert_eq!(parse(&show(seconds)), Ok(seconds));
        }
        assert!(parse("90").unwrap_err().contains("without a unit"));
        assert!(parse("0.1s").unwrap_err().contains("whole number of seconds"));
    }
}
