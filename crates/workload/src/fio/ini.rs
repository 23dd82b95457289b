//! The lines of a job file: sections and their keys.

use super::JobFileError;

/// `[name]` and what follows it.
pub(super) struct Section<'a> {
    pub name: &'a str,
    pub line: u32,
    pub entries: Vec<Entry<'a>>,
}

/// `key=value`, or `key` alone.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub key: &'a str,
    pub value: Option<&'a str>,
    pub line: u32,
}

/// Splits a job file. As in fio, a `;` or `#` starts a comment anywhere in a line.
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
            return Err(error("found an include, expected its keys in this file: files are not included".to_owned()));
        }
        if value.is_some_and(|value| value.contains("${")) {
            return Err(error(format!(
                "{key}: found \"{}\", expected a plain value: environment variables are not expanded",
                value.unwrap_or_default()
            )));
        }
        let Some(section) = sections.last_mut() else {
            return Err(error(format!("found \"{content}\" before any section, expected [global] or [job] first")));
        };
        section.entries.push(Entry { key, value, line: number });
    }
    Ok(sections)
}
