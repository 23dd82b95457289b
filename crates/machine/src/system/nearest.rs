//! The name that somebody probably meant.

use strsim::damerau_levenshtein;

/// The one of `names` most like `found`; the first of equals. Dotted names are compared whole, and by their last part:
/// `flash.queue_depth` is most like `host.queue_depth`.
///
/// # Panics
/// If there are no names.
pub(super) fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> &'a str {
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
    fn slips_and_wrong_tables_are_both_found() {
        let names = ["flash.channels", "flash.chips", "host.queue_depth", "flash.erase", "flash.ecc.codeword"];
        assert_eq!(nearest("flash.chanels", names), "flash.channels");
        assert_eq!(nearest("flash.queue_depth", names), "host.queue_depth");
        assert_eq!(nearest("flash.codeword", names), "flash.ecc.codeword");
        assert_eq!(nearest("channels", names), "flash.channels");
    }
}
