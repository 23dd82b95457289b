//! The activity of the drive over time: one row for each of the recorder's windows.

use sim::Time;

use crate::machine::Machine;
use crate::results::counters::{Counters, MachineState, Marks};
use crate::run::Outcome;
use crate::run::record::Recorder;

/// One interval of a run.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Start of the interval.
    pub from: Time,
    /// End of the interval.
    pub to: Time,
    /// Counters of the interval.
    pub counters: Counters,
    /// State of the machine at the end.
    pub state: MachineState,
}

/// Returns the intervals of a run. Their counters add up to those of the whole run.
pub fn intervals(outcome: &Outcome) -> Vec<Interval> {
    let mut found = Vec::new();
    let mut last: Option<Counters> = None;
    let mut state = MachineState::default();
    if let Some((before, marks)) = &outcome.before {
        add(before, marks, outcome.recorder.origin(), (&mut last, &mut state), &mut found);
    }
    add(&outcome.recorder, &outcome.marks, outcome.end, (&mut last, &mut state), &mut found);
    close(&outcome.machine, outcome, last.as_ref(), &mut found);
    found
}

fn add(
    recorder: &Recorder,
    marks: &Marks,
    end: Time,
    (last, state): (&mut Option<Counters>, &mut MachineState),
    found: &mut Vec<Interval>,
) {
    for point in recorder.points() {
        let (from, to) = (point.at - point.span, point.at.min(end));
        if to <= from {
            continue;
        }
        let mut counters = Counters::default();
        if let Some(mark) = marks.at(point.at)
            && last.as_ref().is_none_or(|last| last.at < mark.counters.at)
        {
            counters = mark.counters.since(last.as_ref());
            (*last, *state) = (Some(mark.counters.clone()), mark.state);
        }
        found.push(Interval { from, to, counters, state: *state });
    }
    // The recorder has no window after the last request.
    if let Some(interval) = found.last_mut() {
        interval.to = interval.to.max(end);
    }
}

/// Adds the counts after the last snapshot to the last interval.
fn close(machine: &Machine, outcome: &Outcome, last: Option<&Counters>, found: &mut [Interval]) {
    let Some(interval) = found.last_mut() else { return };
    let rest = Counters::read(machine, outcome.end.max(machine.now()), outcome.requests).since(last);
    assert_eq!(interval.counters.at, Time::ZERO, "the last interval ends with the run, not with a snapshot");
    interval.counters = rest;
    interval.state = MachineState::read(machine);
}
