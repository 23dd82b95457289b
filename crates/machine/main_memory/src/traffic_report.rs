//! The summary of a trace with cycles: queue, rows and commands of the DRAM.

use dram::{BankStats, Channel, Clock};
use media::LINE;
use serde_json::{Map, Value, json};
use sim::Time;
use storage::notes::{Kind, Note, entries};
use system::System;
use workload::memory::Arrivals;

use super::MainMemory;

/// Occupancy of the queue over time.
pub(super) struct Queue {
    limit: u32,
    outstanding: u32,
    most: u32,
    /// Time of the last change, and the sum of outstanding accesses over picoseconds until then.
    changed: Time,
    area: u128,
    /// Time at which the queue was full.
    full: Time,
    /// Accesses that arrived before they could be submitted, and the time they waited.
    delayed: u64,
    delay: Time,
}

impl Queue {
    pub(super) fn new(limit: u32) -> Queue {
        let (changed, full, delay) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Queue { limit, outstanding: 0, most: 0, changed, area: 0, full, delayed: 0, delay }
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Adds an access that arrived at `due`.
    pub(super) fn enter(&mut self, now: Time, due: Time) {
        self.pass(now);
        self.outstanding += 1;
        self.most = self.most.max(self.outstanding);
        self.delayed += u64::from(now > due);
        self.delay += now - due;
    }

    /// Removes an access.
    pub(super) fn leave(&mut self, at: Time) {
        self.pass(at);
        self.outstanding -= 1;
    }

    fn pass(&mut self, now: Time) {
        // A completion may be earlier than an arrival that was seen before it.
        let passed = now.saturating_sub(self.changed);
        self.area += u128::from(passed.ps()) * u128::from(self.outstanding);
        if self.outstanding == self.limit {
            self.full += passed;
        }
        self.changed = self.changed.max(now);
    }

    fn report(&self, end: Time) -> Value {
        let mean = if end > Time::ZERO { self.area as f64 / end.ps() as f64 } else { 0.0 };
        json!({
            "limit": self.limit,
            "mean": mean,
            "max": self.most,
            "full_s": self.full.secs_f64(),
            "delayed": self.delayed,
            "delay_s": self.delay.secs_f64(),
        })
    }
}

/// The results of a run.
pub(super) struct Found<'a> {
    pub(super) arrivals: &'a Arrivals,
    pub(super) clock: Clock,
    pub(super) queue: &'a Queue,
    pub(super) wrapped: u64,
    pub(super) requests: u64,
    pub(super) end: Time,
}

/// Returns the simulator's section of the summary.
pub(super) fn inside(system: &System, memory: &mut MainMemory, found: &Found<'_>) -> Value {
    let Found { arrivals, clock, queue, requests, end, .. } = found;
    let reading = memory.reading(*end);
    let rate = |count: u64| if *end > Time::ZERO { (count * LINE) as f64 / end.secs_f64() } else { 0.0 };
    let energy = json!({ "memory": reading.energy.joules(), "total": reading.energy.joules() });
    let mut whole_run = Map::new();
    whole_run.insert("energy_j".to_owned(), energy.clone());
    whole_run.extend(memory.report(&reading, None));
    let mut traffic = json!({
        "clock_ns": clock.period_ps() / 1e3,
        "cycles": clock.at_or_after(*end),
        "reads": arrivals.reads,
        "writes": arrivals.writes,
        "read_bytes_s": rate(arrivals.reads),
        "write_bytes_s": rate(arrivals.writes),
        "queue": queue.report(*end),
    });
    if let MainMemory::Dram(dram) = &mut *memory {
        let channels = dram.memory().channels();
        traffic["dram"] = rows(channels.flat_map(Channel::bank_stats));
        let banks = dram
            .memory()
            .channels()
            .enumerate()
            .flat_map(|(number, channel)| channel.bank_stats().map(move |stats| bank(number, stats)));
        traffic["banks"] = banks.collect();
        let (mut refreshes, mut same_bank) = (0, 0);
        for rank in dram.activity(*end).iter().flatten() {
            (refreshes, same_bank) = (refreshes + rank.refreshes, same_bank + rank.same_bank_refreshes);
        }
        let sum = |of: &str| traffic["dram"][of].clone();
        let commands = json!({
            "ACT": sum("activates"), "RD": sum("reads"), "WR": sum("writes"), "REF": refreshes, "REFsb": same_bank,
        });
        traffic["commands"] = commands;
    }
    let mut inside = json!({
        "system": system.title,
        "system_hash": system.content_hash(),
        "simulated_s": end.secs_f64(),
        "measured_s": end.secs_f64(),
        "requests": requests,
        "preparation": { "kind": "none", "passes": 0, "write_amplification": null, "approximate": false },
        "warm_up": { "cut_s": 0.0, "rule": "as asked" },
        "window": { "from_s": 0.0, "span_s": end.secs_f64(), "requests": requests },
        "memory": { "bytes": memory.bytes() },
        "energy_j": energy,
        "busy": {},
        "traffic": traffic,
        "notes": entries(&notes(memory.bytes(), found)),
    });
    if let Value::Object(all) = &mut inside {
        all.extend(memory.report(&reading, None));
        all.insert("whole_run".to_owned(), whole_run.into());
    }
    inside
}

/// Returns the sums over banks.
fn rows(banks: impl Iterator<Item = BankStats>) -> Value {
    let mut sum = BankStats::default();
    for bank in banks {
        sum.bursts = [sum.bursts[0] + bank.bursts[0], sum.bursts[1] + bank.bursts[1]];
        sum.activates += bank.activates;
        sum.conflicts += bank.conflicts;
    }
    counted(&sum)
}

fn bank(channel: usize, stats: BankStats) -> Value {
    let mut counted = counted(&stats);
    counted["channel"] = channel.into();
    counted["rank"] = stats.rank.into();
    counted["bank"] = stats.bank.into();
    counted
}

/// A row that is closed for a refresh before its burst is opened twice, so that bursts may be fewer than activates.
fn counted(stats: &BankStats) -> Value {
    let bursts = stats.bursts[0] + stats.bursts[1];
    json!({
        "reads": stats.bursts[0],
        "writes": stats.bursts[1],
        "row_hits": bursts.saturating_sub(stats.activates),
        "row_misses": stats.activates.saturating_sub(stats.conflicts),
        "row_conflicts": stats.conflicts,
        "activates": stats.activates,
    })
}

fn notes(bytes: u64, found: &Found<'_>) -> Vec<Note> {
    let arrivals = found.arrivals;
    let mut texts = vec![match arrivals.relative {
        true => "accesses arrive as many cycles of the memory's clock after the one before ended as the trace says"
            .to_owned(),
        false => "accesses arrive at the trace's cycles of the memory's clock, counted from the first".to_owned(),
    }];
    if found.wrapped > 0 {
        texts.push(format!(
            "{} of {} accesses lie beyond the memory's {} and are taken modulo its size",
            found.wrapped,
            found.requests,
            sim::units::show_size(bytes)
        ));
    }
    if arrivals.reordered > 0 {
        texts.push(format!(
            "{} of {} accesses have earlier cycles than their predecessors, and follow them immediately",
            arrivals.reordered, found.requests
        ));
    }
    let (delayed, full) = (found.queue.delayed, found.queue.full);
    if full > Time::ZERO {
        texts.push(format!(
            "the queue of {} accesses was full for {full}; {delayed} accesses arrived before they were accepted",
            found.queue.limit
        ));
    }
    texts.into_iter().map(|text| Note::new(Kind::Remark, text)).collect()
}
