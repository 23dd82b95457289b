//! All keys of job files: names, help texts and parsers.

mod key;
mod limits;
mod logs;
mod parse;
mod shape;
mod table;
mod zones;

use super::no_effect;
pub use key::KeyHelp;
pub(crate) use logs::LogKeys;

/// Returns all keys, in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static KeyHelp> {
    table::KEYS.iter().chain(shape::KEYS).chain(zones::KEYS).chain(limits::KEYS).chain(logs::KEYS)
}

/// Returns the key with this name or alias.
pub(super) fn find(name: &str) -> Option<&'static KeyHelp> {
    keys().find(|key| key.name == name || key.aliases.contains(&name))
}

/// Returns all names and aliases.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    keys().flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied())).chain(no_effect::names())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::unsupported;

    #[test]
    fn names_are_unique_and_documented() {
        let mut all: Vec<&str> = names().chain(unsupported::names()).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(keys().all(|key| key.help.ends_with('.') && !key.help.contains("  ")));
    }
}
