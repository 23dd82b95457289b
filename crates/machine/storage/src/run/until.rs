//! Ends a run once the intervals of its measures are narrow enough, or at a limit of work.
//!
//! The run is looked at a few times only, at lengths that grow by a third or a half, because an interval that is looked
//! at often will be narrow by chance at some point. It must be narrow enough in two looks, one after the other.

use ftl::{Headroom, Stats};
use sim::{Compact, Time};

use crate::machine::Machine;
use crate::results::counters::Marks;
use crate::run::intervals::{BATCHES_MIN, intervals};
use crate::run::length::Until;
use crate::run::reached::{End, Known, Reached};
use crate::run::record::{Direction, Point, Recorder};
use crate::run::steady::{Collected, is_steady};
use crate::run::warm_up::{Steadiness, detect};

/// Collections per parallel unit that a run covers if the drive collects.
pub const CYCLES: u64 = 10;
/// Minimum number of windows after the warm-up: two lengths of batches.
const WINDOWS_MIN: usize = 2 * BATCHES_MIN;
/// Difference between a prepared drive that collects and one after a long run, as a part of each measure. Calibrated:
/// 64,050 random writes per second on `nvme-client-tlc` at 1/18 in the first seconds, 63,910 in the minute that follows.
/// Other presets differ more (`docs/steady-start.md`): after a first interval `hmb-b` by 3 to 6 %, `ddrssd` by 1 to 2 %.
const PREPARED: f64 = 0.005;
/// Difference between the windows' mean times, as a part of the width that is wanted, that needs no warm-up.
const UNNOTICED: f64 = 0.1;
/// Looks, one after the other, that must find the intervals narrow enough.
const LOOKS: u32 = 2;
/// Flash operations per request of the limit. Together with the requests they are about 60 s of a processor of 2020.
const OPERATIONS: u64 = 4;
/// The directions whose measures are known at the end.
const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

/// The state of a run that is looked at.
pub(crate) struct View<'a> {
    pub recorder: &'a Recorder,
    pub marks: &'a Marks,
    pub machine: &'a Machine,
    /// Counters and headroom at the start of the statistics, unless the warm-up is found.
    pub begin: (Stats, Headroom),
}

impl View<'_> {
    /// Returns the measures and their intervals, which are to become as narrow as `until` says. `detects`: finds the
    /// warm-up; `is_full`: the drive was prepared as one that collects.
    fn known(&self, until: Until, detects: bool, is_full: bool) -> Known {
        let (recorder, span) = (self.recorder, self.recorder.window());
        let mut points = recorder.points();
        points.truncate(recorder.closed());
        // The last point counts as incomplete.
        points.push(Point { at: recorder.ends(), span, ..Point::default() });
        let (mut from, (mut counters, mut headroom)) = (recorder.origin(), self.begin);
        // The rule finds a warm-up in the rounding of a constant, too.
        if detects && spread(&points) > UNNOTICED * until.width {
            match detect(&points) {
                Steadiness::From(time) => from = from.max(time),
                Steadiness::TooShort(_) => {
                    return Known { lacking: Some("no end of the warm-up was found"), ..Known::default() };
                }
            }
            if let Some(mark) = self.marks.at(from) {
                (counters, headroom) = (mark.counters.ftl, mark.state.headroom);
            }
        }
        let first = points.iter().position(|point| point.at > from && point.ios > 0).unwrap_or(points.len());
        // A ramp ends within the first window with requests.
        let first = first + usize::from(!detects && first > 0);
        if points.len() - 1 < first + WINDOWS_MIN {
            return Known { lacking: Some("too few intervals after the warm-up"), ..Known::default() };
        }
        let mut measures = Vec::new();
        for direction in DIRECTIONS {
            let windows: Vec<Compact> = recorder.latencies(direction, first);
            if windows.iter().any(|window| window.count() > 0) {
                measures.extend(intervals(&windows, span).into_iter().map(|each| (direction, each)));
            }
        }
        let whole_run = self.machine.ftl().stats();
        let window = whole_run.since(&counters);
        let change = self.machine.ftl().headroom().since(&headroom);
        let collected = Collected::new(self.machine.ftl(), &whole_run, &window, is_full);
        if collected.cycles().is_some() {
            measures.iter_mut().for_each(|(_, interval)| *interval = interval.widened(PREPARED));
        }
        let lacking = match () {
            () if measures.is_empty() => Some("no reads or writes"),
            () if !is_steady(&change, &window) => Some("the drive is not steady"),
            () if collected.fewer_than(CYCLES) => Some("too few collection cycles"),
            () => None,
        };
        Known { measures, cycles: collected.cycles(), lacking, warm_up: from - recorder.origin() }
    }
}

/// Returns the difference of the windows' mean times, as a part of the smallest.
fn spread(points: &[Point]) -> f64 {
    let means = || points.iter().filter(|point| point.ios > 0).map(|point| point.mean_ns);
    let (low, high) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    if high > low { high / low - 1.0 } else { 0.0 }
}

/// Looks at a run and decides when it ends.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    until: Until,
    detects: bool,
    is_full: bool,
    next: Time,
    passed: u32,
    end: Option<End>,
    /// Estimate of the part of the run that is done.
    fraction: f64,
}

impl Looks {
    /// Creates the looks of a run that has not begun. `detects`: the warm-up is found; `is_full`: the drive was prepared
    /// as one that collects.
    pub fn new(until: Until, detects: bool, is_full: bool) -> Looks {
        Looks { until, detects, is_full, next: next_look(Time::ZERO), passed: 0, end: None, fraction: 0.0 }
    }

    /// Returns whether the run ends, when `requests` requests have ended.
    pub fn ends(&self, requests: u64) -> bool {
        self.end.is_some() || requests >= self.until.requests
    }

    /// Returns the number of requests at which the run is to be watched: at once if it ends, and at most `next`.
    pub fn watch_at(&self, next: u64) -> u64 {
        if self.end.is_some() { 0 } else { next.min(self.until.requests) }
    }

    /// Returns how the run ended.
    pub fn reached(&self, view: &View<'_>, requests: u64) -> Reached {
        let end = self.end.unwrap_or(if self.ends(requests) { End::Requests } else { End::Jobs });
        Reached { until: self.until, end, known: view.known(self.until, self.detects, self.is_full) }
    }

    /// Returns whether the run is due to be looked at.
    pub fn is_due(&self, recorder: &Recorder) -> bool {
        recorder.elapsed() >= self.next
    }

    /// Looks at the run.
    pub fn look(&mut self, view: &View<'_>) {
        let elapsed = view.recorder.elapsed();
        self.next = next_look(elapsed);
        let known = view.known(self.until, self.detects, self.is_full);
        self.passed = if known.is_within(self.until.width) { self.passed + 1 } else { 0 };
        if self.passed >= LOOKS {
            self.end = Some(End::Intervals);
        }
        let part = known.widest().map_or(0.0, |(_, widest)| (self.until.width / widest.width()).min(1.0));
        self.fraction = self.fraction.max(0.95 * part * part);
    }

    /// Ends the run if the limit of flash operations is reached. Returns an estimate of the part that is done.
    pub fn limit(&mut self, requests: u64, machine: &Machine) -> f64 {
        if machine.nand().operations() >= self.until.requests.saturating_mul(OPERATIONS) {
            self.end = Some(End::Operations);
        }
        self.fraction = self.fraction.max(requests as f64 / self.until.requests as f64);
        self.fraction
    }
}

/// Returns the time of the look after `elapsed`: 24 or 32 times a power of two of the recorder's first window.
fn next_look(elapsed: Time) -> Time {
    let mut at = Time::from_ms(32);
    while at <= elapsed {
        let between = at + at / 2;
        if between > elapsed {
            return between;
        }
        at = at * 2;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::intervals::{Interval, Measure};

    #[test]
    fn looks_are_further_apart_in_a_longer_run() {
        let (mut at, mut found) = (Time::ZERO, Vec::new());
        for _ in 0..6 {
            at = next_look(at);
            found.push(at.ps() / 1_000_000_000);
        }
        assert_eq!(found, [32, 48, 64, 96, 128, 192]);
    }

    #[test]
    fn one_narrow_look_is_not_enough() {
        let interval =
            |half: f64| Interval { measure: Measure::Iops, value: 100.0, low: 100.0 - half, high: 100.0 + half };
        let known = |half: f64| Known { measures: vec![(Direction::Read, interval(half))], ..Known::default() };
        assert!(known(1.0).is_within(0.01) && !known(1.1).is_within(0.01));
        assert!(!Known { lacking: Some("a cycle"), ..known(0.5) }.is_within(0.01));
        assert!(!Known::default().is_within(0.01), "nothing is known");
    }
}
