//! JSON Schema of system files, for editors (Taplo, Even Better TOML) and other validators.

use serde_json::{Map, Value, json};

use crate::key::table::keys;
use keys::age;
use keys::{Fallback, Key, Kind, Shape};

const NUMBER: &str = r"[0-9_]+(\.[0-9_]+)?\s*";

/// Returns the schema, JSON Schema draft 2020-12.
pub(crate) fn schema() -> Value {
    let mut root = table("A machine: its host, its link and its storage device.");
    let properties = |table: &mut Map<String, Value>| match table.get_mut("properties") {
        Some(Value::Object(properties)) => std::mem::take(properties),
        _ => unreachable!("a table has properties"),
    };
    let mut top = properties(&mut root);
    for key in keys() {
        let mut inner = &mut top;
        for part in key.table().split('.').filter(|part| !part.is_empty()) {
            let child = inner.entry(part).or_insert_with(|| Value::Object(table("")));
            inner = child["properties"].as_object_mut().expect("a table has properties");
        }
        inner.insert(key.last().to_owned(), property(key));
    }
    let extends = "The preset, or file relative to this one, that this system changes.";
    top.insert("extends".into(), json!({ "type": "string", "description": extends }));
    top.insert("basis".into(), basis());
    root.insert("properties".into(), Value::Object(top));
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!("nandram system"));
    Value::Object(root)
}

fn table(description: &str) -> Map<String, Value> {
    let mut table = Map::new();
    table.insert("type".into(), json!("object"));
    table.insert("additionalProperties".into(), json!(false));
    if !description.is_empty() {
        table.insert("description".into(), json!(description));
    }
    table.insert("properties".into(), json!({}));
    table
}

fn property(key: &Key) -> Value {
    let mut alternatives = alternatives(&key.kind);
    if let Some(word) = key.kind.or {
        alternatives.push(json!({ "const": word }));
    }
    let mut property = match alternatives.len() {
        1 => alternatives.remove(0),
        _ => json!({ "anyOf": alternatives }),
    };
    let default = match key.default {
        Fallback::Is(choice) if choice.text.is_empty() => String::new(),
        Fallback::Is(choice) => format!(" Default: {}.", choice.text),
        Fallback::By(other, choices) => {
            let choices: Vec<String> = choices.iter().map(|(word, c)| format!("{} for {word}", c.text)).collect();
            format!(" Default, by {other}: {}.", choices.join(", "))
        }
    };
    property["description"] = json!(format!("{}{default}", key.help));
    property
}

fn alternatives(kind: &Kind) -> Vec<Value> {
    let quantity = |units: &[&str]| json!({ "type": "string", "pattern": format!("^{NUMBER}({})$", units.join("|")) });
    let time = || quantity(&["ps", "ns", "us", "ms", "s", "min", "h", "d"]);
    let words = |words: &[&str]| json!({ "enum": words });
    let list = |items: Value| json!({ "type": "array", "minItems": 1, "items": items });
    let bounded = |kind_of: &str| {
        let mut number = json!({ "type": kind_of, "minimum": kind.min });
        if kind_of == "integer" {
            number["minimum"] = json!(kind.min as u64);
        }
        match (kind.max.is_finite(), kind_of) {
            (true, "integer") => number["maximum"] = json!(kind.max as u64),
            (true, _) => number["maximum"] = json!(kind.max),
            (false, _) => {}
        }
        number
    };
    match kind.shape {
        Shape::Time => vec![time()],
        Shape::Times => vec![time(), list(time())],
        Shape::Age => vec![quantity(&age::units().collect::<Vec<_>>())],
        Shape::Size => vec![quantity(&["B", "KiB", "MiB", "GiB", "TiB", "PiB", "kB", "KB", "MB", "GB", "TB"])],
        Shape::Rate => {
            vec![quantity(&["B/s", "KiB/s", "MiB/s", "GiB/s", "kB/s", "KB/s", "MB/s", "GB/s", "Mb/s", "Gb/s"])]
        }
        Shape::Transfers => vec![quantity(&["MT/s", "GT/s"])],
        Shape::Frequency => vec![quantity(&["Hz", "kHz", "MHz", "GHz"])],
        Shape::Power => vec![quantity(&["uW", "mW", "W"])],
        Shape::Energy => vec![quantity(&["pJ", "nJ", "uJ", "mJ", "J"])],
        Shape::Count => vec![bounded("integer")],
        Shape::Fraction => vec![bounded("number"), json!({ "type": "string", "pattern": format!("^{NUMBER}%$") })],
        Shape::Number => vec![bounded("number")],
        Shape::Bool => vec![json!({ "type": "boolean" })],
        Shape::Word(choice) => vec![words(choice)],
        Shape::Words(choice) => vec![words(choice), list(words(choice))],
        Shape::Text => vec![json!({ "type": "string" })],
    }
}

fn basis() -> Value {
    let one = |kind: &str, description: &str| {
        json!({
            "type": "object",
            "properties": { kind: { "type": "string", "description": description } },
            "required": [kind],
            "additionalProperties": false,
        })
    };
    let mut names: Vec<&str> = keys().iter().map(|key| key.name).chain(keys().iter().map(Key::table)).collect();
    names.retain(|name| !name.is_empty() && *name != "title");
    names.sort_unstable();
    names.dedup();
    json!({
        "type": "object",
        "description": "Basis of each value: the dotted key in quotes, or a table for all keys that are set in it.",
        "propertyNames": { "enum": names },
        "additionalProperties": {
            "oneOf": [
                one("given", "The paper, data sheet or standard that states the value."),
                one("assumed", "The reason for the choice."),
                one("calibrated", "The claim to which the value was fitted."),
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use toml::de::DeValue;

    use super::*;
    use crate::key::read::read;

    /// This file lists units a second time; the loader must know each of them.
    #[test]
    fn units_in_patterns_are_known() {
        for key in keys() {
            for alternative in alternatives(&key.kind) {
                let Some(pattern) = alternative["pattern"].as_str() else { continue };
                let units = pattern.rsplit_once('(').map_or("%", |(_, units)| units.trim_end_matches(")$"));
                let free = Kind { min: 0.0, max: f64::INFINITY, ..key.kind };
                for unit in units.split('|').filter(|unit| !unit.contains('%')) {
                    let text = format!("0{unit}");
                    assert!(read(&free, &DeValue::String(text.as_str().into())).is_ok(), "{}: {text}", key.name);
                }
            }
        }
    }
}
