//! Loads and stores on a real file with the real kernel: compared with a copy, beyond DRAM, across sync and rollback,
//! and by many threads. On a kernel that does not allow userfaultfd each test prints that and passes.

mod support;

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

use memory::{Advice, Area, Error, Mapped, Memory, Options, Permissions, Source};
use sim::Streams;
use support::place::TempFile;

const MIB: u64 = 1 << 20;

fn create(place: &TempFile, mib: u64, dram: u64) -> Memory {
    let options = Options { capacity: Some(mib * MIB), dram, space: Some(4 * mib * MIB), ..Options::default() };
    Memory::create(&place.0, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Maps a memory, or prints why it cannot be mapped and returns `None`.
fn mapped(memory: Memory) -> Option<Mapped> {
    match Mapped::new(memory) {
        Ok(mapped) => Some(mapped),
        Err(refused) => {
            let text = refused.1.to_string();
            assert!(matches!(refused.1, Error::NotMappable { .. }), "{text}");
            println!("not tested: {text}");
            None
        }
    }
}

/// Returns word `n` of an area.
fn word(area: &Area, n: u64) -> &AtomicU64 {
    assert!((n + 1) * 8 <= area.bytes());
    // SAFETY: The word is within the area, aligned, and only accessed atomically.
    unsafe { AtomicU64::from_ptr(area.start().cast::<u64>().add(n as usize)) }
}

#[test]
fn stores_are_synced_and_loaded_again() {
    let place = TempFile::new("stored");
    let Some(memory) = mapped(create(&place, 4, 2 * MIB)) else { return };
    let at = memory.with(|memory| memory.alloc(300_000, false)).expect("enough space");
    let area = memory.area(at, 300_000).expect("allocated");
    for n in 0..37_000 {
        assert_eq!(word(&area, n).load(Ordering::Relaxed), 0);
        word(&area, n).store(n * n, Ordering::Relaxed);
    }
    let token = memory.sync(Some("squares")).expect("synced");
    let mut bytes = [0; 8];
    memory.read(at + 8 * 100, &mut bytes).expect("exists");
    assert_eq!(u64::from_le_bytes(bytes), 10_000);
    word(&area, 100).store(7, Ordering::Relaxed);
    memory.write(at + 8 * 101, &9u64.to_le_bytes()).expect("exists");
    assert_eq!(word(&area, 101).load(Ordering::Relaxed), 9);
    assert!(memory.stats().expect("open").dirty >= 1);
    memory.rollback(token).expect("live");
    for n in 0..37_000 {
        assert_eq!(word(&area, n).load(Ordering::Relaxed), n * n);
    }
    // Copy from the mapping into itself, with none of it resident.
    memory.not_needed(at, 300_000).expect("enough space");
    // SAFETY: Both ranges are within the area and do not overlap, and no other thread accesses them.
    let (from, into) = unsafe {
        let start = area.start();
        (std::slice::from_raw_parts(start, 40_000), std::slice::from_raw_parts_mut(start.add(80_000), 40_000))
    };
    memory.write(at + 160_000, from).expect("exists");
    memory.read(at, into).expect("exists");
    for n in 0..5000 {
        assert_eq!(word(&area, 10_000 + n).load(Ordering::Relaxed), n * n);
        assert_eq!(word(&area, 20_000 + n).load(Ordering::Relaxed), n * n);
    }
    word(&area, 5).store(1, Ordering::Relaxed);
    memory.close().expect("closed");
    memory.close().expect("closed before");
    let message = |result: Result<(), Error>| result.expect_err("it is closed").to_string();
    assert_eq!(message(memory.read(at, &mut bytes)), format!("{}: the memory is closed", place.0.display()));
    drop((area, memory));
    let mut memory = Memory::open(&place.0, &Options { dram: MIB, ..Options::default() }).expect("opened");
    memory.read(at + 8 * 5, &mut bytes).expect("exists");
    assert_eq!(u64::from_le_bytes(bytes), 25);
    assert_eq!(memory.verify().expect("read").0.len(), 0);
}

/// Returns how many bytes of an area's mapping are resident.
fn resident(area: &Area) -> u64 {
    let smaps = fs::read_to_string("/proc/self/smaps").expect("Linux");
    let mut within = false;
    let mut bytes = 0;
    for line in smaps.lines() {
        if let Some((from, rest)) = line.split_once('-')
            && let (Ok(from), Some(to)) = (usize::from_str_radix(from, 16), rest.split(' ').next())
            && let Ok(to) = usize::from_str_radix(to, 16)
        {
            within = from <= area.start() as usize && (area.start() as usize) < to;
        } else if within && let Some(kib) = line.strip_prefix("Rss:") {
            bytes = kib.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024;
        }
    }
    bytes
}

/// Compares random and sequential loads, stores and calls with a copy.
#[test]
fn data_beyond_dram_matches_a_copy_and_residency_stays_bounded() {
    let place = TempFile::new("past-dram");
    let Some(memory) = mapped(create(&place, 8, MIB)) else { return };
    let words = 6 * MIB / 8;
    let at = memory.with(|memory| memory.alloc(words * 8, false)).expect("enough space");
    let area = memory.area(at, words * 8).expect("allocated");
    let mut copy = vec![0u64; words as usize];
    let mut synced = (memory.sync(None).expect("synced"), copy.clone());
    let mut rng = Streams::new(2).stream("test.mapped");
    for n in 1..30_000u64 {
        let place = rng.below(words);
        match rng.below(2000) {
            0 => {
                let older = synced.0;
                synced = (memory.sync(None).expect("synced"), copy.clone());
                // The file has space for a few versions of all pages, but not for those of every sync.
                memory.with(|memory| memory.drop_token(older)).expect("live");
            }
            1 => {
                memory.rollback(synced.0).expect("live");
                copy.clone_from(&synced.1);
            }
            2 => {
                let count = rng.below(20_000).min(words - place);
                let mut bytes = vec![0; count as usize * 8];
                memory.read(at + place * 8, &mut bytes).expect("exists");
                let found: Vec<u64> =
                    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8"))).collect();
                assert!(found == copy[place as usize..][..count as usize], "round {n}");
            }
            3 => {
                let count = rng.below(20_000).min(words - place);
                let bytes: Vec<u8> = (0..count).flat_map(|k| (n ^ k << 32).to_le_bytes()).collect();
                memory.write(at + place * 8, &bytes).expect("exists");
                (0..count).for_each(|k| copy[(place + k) as usize] = n ^ k << 32);
            }
            4 => {
                for k in place..(place + 30_000).min(words) {
                    assert_eq!(word(&area, k).load(Ordering::Relaxed), copy[k as usize], "round {n}, word {k}");
                }
            }
            5 => memory.not_needed(at + place * 8, 8 * rng.below(words - place).max(1)).expect("enough space"),
            6 => memory.will_need(at + place * 8, 8 * rng.below(words - place).max(1)).expect("exists"),
            7 => {
                let advice = [Advice::Normal, Advice::Random, Advice::Sequential][rng.below(3) as usize];
                memory.advise(at + place * 8, 8, advice).expect("exists");
            }
            8 => assert_eq!(memory.with(Memory::verify).expect("read").0.len(), 0),
            9..1000 => assert_eq!(word(&area, place).load(Ordering::Relaxed), copy[place as usize], "round {n}"),
            _ => {
                word(&area, place).store(n, Ordering::Relaxed);
                copy[place as usize] = n;
            }
        }
        if n % 1000 == 0 {
            let found = resident(&area);
            assert!(found <= MIB, "{found} bytes are resident");
        }
    }
    let stats = memory.stats().expect("open");
    assert!(stats.map.evicted > 5000 && stats.map.store_faults > 500, "{stats:?}");
    assert!(stats.map.mapped_bytes <= stats.dram_bytes && stats.dram_bytes <= MIB, "{stats:?}");
    memory.sync(None).expect("synced");
    memory.close().expect("closed");
    let mut memory = Memory::open(&place.0, &Options::default()).expect("opened");
    let mut bytes = vec![0; copy.len() * 8];
    memory.read(at, &mut bytes).expect("exists");
    assert!(bytes.chunks_exact(8).zip(&copy).all(|(found, word)| found == word.to_le_bytes()));
}

#[test]
fn sequential_and_strided_accesses_seldom_fault() {
    let place = TempFile::new("in-order");
    let Some(memory) = mapped(create(&place, 16, 4 * MIB)) else { return };
    let words = 14 * MIB / 8;
    let at = memory.with(|memory| memory.alloc(words * 8, false)).expect("enough space");
    let area = memory.area(at, words * 8).expect("allocated");
    (0..words).for_each(|n| word(&area, n).store(n, Ordering::Relaxed));
    memory.sync(None).expect("synced");
    for stride in [1u64, 3 * 512, 40 * 512] {
        memory.not_needed(at, words * 8).expect("enough space");
        let before = memory.stats().expect("open").map;
        for n in (0..words).step_by(stride as usize) {
            assert_eq!(word(&area, n).load(Ordering::Relaxed), n);
        }
        let after = memory.stats().expect("open").map;
        let (segments, faults) = ((words / stride).min(14 * 256), after.faults - before.faults);
        assert!(faults < segments / 4 + 10, "stride {stride}: {faults} faults, {segments} segments");
        assert!(after.read_ahead - before.read_ahead > segments / 2, "stride {stride}");
    }
    // Random accesses read nothing ahead.
    memory.advise(at, words * 8, Advice::Random).expect("exists");
    memory.not_needed(at, words * 8).expect("enough space");
    let before = memory.stats().expect("open").map;
    (0..words).step_by(512).for_each(|n| assert_eq!(word(&area, n).load(Ordering::Relaxed), n));
    let after = memory.stats().expect("open").map;
    assert_eq!((after.read_ahead - before.read_ahead, after.faults - before.faults), (0, words / 512));
}

/// A thread's n-th store goes to a word that is computed from n, and stores n. The last number thus determines the
/// expected content of all words at that instant.
struct Storer {
    thread: u64,
    threads: u64,
    words: u64,
}

impl Storer {
    fn place(&self, number: u64) -> u64 {
        let mixed = (number ^ self.thread << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mine = (mixed ^ mixed >> 31) % (self.words / self.threads);
        // Interleave the threads' words, so that they share pages.
        mine * self.threads + self.thread
    }

    /// Checks that all words are in the state after some number of stores, and returns that number.
    fn check(&self, area: &Area) -> u64 {
        let found: Vec<u64> = (0..self.words / self.threads)
            .map(|mine| word(area, mine * self.threads + self.thread).load(Ordering::Relaxed))
            .collect();
        let last = found.iter().copied().max().expect("some");
        let mut expected = vec![0; found.len()];
        (1..=last).for_each(|number| expected[(self.place(number) / self.threads) as usize] = number);
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "thread {} after {last} stores", self.thread);
        last
    }
}

/// 64 threads store while another syncs. After a rollback, and after reopening, each thread's stores must be present up
/// to an instant within the sync, and none after it. `MAPPED_ROUNDS=n` runs longer.
#[test]
fn no_store_of_many_threads_is_lost_across_eviction_sync_and_rollback() {
    let rounds = std::env::var("MAPPED_ROUNDS").map_or(6, |rounds| rounds.parse().expect("a number"));
    let place = TempFile::new("threads");
    let Some(memory) = mapped(create(&place, 16, 3 * MIB)) else { return };
    let (threads, words) = (64, 12 * MIB / 8);
    let at = memory.with(|memory| memory.alloc(words * 8, false)).expect("enough space");
    let area = memory.area(at, words * 8).expect("allocated");
    let barrier = Barrier::new(threads as usize + 1);
    let (pause, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let counts: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let found = Mutex::new(vec![0; threads as usize]);
    let total = AtomicU64::new(0);
    let bounds = |of: &[AtomicU64]| of.iter().map(|count| count.load(Ordering::SeqCst)).collect::<Vec<u64>>();
    let mut last = (0, Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let storer = Storer { thread, threads, words };
            let (area, barrier, pause, over, counts, found, total) =
                (&area, &barrier, &pause, &over, &counts, &found, &total);
            scope.spawn(move || {
                let mut number = 0;
                let mut rng = Streams::new(thread).stream("test.threads");
                loop {
                    while !pause.load(Ordering::SeqCst) {
                        number += 1;
                        let place = storer.place(number);
                        match number % 3 {
                            // As a plain store, as an atomic exchange, and after a load.
                            0 => word(area, place).store(number, Ordering::SeqCst),
                            1 => drop(word(area, place).swap(number, Ordering::SeqCst)),
                            _ => {
                                assert!(word(area, place).load(Ordering::SeqCst) < number);
                                word(area, place).store(number, Ordering::SeqCst);
                            }
                        }
                        counts[thread as usize].store(number, Ordering::SeqCst);
                        if rng.below(4) == 0 {
                            word(area, rng.below(words)).load(Ordering::SeqCst);
                        }
                        if rng.below(64) == 0 {
                            // Sequentially, to trigger read-ahead.
                            let from = rng.below(words - 8 * 512);
                            (0..8).for_each(|n| assert!(word(area, from + n * 512).load(Ordering::SeqCst) < 1 << 40));
                        }
                        total.fetch_add(1, Ordering::Relaxed);
                    }
                    barrier.wait();
                    barrier.wait();
                    number = storer.check(area);
                    found.lock().expect("no thread panicked")[thread as usize] = number;
                    counts[thread as usize].store(number, Ordering::SeqCst);
                    barrier.wait();
                    barrier.wait();
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
        for round in 0..rounds {
            let mut tokens = Vec::new();
            for _ in 0..3 {
                std::thread::sleep(std::time::Duration::from_millis(60));
                let before = bounds(&counts);
                let token = memory.sync(None).unwrap_or_else(|error| panic!("{error}"));
                // A store may be complete but not yet counted.
                let after: Vec<u64> = bounds(&counts).iter().map(|count| count + 1).collect();
                tokens.push((token, before, after));
            }
            std::thread::sleep(std::time::Duration::from_millis(30));
            pause.store(true, Ordering::SeqCst);
            barrier.wait();
            let back = round % 3;
            let (token, before, after) = tokens.swap_remove(back);
            memory.rollback(token).unwrap_or_else(|error| panic!("{error}"));
            barrier.wait();
            barrier.wait();
            let found = found.lock().expect("no thread panicked").clone();
            for thread in 0..threads as usize {
                let (from, to) = (before[thread], after[thread]);
                assert!((from..=to).contains(&found[thread]), "thread {thread}: {} of {from}..={to}", found[thread]);
            }
            last = (token.0, found);
            for (token, ..) in tokens.into_iter().filter(|(other, ..)| *other < token) {
                memory.with(|memory| memory.drop_token(token)).expect("live");
            }
            memory.with(|memory| memory.drop_token(token)).expect("live");
            over.store(round + 1 == rounds, Ordering::SeqCst);
            pause.store(false, Ordering::SeqCst);
            barrier.wait();
        }
    });
    let stats = memory.stats().expect("open");
    println!("{} stores, {:?}", total.into_inner(), stats);
    assert!(stats.map.evicted > 1000 && resident(&area) <= 3 * MIB);
    memory.close().expect("closed");
    drop((area, memory));
    // The last drop made the last durable state.
    let memory = Memory::open(&place.0, &Options { dram: 4 * MIB, ..Options::default() }).expect("opened");
    let memory = mapped(memory).expect("mapped as before");
    let area = memory.area(at, words * 8).expect("allocated");
    for thread in 0..threads {
        assert_eq!(Storer { thread, threads, words }.check(&area), last.1[thread as usize], "token {}", last.0);
    }
}

/// A child process that maps the memory at `path` and does one thing that may abort it.
#[test]
#[ignore = "started by other tests"]
fn child_touches_a_mapping() {
    let (path, what) = (std::env::var("MAPPED_PATH").expect("set"), std::env::var("MAPPED_DOES").expect("set"));
    let memory = Memory::open(path.as_ref(), &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let memory = mapped(memory).expect("the parent could map it too");
    let area = memory.area(2 << 16, 3 << 16).expect("allocated");
    let touch = |n| word(&area, n).load(Ordering::Relaxed);
    match what.as_str() {
        "load" => drop(touch(0)),
        "deleted" => {
            touch(0);
            memory.delete(2 << 16, 1).expect("exists");
            touch(0);
        }
        "rolled-back" => {
            let token = memory.sync(None).expect("synced");
            let at = memory.with(|memory| memory.alloc(1, false)).expect("enough space");
            let new = memory.area(at, 8).expect("allocated");
            word(&new, 0).store(1, Ordering::Relaxed);
            memory.rollback(token).expect("live");
            let refused = memory.read(at, &mut [0]).expect_err("it is not there");
            println!("{refused}");
            word(&new, 0).load(Ordering::Relaxed);
        }
        "read-only" => {
            touch(0);
            let permissions = Permissions { write: false, permanent: true, ..Permissions::PRIVATE };
            memory.set_permissions(2 << 16, 1, permissions).expect("exists");
            touch(0);
            word(&area, 0).store(1, Ordering::Relaxed);
        }
        "closed" => {
            memory.close().expect("closed");
            touch(0);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn errors_of_loads_and_stores_abort_the_process_with_one_line() {
    use std::os::unix::fs::FileExt;
    use std::os::unix::process::ExitStatusExt;
    let place = TempFile::new("ends");
    let Some(memory) = mapped(create(&place, 4, MIB)) else { return };
    let at = memory.with(|memory| memory.alloc(4 << 16, false)).expect("enough space");
    assert_eq!(at, 1 << 16);
    let mark = b"this segment is damaged next";
    memory.write(2 << 16, &mark.repeat(10)).expect("exists");
    memory.sync(None).expect("synced");
    memory.close().expect("closed");
    drop(memory);
    let run = |does: &str| {
        let child = Command::new(std::env::current_exe().expect("the path of this program"))
            .args(["--exact", "child_touches_a_mapping", "--ignored", "--nocapture", "--test-threads=1"])
            .env("MAPPED_PATH", &place.0)
            .env("MAPPED_DOES", does)
            .output()
            .expect("started");
        let text = String::from_utf8_lossy(&child.stderr).into_owned();
        assert_eq!(child.status.signal(), Some(6), "{does}: {text}");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("nandram: ")).collect();
        assert_eq!(lines.len(), 1, "{does}: {text}");
        (lines[0].to_owned(), String::from_utf8_lossy(&child.stdout).into_owned())
    };
    let end = "cannot report this error to the faulting load or store; aborting";
    let file = place.0.display();
    assert_eq!(run("deleted").0, format!("nandram: {file}: address 0x20000: its page is not allocated: {end}"));
    let (line, reported) = run("rolled-back");
    assert_eq!(line, format!("nandram: {file}: address 0x50000: its page is not allocated: {end}"));
    assert!(reported.contains("address 0x50000: its page is not allocated"), "{reported}");
    assert_eq!(run("read-only").0, format!("nandram: {file}: address 0x20000: its page may not be written: {end}"));
    assert_eq!(run("closed").0, format!("nandram: {file}: the memory is closed: {end}"));
    // Flip one bit of the file.
    let bytes = fs::read(&place.0).expect("exists");
    let damaged = bytes.windows(mark.len()).rposition(|window| window == mark).expect("written");
    let writer = fs::OpenOptions::new().write(true).open(&place.0).expect("exists");
    writer.write_at(&[bytes[damaged] ^ 1], damaged as u64).expect("written");
    let (line, _) = run("load");
    let start = format!("nandram: {file}: address 0x20000: the 4096 bytes there cannot be read: ");
    assert!(line.starts_with(&start) && line.contains("checksum does not match") && line.ends_with(end), "{line}");
}

#[test]
fn without_userfaultfd_the_error_names_the_sysctl_and_calls_still_work() {
    let place = TempFile::new("without");
    let mut memory = create(&place, 4, MIB);
    let at = memory.alloc(10, false).expect("enough space");
    memory.write(at, b"before").expect("exists");
    let Err(refused) = Mapped::with_sources(memory, &[]) else { panic!("mapped without a source") };
    let (mut memory, error) = *refused;
    let text = error.to_string();
    assert!(text.contains("vm.unprivileged_userfaultfd=1") && text.contains(&place.0.display().to_string()), "{text}");
    let mut found = [0; 6];
    memory.read(at, &mut found).expect("exists");
    assert_eq!(&found, b"before");
}

/// Each source of page faults that this process may use behaves the same.
#[test]
fn every_allowed_fault_source_works() {
    for source in Source::ALL {
        let place = TempFile::new("sources");
        let memory = match Mapped::with_sources(create(&place, 4, MIB), &[source]) {
            Ok(memory) => memory,
            Err(refused) => {
                println!("not tested: {}", refused.1);
                continue;
            }
        };
        assert_eq!(memory.source(), source);
        let at = memory.with(|memory| memory.alloc(3 * MIB, false)).expect("enough space");
        let area = memory.area(at, 3 * MIB).expect("allocated");
        (0..3 * MIB / 8).for_each(|n| word(&area, n).store(n, Ordering::Relaxed));
        assert!((0..3 * MIB / 8).all(|n| word(&area, n).load(Ordering::Relaxed) == n));
        // A system call that reads a range outside DRAM.
        memory.not_needed(at, 3 * MIB).expect("enough space");
        let sink = fs::File::create(place.0.with_extension("sink")).expect("created");
        // SAFETY: The area is mapped, and no thread stores to it.
        let bytes = unsafe { std::slice::from_raw_parts(area.start(), area.bytes() as usize) };
        let written = std::io::Write::write(&mut &sink, bytes);
        drop(fs::remove_file(place.0.with_extension("sink")));
        match source {
            Source::UserOnly => {
                assert_eq!(written.expect_err("the kernel's faults are not served").raw_os_error(), Some(14))
            }
            _ => assert!(written.expect("faults are served") > 0),
        }
    }
}
