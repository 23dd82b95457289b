//! The length of a run.

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// When its jobs end.
    Job,
    /// When the intervals are narrow enough.
    Until(Until, Rule),
}

/// Jobs whose end is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// All; jobs whose end cannot be replaced are an error.
    Always,
    /// All whose end can be replaced.
    WherePossible,
    /// Those without a size or a time.
    #[default]
    Unsized,
}

impl Rule {
    /// All rules and their names.
    pub const NAMES: [(&'static str, Rule); 3] =
        [("always", Rule::Always), ("where-possible", Rule::WherePossible), ("unsized", Rule::Unsized)];

    /// Returns the name in manifests.
    pub fn name(self) -> &'static str {
        Rule::NAMES[self as usize].0
    }
}

/// The intervals that are wanted, and the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Half the width of the 95 % interval as a part of the value.
    pub width: f64,
    /// Maximum number of requests. The number of flash operations is limited to four times as many.
    pub requests: u64,
}

impl Default for Until {
    fn default() -> Until {
        Until { width: 0.01, requests: 10_000_000 }
    }
}
