//! STREAM's kernels (McCalpin): copy, scale and add arrays from start to end.

use media::{Act, LINE, Step};

use super::builder::{Backing, Builder, InitialState, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Lines generated per call.
const BATCH: u64 = 128;

/// Instructions per line besides its loads and stores: arithmetic on two 32-byte vectors, and the loop.
const COMPUTE: u32 = 4;

/// The kernels: name, arrays read, array written.
const KERNELS: [(&str, &[usize], usize); 4] =
    [("copy", &[0], 2), ("scale", &[2], 1), ("add", &[0, 1], 2), ("triad", &[1, 2], 0)];

/// Builds the program. Keys: `kernel`; `array`, the size of each of the three arrays; `passes` over them; `warm`,
/// passes before measurement begins; `threads`, each of which handles its part of each array. The arrays are already
/// written.
pub(super) fn make(builder: &mut Builder<'_>, _: &'static str) -> Result<(), Error> {
    let keys = &mut *builder.keys;
    let kernel = keys.choice("kernel", &KERNELS.map(|(name, ..)| name), None)?;
    let array = keys.size("array", 4096, None)? / LINE * LINE;
    let passes = keys.count("passes", (1, 1 << 20), Some(1))?;
    let warm = keys.count("warm", (0, 1 << 20), Some(0))?;
    let threads = keys.count("threads", (1, 64), Some(1))?;
    let arrays =
        ["a", "b", "c"].map(|name| builder.regions.add(name, Backing::Anonymous, InitialState::Written, array));
    for thread in 0..threads {
        let part = |n: u64| array / LINE * n / threads * LINE;
        let (_, from, to) = KERNELS[kernel];
        builder.threads.push(Box::new(Kernel {
            from: from.iter().map(|number| arrays[*number]).collect(),
            to: arrays[to],
            part: part(thread)..part(thread + 1),
            at: part(thread),
            warm,
            passes,
        }));
    }
    Ok(())
}

struct Kernel {
    from: Vec<u64>,
    to: u64,
    part: std::ops::Range<u64>,
    at: u64,
    warm: u64,
    passes: u64,
}

impl Thread for Kernel {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        if self.passes == 0 || self.part.is_empty() {
            return Ok(());
        }
        for _ in 0..BATCH {
            let step = |act, instructions, address| Step { instructions, act, bytes: LINE as u32, address };
            let loads = self.from.iter().map(|array| step(Act::Load, 1, array + self.at));
            steps.extend(loads);
            steps.push(step(Act::Store, COMPUTE, self.to + self.at));
            self.at += LINE;
            if self.at < self.part.end {
                continue;
            }
            self.at = self.part.start;
            if self.warm == 0 {
                self.passes -= 1;
            } else {
                self.warm -= 1;
                if self.warm == 0 {
                    steps.push(Step { act: Act::Begin, ..Step::default() });
                }
            }
            if self.passes == 0 {
                break;
            }
        }
        Ok(())
    }
}
