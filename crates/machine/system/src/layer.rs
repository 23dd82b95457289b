//! One file of a chain, or the `--set`s after it: which keys it sets, where, and on what they rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, SystemError, one_line};
use super::key::Basis;
use super::nearest::nearest;
use super::table::{self, Entry};
use super::value::{Value, describe};

/// Keys that a file or the `--set`s give, by their row in the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    /// Name of the system or the file that this one changes.
    pub extends: Option<(String, Option<Place>)>,
    /// Values, and where they stand.
    pub values: BTreeMap<usize, (Value, Place)>,
    /// Bases, of these values or of ones further down the chain.
    pub bases: BTreeMap<usize, Basis>,
}

/// Where the bytes of a text are.
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
    /// Reads a file's text.
    pub fn parse(name: &str, text: &str) -> Result<Layer, SystemError> {
        let source = Source { name: name.into(), text };
        let document = DeTable::parse(text).map_err(|error| SystemError::Syntax {
            place: source.place(error.span().map_or(0, |span| span.start)),
            why: error.message().lines().collect::<Vec<_>>().join(", "),
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

    /// Whether it sets nothing and extends nothing.
    pub fn is_empty(&self) -> bool {
        self.extends.is_none() && self.values.is_empty() && self.bases.is_empty()
    }

    /// Reads what the command line sets; a later one wins.
    pub fn from_sets(sets: &[(&str, &str)]) -> Result<Layer, SystemError> {
        let mut layer = Layer::default();
        for (key, text) in sets {
            let place = Place::Set { text: one_line(&format!("{key}={text}")).into() };
            let first = key.split('.').next().unwrap_or_default();
            if ["extends", "basis"].contains(&first) {
                return Err(SystemError::value(&place, first, "found in a --set, expected in a file"));
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
        // A table's basis is that of all keys that this file sets in it, but for those that have one of their own.
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
        // The innermost table is the most particular.
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

/// Keys of a table as the file has them, so that the first mistake is the one that is told.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn read(row: usize, found: &DeValue<'_>, place: &Place) -> Result<Value, SystemError> {
    let key = &table::keys()[row];
    key.kind.read(found).map_err(|why| SystemError::value(place, key.name, why))
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
            // `flash.read = { … }` without quotes is a table within a table: the dotted key is meant.
            let key = unquoted(&format!("{name}.{kind}"), text.get_ref());
            return fail(format!("found a table of tables, expected the key in quotes: \"{key}\""));
        }
        _ => {
            let nearest = nearest(kind, ["given", "assumed", "calibrated"]);
            return fail(format!("found \"{kind}\", {EXPECTED}; the nearest is \"{nearest}\""));
        }
    };
    match text.get_ref() {
        DeValue::String(text) if !text.trim().is_empty() => {
            Ok(Basis::new(kind, text.trim()).expect("its kind is one of the three"))
        }
        found => fail(format!("found {}, expected {expected} in quotes", describe(found))),
    }
}

/// The dotted key that tables within tables spell, down to the one that is no table of tables.
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

/// `text` as TOML reads it where it is a value of TOML, else as a plain word.
pub(super) fn with_value<T>(text: &str, use_it: impl FnOnce(&DeValue<'_>) -> T) -> T {
    let line = format!("value = {text}");
    match DeTable::parse(&line) {
        Ok(document) if document.get_ref().len() == 1 => {
            let value = document.get_ref().values().next().expect("it has one");
            use_it(value.get_ref())
        }
        _ => use_it(&DeValue::String(text.into())),
    }
}
