//! Plays a workload on a machine and collects the results.

pub(crate) mod course;
pub mod drives;
pub mod failed;
pub mod intervals;
pub mod length;
pub mod reached;
pub mod record;
pub mod requests;
pub(crate) mod rest;
pub(crate) mod steady;
pub mod until;
pub mod verify;
pub mod warm_up;

use std::path::PathBuf;

use ftl::config::ConfigError;
use ftl::{Headroom, MountReport};
use media::Request;
use nand::PayloadKind;
use sim::{Streams, Time, rarely};
use workload::{Beyond, ContinueOnError, Io, JobInfo, Logs, Next, Options, Player, Replay, Workload};

use crate::machine::{Completion, Machine};
use crate::prepare::{Preparation, PrepareError, Prepared, prepare, zoned};
use crate::results::counters::{Counters, MachineState, Mark, Marks};
use crate::results::fio_json::Issued;
pub use crate::results::measured::Measured;
use crate::results::notes::{Kind, Note};
use crate::run::course::Course;
use crate::run::drives::{OtherDrive, Several};
use crate::run::failed::FailedJob;
pub use crate::run::length::{Length, Rule, Until};
use crate::run::reached::Reached;
use crate::run::record::{Ended, Recorder};
use crate::run::requests::{RequestLogs, Sink};
use crate::run::steady::is_full;
use crate::run::until::{Looks, View};
use crate::run::warm_up::{Steadiness, detect};
use crate::trace::Traced;
use system::System;
use system::parts::Parts;

/// The part of a run cut off from its statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// The part found by MSER-5, for generated workloads. Nothing is cut for traces, if a job has its own `ramp_time`,
    /// or if jobs run one after another.
    Detect,
    /// Nothing.
    Keep,
    /// A fixed time.
    Cut(Time),
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Seed of every random stream.
    pub seed: u64,
    /// Kind of payload that is kept and checked.
    pub payload: PayloadKind,
    /// Maximum number of spans on the timeline, if one is kept.
    pub timeline: Option<usize>,
    /// Timing of trace replay.
    pub replay: Replay,
    /// Treatment of trace addresses beyond the end of the drive.
    pub beyond: Beyond,
    /// Errors that do not end a job, unless the job has its own setting.
    pub continue_on_error: ContinueOnError,
    /// State of the drive at the start; `None` for a filled drive if the workload reads what it has not written, else an
    /// erased one.
    pub preparation: Option<Preparation>,
    /// Folder for prepared drives.
    pub cache: Option<PathBuf>,
    /// Warm-up to cut off.
    pub warm_up: WarmUp,
    /// When the run ends.
    pub length: Length,
    /// Whether the recorder keeps a log of every request.
    pub log: bool,
    /// Whether a run that the watcher stops returns what it has measured so far.
    pub partial: bool,
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
            preparation: Some(Preparation::Erased),
            cache: None,
            warm_up: WarmUp::Detect,
            length: Length::Job,
            log: false,
            partial: false,
        }
    }
}

/// Reasons why a run did not start or finish.
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
    /// A user-defined warm-up cut covers the whole run.
    #[error("warm_up: found {cut}, expected less than the run's {end}")]
    WarmUp {
        /// The cut requested.
        cut: Time,
        /// End of the last request.
        end: Time,
    },
    /// The end of the jobs cannot be replaced.
    #[error("until: found {0}, expected jobs without an end of their own")]
    Until(&'static str),
    /// No job found data in the zones that it reads.
    #[error("{0}")]
    EmptyZones(String),
    /// Several drives of this kind cannot run together.
    #[error("filename: found {0}")]
    Drives(&'static str),
    /// The watcher stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Fraction done, 0 to 1.
    pub fraction: f64,
    /// Simulated time.
    pub now: Time,
    /// Number of requests that have ended.
    pub done: u64,
}

/// Results of a completed run.
pub struct Outcome {
    /// The machine at the end of the run: the first, if there are several.
    pub machine: Machine,
    /// The other drives of the run.
    pub others: Vec<OtherDrive>,
    /// Name of the first drive, if there are several.
    pub name: Option<String>,
    /// Recorded measurements.
    pub recorder: Recorder,
    /// Counters at the end of each of the recorder's windows.
    pub marks: Marks,
    /// The recorder and counters of a user-defined warm-up that was cut.
    pub before: Option<(Recorder, Marks)>,
    /// Counters at the start of the statistics; `None` if that is the start of the run.
    pub begin: Option<Counters>,
    /// Headroom of the drive at the start of the statistics.
    pub headroom: Headroom,
    /// The jobs, in the recorder's order.
    pub jobs: Vec<JobInfo>,
    /// The drive's preparation.
    pub prepared: Prepared,
    /// The translation layer's report on mounting the prepared drive.
    pub mounted: MountReport,
    /// End of the last request.
    pub end: Time,
    /// End of the warm-up, which the statistics leave out.
    pub warm_up: Time,
    /// True if the warm-up was found by MSER-5 rather than set by the user.
    pub warm_up_detected: bool,
    /// Set if the run is too short to be steady: the minimum length it would need.
    pub run_at_least: Option<Time>,
    /// Notes on the workload and the preparation for the reader of the results.
    pub notes: Vec<Note>,
    /// Number of requests that ended.
    pub requests: u64,
    /// Counts of the player's jobs.
    pub issued: Issued,
    /// Jobs ended by an error.
    pub failed: Vec<FailedJob>,
    /// What the run knows of its measures, if it went on until they were known.
    pub reached: Option<Reached>,
}

impl Outcome {
    /// Returns the recorded measurements.
    pub fn measured(&self) -> Measured<'_> {
        let before = self.before.as_ref().map(|(recorder, _)| recorder);
        Measured {
            before,
            issued: Some(&self.issued),
            failed: &self.failed,
            ..Measured::new(&self.recorder, &self.jobs, self.end, self.warm_up)
        }
    }

    /// Returns the counters of the whole run.
    pub fn whole_run(&self) -> Counters {
        let others = self.others.iter().map(|other| &other.machine);
        drives::read(&self.machine, others, self.end.max(self.machine.now()), self.requests)
    }

    /// Returns the counters of the part that the statistics cover.
    pub fn window(&self) -> Counters {
        self.whole_run().since(self.begin.as_ref())
    }
}

/// Number of requests between two calls of the watcher.
pub const WATCH_EVERY: u64 = 1 << 14;

/// Plays `workload` on the machine that `system` describes. `watch` receives the progress and returns false to stop the
/// run.
///
/// # Errors
/// Fails if the parts do not fit together, the workload does not fit the drive, a trace cannot be read to its end, or
/// `watch` stops the run.
///
/// # Panics
/// Panics if the model violates one of its own invariants.
pub fn run(
    system: &System,
    workload: &Workload,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    run_logged(system, workload, options, None, watch)
}

/// Like [`run`], with every request and the parts of its latency for `sink`, if there is one. The results are the same.
///
/// # Errors
/// Fails like [`run`], and if `sink` stops the run.
///
/// # Panics
/// Panics like [`run`].
pub fn run_logged(
    system: &System,
    workload: &Workload,
    options: &RunOptions,
    sink: Option<Sink<'_>>,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let streams = Streams::new(options.seed);
    let parts = Parts::new(system, options.payload)?;
    let play = Options {
        capacity: parts.user_bytes,
        replay: options.replay,
        beyond: options.beyond,
        handles: parts.ftl.placement.map_or(0, |placement| placement.handles),
        zones: parts.zones.as_ref().map(zoned::shape),
        continue_on_error: options.continue_on_error,
    };
    let (until, endless) = endless(workload, &parts, options.length)?;
    let mut player = Player::new(endless.as_ref().unwrap_or(workload), &play, &streams)?;
    let by_default = || default_preparation(workload, &play);
    let chosen = options.preparation.unwrap_or_else(by_default);
    let rests = chosen == Preparation::Steady && crate::run::rest::rests(system, workload, options.replay);
    let preparation = if rests { Preparation::Rested } else { chosen };
    let written = workload.written(&play).unwrap_or_default();
    let create = |number: u16| -> Result<(Machine, Prepared, MountReport), RunError> {
        let streams = drives::streams(options.seed, number);
        let (store, prepared) = match &parts.zones {
            Some(zones) if preparation == Preparation::Filled => {
                let written = drives::part_of(&written, number, play.capacity);
                zoned::fill(&parts, zones, &written, &streams)?
            }
            _ => prepare(system, &parts, preparation, &streams, options.cache.as_deref())?,
        };
        let (nand, ftl, mounted) = parts.mount(store, &streams)?;
        let mut machine = Machine::new(&parts, ftl, nand);
        if preparation == Preparation::Steady && workload.floods() {
            machine.hold_overwrites(&mut streams.stream("run.held"));
        }
        Ok((machine, prepared, mounted))
    };
    let (mut machine, prepared, mounted) = create(0)?;
    if player.uses_zones()
        && let Some(zoned) = machine.ftl().zoned()
    {
        player.report_zones(|zone| zoned::written(zoned, zone));
    }
    if let Some(limit) = options.timeline {
        machine.keep_timeline(limit);
    }
    let requests = RequestLogs::new(sink, Logs::create(workload)?);
    if requests.is_some() {
        machine.keep_trace();
    }
    let mut others = Vec::new();
    for number in 1..workload.drives().len() as u16 {
        let (mut machine, ..) = create(number)?;
        if requests.is_some() {
            machine.keep_trace();
        }
        others.push(machine);
    }
    let jobs = workload.jobs();
    let has_ramp = |job: &JobInfo| job.options.iter().any(|(key, _)| key == "ramp_time");
    let own_ramp = jobs.iter().any(has_ramp);
    // A common cut would fall inside some of the jobs if they run one after another.
    let together = jobs.iter().all(|job| !job.starts_later);
    let is_detected = options.warm_up == WarmUp::Detect && together && !own_ramp && !workload.is_trace();
    let is_full = is_full(prepared.preparation);
    let looks = until.map(|until| Looks::new(until, is_detected, is_full));
    let mut recorder = Recorder::new(jobs.len());
    if options.log {
        recorder.keep_log();
    }
    let cut = match options.warm_up {
        WarmUp::Cut(time) if time > Time::ZERO => time,
        _ => Time::MAX,
    };
    let (mut stopped, partial) = (false, options.partial);
    let mut watch = |progress: Progress| {
        let go_on = watch(progress);
        stopped = !go_on;
        go_on
    };
    let empty: Vec<Headroom> = others.iter().map(|machine| machine.ftl().headroom()).collect();
    let mut several = None;
    if !others.is_empty() {
        let drives = Several::new(&mut machine, others, play.capacity, workload.first_drives());
        several = Some(Box::new(drives.map_err(RunError::Drives)?));
    }
    let mut flight = Flight::new(&mut machine, &mut player, &mut recorder, looks, (cut, own_ramp));
    flight.several = several;
    flight.attends |= requests.is_some();
    flight.requests = requests;
    match flight.fly(&mut watch) {
        Err(RunError::Interrupted) if partial => {}
        result => result?,
    }
    if let Some(requests) = flight.requests.take() {
        requests.finish()?;
    }
    let reached = flight.reached();
    let several = flight.several.take();
    let Flight { now: end, marks, before, mut begin, mut headroom, course, failed, .. } = flight;
    let others = several.map_or_else(Vec::new, |several| several.into_others(&mut machine));
    if cut < Time::MAX && before.is_none() {
        return Err(if stopped { RunError::Interrupted } else { RunError::WarmUp { cut, end } });
    }
    let requests = player.completed();
    if stopped && requests == 0 {
        return Err(RunError::Interrupted);
    }
    recorder.finish();
    let (mut warm_up, mut run_at_least) = (if before.is_some() { cut } else { Time::ZERO }, None);
    if is_detected {
        match (&reached, detect(&recorder.points())) {
            (Some(reached), _) if !reached.known.measures.is_empty() => warm_up = reached.known.warm_up,
            (_, Steadiness::From(time)) => warm_up = time,
            (_, Steadiness::TooShort(time)) => run_at_least = Some(time),
        }
        if warm_up > Time::ZERO
            && let Some(mark) = marks.at(warm_up)
        {
            (begin, headroom) = (Some(mark.counters.clone()), mark.state.headroom);
        }
    }
    let zone_notes = player.zone_notes(workload);
    if let (0, Some(note)) = (requests, zone_notes.first()) {
        return Err(RunError::EmptyZones(note.clone()));
    }
    let remarks = workload.notes().iter().chain(player.notes()).chain(&zone_notes);
    let mut notes: Vec<Note> = remarks.map(|text| Note::new(Kind::Remark, text)).collect();
    notes.extend(course.note(machine.ftl(), &prepared));
    if options.preparation.is_none() && prepared.preparation != Preparation::Erased {
        let zones =
            if parts.zones.is_some() && !player.uses_zones() { "; zones that jobs write begin empty" } else { "" };
        notes.push(Note::new(Kind::Prepared, format!("prepared by default as {preparation}: {READS}{zones}")));
    }
    if stopped {
        let text = format!("interrupted after {end} and {requests} requests: the figures are those until then");
        notes.push(Note::new(Kind::Interrupted, text));
    }
    notes.extend(reached.as_ref().map(|reached| reached.note(end, requests)));
    notes.extend(rests.then(|| Note::new(Kind::Prepared, crate::run::rest::NOTE)));
    if own_ramp && !(together && jobs.iter().all(has_ramp)) {
        let text = "ramp_time: write amplification, energy and utilization cover all after the first ramp";
        notes.push(Note::new(Kind::Remark, text));
    }
    Ok(Outcome {
        name: workload.drives().first().cloned(),
        others: drives::others(workload.drives(), others, &empty, begin.as_ref()),
        machine,
        recorder,
        marks,
        before,
        begin,
        headroom,
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
        reached,
    })
}

/// Returns the intervals that are wanted, and the workload without the end of its jobs, if `length` replaces it.
fn endless(workload: &Workload, parts: &Parts, length: Length) -> Result<(Option<Until>, Option<Workload>), RunError> {
    let Length::Until(until, rule) = length else { return Ok((None, None)) };
    if rule == Rule::Unsized && workload.has_length() {
        return Ok((None, None));
    }
    let endless = match () {
        // Zones are written once, from their start to their end.
        () if parts.zones.is_some() => Err("a drive with zones"),
        () if !workload.drives().is_empty() => Err("several drives"),
        () => workload.endless(),
    };
    match (endless, rule) {
        (Ok(endless), _) => Ok((Some(until), Some(endless))),
        (Err(why), Rule::Always) => Err(RunError::Until(why)),
        (Err(_), _) => Ok((None, None)),
    }
}

/// Reason for which a drive is filled by default.
const READS: &str = "the workload reads what it has not written";

/// Returns the state of a drive by default: filled if the workload reads data that it has not written, else erased. Zones are
/// filled if the zones that the workload writes are known.
fn default_preparation(workload: &Workload, drive: &Options) -> Preparation {
    let known = drive.zones.is_none() || workload.written(drive).is_some();
    let fills = known && workload.reads_unwritten(drive);
    if fills { Preparation::Filled } else { Preparation::Erased }
}

/// The state of a run: player, drives and recorder.
struct Flight<'a, 's> {
    machine: &'a mut Machine,
    /// Further drives, if the run has some.
    several: Option<Box<Several>>,
    player: &'a mut Player,
    recorder: &'a mut Recorder,
    now: Time,
    /// Time of a user-defined warm-up cut until it is made, else `Time::MAX`.
    cut: Time,
    /// True while jobs have a `ramp_time` and no request after it has ended.
    ramp: bool,
    /// Time of the next snapshot of the counters: the end of a window or the cut.
    next_mark: Time,
    marks: Marks,
    before: Option<(Recorder, Marks)>,
    begin: Option<Counters>,
    headroom: Headroom,
    course: Course,
    failed: Vec<FailedJob>,
    /// Logs of every request, if any are written.
    requests: Option<RequestLogs<'s>>,
    /// When the run ends, if not with its jobs.
    looks: Option<Looks>,
    /// Completed requests at which the run is watched next, or ends.
    watch_at: u64,
    /// Requests are logged, or may end their jobs by their latency.
    attends: bool,
}

impl<'a> Flight<'a, '_> {
    fn new(
        machine: &'a mut Machine,
        player: &'a mut Player,
        recorder: &'a mut Recorder,
        looks: Option<Looks>,
        (cut, ramp): (Time, bool),
    ) -> Self {
        let headroom = machine.ftl().headroom();
        let next_mark = if ramp { Time::ZERO } else { cut.min(recorder.ends()) };
        let attends = player.limits_latency();
        Flight {
            machine,
            several: None,
            player,
            recorder,
            now: Time::ZERO,
            cut,
            ramp,
            next_mark,
            marks: Marks::default(),
            before: None,
            begin: None,
            headroom,
            course: Course::default(),
            failed: Vec::new(),
            requests: None,
            looks,
            watch_at: 0,
            attends,
        }
    }

    /// Returns how the run ended, if it had to know its measures.
    fn reached(&self) -> Option<Reached> {
        let looks = self.looks.as_ref()?;
        Some(looks.reached(&self.view(), self.player.completed()))
    }

    fn view(&self) -> View<'_> {
        let begin = self.begin.as_ref().map(|counters| counters.ftl).unwrap_or_default();
        View { recorder: self.recorder, marks: &self.marks, machine: self.machine, begin: (begin, self.headroom) }
    }

    /// Looks at the measures if enough windows have closed since the last look.
    fn look(&mut self) {
        // Before a warm-up is cut there is nothing to look at.
        if self.cut < Time::MAX || self.ramp {
            return;
        }
        if let Some(mut looks) = self.looks.take() {
            if looks.is_due(self.recorder) {
                looks.look(&self.view());
                self.watch_at = looks.watch_at(self.watch_at);
            }
            self.looks = Some(looks);
        }
    }

    /// Handles events of several drives, like [`Machine::advance`].
    fn advance_several(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        let several = self.several.as_mut().expect("the run has several drives");
        let stopped = several.advance(self.machine, until, completions);
        self.now = stopped.unwrap_or(self.now);
        stopped.is_some()
    }

    /// Submits a request to one of several drives.
    fn submit_several(&mut self, io: u32, job: u16, request: Request) {
        let several = self.several.as_mut().expect("the run has several drives");
        several.submit(self.machine, self.now, io, job, request);
    }

    /// Takes a snapshot of the counters before the first request that ends at or after `at` is recorded.
    fn mark(&mut self, at: Time) {
        let requests = self.player.completed().saturating_sub(1);
        let counters = match &mut self.several {
            None => Counters::read(self.machine, at, requests),
            Some(several) => several.counters(self.machine, at, requests),
        };
        let state = MachineState::read(self.machine);
        if std::mem::take(&mut self.ramp) {
            (self.begin, self.headroom) = (Some(counters.clone()), state.headroom);
        }
        if at >= self.cut {
            let cut = std::mem::replace(&mut self.cut, Time::MAX);
            (self.begin, self.headroom) = (Some(counters.clone()), state.headroom);
            self.marks.add(Mark { boundary: cut.min(self.recorder.ends()), counters, state });
            self.recorder.finish();
            let next = Recorder::beginning(self.recorder.jobs(), cut);
            self.before = Some((std::mem::replace(self.recorder, next), std::mem::take(&mut self.marks)));
            self.recorder.advance(at);
        } else if at >= self.recorder.ends() {
            self.marks.add(Mark { boundary: self.recorder.ends(), counters, state });
            self.recorder.advance(at);
            self.marks.thin(self.recorder.origin(), self.recorder.window());
            self.look();
        }
        self.next_mark = self.cut.min(self.recorder.ends());
    }

    fn fly(&mut self, watch: &mut dyn FnMut(Progress) -> bool) -> Result<(), RunError> {
        let mut completions = Vec::new();
        loop {
            let wake = match self.issue()? {
                Next::Finished => return Ok(()),
                Next::At(at) => at,
                _ => Time::MAX,
            };
            let stopped = if self.several.is_none() {
                let stopped = self.machine.advance(wake, &mut completions);
                if stopped {
                    self.now = self.machine.now();
                }
                stopped
            } else {
                rarely(self, |it| it.advance_several(wake, &mut completions))
            };
            if stopped {
                for completion in &completions {
                    self.take(*completion);
                }
                completions.clear();
            } else {
                assert!(wake < Time::MAX, "requests are outstanding but no event is pending");
                self.now = wake;
            }
            let done = self.player.completed();
            if done >= self.watch_at {
                if self.looks.as_ref().is_some_and(|looks| looks.ends(done)) {
                    return Ok(());
                }
                self.watch_at = done + WATCH_EVERY;
                self.course.sample(&self.machine.ftl().stats());
                if self.requests.as_ref().is_some_and(|requests| !requests.are_written()) {
                    return Ok(());
                }
                let fraction = match &mut self.looks {
                    Some(looks) => {
                        let fraction = looks.limit(done, self.machine);
                        self.watch_at = looks.watch_at(self.watch_at);
                        fraction
                    }
                    None => self.player.progress().fraction,
                };
                if !watch(Progress { fraction, now: self.now, done }) {
                    return Err(RunError::Interrupted);
                }
            }
        }
    }

    /// Issues all requests that are due and returns the reason why no more can be issued.
    fn issue(&mut self) -> Result<Next, RunError> {
        loop {
            let next = match self.player.next_at_once(self.now) {
                Some(next) => next,
                None => self.player.next_otherwise(self.now)?,
            };
            match next {
                Next::Issue(Io { id, job, request, .. }) if self.several.is_none() => {
                    self.machine.submit(self.now, id, job, request);
                }
                Next::Issue(Io { id, job, request, .. }) => {
                    rarely(self, move |it| it.submit_several(id, job, request));
                }
                other => return Ok(other),
            }
        }
    }

    fn take(&mut self, completion: Completion) {
        let Completion { io, status, submitted, at } = completion;
        let workload::Ended { job, op, bytes, due, issued, measured } = self.player.complete(at, io);
        if measured {
            if at >= self.next_mark {
                self.mark(at);
            }
            self.recorder.ended(&Ended { job, op, bytes, status, due, issued, submitted, at });
        }
        if self.attends || !status.is_ok() {
            rarely(self, move |it| {
                it.attend(io, &Ended { job, op, bytes, status, due, issued, submitted, at }, measured)
            });
        }
    }

    /// Logs the request `io` that has ended, if logs are written, and ends its job if it failed or took too long.
    fn attend(&mut self, io: u32, ended: &Ended, measured: bool) {
        let Ended { job, op, status, due, at, .. } = *ended;
        if let Some(requests) = &mut self.requests
            && let Some(traced) = traced(self.machine, self.several.as_deref_mut(), at, io)
        {
            requests.add(ended, traced, measured);
        }
        if !status.is_ok() && self.player.failed(job, op) {
            self.failed.push(FailedJob { job, status: Some(status), at });
        } else if self.player.exceeds_latency(job, op, at - due) {
            self.failed.push(FailedJob { job, status: None, at });
        }
    }
}

/// Returns where the time of a completed request went, if a trace is kept.
#[inline]
fn traced<'a>(machine: &'a mut Machine, several: Option<&'a mut Several>, at: Time, io: u32) -> Option<Traced<'a>> {
    match several {
        None => machine.traced(at, io),
        Some(several) => several.traced(machine, at, io),
    }
}
