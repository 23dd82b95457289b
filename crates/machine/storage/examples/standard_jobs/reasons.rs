//! Reasons why a figure lies outside its class, or why a curve falls. `reasons.toml` lists them by preset and by job or
//! curve.

use std::path::Path;

/// A reason, with the presets and the job or curve that it applies to.
pub struct Reason {
    /// Name of the job or curve.
    of: String,
    presets: Vec<String>,
    pub why: String,
}

/// All reasons.
pub struct Reasons {
    /// Reasons for figures outside the range of their class.
    pub outlier: Vec<Reason>,
    /// Reasons for curves that fall by more than 2 % as depth grows.
    pub fall: Vec<Reason>,
    /// Reasons for curves that fall at 1/64 of the size only, which the page does not show.
    #[allow(dead_code, reason = "read by tests/standard_jobs.rs")]
    pub fall_scaled: Vec<Reason>,
}

impl Reasons {
    /// Reads the reasons from the source tree at run time, so that edits need no rebuild.
    pub fn read() -> Reasons {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/standard_jobs/reasons.toml");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Reasons {
            outlier: reasons(&table, "outlier"),
            fall: reasons(&table, "fall"),
            fall_scaled: reasons(&table, "fall_scaled"),
        }
    }

    /// Returns all pairs of a preset and a job or curve that have a reason on the page.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.outlier.iter().chain(&self.fall);
        all.flat_map(|reason| reason.presets.iter().map(|preset| (preset.as_str(), reason.of.as_str())))
    }
}

/// Returns the reason for `preset` in the job or curve `of`.
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
