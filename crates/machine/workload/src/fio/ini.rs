//! Splits a job file into sections and their keys.

use std::borrow::Cow;

use super::JobFileError;

/// A `[name]` line and the entries after it.
pub(super) struct Section<'a> {
    pub name: &'a str,
    pub line: u32,
    pub entries: Vec<Entry<'a>>,
}

/// `key=value`, or `key` alone.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    pub key: &'a str,
    /// The value, with environment variables expanded.
    pub value: Option<Cow<'a, str>>,
    pub line: u32,
}

/// Splits a job file into sections. As in fio, `;` and `#` start a comment anywhere in a line.
pub(super) fn sections<'a>(file: &str, text: &'a str) -> Result<Vec<Section<'a>>, JobFileError> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let error = |message: String| JobFileError { file: file.to_owned(), line: number, message };
        let content = line[..line.find([';', '#']).unwrap_or(line.len())].trim();
        if content.is_empty() {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let name = rest
                .strip_suffix(']')
                .map(str::trim)
                .filter(|name| !name.is_empty() && !name.contains(['[', ']']))
                .ok_or_else(|| error(format!("found \"{content}\", expected a section such as [job]")))?;
            sections.push(Section { name, line: number, entries: Vec::new() });
            continue;
        }
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (content, None),
        };
        if key.is_empty() {
            return Err(error(format!("found \"{content}\", expected key=value")));
        }
        if value.is_none() && key.starts_with("include ") {
            return Err(error("found an include, which is not supported; expected its keys in this file".to_owned()));
        }
        let value = match value {
            Some(value) => Some(expand(value).map_err(|message| error(format!("{key}: {message}")))?),
            None => None,
        };
        let Some(section) = sections.last_mut() else {
            return Err(error(format!("found \"{content}\" before any section, expected [global] or [job] first")));
        };
        section.entries.push(Entry { key, value, line: number });
    }
    Ok(sections)
}

/// Replaces each `${NAME}` by the value of that environment variable.
fn expand(value: &str) -> Result<Cow<'_, str>, String> {
    if !value.contains("${") {
        return Ok(Cow::Borrowed(value));
    }
    let (mut expanded, mut rest) = (String::new(), value);
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            return Err(format!("found \"{value}\", expected a }} after each ${{"));
        };
        let name = &rest[start + 2..start + length];
        match std::env::var(name) {
            Ok(found) => expanded.extend([&rest[..start], &found]),
            Err(_) => {
                return Err(format!(
                    "found \"{value}\", expected the environment variable {name} to be set to UTF-8 text"
                ));
            }
        }
        rest = &rest[start + length + 1..];
    }
    Ok(Cow::Owned(expanded + rest))
}
