//! Keys: one row each, from which everything else is derived.

use crate::Kind;

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

/// Returns a default that a source states.
pub const fn given(text: &'static str, why: &'static str) -> Fallback {
    Fallback::Is(Choice { text, kind: "given", why })
}

/// Returns a default that was chosen, for the reason `why`.
pub const fn assumed(text: &'static str, why: &'static str) -> Fallback {
    Fallback::Is(Choice { text, kind: "assumed", why })
}

/// Returns a default that a source states, where the other key is `word`; for [`Fallback::By`].
pub const fn by_given(word: &'static str, text: &'static str, why: &'static str) -> (&'static str, Choice) {
    (word, Choice { text, kind: "given", why })
}

/// Returns a default that was chosen, where the other key is `word`; for [`Fallback::By`].
pub const fn by_assumed(word: &'static str, text: &'static str, why: &'static str) -> (&'static str, Choice) {
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
