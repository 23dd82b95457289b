//! Splits a job file into sections and their keys.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::JobFileError;
use super::keywords;

/// Maximum depth of included files.
const INCLUDES_MAX: u32 = 8;
/// Maximum size of an included file in bytes.
const INCLUDE_BYTES_MAX: u64 = 1 << 20;

/// A `[name]` line and the entries after it.
pub(super) struct Section {
    pub name: String,
    pub line: u32,
    pub entries: Vec<Entry>,
}

/// `key=value`, or `key` alone.
#[derive(Clone)]
pub(super) struct Entry {
    pub key: String,
    /// The value, with environment variables and keywords replaced.
    pub value: Option<String>,
    /// Line of the job file. For an included key, the line of the `include`.
    pub line: u32,
    /// The included file that holds the key, and its line there.
    pub included: Option<(Rc<str>, u32)>,
    /// A note on the value, for the results.
    pub note: Option<String>,
}

impl Entry {
    /// Creates an entry from the text of a line or argument. Replaces environment variables and keywords in the value.
    pub fn new(text: &str, line: u32) -> Result<Entry, String> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (text, None),
        };
        if key.is_empty() {
            return Err(format!("found \"{text}\", expected key=value"));
        }
        let mut entry = Entry { key: key.to_owned(), value: None, line, included: None, note: None };
        if let Some(value) = value {
            let value = expand(value).map_err(|message| format!("{key}: {message}"))?;
            match keywords::replace(&value).map_err(|message| format!("{key}: {message}"))? {
                Some(number) => {
                    entry.note = Some(format!("{key}={value} is {number} on this computer"));
                    entry.value = Some(number.to_string());
                }
                None => entry.value = Some(value.into_owned()),
            }
        }
        Ok(entry)
    }
}

/// Splits a job file into sections. As in fio, `;` and `#` start a comment anywhere in a line.
pub(super) fn sections(file: &str, text: &str) -> Result<Vec<Section>, JobFileError> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, content) in contents(text) {
        let error = |message: String| JobFileError { file: file.to_owned(), line: number, message };
        if let Some(rest) = content.strip_prefix('[') {
            let name = rest
                .strip_suffix(']')
                .map(str::trim)
                .filter(|name| !name.is_empty() && !name.contains(['[', ']']))
                .ok_or_else(|| error(format!("found \"{content}\", expected a section such as [job]")))?;
            sections.push(Section { name: name.to_owned(), line: number, entries: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else {
            Entry::new(content, number).map_err(error)?;
            return Err(error(format!("found \"{content}\" before any section, expected [global] or [job] first")));
        };
        match included_name(content) {
            Some(name) => include(file, name, number, INCLUDES_MAX, &mut section.entries)?,
            None => section.entries.push(Entry::new(content, number).map_err(error)?),
        }
    }
    Ok(sections)
}

/// Returns the lines with content, without comments, and their numbers.
fn contents(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let content = line[..line.find([';', '#']).unwrap_or(line.len())].trim();
        (!content.is_empty()).then_some((number, content))
    })
}

/// Returns the file of an `include` line.
fn included_name(content: &str) -> Option<&str> {
    let name = content.strip_prefix("include")?.strip_prefix([' ', '\t'])?.trim();
    (!name.is_empty() && !name.starts_with('=')).then_some(name)
}

/// Appends the keys of an included file. As in fio, `name` is relative to the current folder, or else to the folder of
/// the file that includes it.
fn include(file: &str, name: &str, line: u32, depth: u32, entries: &mut Vec<Entry>) -> Result<(), JobFileError> {
    let error = |message: String| JobFileError { file: file.to_owned(), line, message: format!("include: {message}") };
    if depth == 0 {
        return Err(error(format!("found \"{name}\" below {INCLUDES_MAX} other includes, expected fewer")));
    }
    let path = match Path::new(name) {
        here if here.exists() => here.to_owned(),
        there => Path::new(file).parent().map_or_else(PathBuf::new, Path::to_owned).join(there),
    };
    let shown = path.display().to_string();
    match std::fs::metadata(&path) {
        Err(why) => return Err(error(format!("{shown}: {why}"))),
        Ok(about) if !about.is_file() => return Err(error(format!("{shown}: found no file, expected one with keys"))),
        Ok(about) if about.len() > INCLUDE_BYTES_MAX => {
            return Err(error(format!("{shown}: found {} bytes, expected at most {INCLUDE_BYTES_MAX}", about.len())));
        }
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(&path).map_err(|why| error(format!("{shown}: {why}")))?;
    let origin: Rc<str> = shown.as_str().into();
    for (number, content) in contents(&text) {
        let error = |message: String| JobFileError { file: shown.clone(), line: number, message };
        if content.starts_with('[') {
            return Err(error(format!("found \"{content}\", expected keys only: an included file has no sections")));
        }
        match included_name(content) {
            Some(name) => {
                let first = entries.len();
                include(&shown, name, number, depth - 1, entries)?;
                entries[first..].iter_mut().for_each(|entry| entry.line = line);
            }
            None => {
                let entry = Entry::new(content, line).map_err(error)?;
                entries.push(Entry { included: Some((Rc::clone(&origin), number)), ..entry });
            }
        }
    }
    Ok(())
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
