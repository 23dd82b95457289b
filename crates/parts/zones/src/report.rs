//! Zone reports.

use crate::state::{ZoneState, Zones};

/// Description of a zone in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// First logical block.
    pub start: u64,
    /// Number of writable logical blocks.
    pub capacity: u64,
    /// State.
    pub state: ZoneState,
    /// The next logical block to be written; `None` in a full, read only or offline zone, which has none.
    pub write_pointer: Option<u64>,
}

/// Zones that a report lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All zones.
    All,
    /// Zones in this state.
    State(ZoneState),
}

impl Zones {
    /// Returns the description of `zone`.
    pub fn describe(&self, zone: u32) -> Descriptor {
        let (start, state) = (self.start(zone), self.state(zone));
        let has_pointer = !matches!(state, ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline);
        let write_pointer = has_pointer.then(|| start + self.written(zone));
        Descriptor { start, capacity: self.config().capacity, state, write_pointer }
    }

    /// Returns the descriptions of the zones that `filter` selects, from zone `first` on.
    pub fn report(&self, first: u32, filter: Filter) -> impl Iterator<Item = Descriptor> + '_ {
        let selected = move |zone: &u32| match filter {
            Filter::All => true,
            Filter::State(state) => self.state(*zone) == state,
        };
        (first..self.config().zones).filter(selected).map(|zone| self.describe(zone))
    }
}
