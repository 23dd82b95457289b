//! A run: a workload played on a machine, and what came of it.

use std::path::PathBuf;

use ftl::MountReport;
use ftl::config::ConfigError;
use media::{Request, Status};
use nand::PayloadKind;
use sim::{Streams, Time};
use workload::{Beyond, ContinueOnError, Io, JobInfo, Next, Options, Player, Replay, Workload};

use crate::counters::{Counters, Mark, Marks, State};
use crate::course::Course;
use crate::failed::FailedJob;
use crate::fio_json::Issued;
use crate::machine::{Completion, Machine};
pub use crate::measured::Measured;
use crate::prepare::{Preparation, PrepareError, Prepared, prepare};
use crate::record::{Ended, Recorder};
use crate::warm_up::{Steadiness, detect};
use system::System;
use system::parts::Parts;

/// What is cut off the beginning of a run's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// For generated workloads what MSER-5 finds; nothing where a job has a `ramp_time` of its own, where jobs run one
    /// after another, or of a trace.
    Detect,
    /// Nothing.
    Keep,
    /// So much.
    Cut(Time),
}

/// How a run is made.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Seed of every random stream.
    pub seed: u64,
    /// Payload that is kept and checked.
    pub payload: PayloadKind,
    /// Most spans of the timeline, if one is kept.
    pub timeline: Option<usize>,
    /// How traces keep time.
    pub replay: Replay,
    /// What becomes of a trace's addresses beyond the drive.
    pub beyond: Beyond,
    /// Errors that do not end a job, where the job does not say.
    pub continue_on_error: ContinueOnError,
    /// State of the drive at the start.
    pub preparation: Preparation,
    /// Folder in which prepared drives are kept.
    pub cache: Option<PathBuf>,
    /// What is cut off the beginning.
    pub warm_up: WarmUp,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            seed: 1,
            payload: PayloadKind::None,
            timeline: None,
            replay: Replay::OpenLoop,
            beyond: Beyond::Error,
            continue_on_error: ContinueOnError::default(),
            preparation: Preparation::Erased,
            cache: None,
            warm_up: WarmUp::Detect,
        }
    }
}

/// Why a run did not take place, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The parts do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The drive could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The workload cannot be played, or not on this drive.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// The warm-up that the user asked to cut leaves nothing.
    #[error("warm_up: found {cut}, expected less than the run's {end}")]
    WarmUp {
        /// As asked.
        cut: Time,
        /// When the last request ended.
        end: Time,
    },
    /// Whoever watched it asked for its end.
    #[error("interrupted")]
    Interrupted,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Part that is done, 0 to 1.
    pub fraction: f64,
    /// Simulated time.
    pub now: Time,
    /// Requests that have ended.
    pub done: u64,
}

/// A run that ended.
pub struct Outcome {
    /// The machine as the run left it.
    pub machine: Machine,
    /// What was measured.
    pub recorder: Recorder,
    /// Counters at the ends of the recorder's windows.
    pub marks: Marks,
    /// The same of the warm-up that the user asked to cut.
    pub before: Option<(Recorder, Marks)>,
    /// Counters where the statistics begin; `None` at the start of the run.
    pub begin: Option<Counters>,
    /// The jobs, in the recorder's order.
    pub jobs: Vec<JobInfo>,
    /// How the drive was prepared.
    pub prepared: Prepared,
    /// What the translation layer found when it was switched on.
    pub mounted: MountReport,
    /// When the last request ended.
    pub end: Time,
    /// What is cut off the statistics, up to here.
    pub warm_up: Time,
    /// It was found by MSER-5, and not said.
    pub warm_up_detected: bool,
    /// The run is too short to be steady: it would have to take at least this long.
    pub run_at_least: Option<Time>,
    /// Remarks on the workload that its reader should see.
    pub notes: Vec<String>,
    /// Requests that ended.
    pub requests: u64,
    /// What the player knows of its jobs.
    pub issued: Issued,
    /// Jobs that ended by an error.
    pub failed: Vec<FailedJob>,
}

impl Outcome {
    /// What was measured.
    pub fn measured(&self) -> Measured<'_> {
        let before = self.before.as_ref().map(|(recorder, _)| recorder);
        Measured {
            before,
            issued: Some(&self.issued),
            ..Measured::new(&self.recorder, &self.jobs, self.end, self.warm_up)
        }
    }

    /// Counters of the whole run.
    pub fn whole_run(&self) -> Counters {
        Counters::read(&self.machine, self.end.max(self.machine.now()), self.requests)
    }

    /// Counters of the window that the statistics cover.
    pub fn window(&self) -> Counters {
        self.whole_run().since(self.begin.as_ref())
    }
}

/// Requests between two calls of the watcher.
pub const WATCH_EVERY: u64 = 1 << 14;

/// Plays `workload` on the machine that `system` describes. `watch` is told how far it is, and says whether to go on.
///
/// # Errors
/// If the parts do not fit together, the workload does not fit the drive, or a trace cannot be read to its end.
///
/// # Panics
/// If the model breaks one of its own invariants.
pub fn run(
    system: &System,
    workload: &Workload,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let streams = Streams::new(options.seed);
    let parts = Parts::new(system, options.payload)?;
    let play = Options {
        capacity: parts.user_bytes,
        replay: options.replay,
        beyond: options.beyond,
        continue_on_error: options.continue_on_error,
    };
    let mut player = Player::new(workload, &play, &streams)?;
    let rests = options.preparation == Preparation::Steady && crate::rest::rests(system, workload, options.replay);
    let preparation = if rests { Preparation::Rested } else { options.preparation };
    let (store, prepared) = prepare(system, &parts, preparation, &streams, options.cache.as_deref())?;
    let (nand, ftl, mounted) = parts.mount(store, &streams)?;
    let mut machine = Machine::new(&parts, ftl, nand);
    if let Some(limit) = options.timeline {
        machine.keep_timeline(limit);
    }
    let jobs = workload.jobs();
    let has_ramp = |job: &JobInfo| job.options.iter().any(|(key, _)| key == "ramp_time");
    let own_ramp = jobs.iter().any(has_ramp);
    let mut recorder = Recorder::new(jobs.len());
    let cut = match options.warm_up {
        WarmUp::Cut(time) if time > Time::ZERO => time,
        _ => Time::MAX,
    };
    let mut flight = Flight::new(&mut machine, &mut player, &mut recorder, cut, own_ramp);
    flight.fly(watch)?;
    let Flight { now: end, marks, before, mut begin, course, failed, .. } = flight;
    if cut < Time::MAX && before.is_none() {
        return Err(RunError::WarmUp { cut, end });
    }
    let requests = player.completed();
    recorder.finish();
    // One cut for all would fall into jobs that run one after another.
    let together = jobs.iter().all(|job| !job.starts_later);
    let is_detected = options.warm_up == WarmUp::Detect && together && !own_ramp && !workload.is_trace();
    let (mut warm_up, mut run_at_least) = (if before.is_some() { cut } else { Time::ZERO }, None);
    if is_detected {
        match detect(&recorder.points()) {
            Steadiness::From(time) => warm_up = time,
            Steadiness::TooShort(time) => run_at_least = Some(time),
        }
        if warm_up > Time::ZERO {
            begin = marks.at(warm_up).map(|mark| mark.counters.clone());
        }
    }
    let mut notes = [workload.notes(), player.notes()].concat();
    notes.extend(course.note(machine.ftl(), &prepared));
    notes.extend(rests.then(|| crate::rest::NOTE.to_owned()));
    if own_ramp && !(together && jobs.iter().all(has_ramp)) {
        notes.push("ramp_time: write amplification, energy and utilization cover all after the first ramp".to_owned());
    }
    Ok(Outcome {
        machine,
        recorder,
        marks,
        before,
        begin,
        jobs: jobs.to_vec(),
        prepared,
        mounted,
        end,
        warm_up,
        warm_up_detected: is_detected,
        run_at_least,
        notes,
        requests,
        issued: Issued::new(&player, workload.jobs().len(), workload.globals()),
        failed,
    })
}

/// A player, a machine and a recorder at work.
struct Flight<'a> {
    machine: &'a mut Machine,
    player: &'a mut Player,
    recorder: &'a mut Recorder,
    /// Requests that ended together with another.
    others: Vec<Completion>,
    now: Time,
    /// Where the user asked to cut the warm-up, until it is cut; else never.
    cut: Time,
    /// Jobs have a `ramp_time`, and no request after it has ended.
    ramp: bool,
    /// When counters are read next: at the end of a window, at the cut.
    next_mark: Time,
    marks: Marks,
    before: Option<(Recorder, Marks)>,
    begin: Option<Counters>,
    course: Course,
    failed: Vec<FailedJob>,
}

impl<'a> Flight<'a> {
    fn new(
        machine: &'a mut Machine,
        player: &'a mut Player,
        recorder: &'a mut Recorder,
        cut: Time,
        ramp: bool,
    ) -> Flight<'a> {
        let next_mark = if ramp { Time::ZERO } else { cut.min(recorder.ends()) };
        Flight {
            machine,
            player,
            recorder,
            others: Vec::new(),
            now: Time::ZERO,
            cut,
            ramp,
            next_mark,
            marks: Marks::default(),
            before: None,
            begin: None,
            course: Course::default(),
            failed: Vec::new(),
        }
    }

    /// Reads the counters before the first request that ends at `at` or later counts.
    #[cold]
    #[inline(never)]
    fn mark(&mut self, at: Time) {
        let counters = Counters::read(self.machine, at, self.player.completed().saturating_sub(1));
        let state = State::read(self.machine);
        if std::mem::take(&mut self.ramp) {
            self.begin = Some(counters.clone());
        }
        if at >= self.cut {
            let cut = std::mem::replace(&mut self.cut, Time::MAX);
            self.begin = Some(counters.clone());
            self.marks.add(Mark { boundary: cut.min(self.recorder.ends()), counters, state });
            self.recorder.finish();
            let next = Recorder::beginning(self.recorder.jobs(), cut);
            self.before = Some((std::mem::replace(self.recorder, next), std::mem::take(&mut self.marks)));
            self.recorder.advance(at);
        } else if at >= self.recorder.ends() {
            self.marks.add(Mark { boundary: self.recorder.ends(), counters, state });
            self.recorder.advance(at);
            self.marks.thin(self.recorder.origin(), self.recorder.window());
        }
        self.next_mark = self.cut.min(self.recorder.ends());
    }

    fn fly(&mut self, watch: &mut dyn FnMut(Progress) -> bool) -> Result<(), RunError> {
        let mut watched = 0;
        loop {
            let wake = match self.issue()? {
                Next::Finished => return Ok(()),
                Next::At(at) => at,
                _ => Time::MAX,
            };
            if let Some(end) = self.machine.next_end(wake, &mut self.others) {
                let end = if self.machine.timeline().is_none() { self.go_on(&end, watched) } else { end };
                self.now = end.at;
                self.take(&end);
                if !self.others.is_empty() {
                    self.take_others();
                }
            } else {
                assert!(wake < Time::MAX, "requests wait for an end, and nothing is under way");
                self.now = wake;
            }
            let done = self.player.completed();
            if done >= watched {
                watched = done + WATCH_EVERY;
                self.course.sample(self.machine.ftl().stats());
                let fraction = self.player.progress().fraction;
                if !watch(Progress { fraction, now: self.now, done }) {
                    return Err(RunError::Interrupted);
                }
            }
        }
    }

    /// Takes the end of a request and goes on to the next, as long as jobs replace what has ended, and nothing else is to be
    /// done before `watched` requests have ended. Returns an end with which it is not so.
    #[inline(never)]
    fn go_on(&mut self, first: &Completion, watched: u64) -> Completion {
        let mut end = *first;
        while self.others.is_empty() && self.player.completed() + 1 < watched {
            let Some((ended, io)) = self.player.replace(end.at, end.io) else { break };
            self.record(&ended, &end);
            let next = self.machine.serve(end.at, io.id, io.job, &io.request, &mut self.others);
            end = next.expect("requests wait for an end, and something is under way");
        }
        end
    }

    /// Issues what is due; returns why no more is.
    #[inline(never)]
    fn issue(&mut self) -> Result<Next, RunError> {
        loop {
            match self.player.next(self.now)? {
                Next::Issue(Io { id, job, request, .. }) => _ = self.submit(id, job, &request),
                other => return Ok(other),
            }
        }
    }

    /// Returns until when the player submits nothing more, unless a request ends.
    #[inline(always)]
    fn submit(&mut self, io: u32, job: u16, request: &Request) -> Time {
        let idle = self.player.idle_until();
        self.machine.submit_alone(self.now, idle, io, job, request);
        idle
    }

    #[inline(never)]
    fn take_others(&mut self) {
        let mut others = std::mem::take(&mut self.others);
        for end in others.drain(..) {
            self.take(&end);
        }
        self.others = others;
    }

    fn take(&mut self, end: &Completion) {
        let ended = self.player.complete(end.at, end.io);
        self.record(&ended, end);
    }

    #[inline(always)]
    fn record(&mut self, ended: &workload::Ended, end: &Completion) {
        let workload::Ended { job, op, bytes, due, issued, measured } = *ended;
        let Completion { status, submitted, at, .. } = *end;
        if measured {
            if at >= self.next_mark {
                self.mark(at);
            }
            self.recorder.ended(&Ended { job, op, bytes, status, due, issued, submitted, at });
        }
        if status != Status::Ok && self.player.failed(job, op) {
            self.failed.push(FailedJob { job, status, at });
        }
    }
}
