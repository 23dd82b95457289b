//! Every key of a job file, once: its names, its help and its parser.

mod elsewhere;
mod parse;
mod shape;
mod table;

use media::SECTOR;
use sim::Time;

use super::job::Job;
use super::value::{self, Amount, KbBase};
use crate::nearest::near;

/// A key of a job file: what the documents say of it, and how it is read.
pub struct KeyHelp {
    /// The name that results use.
    pub name: &'static str,
    /// Other names, as fio has them.
    pub aliases: &'static [&'static str],
    /// The form of its value; empty for a flag.
    pub form: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does, in a sentence or two.
    pub help: &'static str,
    set: fn(&mut Job, &Given) -> Result<(), String>,
}

/// All keys, in the order of the documents.
pub fn keys() -> impl Iterator<Item = &'static KeyHelp> {
    table::KEYS.iter().chain(shape::KEYS)
}

/// The key of this name or alias.
pub(super) fn find(name: &str) -> Option<&'static KeyHelp> {
    keys().find(|key| key.name == name || key.aliases.contains(&name))
}

/// The key of this name which is accepted and changes nothing, and why it does not.
pub(super) fn without_effect(name: &str) -> Option<(&'static str, &'static str)> {
    elsewhere::find(name)
}

/// Whether this key is accepted and changes nothing.
pub(super) fn is_without_effect(name: &str) -> bool {
    elsewhere::find(name).is_some()
}

/// All names and aliases.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    keys().flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied())).chain(elsewhere::names())
}

impl KeyHelp {
    /// Reads the key's value into a job. What is wrong with it comes back as "found …, expected …".
    pub(super) fn set(&self, job: &mut Job, value: Option<&str>) -> Result<(), String> {
        if value.is_none() && !self.form.is_empty() && !self.form.starts_with("bool") {
            return Err(format!("found no value, expected {}={}", self.name, self.form));
        }
        if value == Some("") {
            return Err("found nothing behind the =, expected a value".to_owned());
        }
        let given = Given { text: value.unwrap_or("1"), kb: job.kb };
        (self.set)(job, &given)
    }
}

/// A value to be read.
struct Given<'a> {
    text: &'a str,
    kb: KbBase,
}

impl Given<'_> {
    fn expected<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("found \"{}\", expected {what}", self.text))
    }

    fn number(&self, least: u64, most: u64) -> Result<u64, String> {
        match value::number(self.text, self.kb).filter(|n| (least..=most).contains(n)) {
            Some(n) => Ok(n),
            None if most == u64::MAX => self.expected(&format!("a whole number of {least} or more")),
            None => self.expected(&format!("a whole number from {least} to {most}")),
        }
    }

    fn flag(&self) -> Result<bool, String> {
        match self.text {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => self.expected("0 or 1"),
        }
    }

    fn time(&self, unit: Time) -> Result<Time, String> {
        match value::time(self.text, unit) {
            Some(time) => Ok(time),
            None => self.expected("a time of at most 213 days such as 30s, 5m, 200ms or 50us"),
        }
    }

    fn name<T: Clone>(&self, names: &[(&'static str, T)]) -> Result<T, String> {
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == self.text) {
            return Ok(value.clone());
        }
        let list: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let hint = hint(self.text, list.iter().copied());
        self.expected(&format!("one of {}{hint}", list.join(", ")))
    }

    fn amount(&self, sectors: bool) -> Result<Amount, String> {
        match value::amount(self.text, self.kb) {
            Some(Amount::Bytes(bytes)) if sectors && bytes % SECTOR != 0 => {
                self.expected("a multiple of the 512-byte sector")
            }
            Some(amount) => Ok(amount),
            None => self.expected("a size such as 4k, 16m or 1.5g, or a percentage of the drive such as 20%"),
        }
    }

    fn block(&self, text: &str) -> Option<u64> {
        value::number(text, self.kb).filter(|bytes| *bytes > 0 && bytes % SECTOR == 0)
    }
}

/// The end of a message that names the value that was meant, if one is near.
fn hint<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    near(found, names).map_or_else(String::new, |near| format!("; the nearest is \"{near}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_explained() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(keys().all(|key| key.help.ends_with('.') && !key.help.contains("  ")));
    }
}
