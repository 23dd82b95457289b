//! fio's numbers: suffixes, percentages, and the read,write,trim form.

use sim::Time;

/// Meaning of the suffix `k`: fio's `kb_base`.
///
/// With 1024, fio's default, the suffixes mean the opposite of their IEC names: `4k` is 4096 and `4kib` is 4000. The
/// `i` only counts if a `b` follows: `4ki` is `4k`, as in fio 3.33.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KbBase {
    /// SI units: `k` is 1000 and `kib` is 1024.
    Si,
    /// fio's compatibility mode: `k` is 1024 and `kib` is 1000.
    Compatible,
}

/// A size or offset in bytes, as a percentage of the drive, or in zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percentage of the drive, up to 100.
    Percent(u64),
    /// Number of zones.
    Zones(u64),
}

impl Amount {
    /// Returns whether the amount is zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Amount::Bytes(0) | Amount::Percent(0) | Amount::Zones(0))
    }
}

/// Parses a whole number with fio's size suffixes: `4096`, `4k`, `4kB`, `1.5g`, `0x1000`.
pub(super) fn number(text: &str, base: KbBase) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let (digits, suffix) = split(&text);
    let letters = suffix.strip_suffix('b').unwrap_or(suffix);
    let (letter, iec) = match letters.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (letters, false),
    };
    let inverted = iec && suffix.ends_with('b');
    let thousand: u64 = if inverted == (base == KbBase::Si) { 1024 } else { 1000 };
    let power = match letter {
        "" if !iec => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    scale(digits, thousand.pow(power))
}

/// Like [`number`], with a sign.
pub(super) fn signed(text: &str, base: KbBase) -> Option<i64> {
    match text.trim().strip_prefix('-') {
        Some(rest) => number(rest, base).and_then(|n| i64::try_from(n).ok()).map(|n| -n),
        None => number(text, base).and_then(|n| i64::try_from(n).ok()),
    }
}

/// Parses a duration with fio's suffixes. `unit` is the unit of a bare number.
pub(super) fn time(text: &str, unit: Time) -> Option<Time> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, suffix) = split(&text);
    let unit = match suffix {
        "" => unit,
        "d" => Time::from_s(86_400),
        "h" => Time::from_s(3_600),
        "m" => Time::from_s(60),
        "s" | "sec" => Time::from_s(1),
        "ms" | "msec" => Time::from_ms(1),
        "us" | "usec" => Time::from_us(1),
        "ns" | "nsec" => Time::from_ns(1),
        _ => return None,
    };
    scale(digits, unit.ps()).map(Time::from_ps)
}

/// Parses bytes with a suffix, a percentage, or a number of zones such as `2z`.
pub(super) fn amount(text: &str, base: KbBase) -> Option<Amount> {
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        return percent.trim().parse().ok().filter(|p| *p <= 100).map(Amount::Percent);
    }
    match text.strip_suffix(['z', 'Z']) {
        Some(zones) => zones.trim().parse().ok().map(Amount::Zones),
        None => number(text, base).map(Amount::Bytes),
    }
}

/// Parses a plain decimal number, such as a parameter of a distribution.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    text.parse().ok().filter(|_| plain)
}

/// Maximum number of percentiles, as in fio.
const PERCENTILES_MAX: usize = 20;

/// Parses percentages separated by colons; returns them in rising order.
pub(crate) fn percentiles(text: &str) -> Option<Vec<f64>> {
    let percent = |part| decimal(part).filter(|percent| *percent > 0.0 && *percent <= 100.0);
    let mut list = text.split(':').map(percent).collect::<Option<Vec<f64>>>()?;
    list.sort_by(f64::total_cmp);
    list.dedup();
    (list.len() <= PERCENTILES_MAX).then_some(list)
}

/// Parses fio's `read,write,trim` form. A value also applies to the following directions unless a comma ends it.
///
/// `a` means a, a, a; `a,b` means a, b, b; `a,` means a for reads only; `,b` means b for writes and trims.
pub(super) fn triple<T: Clone>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<[Option<T>; 3]> {
    let mut values = [None, None, None];
    let mut parts = 0;
    for part in text.split(',') {
        let value = values.get_mut(parts)?;
        if !part.trim().is_empty() {
            *value = Some(parse(part)?);
        }
        parts += 1;
    }
    for i in parts..3 {
        values[i] = values[parts - 1].clone();
    }
    values.iter().any(Option::is_some).then_some(values)
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Multiplies `digits`, optionally with a fraction, by `unit`, if the product is a whole number.
fn scale(digits: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.len() > 15 || (fraction.is_empty() && digits.contains('.')) {
        return None;
    }
    let denominator = 10u128.pow(fraction.len() as u32);
    let numerator = whole.parse::<u64>().ok()? as u128 * denominator
        + if fraction.is_empty() { 0 } else { u128::from(fraction.parse::<u64>().ok()?) };
    let product = numerator.checked_mul(u128::from(unit))?;
    (product % denominator == 0).then_some(product / denominator).and_then(|value| u64::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_match_fio() {
        use KbBase::{Compatible, Si};
        // Examples from fio's HOWTO, in both modes.
        for text in ["4096", "4096b", "4096B", "4k", "4kb", "4kB", "4K", "4KB", "0x1000"] {
            assert_eq!(number(text, Compatible), Some(4096), "{text}");
        }
        for text in ["1000000", "1mib", "1000kib"] {
            assert_eq!(number(text, Compatible), Some(1_000_000), "{text}");
        }
        for text in ["4096", "4kib", "4KiB"] {
            assert_eq!(number(text, Si), Some(4096), "{text}");
        }
        // Without the b, the i has no effect.
        assert_eq!((number("4ki", Compatible), number("4ki", Si)), (Some(4096), Some(4000)));
        assert_eq!(number("1t", Si), Some(1_000_000_000_000));
        assert_eq!(number("1.5g", Compatible), Some(3 << 29));
        for text in ["", "k", "4q", "4kk", "-1", "1.3", "4i", ".5k", "5.k", "99999999999999999999", "16384p", "1 000"] {
            assert_eq!(number(text, Compatible), None, "{text}");
        }
    }

    #[test]
    fn times_match_fio() {
        let s = Time::from_s(1);
        for (text, ps) in [("10", 10_000_000_000_000), ("10m", 600_000_000_000_000), ("1.5ms", 1_500_000_000)] {
            assert_eq!(time(text, s), Some(Time::from_ps(ps)), "{text}");
        }
        assert_eq!(time("2", Time::from_us(1)), Some(Time::from_us(2)));
        assert_eq!(time("2 usec", s), Some(Time::from_us(2)));
        for text in ["", "s", "1y", "-1s", "300d"] {
            assert_eq!(time(text, s), None, "{text}");
        }
    }

    #[test]
    fn triples_extend_to_later_directions_as_in_fio() {
        let parse = |text| triple(text, |part| part.parse::<u32>().ok());
        assert_eq!(parse("1"), Some([Some(1), Some(1), Some(1)]));
        assert_eq!(parse("1,2"), Some([Some(1), Some(2), Some(2)]));
        assert_eq!(parse("1,2,"), Some([Some(1), Some(2), None]));
        assert_eq!(parse(",2"), Some([None, Some(2), Some(2)]));
        assert_eq!(parse(",2,"), Some([None, Some(2), None]));
        assert_eq!(parse("1,"), Some([Some(1), None, None]));
        assert_eq!(parse("1,2,3,4"), None);
        assert_eq!(parse(","), None);
        assert_eq!(parse("x"), None);
    }

    #[test]
    fn amounts_are_bytes_percent_or_zones() {
        assert_eq!(amount("50%", KbBase::Compatible), Some(Amount::Percent(50)));
        assert_eq!(amount("1m", KbBase::Compatible), Some(Amount::Bytes(1 << 20)));
        assert_eq!(amount("2z", KbBase::Compatible), Some(Amount::Zones(2)));
        assert_eq!(amount("101%", KbBase::Compatible), None);
        assert_eq!(amount("1.5z", KbBase::Compatible), None);
    }
}
