//! Keys of a program's table. Each key is read once; remaining keys are errors.

use sim::units;
use toml::de::{DeTable, DeValue};

use crate::error::Error;
use crate::nearest::nearest;

struct Key {
    name: String,
    line: usize,
    value: Value,
    /// The value as written in the file.
    text: String,
}

enum Value {
    Text(String),
    Whole(i64),
    Number(f64),
    Flag(bool),
    Other,
}

/// The keys of a program.
pub(super) struct Keys {
    file: String,
    /// Line of the program's table header.
    line: usize,
    keys: Vec<Key>,
    /// Names of the keys that were read.
    known: Vec<&'static str>,
}

/// Parses the programs of a text.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Keys>, Error> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let fail = |line: usize, message: String| Error::Program { file: file.to_owned(), line, message };
    let document = DeTable::parse(text).map_err(|error| {
        let line = line_of(error.span().map_or(0, |span| span.start));
        fail(line, error.message().lines().collect::<Vec<_>>().join(", "))
    })?;
    let keys = |table: &DeTable<'_>, line: usize| {
        let mut keys: Vec<Key> = table
            .iter()
            .map(|(name, value)| Key {
                name: name.get_ref().to_string(),
                line: line_of(name.span().start),
                value: read(value.get_ref()),
                text: text[value.span()].to_owned(),
            })
            .collect();
        keys.sort_by_key(|key| key.line);
        Keys { file: file.to_owned(), line, keys, known: Vec::new() }
    };
    let table = document.get_ref();
    let Some((name, programs)) = table.get_key_value("program") else {
        return Ok(vec![keys(table, 1)]);
    };
    if let Some((other, _)) = table.iter().find(|(other, _)| other.get_ref() != "program") {
        let line = line_of(other.span().start);
        return Err(fail(line, format!("{}: found outside [[program]], expected inside it", other.get_ref())));
    }
    let DeValue::Array(list) = programs.get_ref() else {
        return Err(fail(line_of(name.span().start), "program: expected tables, each [[program]]".to_owned()));
    };
    list.iter()
        .map(|each| match each.get_ref() {
            DeValue::Table(table) => Ok(keys(table, line_of(each.span().start))),
            _ => Err(fail(line_of(each.span().start), "program: expected tables, each [[program]]".to_owned())),
        })
        .collect()
}

fn read(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(whole) => {
            i64::from_str_radix(whole.as_str(), whole.radix()).map_or(Value::Other, Value::Whole)
        }
        DeValue::Float(number) => number.as_str().parse().map_or(Value::Other, Value::Number),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        _ => Value::Other,
    }
}

impl Keys {
    /// Returns an error about a key.
    pub fn error(&self, name: &str, message: &str) -> Error {
        let line = self.keys.iter().find(|key| key.name == name).map_or(self.line, |key| key.line);
        Error::Program { file: self.file.clone(), line, message: format!("{name}: {message}") }
    }

    fn find(&mut self, name: &'static str) -> Option<&Key> {
        self.known.push(name);
        self.keys.iter().find(|key| key.name == name)
    }

    /// Reads a key with `read`. `or` is the default, and `expected` describes valid values.
    fn take<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        or: Option<T>,
        read: impl Fn(&Value) -> Result<Option<T>, String>,
    ) -> Result<T, Error> {
        let Some(key) = self.find(name) else {
            return or.ok_or_else(|| self.error(name, &format!("found nothing, expected {expected}")));
        };
        let text = key.text.clone();
        match read(&key.value) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(self.error(name, &format!("found {text}, expected {expected}"))),
            Err(message) => Err(self.error(name, &message)),
        }
    }

    /// Reads a size with its unit, at least `least`.
    pub fn size(&mut self, name: &'static str, least: u64, or: Option<u64>) -> Result<u64, Error> {
        let expected = format!("a size such as \"64MiB\", at least {}", units::show_size(least));
        self.take(name, &expected, or, |value| match value {
            Value::Text(text) => {
                units::size(text).map_err(|error| error.to_string()).map(|n| (n >= least).then_some(n))
            }
            _ => Ok(None),
        })
    }

    /// Reads a whole number within a range.
    pub fn count(&mut self, name: &'static str, range: (u64, u64), or: Option<u64>) -> Result<u64, Error> {
        let expected = format!("a whole number from {} to {}", range.0, range.1);
        self.take(name, &expected, or, |value| match value {
            Value::Whole(n) => Ok(u64::try_from(*n).ok().filter(|n| (range.0..=range.1).contains(n))),
            _ => Ok(None),
        })
    }

    /// Reads a fraction from 0 to 1.
    pub fn part(&mut self, name: &'static str, or: Option<f64>) -> Result<f64, Error> {
        self.take(name, "a number from 0 to 1", or, |value| {
            let number = match value {
                Value::Whole(n) => *n as f64,
                Value::Number(n) => *n,
                _ => return Ok(None),
            };
            Ok((0.0..=1.0).contains(&number).then_some(number))
        })
    }

    /// Reads a boolean.
    pub fn flag(&mut self, name: &'static str, or: bool) -> Result<bool, Error> {
        self.take(name, "true or false", Some(or), |value| match value {
            Value::Flag(flag) => Ok(Some(*flag)),
            _ => Ok(None),
        })
    }

    /// Reads a string.
    pub fn text(&mut self, name: &'static str, expected: &str) -> Result<String, Error> {
        self.take(name, expected, None, |value| match value {
            Value::Text(text) => Ok(Some(text.clone())),
            _ => Ok(None),
        })
    }

    /// Reads one of `words` and returns its index.
    pub fn choice(&mut self, name: &'static str, words: &[&str], or: Option<usize>) -> Result<usize, Error> {
        let expected = format!("one of {}", words.join(", "));
        self.take(name, &expected, or, |value| match value {
            Value::Text(text) => match words.iter().position(|word| word == text) {
                Some(at) => Ok(Some(at)),
                None => {
                    let near = nearest(text, words.iter().copied());
                    Err(format!("found \"{text}\", expected {expected}; the nearest is \"{near}\""))
                }
            },
            _ => Ok(None),
        })
    }

    /// Checks that all keys were read.
    pub fn finish(&self) -> Result<(), Error> {
        let Some(key) = self.keys.iter().find(|key| !self.known.contains(&key.name.as_str())) else { return Ok(()) };
        let near = nearest(&key.name, self.known.iter().copied());
        Err(self.error(&key.name, &format!("found an unknown key, the nearest is `{near}`")))
    }

    /// Returns the keys as written in the file.
    pub fn options(&self) -> Vec<(String, String)> {
        self.keys.iter().map(|key| (key.name.clone(), key.text.trim_matches('"').to_owned())).collect()
    }
}
