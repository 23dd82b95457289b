//! Values of system files: TOML, parsed according to a key's kind.

use std::fmt;

use keys::{Kind, Shape, Value, age};
use sim::{Time, units};
use toml::de::DeValue;

use crate::key::nearest::nearest;

/// Parses a value of `kind`. The error states what was found and what was expected.
pub(crate) fn read(kind: &Kind, found: &DeValue<'_>) -> Result<Value, String> {
    Reader(kind).read(found)
}

/// Reads the values of one kind.
struct Reader<'a>(&'a Kind);

impl Reader<'_> {
    fn read(&self, found: &DeValue<'_>) -> Result<Value, String> {
        if let (DeValue::String(text), Some(word)) = (found, self.0.or)
            && text == word
        {
            return Ok(Value::Word(word));
        }
        let value = match self.0.shape {
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
        let inside = |x: f64| x >= self.0.min && x <= self.0.max;
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
            false => Err(format!("found {}, expected {}", describe(found), self.0.range())),
        }
    }

    fn quantity<T, E: fmt::Display>(
        &self,
        found: &DeValue<'_>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        match found {
            DeValue::String(text) => parse(text).map_err(|error| match self.0.or {
                Some(word) => format!("{error}, or \"{word}\""),
                None => error.to_string(),
            }),
            DeValue::Integer(_) | DeValue::Float(_) => {
                Err(format!("found {} without a unit, expected {}", describe(found), self.0.expected()))
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
            DeValue::String(text) if self.0.shape == Shape::Fraction => {
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
            format!("found \"{text}\", expected {}; the nearest is \"{nearest}\"", self.0.expected())
        })
    }

    fn mismatch(&self, found: &DeValue<'_>) -> String {
        format!("found {}, expected {}", describe(found), self.0.expected())
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

#[cfg(test)]
mod tests {
    use keys::{Shape, quote};

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
                    crate::file::layer::with_value(text, |value| super::read(&kind, value))
                        .unwrap_or_else(|why| panic!("{}: {why}", key.name))
                };
                let value = read(&text);
                assert_eq!(read(&value.to_string()), value, "{}", key.name);
            }
        }
    }
}
