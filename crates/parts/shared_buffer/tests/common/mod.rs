//! Selects the random histories to run.

use std::ops::Range;

/// Returns `HISTORIES` histories (by default `default`), starting with number `HISTORY`.
pub fn history_range(default: u64) -> Range<u64> {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
        Err(_) => default,
    };
    let first = number("HISTORY", 0);
    first..first + number("HISTORIES", default)
}
