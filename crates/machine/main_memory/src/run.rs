//! A run of programs on a machine that simulates their loads and stores, and its results.

use std::path::Path;

use host::cpu::{Cpu, Effects, Kernel, PAGE, ThreadStats};
use host::linux::Structures;
use media::{LINE, LineRequest, Op, Status};
use serde_json::{Map, Value, json};
use sim::{Energy, Streams, Time};
use workload::JobInfo;
use workload::memory::Arrivals;
use workload::program::{InitialState, Programs};

use super::calls::{CALL, Calls, FLUSH};
use super::drive::Drive;
use super::frames::Frames;
use super::in_memory::InMemory;
pub use super::outcome::{MemoryError, MemoryOutcome};
use super::{MainMemory, Reading, traffic};
use storage::notes::{Kind, Note, entries};
use storage::record::{Ended, Recorder};
use storage::run::{Progress, RunOptions, WATCH_EVERY};
use system::System;
use system::memory::Files;

/// A kernel and the devices that it drives.
pub trait World: Kernel {
    /// Returns the time of its next event.
    fn next_event(&self) -> Option<Time>;
    /// Advances to `now`.
    fn advance(&mut self, now: Time);
    /// Returns its actions since the last call.
    fn effects(&mut self) -> &mut Effects;
    /// Returns the energy of its devices until `end`, since measuring began and for the whole run; `None` without
    /// devices.
    fn energy(&self, end: Time) -> Option<(Energy, Energy)>;
    /// Returns the counters since measuring began and for the whole run, for the summary.
    fn report(&mut self, end: Time) -> (Map<String, Value>, Map<String, Value>);
    /// Notes that an access to the kernel's own memory for `thread` is done at `at`, now or later.
    fn accessed(&mut self, thread: u16, at: Time);
    /// Notes that memory has served a call of `thread`.
    fn called(&mut self, thread: u16, at: Time);
    /// Begins measuring.
    fn begin(&mut self, now: Time);
}

/// Runs the programs of a file, or the accesses of a memory trace, on the machine of `system`. `watch` receives the progress and returns whether to
/// continue.
///
/// # Errors
/// If the programs are invalid or do not fit.
///
/// # Panics
/// If the system has no main memory, or the model breaks one of its invariants.
pub fn run(
    system: &System,
    path: &Path,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<MemoryOutcome, MemoryError> {
    let streams = Streams::new(options.seed);
    if path.extension().is_none_or(|extension| extension != "toml")
        && let Some(arrivals) = Arrivals::survey(path).map_err(workload::Error::from)?
    {
        return traffic::run(system, path, &arrivals, options, watch);
    }
    let programs = Programs::open(path, &streams)?;
    let file = path.display().to_string();
    let mut memory = MainMemory::new(system, &streams)?;
    if system.memory.files == Files::Drive {
        let world = Drive::new(system, &programs, &streams, options.cache.as_deref())?;
        let flight = Flight::new(system, programs, memory, Frames::of(system, &streams), world);
        return flight.logging(options.log).fly(system, &file, watch);
    }
    let (found, usable) = (programs.bytes(), system.usable_memory());
    let structures = system.kernel.structures.then(|| Structures::new(super::drive::areas(&programs), usable));
    let room = structures.as_ref().map_or(usable, Structures::first);
    if found > room {
        return Err(MemoryError::Room { file, found: sim::units::show_size(found), room: sim::units::show_size(room) });
    }
    let frames = Frames::of(system, &streams);
    for region in programs.regions() {
        match (region.initial, &frames) {
            (InitialState::Existing, _) => {}
            (InitialState::Written, None) => memory.was_written(region.base, region.bytes),
            (InitialState::Written, Some(frames)) => {
                frames.parts(region.base, region.bytes).for_each(|(at, bytes)| memory.was_written(at, bytes));
            }
            (InitialState::Allocated, None) => memory.is_allocated(region.base, region.bytes),
            (InitialState::Allocated, Some(frames)) => {
                frames.parts(region.base, region.bytes).for_each(|(at, bytes)| memory.is_allocated(at, bytes));
            }
        }
    }
    memory.is_set_up();
    let keeps = matches!(memory, MainMemory::Hybrid(_));
    let structures = structures.map(|structures| (structures, frames.clone()));
    let world = InMemory::new(&programs, system.kernel, keeps, structures, &streams);
    Flight::new(system, programs, memory, frames, world).logging(options.log).fly(system, &file, watch)
}

/// Returns the decimals that show four significant digits of a nonzero number.
fn digits(number: f64) -> usize {
    if number > 0.0 { (3.0 - number.log10().floor()).clamp(4.0, 12.0) as usize } else { 4 }
}

/// First request number of devices; those of the processor and of calls are lower.
const DEVICE: u32 = 1 << 31;

/// The running machine: programs, a processor, a kernel and main memory.
pub(crate) struct Flight<W: World> {
    programs: Programs,
    cpu: Cpu,
    memory: MainMemory,
    /// Placement of pages; `None`: consecutive.
    frames: Option<Frames>,
    world: W,
    recorder: Recorder,
    /// The program of each thread.
    program_of: Vec<u16>,
    device_lines: u32,
    calls: Calls,
    fills: u64,
    /// Measuring: whether it has begun; when, until the counters at that time are read; and that reading.
    begun: bool,
    unread: Option<Time>,
    reading: Option<Reading>,
    /// Modified lines of the processor's caches, and dirty pages of the DRAM cache, when measuring began.
    modified: (u64, u64),
}

/// Change of the modified data in caches during a run, as a share of what they wrote back, up to which its wear is that of
/// a longer run: the bound of a drive's headroom.
const STEADY: f64 = 0.02;

/// Returns why the run's wear is not that of a longer run, if so: a cache took or lost modified data. `lines`, `pages`: of
/// the processor's caches and the DRAM cache, the modified data before and after, and what was written back.
fn caches_note(lines: (u64, u64, u64), pages: (u64, u64, u64)) -> Option<Note> {
    let change = |(before, after, written): (u64, u64, u64)| {
        let change = before.abs_diff(after);
        (change as f64 > STEADY * written as f64).then_some((if after > before { "took" } else { "lost" }, change))
    };
    let text = match (change(lines), change(pages)) {
        (Some((what, change)), _) => {
            format!("lifetime: the processor's caches {what} {change} modified lines while they wrote {} back", lines.2)
        }
        (None, Some((what, change))) => {
            format!("lifetime: the DRAM cache {what} {change} modified pages while it wrote {} to flash", pages.2)
        }
        (None, None) => return None,
    };
    Some(Note::new(Kind::FillingCaches, text))
}

impl<W: World> Flight<W> {
    pub(crate) fn new(
        system: &System,
        programs: Programs,
        memory: MainMemory,
        frames: Option<Frames>,
        world: W,
    ) -> Flight<W> {
        let cpu = Cpu::new(system.cpu, programs.threads(), programs.uncached());
        let program_of = programs
            .programs()
            .iter()
            .enumerate()
            .flat_map(|(number, program)| std::iter::repeat_n(number as u16, usize::from(program.threads)))
            .collect();
        let recorder = Recorder::new(programs.programs().len());
        Flight {
            programs,
            cpu,
            memory,
            frames,
            world,
            recorder,
            program_of,
            device_lines: 0,
            calls: Calls::default(),
            fills: 0,
            begun: false,
            unread: None,
            reading: None,
            modified: (0, 0),
        }
    }

    /// Keeps a log of the lines that programs waited for, if `log`.
    fn logging(mut self, log: bool) -> Flight<W> {
        if log {
            self.recorder.keep_log();
        }
        self
    }

    /// Runs to the end.
    pub(crate) fn fly(
        mut self,
        system: &System,
        file: &str,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<MemoryOutcome, MemoryError> {
        let (mut done, mut requests) = (Vec::new(), Vec::new());
        let (mut turns, mut now) = (0_u64, Time::ZERO);
        while !self.cpu.ended() {
            let memory = self.memory.next_event().unwrap_or(Time::MAX);
            let world = self.world.next_event().unwrap_or(Time::MAX);
            let cpu = self.cpu.next_event().unwrap_or(Time::MAX);
            let next = memory.min(world).min(cpu);
            assert!(next < Time::MAX, "threads have not ended, and nothing is under way");
            now = now.max(next);
            if self.unread.is_some_and(|begun| begun <= next) {
                self.read_memory();
            }
            if memory == next {
                self.memory.advance_to_completion(world.min(cpu), &mut done);
                for (id, at) in done.drain(..) {
                    self.answered(id, at);
                }
            } else if world == next {
                self.world.advance(world);
                self.take_effects(world);
            } else {
                self.cpu.advance(memory.min(world), &mut self.world, &mut self.programs, &mut requests);
                self.submit(&mut requests);
                self.take_effects(cpu);
                if !self.begun && self.cpu.begun() > Time::ZERO {
                    self.begun = true;
                    let next = Recorder::beginning(self.programs.programs().len(), self.cpu.begun());
                    let logs = self.recorder.keeps_log();
                    self.recorder = next;
                    self = self.logging(logs);
                    self.world.begin(self.cpu.begun());
                    self.modified.0 = self.cpu.modified_lines();
                    self.unread = Some(self.cpu.begun());
                }
            }
            turns += 1;
            if turns.is_multiple_of(WATCH_EVERY) && !watch(Progress { fraction: 0.0, now, done: self.fills }) {
                return Err(MemoryError::Interrupted);
            }
        }
        if let Some(error) = self.programs.take_error() {
            return Err(MemoryError::Workload(error.into()));
        }
        if self.cpu.instructions() == 0 {
            return Err(MemoryError::Empty { file: file.to_owned() });
        }
        if let Some(error) = self.memory.fault() {
            return Err(MemoryError::Failed(error.clone()));
        }
        Ok(self.outcome(system))
    }

    /// Reads the memory's counters at the time at which measuring began, once no earlier event remains.
    fn read_memory(&mut self) {
        if let Some(begun) = self.unread.take() {
            let reading = self.memory.reading(begun);
            let pages = self.memory.dirty_and_written(&reading, None).map_or(0, |(dirty, _)| dirty);
            self.reading = Some(reading);
            self.modified.1 = pages;
        }
    }

    fn answered(&mut self, id: u32, at: Time) {
        if id >= DEVICE {
            return;
        }
        if id >= CALL {
            let thread = (id - CALL) as u16;
            self.world.called(thread, at);
            return self.cpu.resume(thread, at);
        }
        if id >= FLUSH {
            return self.calls.accepted(at, id, &mut self.memory);
        }
        if let Some(filled) = self.cpu.complete(id, at) {
            if filled.kernel != 0 {
                let waits = |thread: &u16| filled.kernel & 1 << thread != 0;
                return (0..self.programs.threads()).filter(waits).for_each(|thread| self.world.accessed(thread, at));
            }
            self.fills += 1;
            let asked = filled.requested;
            if asked < self.cpu.begun() {
                return;
            }
            let job = self.program_of[usize::from(filled.thread)];
            let (bytes, status) = (LINE, Status::Ok);
            self.recorder.ended(&Ended {
                job,
                op: Op::Read,
                bytes,
                status,
                due: asked,
                issued: asked,
                submitted: asked,
                at,
            });
        }
    }

    fn take_effects(&mut self, now: Time) {
        let effects = self.world.effects();
        if effects.is_empty() {
            return;
        }
        for page in effects.forgotten.drain(..) {
            self.cpu.forget_translation(page);
        }
        for page in effects.overwritten.drain(..) {
            self.cpu.overwritten(page);
        }
        for (address, kind) in effects.lines.drain(..) {
            let id = DEVICE + self.device_lines;
            self.device_lines = (self.device_lines + 1) % DEVICE;
            let address = self.frames.as_ref().map_or(address, |frames| frames.place(address));
            self.memory.submit(now, LineRequest { id, address, kind });
        }
        let mut requests = Vec::new();
        let accesses = std::mem::take(&mut effects.accesses);
        for (thread, at) in effects.resumed.drain(..) {
            self.cpu.resume(thread, at);
        }
        for call in effects.calls.drain(..) {
            self.calls.begin(now, call, &mut self.cpu, self.frames.as_ref(), &mut self.memory);
        }
        for access in accesses {
            if let Some(at) = self.cpu.access_for_kernel(now, access, &mut requests) {
                self.world.accessed(access.0, at);
            }
        }
        self.submit(&mut requests);
    }

    fn submit(&mut self, requests: &mut Vec<(Time, LineRequest)>) {
        for (at, mut request) in requests.drain(..) {
            if let Some(frames) = &self.frames {
                request.address = frames.place(request.address);
            }
            self.memory.submit(at, request);
        }
    }

    fn outcome(mut self, system: &System) -> MemoryOutcome {
        self.recorder.finish();
        self.read_memory();
        let threads = self.cpu.thread_stats();
        let begun = self.cpu.begun();
        let end = threads.iter().map(|thread| thread.end).max().unwrap_or(Time::ZERO);
        let span = end.saturating_sub(begun);
        let cycle = self.cpu.config().cycle();
        let sum = |of: fn(&ThreadStats) -> u64| threads.iter().map(of).sum::<u64>();
        let instructions = sum(|thread| thread.instructions);
        let cycles = span.ps() as f64 / cycle.ps() as f64;
        let shared = self.cpu.stats();
        let ipc = if cycles > 0.0 { instructions as f64 / cycles } else { 0.0 };
        let kernel: Time = threads.iter().map(|thread| thread.kernel).fold(Time::ZERO, |sum, each| sum + each);
        let reading = self.memory.reading(end);
        let before = self.reading.map_or(Energy::ZERO, |begun| begun.energy);
        let drive = self.world.energy(end);
        let energy_of = |memory: Energy, drive: Option<Energy>| {
            let mut energy = json!({ "memory": memory.joules(), "total": memory.joules() });
            if let Some(drive) = drive {
                energy["drive"] = drive.joules().into();
                energy["total"] = (memory + drive).joules().into();
            }
            energy
        };
        let energy = energy_of(reading.energy - before, drive.map(|(window, _)| window));
        let mut whole_run = Map::new();
        whole_run.insert("energy_j".to_owned(), energy_of(reading.energy, drive.map(|(_, whole_run)| whole_run)));
        whole_run.extend(self.memory.report(&reading, None));
        let program_bytes: u64 = self.programs.regions().iter().map(|region| region.bytes).sum();
        let mut notes = vec![Note::new(
            Kind::Remark,
            format!("{ipc:.*} user instructions a cycle: {instructions} in {:.6} s", digits(ipc), span.secs_f64()),
        )];
        if let Some((pages, written)) = self.memory.dirty_and_written(&reading, self.reading.as_ref())
            && written > 0
        {
            let lines = (self.modified.0, self.cpu.modified_lines(), shared.write_backs);
            notes.extend(caches_note(lines, (self.modified.1, pages, written)));
        }
        let mut inside = json!({
            "system": system.title,
            "system_hash": system.content_hash(),
            "simulated_s": end.secs_f64(),
            "measured_s": span.secs_f64(),
            "requests": shared.fills,
            "preparation": { "kind": "none", "passes": 0, "write_amplification": null, "approximate": false },
            "warm_up": { "cut_s": begun.secs_f64(), "rule": "as asked" },
            "window": { "from_s": begun.secs_f64(), "span_s": span.secs_f64(), "requests": shared.fills },
            "cpu": {
                "threads": threads.len(),
                "instructions": instructions,
                "cycles": cycles,
                "ipc": ipc,
                "loads": sum(|thread| thread.loads),
                "stores": sum(|thread| thread.stores),
                "l1_hits": sum(|thread| thread.l1_hits),
                "l2_hits": sum(|thread| thread.l2_hits),
                "llc_hits": shared.llc_hits + shared.llc_merged,
                "fills": shared.fills,
                "write_backs": shared.write_backs,
                "kernel_entries": sum(|thread| thread.kernel_entries),
                "kernel_s": kernel.secs_f64(),
            },
            "memory": {
                "bytes": self.memory.bytes(),
                "programs_bytes": program_bytes,
                "programs_pages": program_bytes.div_ceil(PAGE),
            },
            "energy_j": energy,
            "busy": {},
            "notes": entries(&notes),
        });
        if let Value::Object(all) = &mut inside {
            let (window, whole) = self.world.report(end);
            all.extend(self.memory.report(&reading, self.reading.as_ref()).into_iter().chain(window));
            whole_run.extend(whole);
            all.insert("whole_run".to_owned(), whole_run.into());
        }
        let jobs = self
            .programs
            .programs()
            .iter()
            .map(|program| JobInfo {
                name: program.kind.clone(),
                group: 0,
                starts_later: false,
                options: program.options.clone(),
                inherited: 0,
            })
            .collect();
        MemoryOutcome { recorder: self.recorder, jobs, begun, end, fills: shared.fills, inside }
    }
}
