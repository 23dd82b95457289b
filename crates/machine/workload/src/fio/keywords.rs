//! fio's keywords in values: `$mb_memory`, `$ncpus` and `$pagesize`, alone or in a product, quotient, sum or difference.

/// Returns the value of a text that contains a keyword; `None` if it contains none.
///
/// # Errors
/// If the text is more than whole numbers and keywords joined by `+ - * /`, or is negative.
pub(super) fn replace(text: &str) -> Result<Option<u64>, String> {
    if !NAMES.iter().any(|name| text.contains(name)) {
        return Ok(None);
    }
    let expected = || format!("found \"{text}\", expected whole numbers and {}, joined by + - * /", NAMES.join(", "));
    evaluate(text).ok_or_else(expected).map(Some)
}

const NAMES: [&str; 3] = ["$mb_memory", "$ncpus", "$pagesize"];

/// Evaluates sums of products from left to right.
fn evaluate(text: &str) -> Option<u64> {
    let (mut sum, mut rest) = (0_i128, text.trim());
    let mut sign = 1;
    loop {
        let (mut product, mut after) = operand(rest)?;
        while let Some(operator) = after.chars().next().filter(|operator| matches!(operator, '*' | '/')) {
            let (value, behind) = operand(&after[1..])?;
            product = if operator == '*' { product.checked_mul(value)? } else { product.checked_div(value)? };
            after = behind;
        }
        sum = sum.checked_add(sign * product)?;
        sign = match after.chars().next() {
            None => return u64::try_from(sum).ok(),
            Some('+') => 1,
            Some('-') => -1,
            Some(_) => return None,
        };
        rest = &after[1..];
    }
}

/// Returns the number or keyword at the start of `text`, and the rest.
fn operand(text: &str) -> Option<(i128, &str)> {
    let text = text.trim_start();
    if let Some((index, name)) = NAMES.iter().enumerate().find(|(_, name)| text.starts_with(**name)) {
        let value = match index {
            0 => memory_mib()?,
            1 => std::thread::available_parallelism().map_or(1, usize::from) as i128,
            _ => 4096,
        };
        return Some((value, text[name.len()..].trim_start()));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let value = text[..end].parse::<u64>().ok()?;
    Some((i128::from(value), text[end..].trim_start()))
}

/// Returns the memory of this computer in MiB.
fn memory_mib() -> Option<i128> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| i128::from(kib / 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_keywords_are_computed() {
        assert_eq!(replace("4k"), Ok(None));
        assert_eq!(replace("8*$pagesize"), Ok(Some(32_768)));
        assert_eq!(replace("$pagesize / 2 + 3 * 4"), Ok(Some(2060)));
        assert_eq!(replace("$pagesize-4095"), Ok(Some(1)));
        assert!(replace("$ncpus").is_ok_and(|value| value.is_some_and(|value| value > 0)));
        assert!(replace("$mb_memory").is_ok_and(|value| value.is_some_and(|value| value > 0)));
        for bad in ["$pagesize k", "$pagesize/0", "1-$pagesize", "$pagesize**2", "($pagesize)", "$pagesize*"] {
            assert!(replace(bad).is_err_and(|message| message.contains(bad)), "{bad}");
        }
    }
}
