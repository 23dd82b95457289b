//! Why a figure lies outside its class, or a curve falls: `reasons.toml`, by preset, and job or curve.

use std::path::Path;

/// A reason, and the presets that it holds for in one job or curve.
pub struct Reason {
    /// Name of the job or curve.
    of: String,
    presets: Vec<String>,
    pub why: String,
}

/// All reasons.
pub struct Reasons {
    /// Of figures outside the range of their class.
    pub outlier: Vec<Reason>,
    /// Of curves that fall by more than 2 % as depth grows.
    pub fall: Vec<Reason>,
}

impl Reasons {
    /// Reads them from the source tree, so that they can be written without building again.
    pub fn read() -> Reasons {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/standard_jobs/reasons.toml");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Reasons { outlier: reasons(&table, "outlier"), fall: reasons(&table, "fall") }
    }

    /// Presets and jobs or curves that some reason is for.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.outlier.iter().chain(&self.fall);
        all.flat_map(|reason| reason.presets.iter().map(|preset| (preset.as_str(), reason.of.as_str())))
    }
}

/// The reason of what `preset` does in `of`.
pub fn find<'a>(reasons: &'a [Reason], preset: &str, of: &str) -> Option<&'a Reason> {
    reasons.iter().find(|reason| reason.of == of && reason.presets.iter().any(|name| name == preset))
}

fn reasons(table: &toml::Table, kind: &str) -> Vec<Reason> {
    let text = |value: &toml::Value| value.as_str().unwrap_or_else(|| panic!("{kind}: {value} is no text")).to_owned();
    let all = table.get(kind).and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let reason = |reason: &toml::Value| Reason {
        of: text(&reason["of"]),
        presets: reason["presets"].as_array().expect("a list of presets").iter().map(text).collect(),
        why: text(&reason["why"]),
    };
    all.iter().map(reason).collect()
}
