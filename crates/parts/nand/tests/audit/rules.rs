//! The auditor: the rules of dies, registers and channels, checked against a log of what happened. It knows the
//! configuration, what was asked and when, and nothing of how the array decides.

use std::collections::{BTreeMap, HashMap};

use media::{Class, PlaneMask};
use nand::{Config, Done, LogEntry, OpKind, Policy, Reuse, Step};
use sim::Time;

use crate::support::Asked;

/// Submitted operations with their times, in order.
pub type Submissions = Vec<(Time, Asked)>;

type Span = (Time, Time);

/// One pass of an operation over its die: a read and each of its retries, a program, an erase.
#[derive(Debug)]
struct Pass {
    submission: usize,
    first: bool,
    /// Command or data in.
    start: Span,
    arrays: Vec<Span>,
    out: Option<Span>,
    /// A program whose data were in the cache register when what was in the array was suspended: they come once more.
    dropped: bool,
}

impl Pass {
    fn begin(&self) -> Time {
        self.start.0
    }
    fn array_end(&self) -> Time {
        self.arrays.last().expect("an array time").1
    }
    fn end(&self) -> Time {
        self.out.map_or(self.array_end(), |o| o.1)
    }
}

struct Facts {
    id: u32,
    die: u16,
    planes: PlaneMask,
    kind: OpKind,
    urgent: bool,
}

fn facts(config: &Config, asked: &Asked) -> Facts {
    let reads_first = config.scheduling.policy == Policy::ReadsFirst;
    match asked {
        Asked::Read(op) => Facts {
            id: op.id.0,
            die: op.page.die,
            planes: op.page.planes,
            kind: OpKind::Read,
            urgent: reads_first && op.class != Class::Collection,
        },
        Asked::Program(op) => {
            Facts { id: op.id.0, die: op.page.die, planes: op.page.planes, kind: OpKind::Program, urgent: false }
        }
        Asked::Erase(op) => {
            Facts { id: op.id.0, die: op.block.die, planes: op.block.planes, kind: OpKind::Erase, urgent: false }
        }
    }
}

fn length(span: Span) -> Time {
    span.1 - span.0
}

fn disjoint(what: &str, spans: &mut Vec<Span>) {
    spans.retain(|s| s.0 < s.1);
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{what} does two things at once: {:?} and {:?}", pair[0], pair[1]);
    }
}

/// Checks everything.
pub fn audit(config: &Config, submissions: &Submissions, log: &[LogEntry], done: &[(Time, Done)]) {
    resources_do_one_thing_at_a_time(config, log);
    let passes = passes(config, submissions, log, done);
    let mut dies: BTreeMap<u16, Vec<&Pass>> = BTreeMap::new();
    for pass in &passes {
        dies.entry(facts(config, &submissions[pass.submission].1).die).or_default().push(pass);
    }
    for (die, passes) in &mut dies {
        passes.sort_by_key(|p| (p.begin(), p.array_end(), p.end(), p.submission));
        registers(config, submissions, passes);
        reuse(config, submissions, passes);
        order(config, submissions, passes);
        precedence(config, submissions, passes);
        map_first(config, submissions, passes);
        nobody_waits_for_nothing(config, submissions, passes, &channel_spans(config, log, *die));
    }
    flash_rules(config, submissions, done);
}

fn channel_spans(config: &Config, log: &[LogEntry], die: u16) -> Vec<Span> {
    let channel = config.geometry.channel_of(die);
    let on_it = log.iter().filter(|e| e.step != Step::Array && config.geometry.channel_of(e.die) == channel);
    on_it.map(|e| (e.from, e.to)).collect()
}

fn resources_do_one_thing_at_a_time(config: &Config, log: &[LogEntry]) {
    let mut channels: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    let mut arrays: BTreeMap<u16, Vec<Span>> = BTreeMap::new();
    for e in log {
        match e.step {
            Step::Array => arrays.entry(e.die).or_default().push((e.from, e.to)),
            _ => channels.entry(config.geometry.channel_of(e.die)).or_default().push((e.from, e.to)),
        }
    }
    for (channel, spans) in &mut channels {
        disjoint(&format!("channel {channel}"), spans);
    }
    for (die, spans) in &mut arrays {
        disjoint(&format!("the array of die {die}"), spans);
    }
}

/// Splits the log into passes and checks that each has its steps, in order and of their length.
fn passes(config: &Config, submissions: &Submissions, log: &[LogEntry], done: &[(Time, Done)]) -> Vec<Pass> {
    let mut steps: HashMap<u32, Vec<&LogEntry>> = HashMap::new();
    for e in log {
        steps.entry(e.id.0).or_default().push(e);
    }
    let mut ends: HashMap<u32, Time> = HashMap::new();
    for (at, d) in done {
        assert!(ends.insert(d.id.0, *at).is_none(), "operation {} is done twice", d.id.0);
    }
    assert_eq!(ends.len(), submissions.len(), "operations that ended");
    let (t, s) = (&config.timing, &config.scheduling);
    let mut passes = Vec::new();
    for (index, (submitted, asked)) in submissions.iter().enumerate() {
        let f = facts(config, asked);
        let planes = u64::from(f.planes.count());
        let of_op = steps.remove(&f.id).expect("an operation leaves steps");
        let mut rest = &of_op[..];
        let mut last = *submitted;
        let mut first = true;
        while let Some((start, more)) = rest.split_first() {
            let expected = match f.kind {
                OpKind::Read => (Step::Command, t.read_command * planes),
                OpKind::Program => {
                    let data = Time::of_transfer(u64::from(config.geometry.page_bytes), t.transfers_per_s);
                    (Step::DataIn, (t.program_command + data) * planes)
                }
                OpKind::Erase => (Step::Command, t.erase_command * planes),
            };
            assert_eq!((start.step, start.to - start.from), expected, "start of {asked:?}");
            assert!(start.from >= last, "{asked:?} starts at {} before {last}", start.from);
            let dropped = f.kind == OpKind::Program && more.first().is_some_and(|e| e.step == Step::DataIn);
            if dropped {
                assert!(s.cache_program && s.program_suspend, "data of {asked:?} are dropped");
                let start = (start.from, start.to);
                passes.push(Pass {
                    submission: index,
                    first,
                    start,
                    arrays: vec![(start.1, start.1)],
                    out: None,
                    dropped,
                });
                (rest, first, last) = (more, false, start.1);
                continue;
            }
            let count = more.iter().take_while(|e| e.step == Step::Array).count();
            let arrays: Vec<Span> = more[..count].iter().map(|e| (e.from, e.to)).collect();
            rest = &more[count..];
            let pass = match asked {
                Asked::Read(op) => {
                    let time = t.read[op.page.page as usize % config.cell.bits() as usize];
                    // Whether the register has the page is for the die's passes in order to say.
                    let reused = s.reuse_page == Reuse::Held && first && arrays == [(start.to, start.to)];
                    let [array] = arrays[..] else { panic!("array of {asked:?}: {arrays:?}") };
                    // Whether the array was busy when the command arrived is for the die's passes to say.
                    let follows = s.cache_read && !f.urgent && array.0 > start.to;
                    let timed = length(array) == time && (array.0 == start.to || follows);
                    assert!(reused || timed, "array of {asked:?}: {arrays:?}");
                    let (out, more) = rest.split_first().expect("data leave");
                    rest = more;
                    let whole = op.bytes.next_multiple_of(config.ecc.codeword_bytes);
                    let most = config.geometry.page_bytes * op.page.planes.count();
                    let data = Time::of_transfer(u64::from(whole.min(most)), t.transfers_per_s);
                    assert_eq!((out.step, out.to - out.from), (Step::DataOut, data));
                    assert!(out.from >= arrays[0].1);
                    last = out.to + config.ecc.decode;
                    Pass {
                        submission: index,
                        first,
                        start: (start.from, start.to),
                        arrays,
                        out: Some((out.from, out.to)),
                        dropped,
                    }
                }
                _ => {
                    let (whole, may_suspend) = match asked {
                        Asked::Program(op) => {
                            (t.program[op.page.page as usize % config.cell.bits() as usize], s.program_suspend)
                        }
                        _ => (t.erase, s.erase_suspend),
                    };
                    assert!(arrays.windows(2).all(|w| w[0].1 <= w[1].0), "order of the array times of {asked:?}");
                    let suspensions = arrays.len() as u64 - 1;
                    assert!(suspensions == 0 || (may_suspend && s.policy == Policy::ReadsFirst), "{asked:?} suspended");
                    assert!(suspensions <= u64::from(s.suspensions_max), "{suspensions} suspensions of {asked:?}");
                    let extra = (s.suspend_latency + s.resume_overhead) * suspensions;
                    let total = arrays.iter().fold(Time::ZERO, |sum, a| sum + length(*a));
                    assert_eq!(total, whole + extra, "array time of {asked:?}");
                    if f.kind == OpKind::Program && s.cache_program {
                        assert!(arrays[0].0 >= start.to);
                    } else {
                        assert_eq!(arrays[0].0, start.to, "array after command of {asked:?}");
                    }
                    assert!(rest.is_empty(), "{asked:?} goes on after its array");
                    last = arrays[arrays.len() - 1].1;
                    Pass { submission: index, first, start: (start.from, start.to), arrays, out: None, dropped }
                }
            };
            passes.push(pass);
            first = false;
        }
        assert_eq!(ends[&f.id], last, "end of {asked:?}");
    }
    assert!(steps.is_empty(), "steps of nobody: {steps:?}");
    passes
}

/// Checks that the registers of a die are used by one operation at a time, as far as they must be.
fn registers(config: &Config, submissions: &Submissions, passes: &[&Pass]) {
    let kind = |p: &Pass| facts(config, &submissions[p.submission].1).kind;
    let overlap = |a: Span, b: Span| a.0 < b.1 && b.0 < a.1;
    let reads: Vec<&&Pass> = passes.iter().filter(|p| kind(p) == OpKind::Read).collect();
    for (i, read) in reads.iter().enumerate() {
        let whole = (read.begin(), read.end());
        for other in passes.iter().filter(|p| kind(p) != OpKind::Read) {
            assert!(!overlap(whole, other.start), "{other:?} starts while a read has the registers: {read:?}");
            let busy = other.arrays.iter().any(|a| overlap(whole, *a));
            assert!(!busy, "{other:?} has the array while a read has the registers: {read:?}");
        }
        if let Some(next) = reads.get(i + 1) {
            if config.scheduling.cache_read {
                let before = i.checked_sub(1).map(|before| reads[before]);
                let ahead = next.begin() < read.array_end();
                assert!(
                    !ahead || may_follow(config, submissions, before, read, next),
                    "{next:?} starts during {read:?}"
                );
                let free = next.start.1.max(if ahead { read.array_end() } else { Time::ZERO });
                assert_eq!(next.arrays[0].0, free, "{next:?} after {read:?}");
            } else {
                assert!(next.begin() >= read.end(), "{next:?} starts while data are in the register: {read:?}");
            }
        }
        if let Some(after) = reads.get(i + 2) {
            assert!(after.begin() >= read.end(), "{after:?} starts with both registers full: {read:?}");
        }
    }
    let dropped = passes.iter().filter(|p| p.dropped);
    let writes: Vec<&&Pass> = passes.iter().filter(|p| kind(p) != OpKind::Read && !p.dropped).collect();
    for pass in dropped {
        let paused = |w: &&&Pass| w.arrays.windows(2).any(|a| w.start.0 < pass.start.0 && a[0].1 >= pass.start.1);
        assert!(writes.iter().any(paused), "{pass:?} is dropped, but nothing is suspended");
    }
    for (i, write) in writes.iter().enumerate() {
        for pause in write.arrays.windows(2) {
            let read = reads.iter().any(|r| r.begin() >= pause[0].1 && r.end() <= pause[1].0);
            assert!(read, "{write:?} is suspended for nothing");
            let other = passes.iter().find(|p| {
                !facts(config, &submissions[p.submission].1).urgent
                    && p.submission != write.submission
                    && p.begin() >= pause[0].1
                    && p.begin() < pause[1].0
            });
            assert!(other.is_none(), "{other:?} starts while {write:?} is suspended");
        }
        if let Some(next) = writes.get(i + 1) {
            let cached =
                config.scheduling.cache_program && kind(write) == OpKind::Program && kind(next) == OpKind::Program;
            if cached {
                assert!(next.arrays[0].0 >= write.array_end());
                assert!(next.begin() >= write.start.1, "{next:?} loads while {write:?} does");
                let suspended_then = write.arrays.windows(2).any(|w| overlap((w[0].1, w[1].0), next.start));
                assert!(!suspended_then, "{next:?} loads while {write:?} is suspended");
            } else {
                assert!(next.begin() >= write.array_end(), "{next:?} starts before the end of {write:?}");
            }
        }
        if let Some(after) = writes.get(i + 2) {
            assert!(after.begin() >= write.array_end(), "{after:?} loads with the register full: {write:?}");
        }
    }
}

/// Returns whether the command of `next` may arrive while the array reads for `read`: both are cache reads in a sequence,
/// and the data of the one before have left the cache register.
fn may_follow(config: &Config, submissions: &Submissions, before: Option<&&Pass>, read: &Pass, next: &Pass) -> bool {
    let in_sequence = before.is_some_and(|b| read.arrays[0].0 <= b.end() && b.end() <= next.begin());
    in_sequence && !facts(config, &submissions[next.submission].1).urgent
}

/// A page is sensed unless the register has it: unless the die read it last, and nothing else since.
fn reuse(config: &Config, submissions: &Submissions, passes: &[&Pass]) {
    let page = |p: &Pass| match &submissions[p.submission].1 {
        Asked::Read(op) => Some((op.page.planes.0, op.page.block, op.page.page)),
        _ => None,
    };
    let mut held = None;
    let resumes = |from: Time, to: Time| passes.iter().any(|p| p.arrays[1..].iter().any(|a| from <= a.0 && a.0 <= to));
    let mut last = Time::ZERO;
    for pass in passes {
        let wanted = page(pass);
        if wanted.is_some() {
            let has = config.scheduling.reuse_page == Reuse::Held
                && pass.first
                && held == wanted
                && !resumes(last, pass.begin());
            assert_eq!(pass.arrays[0].0 == pass.arrays[0].1, has, "{pass:?} with {held:?} in the register");
        }
        (held, last) = (wanted, pass.begin());
    }
}

/// Who may not overtake whom.
fn order(config: &Config, submissions: &Submissions, passes: &[&Pass]) {
    let starts = |which: &dyn Fn(&Facts) -> bool| -> Vec<usize> {
        let of = |p: &&&Pass| p.first && which(&facts(config, &submissions[p.submission].1));
        passes.iter().filter(of).map(|p| p.submission).collect()
    };
    let ascends = |what: &str, list: Vec<usize>| {
        assert!(list.windows(2).all(|w| w[0] < w[1]), "{what} out of order: {list:?}");
    };
    ascends("what is not urgent", starts(&|f| !f.urgent));
    let class = |class| move |f: &Facts| matches!(&submissions[f.id as usize].1, Asked::Read(op) if op.class == class);
    ascends("host reads", starts(&|f| f.urgent && class(Class::Host)(f)));
    ascends("map reads", starts(&|f| f.urgent && class(Class::Map)(f)));
}

/// Checks that a waiting urgent read of the map goes first, but overtakes a host read only a limited number of times.
fn map_first(config: &Config, submissions: &Submissions, passes: &[&Pass]) {
    if config.scheduling.policy == Policy::Fifo {
        return;
    }
    let of = |wanted: Class| -> Vec<&Pass> {
        let is = |p: &&&Pass| matches!(&submissions[p.submission].1, Asked::Read(op) if op.class == wanted);
        passes.iter().filter(is).copied().collect()
    };
    let (host, map, max) = (of(Class::Host), of(Class::Map), config.scheduling.overtakes_max);
    for read in host.iter().filter(|p| p.first) {
        let (asked, begin) = (submissions[read.submission].0, read.begin());
        let turn = host.iter().map(|p| p.begin()).filter(|at| *at < begin).max().unwrap_or(Time::ZERO);
        let before = || map.iter().map(|p| p.begin()).filter(|at| *at < begin);
        let certainly = before().filter(|at| *at > turn.max(asked)).count() as u32;
        assert!(certainly <= max, "{certainly} reads of the map have gone ahead of {read:?}");
        let waits = map.iter().any(|p| p.first && submissions[p.submission].0 < begin && p.begin() > begin);
        let possibly = before().filter(|at| *at >= turn).count() as u32;
        assert!(!waits || possibly >= max, "{read:?} goes ahead of a read of the map");
    }
}

/// Urgent reads go first, but not for ever.
fn precedence(config: &Config, submissions: &Submissions, passes: &[&Pass]) {
    if config.scheduling.policy == Policy::Fifo {
        return;
    }
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum What {
        WriteEnds,
        RestStarts(usize),
        UrgentStarts,
    }
    let max = config.scheduling.overtakes_max;
    let mut timeline: Vec<(Time, What, usize)> = Vec::new();
    for (number, p) in passes.iter().enumerate() {
        let f = facts(config, &submissions[p.submission].1);
        let start = if f.urgent { What::UrgentStarts } else { What::RestStarts(p.submission) };
        timeline.push((p.begin(), start, number));
        if f.kind != OpKind::Read {
            timeline.push((p.array_end(), What::WriteEnds, number));
            // A resumption is a turn of the rest, too.
            timeline.extend(p.arrays[1..].iter().map(|a| (a.0, What::RestStarts(p.submission), number)));
        }
    }
    timeline.sort_unstable();
    // Reads that certainly, and that possibly, went ahead of something waiting since the last turn of the rest.
    let (mut certainly, mut possibly) = (0, 0);
    for &(at, what, number) in &timeline {
        match what {
            What::WriteEnds => (certainly, possibly) = (0, 0),
            What::UrgentStarts => {
                let waits = |strictly: bool| {
                    passes.iter().any(|p| {
                        let f = facts(config, &submissions[p.submission].1);
                        let asked = submissions[p.submission].0;
                        let asked = if strictly { asked < at } else { asked <= at };
                        let suspended = f.kind != OpKind::Read && p.begin() < at && p.array_end() > at;
                        !f.urgent && (suspended || (p.first && asked && p.begin() >= at))
                    })
                };
                certainly += u32::from(waits(true));
                // A collection read that goes again waits, too, from a moment the log does not tell.
                possibly += 1;
                assert!(certainly <= max, "{certainly} reads have gone ahead at {at}");
            }
            What::RestStarts(_) => {
                let urgent_waits = passes.iter().any(|p| {
                    let urgent = facts(config, &submissions[p.submission].1).urgent;
                    urgent && p.first && submissions[p.submission].0 < at && p.begin() > at
                });
                let resumes = passes[number].begin() != at;
                assert!(!urgent_waits || possibly >= max, "the rest goes before a read that waits at {at}");
                if !resumes {
                    (certainly, possibly) = (0, 0);
                }
            }
        }
    }
}

/// From being asked to its start, an operation finds its channel or its die at work all the time.
fn nobody_waits_for_nothing(config: &Config, submissions: &Submissions, passes: &[&Pass], channel: &[Span]) {
    let mut busy: Vec<Span> = channel.to_vec();
    for p in passes {
        match facts(config, &submissions[p.submission].1).kind {
            OpKind::Read => busy.push((p.begin(), p.end())),
            _ => busy.extend(p.arrays.iter().copied().chain([p.start])),
        }
    }
    busy.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for span in busy {
        match merged.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => merged.push(span),
        }
    }
    for p in passes.iter().filter(|p| p.first) {
        let (asked, begun) = (submissions[p.submission].0, p.begin());
        let covered = asked == begun || merged.iter().any(|m| m.0 <= asked && begun <= m.1);
        assert!(covered, "{:?} waits until {begun} while die and channel are idle", submissions[p.submission]);
    }
}

/// Erase before program, and pages in order.
fn flash_rules(config: &Config, submissions: &Submissions, done: &[(Time, Done)]) {
    let mut next: HashMap<(u16, u32, u32), u32> = HashMap::new();
    for (_, d) in done {
        match &submissions[d.id.0 as usize].1 {
            Asked::Read(_) => {}
            Asked::Program(op) => {
                for plane in op.page.planes.iter() {
                    let page = next.entry((op.page.die, plane, op.page.block)).or_default();
                    assert_eq!(*page, op.page.page, "programming order of {op:?}");
                    assert!(*page < config.geometry.pages);
                    *page += 1;
                }
            }
            Asked::Erase(op) => {
                for plane in op.block.planes.iter() {
                    next.insert((op.block.die, plane, op.block.block), 0);
                }
            }
        }
    }
}
