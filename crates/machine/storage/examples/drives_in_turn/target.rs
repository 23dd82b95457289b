//! Drives under one clock, and the jobs that visit them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use media::Status;
use sim::Time;
use storage::Completion;
use storage::counters::Counters;

use crate::drive::Drive;
use crate::jobs::Job;

/// Drives and jobs.
pub struct Target {
    /// The drives.
    pub drives: Vec<Drive>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Time for which each core is busy.
    cores: Vec<Time>,
    /// Time that a core needs for a request: to reap it and to submit the next one.
    core_time: Time,
    /// Submissions to come: time, order, job.
    due: BinaryHeap<Reverse<(Time, u64, u16)>>,
    order: u64,
    /// Start of the measured part.
    from: Time,
}

impl Target {
    /// Creates a target whose jobs start at time zero and are measured from `from` on.
    pub fn new(drives: Vec<Drive>, jobs: Vec<Job>, cores: usize, core_time: Time, from: Time) -> Target {
        let cores = vec![Time::ZERO; cores];
        let mut target = Target { drives, jobs, cores, core_time, due: BinaryHeap::new(), order: 0, from };
        for job in 0..target.jobs.len() {
            for _ in 0..target.jobs[job].depth {
                target.reap(Time::ZERO, job as u16);
            }
        }
        target
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Time) {
        let mut completions: Vec<Completion> = Vec::new();
        loop {
            let submission = self.due.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
            let (drive, event, following) = self.next_event();
            let now = event.min(submission);
            if now >= self.from && self.drives[0].begin.is_none() {
                for each in &mut self.drives {
                    each.begin = Some(Counters::read(&each.machine, self.from, 0));
                }
            }
            if now >= end {
                return;
            }
            // No drive may be ahead of the time at which the counters of all are read.
            let limit = if now < self.from { self.from } else { end };
            if submission <= event {
                self.submit();
            } else if self.drives[drive].machine.advance(following.min(submission).min(limit), &mut completions) {
                completions.drain(..).for_each(|completion| self.complete(drive, completion));
            }
        }
    }

    /// Returns the drive with the next event, the time of that event and that of the next one of another drive.
    fn next_event(&self) -> (usize, Time, Time) {
        let (mut drive, mut first, mut second) = (0, Time::MAX, Time::MAX);
        for (number, each) in self.drives.iter().enumerate() {
            let at = each.machine.next_event().unwrap_or(Time::MAX);
            if at < first {
                (drive, second, first) = (number, first, at);
            } else {
                second = second.min(at);
            }
        }
        (drive, first, second)
    }

    /// Submits the next request that is due.
    fn submit(&mut self) {
        let Reverse((at, _, job)) = self.due.pop().expect("a submission is due");
        let (drive, request) = self.jobs[usize::from(job)].next();
        self.drives[drive].submit(at, job, request);
    }

    fn complete(&mut self, drive: usize, Completion { io, status, at, .. }: Completion) {
        assert!(status == Status::Ok, "request {io} failed");
        let (job, submitted) = self.drives[drive].end(io);
        let reaped = self.reap(at, job);
        if reaped >= self.from {
            self.jobs[usize::from(job)].times.record(reaped - submitted);
        }
    }

    /// Lets a job reap a completion at `now`, or once its core is free, and submit its next request then. Returns the
    /// time of both.
    fn reap(&mut self, now: Time, job: u16) -> Time {
        let at = match self.jobs[usize::from(job)].core {
            Some(core) => {
                let at = now.max(self.cores[core]);
                self.cores[core] = at + self.core_time;
                at
            }
            None => now,
        };
        self.due.push(Reverse((at, self.order, job)));
        self.order += 1;
        at
    }
}
