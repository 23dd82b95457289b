//! The valid name that is nearest to a mistyped one.

/// The name of `names` that the fewest insertions, deletions, replacements and swaps of neighbours turn `found` into;
/// the first of several. Letters' case does not count.
///
/// # Panics
/// If there are no names.
pub(crate) fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> &'a str {
    let found: Vec<char> = found.to_lowercase().chars().take(64).collect();
    names.into_iter().min_by_key(|name| distance(&found, name)).expect("at least one valid name")
}

/// The same, if it is near enough to be what was meant: fewer than half of the letters are wrong.
pub(crate) fn near<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut names = names.into_iter().peekable();
    names.peek()?;
    let name = nearest(found, names);
    let letters: Vec<char> = found.to_lowercase().chars().take(64).collect();
    (2 * distance(&letters, name) < letters.len()).then_some(name)
}

/// The optimal string alignment distance.
fn distance(found: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().collect();
    let mut rows = vec![vec![0; name.len() + 1]; found.len() + 1];
    for i in 0..=found.len() {
        for j in 0..=name.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(found[i - 1] != name[j - 1]);
                let swapped = if i > 1 && j > 1 && found[i - 1] == name[j - 2] && found[i - 2] == name[j - 1] {
                    rows[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                replaced.min(swapped).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
            };
        }
    }
    rows[found.len()][name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_what_was_meant() {
        let names = ["iodepth", "size", "offset", "rw", "runtime"];
        for (found, meant) in [("iodpeth", "iodepth"), ("Size", "size"), ("rnutime", "runtime"), ("r", "rw")] {
            assert_eq!(nearest(found, names), meant);
        }
        assert_eq!((near("iodept", names), near("zonemode", names)), (Some("iodepth"), None));
    }
}
