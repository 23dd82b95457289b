//! Measurements of a run without its warm-up, by job and by group.

use sim::Time;
use workload::JobInfo;

use crate::fio_json::Issued;
use crate::record::{Direction, Point, Recorder, Totals};

/// Measurements of a run, on any kind of machine.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// Requests that ended; those before a warm-up that the user asked to cut are in `before`.
    pub recorder: &'a Recorder,
    /// Requests that ended in a warm-up that the user asked to cut.
    pub before: Option<&'a Recorder>,
    /// The jobs, in the recorder's order.
    pub jobs: &'a [JobInfo],
    /// When the last request ended.
    pub end: Time,
    /// What is cut off the statistics, up to here.
    pub warm_up: Time,
    /// Counts of the player that issued the requests, where there was one.
    pub issued: Option<&'a Issued>,
}

/// Jobs whose totals are of interest together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name that all its jobs share, as clones of `numjobs` do; none for different jobs that run together.
    pub name: Option<String>,
    /// Number of the group of jobs that run together (between two stonewalls).
    pub number: u32,
    /// Its jobs.
    pub jobs: Vec<usize>,
}

impl<'a> Measured<'a> {
    /// Measurements whose warm-up is recorded with the rest.
    pub fn new(recorder: &'a Recorder, jobs: &'a [JobInfo], end: Time, warm_up: Time) -> Measured<'a> {
        Measured { recorder, before: None, jobs, end, warm_up, issued: None }
    }

    /// The recorder and the start of what counts for `job`: a job that ends inside the warm-up counts whole.
    fn part(&self, job: usize) -> (&'a Recorder, Time) {
        match self.before {
            Some(before) if self.recorder.extent(job).is_none() => (before, Time::ZERO),
            _ if self.recorder.extent(job).is_none_or(|(_, last)| last <= self.warm_up) => (self.recorder, Time::ZERO),
            _ => (self.recorder, self.warm_up),
        }
    }

    /// Whether `job` ended inside the warm-up, and so counts whole.
    pub fn ended_in_warm_up(&self, job: usize) -> bool {
        let of = |recorder: Option<&Recorder>| recorder.and_then(|recorder| recorder.extent(job));
        self.warm_up > Time::ZERO
            && match of(Some(self.recorder)) {
                Some((_, last)) => last <= self.warm_up,
                None => of(self.before).is_some(),
            }
    }

    /// Totals of `job` in `direction`.
    pub fn totals(&self, job: usize, direction: Direction) -> Totals {
        self.group_totals(&[job], direction)
    }

    /// Totals of `jobs` in `direction`: the sum of each job's.
    pub fn group_totals(&self, jobs: &[usize], direction: Direction) -> Totals {
        let mut totals = Totals::default();
        for job in jobs {
            let (recorder, from) = self.part(*job);
            recorder.add_totals(*job, direction, from, &mut totals);
        }
        totals
    }

    /// Bytes of `job` in `direction`.
    pub fn bytes(&self, job: usize, direction: Direction) -> u64 {
        let (recorder, from) = self.part(job);
        recorder.bytes(job, direction, from)
    }

    /// Time from the first request of `jobs` that counts to the end of the last.
    pub fn runtime(&self, jobs: &[usize]) -> Time {
        let extents = jobs.iter().filter_map(|job| {
            let (recorder, from) = self.part(*job);
            recorder.extent(*job).map(|(first, last)| (first.max(from), last))
        });
        let (first, last) = extents.fold((Time::MAX, Time::ZERO), |(a, b), (first, last)| (a.min(first), b.max(last)));
        last.saturating_sub(first)
    }

    /// Whole intervals of `job` in `direction` that count, from the first with a request to the last.
    pub fn points(&self, job: usize, direction: Direction) -> Vec<Point> {
        let (recorder, from) = self.part(job);
        let mut all = recorder.job_points(job, direction);
        all.pop();
        let mut all: Vec<Point> = all.into_iter().filter(|p| p.at > from).skip_while(|p| p.ios == 0).collect();
        all.truncate(all.iter().rposition(|p| p.ios > 0).map_or(0, |last| last + 1));
        all
    }

    /// How the first request of `job` that ended badly ended, warm-up included.
    pub fn first_error(&self, job: usize) -> Option<media::Status> {
        self.before.and_then(|before| before.first_error(job)).or_else(|| self.recorder.first_error(job))
    }

    /// Groups with several jobs: clones of one job, and all jobs that run together.
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
        // All that run together are clones of one job: their total is there already.
        let clones: Vec<(u32, usize)> =
            groups.iter().filter(|g| g.name.is_some()).map(|g| (g.number, g.jobs.len())).collect();
        groups.retain(|g| g.name.is_some() || !clones.contains(&(g.number, g.jobs.len())));
        groups
    }
}
