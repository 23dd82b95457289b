//! Kinds of values: syntax and range.

use sim::Time;

use crate::Value;

/// Syntax of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A time with its unit: `"25us"`.
    Time,
    /// One time, or one per page type: `["300us", "800us", "1.5ms"]`.
    Times,
    /// A long duration in whole seconds: `"90d"`.
    Age,
    /// Bytes with a unit: `"8KiB"`.
    Size,
    /// Bytes per second: `"4GB/s"`.
    Rate,
    /// Bus transfers per second: `"1400MT/s"`.
    Transfers,
    /// Cycles per second: `"266MHz"`.
    Frequency,
    /// A power: `"60mW"`.
    Power,
    /// An energy: `"7.2nJ"`.
    Energy,
    /// A whole number.
    Count,
    /// A fraction: `0.07` or `"7%"`.
    Fraction,
    /// A number without a unit.
    Number,
    /// `true` or `false`.
    Bool,
    /// One of the words.
    Word(&'static [&'static str]),
    /// One or more of the words.
    Words(&'static [&'static str]),
    /// Any text.
    Text,
}

/// Values that a key accepts: a shape, a range (in the shape's base unit: picoseconds, seconds, bytes, microwatts,
/// picojoules, …), and optionally a word in place of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Syntax of the value.
    pub shape: Shape,
    /// Minimum.
    pub min: f64,
    /// Maximum; infinite if there is none.
    pub max: f64,
    /// Word that may replace a value: `"auto"`, `"all"`, `"none"`.
    pub or: Option<&'static str>,
}

impl Kind {
    /// Creates a kind with neither range nor alternative.
    pub const fn new(shape: Shape) -> Kind {
        Kind { shape, min: 0.0, max: f64::INFINITY, or: None }
    }

    /// Creates a choice of one of `words`.
    pub const fn words(words: &'static [&'static str]) -> Kind {
        Kind::new(Shape::Word(words))
    }

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

    /// Returns true if values have a range: not words, text and booleans.
    pub const fn has_range(&self) -> bool {
        !matches!(self.shape, Shape::Bool | Shape::Word(_) | Shape::Words(_) | Shape::Text)
    }

    /// Returns the range of a value: `1 to 64`, `at least 512B`.
    pub fn range(&self) -> String {
        match self.max.is_finite() {
            true => format!("{} to {}", self.show(self.min), self.show(self.max)),
            false => format!("at least {}", self.show(self.min)),
        }
    }

    /// Formats a bound of the range.
    ///
    /// # Panics
    /// If the shape has no range.
    pub fn show(&self, bound: f64) -> String {
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

    /// Returns the words of a choice; empty if the values are no choice.
    pub fn words_of(&self) -> &'static [&'static str] {
        match self.shape {
            Shape::Word(words) | Shape::Words(words) => words,
            _ => &[],
        }
    }

    /// Limits the range, in the base unit.
    pub const fn within(self, min: f64, max: f64) -> Kind {
        Kind { min, max, ..self }
    }

    /// Sets the minimum, in the base unit.
    pub const fn least(self, min: f64) -> Kind {
        Kind { min, ..self }
    }

    /// Accepts `word` in place of a value.
    pub const fn or(self, word: &'static str) -> Kind {
        Kind { or: Some(word), ..self }
    }
}

/// A time, from 0s.
pub const TIME: Kind = Kind::new(Shape::Time);
/// One time, or one per page type, longer than 0s.
pub const TIMES: Kind = Kind::new(Shape::Times).least(1.0);
/// A long duration.
pub const AGE: Kind = Kind::new(Shape::Age);
/// Bytes.
pub const SIZE: Kind = Kind::new(Shape::Size);
/// Bytes per second, at least 1.
pub const RATE: Kind = Kind::new(Shape::Rate).least(1.0);
/// Transfers per second, at least a million.
pub const TRANSFERS: Kind = Kind::new(Shape::Transfers).least(1e6);
/// Cycles per second, at least a thousand.
pub const FREQUENCY: Kind = Kind::new(Shape::Frequency).least(1e3);
/// A power.
pub const POWER: Kind = Kind::new(Shape::Power);
/// An energy.
pub const ENERGY: Kind = Kind::new(Shape::Energy);
/// A whole number.
pub const COUNT: Kind = Kind::new(Shape::Count);
/// A fraction from 0 to 1.
pub const FRACTION: Kind = Kind::new(Shape::Fraction).within(0.0, 1.0);
/// A number without a unit, from 0.
pub const NUMBER: Kind = Kind::new(Shape::Number);
/// `true` or `false`.
pub const BOOL: Kind = Kind::new(Shape::Bool);
/// Any text.
pub const TEXT: Kind = Kind::new(Shape::Text);

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
