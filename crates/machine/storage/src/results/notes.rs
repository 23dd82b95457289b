//! Notes on what the figures of a result are valid for. They are part of the result and travel with it into every table,
//! comparison, sweep and report.

use serde_json::{Value, json};

/// Kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A remark on the workload, the system or the replay.
    Remark,
    /// The run chose the state of the drive.
    Prepared,
    /// The run ended once the intervals of its figures were narrow enough.
    Until,
    /// The run ended at its limit before the intervals of its figures were narrow enough.
    NotReached,
    /// Reads were answered without the flash, since the drive holds no data.
    EmptyDrive,
    /// The drive ended with more or less headroom than it began with.
    NotSteady,
    /// Each parallel unit collected fewer than three blocks.
    FewCycles,
    /// The host wrote too little of the drive for its write amplification to be known.
    LittleWritten,
    /// The drive moved to a steady state other than the prepared one.
    OtherSteadyState,
    /// No end of the warm-up was found.
    WarmUpNotFound,
    /// Jobs that ended within the warm-up are counted in full.
    WarmUpOfJobs,
    /// Some requests failed; rates and times leave them out.
    FailedRequests,
    /// A job ended with an error.
    EndedEarly,
    /// The user ended the run.
    Interrupted,
    /// The drive became read-only.
    ReadOnly,
    /// Wear and lifetime still depend on the preparation.
    EarlyWear,
    /// Caches in front of flash took or lost modified data.
    FillingCaches,
    /// The offered load exceeds what the system can serve.
    Overload,
}

impl Kind {
    /// Returns the kind's name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Remark => "remark",
            Kind::Prepared => "prepared",
            Kind::Until => "until",
            Kind::NotReached => "not-reached",
            Kind::EmptyDrive => "empty-drive",
            Kind::NotSteady => "not-steady",
            Kind::FewCycles => "few-cycles",
            Kind::LittleWritten => "little-written",
            Kind::OtherSteadyState => "other-steady-state",
            Kind::WarmUpNotFound => "warm-up-not-found",
            Kind::WarmUpOfJobs => "warm-up-of-jobs",
            Kind::FailedRequests => "failed-requests",
            Kind::EndedEarly => "ended-early",
            Kind::Interrupted => "interrupted",
            Kind::ReadOnly => "read-only",
            Kind::EarlyWear => "early-wear",
            Kind::FillingCaches => "filling-caches",
            Kind::Overload => "overload",
        }
    }

    /// Returns the figures that such a note makes worthless, and that no table shows.
    fn withholds(self) -> &'static [&'static str] {
        match self {
            Kind::EmptyDrive => &["read", "energy"],
            Kind::FewCycles => &["write-tail", "write-amplification"],
            Kind::LittleWritten => &["write-amplification"],
            Kind::FillingCaches => &["lifetime"],
            _ => &[],
        }
    }

    /// Returns the figures that tables show only together with the note.
    fn qualifies(self) -> &'static [&'static str] {
        match self {
            Kind::NotSteady => &["rates"],
            Kind::EarlyWear => &["wear"],
            _ => &[],
        }
    }
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    kind: Kind,
    text: String,
}

impl Note {
    /// Creates a note. `text`: one line for the reader of the results.
    pub fn new(kind: Kind, text: impl Into<String>) -> Note {
        Note { kind, text: text.into() }
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the note's entry in a summary. `withholds` and `qualifies` name figures: `read`, all rates and times of
    /// reads; `energy`; `rates`; `write-tail`, the highest percentiles of write times; `write-amplification`; `lifetime`; `wear`.
    pub fn entry(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "text": self.text,
            "withholds": self.kind.withholds(),
            "qualifies": self.kind.qualifies(),
        })
    }
}

/// Returns the entries of `notes` in a summary.
pub fn entries(notes: &[Note]) -> Value {
    notes.iter().map(Note::entry).collect()
}
