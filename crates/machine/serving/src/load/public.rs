//! Public arrival traces: rows of Azure's LLM inference traces, lines of Mooncake's.
//!
//! Sources: `AzureLLMInferenceDataset2023.md` of `Azure/AzurePublicDataset` (`TIMESTAMP,ContextTokens,GeneratedTokens`), and
//! the README of `kvcache-ai/Mooncake`: JSON lines with `timestamp` (ms), `input_length`, `output_length` and `hash_ids`,
//! one for each 512 tokens of the prompt, by which requests share the blocks of their prompts.

use serde::Deserialize;

/// The columns of Azure's traces, in the place of ours.
pub(super) const AZURE: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// A line of Mooncake's traces.
#[derive(Deserialize)]
pub(super) struct Line {
    /// Milliseconds since the start.
    pub timestamp: u64,
    /// Tokens of the prompt.
    pub input_length: u64,
    /// Tokens of the answer.
    pub output_length: u64,
    /// Identifiers of the prompt's blocks.
    #[serde(default)]
    pub hash_ids: Vec<u32>,
}

/// Parses a line of Mooncake's traces.
pub(super) fn mooncake(text: &str) -> Result<Line, String> {
    let line: Line = serde_json::from_str(text).map_err(|error| {
        let why = error.to_string();
        format!("found no request of Mooncake: {}", why.split(" at line").next().unwrap_or_default())
    })?;
    let limits = 1..1 << 40;
    if !limits.contains(&line.input_length) || !limits.contains(&line.output_length) || line.timestamp >= 18_000_000_000
    {
        return Err("expected a timestamp of less than 18000000000 ms and at least 1 token in and out".to_owned());
    }
    Ok(line)
}

/// Returns the nanoseconds of a date and time such as `2023-11-16 18:17:03.9799600`, since the year 0. UTC may be stated.
pub(super) fn nanoseconds(text: &str) -> Option<i128> {
    let text = text.trim_end_matches('Z').trim_end_matches("+00:00");
    let (date, time) = text.split_once([' ', 'T'])?;
    let whole = |part: &str, least: i128, most: i128| {
        let number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i128>().ok())??;
        (least..=most).contains(&number).then_some(number)
    };
    let [year, month, day] = date.split('-').collect::<Vec<_>>()[..] else { return None };
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>()[..] else { return None };
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let (year, month, day) = (whole(year, 1, 9999)?, whole(month, 1, 12)?, whole(day, 1, 31)?);
    // Days of the proleptic Gregorian calendar, with March as the first month.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let seconds = 3600 * whole(hour, 0, 23)? + 60 * whole(minute, 0, 59)? + whole(second, 0, 60)?;
    let digits = fraction.get(..9).unwrap_or(fraction);
    let part = whole(digits, 0, 999_999_999)? * 10_i128.pow(9 - digits.len() as u32);
    Some((86_400 * days + seconds) * 1_000_000_000 + part)
}
