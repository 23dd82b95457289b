//! Suggestions for misspelled names.

use strsim::damerau_levenshtein;

/// Number of compared characters.
const LONGEST: usize = 64;

/// Returns the name most similar to `found`, or the first of several. Dotted names are compared as a whole and by their
/// last part: `flash.queue_depth` is most similar to `host.queue_depth`.
///
/// # Panics
/// If `names` is empty.
pub(crate) fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> &'a str {
    // The cost is the product of both lengths, and no name is this long.
    let end = found.char_indices().nth(LONGEST).map_or(found.len(), |(at, _)| at);
    let found = &found[..end];
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let score = |name: &str| {
        // The same key in another table takes precedence over a merely similar name.
        let whole = 2 * damerau_levenshtein(found, name);
        let part = 3 * damerau_levenshtein(&last(found), &last(name)) + 5;
        whole.min(part)
    };
    names.into_iter().min_by_key(|name| score(name)).expect("at least one name")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn long_keys_are_compared_quickly() {
        let begun = std::time::Instant::now();
        let names = ["flash.channels", "ftl.unit"];
        for long in ["flash.channels".repeat(100_000), "ä".repeat(500_000)] {
            assert!(names.contains(&nearest(&long, names)));
        }
        assert!(begun.elapsed().as_secs() < 2);
    }

    #[test]
    fn typing_errors_and_wrong_tables_are_found() {
        let names = ["flash.channels", "flash.chips", "host.queue_depth", "flash.erase", "flash.ecc.codeword"];
        assert_eq!(nearest("flash.chanels", names), "flash.channels");
        assert_eq!(nearest("flash.queue_depth", names), "host.queue_depth");
        assert_eq!(nearest("flash.codeword", names), "flash.ecc.codeword");
        assert_eq!(nearest("channels", names), "flash.channels");
    }
}
