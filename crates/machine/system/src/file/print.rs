//! Prints the whole system as one file: values that apply, then their bases, then keys that do not apply.

use std::fmt::Write;

use crate::error::Place;
use crate::{Setting, System, Value};
use keys::Key;
use keys::quote;

/// Column of comments, if the values leave enough space.
const COMMENT: usize = 34;
/// Maximum line length.
const WIDTH: usize = 120;

pub(crate) fn print(system: &System) -> String {
    let mut out = String::new();
    values(system.settings().iter().filter(|setting| setting.applies), &mut out);
    sizes(system, &mut out);
    bases(system.settings().iter(), &mut out);
    inactive(system, &mut out);
    out
}

/// Prints only the values set by the file itself and by `--set`.
pub(crate) fn print_changed(system: &System) -> String {
    let mut out = String::new();
    let changed = || system.settings().iter().filter(|s| s.applies && s.place.is_some() && !s.inherited);
    values(changed(), &mut out);
    sizes(system, &mut out);
    bases(changed(), &mut out);
    out
}

fn values<'a>(settings: impl Iterator<Item = &'a Setting>, out: &mut String) {
    let mut table = "";
    for setting in settings {
        let key = setting.key;
        if key.table() != table {
            table = key.table();
            write!(out, "\n[{table}]\n").expect("writing to a string succeeds");
        }
        let value = format!("{} = {}", key.last(), setting.value);
        let line = match comment(setting) {
            comment if comment.is_empty() => value,
            comment => format!("{value:COMMENT$} # {comment}"),
        };
        out.push_str(&line);
        out.push('\n');
    }
}

fn sizes(system: &System, out: &mut String) {
    if system.user_bytes == 0 {
        return;
    }
    let size = |bytes| Value::Size(bytes).plain();
    let spare = 100.0 * (system.raw_bytes as f64 / system.user_bytes as f64 - 1.0);
    let (raw, user) = (size(system.raw_bytes), size(system.user_bytes));
    let _ = write!(out, "\n# raw {raw}, user {user}, over-provisioning {spare:.1} % of user\n");
}

/// `"a", "b" or "c"`.
pub(crate) fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => unreachable!("a condition has at least one word"),
    }
}

fn comment(setting: &Setting) -> String {
    let basis = || match &setting.basis {
        Some(basis) => basis.kind(),
        None => "no basis stated",
    };
    match (&setting.place, &setting.basis) {
        _ if setting.key.name == "title" => String::new(),
        (None, Some(basis)) => format!("default, {}: {}", basis.kind(), basis.text()),
        (None, None) => unreachable!("a default has a basis"),
        (Some(Place::File { name, line, .. }), _) if setting.inherited => {
            format!("{name}:{line}, inherited, {}", basis())
        }
        (Some(Place::File { name, line, .. }), _) => format!("{name}:{line}, {}", basis()),
        (Some(Place::Set { .. }), None) => "--set".to_owned(),
        (Some(Place::Set { .. }), Some(_)) => format!("--set, {}", basis()),
    }
}

/// Prints the bases stated in files, so that no information is lost.
fn bases<'a>(settings: impl Iterator<Item = &'a Setting>, out: &mut String) {
    out.push_str("\n[basis]\n");
    for setting in settings.filter(|setting| setting.stated) {
        if let Some(basis) = &setting.basis {
            let line = format!("\"{}\" = {{ {} = {} }}", setting.key.name, basis.kind(), quote(basis.text()));
            out.push_str(&line);
            if let (true, Some(Place::File { name, .. })) = (setting.inherited, &setting.place) {
                let _ = write!(out, " # inherited from {name}");
            }
            out.push('\n');
        }
    }
}

/// Prints the keys that do not apply, grouped by the condition under which they would.
fn inactive(system: &System, out: &mut String) {
    let mut groups: Vec<(String, Vec<&Key>)> = Vec::new();
    for setting in system.settings().iter().filter(|setting| !setting.applies) {
        let Some((other, words)) = setting.key.when else { continue };
        let condition = format!("only where {other} is {}", alternatives(words));
        match groups.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, keys)) => keys.push(setting.key),
            None => groups.push((condition, vec![setting.key])),
        }
    }
    if groups.is_empty() {
        return;
    }
    out.push_str("\n# Keys that do not apply\n");
    for (condition, keys) in groups {
        let _ = writeln!(out, "# {condition}:");
        let mut line = "#  ".to_owned();
        for key in keys {
            if line.len() + key.name.len() > WIDTH {
                out.push_str(&line);
                out.push('\n');
                line = "#  ".to_owned();
            }
            let _ = write!(line, " {}", key.name);
        }
        out.push_str(&line);
        out.push('\n');
    }
}
