//! One layer: a file of the chain, or the `--set`s, with its keys, their positions and their bases.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Place, SystemError, one_line};
use crate::key::nearest::nearest;
use crate::key::read::{self, describe};
use crate::key::table::{self, Entry};
use keys::{Basis, Value};

/// Values and bases of a layer, by row of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// Name of the extended system or file.
    pub extends: Option<(String, Option<Place>)>,
    /// Values and their positions.
    pub values: BTreeMap<usize, (Value, Place)>,
    /// Bases of these values, or of values in extended files.
    pub bases: BTreeMap<usize, Basis>,
}

/// Text of a file, used to find positions.
struct Source<'a> {
    name: Arc<str>,
    text: &'a str,
}

impl Source<'_> {
    fn place(&self, at: usize) -> Place {
        let before = &self.text[..at.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Place::File {
            name: self.name.clone(),
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
        }
    }
}

impl Layer {
    /// Parses a file's text.
    pub fn parse(name: &str, text: &str) -> Result<Layer, SystemError> {
        let source = Source { name: name.into(), text };
        let document = DeTable::parse(text).map_err(|error| SystemError::Syntax {
            place: source.place(error.span().map_or(0, |span| span.start)),
            why: match text.trim_start().starts_with('<') {
                true => "found XML; nandram import turns MQSim's into a system file".to_owned(),
                false => error.message().lines().collect::<Vec<_>>().join(", "),
            },
        })?;
        let mut layer = Layer::default();
        let mut bases = None;
        for (key, value) in in_order(document.get_ref()) {
            let place = source.place(key.span().start);
            match key.get_ref().as_ref() {
                "extends" => layer.extends = Some((extends(value.get_ref(), &place)?, Some(place))),
                "basis" => bases = Some((value, place)),
                _ => layer.add("", key, value, &|at| source.place(at))?,
            }
        }
        if let Some((value, place)) = bases {
            layer.read_bases(value.get_ref(), &place, &source)?;
        }
        Ok(layer)
    }

    /// Returns whether the layer sets and extends nothing.
    pub fn is_empty(&self) -> bool {
        self.extends.is_none() && self.values.is_empty() && self.bases.is_empty()
    }

    /// Parses the assignments of the command line. Later ones take precedence.
    pub fn from_sets(sets: &[(&str, &str)]) -> Result<Layer, SystemError> {
        let mut layer = Layer::default();
        for (key, text) in sets {
            let place = Place::Set { text: one_line(&format!("{key}={text}")).into() };
            let first = key.split('.').next().unwrap_or_default();
            if ["extends", "basis"].contains(&first) {
                return Err(SystemError::value(&place, first, "only allowed in a file, not in a --set"));
            }
            with_value(text, |value| match table::find(key) {
                Some(Entry::Key(row)) => {
                    layer.values.insert(row, (read(row, value, &place)?, place.clone()));
                    Ok(())
                }
                Some(Entry::Table) => match value {
                    DeValue::Table(table) => {
                        in_order(table).into_iter().try_for_each(|(k, v)| layer.add(key, k, v, &|_| place.clone()))
                    }
                    _ => Err(SystemError::value(&place, key, format!("found {}, expected a table", describe(value)))),
                },
                None => Err(unknown(key, &place)),
            })?;
        }
        Ok(layer)
    }

    fn add(
        &mut self,
        table: &str,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        place_at: &dyn Fn(usize) -> Place,
    ) -> Result<(), SystemError> {
        let name = match table {
            "" => key.get_ref().to_string(),
            _ => format!("{table}.{}", key.get_ref()),
        };
        let place = place_at(key.span().start);
        match (table::find(&name), value.get_ref()) {
            (Some(Entry::Table), DeValue::Table(inner)) => {
                in_order(inner).into_iter().try_for_each(|(k, v)| self.add(&name, k, v, place_at))
            }
            (Some(Entry::Table), found) => {
                Err(SystemError::value(&place, &name, format!("found {}, expected a table", describe(found))))
            }
            (Some(Entry::Key(row)), found) => {
                let value = read(row, found, &place_at(value.span().start))?;
                self.values.insert(row, (value, place));
                Ok(())
            }
            (None, _) => Err(unknown(&name, &place)),
        }
    }

    fn read_bases(&mut self, found: &DeValue<'_>, place: &Place, source: &Source<'_>) -> Result<(), SystemError> {
        let DeValue::Table(table) = found else {
            return Err(SystemError::value(place, "basis", format!("found {}, expected a table", describe(found))));
        };
        // The basis of a table applies to all keys that this file sets in it, except those with their own basis.
        let mut groups = Vec::new();
        for (key, value) in in_order(table) {
            let place = source.place(key.span().start);
            let name = key.get_ref().as_ref();
            let basis = basis(name, value.get_ref(), &place)?;
            match table::find(name) {
                Some(Entry::Key(row)) => drop(self.bases.insert(row, basis)),
                Some(Entry::Table) => groups.push((name.to_owned(), basis)),
                None => {
                    let why = format!("unknown key \"{name}\", the nearest is \"{}\"", table::nearest_name(name));
                    return Err(SystemError::value(&place, "basis", why));
                }
            }
        }
        // The innermost table takes precedence.
        groups.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (group, basis) in groups {
            for row in self.values.keys() {
                let inside = table::keys()[*row].name.strip_prefix(&group).is_some_and(|rest| rest.starts_with('.'));
                if inside {
                    self.bases.entry(*row).or_insert_with(|| basis.clone());
                }
            }
        }
        Ok(())
    }
}

/// Returns a table's keys in file order, so that the first error is reported.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn read(row: usize, found: &DeValue<'_>, place: &Place) -> Result<Value, SystemError> {
    let key = &table::keys()[row];
    read::read(&key.kind, found).map_err(|why| SystemError::value(place, key.name, why))
}

fn unknown(name: &str, place: &Place) -> SystemError {
    SystemError::UnknownKey { place: place.clone(), key: one_line(name), nearest: table::nearest_name(name).to_owned() }
}

fn extends(found: &DeValue<'_>, place: &Place) -> Result<String, SystemError> {
    match found {
        DeValue::String(name) if !name.is_empty() => Ok(name.to_string()),
        _ => {
            let why = format!("found {}, expected the name of a preset or of a file", describe(found));
            Err(SystemError::value(place, "extends", why))
        }
    }
}

fn basis(name: &str, found: &DeValue<'_>, place: &Place) -> Result<Basis, SystemError> {
    const EXPECTED: &str = "expected { given = \"source\" }, { assumed = \"reason\" } or { calibrated = \"claim\" }";
    let fail = |why: String| Err(SystemError::value(place, &format!("basis of {name}"), why));
    let DeValue::Table(table) = found else { return fail(format!("found {}, {EXPECTED}", describe(found))) };
    let mut entries = table.iter();
    let (Some((kind, text)), None) = (entries.next(), entries.next()) else {
        return fail(format!("found {} entries, {EXPECTED}", table.len()));
    };
    let kind = kind.get_ref().as_ref();
    let expected = match kind {
        "given" => "the source",
        "assumed" => "the reason",
        "calibrated" => "the claim",
        _ if matches!(text.get_ref(), DeValue::Table(_)) => {
            // An unquoted `flash.read = { … }` is a nested table; suggest the quoted key.
            let key = unquoted(&format!("{name}.{kind}"), text.get_ref());
            return fail(format!("found a table of tables, expected the key in quotes: \"{key}\""));
        }
        _ => {
            let nearest = nearest(kind, ["given", "assumed", "calibrated"]);
            return fail(format!("found \"{kind}\", {EXPECTED}; the nearest is \"{nearest}\""));
        }
    };
    match text.get_ref() {
        DeValue::String(text) if !text.trim().is_empty() => Ok(Basis::new(kind, text.trim()).expect("a valid kind")),
        found => fail(format!("found {}, expected {expected} in quotes", describe(found))),
    }
}

/// Returns the dotted key that nested tables spell, down to the first value that is not a nested table.
fn unquoted(name: &str, found: &DeValue<'_>) -> String {
    match found {
        DeValue::Table(table) => match table.iter().next() {
            Some((key, inner)) if matches!(inner.get_ref(), DeValue::Table(_)) => {
                unquoted(&format!("{name}.{}", key.get_ref()), inner.get_ref())
            }
            _ => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}

/// Parses `text` as a TOML value if possible, otherwise as a plain word.
pub(crate) fn with_value<T>(text: &str, use_it: impl FnOnce(&DeValue<'_>) -> T) -> T {
    let line = format!("value = {text}");
    match DeTable::parse(&line) {
        Ok(document) if document.get_ref().len() == 1 => {
            let value = document.get_ref().values().next().expect("one value");
            use_it(value.get_ref())
        }
        _ => use_it(&DeValue::String(text.into())),
    }
}
