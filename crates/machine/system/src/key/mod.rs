//! Descriptions of system keys: each key is one row, from which everything else is derived.

pub(crate) mod age;
pub(crate) mod nearest;
pub(crate) mod show;
pub(crate) mod table;
pub(crate) mod value;

use crate::key::value::Value;

/// Basis of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Stated by the named paper, data sheet or standard.
    Given(String),
    /// Chosen, for the stated reason.
    Assumed(String),
    /// Fitted to the named claim, which therefore does not count as reproduced.
    Calibrated(String),
}

impl Basis {
    /// Returns `given`, `assumed` or `calibrated`.
    pub fn kind(&self) -> &'static str {
        match self {
            Basis::Given(_) => "given",
            Basis::Assumed(_) => "assumed",
            Basis::Calibrated(_) => "calibrated",
        }
    }

    /// Returns the source, reason or claim.
    pub fn text(&self) -> &str {
        match self {
            Basis::Given(text) | Basis::Assumed(text) | Basis::Calibrated(text) => text,
        }
    }

    pub(crate) fn new(kind: &str, text: &str) -> Option<Basis> {
        match kind {
            "given" => Some(Basis::Given(text.to_owned())),
            "assumed" => Some(Basis::Assumed(text.to_owned())),
            "calibrated" => Some(Basis::Calibrated(text.to_owned())),
            _ => None,
        }
    }
}

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
    pub(crate) const fn new(shape: Shape) -> Kind {
        Kind { shape, min: 0.0, max: f64::INFINITY, or: None }
    }

    pub(crate) const fn words(words: &'static [&'static str]) -> Kind {
        Kind::new(Shape::Word(words))
    }

    /// Returns the words of a choice.
    #[cfg(test)]
    pub(crate) fn words_of(&self) -> &'static [&'static str] {
        match self.shape {
            Shape::Word(words) | Shape::Words(words) => words,
            _ => &[],
        }
    }

    pub(crate) const fn within(self, min: f64, max: f64) -> Kind {
        Kind { min, max, ..self }
    }

    pub(crate) const fn least(self, min: f64) -> Kind {
        Kind { min, ..self }
    }

    pub(crate) const fn or(self, word: &'static str) -> Kind {
        Kind { or: Some(word), ..self }
    }
}

pub(crate) const TIME: Kind = Kind::new(Shape::Time);
pub(crate) const TIMES: Kind = Kind::new(Shape::Times).least(1.0);
pub(crate) const AGE: Kind = Kind::new(Shape::Age);
pub(crate) const SIZE: Kind = Kind::new(Shape::Size);
pub(crate) const RATE: Kind = Kind::new(Shape::Rate).least(1.0);
pub(crate) const TRANSFERS: Kind = Kind::new(Shape::Transfers).least(1e6);
pub(crate) const FREQUENCY: Kind = Kind::new(Shape::Frequency).least(1e3);
pub(crate) const POWER: Kind = Kind::new(Shape::Power);
pub(crate) const ENERGY: Kind = Kind::new(Shape::Energy);
pub(crate) const COUNT: Kind = Kind::new(Shape::Count);
pub(crate) const FRACTION: Kind = Kind::new(Shape::Fraction).within(0.0, 1.0);
pub(crate) const NUMBER: Kind = Kind::new(Shape::Number);
pub(crate) const BOOL: Kind = Kind::new(Shape::Bool);
pub(crate) const TEXT: Kind = Kind::new(Shape::Text);

/// A default as written in a file (quantities without quotes), with its basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The value.
    pub text: &'static str,
    /// `given` or `assumed`.
    pub kind: &'static str,
    /// The source or the reason.
    pub why: &'static str,
}

pub(crate) const fn given(text: &'static str, why: &'static str) -> Fallback {
    Fallback::Is(Choice { text, kind: "given", why })
}

pub(crate) const fn assumed(text: &'static str, why: &'static str) -> Fallback {
    Fallback::Is(Choice { text, kind: "assumed", why })
}

/// A choice among several, for [`Fallback::By`].
pub(crate) const fn by_given(word: &'static str, text: &'static str, why: &'static str) -> (&'static str, Choice) {
    (word, Choice { text, kind: "given", why })
}

/// A choice among several, for [`Fallback::By`].
pub(crate) const fn by_assumed(word: &'static str, text: &'static str, why: &'static str) -> (&'static str, Choice) {
    (word, Choice { text, kind: "assumed", why })
}

/// Default of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// A fixed value.
    Is(Choice),
    /// A value for each word of another key.
    By(&'static str, &'static [(&'static str, Choice)]),
}

/// One key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Dotted name: `flash.ecc.codeword`.
    pub name: &'static str,
    /// Values that the key accepts.
    pub kind: Kind,
    /// Value if no file sets the key.
    pub default: Fallback,
    /// The key only applies if this other key has one of these words.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// Meaning, in a sentence.
    pub help: &'static str,
}

impl Key {
    /// Returns the key's table: `flash.ecc`; empty at the top level.
    pub fn table(&self) -> &'static str {
        self.name.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Returns the key's name within its table: `codeword`.
    pub fn last(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, last)| last)
    }
}

/// Iterator over the settings in the table's order, used to fill the typed structs.
pub(crate) struct Values<'a>(pub std::slice::Iter<'a, crate::Setting>);

impl Values<'_> {
    pub fn next<T: FromValue>(&mut self, name: &str) -> T {
        let setting = self.0.next().expect("one setting per row of the table");
        assert_eq!(setting.key.name, name, "settings are in the table's order");
        T::from_value(&setting.value)
            .unwrap_or_else(|| panic!("{name} has the value {}, which does not match its field's type", setting.value))
    }
}

/// Conversion from a value to the type of its field; `None` indicates an error in the table.
pub(crate) trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

/// Returns the condition of a row, if it has one.
pub(crate) const fn first(
    when: &[(&'static str, &'static [&'static str])],
) -> Option<(&'static str, &'static [&'static str])> {
    match when {
        [] => None,
        [first, ..] => Some(*first),
    }
}

/// Defines a table of keys and the struct it is read into. Each row gives the key, its field, and the docs of both.
macro_rules! section {
    (
        $(#[$meta:meta])*
        $struct:ident {
            $(
                $name:literal $field:ident: $type:ty = $kind:expr, $default:expr, $help:literal
                $(, when $key:literal is $($word:literal)|+)?;
            )*
            $( $(#[$submeta:meta])* table $sub:ident: $subtype:ident; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $struct {
            $( #[doc = $help] pub $field: $type, )*
            $( $(#[$submeta])* pub $sub: $subtype, )*
        }

        impl $struct {
            pub(crate) fn keys(table: &mut Vec<$crate::key::Key>) {
                $(table.push({
                    const WHEN: &[(&str, &[&str])] = &[$( ($key, &[$($word),+]) )?];
                    const ROW: $crate::key::Key = $crate::key::Key {
                        name: $name,
                        kind: $kind,
                        default: $default,
                        when: $crate::key::first(WHEN),
                        help: $help,
                    };
                    ROW
                });)*
                $( $subtype::keys(table); )*
            }

            pub(crate) fn read(values: &mut $crate::key::Values<'_>) -> $struct {
                $struct {
                    $( $field: values.next($name), )*
                    $( $sub: $subtype::read(values), )*
                }
            }
        }
    };
}

/// Defines a choice of words and the enum it is read into.
macro_rules! words {
    ($(#[$meta:meta])* $enum:ident { $( $(#[$variantmeta:meta])* $variant:ident = $word:literal, )* }) => {
        sim::words! {
            $(#[$meta])*
            $enum { $( $(#[$variantmeta])* $variant = $word, )* }
        }
        $crate::key::from_word!($enum);
    };
}

/// Reads the words of an enum that `sim::words!` declares, here or in the crate of a part.
macro_rules! from_word {
    ($enum:ty) => {
        impl $crate::key::FromValue for $enum {
            fn from_value(value: &$crate::key::value::Value) -> Option<$enum> {
                match value {
                    $crate::key::value::Value::Word(word) => <$enum>::named(word),
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {from_word, section, words};
