//! Benchmarks loads and stores of a mapped memory against mmap and raw reads of the same cold file, in alternating
//! rounds. Prints the medians, their ratios, and the smallest and largest ratio of a round. Usage: `mapped FILE MIB
//! COUNT ROUNDS`.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use memory::{Advice, Mapped, Memory, Options};
use rustix::fs::{Advice as FileAdvice, fadvise};
use rustix::mm::{Advice as MapAdvice, MapFlags, ProtFlags, madvise, mmap, munmap};
use sim::Streams;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const DRAM: u64 = 512 << 20;
const SEGMENT: u64 = 4096;

/// Returns `count` distinct segments in random order.
fn places(segments: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut all: Vec<u32> = (0..segments as u32).collect();
    let mut rng = Streams::new(seed).stream("mapped");
    for n in 0..count as usize {
        let other = n + rng.below(segments - n as u64) as usize;
        all.swap(n, other);
    }
    all[..count as usize].iter().map(|segment| u64::from(*segment)).collect()
}

/// Returns the seconds that `threads` threads take to apply `each` to their parts of `places`.
fn timed(threads: usize, places: &[u64], each: impl Fn(u64) + Sync) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for part in places.chunks(places.len().div_ceil(threads)) {
            let each = &each;
            scope.spawn(move || part.iter().for_each(|place| each(*place)));
        }
    });
    start.elapsed().as_secs_f64()
}

/// # Safety
/// `base` must be the start of a mapping that contains the segment and is only accessed atomically.
unsafe fn update(base: usize, place: u64) {
    // SAFETY: Guaranteed by the caller; the word is aligned.
    let word =
        unsafe { AtomicU64::from_ptr((base + (place * SEGMENT) as usize + 8 * (place % 512) as usize) as *mut u64) };
    // A single read-modify-write instruction, like `x += 1`.
    word.fetch_xor(1, Ordering::Relaxed);
}

fn cold(file: &File) -> Outcome<()> {
    file.sync_all()?;
    fadvise(file, 0, None, FileAdvice::DontNeed)?;
    Ok(())
}

/// Returns the CPU time of the pager thread in seconds.
fn pager_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let pager = tasks.filter(|task| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "nandram-pager")
    });
    let ran = pager.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    ran.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Formats the ratio of the medians, with the smallest and largest ratio of a round.
fn ratio(ours: &[f64], theirs: &[f64]) -> String {
    let mut rounds: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    rounds.sort_by(f64::total_cmp);
    let whole = median(ours.to_vec()) / median(theirs.to_vec());
    format!("{whole:.2} ({:.2} to {:.2})", rounds[0], rounds[rounds.len() - 1])
}

struct Bench<'a> {
    path: &'a Path,
    bytes: u64,
    count: u64,
    /// Offset of the memory's data in the file.
    data: u64,
    /// Pager CPU time per fault in the last measurement, in microseconds.
    pager: Mutex<f64>,
}

impl Bench<'_> {
    fn segments(&self) -> u64 {
        self.bytes / SEGMENT
    }

    /// Measures updates per second through a shared mapping of the file.
    fn mmap(&self, threads: usize, seed: u64) -> Outcome<f64> {
        let file = OpenOptions::new().read(true).write(true).open(self.path)?;
        cold(&file)?;
        let length = (self.data + self.bytes) as usize;
        // SAFETY: A new mapping of a file that no other process has open.
        let base = unsafe {
            let base = mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file.as_fd(),
                0,
            )?;
            madvise(base, length, MapAdvice::Random)?;
            base
        };
        let places = places(self.segments(), self.count, seed);
        let start = base as usize + self.data as usize;
        // Store the value that is already there, because the file is a memory.
        let each = |place: u64| {
            // SAFETY: The word is within the mapping, and aligned.
            let word = unsafe { AtomicU64::from_ptr((start + (place * SEGMENT) as usize) as *mut u64) };
            word.fetch_add(black_box(0), Ordering::Relaxed);
        };
        let seconds = timed(threads, &places, each);
        // SAFETY: The mapping is no longer used.
        unsafe { munmap(base, length)? };
        cold(&file)?;
        Ok(self.count as f64 / seconds)
    }

    /// Measures reads of one segment per second, bypassing the page cache, with one read in flight per thread.
    fn raw(&self, threads: usize, seed: u64) -> Outcome<f64> {
        let file = OpenOptions::new().read(true).custom_flags(0o40000).open(self.path)?;
        let places = places(self.segments(), self.count, seed);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for part in places.chunks(places.len().div_ceil(threads)) {
                let file = &file;
                scope.spawn(move || {
                    let mut buffer = direct::Aligned::new(SEGMENT as usize);
                    for place in part {
                        file.read_exact_at(&mut buffer, self.data + place * SEGMENT).expect("a read works");
                    }
                });
            }
        });
        Ok(self.count as f64 / start.elapsed().as_secs_f64())
    }

    fn open(&self) -> Outcome<(Mapped, usize)> {
        let memory = Memory::open(self.path, &Options { dram: DRAM, ..Options::default() })?;
        let mapped = Mapped::new(memory).map_err(|refused| refused.1)?;
        let (at, bytes) = mapped.with(|memory| memory.find("space"))?;
        let start = mapped.area(at, bytes)?.start() as usize;
        Ok((mapped, start))
    }

    /// Measures updates per second in the memory, and the resulting device reads per second.
    fn memory(&self, threads: usize, seed: u64) -> Outcome<(f64, f64)> {
        let (memory, start) = self.open()?;
        let (at, bytes) = memory.with(|memory| memory.find("space"))?;
        memory.advise(at, bytes, Advice::Random)?;
        let places = places(self.segments(), self.count, seed);
        let before = memory.stats()?;
        // SAFETY: The area covers all places, and stays mapped until `memory` is dropped.
        let seconds = timed(threads, &places, |place| unsafe { update(start, place) });
        let after = memory.stats()?;
        assert_eq!(after.misses - before.misses, self.count);
        assert!(after.map.mapped_bytes <= DRAM);
        *self.pager.lock().expect("no thread panicked") = pager_seconds() * 1e6 / self.count as f64;
        let reads = (after.read_bytes - before.read_bytes) as f64 / SEGMENT as f64;
        memory.close()?;
        Ok((self.count as f64 / seconds, reads / seconds))
    }

    /// Measures sequential bytes per second: with reads of 1 MiB bypassing the page cache, `depth` at a time, and with
    /// loads.
    fn in_order(&self, depth: usize) -> Outcome<(f64, f64)> {
        let file = OpenOptions::new().read(true).custom_flags(0o40000).open(self.path)?;
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..depth as u64 {
                let file = &file;
                scope.spawn(move || {
                    let mut buffer = direct::Aligned::new(1 << 20);
                    for at in (0..self.bytes >> 20).skip(thread as usize).step_by(depth) {
                        file.read_exact_at(&mut buffer, self.data + (at << 20)).expect("a read works");
                    }
                });
            }
        });
        let raw = self.bytes as f64 / start.elapsed().as_secs_f64();
        let (memory, base) = self.open()?;
        let start = Instant::now();
        // SAFETY: The area is that long and stays mapped; no thread stores to it.
        let words = unsafe { std::slice::from_raw_parts(base as *const u64, self.bytes as usize / 8) };
        black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
        let scanned = self.bytes as f64 / start.elapsed().as_secs_f64();
        *self.pager.lock().expect("no thread panicked") = pager_seconds() * 1e6 / self.segments() as f64;
        memory.close()?;
        Ok((raw, scanned))
    }

    /// Measures the nanoseconds of a random load that hits, in ordinary memory and in the mapping.
    fn hits(&self) -> Outcome<(f64, f64)> {
        let bytes = 64u64 << 20;
        let (memory, base) = self.open()?;
        let mut plain = vec![1u64; bytes as usize / 8 + 512];
        // Use pages of 4 KiB, like the mapping.
        let aligned = plain.as_mut_ptr() as usize + plain.as_ptr().align_offset(4096) * 8;
        // SAFETY: The range is part of the vector.
        unsafe { madvise(aligned as *mut _, bytes as usize, MapAdvice::LinuxNoHugepage)? };
        let load = |base: usize| {
            // SAFETY: Both ranges are that long.
            let words = unsafe { std::slice::from_raw_parts(base as *const u64, bytes as usize / 8) };
            black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
            let (start, mut at, count) = (Instant::now(), 1u64, 4_000_000);
            for _ in 0..count {
                at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                black_box(words[(at >> 20) as usize % words.len()]);
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
        };
        let (plain, ours) = (load(aligned), load(base));
        memory.close()?;
        Ok((plain, ours))
    }
}

/// Finds the file offset of the first segment of a newly written memory.
fn find_data(path: &Path, mark: &[u8]) -> Outcome<u64> {
    let file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    for at in (0..file.metadata()?.len()).step_by(1 << 20) {
        let read = file.read_at(&mut buffer, at)?;
        if let Some(segment) = buffer[..read].chunks(SEGMENT as usize).position(|segment| segment.starts_with(mark)) {
            return Ok(at + segment as u64 * SEGMENT);
        }
    }
    Err("the data was not found in the file".into())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, mib, count, rounds] = arguments.as_slice() else {
        return Err("usage: mapped FILE MIB COUNT ROUNDS".into());
    };
    let (path, bytes) = (Path::new(file), mib.parse::<u64>()? << 20);
    let (count, rounds) = (count.parse::<u64>()?, rounds.parse::<u64>()?);
    let options = Options { capacity: Some(bytes), dram: DRAM, ..Options::default() };
    let mut memory = Memory::create(path, &options)?;
    let at = memory.alloc(bytes, false)?;
    memory.name("space", at, bytes)?;
    let mut rng = Streams::new(7).stream("fill");
    let mut chunk = vec![0u8; 1 << 20];
    let mut mark = Vec::new();
    for offset in (0..bytes).step_by(1 << 20) {
        chunk.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&rng.bits().to_le_bytes()));
        if offset == 0 {
            mark = chunk[..64].to_vec();
        }
        memory.write(at + offset, &chunk)?;
    }
    memory.sync(None)?;
    memory.close()?;
    let bench = Bench { path, bytes, count, data: find_data(path, &mark)?, pager: Mutex::new(0.0) };
    println!(
        "random updates of 8 bytes, cold: {count} of {} segments, {rounds} alternating rounds, medians",
        bench.segments()
    );
    for threads in [1, 8] {
        let (mut mapped, mut raw, mut ours, mut reads) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            mapped.push(bench.mmap(threads, 3 * round)?);
            raw.push(bench.raw(threads, 3 * round + 1)?);
            let (updates, read) = bench.memory(threads, 3 * round + 2)?;
            ours.push(updates);
            reads.push(read);
        }
        let (of_mapped, of_raw) = (ratio(&ours, &mapped), ratio(&reads, &raw));
        let (mapped, raw, ours, reads) = (median(mapped), median(raw), median(ours), median(reads));
        println!(
            "{threads} threads: mmap {mapped:.0}/s, O_DIRECT {raw:.0}/s, Memory {ours:.0}/s and {reads:.0} reads/s"
        );
        println!(
            "{threads} threads: Memory is {of_mapped} of mmap, its reads {of_raw} of O_DIRECT; {:.1} us of its thread a fault",
            bench.pager.lock().expect("no thread panicked")
        );
    }
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (one, other) = bench.in_order(1)?;
        raw.push(one);
        ours.push(other);
    }
    let of_raw = ratio(&ours, &raw);
    let (raw, ours) = (median(raw) / 1e6, median(ours) / 1e6);
    println!(
        "in order: O_DIRECT by 1 MiB {raw:.0} MB/s, loads {ours:.0} MB/s: {of_raw}; {:.1} us of its thread a segment",
        bench.pager.lock().expect("no thread panicked")
    );
    let hits: Vec<(f64, f64)> = (0..rounds).map(|_| bench.hits()).collect::<Outcome<_>>()?;
    let (plain, ours) = hits.into_iter().unzip();
    let (plain, ours) = (median(plain), median(ours));
    println!("a hit: {plain:.1} ns in memory, {ours:.1} ns in Memory: {:.2}", ours / plain);
    Ok(())
}
