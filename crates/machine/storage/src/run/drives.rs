//! The drives of a run: one, or several equal ones under one clock that share the host's cores.

use std::ops::Range;

use ftl::Headroom;
use media::{Op, Request};
use sim::{Streams, Time};

use crate::machine::{Completion, Machine};
use crate::results::counters::{Counters, Other};
use crate::trace::Traced;

/// The machines that serve the requests of a run.
pub(super) trait Drives {
    /// Submits a request, like [`Machine::submit`].
    fn submit(&mut self, now: Time, io: u32, job: u16, request: Request);
    /// Handles events up to `until` or the first completion, like [`Machine::advance`].
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool;
    /// Returns the time of the last event.
    fn now(&self) -> Time;
    /// Returns the first drive.
    fn first(&self) -> &Machine;
    /// Returns the counters of the first drive, and with them those of the others.
    fn counters(&mut self, at: Time, requests: u64) -> Counters;
    /// Returns where the time of a completed request went, if a trace is kept.
    fn traced(&mut self, at: Time, io: u32) -> Option<Traced>;
}

impl Drives for Machine {
    #[inline]
    fn submit(&mut self, now: Time, io: u32, job: u16, request: Request) {
        Machine::submit(self, now, io, job, request);
    }

    #[inline]
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        Machine::advance(self, until, completions)
    }

    #[inline]
    fn now(&self) -> Time {
        Machine::now(self)
    }

    fn first(&self) -> &Machine {
        self
    }

    fn counters(&mut self, at: Time, requests: u64) -> Counters {
        Counters::read(self, at, requests)
    }

    fn traced(&mut self, at: Time, io: u32) -> Option<Traced> {
        Machine::traced(self, at, io)
    }
}

/// Several equal drives. Offsets count through all of them.
pub(super) struct Several {
    machines: Vec<Machine>,
    /// Bytes of a drive.
    capacity: u64,
    /// The drive of each request by its number, and that of each job's latest request.
    drives: Vec<u16>,
    latest: Vec<u16>,
    /// The drive whose driver has the processor's cores.
    holder: usize,
    now: Time,
}

impl Several {
    /// Creates the drives of a run of `jobs` jobs.
    ///
    /// # Errors
    /// If the host of such drives has no cores that drivers share.
    pub fn new(mut machines: Vec<Machine>, capacity: u64, places: &[u16]) -> Result<Several, &'static str> {
        let [first, second, ..] = &mut machines[..] else { return Err("fewer than two drives") };
        if !first.swap_cores(second) {
            return Err("drives that share no cores of a host, expected NVMe, SATA or UFS drives");
        }
        first.swap_cores(second);
        let latest = places.to_vec();
        Ok(Several { machines, capacity, drives: Vec::new(), latest, holder: 0, now: Time::ZERO })
    }

    /// Returns the drives, the first of which has the cores.
    pub fn into_machines(mut self) -> Vec<Machine> {
        self.hand_cores(0);
        self.machines
    }

    /// Gives the cores to the driver of a drive, before anything happens there.
    fn hand_cores(&mut self, drive: usize) {
        if drive == self.holder {
            return;
        }
        let (low, high) = (drive.min(self.holder), drive.max(self.holder));
        let (head, tail) = self.machines.split_at_mut(high);
        head[low].swap_cores(&mut tail[0]);
        self.holder = drive;
    }

    /// Returns the drive whose event is next, its time, and the time of the next event of any other.
    fn next(&self) -> Option<(usize, Time, Time)> {
        let mut found: Option<(usize, Time)> = None;
        let mut other = Time::MAX;
        for (drive, machine) in self.machines.iter().enumerate() {
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
}

impl Drives for Several {
    fn submit(&mut self, now: Time, io: u32, job: u16, request: Request) {
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
        self.hand_cores(usize::from(drive));
        self.machines[usize::from(drive)].submit(now, io, job, Request { offset, ..request });
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        while let Some((drive, at, other)) = self.next() {
            if at > until {
                break;
            }
            self.hand_cores(drive);
            if self.machines[drive].advance(until.min(other), completions) {
                self.now = self.machines[drive].now();
                return true;
            }
        }
        false
    }

    fn now(&self) -> Time {
        self.now
    }

    fn first(&self) -> &Machine {
        &self.machines[0]
    }

    fn counters(&mut self, at: Time, requests: u64) -> Counters {
        self.hand_cores(0);
        read(&self.machines[0], self.machines[1..].iter(), at, requests)
    }

    fn traced(&mut self, at: Time, io: u32) -> Option<Traced> {
        let drive = self.drives[io as usize];
        self.machines[usize::from(drive)].traced(at, io)
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
