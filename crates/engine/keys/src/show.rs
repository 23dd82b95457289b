//! Formats values in the unit that is exact and short.

use std::fmt;

use sim::{Time, units};

use crate::{Value, age};

/// Formats `scaled` in the largest of `units` that represents it exactly with up to three decimals. The last unit must
/// be 1.
fn exact(scaled: u64, units: &[(u64, &str)]) -> String {
    let (scale, unit) = units
        .iter()
        .find(|(scale, _)| scaled >= *scale && (u128::from(scaled) * 1000) % u128::from(*scale) == 0)
        .or(units.last())
        .expect("there are units");
    let thousandths = u128::from(scaled) * 1000 / u128::from(*scale);
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    match rest {
        0 => format!("{whole}{unit}"),
        _ => format!("{}{unit}", format!("{whole}.{rest:03}").trim_end_matches('0')),
    }
}

const TIMES: [(u64, &str); 5] =
    [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1000, "ns"), (1, "ps")];
const SIZES: [(u64, &str); 5] =
    [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB"), (1, "B")];
const RATES: [(u64, &str); 4] = [(1_000_000_000, "GB/s"), (1_000_000, "MB/s"), (1000, "kB/s"), (1, "B/s")];
const ENERGIES: [(u64, &str); 5] =
    [(1_000_000_000_000, "J"), (1_000_000_000, "mJ"), (1_000_000, "uJ"), (1000, "nJ"), (1, "pJ")];
const POWERS: [(u64, &str); 3] = [(1_000_000, "W"), (1000, "mW"), (1, "uW")];

impl Value {
    /// Formats the value without quotes.
    pub fn plain(&self) -> String {
        match self {
            Value::Time(time) if *time == Time::ZERO => "0s".to_owned(),
            Value::Time(time) => exact(time.ps(), &TIMES),
            Value::Age(seconds) => age::show(*seconds),
            Value::Size(bytes) => {
                // Use the shorter of both forms, 256GB or 1000MiB; if neither is short, use bytes.
                let (binary, decimal) = (units::show_size(*bytes), exact(*bytes, &SIZES));
                let short = if decimal.len() < binary.len() { decimal } else { binary };
                if short.len() <= 10 { short } else { format!("{bytes}B") }
            }
            Value::Rate(rate) => exact(*rate, &RATES),
            // Flash bus rates are customary in MT/s, even above 3600.
            Value::Frequency(rate) => match rate {
                rate if rate.is_multiple_of(1_000_000) => format!("{}MHz", rate / 1_000_000),
                rate if rate.is_multiple_of(1_000) => format!("{}kHz", rate / 1_000),
                rate => format!("{rate}Hz"),
            },
            Value::Transfers(rate) => match rate % 1_000_000 {
                0 => format!("{}MT/s", rate / 1_000_000),
                part => format!("{}MT/s", format!("{}.{part:06}", rate / 1_000_000).trim_end_matches('0')),
            },
            Value::Power(power) => exact(*power, &POWERS),
            Value::Energy(energy) => exact(*energy, &ENERGIES),
            Value::Count(n) => n.to_string(),
            Value::Number(x) => x.to_string(),
            Value::Bool(yes) => yes.to_string(),
            Value::Word(word) => (*word).to_owned(),
            Value::Text(text) => text.clone(),
            Value::Times(_) | Value::Words(_) => unreachable!("lists are formatted element by element"),
        }
    }
}

impl fmt::Display for Value {
    /// Formats the value as in a system file: `"25us"`, `8`, `["lower", "upper"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: Vec<String>| match parts.as_slice() {
            [one] => one.clone(),
            _ => format!("[{}]", parts.join(", ")),
        };
        match self {
            Value::Count(_) | Value::Number(_) | Value::Bool(_) => f.write_str(&self.plain()),
            Value::Text(text) => f.write_str(&quote(text)),
            Value::Times(times) => {
                f.write_str(&list(times.iter().map(|time| Value::Time(*time).to_string()).collect()))
            }
            Value::Words(words) => f.write_str(&list(words.iter().map(|word| Value::Word(word).to_string()).collect())),
            _ => write!(f, "\"{}\"", self.plain()),
        }
    }
}

/// Formats a string in TOML syntax, in double quotes.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatted_values_parse_back_exactly() {
        for ps in [1, 999, 1000, 1234, 25_000_000, 1_536_000_000, 3_800_000_000, 334, 1_000_001, 90_000_000_000_000] {
            let time = Time::from_ps(ps);
            assert_eq!(units::time(&Value::Time(time).plain()), Ok(time));
        }
        for bytes in [0, 1, 512, 8192, 4097, 256_060_514_304, 960_000_000_000, 1 << 40, 3_840_755_982_336, 1_500_000] {
            assert_eq!(units::size(&Value::Size(bytes).plain()), Ok(bytes));
        }
        for rate in [1, 750_000_000, 4_000_000_000, 984_600_000, 1_250_000_001] {
            assert_eq!(units::rate(&Value::Rate(rate).plain()), Ok(rate));
        }
        for rate in [333_000_000, 1_400_000_000, 166_666_667, 3_600_000_000] {
            assert_eq!(units::transfers(&Value::Transfers(rate).plain()), Ok(rate));
        }
        for rate in [1000, 266_000_000, 1_700_000_000, 123_456_789, 32_768] {
            assert_eq!(units::frequency(&Value::Frequency(rate).plain()), Ok(rate));
        }
        for power in [0, 1, 60_000, 82_500, 1_500_000] {
            assert_eq!(units::power(&Value::Power(power).plain()), Ok(power));
        }
    }

    #[test]
    fn sizes_use_the_shorter_of_binary_and_decimal_units() {
        let show = |bytes| Value::Size(bytes).plain();
        assert_eq!(show(8192), "8KiB");
        assert_eq!(show(960_000_000_000), "960GB");
        assert_eq!(show(1 << 39), "512GiB");
        assert_eq!(show(256_060_514_304), "256060514304B");
    }
}
