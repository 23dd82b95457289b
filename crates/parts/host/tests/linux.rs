//! Tests the kernel with a drive of random latency: every thread makes progress, no frame has two pages, and pages that
//! are written out are read back from the same place.

use std::collections::BTreeMap;

use host::cpu::Kernel;
use host::linux::{Area, AreaKind, Fsync, Linux, LinuxConfig, Resident};
use media::{Act, Op, Step};
use proptest::prelude::*;
use sim::{Streams, Time};

const PAGE: u64 = 4096;

fn config() -> LinuxConfig {
    LinuxConfig {
        fault: Time::from_ns(1000),
        map: Time::from_ns(500),
        call: Time::from_ns(800),
        write: Time::from_ns(400),
        fsync: Fsync::Sync,
        page: Time::from_ns(300),
        submit: Time::from_ns(4000),
        lock: Time::ZERO,
        complete: Time::from_ns(3000),
        vectors: 64,
        wake: Time::from_ns(2000),
        spread: 0.5,
        structures: false,
        mapped_misses: 100,
        swap_cluster: 8,
        swap_merge: true,
        journal: 2 * PAGE,
    }
}

/// Drives the kernel until a thread continues; commands take 20 to 120 us.
struct Bench {
    linux: Linux,
    rng: sim::Rng,
    in_flight: BTreeMap<(Time, u32), ()>,
    free: Vec<bool>,
    commands: Vec<(Op, u64, u32)>,
}

impl Bench {
    fn new(frames: u32, areas: Vec<Area>, threads: u16, seed: u64) -> Bench {
        let streams = Streams::new(seed);
        Bench {
            linux: Linux::new(config(), frames, areas, threads, &streams),
            rng: streams.stream("bench"),
            in_flight: BTreeMap::new(),
            free: vec![true; usize::from(threads)],
            commands: Vec::new(),
        }
    }

    /// Processes the next event. Returns false if there is none.
    fn step(&mut self) -> bool {
        let drive = self.in_flight.keys().next().copied();
        let (Some(now), _) = (self.linux.next_event().into_iter().chain(drive.map(|(at, _)| at)).min(), ()) else {
            return false;
        };
        while let Some((&(at, id), ())) = self.in_flight.first_key_value()
            && at <= now
        {
            self.in_flight.pop_first();
            self.linux.done(at, id);
        }
        self.linux.advance(now);
        for command in std::mem::take(&mut self.linux.commands) {
            assert!(
                command.page + u64::from(command.pages) <= self.linux.drive_pages(),
                "{command:?} exceeds the drive"
            );
            self.commands.push((command.op, command.page, command.pages));
            let at = now + Time::from_ns(20_000 + self.rng.below(100_000));
            assert!(self.in_flight.insert((at, command.id), ()).is_none());
        }
        for (thread, _) in self.linux.effects.resumed.drain(..) {
            assert!(!std::mem::replace(&mut self.free[usize::from(thread)], true), "thread {thread} did not wait");
        }
        self.linux.effects.lines.clear();
        self.linux.effects.forgotten.clear();
        self.linux.effects.overwritten.clear();
        true
    }

    fn now(&self) -> Time {
        let drive = self.in_flight.keys().next().map(|(at, _)| *at);
        self.linux.next_event().into_iter().chain(drive).min().unwrap_or(Time::ZERO)
    }

    /// Lets a thread fault until it has its page, and returns the frame.
    fn touch(&mut self, now: Time, page: u64, store: bool) -> u64 {
        for _ in 0..100 {
            if let Some(frame) = self.linux.translate(0, page, store) {
                return frame;
            }
            self.free[0] = self.linux.fault(now, 0, page, store).is_some();
            while !self.free[0] {
                assert!(self.step(), "the thread waits without an event");
            }
        }
        panic!("page {page} is always evicted");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_thread_makes_progress_and_no_frame_has_two_pages(seed in 0u64..1 << 32, threads in 1u16..9) {
        let areas = vec![
            Area { first: 0, pages: 300, kind: AreaKind::Anonymous },
            Area { first: 320, pages: 300, kind: AreaKind::Mapped },
            Area { first: 640, pages: 400, kind: AreaKind::File },
        ];
        let mut bench = Bench::new(128, areas, threads, seed);
        for _ in 0..3000 {
            let thread = bench.rng.below(u64::from(threads)) as u16;
            if !bench.free[usize::from(thread)] {
                bench.step();
                continue;
            }
            let now = bench.now();
            let finish = match bench.rng.below(4) {
                0 => {
                    let address = (640 + bench.rng.below(380)) * PAGE + bench.rng.below(PAGE);
                    let bytes = bench.rng.below(20 * PAGE) as u32;
                    let act = [Act::Read, Act::Write, Act::Sync][bench.rng.below(3) as usize];
                    let bytes = if act == Act::Sync { 0 } else { bytes.min((1040 * PAGE - address) as u32) };
                    bench.linux.call(now, thread, &Step { instructions: 0, act, bytes, address })
                }
                area => {
                    let page = if area == 1 { 320 } else { 0 } + bench.rng.below(300);
                    let store = area > 1 && bench.rng.chance(0.5);
                    match bench.linux.translate(thread, page, store) {
                        Some(_) => Some(now),
                        None => bench.linux.fault(now, thread, page, store),
                    }
                }
            };
            bench.free[usize::from(thread)] = finish.is_some();
            let mut seen = BTreeMap::new();
            for page in (0..300).chain(320..620).chain(640..1040) {
                if let Some(frame) = bench.linux.translate(0, page, false) {
                    prop_assert_eq!(seen.insert(frame, page), None, "frame {} has two pages", frame);
                    prop_assert!(frame < 128);
                }
            }
        }
        while bench.step() {}
        prop_assert!(bench.free.iter().all(|free| *free), "a thread waits, but no command is in flight");
    }
}

#[test]
fn swapped_out_pages_are_read_back_from_their_slots() {
    let areas = vec![Area { first: 0, pages: 800, kind: AreaKind::Anonymous }];
    let mut bench = Bench::new(512, areas, 1, 1);
    let mut now = Time::ZERO;
    for page in 0..800 {
        now = now.max(bench.now()) + Time::from_us(50);
        bench.touch(now, page, true);
    }
    while bench.step() {}
    let written: u64 =
        bench.commands.iter().filter(|(op, ..)| *op == Op::Write).map(|(.., pages)| u64::from(*pages)).sum();
    assert_eq!(written, bench.linux.stats().pages_swapped_out);
    assert!(written >= 800 - 512, "{written} pages were written");
    // Slots follow the order of use, so clusters bring adjacent pages along.
    bench.commands.clear();
    bench.touch(Time::from_s(1), 0, false);
    while bench.step() {}
    let read: Vec<_> = bench.commands.iter().filter(|(op, ..)| *op == Op::Read).collect();
    assert_eq!(read, [&(Op::Read, 800, 8)]);
    for page in 1..8 {
        bench.touch(Time::from_s(2), page, false);
    }
    assert_eq!(bench.linux.stats().major_faults, 1, "adjacent pages were read with it");
}

#[test]
fn faults_read_around_until_misses_outnumber_hits() {
    let areas = vec![Area { first: 0, pages: 100_000, kind: AreaKind::Mapped }];
    let mut bench = Bench::new(8192, areas, 1, 1);
    for n in 0..150 {
        bench.touch(Time::from_ms(n), (n * 641 + 16) % 100_000, false);
        while bench.step() {}
    }
    let pages: Vec<u32> = bench.commands.iter().map(|(.., pages)| *pages).collect();
    assert_eq!((&pages[..100], &pages[100..]), (&[32; 100][..], &[1; 50][..]));
}

#[test]
fn a_sync_writes_modified_pages_then_the_journal_then_flushes() {
    let areas = vec![Area { first: 0, pages: 100, kind: AreaKind::File }];
    let mut bench = Bench::new(1024, areas, 1, 1);
    for (act, bytes) in [(Act::Write, 3 * PAGE as u32), (Act::Sync, 0)] {
        let step = Step { instructions: 0, act, bytes, address: 5 * PAGE };
        bench.free[0] = bench.linux.call(Time::ZERO, 0, &step).is_some();
        while !bench.free[0] {
            assert!(bench.step(), "the thread waits without an event");
        }
    }
    let journal = bench.linux.drive_pages() - 1024;
    assert_eq!(bench.commands, [(Op::Write, 5, 3), (Op::Write, journal, 2), (Op::Flush, 0, 0)]);
}

/// Makes a call and waits until it returns.
fn call(bench: &mut Bench, act: Act, address: u64, bytes: u64) {
    let step = Step { instructions: 0, act, bytes: bytes as u32, address };
    let now = bench.now();
    bench.free[0] = bench.linux.call(now, 0, &step).is_some();
    while !bench.free[0] {
        assert!(bench.step(), "the thread waits without an event");
    }
}

#[test]
fn a_sync_of_a_mapped_file_writes_the_pages_modified_since_the_last() {
    let areas = vec![Area { first: 0, pages: 100, kind: AreaKind::Mapped }];
    let mut bench = Bench::new(1024, areas, 1, 1);
    for (page, store) in [(3, true), (4, true), (9, false), (20, true)] {
        let now = bench.now();
        bench.touch(now, page, store);
    }
    bench.commands.clear();
    call(&mut bench, Act::Sync, 0, 0);
    let journal = bench.linux.drive_pages() - 1024;
    let tail = |at| [(Op::Write, journal + at, 2), (Op::Flush, 0, 0)];
    assert_eq!(bench.commands[..2], [(Op::Write, 3, 2), (Op::Write, 20, 1)]);
    assert_eq!(bench.commands[2..], tail(0));
    bench.commands.clear();
    assert!(bench.linux.translate(0, 20, true).is_some());
    call(&mut bench, Act::Sync, 50 * PAGE, 0);
    assert_eq!((&bench.commands[..1], &bench.commands[1..]), (&[(Op::Write, 20, 1)][..], &tail(2)[..]));
    assert_eq!(bench.linux.stats().sync.count(), 2);
}

#[test]
fn after_a_restart_files_are_read_again_and_other_memory_is_lost() {
    let areas = vec![
        Area { first: 0, pages: 100, kind: AreaKind::File },
        Area { first: 100, pages: 100, kind: AreaKind::Anonymous },
    ];
    let mut bench = Bench::new(1024, areas, 1, 1);
    call(&mut bench, Act::Write, 5 * PAGE, 3 * PAGE);
    for page in 100..110 {
        let now = bench.now();
        bench.touch(now, page, true);
    }
    let dropped = bench.linux.effects.overwritten.len();
    call(&mut bench, Act::Rollback, 0, 0);
    assert_eq!(bench.linux.effects.overwritten.len() - dropped, 13);
    assert!((0..200).all(|page| bench.linux.translate(0, page, false).is_none()));
    bench.commands.clear();
    // Pages that were never synced are no longer written.
    call(&mut bench, Act::Sync, 0, 0);
    assert!(bench.commands.iter().all(|(op, page, _)| *op == Op::Flush || *page >= 1024));
    bench.commands.clear();
    call(&mut bench, Act::Read, 5 * PAGE, PAGE);
    assert_eq!(bench.commands[0].0, Op::Read);
    bench.commands.clear();
    let now = bench.now();
    bench.touch(now, 105, false);
    assert!(bench.commands.is_empty(), "a lost page is empty, and not read from anywhere");
}

#[test]
fn submissions_wait_for_the_lock_of_the_queue() {
    let end = |lock: u64| {
        let areas = vec![Area { first: 0, pages: 1000, kind: AreaKind::Mapped }];
        let config = LinuxConfig { lock: Time::from_us(lock), mapped_misses: 0, ..config() };
        let mut bench = Bench::new(4096, areas.clone(), 8, 1);
        bench.linux = Linux::new(config, 4096, areas, 8, &Streams::new(1));
        for thread in 0..8 {
            let at = bench.linux.fault(Time::ZERO, thread, 100 * u64::from(thread), false);
            bench.free[usize::from(thread)] = at.is_some();
        }
        let mut last = bench.now();
        while bench.step() {
            last = last.max(bench.now());
        }
        assert!(bench.free.iter().all(|free| *free));
        last
    };
    assert!(end(0) < Time::from_us(200) && end(100) > Time::from_us(800), "{} and {}", end(0), end(100));
}

#[test]
fn allocated_pages_are_not_read_from_the_drive() {
    let areas = || vec![Area { first: 0, pages: 100, kind: AreaKind::File }];
    let call = |bench: &mut Bench, act, address, bytes| {
        let step = Step { instructions: 0, act, bytes, address };
        bench.free[0] = bench.linux.call(Time::ZERO, 0, &step).is_some();
        while !bench.free[0] {
            assert!(bench.step(), "the thread waits without an event");
        }
    };
    let (mut found, mut allocated) = (Bench::new(1024, areas(), 1, 1), Bench::new(1024, areas(), 1, 1));
    allocated.linux.is_allocated(0, 100);
    for bench in [&mut found, &mut allocated] {
        // A write in the middle of a page, another in a page that is already cached, and a read of a page that was
        // never written.
        call(bench, Act::Write, 5 * PAGE + 100, 50);
        call(bench, Act::Write, 5 * PAGE + 150, PAGE as u32);
        call(bench, Act::Read, 20 * PAGE, PAGE as u32);
        call(bench, Act::Sync, 0, 0);
    }
    let of = |bench: &Bench, op: Op| bench.commands.iter().filter(|each| each.0 == op).count();
    assert_eq!((of(&found, Op::Read), of(&allocated, Op::Read)), (2, 0));
    assert_eq!(of(&found, Op::Write), of(&allocated, Op::Write));
}

#[test]
fn memory_set_up_as_written_matches_memory_that_was_written() {
    let areas = || vec![Area { first: 0, pages: 800, kind: AreaKind::Anonymous }];
    let (mut set_up, mut written) = (Bench::new(512, areas(), 1, 1), Bench::new(512, areas(), 1, 1));
    set_up.linux.was_written(0, 800);
    let mut now = Time::ZERO;
    for page in 0..800 {
        now = now.max(written.now()) + Time::from_us(50);
        written.touch(now, page, true);
    }
    while written.step() {}
    let resident = |bench: &mut Bench| (0..800).filter(|page| bench.linux.translate(0, *page, false).is_some()).count();
    let (by_rule, by_writing) = (resident(&mut set_up), resident(&mut written));
    assert!(by_rule.abs_diff(by_writing) <= 32, "{by_rule} and {by_writing} pages are in memory");
    assert!(set_up.linux.translate(0, 799, false).is_some() && set_up.linux.translate(0, 0, false).is_none());
    // Pages evicted first are first in the swap area, and return with their neighbors; pages evicted next are written.
    for bench in [&mut set_up, &mut written] {
        bench.commands.clear();
        for page in 0..64 {
            bench.touch(Time::from_s(1 + page), page, false);
            while bench.step() {}
        }
        let read: Vec<_> =
            bench.commands.iter().filter(|(op, ..)| *op == Op::Read).map(|(_, at, n)| (*at, *n)).collect();
        assert_eq!(read, (0..8).map(|n| (800 + 8 * n, 8)).collect::<Vec<_>>());
        assert!(bench.commands.iter().any(|(op, ..)| *op == Op::Write), "modified pages are written");
    }
}

/// Returns when a fault of the first swapped page of `pages` continues, and the commands that read it. The drive is infinitely
/// fast.
fn swap_in(config: LinuxConfig) -> (Time, Vec<u32>) {
    let areas = vec![Area { first: 0, pages: 800, kind: AreaKind::Anonymous }];
    let mut linux = Linux::new(LinuxConfig { spread: 0.0, ..config }, 512, areas, 1, &Streams::new(1));
    linux.was_written(0, 800);
    assert_eq!(linux.fault(Time::ZERO, 0, 0, false), None);
    let mut reads = Vec::new();
    while let Some(next) = linux.next_event() {
        linux.advance(next);
        for command in std::mem::take(&mut linux.commands) {
            reads.extend((command.op == Op::Read).then_some(command.pages));
            linux.done(next, command.id);
        }
    }
    let [(0, at)] = linux.effects.resumed[..] else { panic!("the thread continues once") };
    (at, reads)
}

#[test]
fn each_page_of_a_swapped_cluster_is_submitted_on_its_own() {
    let (one, reads) = swap_in(LinuxConfig { swap_cluster: 1, ..config() });
    assert_eq!(reads, [1]);
    // Seven more pages of 300 ns, each submitted in 4 us; the completion and the wake-up follow the last.
    let (merged, reads) = swap_in(config());
    assert_eq!((merged - one, reads), (Time::from_ns(7 * 4300), vec![8]));
    // The first page has been read long before the thread has submitted the last.
    let (apart, reads) = swap_in(LinuxConfig { swap_merge: false, ..config() });
    assert_eq!((one + Time::from_ns(7 * 4300) - apart, reads), (Time::from_ns(5000), vec![1; 8]));
}

#[test]
fn reclaim_takes_the_time_of_one_core() {
    // Twice as slow a core writes the second batch of modified pages later.
    let last_write = |page: Time| {
        let areas = vec![Area { first: 0, pages: 2000, kind: AreaKind::Anonymous }];
        let config = LinuxConfig { page, spread: 0.0, ..config() };
        let mut linux = Linux::new(config, 512, areas, 1, &Streams::new(1));
        linux.was_written(0, 512);
        let mut last = Time::ZERO;
        for page in 512..600 {
            linux.fault(Time::ZERO, 0, page, true);
            while let Some(next) = linux.next_event() {
                linux.advance(next);
                for command in std::mem::take(&mut linux.commands) {
                    last = next;
                    linux.done(next, command.id);
                }
            }
        }
        last
    };
    let (slow, fast) = (last_write(Time::from_us(100)), last_write(Time::from_us(50)));
    assert!(fast > Time::from_us(500) && slow > fast + (fast - Time::from_us(200)), "{fast} and {slow}");
}

#[test]
fn completions_of_one_vector_are_serialized() {
    let spans = [1, 64].map(|vectors| {
        let areas = vec![Area { first: 0, pages: 100_000, kind: AreaKind::Mapped }];
        let config = LinuxConfig { vectors, complete: Time::from_us(500), spread: 0.0, mapped_misses: 0, ..config() };
        let mut linux = Linux::new(config, 8192, areas, 8, &Streams::new(1));
        for thread in 0..8 {
            assert_eq!(linux.fault(Time::ZERO, thread, 1000 * u64::from(thread), false), None);
        }
        let mut at = Time::ZERO;
        while let Some(next) = linux.next_event() {
            at = next;
            linux.advance(next);
            for command in std::mem::take(&mut linux.commands) {
                linux.done(next, command.id);
            }
        }
        assert_eq!(linux.effects.resumed.len(), 8);
        at
    });
    assert!(spans[0] > Time::from_us(4000) && spans[0] < Time::from_us(4100), "{spans:?}");
    assert!(spans[1] > Time::from_us(500) && spans[1] < Time::from_us(600), "{spans:?}");
}

#[test]
fn a_resident_kernel_charges_only_calls_and_first_uses() {
    let areas = [
        Area { first: 0, pages: 10, kind: AreaKind::Anonymous },
        Area { first: 16, pages: 10, kind: AreaKind::Mapped },
        Area { first: 32, pages: 10, kind: AreaKind::File },
    ];
    let mut kernel = Resident::new(LinuxConfig { spread: 0.0, ..config() }, &areas, &Streams::new(1));
    kernel.was_written(4, 6);
    let now = Time::from_us(7);
    for (page, took) in [(0, Some(1800)), (3, Some(1800)), (4, None), (16, Some(1500)), (25, Some(1500)), (32, None)] {
        assert_eq!(kernel.translate(0, page, true).is_none(), took.is_some(), "page {page}");
        if let Some(took) = took {
            assert_eq!(kernel.fault(now, 0, page, true), Some(now + Time::from_ns(took)), "page {page}");
        }
        assert_eq!(kernel.translate(0, page, true), Some(page));
    }
    let step = Step { act: Act::Read, bytes: 100, address: 32 * PAGE, ..Step::default() };
    assert_eq!(kernel.call(now, 0, &step), Some(now + Time::from_ns(800)));
    assert_eq!(kernel.counted(), (4, 1));
    kernel.reset_stats();
    assert_eq!(kernel.counted(), (0, 0));
}
