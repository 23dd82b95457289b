//! Random accesses to single words: updates of a table (GUPS), reads of a mapped file, and partly sequential reads.

use media::{Act, Step};
use sim::Rng;

use super::builder::{Backing, Builder, InitialState, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Bytes per access.
const WORD: u64 = 8;
/// Steps generated per call.
const BATCH: u64 = 512;

/// Builds the program. Keys by kind:
///
/// * `gups`: `table`, `updates` (each a load and a store of the same word);
/// * `mix`: `table`, `accesses`, `random` (the fraction at random positions), `stride` (of the others; defaults to a
///   page, because closer accesses always hit a cache), `store` (whether each load is followed by a store of the word);
/// * `mmap`: `file`, `reads`.
///
/// Common keys: `threads`, which divide the accesses; `instructions` between two accesses; `ordered`, where each access
/// waits for all earlier ones, like a program that takes a random number generator's lock or reads the time stamp
/// counter in between. For tables: `create`, where the threads first write the table, each its own part, and
/// measurement begins when all have finished; or `created`, where the table is already written and memory is in the
/// corresponding state.
pub(super) fn make(builder: &mut Builder<'_>, kind: &'static str) -> Result<(), Error> {
    let keys = &mut *builder.keys;
    let (region, count, backing) = match kind {
        "gups" => ("table", "updates", Backing::Anonymous),
        "mix" => ("table", "accesses", Backing::Anonymous),
        _ => ("file", "reads", Backing::Mapped),
    };
    let bytes = keys.size(region, 4096, None)?;
    let count = keys.count(count, (1, u64::MAX >> 8), None)?;
    let threads = keys.count("threads", (1, 64), Some(1))?;
    let instructions = keys.count("instructions", (0, 1 << 24), Some(60))? as u32;
    let ordered = keys.flag("ordered", true)?;
    let (random, stride) = match kind {
        "mix" => (keys.part("random", None)?, keys.size("stride", WORD, Some(4096))?),
        _ => (1.0, WORD),
    };
    let store = kind == "gups" || kind == "mix" && keys.flag("store", false)?;
    let create = kind != "mmap" && keys.flag("create", false)?;
    let created = kind != "mmap" && keys.flag("created", false)?;
    if create && created {
        return Err(keys.error("created", "found true, expected false where create is true"));
    }
    let initial = if created { InitialState::Written } else { InitialState::Existing };
    let base = builder.regions.add(region, backing, initial, bytes);
    for thread in 0..threads {
        let part = |n: u64| bytes / WORD * n / threads * WORD;
        let created = base + part(thread);
        builder.threads.push(Box::new(Words {
            rng: builder.stream(thread as u16),
            base,
            bytes,
            left: count / threads + u64::from(thread < count % threads),
            act: if ordered { Act::OrderedLoad } else { Act::Load },
            store,
            instructions,
            random,
            stride,
            last: created,
            create: if create { created..base + part(thread + 1) } else { 0..0 },
            begun: !create,
        }));
    }
    Ok(())
}

struct Words {
    rng: Rng,
    base: u64,
    bytes: u64,
    left: u64,
    act: Act,
    store: bool,
    instructions: u32,
    random: f64,
    stride: u64,
    last: u64,
    create: std::ops::Range<u64>,
    begun: bool,
}

impl Thread for Words {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        for _ in 0..BATCH {
            if self.create.start < self.create.end {
                // Stores one line at a time; the instructions include the stores to its other seven words.
                steps.push(Step { instructions: 15, act: Act::Store, bytes: 64, address: self.create.start });
                self.create.start = (self.create.start + 1).next_multiple_of(64);
                continue;
            }
            if !self.begun {
                self.begun = true;
                steps.push(Step { act: Act::Begin, ..Step::default() });
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.last = if self.rng.chance(self.random) {
                self.base + self.rng.below(self.bytes / WORD) * WORD
            } else {
                self.base + (self.last - self.base + self.stride) % self.bytes
            };
            let (bytes, address) = (WORD as u32, self.last);
            steps.push(Step { instructions: self.instructions, act: self.act, bytes, address });
            if self.store {
                steps.push(Step { instructions: 1, act: Act::Store, bytes, address });
            }
        }
        Ok(())
    }
}
