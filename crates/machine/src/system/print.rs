//! The whole system as one file again.

use std::fmt::Write;

use super::error::Place;
use super::show::quote;
use super::{Setting, System, Value};

/// Where the comments begin, if the values before them leave room.
const COMMENT: usize = 34;

pub(super) fn print(system: &System) -> String {
    let mut out = String::new();
    let mut table = "";
    for setting in system.settings() {
        let key = setting.key;
        if key.table() != table {
            table = key.table();
            write!(out, "\n[{table}]\n").expect("a string takes all");
        }
        let line = match (setting.applies, key.when) {
            (false, Some((other, words))) => {
                format!("# {}: only where {other} is {}", key.last(), alternatives(words))
            }
            _ => {
                let value = format!("{} = {}", key.last(), setting.value);
                match comment(setting) {
                    comment if comment.is_empty() => value,
                    comment => format!("{value:COMMENT$} # {comment}"),
                }
            }
        };
        out.push_str(&line);
        out.push('\n');
    }
    let size = |bytes| Value::Size(bytes).plain();
    let _ = write!(out, "\n# raw {}, user {}\n", size(system.raw_bytes), size(system.user_bytes));
    bases(system, &mut out);
    out
}

/// `"a", "b" or "c"`.
pub(super) fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => unreachable!("a condition names a word"),
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
        (Some(Place::File { name, line, .. }), _) => format!("{name}:{line}, {}", basis()),
        (Some(Place::Set { .. }), None) => "--set".to_owned(),
        (Some(Place::Set { .. }), Some(_)) => format!("--set, {}", basis()),
    }
}

/// The bases that the files state, so that the printed file says all that they say.
fn bases(system: &System, out: &mut String) {
    out.push_str("\n[basis]\n");
    for setting in system.settings().iter().filter(|setting| setting.stated) {
        if let Some(basis) = &setting.basis {
            let line = format!("\"{}\" = {{ {} = {} }}", setting.key.name, basis.kind(), quote(basis.text()));
            out.push_str(&line);
            out.push('\n');
        }
    }
}
