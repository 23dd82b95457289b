//! Bases: where a value comes from.

/// Basis of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Stated by the named paper, data sheet or standard.
    Given(String),
    /// Chosen, for the stated reason.
    Assumed(String),
    /// Fitted to the named claim, which therefore does not count as reproduced.
    Calibrated(String),
}

impl Basis {
    /// Creates the basis of a kind by its name: `given`, `assumed` or `calibrated`.
    pub fn new(kind: &str, text: &str) -> Option<Basis> {
        match kind {
            "given" => Some(Basis::Given(text.to_owned())),
            "assumed" => Some(Basis::Assumed(text.to_owned())),
            "calibrated" => Some(Basis::Calibrated(text.to_owned())),
            _ => None,
        }
    }

    /// Returns `given`, `assumed` or `calibrated`.
    pub fn kind(&self) -> &'static str {
        match self {
            Basis::Given(_) => "given",
            Basis::Assumed(_) => "assumed",
            Basis::Calibrated(_) => "calibrated",
        }
    }

    /// Returns the source, reason or claim.
    pub fn text(&self) -> &str {
        match self {
            Basis::Given(text) | Basis::Assumed(text) | Basis::Calibrated(text) => text,
        }
    }
}
