//! Filebench's personalities (Filebench 1.4, `workloads/NAME.f`): the operations that each thread repeats, and the file
//! sizes. Sizes are drawn from a gamma distribution of shape 1.5, filebench's default, around the mean. Files are laid
//! out one after another, with space to append. Opening, closing, creating, deleting and querying a file are calls that
//! move no data.
//!
//! Differences from filebench: there are at most 64 threads in total; in `oltp`, the reading threads also do the work
//! of the database and log writers, in the proportion that filebench's semaphores maintain; `videoserver` runs at full
//! speed and does not replace videos.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use media::{Act, Step};
use sim::Rng;

use super::builder::{Backing, Builder, InitialState, Thread};
use super::sequential::transfer;
use crate::error::Error;
use crate::trace::TraceError;

const PAGE: u64 = 4096;
/// Instructions between two operations, for the generator itself.
const BETWEEN: u32 = 500;

/// Operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Makes a call that moves no data.
    Call,
    /// Selects another file.
    Pick,
    ReadWhole,
    WriteWhole,
    /// Appends a random number of bytes to the file, up to `Personality::append`.
    Append,
    /// Appends a random number of bytes, up to `Personality::append`, to the log.
    Log,
    Sync,
    /// Reads this many bytes at a random position of the file.
    ReadAt(u64),
    /// Reads the next bytes of the thread's own file.
    ReadNext(u64),
    /// Executes this many instructions.
    Think(u32),
    /// Once every given number of turns, writes this many bytes at a random position and makes them durable.
    WriteEvery(u64, u64),
}

use Flow::{Append, Call, Log, Pick, ReadAt, ReadNext, ReadWhole, Sync, Think, WriteEvery, WriteWhole};

struct Personality {
    name: &'static str,
    files: u64,
    size: u64,
    threads: u64,
    /// Bytes per call when a whole file is read or written.
    io: u64,
    append: u64,
    flows: &'static [Flow],
}

const KIB: u64 = 1 << 10;

const PERSONALITIES: [Personality; 6] = [
    Personality {
        name: "fileserver",
        files: 10_000,
        size: 128 * KIB,
        threads: 50,
        io: 1024 * KIB,
        append: 16 * KIB,
        flows: &[
            Pick, Call, WriteWhole, Call, Pick, Call, Append, Call, Pick, Call, ReadWhole, Call, Pick, Call, Pick, Call,
        ],
    },
    Personality {
        name: "webproxy",
        files: 10_000,
        size: 16 * KIB,
        threads: 64,
        io: 1024 * KIB,
        append: 16 * KIB,
        flows: &[
            Pick, Call, Pick, Call, Append, Call, Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call,
            ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call,
        ],
    },
    Personality {
        name: "webserver",
        files: 1_000,
        size: 16 * KIB,
        threads: 64,
        io: 1024 * KIB,
        append: 16 * KIB,
        flows: &[
            Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call,
            ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call,
            Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call, Pick, Call, ReadWhole, Call, Log,
        ],
    },
    Personality {
        name: "varmail",
        files: 1_000,
        size: 16 * KIB,
        threads: 16,
        io: 1024 * KIB,
        append: 16 * KIB,
        flows: &[
            Pick, Call, Pick, Call, Append, Sync, Call, Pick, Call, ReadWhole, Append, Sync, Call, Pick, Call,
            ReadWhole, Call,
        ],
    },
    Personality {
        name: "oltp",
        files: 10,
        size: 10 * 1024 * KIB,
        threads: 64,
        io: 2 * KIB,
        append: 256 * KIB,
        // After each read, processor time; one database write per 10 reads and one log write per 3,200 reads.
        flows: &[Pick, ReadAt(2 * KIB), Think(200_000), WriteEvery(10, 2 * KIB), WriteEvery(3_200, 256 * KIB)],
    },
    Personality {
        name: "videoserver",
        files: 32,
        size: 10 << 30,
        threads: 48,
        io: 256 * KIB,
        append: 16 * KIB,
        flows: &[ReadNext(256 * KIB)],
    },
];

/// Builds the program. Keys: `files`, `size` (the mean file size) and `threads`, with the defaults above; `operations`,
/// the number of turns of all threads of the program together.
pub(super) fn make(builder: &mut Builder<'_>, kind: &'static str) -> Result<(), Error> {
    let of = PERSONALITIES.iter().find(|each| each.name == kind).expect("every kind has a personality");
    let keys = &mut *builder.keys;
    let files = keys.count("files", (1, 1 << 20), Some(of.files))?;
    let size = keys.size("size", 512, Some(of.size))?;
    let threads = keys.count("threads", (1, 64), Some(of.threads))?;
    let operations = keys.count("operations", (1, u64::MAX >> 8), None)?;
    let fixed = kind == "oltp" || kind == "videoserver";
    let mut rng = builder.streams.stream(&format!("program.{}.files", builder.number));
    let (mut at, mut set) = (0, Vec::with_capacity(files as usize));
    for _ in 0..files {
        let bytes = if fixed { size } else { ((gamma(&mut rng) * size as f64) as u64).clamp(512, 8 * size) };
        set.push((at, bytes));
        at += (bytes + if fixed { 0 } else { of.append }).next_multiple_of(PAGE);
    }
    let base = builder.regions.add("files", Backing::File, InitialState::Existing, at);
    // A single growing log: all threads append to its end.
    let room = of.append * 16 * threads;
    let log = builder.regions.add("log", Backing::File, InitialState::Allocated, room);
    let end = Arc::new(AtomicU64::new(0));
    let io = of.io.max(of.append);
    let buffers = builder.regions.add("buffers", Backing::Anonymous, InitialState::Allocated, io * threads);
    let set: Arc<[(u64, u64)]> = set.into_iter().map(|(at, bytes)| (base + at, bytes)).collect();
    for thread in 0..threads {
        builder.threads.push(Box::new(Worker {
            rng: builder.stream(thread as u16),
            // One video per thread, as far as there are enough.
            file: (thread % files) as usize,
            set: Arc::clone(&set),
            appended: vec![0; files as usize],
            of,
            left: operations / threads + u64::from(thread < operations % threads),
            turns: 0,
            next: 0,
            log: (log, room),
            end: Arc::clone(&end),
            buffer: buffers + thread * io,
        }));
    }
    Ok(())
}

/// Draws from the gamma distribution of shape 1.5 and mean 1 (Marsaglia and Tsang, 2000).
fn gamma(rng: &mut Rng) -> f64 {
    const SHAPE: f64 = 1.5;
    let d = SHAPE - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = rng.normal();
        let v = 1.0 + c * x;
        let v = v * v * v;
        if v > 0.0 && libm::log(rng.unit().max(1e-300)) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v / SHAPE;
        }
    }
}

struct Worker {
    rng: Rng,
    set: Arc<[(u64, u64)]>,
    file: usize,
    /// Bytes that this thread has appended to each file; wraps to zero when the space is used up.
    appended: Vec<u64>,
    of: &'static Personality,
    left: u64,
    turns: u64,
    /// Next position in the thread's own file.
    next: u64,
    /// Base and size of the log.
    /// Current length of the log, shared by all threads.
    log: (u64, u64),
    end: Arc<AtomicU64>,
    buffer: u64,
}

impl Worker {
    fn flow(&mut self, flow: Flow, steps: &mut Vec<Step>) {
        let (start, bytes) = self.set[self.file];
        match flow {
            Pick => self.file = self.rng.below(self.set.len() as u64) as usize,
            Call => steps.push(Step { instructions: BETWEEN, act: Act::Read, bytes: 0, address: start }),
            ReadWhole => self.whole(false, start, bytes + self.appended[self.file], steps),
            WriteWhole => {
                self.appended[self.file] = 0;
                self.whole(true, start, bytes, steps);
            }
            Append => {
                let length = 1 + self.rng.below(self.of.append);
                let end = &mut self.appended[self.file];
                if *end + length > self.of.append {
                    *end = 0;
                }
                let at = start + bytes + *end;
                *end += length;
                transfer(steps, true, at, length, self.buffer);
            }
            Log => {
                let length = 1 + self.rng.below(self.of.append);
                let (base, room) = self.log;
                let mut at = self.end.fetch_add(length, Relaxed) % room;
                if at + length > room {
                    at = 0;
                }
                transfer(steps, true, base + at, length, self.buffer);
            }
            Sync => steps.push(Step { instructions: BETWEEN, act: Act::Sync, bytes: 0, address: start }),
            ReadAt(length) => {
                let at = start + self.rng.below(bytes / length) * length;
                transfer(steps, false, at, length, self.buffer);
            }
            ReadNext(length) => {
                let length = length.min(bytes - self.next);
                transfer(steps, false, start + self.next, length, self.buffer);
                self.next = (self.next + length) % bytes;
            }
            Think(instructions) => {
                steps.push(Step { instructions, act: Act::Load, bytes: 8, address: self.buffer });
            }
            WriteEvery(turns, length) => {
                if self.turns.is_multiple_of(turns) {
                    let at = start + self.rng.below((bytes / length).max(1)) * length;
                    transfer(steps, true, at, length.min(bytes), self.buffer);
                    steps.push(Step { instructions: BETWEEN, act: Act::Sync, bytes: 0, address: at });
                }
            }
        }
    }

    fn whole(&mut self, write: bool, start: u64, bytes: u64, steps: &mut Vec<Step>) {
        let mut done = 0;
        while done < bytes {
            let length = self.of.io.min(bytes - done);
            transfer(steps, write, start + done, length, self.buffer);
            done += length;
        }
    }
}

impl Thread for Worker {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        if self.left > 0 {
            self.left -= 1;
            self.turns += 1;
            let of = self.of;
            for flow in of.flows {
                self.flow(*flow, steps);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sim::Streams;

    use super::*;

    #[test]
    fn file_sizes_follow_the_distribution() {
        let mut rng = Streams::new(1).stream("gamma");
        let draws: Vec<f64> = (0..40_000).map(|_| gamma(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 40_000.0;
        let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / 40_000.0;
        // Shape k and mean 1 give a variance of 1 / k.
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0 / 1.5).abs() < 0.03, "{mean}, {variance}");
    }
}
