//! Measurements of a run without its warm-up, per job and per group.

use sim::Time;
use workload::JobInfo;

use crate::results::fio_json::Issued;
use crate::run::failed::{FailedJob, errno};
use crate::run::record::{Direction, Point, Recorder, Totals};

/// Measurements of a run on any kind of machine.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The requests that ended. Requests before a user-defined warm-up cut are in `before`.
    pub recorder: &'a Recorder,
    /// The requests that ended before a user-defined warm-up cut.
    pub before: Option<&'a Recorder>,
    /// The jobs, in the recorder's order.
    pub jobs: &'a [JobInfo],
    /// End of the last request.
    pub end: Time,
    /// End of the warm-up, which the statistics leave out.
    pub warm_up: Time,
    /// Counts of the player that issued the requests, if there was one.
    pub issued: Option<&'a Issued>,
    /// Jobs ended by an error.
    pub failed: &'a [FailedJob],
}

/// Jobs that are reported together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name shared by all jobs of the group, like clones made by `numjobs`; `None` for different jobs that run
    /// together.
    pub name: Option<String>,
    /// Number of the group of jobs that run together, between two stonewalls.
    pub number: u32,
    /// Numbers of the group's jobs.
    pub jobs: Vec<usize>,
}

impl<'a> Measured<'a> {
    /// Creates measurements; the warm-up is in the same recorder.
    pub fn new(recorder: &'a Recorder, jobs: &'a [JobInfo], end: Time, warm_up: Time) -> Measured<'a> {
        Measured { recorder, before: None, jobs, end, warm_up, issued: None, failed: &[] }
    }

    /// Returns the recorder for `job` and the start of its measured part. A job that ends within the warm-up is
    /// measured as a whole.
    fn part(&self, job: usize) -> (&'a Recorder, Time) {
        match self.before {
            Some(before) if self.recorder.extent(job).is_none() => (before, Time::ZERO),
            _ if self.recorder.extent(job).is_none_or(|(_, last)| last <= self.warm_up) => (self.recorder, Time::ZERO),
            _ => (self.recorder, self.warm_up),
        }
    }

    /// Returns true if `job` ended within the warm-up and is therefore measured as a whole.
    pub fn ended_in_warm_up(&self, job: usize) -> bool {
        let of = |recorder: Option<&Recorder>| recorder.and_then(|recorder| recorder.extent(job));
        self.warm_up > Time::ZERO
            && match of(Some(self.recorder)) {
                Some((_, last)) => last <= self.warm_up,
                None => of(self.before).is_some(),
            }
    }

    /// Returns the totals of `job` in `direction`.
    pub fn totals(&self, job: usize, direction: Direction) -> Totals {
        self.group_totals(&[job], direction)
    }

    /// Returns the totals of `jobs` in `direction`, the sum over the jobs.
    pub fn group_totals(&self, jobs: &[usize], direction: Direction) -> Totals {
        let mut totals = Totals::default();
        for job in jobs {
            let (recorder, from) = self.part(*job);
            recorder.add_totals(*job, direction, from, &mut totals);
        }
        totals
    }

    /// Returns the bytes of `job` in `direction`.
    pub fn bytes(&self, job: usize, direction: Direction) -> u64 {
        let (recorder, from) = self.part(job);
        recorder.bytes(job, direction, from)
    }

    /// Returns the time from the first measured request of `jobs` to the end of the last.
    pub fn runtime(&self, jobs: &[usize]) -> Time {
        let extents = jobs.iter().filter_map(|job| {
            let (recorder, from) = self.part(*job);
            recorder.extent(*job).map(|(first, last)| (first.max(from), last))
        });
        let (first, last) = extents.fold((Time::MAX, Time::ZERO), |(a, b), (first, last)| (a.min(first), b.max(last)));
        last.saturating_sub(first)
    }

    /// Returns the whole measured intervals of `job` in `direction`, from the first with a request to the last.
    pub fn points(&self, job: usize, direction: Direction) -> Vec<Point> {
        let (recorder, from) = self.part(job);
        let mut all = recorder.job_points(job, direction);
        all.pop();
        let mut all: Vec<Point> = all.into_iter().filter(|p| p.at > from).skip_while(|p| p.ios == 0).collect();
        all.truncate(all.iter().rposition(|p| p.ios > 0).map_or(0, |last| last + 1));
        all
    }

    /// Returns the status of the first request of `job` that failed, warm-up included.
    pub fn first_error(&self, job: usize) -> Option<media::Status> {
        self.before.and_then(|before| before.first_error(job)).or_else(|| self.recorder.first_error(job))
    }

    /// Returns the Linux error number of `job`: that of the error that ended it, or else of its first failed request; 0
    /// without errors.
    pub(crate) fn errno(&self, job: usize) -> u32 {
        let ended = self.failed.iter().find(|failed| usize::from(failed.job) == job);
        ended.map_or_else(|| errno(self.first_error(job)), FailedJob::errno)
    }

    /// Returns the groups of several jobs: clones of one job, and all jobs that run together.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut add = |name: Option<&str>, number: u32, job: usize| match groups
            .iter_mut()
            .find(|g| g.number == number && g.name.as_deref() == name)
        {
            Some(group) => group.jobs.push(job),
            None => groups.push(Group { name: name.map(str::to_owned), number, jobs: vec![job] }),
        };
        for (job, info) in self.jobs.iter().enumerate() {
            add(Some(&info.name), info.group, job);
        }
        for (job, info) in self.jobs.iter().enumerate() {
            add(None, info.group, job);
        }
        groups.retain(|group| group.jobs.len() > 1);
        // If all jobs that run together are clones of one job, the clones' group already covers them.
        let clones: Vec<(u32, usize)> =
            groups.iter().filter(|g| g.name.is_some()).map(|g| (g.number, g.jobs.len())).collect();
        groups.retain(|g| g.name.is_some() || !clones.contains(&(g.number, g.jobs.len())));
        groups
    }
}
