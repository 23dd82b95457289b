//! Values: parsed from TOML according to their key's kind, stored in base units, and printed in readable units.

use std::fmt;

use sim::{Time, units};
use toml::de::DeValue;

use crate::key::age;
use crate::key::nearest::nearest;
use crate::key::{FromValue, Kind, Shape};

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A time.
    Time(Time),
    /// One time per page type, or a single one if all are equal.
    Times(Vec<Time>),
    /// Whole seconds.
    Age(u64),
    /// Bytes.
    Size(u64),
    /// Bytes per second.
    Rate(u64),
    /// Transfers per second.
    Transfers(u64),
    /// Cycles per second.
    Frequency(u64),
    /// Microwatts.
    Power(u64),
    /// Picojoules.
    Energy(u64),
    /// A whole number.
    Count(u64),
    /// A fraction or another number.
    Number(f64),
    /// A boolean.
    Bool(bool),
    /// A word of the key's choice, or the word that replaces a value.
    Word(&'static str),
    /// Several words of the key's choice.
    Words(Vec<&'static str>),
    /// Any text.
    Text(String),
}

impl Kind {
    /// Describes valid values, for messages.
    pub fn expected(&self) -> String {
        let plain = match self.shape {
            Shape::Time => "a time such as \"25us\"".to_owned(),
            Shape::Times => "a time such as \"25us\", or a list with one per page type".to_owned(),
            Shape::Age => "a long time such as \"90d\"".to_owned(),
            Shape::Size => "a size such as \"8KiB\"".to_owned(),
            Shape::Rate => "a bandwidth such as \"400MB/s\"".to_owned(),
            Shape::Transfers => "a transfer rate such as \"333MT/s\"".to_owned(),
            Shape::Frequency => "a frequency such as \"266MHz\"".to_owned(),
            Shape::Power => "a power such as \"60mW\"".to_owned(),
            Shape::Energy => "an energy such as \"7.2nJ\"".to_owned(),
            Shape::Count => format!("a whole number{}", self.range_after(" of", " from")),
            Shape::Fraction => "a fraction such as 0.07 or \"7%\"".to_owned(),
            Shape::Number => format!("a number{}", self.range_after(" of", " from")),
            Shape::Bool => "true or false".to_owned(),
            Shape::Word(words) => choice(words),
            Shape::Words(words) => format!("one or more of {}", choice(words)),
            Shape::Text => "a string in quotes".to_owned(),
        };
        match self.or {
            Some(word) => format!("{plain}, or \"{word}\""),
            None => plain,
        }
    }

    fn range_after(&self, of: &str, from: &str) -> String {
        match self.max.is_finite() {
            true => format!("{from} {}", self.range()),
            false => format!("{of} {}", self.range()),
        }
    }

    /// Returns the range of a value: `1 to 64`, `at least 512B`.
    pub fn range(&self) -> String {
        match self.max.is_finite() {
            true => format!("{} to {}", self.show(self.min), self.show(self.max)),
            false => format!("at least {}", self.show(self.min)),
        }
    }

    fn show(&self, bound: f64) -> String {
        let whole = bound as u64;
        let value = match self.shape {
            Shape::Time | Shape::Times => Value::Time(Time::from_ps(whole)),
            Shape::Age => Value::Age(whole),
            Shape::Size => Value::Size(whole),
            Shape::Rate => Value::Rate(whole),
            Shape::Transfers => Value::Transfers(whole),
            Shape::Frequency => Value::Frequency(whole),
            Shape::Power => Value::Power(whole),
            Shape::Energy => Value::Energy(whole),
            Shape::Count => Value::Count(whole),
            Shape::Fraction | Shape::Number => Value::Number(bound),
            Shape::Bool | Shape::Word(_) | Shape::Words(_) | Shape::Text => unreachable!("this shape has no range"),
        };
        value.plain()
    }

    /// Parses a value. The error states what was found and what was expected.
    pub(crate) fn read(&self, found: &DeValue<'_>) -> Result<Value, String> {
        if let (DeValue::String(text), Some(word)) = (found, self.or)
            && text == word
        {
            return Ok(Value::Word(word));
        }
        let value = match self.shape {
            Shape::Time => Value::Time(self.quantity(found, units::time)?),
            Shape::Age => Value::Age(self.quantity(found, age::parse)?),
            Shape::Size => Value::Size(self.quantity(found, units::size)?),
            Shape::Rate => Value::Rate(self.quantity(found, units::rate)?),
            Shape::Transfers => Value::Transfers(self.quantity(found, units::transfers)?),
            Shape::Frequency => Value::Frequency(self.quantity(found, units::frequency)?),
            Shape::Power => Value::Power(self.quantity(found, units::power)?),
            Shape::Energy => Value::Energy(self.quantity(found, units::energy)?),
            Shape::Times => Value::Times(self.times(found)?),
            Shape::Count => Value::Count(self.count(found)?),
            Shape::Fraction | Shape::Number => Value::Number(self.number(found)?),
            Shape::Bool => match found {
                DeValue::Boolean(yes) => Value::Bool(*yes),
                _ => return Err(self.mismatch(found)),
            },
            Shape::Word(words) => Value::Word(self.word(found, words)?),
            Shape::Words(words) => Value::Words(match found {
                DeValue::Array(list) if !list.is_empty() => {
                    list.iter().map(|word| self.word(word.get_ref(), words)).collect::<Result<_, _>>()?
                }
                _ => vec![self.word(found, words)?],
            }),
            Shape::Text => match found {
                DeValue::String(text) => Value::Text(text.to_string()),
                _ => return Err(self.mismatch(found)),
            },
        };
        self.within_range(found, value)
    }

    fn within_range(&self, found: &DeValue<'_>, value: Value) -> Result<Value, String> {
        let inside = |x: f64| x >= self.min && x <= self.max;
        let fits = match &value {
            Value::Time(time) => inside(time.ps() as f64),
            Value::Times(times) => times.iter().all(|time| inside(time.ps() as f64)),
            Value::Age(n)
            | Value::Size(n)
            | Value::Rate(n)
            | Value::Transfers(n)
            | Value::Frequency(n)
            | Value::Power(n)
            | Value::Energy(n)
            | Value::Count(n) => inside(*n as f64),
            Value::Number(x) => inside(*x),
            Value::Bool(_) | Value::Word(_) | Value::Words(_) | Value::Text(_) => true,
        };
        match fits {
            true => Ok(value),
            false => Err(format!("found {}, expected {}", describe(found), self.range())),
        }
    }

    fn quantity<T, E: fmt::Display>(
        &self,
        found: &DeValue<'_>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        match found {
            DeValue::String(text) => parse(text).map_err(|error| match self.or {
                Some(word) => format!("{error}, or \"{word}\""),
                None => error.to_string(),
            }),
            DeValue::Integer(_) | DeValue::Float(_) => {
                Err(format!("found {} without a unit, expected {}", describe(found), self.expected()))
            }
            _ => Err(self.mismatch(found)),
        }
    }

    fn times(&self, found: &DeValue<'_>) -> Result<Vec<Time>, String> {
        let DeValue::Array(list) = found else { return Ok(vec![self.quantity(found, units::time)?]) };
        let mut times =
            list.iter().map(|time| self.quantity(time.get_ref(), units::time)).collect::<Result<Vec<_>, _>>()?;
        if times.is_empty() {
            return Err(self.mismatch(found));
        }
        // Canonical form: a single time if all are equal.
        if times.len() > 1 && times.iter().all(|time| *time == times[0]) {
            times.truncate(1);
        }
        Ok(times)
    }

    fn count(&self, found: &DeValue<'_>) -> Result<u64, String> {
        let DeValue::Integer(integer) = found else { return Err(self.mismatch(found)) };
        let number = i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix());
        let number = number.map_err(|_| self.mismatch(found))?;
        u64::try_from(number).map_err(|_| self.mismatch(found))
    }

    fn number(&self, found: &DeValue<'_>) -> Result<f64, String> {
        let parse = |text: &str| text.replace('_', "").parse::<f64>().ok().filter(|x| x.is_finite());
        let number = match found {
            DeValue::Integer(integer) if integer.radix() == 10 => parse(integer.as_str()),
            DeValue::Float(float) => parse(float.as_str()),
            DeValue::String(text) if self.shape == Shape::Fraction => {
                text.strip_suffix('%').and_then(|percent| parse(percent.trim())).map(|percent| percent / 100.0)
            }
            _ => None,
        };
        number.ok_or_else(|| self.mismatch(found))
    }

    fn word(&self, found: &DeValue<'_>, words: &'static [&'static str]) -> Result<&'static str, String> {
        let DeValue::String(text) = found else { return Err(self.mismatch(found)) };
        words.iter().find(|word| **word == *text).copied().ok_or_else(|| {
            let nearest = nearest(text, words.iter().copied());
            format!("found \"{text}\", expected {}; the nearest is \"{nearest}\"", self.expected())
        })
    }

    fn mismatch(&self, found: &DeValue<'_>) -> String {
        format!("found {}, expected {}", describe(found), self.expected())
    }
}

/// Formats a choice: `"pcie" or "sata"`. Long lists are shortened.
fn choice(words: &[&str]) -> String {
    const SHOWN: usize = 6;
    let quoted: Vec<String> = words.iter().take(SHOWN).map(|word| format!("\"{word}\"")).collect();
    match quoted.as_slice() {
        _ if words.len() > SHOWN => format!("one of {}, … ({} in total)", quoted.join(", "), words.len()),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => unreachable!("a choice has words"),
    }
}

/// Describes the value found, for messages.
pub(crate) fn describe(found: &DeValue<'_>) -> String {
    match found {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        DeValue::Float(float) => float.as_str().to_owned(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(list) if list.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

macro_rules! from_value {
    ($($type:ty: $($pattern:pat => $value:expr),+;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<$type> {
                match value {
                    $($pattern => $value,)+
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    Time: Value::Time(time) => Some(*time);
    Vec<Time>: Value::Times(times) => Some(times.clone());
    u32: Value::Count(n) => u32::try_from(*n).ok();
    u64: Value::Size(n) | Value::Rate(n) | Value::Transfers(n) | Value::Frequency(n) | Value::Power(n)
        | Value::Energy(n) | Value::Age(n) | Value::Count(n)
        => Some(*n);
    f64: Value::Number(x) => Some(*x);
    bool: Value::Bool(yes) => Some(*yes);
    String: Value::Text(text) => Some(text.clone());
}

/// A word that replaces a value becomes `None`.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Word(_) => Some(None),
            _ => T::from_value(value).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::show::quote;

    /// Every key's printed values parse back to the same value, at both ends of the range.
    #[test]
    fn printed_values_parse_back() {
        for key in crate::keys() {
            let kind = key.kind;
            let values = match kind.shape {
                Shape::Bool => vec!["true".to_owned(), "false".to_owned()],
                Shape::Text => vec![quote("a \"quoted\" text\n")],
                Shape::Word(words) | Shape::Words(words) => words.iter().map(|word| quote(word)).collect(),
                Shape::Count | Shape::Fraction | Shape::Number => {
                    [kind.min, kind.max].iter().filter(|x| x.is_finite()).map(|x| kind.show(*x)).collect()
                }
                _ => [kind.min, kind.max.min(9e15)].iter().map(|x| quote(&kind.show(*x))).collect(),
            };
            for text in values.into_iter().chain(kind.or.map(quote)) {
                let read = |text: &str| {
                    crate::file::layer::with_value(text, |value| kind.read(value))
                        .unwrap_or_else(|why| panic!("{}: {why}", key.name))
                };
                let value = read(&text);
                assert_eq!(read(&value.to_string()), value, "{}", key.name);
            }
        }
    }
}
