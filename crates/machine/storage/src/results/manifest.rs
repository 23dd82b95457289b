//! The manifest of a run: the information needed to repeat it, and the basis of its parameters.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use workload::{Beyond, Replay};

use crate::run::{Length, Rule, RunOptions, Until, WarmUp};
use system::System;

/// Name of the state of a drive that a run chooses by itself.
pub const AUTO: &str = "auto";

/// Returns the manifest of a run: the resolved system with the origin and the basis of each value, the options,
/// versions and content hashes. `named` is the system's name on the command line, and `changes` are the `--set` arguments.
pub fn manifest(system: &System, named: &str, changes: &[String], workload: &str, options: &RunOptions) -> Value {
    let bytes = std::fs::read(workload).unwrap_or_default();
    let mut found = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "system": named,
        "changes": ordered(changes),
        "workload": workload,
        "seed": options.seed,
        "system_sha256": system.content_hash(),
        "workload_sha256": hash(&bytes),
        "options": {
            "payload": format!("{:?}", options.payload).to_lowercase(),
            "precondition": options.preparation.map_or(AUTO.to_owned(), |preparation| preparation.to_string()),
            "replay": replay(options.replay),
            "wrap": options.beyond == Beyond::Wrap,
            "warm_up": warm_up(options.warm_up),
        },
        "title": system.title,
        "settings": settings(system),
    });
    if let Some(until) = until(options.length) {
        found["options"]["until"] = until;
    }
    found
}

/// Formats when a run ends, unless that is the default.
fn until(length: Length) -> Option<Value> {
    match length {
        Length::Job => Some(json!("job")),
        Length::Until(until, Rule::Unsized) if until == Until::default() => None,
        Length::Until(until, rule) => {
            Some(json!({ "width": until.width, "requests": until.requests, "rule": rule.name() }))
        }
    }
}

/// Returns the changes by key. The order of different keys has no effect; of one key, the last change counts.
fn ordered(changes: &[String]) -> Vec<&String> {
    let mut found: Vec<&String> = changes.iter().collect();
    found.sort_by_key(|change| change.split_once('=').map_or(change.trim(), |(key, _)| key.trim()));
    found
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns every value that applies, with its origin and its basis.
pub fn settings(system: &System) -> Map<String, Value> {
    let applying = system.settings().iter().filter(|setting| setting.applies);
    applying
        .map(|setting| {
            let mut about = json!({ "value": setting.value.to_string() });
            about["set_by"] = json!(setting.place.as_ref().map_or("default".to_owned(), ToString::to_string));
            if let Some(basis) = &setting.basis {
                about["basis"] = json!({ basis.kind(): basis.text() });
            }
            if setting.inherited {
                about["inherited"] = json!(true);
            }
            (setting.key.name.to_owned(), about)
        })
        .collect()
}

/// Formats `replay` in the user's notation.
fn replay(replay: Replay) -> String {
    match replay {
        Replay::OpenLoop => "open".to_owned(),
        Replay::ClosedLoop { depth } => format!("closed:{depth}"),
        Replay::Scaled(factor) => format!("scaled:{factor}"),
    }
}

/// Formats `warm_up` in the user's notation.
fn warm_up(warm_up: WarmUp) -> String {
    match warm_up {
        WarmUp::Detect => "detect".to_owned(),
        WarmUp::Keep => "keep".to_owned(),
        WarmUp::Cut(time) => format!("{}ps", time.ps()),
    }
}
