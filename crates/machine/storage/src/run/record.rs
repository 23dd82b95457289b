//! The measurements of a run: latencies, throughput over time and errors.
//!
//! Latencies are kept per window of simulated time, so that a warm-up can be cut off afterwards. There are at most 64
//! windows; when they run out, pairs are merged.

use media::{Op, Status};
use sim::{Compact, Dense, Histogram, Time, rarely};

/// Maximum number of windows. When all are used, they are merged in pairs and each is twice as long.
const WINDOWS: usize = 64;
const FIRST_WINDOW: Time = Time::from_ms(1);

/// Class of a job's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Flushes.
    Sync,
}

impl Direction {
    /// All directions.
    pub const ALL: [Direction; 4] = [Direction::Read, Direction::Write, Direction::Trim, Direction::Sync];

    /// Returns the direction of a request.
    #[inline]
    pub const fn of(op: Op) -> Direction {
        match op {
            Op::Read => Direction::Read,
            Op::Write | Op::Append => Direction::Write,
            Op::Trim => Direction::Trim,
            Op::Flush => Direction::Sync,
            // Zone management ends like a trim: without data, for a range.
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => Direction::Trim,
        }
    }
}

const DIRECTIONS: usize = Direction::ALL.len();

/// Latencies of requests: submission, completion, and the total including the wait before submission.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// From the request's issue to the doorbell.
    pub submission: Histogram,
    /// From the doorbell to the notification of the program.
    pub completion: Histogram,
    /// From the request's arrival to the notification of the program.
    pub total: Histogram,
}

/// Requests that ended in one window.
#[derive(Clone, Debug, Default)]
struct Window {
    ios: u64,
    bytes: u64,
    errors: u64,
    submission: Compact,
    completion: Compact,
    /// `None` if all total latencies equal the completion latencies.
    total: Option<Compact>,
}

impl Window {
    fn total(&self) -> &Compact {
        self.total.as_ref().unwrap_or(&self.completion)
    }

    fn merge(&mut self, other: &Window) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.submission.merge(&other.submission);
        if self.total.is_some() || other.total.is_some() {
            let mut total = self.total().clone();
            total.merge(other.total());
            self.total = Some(total);
        }
        self.completion.merge(&other.completion);
    }
}

/// The requests of a job in one direction: closed windows and the open one.
#[derive(Clone, Debug, Default)]
struct Series {
    windows: Vec<Window>,
    bytes: u64,
    errors: u64,
    /// The total stays empty while it would equal the completion latencies, that is, while no request has waited to be
    /// submitted and submission takes no time. Requests submitted in no time are not in the submission histogram.
    latencies: Latencies,
    apart: bool,
    /// Issue time of the first request that has ended, and end of the last.
    first: Time,
    last: Time,
}

impl Series {
    #[inline]
    fn record(&mut self, io: &Ended) {
        if io.issued < self.first {
            self.first = io.issued;
        }
        self.last = io.at;
        self.bytes += io.bytes;
        let latencies = &mut self.latencies;
        if io.due != io.submitted && !self.apart {
            self.apart = true;
            latencies.total = latencies.completion.clone();
        }
        if io.submitted != io.issued {
            latencies.submission.record(io.submitted - io.issued);
        }
        latencies.completion.record(io.at - io.submitted);
        if self.apart {
            latencies.total.record(io.at - io.due);
        }
    }

    /// Closes the open window, whose number is `index`.
    fn end(&mut self, index: usize) {
        let latencies = &mut self.latencies;
        let ios = latencies.completion.count();
        if ios == 0 && self.errors == 0 {
            return;
        }
        latencies.submission.record_zeros(ios - latencies.submission.count());
        self.windows.resize_with(index, Window::default);
        self.windows.push(Window {
            ios,
            bytes: std::mem::take(&mut self.bytes),
            errors: std::mem::take(&mut self.errors),
            submission: latencies.submission.take(),
            completion: latencies.completion.take(),
            total: self.apart.then(|| latencies.total.take()),
        });
    }
}

/// Totals of a job in one direction, without the warm-up.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Requests that succeeded.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Latencies of the requests that succeeded.
    pub latencies: Latencies,
}

/// Requests by total latency: pairs of [`Compact::quarter_octaves`].
pub type Quarters = Vec<(u64, u64)>;

/// A point of throughput over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// End of the window.
    pub at: Time,
    /// Its length.
    pub span: Time,
    /// Requests that ended in it.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Mean latency in ns; 0 without requests.
    pub mean_ns: f64,
    /// Median latency in ns; 0 without requests.
    pub p50_ns: u64,
    /// 99th percentile of latency in ns; 0 without requests.
    pub p99_ns: u64,
    /// Maximum latency in ns; 0 without requests.
    pub max_ns: u64,
}

/// Records the requests of a run.
#[derive(Clone)]
pub struct Recorder {
    /// One series per job and direction.
    series: Dense<Series>,
    /// Status of each job's first failed request.
    first_errors: Vec<Option<Status>>,
    /// Start of the first window.
    origin: Time,
    window: Time,
    /// Number of the open window, and its end.
    index: usize,
    ends: Time,
    /// Number of windows up to the last that is not empty.
    used: usize,
    /// Every request, if a log is kept.
    log: Option<Vec<Ended>>,
}

impl Recorder {
    /// Creates a recorder for `jobs` jobs.
    pub fn new(jobs: usize) -> Recorder {
        Recorder {
            series: Dense::new(vec![Series { first: Time::MAX, ..Series::default() }; jobs * DIRECTIONS]),
            first_errors: vec![None; jobs],
            origin: Time::ZERO,
            window: FIRST_WINDOW,
            index: 0,
            ends: FIRST_WINDOW,
            used: 0,
            log: None,
        }
    }

    /// Keeps a log of every request from now on. It grows without bound.
    pub fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Returns whether a log is kept.
    pub fn keeps_log(&self) -> bool {
        self.log.is_some()
    }

    /// Returns the requests that have ended, in order; empty if no log is kept.
    pub fn log(&self) -> &[Ended] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Creates a recorder for `jobs` jobs whose first window begins at `origin`.
    pub fn beginning(jobs: usize, origin: Time) -> Recorder {
        Recorder { origin, ends: origin + FIRST_WINDOW, ..Recorder::new(jobs) }
    }

    /// Records a request that has ended.
    #[inline]
    pub fn ended(&mut self, io: &Ended) {
        if io.at >= self.ends {
            let now = io.at;
            rarely(self, move |it| it.advance(now));
        }
        if let Some(log) = &mut self.log {
            log.push(*io);
        }
        let series = &mut self.series[io.job as usize * DIRECTIONS + Direction::of(io.op) as usize];
        if io.status.is_ok() {
            series.record(io);
        } else {
            // A failed request has transferred nothing: it only counts as an error.
            series.errors += 1;
            series.last = io.at;
            self.first_errors[io.job as usize].get_or_insert(io.status);
        }
    }

    /// Closes the last window. Must be called before any result is read.
    pub fn finish(&mut self) {
        for series in &mut self.series {
            series.end(self.index);
        }
        self.used = self.series.iter().map(|series| series.windows.len()).max().unwrap_or(0);
    }

    /// Returns the number of jobs.
    pub fn jobs(&self) -> usize {
        self.first_errors.len()
    }

    /// Returns the end of the open window.
    #[inline]
    pub fn ends(&self) -> Time {
        self.ends
    }

    /// Returns the current length of a window.
    pub fn window(&self) -> Time {
        self.window
    }

    /// Returns the number of closed windows.
    pub fn closed(&self) -> usize {
        self.index
    }

    /// Returns the time from the start of the first window to the end of the last closed one.
    pub fn elapsed(&self) -> Time {
        self.ends - self.window - self.origin
    }

    /// Returns the response times in `direction` of all jobs, by closed window, from window `first` on.
    pub fn latencies(&self, direction: Direction, first: usize) -> Vec<Compact> {
        let of_job = |job: usize| &self.series[job * DIRECTIONS + direction as usize].windows;
        let window = |index: usize| {
            Compact::of_all((0..self.jobs()).filter_map(|job| of_job(job).get(index)).map(Window::total))
        };
        (first..self.index).map(window).collect()
    }

    /// Returns the start of the first window.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// Closes windows until the open one contains `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        self.finish();
        while now >= self.ends {
            if self.index + 1 < WINDOWS {
                self.index += 1;
                self.ends += self.window;
                continue;
            }
            for series in &mut self.series {
                let windows = std::mem::take(&mut series.windows);
                let mut pairs = windows.into_iter();
                while let Some(mut first) = pairs.next() {
                    if let Some(second) = pairs.next() {
                        first.merge(&second);
                    }
                    series.windows.push(first);
                }
            }
            self.window = self.window * 2;
            self.index = WINDOWS / 2;
            self.ends = self.end_of(self.index);
        }
    }

    /// Returns the end of window `index`.
    fn end_of(&self, index: usize) -> Time {
        self.origin + self.window * (index as u64 + 1)
    }

    /// Returns throughput and latency over time: one point per window, over all jobs and directions.
    pub fn points(&self) -> Vec<Point> {
        self.points_of(&self.series)
    }

    /// Like [`points`](Self::points), for one job and direction.
    pub fn job_points(&self, job: usize, direction: Direction) -> Vec<Point> {
        self.points_of(self.series.part(job * DIRECTIONS + direction as usize, 1))
    }

    fn points_of(&self, wanted: &[Series]) -> Vec<Point> {
        (0..self.used)
            .map(|index| {
                let windows = || wanted.iter().filter_map(|series| series.windows.get(index));
                let (ios, bytes) = windows().fold((0, 0), |(ios, bytes), each| (ios + each.ios, bytes + each.bytes));
                let mut point = Point { at: self.end_of(index), span: self.window, ios, bytes, ..Point::default() };
                if ios > 0 {
                    let all = Compact::of_all(windows().map(Window::total));
                    point.mean_ns = all.sum_ps() as f64 / 1e3 / ios as f64;
                    (point.p50_ns, point.p99_ns) = (all.percentile_ns(50.0), all.percentile_ns(99.0));
                    point.max_ns = all.max().ns();
                }
                point
            })
            .collect()
    }

    /// Returns the requests of all jobs in one direction by total latency, in each window: its end, its length, and the
    /// requests.
    pub fn latencies_over_time(&self, direction: Direction) -> Vec<(Time, Time, Quarters)> {
        let series: Vec<&Series> = self.series.iter().skip(direction as usize).step_by(DIRECTIONS).collect();
        let merged = |index: usize| {
            let mut merged = Compact::default();
            series.iter().filter_map(|each| each.windows.get(index)).for_each(|window| merged.merge(window.total()));
            merged.quarter_octaves()
        };
        (0..self.used).map(|index| (self.end_of(index), self.window, merged(index))).collect()
    }

    /// Returns the totals of `job` in `direction` after `from`, which is the end of a window or the start of the first.
    pub fn totals(&self, job: usize, direction: Direction, from: Time) -> Totals {
        let mut totals = Totals::default();
        self.add_totals(job, direction, from, &mut totals);
        totals
    }

    /// Adds the totals of `job` in `direction` after `from` to `totals`.
    pub fn add_totals(&self, job: usize, direction: Direction, from: Time, totals: &mut Totals) {
        let windows = &self.series[job * DIRECTIONS + direction as usize].windows;
        for (index, window) in windows.iter().enumerate() {
            if self.end_of(index) <= from {
                continue;
            }
            totals.ios += window.ios;
            totals.bytes += window.bytes;
            totals.errors += window.errors;
            totals.latencies.submission.merge_compact(&window.submission);
            totals.latencies.completion.merge_compact(&window.completion);
            totals.latencies.total.merge_compact(window.total());
        }
    }

    /// Returns the bytes of `job` in `direction` after `from`, like [`totals`](Self::totals).
    pub fn bytes(&self, job: usize, direction: Direction, from: Time) -> u64 {
        let windows = self.series[job * DIRECTIONS + direction as usize].windows.iter().enumerate();
        windows.filter(|(index, _)| self.end_of(*index) > from).map(|(_, window)| window.bytes).sum()
    }

    /// Returns the status of the first failed request of `job`, warm-up included.
    pub fn first_error(&self, job: usize) -> Option<Status> {
        self.first_errors[job]
    }

    /// Returns the issue time of the first of `job`'s requests and the end of the last, or `None` if none has ended.
    pub fn extent(&self, job: usize) -> Option<(Time, Time)> {
        let series = self.series.part(job * DIRECTIONS, DIRECTIONS);
        let first = series.iter().map(|s| s.first).min().expect("a job has directions");
        let last = series.iter().map(|s| s.last).max().expect("a job has directions");
        (first < Time::MAX).then_some((first, last))
    }

    /// Returns the time from `job`'s first request to the end of its last, without the part before `from`.
    pub fn runtime(&self, job: usize, from: Time) -> Time {
        self.extent(job).map_or(Time::ZERO, |(first, last)| last.saturating_sub(first.max(from)))
    }
}

/// A completed request, as input to the recorder.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Number of its job.
    pub job: u16,
    /// Operation of the request.
    pub op: Op,
    /// Size in bytes.
    pub bytes: u64,
    /// Final status.
    pub status: Status,
    /// Time of arrival.
    pub due: Time,
    /// Time of issue.
    pub issued: Time,
    /// Time at which the driver rang the doorbell.
    pub submitted: Time,
    /// Time at which the program was notified.
    pub at: Time,
}
