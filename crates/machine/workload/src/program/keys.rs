//! Keys of a program's table, or of a file of nested tables. Each key is read once; remaining keys are errors.

use sim::{Time, units};
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

/// Source or reason of a key's value, as stated in a file's `[basis]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBasis {
    /// The key.
    pub key: String,
    /// `given`, `assumed` or `calibrated`.
    pub kind: String,
    /// The source or the reason.
    pub text: String,
    line: usize,
}

const BASES: [&str; 3] = ["given", "assumed", "calibrated"];

/// The keys of a program.
pub struct Keys {
    file: String,
    /// Line of the program's table header.
    line: usize,
    keys: Vec<Key>,
    /// Names of the keys that were read.
    known: Vec<&'static str>,
    basis: Vec<KeyBasis>,
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
        Keys { file: file.to_owned(), line, keys, known: Vec::new(), basis: Vec::new() }
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

/// Parses a file of nested tables. A key's name is its path, such as `load.prompt.tokens`. The table `[basis]` maps
/// keys to `{ given = "…" }`, `{ assumed = "…" }` or `{ calibrated = "…" }`.
///
/// # Errors
/// If the text is not TOML or `[basis]` has another form. Unknown keys are found by [`Keys::finish`].
pub fn parse_tables(file: &str, text: &str) -> Result<Keys, Error> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let fail = |line: usize, message: String| Error::Program { file: file.to_owned(), line, message };
    let document = DeTable::parse(text).map_err(|error| {
        let line = line_of(error.span().map_or(0, |span| span.start));
        fail(line, error.message().lines().collect::<Vec<_>>().join(", "))
    })?;
    let mut found = Keys { file: file.to_owned(), line: 1, keys: Vec::new(), known: Vec::new(), basis: Vec::new() };
    let mut tables = vec![(String::new(), document.get_ref())];
    while let Some((path, table)) = tables.pop() {
        for (name, value) in table {
            let (line, name) = (line_of(name.span().start), format!("{path}{}", name.get_ref()));
            match value.get_ref() {
                DeValue::Table(inner) if name == "basis" => {
                    for (key, stated) in inner {
                        let line = line_of(key.span().start);
                        let found_basis = basis_of(key.get_ref(), stated.get_ref(), line).ok_or_else(|| {
                            let expected = "a table of one key: { given = \"…\" }, assumed or calibrated";
                            fail(line, format!("basis.{}: expected {expected}", key.get_ref()))
                        })?;
                        found.basis.push(found_basis);
                    }
                }
                DeValue::Table(inner) => tables.push((format!("{name}."), inner)),
                plain => {
                    let text = text[value.span()].to_owned();
                    found.keys.push(Key { name, line, value: read(plain), text });
                }
            }
        }
    }
    found.keys.sort_by(|a, b| (a.line, &a.name).cmp(&(b.line, &b.name)));
    found.basis.sort_by_key(|basis| basis.line);
    Ok(found)
}

fn basis_of(key: &str, stated: &DeValue<'_>, line: usize) -> Option<KeyBasis> {
    let DeValue::Table(table) = stated else { return None };
    let (kind, text) = table.iter().next().filter(|_| table.len() == 1)?;
    let DeValue::String(text) = text.get_ref() else { return None };
    let kind = kind.get_ref().to_string();
    BASES.contains(&kind.as_str()).then(|| KeyBasis { key: key.to_owned(), kind, text: text.to_string(), line })
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
    ///
    /// # Errors
    /// If the value is not such a value, or is absent without a default.
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
    ///
    /// # Errors
    /// If the value is not such a value, or is absent without a default.
    pub fn count(&mut self, name: &'static str, range: (u64, u64), or: Option<u64>) -> Result<u64, Error> {
        let expected = format!("a whole number from {} to {}", range.0, range.1);
        self.take(name, &expected, or, |value| match value {
            Value::Whole(n) => Ok(u64::try_from(*n).ok().filter(|n| (range.0..=range.1).contains(n))),
            _ => Ok(None),
        })
    }

    /// Reads a fraction from 0 to 1.
    ///
    /// # Errors
    /// If the value is not such a value, or is absent without a default.
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

    /// Reads a number within a range.
    ///
    /// # Errors
    /// If the value is not such a number, or is absent without a default.
    pub fn number(&mut self, name: &'static str, range: (f64, f64), or: Option<f64>) -> Result<f64, Error> {
        self.take(name, &format!("a number from {} to {}", range.0, range.1), or, |value| {
            let number = match value {
                Value::Whole(n) => *n as f64,
                Value::Number(n) => *n,
                _ => return Ok(None),
            };
            Ok((range.0..=range.1).contains(&number).then_some(number))
        })
    }

    /// Reads a time with its unit.
    ///
    /// # Errors
    /// Like [`number`](Self::number).
    pub fn time(&mut self, name: &'static str, or: Option<Time>) -> Result<Time, Error> {
        self.quantity(name, "a time such as \"30s\"", or, |text| {
            units::time(text).map_err(|error| error.to_string()).map(Some)
        })
    }

    /// Reads a bandwidth with its unit, of more than zero.
    ///
    /// # Errors
    /// Like [`number`](Self::number).
    pub fn bandwidth(&mut self, name: &'static str, or: Option<u64>) -> Result<u64, Error> {
        self.quantity(name, "a bandwidth such as \"64GB/s\", of more than zero", or, |text| {
            units::rate(text).map_err(|error| error.to_string()).map(|rate| (rate > 0).then_some(rate))
        })
    }

    /// Reads a quantity in users' notation with `read`, which returns `None` for a value out of range. `expected`
    /// describes valid values.
    ///
    /// # Errors
    /// Like [`number`](Self::number).
    pub fn quantity<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        or: Option<T>,
        read: impl Fn(&str) -> Result<Option<T>, String>,
    ) -> Result<T, Error> {
        self.take(name, expected, or, |value| match value {
            Value::Text(text) => read(text),
            _ => Ok(None),
        })
    }

    /// Returns whether the file sets a key.
    pub fn has(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    /// Returns the bases that the file states.
    pub fn basis(&self) -> &[KeyBasis] {
        &self.basis
    }

    /// Reads a boolean.
    ///
    /// # Errors
    /// If the value is not such a value, or is absent without a default.
    pub fn flag(&mut self, name: &'static str, or: bool) -> Result<bool, Error> {
        self.take(name, "true or false", Some(or), |value| match value {
            Value::Flag(flag) => Ok(Some(*flag)),
            _ => Ok(None),
        })
    }

    /// Reads a string.
    ///
    /// # Errors
    /// If the value is not such a value, or is absent without a default.
    pub fn text(&mut self, name: &'static str, expected: &str) -> Result<String, Error> {
        self.take(name, expected, None, |value| match value {
            Value::Text(text) => Ok(Some(text.clone())),
            _ => Ok(None),
        })
    }

    /// Reads one of `words` and returns its index.
    ///
    /// # Errors
    /// If the value is not such a value, or is absent without a default.
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

    /// Checks that all keys were read, and that each stated basis belongs to a key.
    ///
    /// # Errors
    /// Names the first key that was not read.
    pub fn finish(&self) -> Result<(), Error> {
        if let Some(basis) = self.basis.iter().find(|basis| !self.known.contains(&basis.key.as_str())) {
            let near = nearest(&basis.key, self.known.iter().copied());
            let message = format!("basis.{}: found an unknown key, the nearest is `{near}`", basis.key);
            return Err(Error::Program { file: self.file.clone(), line: basis.line, message });
        }
        let Some(key) = self.keys.iter().find(|key| !self.known.contains(&key.name.as_str())) else { return Ok(()) };
        let near = nearest(&key.name, self.known.iter().copied());
        Err(self.error(&key.name, &format!("found an unknown key, the nearest is `{near}`")))
    }

    /// Returns the keys as written in the file.
    pub fn options(&self) -> Vec<(String, String)> {
        self.keys.iter().map(|key| (key.name.clone(), key.text.trim_matches('"').to_owned())).collect()
    }
}
