//! The table of all keys: the sections' rows, one after the other.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::device::Device;
use super::flash::Flash;
use super::ftl::Ftl;
use super::host::Host;
use super::hybrid::Nvmm;
use super::kernel::Kernel;
use super::key::{Fallback, Key, TEXT, given};
use super::link::Link;
use super::memory::{Cpu, Memory};
use super::nearest::nearest;

/// Links of block storage: a OneNAND has neither driver nor controller nor translation layer.
const STORAGE: &[&str] = &["pcie", "sata", "ufs", "ddr", "shared-buffer"];

/// Row of the title, which influences no result.
pub(super) const TITLE: usize = 0;

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    const UNTITLED: Fallback = given("", "the name of the file");
    let mut keys =
        vec![Key { name: "title", kind: TEXT, default: UNTITLED, when: None, help: "What this system is, in a line." }];
    Host::keys(&mut keys);
    Link::keys(&mut keys);
    Device::keys(&mut keys);
    Flash::keys(&mut keys);
    Ftl::keys(&mut keys);
    Cpu::keys(&mut keys);
    Memory::keys(&mut keys);
    Nvmm::keys(&mut keys);
    Kernel::keys(&mut keys);
    for key in &mut keys {
        let of_storage = ["host.", "device.", "ftl."].iter().any(|table| key.name.starts_with(table));
        if of_storage && key.when.is_none() {
            key.when = Some(("link.type", STORAGE));
        }
    }
    keys
});

/// Names of the tables that keys stand in, and of those that these stand in.
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

/// Every key a system file may have, in the order in which `nandram check` prints them.
pub fn keys() -> &'static [Key] {
    &KEYS
}

/// What a dotted name stands for.
pub(super) enum Entry {
    /// The key of this row.
    Key(usize),
    /// A table of keys.
    Table,
}

pub(super) fn find(name: &str) -> Option<Entry> {
    match keys().iter().position(|key| key.name == name) {
        Some(row) => Some(Entry::Key(row)),
        None => TABLES.contains(name).then_some(Entry::Table),
    }
}

/// The row of a key that exists.
///
/// # Panics
/// If there is no such key.
pub(super) fn row(name: &str) -> usize {
    keys().iter().position(|key| key.name == name).unwrap_or_else(|| panic!("no key is called {name}"))
}

/// The key or table whose name is most like `name`.
pub(super) fn nearest_name(name: &str) -> &'static str {
    let others = ["extends", "basis"];
    nearest(name, keys().iter().map(|key| key.name).chain(TABLES.iter().copied()).chain(others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sound() {
        let mut seen = BTreeSet::new();
        for key in keys() {
            assert!(seen.insert(key.name), "{} stands twice in the table", key.name);
            assert!(!TABLES.contains(key.name), "{} is a key and a table", key.name);
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

    #[test]
    fn keys_of_a_table_stand_together() {
        let mut tables: Vec<&str> = keys().iter().map(|key| key.table()).collect();
        tables.dedup();
        let distinct: BTreeSet<&str> = tables.iter().copied().collect();
        assert_eq!(tables.len(), distinct.len(), "printed tables would be opened twice: {tables:?}");
    }
}
