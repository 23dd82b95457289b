//! How a key of a system file is described: once, in a row from which everything else follows.

use super::value::Value;

/// On what a value rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A paper, a data sheet or a standard states it: which.
    Given(String),
    /// Chosen: why.
    Assumed(String),
    /// Fitted: against which claim. That claim is then no reproduction.
    Calibrated(String),
}

impl Basis {
    /// `given`, `assumed` or `calibrated`.
    pub fn kind(&self) -> &'static str {
        match self {
            Basis::Given(_) => "given",
            Basis::Assumed(_) => "assumed",
            Basis::Calibrated(_) => "calibrated",
        }
    }

    /// The source, the reason or the claim.
    pub fn text(&self) -> &str {
        match self {
            Basis::Given(text) | Basis::Assumed(text) | Basis::Calibrated(text) => text,
        }
    }

    pub(super) fn new(kind: &str, text: &str) -> Option<Basis> {
        match kind {
            "given" => Some(Basis::Given(text.to_owned())),
            "assumed" => Some(Basis::Assumed(text.to_owned())),
            "calibrated" => Some(Basis::Calibrated(text.to_owned())),
            _ => None,
        }
    }
}

/// What a key's value looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A time with its unit: `"25us"`.
    Time,
    /// A time, or one for each type of page: `["300us", "800us", "1.5ms"]`.
    Times,
    /// Long times, kept in whole seconds: `"90d"`.
    Age,
    /// Bytes with their unit: `"8KiB"`.
    Size,
    /// Bytes a second: `"4GB/s"`.
    Rate,
    /// Transfers a second on a bus: `"1400MT/s"`.
    Transfers,
    /// Cycles a second: `"266MHz"`.
    Frequency,
    /// A power: `"60mW"`.
    Power,
    /// An energy: `"7.2nJ"`.
    Energy,
    /// A whole number.
    Count,
    /// A part of something: `0.07` or `"7%"`.
    Fraction,
    /// A number without a unit.
    Number,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One or several of these words.
    Words(&'static [&'static str]),
    /// Any text.
    Text,
}

/// What a key takes: a shape, its range (in picoseconds, seconds, bytes, microwatts, picojoules, … as the shape keeps
/// it), and perhaps a word that may stand in a value's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// What a value looks like.
    pub shape: Shape,
    /// The least value.
    pub min: f64,
    /// The greatest value; infinite if there is none.
    pub max: f64,
    /// A word instead of a value: `"auto"`, `"all"`, `"none"`.
    pub or: Option<&'static str>,
}

impl Kind {
    pub(super) const fn new(shape: Shape) -> Kind {
        Kind { shape, min: 0.0, max: f64::INFINITY, or: None }
    }

    pub(super) const fn words(words: &'static [&'static str]) -> Kind {
        Kind::new(Shape::Word(words))
    }

    /// Its words, where it is a choice of them.
    #[cfg(test)]
    pub(super) fn words_of(&self) -> &'static [&'static str] {
        match self.shape {
            Shape::Word(words) | Shape::Words(words) => words,
            _ => &[],
        }
    }

    pub(super) const fn within(self, min: f64, max: f64) -> Kind {
        Kind { min, max, ..self }
    }

    pub(super) const fn least(self, min: f64) -> Kind {
        Kind { min, ..self }
    }

    pub(super) const fn or(self, word: &'static str) -> Kind {
        Kind { or: Some(word), ..self }
    }
}

pub(super) const TIME: Kind = Kind::new(Shape::Time);
pub(super) const TIMES: Kind = Kind::new(Shape::Times).least(1.0);
pub(super) const AGE: Kind = Kind::new(Shape::Age);
pub(super) const SIZE: Kind = Kind::new(Shape::Size);
pub(super) const RATE: Kind = Kind::new(Shape::Rate).least(1.0);
pub(super) const TRANSFERS: Kind = Kind::new(Shape::Transfers).least(1e6);
pub(super) const FREQUENCY: Kind = Kind::new(Shape::Frequency).least(1e3);
pub(super) const POWER: Kind = Kind::new(Shape::Power);
pub(super) const ENERGY: Kind = Kind::new(Shape::Energy);
pub(super) const COUNT: Kind = Kind::new(Shape::Count);
pub(super) const FRACTION: Kind = Kind::new(Shape::Fraction).within(0.0, 1.0);
pub(super) const NUMBER: Kind = Kind::new(Shape::Number);
pub(super) const BOOL: Kind = Kind::new(Shape::Bool);
pub(super) const TEXT: Kind = Kind::new(Shape::Text);

/// A default as it would be written in a file (quantities without their quotes), and on what it rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The value.
    pub text: &'static str,
    /// `given` or `assumed`.
    pub kind: &'static str,
    /// The source or the reason.
    pub why: &'static str,
}

pub(super) const fn given(text: &'static str, why: &'static str) -> Fallback {
    Fallback::Is(Choice { text, kind: "given", why })
}

pub(super) const fn assumed(text: &'static str, why: &'static str) -> Fallback {
    Fallback::Is(Choice { text, kind: "assumed", why })
}

/// A choice among several, for [`Fallback::By`].
pub(super) const fn by_given(word: &'static str, text: &'static str, why: &'static str) -> (&'static str, Choice) {
    (word, Choice { text, kind: "given", why })
}

/// A choice among several, for [`Fallback::By`].
pub(super) const fn by_assumed(word: &'static str, text: &'static str, why: &'static str) -> (&'static str, Choice) {
    (word, Choice { text, kind: "assumed", why })
}

/// What a key is where no file sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// Always this.
    Is(Choice),
    /// It follows another key, which has one of these words.
    By(&'static str, &'static [(&'static str, Choice)]),
}

/// One key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Dotted: `flash.ecc.codeword`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is where no file sets it.
    pub default: Fallback,
    /// It has a meaning only where this other key is one of these words.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// What it means, in a sentence.
    pub help: &'static str,
}

impl Key {
    /// The table it stands in: `flash.ecc`; empty at the top.
    pub fn table(&self) -> &'static str {
        self.name.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Its name within its table: `codeword`.
    pub fn last(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, last)| last)
    }
}

/// Values in the table's order, on their way into the typed structs.
pub(super) struct Values<'a>(pub std::slice::Iter<'a, super::Setting>);

impl Values<'_> {
    pub fn next<T: FromValue>(&mut self, name: &str) -> T {
        let setting = self.0.next().expect("one setting a row of the table");
        assert_eq!(setting.key.name, name, "settings are in the table's order");
        T::from_value(&setting.value)
            .unwrap_or_else(|| panic!("{name} is kept as {}, which is not its field's type", setting.value))
    }
}

/// From a value into the type of the field that it is for; `None` is a mistake in the table.
pub(super) trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

/// The condition of a row that has one.
pub(super) const fn first(
    when: &[(&'static str, &'static [&'static str])],
) -> Option<(&'static str, &'static [&'static str])> {
    match when {
        [] => None,
        [first, ..] => Some(*first),
    }
}

/// A table of keys and the struct it is read into: each row gives the key, the field and the docstring of both.
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
            pub(super) fn keys(table: &mut Vec<$crate::key::Key>) {
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

            pub(super) fn read(values: &mut $crate::key::Values<'_>) -> $struct {
                $struct {
                    $( $field: values.next($name), )*
                    $( $sub: $subtype::read(values), )*
                }
            }
        }
    };
}

/// A choice of words and the enum it is read into.
macro_rules! words {
    ($(#[$meta:meta])* $enum:ident { $( $(#[$variantmeta:meta])* $variant:ident = $word:literal, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $( $(#[$variantmeta])* $variant, )*
        }

        impl $enum {
            /// As system files write them.
            pub const WORDS: &'static [&'static str] = &[$( $word, )*];

            /// As system files write it.
            pub const fn word(self) -> &'static str {
                match self { $( $enum::$variant => $word, )* }
            }
        }

        impl $crate::key::FromValue for $enum {
            fn from_value(value: &$crate::value::Value) -> Option<$enum> {
                match value {
                    $( $crate::value::Value::Word($word) => Some($enum::$variant), )*
                    _ => None,
                }
            }
        }
    };
}

pub(super) use {section, words};
