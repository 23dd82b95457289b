//! The drives of a run: one, or several equal ones under one clock that share the host's cores.

use std::ops::Range;

use ftl::Headroom;
use media::{Op, Request};
use sim::{Streams, Time};

use crate::machine::{Completion, Machine};
use crate::results::counters::{Counters, Other};
use crate::trace::Traced;

/// The further drives of a run, next to its first. Offsets count through all of them.
pub(super) struct Several {
    others: Vec<Machine>,
    /// Bytes of a drive.
    capacity: u64,
    /// The drive of each request by its number, and that of each job's latest request.
    drives: Vec<u16>,
    latest: Vec<u16>,
    /// The drive whose driver has the processor's cores.
    holder: usize,
}

impl Several {
    /// Creates the further drives of a run. `latest`: the drive of each job.
    ///
    /// # Errors
    /// If the host of such drives has no cores that drivers share.
    pub fn new(
        first: &mut Machine,
        mut others: Vec<Machine>,
        capacity: u64,
        latest: Vec<u16>,
    ) -> Result<Several, &'static str> {
        for other in &mut others {
            if !first.swap_cores(other) {
                return Err("drives that share no cores of a host, expected NVMe, SATA or UFS drives");
            }
            first.swap_cores(other);
        }
        Ok(Several { others, capacity, drives: Vec::new(), latest, holder: 0 })
    }

    /// Returns the further drives, once the first has the cores.
    pub fn into_others(mut self, first: &mut Machine) -> Vec<Machine> {
        self.hand_cores(first, 0);
        self.others
    }

    /// Gives the cores to the driver of a drive, before anything happens there.
    fn hand_cores(&mut self, first: &mut Machine, drive: usize) {
        if drive == self.holder {
            return;
        }
        for number in [self.holder, drive] {
            if let Some(other) = number.checked_sub(1) {
                first.swap_cores(&mut self.others[other]);
            }
        }
        self.holder = drive;
    }

    fn machine<'a>(&'a mut self, first: &'a mut Machine, drive: usize) -> &'a mut Machine {
        match drive.checked_sub(1) {
            None => first,
            Some(other) => &mut self.others[other],
        }
    }

    /// Returns the drive whose event is next, its time, and the time of the next event of any other.
    fn next(&self, first: &Machine) -> Option<(usize, Time, Time)> {
        let mut found: Option<(usize, Time)> = None;
        let mut other = Time::MAX;
        for (drive, machine) in std::iter::once(first).chain(&self.others).enumerate() {
            let Some(at) = machine.next_event() else { continue };
            match found {
                Some((_, first)) if first <= at => other = other.min(at),
                _ => {
                    other = found.map_or(other, |(_, first)| first);
                    found = Some((drive, at));
                }
            }
        }
        found.map(|(drive, at)| (drive, at, other))
    }

    /// Submits a request to its drive, like [`Machine::submit`].
    pub fn submit(&mut self, first: &mut Machine, now: Time, io: u32, job: u16, request: Request) {
        let drive = match request.op {
            // A flush has no offset: it follows the job's latest request.
            Op::Flush => self.latest[job as usize],
            _ => (request.offset / self.capacity) as u16,
        };
        let offset = if request.op == Op::Flush { 0 } else { request.offset % self.capacity };
        if self.drives.len() <= io as usize {
            self.drives.resize(io as usize + 1, 0);
        }
        (self.drives[io as usize], self.latest[job as usize]) = (drive, drive);
        self.hand_cores(first, usize::from(drive));
        self.machine(first, usize::from(drive)).submit(now, io, job, Request { offset, ..request });
    }

    /// Handles events up to `until` or the first completion, like [`Machine::advance`]. Returns the time of the completion.
    pub fn advance(&mut self, first: &mut Machine, until: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        while let Some((drive, at, other)) = self.next(first) {
            if at > until {
                break;
            }
            self.hand_cores(first, drive);
            let machine = self.machine(first, drive);
            if machine.advance(until.min(other), completions) {
                return Some(machine.now());
            }
        }
        None
    }

    /// Returns the counters of all drives.
    pub fn counters(&mut self, first: &mut Machine, at: Time, requests: u64) -> Counters {
        self.hand_cores(first, 0);
        read(first, self.others.iter(), at, requests)
    }

    /// Returns where the time of a completed request went, if a trace is kept.
    pub fn traced<'a>(&'a mut self, first: &'a mut Machine, at: Time, io: u32) -> Option<Traced<'a>> {
        let drive = usize::from(self.drives[io as usize]);
        self.machine(first, drive).traced(at, io)
    }
}

/// A further drive of a run that has ended.
pub struct OtherDrive {
    /// Its name.
    pub name: String,
    /// The machine at the end of the run. The host's cores are those of the first drive.
    pub machine: Machine,
    /// Headroom at the start of the statistics.
    pub headroom: Headroom,
}

/// Returns the other drives of a run: their `machines`, their headroom at the start of the run, and the counters at the start
/// of the statistics, if that is later.
pub(super) fn others(
    names: &[String],
    machines: Vec<Machine>,
    start: &[Headroom],
    begin: Option<&Counters>,
) -> Vec<OtherDrive> {
    let headroom = |at: usize| begin.map_or(start[at], |begin| begin.others[at].headroom);
    let pairs = names.iter().skip(1).zip(machines).enumerate();
    pairs.map(|(at, (name, machine))| OtherDrive { name: name.clone(), machine, headroom: headroom(at) }).collect()
}

/// Returns the random streams of a drive: those of the run for the first, and others for each further one, whose bad blocks and
/// failures are its own.
pub(super) fn streams(seed: u64, drive: u16) -> Streams {
    Streams::new(seed ^ (u64::from(drive) << 48))
}

/// Returns the part of ranges over all drives that lies on one.
pub(super) fn part_of(ranges: &[Range<u64>], drive: u16, capacity: u64) -> Vec<Range<u64>> {
    let start = u64::from(drive) * capacity;
    let on = |range: &&Range<u64>| (start..start + capacity).contains(&range.start);
    ranges.iter().filter(on).map(|range| range.start - start..range.end - start).collect()
}

/// Reads the counters of all drives.
pub(crate) fn read<'a>(
    first: &Machine,
    others: impl Iterator<Item = &'a Machine>,
    at: Time,
    requests: u64,
) -> Counters {
    let other = |machine: &Machine| Other {
        counters: Counters::read(machine, at.max(machine.now()), requests),
        headroom: machine.ftl().headroom(),
    };
    Counters { others: others.map(other).collect(), ..Counters::read(first, at, requests) }
}
