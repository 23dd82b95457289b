//! What a run knows of its measures at its end.

use serde_json::{Value, json};
use sim::Time;

use crate::results::notes::{Kind, Note};
use crate::run::intervals::{Interval, Measure};
use crate::run::length::Until;
use crate::run::record::Direction;

/// What ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The intervals were narrow enough.
    Intervals,
    /// The limit of requests.
    Requests,
    /// The limit of flash operations.
    Operations,
    /// All jobs ended with errors, or the user ended the run.
    Jobs,
}

impl End {
    /// Returns the name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            End::Intervals => "intervals",
            End::Requests => "requests",
            End::Operations => "flash operations",
            End::Jobs => "jobs",
        }
    }
}

/// What a run knows of its measures.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Intervals of each direction with requests; empty if there are too few windows.
    pub measures: Vec<(Direction, Interval)>,
    /// Collections per parallel unit, if the drive collects.
    pub cycles: Option<f64>,
    /// End of the warm-up, from the start of the statistics.
    pub warm_up: Time,
    /// The reason why the intervals are not those of a long run.
    pub lacking: Option<&'static str>,
}

impl Known {
    /// Returns the widest interval.
    pub fn widest(&self) -> Option<&(Direction, Interval)> {
        self.measures.iter().max_by(|a, b| a.1.width().total_cmp(&b.1.width()))
    }

    /// Returns whether all intervals are those of a long run, and at most `width` wide.
    pub(crate) fn is_within(&self, width: f64) -> bool {
        self.lacking.is_none() && self.widest().is_some_and(|(_, widest)| widest.width() <= width)
    }
}

/// How a run ended, and what it knows of its measures.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The rule by which the run was to end.
    pub until: Until,
    /// What ended the run.
    pub end: End,
    /// The measures at the end.
    pub known: Known,
}

impl Reached {
    /// Returns a note for the reader of the results, of a run that took `time` and `requests` requests.
    pub fn note(&self, time: Time, requests: u64) -> Note {
        let wanted = format!("until {}", percent(self.until.width));
        let cycles = self.known.cycles.map_or(String::new(), |cycles| format!(" and {cycles:.1} collection cycles"));
        let requests = grouped(requests);
        let (kind, text) = match self.end {
            End::Intervals => (Kind::Until, format!("{wanted}: reached after {time}, {requests} requests{cycles}")),
            End::Requests => (Kind::NotReached, format!("{wanted}: not reached within {requests} requests{cycles}")),
            End::Operations => (
                Kind::NotReached,
                format!("{wanted}: not reached within {requests} requests{cycles}, the limit of flash operations"),
            ),
            End::Jobs => {
                (Kind::NotReached, format!("{wanted}: not reached, the run was ended after {requests} requests"))
            }
        };
        let lacking = self.known.lacking.map_or(String::new(), |why| format!(" ({why})"));
        let widths: Vec<String> = self.known.measures.iter().map(width).collect();
        let intervals =
            if widths.is_empty() { String::new() } else { format!("; 95 % intervals: {}", widths.join(", ")) };
        Note::new(kind, format!("{text}{lacking}{intervals}"))
    }

    /// Returns the entry in a summary.
    pub fn entry(&self) -> Value {
        let measure = |(direction, interval): &(Direction, Interval)| {
            json!({
                "direction": name(*direction),
                "measure": interval.measure.name(),
                "value": interval.value,
                "low": interval.low,
                "high": interval.high.is_finite().then_some(interval.high),
            })
        };
        json!({
            "width": self.until.width,
            "requests_max": self.until.requests,
            "ended_by": self.end.name(),
            "reached": self.end == End::Intervals,
            "cycles": self.known.cycles,
            "lacking": self.known.lacking,
            "measures": self.known.measures.iter().map(measure).collect::<Vec<_>>(),
        })
    }
}

fn name(direction: Direction) -> &'static str {
    if direction == Direction::Read { "read" } else { "write" }
}

/// Returns a measure with half the width of its interval.
fn width((direction, interval): &(Direction, Interval)) -> String {
    let measure = match interval.measure {
        Measure::Iops => "IOPS".to_owned(),
        Measure::Percentile(percent) => format!("{percent} %"),
    };
    let width = interval.width();
    let width = if width.is_finite() { format!("±{}", percent(width)) } else { "unknown".to_owned() };
    format!("{} {measure} {width}", name(*direction))
}

/// Returns a part as a percentage of at most two significant digits.
fn percent(part: f64) -> String {
    let value = 100.0 * part;
    let decimals = if value >= 10.0 || value.fract() == 0.0 {
        0
    } else if value >= 0.1 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} %")
}

/// Returns a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_was_reached() {
        let interval = |measure, high| Interval { measure, value: 100.0, low: 99.0, high };
        let measures = vec![
            (Direction::Read, interval(Measure::Iops, 100.0)),
            (Direction::Write, interval(Measure::Percentile(99), f64::INFINITY)),
        ];
        let known =
            Known { measures, cycles: Some(3.25), lacking: Some("too few collection cycles"), warm_up: Time::ZERO };
        let until = Until { width: 0.01, requests: 10_000_000 };
        let reached = Reached { until, end: End::Requests, known };
        let note = reached.note(Time::from_s(2), 1_234_567);
        assert_eq!(note.kind(), Kind::NotReached);
        assert_eq!(
            note.text(),
            "until 1 %: not reached within 1,234,567 requests and 3.2 collection cycles (too few collection cycles); \
             95 % intervals: read IOPS ±0.5 %, write 99 % unknown"
        );
        assert_eq!(reached.entry()["measures"][1]["high"], Value::Null);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.01, 0.015, 0.5, 0.0004].map(percent), ["1 %", "1.5 %", "50 %", "0.04 %"]);
        assert_eq!([7, 999, 1000, 12_345_678].map(grouped), ["7", "999", "1,000", "12,345,678"]);
    }
}
