//! What is measured of a run: latencies, throughput over time, and where the warm-up ends.
//!
//! Latencies are kept in windows of simulated time, so that a warm-up can be cut off afterwards: 64 of them, merged in
//! pairs when they run out.

use media::{Op, Status};
use sim::{Compact, Dense, Histogram, Time};

/// Windows kept; when all are used, pairs are merged and each is twice as long.
const WINDOWS: usize = 64;
const FIRST_WINDOW: Time = Time::from_ms(1);

/// Which of a job's requests.
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
    /// All of them.
    pub const ALL: [Direction; 4] = [Direction::Read, Direction::Write, Direction::Trim, Direction::Sync];

    /// Of a request.
    #[inline]
    pub const fn of(op: Op) -> Direction {
        match op {
            Op::Read => Direction::Read,
            Op::Write => Direction::Write,
            Op::Trim => Direction::Trim,
            Op::Flush => Direction::Sync,
        }
    }
}

const DIRECTIONS: usize = Direction::ALL.len();

/// Latencies of some requests: submission, completion, and both together (with the wait before submission).
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// From the request's issue to the doorbell.
    pub submission: Histogram,
    /// From the doorbell to the program's knowing.
    pub completion: Histogram,
    /// From the request's arrival to the program's knowing.
    pub total: Histogram,
}

/// One window: what ended in it.
#[derive(Clone, Debug, Default)]
struct Window {
    ios: u64,
    bytes: u64,
    errors: u64,
    submission: Compact,
    completion: Compact,
    /// None where all were as their completion latencies.
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

/// A job's requests of one direction: the windows that ended, and the one that has not.
#[derive(Clone, Debug, Default)]
struct Series {
    windows: Vec<Window>,
    bytes: u64,
    errors: u64,
    /// The total is left empty as long as it would be as the completion latencies: where no request has waited to be
    /// submitted, and submission costs nothing. Requests whose submission took no time are not in its histogram.
    latencies: Latencies,
    apart: bool,
    /// When the first request was issued, of those that have ended, and when the last has ended.
    first: Time,
    last: Time,
}

impl Series {
    #[inline(always)]
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

    /// Ends the open window, which is number `index`.
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

/// What a job did in one direction, the warm-up left out.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Requests that ended well.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Their latencies.
    pub latencies: Latencies,
}

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
    /// Mean of their latencies in ns; 0 without any.
    pub mean_ns: f64,
    /// Their median latency in ns; 0 without any.
    pub p50_ns: u64,
    /// Latency in ns that 99 % of them kept; 0 without any.
    pub p99_ns: u64,
    /// Their longest latency in ns; 0 without any.
    pub max_ns: u64,
}

/// A run's recorder.
pub struct Recorder {
    /// By job, and then by direction.
    series: Dense<Series>,
    /// How each job's first request that ended badly ended.
    first_errors: Vec<Option<Status>>,
    /// When the first window begins.
    origin: Time,
    window: Time,
    /// Number of the window that time is in, and when it ends.
    index: usize,
    ends: Time,
    /// Windows up to the last in which something ended.
    used: usize,
}

impl Recorder {
    /// A recorder for `jobs` jobs.
    pub fn new(jobs: usize) -> Recorder {
        Recorder {
            // SAFETY: jobs are those of the player, the same that they were counted for.
            series: unsafe { Dense::new(vec![Series { first: Time::MAX, ..Series::default() }; jobs * DIRECTIONS]) },
            first_errors: vec![None; jobs],
            origin: Time::ZERO,
            window: FIRST_WINDOW,
            index: 0,
            ends: FIRST_WINDOW,
            used: 0,
        }
    }

    /// A recorder for `jobs` jobs whose windows begin at `origin`, where measuring begins.
    pub fn beginning(jobs: usize, origin: Time) -> Recorder {
        Recorder { origin, ends: origin + FIRST_WINDOW, ..Recorder::new(jobs) }
    }

    /// A request has ended.
    #[inline(always)]
    pub fn ended(&mut self, io: &Ended) {
        if io.at >= self.ends {
            self.advance(io.at);
        }
        let series = &mut self.series[io.job as usize * DIRECTIONS + Direction::of(io.op) as usize];
        if io.status == Status::Ok {
            series.record(io);
        } else {
            // A failed request has moved nothing: it counts as an error and nowhere else.
            series.errors += 1;
            series.last = io.at;
            self.first_errors[io.job as usize].get_or_insert(io.status);
        }
    }

    /// Nothing more comes: ends the last window. To be called before anything is asked.
    pub fn finish(&mut self) {
        for series in &mut self.series {
            series.end(self.index);
        }
        self.used = self.series.iter().map(|series| series.windows.len()).max().unwrap_or(0);
    }

    /// How many jobs it records.
    pub fn jobs(&self) -> usize {
        self.first_errors.len()
    }

    /// End of the open window.
    #[inline(always)]
    pub fn ends(&self) -> Time {
        self.ends
    }

    /// Length of a window now.
    pub fn window(&self) -> Time {
        self.window
    }

    /// Start of the first window.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// Closes windows until the open one holds `now`.
    #[cold]
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

    /// When a window ends.
    fn end_of(&self, index: usize) -> Time {
        self.origin + self.window * (index as u64 + 1)
    }

    /// Throughput and latency over time: a point a window, all jobs and directions together.
    pub fn points(&self) -> Vec<Point> {
        self.points_of(&self.series)
    }

    /// The same of one job and direction.
    pub fn job_points(&self, job: usize, direction: Direction) -> Vec<Point> {
        self.points_of(self.series.part(job * DIRECTIONS + direction as usize, 1))
    }

    fn points_of(&self, wanted: &[Series]) -> Vec<Point> {
        let mut merged = Histogram::new();
        (0..self.used)
            .map(|index| {
                let (mut ios, mut bytes, mut sum) = (0, 0, 0u128);
                for window in wanted.iter().filter_map(|series| series.windows.get(index)) {
                    ios += window.ios;
                    bytes += window.bytes;
                    sum += window.total().sum_ps();
                    merged.merge_compact(window.total());
                }
                let mut point = Point { at: self.end_of(index), span: self.window, ios, bytes, ..Point::default() };
                if ios > 0 {
                    point.mean_ns = sum as f64 / 1e3 / ios as f64;
                    (point.p50_ns, point.p99_ns) = (merged.percentile_ns(50.0), merged.percentile_ns(99.0));
                    point.max_ns = merged.max().ns();
                    merged.take();
                }
                point
            })
            .collect()
    }

    /// Totals of `job` in `direction` after `from`, which is the end of a window or the start of the first.
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

    /// Bytes of what `job` did in `direction` after `from`, as in [`totals`](Self::totals).
    pub fn bytes(&self, job: usize, direction: Direction, from: Time) -> u64 {
        let windows = self.series[job * DIRECTIONS + direction as usize].windows.iter().enumerate();
        windows.filter(|(index, _)| self.end_of(*index) > from).map(|(_, window)| window.bytes).sum()
    }

    /// How the first request of `job` that ended badly ended, warm-up included.
    pub fn first_error(&self, job: usize) -> Option<Status> {
        self.first_errors[job]
    }

    /// When the first of `job`'s requests was issued and when the last ended; `None` if none has ended.
    pub fn extent(&self, job: usize) -> Option<(Time, Time)> {
        let series = self.series.part(job * DIRECTIONS, DIRECTIONS);
        let first = series.iter().map(|s| s.first).min().expect("a job has directions");
        let last = series.iter().map(|s| s.last).max().expect("a job has directions");
        (first < Time::MAX).then_some((first, last))
    }

    /// Time from `job`'s first request to its last end, without the part before `from`.
    pub fn runtime(&self, job: usize, from: Time) -> Time {
        self.extent(job).map_or(Time::ZERO, |(first, last)| last.saturating_sub(first.max(from)))
    }
}

/// A request that ended, for the recorder.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its job.
    pub job: u16,
    /// What it was.
    pub op: Op,
    /// Its bytes.
    pub bytes: u64,
    /// How it ended.
    pub status: Status,
    /// When it arrived.
    pub due: Time,
    /// When it was issued.
    pub issued: Time,
    /// When the driver rang the doorbell.
    pub submitted: Time,
    /// When the program knew.
    pub at: Time,
}
