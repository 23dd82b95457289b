//! Loads and stores, on a real file and by the real kernel: beside a copy, past DRAM, over sync and rollback, by many threads at a time.
//! Where the kernel lets this process have no faults at all, each says so and is over.

mod support;

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

use memory::{Advice, Area, Error, Mapped, Memory, Options, Permissions, Source};
use sim::Streams;
use support::place::Place;

const MIB: u64 = 1 << 20;

fn made(place: &Place, mib: u64, dram: u64) -> Memory {
    let options = Options { capacity: Some(mib * MIB), dram, space: Some(4 * mib * MIB), ..Options::default() };
    Memory::create(&place.0, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Mapped, or none with the reason told.
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

/// Word `n` of an area.
fn word(area: &Area, n: u64) -> &AtomicU64 {
    assert!((n + 1) * 8 <= area.bytes());
    // SAFETY: It is within the area, aligned, and touched by atomics alone.
    unsafe { AtomicU64::from_ptr(area.start().cast::<u64>().add(n as usize)) }
}

#[test]
fn what_is_stored_is_synced_and_loaded_again() {
    let place = Place::new("stored");
    let Some(memory) = mapped(made(&place, 4, 2 * MIB)) else { return };
    let at = memory.with(|memory| memory.alloc(300_000, false)).expect("room");
    let area = memory.area(at, 300_000).expect("allocated");
    for n in 0..37_000 {
        assert_eq!(word(&area, n).load(Ordering::Relaxed), 0);
        word(&area, n).store(n * n, Ordering::Relaxed);
    }
    let token = memory.sync(Some("squares")).expect("synced");
    let mut bytes = [0; 8];
    memory.read(at + 8 * 100, &mut bytes).expect("there");
    assert_eq!(u64::from_le_bytes(bytes), 10_000);
    word(&area, 100).store(7, Ordering::Relaxed);
    memory.write(at + 8 * 101, &9u64.to_le_bytes()).expect("there");
    assert_eq!(word(&area, 101).load(Ordering::Relaxed), 9);
    assert!(memory.stats().expect("open").dirty >= 1);
    memory.rollback(token).expect("live");
    for n in 0..37_000 {
        assert_eq!(word(&area, n).load(Ordering::Relaxed), n * n);
    }
    // From the mapping into itself, none of it in DRAM.
    memory.not_needed(at, 300_000).expect("room");
    // SAFETY: Both are within the area, they do not overlap, and nobody else looks.
    let (from, into) = unsafe {
        let start = area.start();
        (std::slice::from_raw_parts(start, 40_000), std::slice::from_raw_parts_mut(start.add(80_000), 40_000))
    };
    memory.write(at + 160_000, from).expect("there");
    memory.read(at, into).expect("there");
    for n in 0..5000 {
        assert_eq!(word(&area, 10_000 + n).load(Ordering::Relaxed), n * n);
        assert_eq!(word(&area, 20_000 + n).load(Ordering::Relaxed), n * n);
    }
    word(&area, 5).store(1, Ordering::Relaxed);
    memory.close().expect("closed");
    memory.close().expect("closed before");
    let words = |result: Result<(), Error>| result.expect_err("it is closed").to_string();
    assert_eq!(words(memory.read(at, &mut bytes)), format!("{}: the memory is closed", place.0.display()));
    drop((area, memory));
    let mut memory = Memory::open(&place.0, &Options { dram: MIB, ..Options::default() }).expect("opened");
    memory.read(at + 8 * 5, &mut bytes).expect("there");
    assert_eq!(u64::from_le_bytes(bytes), 25);
    assert_eq!(memory.verify().expect("read").0.len(), 0);
}

/// Bytes that the process has in DRAM of an area's addresses.
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

/// In any order and in order, loads, stores and calls, beside a copy.
#[test]
fn what_does_not_fit_into_dram_is_as_in_a_copy_and_dram_is_kept() {
    let place = Place::new("past-dram");
    let Some(memory) = mapped(made(&place, 8, MIB)) else { return };
    let words = 6 * MIB / 8;
    let at = memory.with(|memory| memory.alloc(words * 8, false)).expect("room");
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
                // There is room for so many versions of all pages, not for those of every sync.
                memory.with(|memory| memory.drop_token(older)).expect("live");
            }
            1 => {
                memory.rollback(synced.0).expect("live");
                copy.clone_from(&synced.1);
            }
            2 => {
                let count = rng.below(20_000).min(words - place);
                let mut bytes = vec![0; count as usize * 8];
                memory.read(at + place * 8, &mut bytes).expect("there");
                let found: Vec<u64> =
                    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8"))).collect();
                assert!(found == copy[place as usize..][..count as usize], "round {n}");
            }
            3 => {
                let count = rng.below(20_000).min(words - place);
                let bytes: Vec<u8> = (0..count).flat_map(|k| (n ^ k << 32).to_le_bytes()).collect();
                memory.write(at + place * 8, &bytes).expect("there");
                (0..count).for_each(|k| copy[(place + k) as usize] = n ^ k << 32);
            }
            4 => {
                for k in place..(place + 30_000).min(words) {
                    assert_eq!(word(&area, k).load(Ordering::Relaxed), copy[k as usize], "round {n}, word {k}");
                }
            }
            5 => memory.not_needed(at + place * 8, 8 * rng.below(words - place).max(1)).expect("room"),
            6 => memory.will_need(at + place * 8, 8 * rng.below(words - place).max(1)).expect("there"),
            7 => {
                let advice = [Advice::Normal, Advice::Random, Advice::Sequential][rng.below(3) as usize];
                memory.advise(at + place * 8, 8, advice).expect("there");
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
    memory.read(at, &mut bytes).expect("there");
    assert!(bytes.chunks_exact(8).zip(&copy).all(|(found, word)| found == word.to_le_bytes()));
}

#[test]
fn who_goes_in_order_or_by_strides_seldom_waits() {
    let place = Place::new("in-order");
    let Some(memory) = mapped(made(&place, 16, 4 * MIB)) else { return };
    let words = 14 * MIB / 8;
    let at = memory.with(|memory| memory.alloc(words * 8, false)).expect("room");
    let area = memory.area(at, words * 8).expect("allocated");
    (0..words).for_each(|n| word(&area, n).store(n, Ordering::Relaxed));
    memory.sync(None).expect("synced");
    for stride in [1u64, 3 * 512, 40 * 512] {
        memory.not_needed(at, words * 8).expect("room");
        let before = memory.stats().expect("open").map;
        for n in (0..words).step_by(stride as usize) {
            assert_eq!(word(&area, n).load(Ordering::Relaxed), n);
        }
        let after = memory.stats().expect("open").map;
        let (segments, faults) = ((words / stride).min(14 * 256), after.faults - before.faults);
        assert!(faults < segments / 4 + 10, "stride {stride}: {faults} faults, {segments} segments");
        assert!(after.read_ahead - before.read_ahead > segments / 2, "stride {stride}");
    }
    // In any order, nothing is read for nothing.
    memory.advise(at, words * 8, Advice::Random).expect("there");
    memory.not_needed(at, words * 8).expect("room");
    let before = memory.stats().expect("open").map;
    (0..words).step_by(512).for_each(|n| assert_eq!(word(&area, n).load(Ordering::Relaxed), n));
    let after = memory.stats().expect("open").map;
    assert_eq!((after.read_ahead - before.read_ahead, after.faults - before.faults), (0, words / 512));
}

/// A word's place, and what is stored to it, follow from a number. So what a thread has stored up to any instant can be told from its
/// last number, and what is found be compared with that.
struct Storer {
    thread: u64,
    threads: u64,
    words: u64,
}

impl Storer {
    fn place(&self, number: u64) -> u64 {
        let mixed = (number ^ self.thread << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mine = (mixed ^ mixed >> 31) % (self.words / self.threads);
        // Pages are shared by all.
        mine * self.threads + self.thread
    }

    /// That all words are as the stores up to some number left them; that number.
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

/// Stores are made by 64 threads while others sync; after a rollback, and when it is opened again, each thread's stores are there up to
/// an instant within the sync, and none behind it. `MAPPED_ROUNDS=n` makes it longer.
#[test]
fn stores_of_many_threads_over_eviction_sync_and_rollback_are_all_accounted_for() {
    let rounds = std::env::var("MAPPED_ROUNDS").map_or(6, |rounds| rounds.parse().expect("a number"));
    let place = Place::new("threads");
    let Some(memory) = mapped(made(&place, 16, 3 * MIB)) else { return };
    let (threads, words) = (64, 12 * MIB / 8);
    let at = memory.with(|memory| memory.alloc(words * 8, false)).expect("room");
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
                            // As it is stored, as an atomic, and after a load.
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
                            // In order, so that something is read ahead.
                            let from = rng.below(words - 8 * 512);
                            (0..8).for_each(|n| assert!(word(area, from + n * 512).load(Ordering::SeqCst) < 1 << 40));
                        }
                        total.fetch_add(1, Ordering::Relaxed);
                    }
                    barrier.wait();
                    barrier.wait();
                    number = storer.check(area);
                    found.lock().expect("nobody panicked")[thread as usize] = number;
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
                // A store that is made may not be counted yet.
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
            let found = found.lock().expect("nobody panicked").clone();
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
    // What was dropped last is the last state that is durable.
    let memory = Memory::open(&place.0, &Options { dram: 4 * MIB, ..Options::default() }).expect("opened");
    let memory = mapped(memory).expect("as before");
    let area = memory.area(at, words * 8).expect("allocated");
    for thread in 0..threads {
        assert_eq!(Storer { thread, threads, words }.check(&area), last.1[thread as usize], "token {}", last.0);
    }
}

/// A process by itself that maps the memory at `path` and does one thing, for what ends processes.
#[test]
#[ignore = "others start it"]
fn touches() {
    let (path, what) = (std::env::var("MAPPED_PATH").expect("set"), std::env::var("MAPPED_DOES").expect("set"));
    let memory = Memory::open(path.as_ref(), &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let memory = mapped(memory).expect("the parent could");
    let area = memory.area(2 << 16, 3 << 16).expect("allocated");
    let touch = |n| word(&area, n).load(Ordering::Relaxed);
    match what.as_str() {
        "load" => drop(touch(0)),
        "deleted" => {
            touch(0);
            memory.delete(2 << 16, 1).expect("there");
            touch(0);
        }
        "rolled-back" => {
            let token = memory.sync(None).expect("synced");
            let at = memory.with(|memory| memory.alloc(1, false)).expect("room");
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
            memory.set_permissions(2 << 16, 1, permissions).expect("there");
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
fn what_cannot_be_told_to_a_load_or_store_ends_the_process_with_one_line() {
    use std::os::unix::fs::FileExt;
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new("ends");
    let Some(memory) = mapped(made(&place, 4, MIB)) else { return };
    let at = memory.with(|memory| memory.alloc(4 << 16, false)).expect("room");
    assert_eq!(at, 1 << 16);
    let mark = b"this segment is damaged next";
    memory.write(2 << 16, &mark.repeat(10)).expect("there");
    memory.sync(None).expect("synced");
    memory.close().expect("closed");
    drop(memory);
    let run = |does: &str| {
        let child = Command::new(std::env::current_exe().expect("this"))
            .args(["--exact", "touches", "--ignored", "--nocapture", "--test-threads=1"])
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
    let end = "a load or store there cannot be told, and ends the process";
    let file = place.0.display();
    assert_eq!(run("deleted").0, format!("nandram: {file}: address 0x20000: its page is not allocated: {end}"));
    let (line, told) = run("rolled-back");
    assert_eq!(line, format!("nandram: {file}: address 0x50000: its page is not allocated: {end}"));
    assert!(told.contains("address 0x50000: its page is not allocated"), "{told}");
    assert_eq!(run("read-only").0, format!("nandram: {file}: address 0x20000: its page may not be written: {end}"));
    assert_eq!(run("closed").0, format!("nandram: {file}: the memory is closed: {end}"));
    // One bit of the file.
    let bytes = fs::read(&place.0).expect("there");
    let damaged = bytes.windows(mark.len()).rposition(|window| window == mark).expect("written");
    let writer = fs::OpenOptions::new().write(true).open(&place.0).expect("there");
    writer.write_at(&[bytes[damaged] ^ 1], damaged as u64).expect("written");
    let (line, _) = run("load");
    let start = format!("nandram: {file}: address 0x20000: the 4096 bytes there cannot be read: ");
    assert!(line.starts_with(&start) && line.contains("checksum does not match") && line.ends_with(end), "{line}");
}

#[test]
fn without_faults_the_error_names_the_sysctl_and_the_calls_work_on() {
    let place = Place::new("without");
    let mut memory = made(&place, 4, MIB);
    let at = memory.alloc(10, false).expect("room");
    memory.write(at, b"before").expect("there");
    let Err(refused) = Mapped::by(memory, &[]) else { panic!("nothing was tried") };
    let (mut memory, error) = *refused;
    let text = error.to_string();
    assert!(text.contains("vm.unprivileged_userfaultfd=1") && text.contains(&place.0.display().to_string()), "{text}");
    let mut found = [0; 6];
    memory.read(at, &mut found).expect("there");
    assert_eq!(&found, b"before");
}

/// Each way to have faults that this process may use does the same.
#[test]
fn faults_come_from_wherever_they_are_allowed() {
    for source in Source::ALL {
        let place = Place::new("sources");
        let memory = match Mapped::by(made(&place, 4, MIB), &[source]) {
            Ok(memory) => memory,
            Err(refused) => {
                println!("not tested: {}", refused.1);
                continue;
            }
        };
        assert_eq!(memory.source(), source);
        let at = memory.with(|memory| memory.alloc(3 * MIB, false)).expect("room");
        let area = memory.area(at, 3 * MIB).expect("allocated");
        (0..3 * MIB / 8).for_each(|n| word(&area, n).store(n, Ordering::Relaxed));
        assert!((0..3 * MIB / 8).all(|n| word(&area, n).load(Ordering::Relaxed) == n));
        // A system call of what is not in DRAM.
        memory.not_needed(at, 3 * MIB).expect("room");
        let sink = fs::File::create(place.0.with_extension("sink")).expect("made");
        // SAFETY: The area is there, and nobody stores to it.
        let bytes = unsafe { std::slice::from_raw_parts(area.start(), area.bytes() as usize) };
        let written = std::io::Write::write(&mut &sink, bytes);
        drop(fs::remove_file(place.0.with_extension("sink")));
        match source {
            Source::UserOnly => assert_eq!(written.expect_err("no faults of the kernel").raw_os_error(), Some(14)),
            _ => assert!(written.expect("faults are served") > 0),
        }
    }
}
