//! What the drive did over time: one row per interval, as many as the recorder has windows.

use sim::Time;

use crate::counters::{Counters, Marks, State};
use crate::machine::Machine;
use crate::record::Recorder;
use crate::run::Outcome;

/// One interval of a run.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its start.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// What the machine did in it.
    pub counters: Counters,
    /// The machine's state at its end.
    pub state: State,
}

/// The intervals of a run; their counters add up to those of the whole run.
pub fn intervals(outcome: &Outcome) -> Vec<Interval> {
    let mut found = Vec::new();
    let mut last: Option<Counters> = None;
    let mut state = State::default();
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
    (last, state): (&mut Option<Counters>, &mut State),
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
    // The recorder has no windows after the last request.
    if let Some(interval) = found.last_mut() {
        interval.to = interval.to.max(end);
    }
}

/// The rest, after the last reading, belongs to the last interval.
fn close(machine: &Machine, outcome: &Outcome, last: Option<&Counters>, found: &mut [Interval]) {
    let Some(interval) = found.last_mut() else { return };
    let rest = Counters::read(machine, outcome.end.max(machine.now()), outcome.requests).since(last);
    assert_eq!(interval.counters.at, Time::ZERO, "the last interval ends with the run, not with a reading");
    interval.counters = rest;
    interval.state = State::read(machine);
}
