//! Finds the valid name nearest to a mistyped one.

/// Returns the name with the fewest insertions, deletions, replacements and swaps of neighbors relative to `found`, or
/// the first of several such names. Ignores case.
///
/// # Panics
/// If `names` is empty.
pub(crate) fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> &'a str {
    let found: Vec<char> = found.to_lowercase().chars().take(64).collect();
    names.into_iter().min_by_key(|name| distance(&found, name)).expect("at least one valid name")
}

/// Like [`nearest`], but only if the name is close enough to be a typing error: fewer than half of the letters differ.
pub(crate) fn near<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut names = names.into_iter().peekable();
    names.peek()?;
    let name = nearest(found, names);
    let letters: Vec<char> = found.to_lowercase().chars().take(64).collect();
    (2 * distance(&letters, name) < letters.len()).then_some(name)
}

/// Returns the optimal string alignment distance.
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
    fn the_nearest_name_is_the_intended_one() {
        let names = ["iodepth", "size", "offset", "rw", "runtime"];
        for (found, meant) in [("iodpeth", "iodepth"), ("Size", "size"), ("rnutime", "runtime"), ("r", "rw")] {
            assert_eq!(nearest(found, names), meant);
        }
        assert_eq!((near("iodept", names), near("zonemode", names)), (Some("iodepth"), None));
    }
}
