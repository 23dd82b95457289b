//! The table of all keys: the rows of all sections, in order.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use keys::{Fallback, Key, Section, TEXT, given};

use crate::key::nearest::nearest;
use crate::memory::Memory;
use device::OneNandConfig;
use ftl::section::{Caches, Layer};
use host::SramConfig;
use host::cpu::CpuConfig;
use host::linux::LinuxConfig;
use nand::Flash;
use pager::policy::PagingConfig;
use read_ahead::section::ReadAhead;
use zones::section::Zones;

/// Link types of block storage. A OneNAND has no driver, controller or translation layer.
const STORAGE: &[&str] = &["pcie", "sata", "ufs", "ddr", "shared-buffer"];

/// Row of the title, which does not influence results.
pub(crate) const TITLE: usize = 0;

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    const UNTITLED: Fallback = given("", "the name of the file");
    let mut keys = vec![Key {
        name: "title",
        kind: TEXT,
        default: UNTITLED,
        when: None,
        help: "One-line description of a system.",
    }];
    host::Config::keys(&mut keys);
    PagingConfig::keys(&mut keys);
    SramConfig::keys(&mut keys);
    link::Keys::keys(&mut keys);
    device::Config::keys(&mut keys);
    OneNandConfig::keys(&mut keys);
    Caches::keys(&mut keys);
    ReadAhead::keys(&mut keys);
    Zones::keys(&mut keys);
    Flash::keys(&mut keys);
    Layer::keys(&mut keys);
    CpuConfig::keys(&mut keys);
    Memory::keys(&mut keys);
    nvmm::Keys::keys(&mut keys);
    LinuxConfig::keys(&mut keys);
    for key in &mut keys {
        let of_storage = ["host.", "device.", "ftl."].iter().any(|table| key.name.starts_with(table));
        if of_storage && key.when.is_none() {
            key.when = Some(("link.type", STORAGE));
        }
    }
    // Several sections may have keys of one table, which is printed once.
    let mut tables: Vec<&str> = Vec::new();
    for key in &keys {
        if !tables.contains(&key.table()) {
            tables.push(key.table());
        }
    }
    keys.sort_by_key(|key| tables.iter().position(|table| *table == key.table()));
    keys
});

static ROWS: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| keys().iter().enumerate().map(|(row, key)| (key.name, row)).collect());

/// Names of all tables, including tables of tables.
static TABLES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let mut tables = BTreeSet::new();
    for key in keys() {
        let mut name = key.name;
        while let Some((table, _)) = name.rsplit_once('.') {
            tables.insert(table);
            name = table;
        }
    }
    tables
});

/// Returns all keys of system files, in the order in which `nandram check` prints them.
pub fn keys() -> &'static [Key] {
    &KEYS
}

/// Meaning of a dotted name.
pub(crate) enum Entry {
    /// The key of this row.
    Key(usize),
    /// A table of keys.
    Table,
}

pub(crate) fn find(name: &str) -> Option<Entry> {
    match ROWS.get(name) {
        Some(row) => Some(Entry::Key(*row)),
        None => TABLES.contains(name).then_some(Entry::Table),
    }
}

/// Returns the row of an existing key.
///
/// # Panics
/// If the key does not exist.
pub(crate) fn row(name: &str) -> usize {
    *ROWS.get(name).unwrap_or_else(|| panic!("there is no key {name}"))
}

/// Returns the key or table with the most similar name.
pub(crate) fn nearest_name(name: &str) -> &'static str {
    let others = ["extends", "basis"];
    nearest(name, keys().iter().map(|key| key.name).chain(TABLES.iter().copied()).chain(others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_valid() {
        let mut seen = BTreeSet::new();
        for key in keys() {
            assert!(seen.insert(key.name), "{} is in the table twice", key.name);
            assert!(!TABLES.contains(key.name), "{} is both a key and a table", key.name);
            assert!(key.help.ends_with('.'), "{}: the help is a sentence", key.name);
            assert!(key.kind.min <= key.kind.max, "{}: an empty range", key.name);
            if let Some((other, words)) = key.when {
                let other = &keys()[row(other)];
                for word in words {
                    assert!(other.kind.words_of().contains(word), "{} has no word \"{word}\"", other.name);
                }
            }
        }
    }
}
