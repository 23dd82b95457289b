//! Timelines of busy resources in the Trace Event Format, which Perfetto and chrome://tracing open.

use std::io::{self, Write};

use crate::Time;

/// A row of the timeline: a channel, a die, a queue, a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(pub u32);

struct Span {
    track: u32,
    name: &'static str,
    from: Time,
    to: Time,
}

/// A quantity that changes in steps, such as the length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(pub u32);

struct Step {
    counter: u32,
    value: u32,
    at: Time,
}

/// A bounded recorder of busy spans and counters. After `limit` spans or `limit` counter steps, further ones are only
/// counted, and the output reports their number.
pub struct Timeline {
    tracks: Vec<(String, String)>,
    spans: Vec<Span>,
    counters: Vec<(String, String)>,
    steps: Vec<Step>,
    limit: usize,
    left_out: u64,
}

impl Timeline {
    /// Creates an empty timeline that keeps at most `limit` spans (48 bytes each) and as many counter steps (16 bytes
    /// each).
    pub fn new(limit: usize) -> Timeline {
        let (tracks, spans, counters, steps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Timeline { tracks, spans, counters, steps, limit, left_out: 0 }
    }

    /// Adds a row called `name` within the group `part`.
    pub fn add_track(&mut self, part: &str, name: &str) -> Track {
        self.tracks.push((part.to_owned(), name.to_owned()));
        Track(self.tracks.len() as u32 - 1)
    }

    /// Records that `track` was busy with `name` from `from` to `to`.
    pub fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        assert!((track.0 as usize) < self.tracks.len(), "track {} was never added", track.0);
        assert!(to >= from, "{name} ends at {to}, before it starts at {from}");
        if self.spans.len() == self.limit {
            self.left_out += 1;
            return;
        }
        self.spans.push(Span { track: track.0, name, from, to });
    }

    /// Adds a counter called `name` within the group `part`.
    ///
    /// # Panics
    /// Panics if the name is already taken, because viewers distinguish a part's counters by name.
    pub fn add_counter(&mut self, part: &str, name: &str) -> Counter {
        let new = (part.to_owned(), name.to_owned());
        assert!(!self.counters.contains(&new), "two counters are called {part}: {name}");
        self.counters.push(new);
        Counter(self.counters.len() as u32 - 1)
    }

    /// Records that `counter` has `value` from `at` on.
    pub fn count(&mut self, counter: Counter, at: Time, value: u32) {
        assert!((counter.0 as usize) < self.counters.len(), "counter {} was never added", counter.0);
        if self.steps.len() == self.limit {
            self.left_out += 1;
            return;
        }
        self.steps.push(Step { counter: counter.0, value, at });
    }

    /// Returns the number of spans and steps left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the JSON object of the Trace Event Format: `M` events name each process (part) and thread (track), `X`
    /// events are spans in microseconds, and `C` events are steps of counters, which are identified by process and
    /// name.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut parts: Vec<&str> = Vec::new();
        let quote = |s: &str| serde_json::Value::from(s).to_string();
        let mut ids = Vec::with_capacity(self.tracks.len());
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"spans_left_out\":{}}},\"traceEvents\":[",
            self.left_out
        )?;
        let mut comma = "";
        for (part, _) in self.tracks.iter().chain(&self.counters) {
            if !parts.contains(&part.as_str()) {
                write!(
                    out,
                    "{comma}\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}",
                    parts.len(),
                    quote(part)
                )?;
                parts.push(part);
                comma = ",";
            }
        }
        let pid_of = |part: &str| parts.iter().position(|p| *p == part).expect("every part is listed");
        for (tid, (part, name)) in self.tracks.iter().enumerate() {
            let pid = pid_of(part);
            write!(
                out,
                "{comma}\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{}}}}}",
                quote(name)
            )?;
            ids.push((pid, tid));
        }
        for span in &self.spans {
            let (pid, tid) = ids[span.track as usize];
            let (start, length) = (span.from.ps(), (span.to - span.from).ps());
            write!(
                out,
                "{comma}\n{{\"ph\":\"X\",\"name\":{},\"pid\":{pid},\"tid\":{tid},\"ts\":{}.{:06},\"dur\":{}.{:06}}}",
                quote(span.name),
                start / 1_000_000,
                start % 1_000_000,
                length / 1_000_000,
                length % 1_000_000
            )?;
        }
        let counters: Vec<(usize, String)> =
            self.counters.iter().map(|(part, name)| (pid_of(part), quote(name))).collect();
        for step in &self.steps {
            let ((pid, name), at) = (&counters[step.counter as usize], step.at.ps());
            write!(
                out,
                "{comma}\n{{\"ph\":\"C\",\"name\":{name},\"pid\":{pid},\"ts\":{}.{:06},\"args\":{{\"value\":{}}}}}",
                at / 1_000_000,
                at % 1_000_000,
                step.value
            )?;
        }
        writeln!(out, "\n]}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_json_with_every_track_named() {
        let mut t = Timeline::new(2);
        let die = t.add_track("flash", "die \"0\"");
        let bus = t.add_track("link", "downstream");
        t.span(die, "read", Time::from_ns(1), Time::from_us(75));
        t.span(bus, "data", Time::from_us(75), Time::from_us(76));
        t.span(bus, "data", Time::from_us(76), Time::from_us(77));
        let queue = t.add_counter("flash", "queue of die 0");
        t.count(queue, Time::from_ns(1), 3);
        let mut out = Vec::new();
        t.write(&mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 4 + 2 + 1);
        assert_eq!(events[2]["args"]["name"], "die \"0\"");
        assert_eq!(events[6]["args"]["value"], 3);
        assert_eq!(events[6]["pid"], events[2]["pid"]);
        assert_eq!(events[4]["ts"], 0.001);
        assert_eq!(json["otherData"]["spans_left_out"], 1);
    }

    #[test]
    fn spans_and_steps_beyond_the_limit_are_only_counted() {
        let mut t = Timeline::new(2);
        let (die, queue) = (t.add_track("flash", "die"), t.add_counter("flash", "queue"));
        for at in [1, 2] {
            t.span(die, "read", Time::from_us(at), Time::from_us(at));
            t.count(queue, Time::from_us(at), 1);
        }
        assert_eq!((t.spans.len(), t.steps.len(), t.left_out()), (2, 2, 0));
        t.span(die, "read", Time::from_us(3), Time::from_us(3));
        t.count(queue, Time::from_us(3), 1);
        assert_eq!((t.spans.len(), t.steps.len(), t.left_out()), (2, 2, 2));
    }
}
