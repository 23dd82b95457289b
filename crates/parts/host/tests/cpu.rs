//! Compares the processor with simple models: its caches with lists, and its window with a simulation of each
//! instruction.

use std::collections::VecDeque;

use host::cpu::{Bare, Cpu, CpuConfig, Kernel, L1, L2, Llc};
use media::{Act, LineKind, LineRequest, Step, Steps};
use proptest::prelude::*;
use sim::{Rng, Streams, Time};

/// A list of steps for each thread, delivered at once.
struct Listed(Vec<Vec<Step>>);

impl Steps for Listed {
    fn next(&mut self, thread: u16, steps: &mut Vec<Step>) {
        steps.append(&mut self.0[usize::from(thread)]);
    }
}

/// Runs the processor with a memory that answers each request after `latency`, and returns the requests.
fn run<K: Kernel>(cpu: &mut Cpu, kernel: &mut K, mut steps: Listed, latency: Time) -> Vec<(Time, LineRequest)> {
    let (mut requested, mut requests, mut in_flight) = (Vec::new(), Vec::new(), VecDeque::new());
    loop {
        let due = in_flight.front().map_or(Time::MAX, |(at, _): &(Time, u32)| *at);
        match cpu.next_event() {
            Some(next) if next < due => {
                cpu.advance(due, kernel, &mut steps, &mut requests);
                for (at, request) in requests.drain(..) {
                    requested.push((at, request));
                    in_flight.push_back((at + latency, request.id));
                }
            }
            _ => match in_flight.pop_front() {
                Some((at, id)) => _ = cpu.complete(id, at),
                None => break,
            },
        }
    }
    assert!(cpu.ended(), "no request is in flight, but a thread has not ended");
    assert!(requested.is_sorted_by_key(|(at, _)| *at), "time decreased");
    requested
}

/// Cycles of 400 ps.
fn config() -> CpuConfig {
    CpuConfig {
        clock: 2_500_000_000,
        cores: None,
        width: 4,
        window: 32,
        stores: 4,
        misses: 3,
        write_backs: 1000,
        caches: true,
        l1: L1 { size: 512, ways: 2, latency: 4 },
        l2: L2 { size: 2048, ways: 4, latency: 12 },
        llc: Llc { size: 8192, ways: 4, latency: 36 },
    }
}

fn draw(rng: &mut Rng, lines: u64, stores: bool) -> Step {
    let act = match rng.below(4) {
        0 if stores => Act::Store,
        1 if rng.chance(0.1) => Act::OrderedLoad,
        _ => Act::Load,
    };
    // Choose near lines often, and far ones sometimes.
    let line = if rng.chance(0.7) { rng.below(lines / 8) } else { rng.below(lines) };
    Step {
        instructions: rng.below(6) as u32 * rng.below(6) as u32,
        act,
        bytes: 8,
        address: line * 64 + rng.below(8) * 8,
    }
}

/// A model of a cache: a list of lines per set, each with its modified flag, the most recently used first.
struct List {
    sets: Vec<Vec<(u64, bool)>>,
    ways: usize,
}

impl List {
    fn new(bytes: u64, ways: u32) -> List {
        List { sets: vec![Vec::new(); (bytes / 64 / u64::from(ways)) as usize], ways: ways as usize }
    }

    fn use_line(&mut self, line: u64, dirty: bool) -> bool {
        let set = line as usize % self.sets.len();
        let set = &mut self.sets[set];
        let Some(at) = set.iter().position(|(hit, _)| *hit == line) else { return false };
        let (_, was) = set.remove(at);
        set.insert(0, (line, was || dirty));
        true
    }

    /// Inserts a line, and returns the modified line that it evicts.
    fn insert_line(&mut self, line: u64, dirty: bool) -> Option<u64> {
        let set = line as usize % self.sets.len();
        let set = &mut self.sets[set];
        set.insert(0, (line, dirty));
        if set.len() <= self.ways {
            return None;
        }
        let (line, dirty) = set.pop().expect("the set is overfull");
        dirty.then_some(line)
    }
}

/// A model of all three levels, which records the requests to memory. `access` returns the level that hit, or 0.
struct Lists {
    l1: List,
    l2: List,
    llc: List,
    requested: Vec<(LineKind, u64)>,
}

impl Lists {
    fn new(config: &CpuConfig) -> Lists {
        Lists {
            l1: List::new(config.l1.size, config.l1.ways),
            l2: List::new(config.l2.size, config.l2.ways),
            llc: List::new(config.llc.size, config.llc.ways),
            requested: Vec::new(),
        }
    }

    fn access(&mut self, line: u64, store: bool) -> u32 {
        if self.l1.use_line(line, store) {
            return 1;
        }
        if self.l2.use_line(line, false) {
            self.fill_l1(line, store);
            return 2;
        }
        let hit = self.llc.use_line(line, false);
        if !hit {
            self.requested.push((LineKind::Fill, line));
            let victim = self.llc.insert_line(line, false);
            self.write_back(victim);
        }
        if let Some(victim) = self.l2.insert_line(line, false) {
            self.spill(victim);
        }
        self.fill_l1(line, store);
        if hit { 3 } else { 0 }
    }

    fn fill_l1(&mut self, line: u64, store: bool) {
        if let Some(victim) = self.l1.insert_line(line, store)
            && !self.l2.use_line(victim, true)
            && let Some(victim) = self.l2.insert_line(victim, true)
        {
            self.spill(victim);
        }
    }

    fn spill(&mut self, line: u64) {
        if !self.llc.use_line(line, true) {
            let victim = self.llc.insert_line(line, true);
            self.write_back(victim);
        }
    }

    fn write_back(&mut self, line: Option<u64>) {
        self.requested.extend(line.map(|line| (LineKind::WriteBack, line)));
    }
}

/// Simulates the window instruction by instruction, with a memory of constant latency. Returns when the last
/// instruction retires.
fn window(config: &CpuConfig, steps: &[Step], latency: u64) -> u64 {
    let (slot, width) = (config.slot(), config.window as usize);
    let mut caches = Lists::new(config);
    // The retirement time of each instruction, and the time at which each store drains, in order.
    let (mut retires, mut drains): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut fills: Vec<(u64, u64)> = Vec::new();
    let mut clock = 0;
    let mut requested = 0;
    for step in steps {
        for part in 0..=step.instructions {
            let at = retires.len();
            let mut now: u64 = clock + slot;
            if at >= width {
                now = now.max(retires[at - width]);
            }
            let before = retires.last().copied().unwrap_or(0);
            let mut done = now;
            if part == step.instructions {
                let (line, store) = (step.address / 64, step.act == Act::Store);
                if store && drains.len() >= config.stores as usize {
                    // Stores that drain at once, or already have, never stall dispatch.
                    now = now.max(drains[drains.len() - config.stores as usize]);
                }
                if step.act == Act::OrderedLoad {
                    now = now.max(before).max(drains.last().copied().unwrap_or(0));
                }
                done = now;
                let level = caches.access(line, store);
                let to_l2 = 400 * u64::from(config.l1.latency + config.l2.latency);
                let to_llc = to_l2 + 400 * u64::from(config.llc.latency);
                let pending = fills.iter().rev().find(|(hit, _)| *hit == line).map_or(0, |(_, at)| *at);
                match level {
                    0 => {
                        let mut ask = (now + to_llc).max(requested);
                        let mut open: Vec<u64> = fills.iter().map(|(_, at)| *at).filter(|at| *at > ask).collect();
                        open.sort_unstable();
                        if open.len() >= config.misses as usize {
                            ask = open[open.len() - config.misses as usize];
                            now = now.max(ask);
                        }
                        requested = ask;
                        done = ask + latency;
                        fills.push((line, done));
                    }
                    1 if pending > now => done = pending,
                    2 => done = pending.max(now + to_l2),
                    3 => {
                        requested = requested.max(now + to_llc);
                        done = if pending > requested { pending } else { requested };
                    }
                    _ => {}
                }
                if store {
                    // A hit drains at once; a miss waits for its line.
                    let fill = if level == 0 { done } else { pending.max(now) };
                    drains.push(fill.max(drains.last().copied().unwrap_or(0)));
                    done = now;
                }
            }
            clock = now;
            retires.push(done.max(if retires.is_empty() { 0 } else { before + slot }));
        }
    }
    retires.last().copied().unwrap_or(0).max(drains.last().copied().unwrap_or(0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn caches_match_a_list_model(seed in 0u64..1 << 32, lines in 16u64..1024, latency in 1u64..200) {
        let mut rng = Streams::new(seed).stream("cpu");
        let steps: Vec<Step> = (0..4000).map(|_| draw(&mut rng, lines, true)).collect();
        let config = config();
        let (mut lists, mut hits) = (Lists::new(&config), [0u64; 4]);
        for step in &steps {
            hits[lists.access(step.address / 64, step.act == Act::Store) as usize] += 1;
        }
        let mut cpu = Cpu::new(config, 1, 0);
        let requested = run(&mut cpu, &mut Bare, Listed(vec![steps]), Time::from_ns(latency));
        let requested: Vec<_> = requested.iter().map(|(_, request)| (request.kind, request.address / 64)).collect();
        prop_assert_eq!(requested, lists.requested);
        let (threads, all) = (cpu.thread_stats()[0], cpu.stats());
        prop_assert_eq!([all.fills, threads.l1_hits, threads.l2_hits, all.llc_hits + all.llc_merged], hits);
    }

    #[test]
    fn the_window_matches_an_instruction_level_model(
        seed in 0u64..1 << 32, lines in 16u64..1024, latency in 1u64..200, length in 1usize..400,
    ) {
        let (end, expected) = end_times(seed, lines, latency, length);
        prop_assert_eq!(end, expected);
    }
}

/// Returns when random steps end, according to the processor and to the model. The latency is in nanoseconds.
fn end_times(seed: u64, lines: u64, latency: u64, length: usize) -> (u64, u64) {
    let mut rng = Streams::new(seed).stream("window");
    let steps: Vec<Step> = (0..length).map(|_| draw(&mut rng, lines, true)).collect();
    let config = config();
    let expected = window(&config, &steps, latency * 1000);
    let mut cpu = Cpu::new(config, 1, 0);
    run(&mut cpu, &mut Bare, Listed(vec![steps]), Time::from_ns(latency));
    (cpu.thread_stats()[0].end.ps(), expected)
}

#[test]
fn an_access_waits_for_a_line_that_arrives_between_dispatch_and_lookup() {
    let (end, expected) = end_times(1_403_536_715, 208, 8, 35);
    assert_eq!((end, expected), (237_500, 237_500));
}

fn step(instructions: u32, act: Act, line: u64) -> Step {
    Step { instructions, act, bytes: 8, address: line * 64 }
}

fn end_of(config: CpuConfig, threads: Vec<Vec<Step>>) -> (Cpu, Vec<(Time, LineRequest)>) {
    let mut cpu = Cpu::new(config, threads.len() as u16, 0);
    let requested = run(&mut cpu, &mut Bare, Listed(threads), Time::from_us(1));
    (cpu, requested)
}

/// Duration of a miss: the latencies down to the last-level cache's result, and a microsecond of memory.
const MISS: u64 = 1600 + 4800 + 14400 + 1_000_000;

#[test]
fn loads_overlap_within_the_window_and_not_beyond() {
    let config = CpuConfig { misses: 10, ..config() };
    let at = |threads| end_of(config, threads).0.thread_stats()[0].end.ps();
    assert_eq!(at(vec![vec![step(0, Act::Load, 1)]]), 100 + MISS);
    // Both loads are in one window: the second is one slot later.
    assert_eq!(at(vec![vec![step(0, Act::Load, 1), step(0, Act::Load, 99)]]), 200 + MISS);
    // The second load is dispatched when the first has retired.
    let apart = at(vec![vec![step(0, Act::Load, 1), step(31, Act::Load, 99)]]);
    assert_eq!(apart, 100 + 2 * MISS);
    // An ordered load waits for everything before it.
    assert_eq!(at(vec![vec![step(0, Act::Load, 1), step(0, Act::OrderedLoad, 99)]]), 100 + 2 * MISS);
}

#[test]
fn stores_leave_the_window_until_their_buffer_is_full() {
    let run = |count: u64| {
        let steps = (0..count).map(|n| step(60, Act::Store, n * 7)).collect();
        end_of(CpuConfig { misses: 10, ..config() }, vec![steps]).0.thread_stats()[0].end.ps()
    };
    // The fourth store is dispatched without waiting for the first.
    assert_eq!(run(4), 4 * 6100 + MISS);
    // The fifth waits until the first is in the cache.
    assert_eq!(run(5), 6100 + 2 * MISS);
}

#[test]
fn miss_registers_limit_outstanding_misses() {
    let steps = (0..4).map(|n| step(0, Act::Load, n * 7)).collect();
    let (cpu, _) = end_of(config(), vec![steps]);
    // The fourth load is requested when the first has arrived.
    assert_eq!(cpu.thread_stats()[0].end.ps(), 100 + MISS + 1_000_000);
}

#[test]
fn one_fill_serves_all_concurrent_requests() {
    let same = || vec![step(0, Act::Load, 5), step(2, Act::Load, 5)];
    let (cpu, requested) = end_of(config(), vec![same(), same(), same()]);
    assert_eq!(requested.len(), 1);
    assert_eq!(cpu.stats().llc_merged, 2);
    assert!(cpu.thread_stats().iter().all(|thread| thread.end == cpu.thread_stats()[0].end));
}

/// A kernel whose pages arrive after 10 us, in frames in the order of their faults, and are never evicted.
struct Faults(Vec<u64>, Vec<u64>);

impl Kernel for Faults {
    fn translate(&mut self, _: u16, page: u64, store: bool) -> Option<u64> {
        let frame = self.0.iter().position(|hit| *hit == page)?;
        if store && !self.1.contains(&page) {
            self.1.push(page);
        }
        Some(frame as u64)
    }
    fn fault(&mut self, now: Time, _: u16, page: u64, _: bool) -> Option<Time> {
        self.0.push(page);
        Some(now + Time::from_us(10))
    }
    fn call(&mut self, now: Time, _: u16, step: &Step) -> Option<Time> {
        Some(now + Time::from_ns(u64::from(step.bytes)))
    }
}

#[test]
fn faults_and_calls_take_the_kernels_time() {
    let steps = vec![
        step(0, Act::Load, 64 * 1000),
        step(0, Act::Load, 64 * 1000 + 1),
        Step { instructions: 9, act: Act::Read, bytes: 500, address: 0 },
        step(0, Act::Load, 64 * 77),
        step(0, Act::Store, 64 * 1000),
    ];
    let mut kernel = Faults(Vec::new(), Vec::new());
    let mut cpu = Cpu::new(config(), 1, 0);
    let requested = run(&mut cpu, &mut kernel, Listed(vec![steps]), Time::from_us(1));
    assert_eq!(requested.iter().map(|(_, request)| request.address).collect::<Vec<_>>(), [0, 64, 4096]);
    assert_eq!((kernel.0, kernel.1), (vec![1000, 77], vec![1000]));
    let thread = cpu.thread_stats()[0];
    assert_eq!((thread.kernel_entries, thread.instructions), (3, 14));
    assert_eq!(thread.kernel, Time::from_ns(20_500));
    // The fault, both loads, the call once they have retired, the next load's dispatch, its fault, and the load.
    assert_eq!(thread.end.ps(), 10_000_100 + 100 + MISS + 900 + 500_000 + 100 + 10_000_000 + MISS + 100);
}

#[test]
fn the_measurement_of_all_threads_starts_together() {
    let begin = || Step { act: Act::Begin, ..Step::default() };
    let threads = vec![
        vec![step(99, Act::Store, 3), begin(), step(9, Act::Load, 100)],
        vec![step(5, Act::Load, 900), step(9999, Act::Load, 901), begin(), step(19, Act::Load, 100)],
        vec![step(1, Act::Load, 500)],
    ];
    let (cpu, _) = end_of(config(), threads);
    // The slowest thread dispatches its second load, and waits for it, after everything one window earlier has retired
    // behind the first.
    assert_eq!(cpu.begun().ps(), 600 + MISS + (10_006 - 32 - 6) * 100 + MISS);
    assert_eq!(cpu.thread_stats()[..2].iter().map(|thread| thread.instructions).collect::<Vec<_>>(), [10, 20]);
    assert_eq!(cpu.stats().fills, 1);
    assert_eq!(cpu.thread_stats()[1].end.ps(), cpu.begun().ps() + 1000 + MISS);
}

/// A kernel in which every call waits for a device for ten microseconds.
#[derive(Default)]
struct Device(Vec<(u16, Time)>);

impl Kernel for Device {
    fn translate(&mut self, _: u16, page: u64, _: bool) -> Option<u64> {
        Some(page)
    }
    fn fault(&mut self, _: Time, thread: u16, page: u64, _: bool) -> Option<Time> {
        unreachable!("thread {thread} faults at page {page:#x}")
    }
    fn call(&mut self, now: Time, thread: u16, _: &Step) -> Option<Time> {
        self.0.push((thread, now + Time::from_us(10)));
        None
    }
}

/// Returns when the last of four threads ends that share `cores`, with memory that takes a microsecond.
fn end_with(cores: u16, steps: &[Step]) -> Time {
    let mut cpu = Cpu::new(CpuConfig { cores: Some(cores), ..config() }, 4, 0);
    let (mut kernel, mut listed) = (Device::default(), Listed(vec![steps.to_vec(); 4]));
    let (mut requests, mut in_flight) = (Vec::new(), VecDeque::new());
    while !cpu.ended() {
        let memory = in_flight.front().map_or(Time::MAX, |(at, _): &(Time, u32)| *at);
        let device = kernel.0.first().map_or(Time::MAX, |(_, at)| *at);
        if cpu.next_event().is_some_and(|at| at < memory.min(device)) {
            cpu.advance(memory.min(device), &mut kernel, &mut listed, &mut requests);
            in_flight.extend(requests.drain(..).map(|(at, request)| (at + Time::from_us(1), request.id)));
        } else if memory <= device {
            let (at, id) = in_flight.pop_front().expect("something is under way");
            cpu.complete(id, at);
        } else {
            let (thread, at) = kernel.0.remove(0);
            cpu.resume(thread, at);
        }
    }
    cpu.thread_stats().iter().map(|thread| thread.end).max().expect("four threads")
}

#[test]
fn a_call_that_waits_frees_its_core_and_a_load_that_waits_holds_it() {
    let calls = [step(0, Act::Read, 0), step(40_000, Act::Load, 0)];
    let at = |cores| end_with(cores, &calls).ps() as f64 / 1e6;
    // All four wait for the device together; then four times 40,000 instructions of 100 ps share the cores.
    assert!((at(4) - 15.0).abs() < 0.3 && (at(1) - 10.0 - 4.0 * 4.0).abs() < 1.3, "{} and {} us", at(4), at(1));
    let loads: Vec<Step> = (0..10).map(|n| step(0, Act::OrderedLoad, 100 + 64 * n)).collect();
    // Threads share the lines, so those that run later find them in the last-level cache or fetch them again.
    let apart: Vec<Step> = loads.iter().map(|each| Step { address: each.address * 64, ..*each }).collect();
    let alone = end_with(4, &apart).ps() as f64;
    let shared = end_with(1, &apart).ps() as f64;
    assert!(shared > 1.5 * alone, "one core: {shared} ps, four cores: {alone} ps");
    assert_eq!(end_with(4, &apart), end_with(64, &apart));
}
