//! A key of job files, and the value that a job file gives it.

use media::SECTOR;
use sim::Time;

use crate::fio::job::Job;
use crate::fio::value::{self, Amount, KbBase};
use crate::nearest::near;

/// Documentation and parser of a job file key.
pub struct KeyHelp {
    /// Name used in results.
    pub name: &'static str,
    /// Alternative names in fio.
    pub aliases: &'static [&'static str],
    /// Form of the value; empty for a flag.
    pub form: &'static str,
    /// Description of the default.
    pub default: &'static str,
    /// Description in a sentence or two.
    pub help: &'static str,
    pub(super) set: fn(&mut Job, &Given) -> Result<(), String>,
}

impl KeyHelp {
    /// Parses the key's value into a job. Errors have the form "found …, expected …".
    pub(in crate::fio) fn set(&self, job: &mut Job, value: Option<&str>) -> Result<(), String> {
        // A form in brackets is a value that may be left out.
        let optional = self.form.starts_with('[');
        if value.is_none() && !optional && !self.form.is_empty() && !self.form.starts_with("bool") {
            return Err(format!("found no value, expected {}={}", self.name, self.form));
        }
        if value == Some("") && !optional {
            return Err("found nothing after the =, expected a value".to_owned());
        }
        let given = Given { text: value.unwrap_or(if optional { "" } else { "1" }), kb: job.kb };
        let error = match (self.set)(job, &given) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let Some(shorter) = self.leading_numbers(given.text) else { return Err(error) };
        (self.set)(job, &Given { text: &shorter, kb: job.kb }).map_err(|_| error)?;
        job.remarks.push(format!("{}={} is read as {shorter}, as in fio", self.name, given.text));
        Ok(())
    }

    /// Returns the text with each number cut where fio stops reading it: `4k-512k` becomes `4k`, and `8*1` becomes `8`.
    /// Returns `None` for other keys than numbers, and if nothing is cut.
    fn leading_numbers(&self, text: &str) -> Option<String> {
        if !self.form.starts_with("int") {
            return None;
        }
        let ends = |c: char| matches!(c, '-' | '*' | '+' | '/' | ':') || (c == '%' && !self.form.contains("percent"));
        let number = |part: &str| part[..part.find(ends).unwrap_or(part.len())].trim_end().to_owned();
        let shorter = text.split(',').map(number).collect::<Vec<_>>().join(",");
        (shorter != text).then_some(shorter)
    }
}

/// A value to be parsed.
pub(super) struct Given<'a> {
    pub(super) text: &'a str,
    pub(super) kb: KbBase,
}

impl Given<'_> {
    pub(super) fn expected<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("found \"{}\", expected {what}", self.text))
    }

    pub(super) fn number(&self, least: u64, most: u64) -> Result<u64, String> {
        match value::number(self.text, self.kb).filter(|n| (least..=most).contains(n)) {
            Some(n) => Ok(n),
            None if most == u64::MAX => self.expected(&format!("a whole number of {least} or more")),
            None => self.expected(&format!("a whole number from {least} to {most}")),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, String> {
        match self.text {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => self.expected("0 or 1"),
        }
    }

    pub(super) fn time(&self, unit: Time) -> Result<Time, String> {
        match value::time(self.text, unit) {
            Some(time) => Ok(time),
            None => self.expected("a time of at most 213 days such as 30s, 5m, 200ms or 50us"),
        }
    }

    pub(super) fn name<T: Clone>(&self, names: &[(&'static str, T)]) -> Result<T, String> {
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == self.text) {
            return Ok(value.clone());
        }
        let list: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let hint = hint(self.text, list.iter().copied());
        self.expected(&format!("one of {}{hint}", list.join(", ")))
    }

    pub(super) fn amount(&self, sectors: bool) -> Result<Amount, String> {
        match value::amount(self.text, self.kb) {
            Some(Amount::Bytes(bytes)) if sectors && bytes % SECTOR != 0 => {
                self.expected("a multiple of the 512-byte sector")
            }
            Some(amount) => Ok(amount),
            None => self.expected("a size such as 4k, 16m or 1.5g, or a percentage of the drive such as 20%"),
        }
    }

    pub(super) fn block(&self, text: &str) -> Option<u64> {
        value::number(text, self.kb).filter(|bytes| *bytes > 0 && bytes % SECTOR == 0)
    }
}

/// Returns the end of a message that suggests the nearest value, if one is close enough.
pub(super) fn hint<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    near(found, names).map_or_else(String::new, |near| format!("; the nearest is \"{near}\""))
}
