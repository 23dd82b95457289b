//! The name that somebody probably meant.

use strsim::damerau_levenshtein;

/// Characters of what was found that are compared.
const LONGEST: usize = 64;

/// The one of `names` most like `found`; the first of equals. Dotted names are compared whole, and by their last part:
/// `flash.queue_depth` is most like `host.queue_depth`.
///
/// # Panics
/// If there are no names.
pub(super) fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> &'a str {
    // The comparison takes the product of the lengths, and no name is that long.
    let end = found.char_indices().nth(LONGEST).map_or(found.len(), |(at, _)| at);
    let found = &found[..end];
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let score = |name: &str| {
        // The very same key of another table beats a name that is only alike.
        let whole = 2 * damerau_levenshtein(found, name);
        let part = 3 * damerau_levenshtein(&last(found), &last(name)) + 5;
        whole.min(part)
    };
    names.into_iter().min_by_key(|name| score(name)).expect("there are names to choose from")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_long_key_is_compared_at_once() {
        let begun = std::time::Instant::now();
        let names = ["flash.channels", "ftl.unit"];
        for long in ["flash.channels".repeat(100_000), "ä".repeat(500_000)] {
            assert!(names.contains(&nearest(&long, names)));
        }
        assert!(begun.elapsed().as_secs() < 2);
    }

    #[test]
    fn slips_and_wrong_tables_are_both_found() {
        let names = ["flash.channels", "flash.chips", "host.queue_depth", "flash.erase", "flash.ecc.codeword"];
        assert_eq!(nearest("flash.chanels", names), "flash.channels");
        assert_eq!(nearest("flash.queue_depth", names), "host.queue_depth");
        assert_eq!(nearest("flash.codeword", names), "flash.ecc.codeword");
        assert_eq!(nearest("channels", names), "flash.channels");
    }
}
