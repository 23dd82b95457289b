//! Inference with a large language model, one token after another for one user: each token reads the weights of every layer
//! and what the context has left there (keys and values), and adds its own.

use media::{Act, LINE, Step};
use sim::Rng;

use super::{Backing, Before, Making, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Instructions for a line of weights, beside its load: 64 weights of a byte, 32 of which a vector instruction multiplies and
/// adds; as many to unpack them; the loop.
const COMPUTE: u32 = 6;

/// `weights`, the bytes of all; `layers`; `experts` of each layer, of which a token uses `active`, drawn anew for each layer
/// and token; `kv`, the bytes that a token leaves in all layers; `context`, the tokens before the first; `warm`, those that are made
/// before measuring begins; `tokens`; `threads`, each with its part of each matrix and of what the context has left.
pub(super) fn make(making: &mut Making<'_>, _: &'static str) -> Result<(), Error> {
    let keys = &mut *making.keys;
    let layers = keys.count("layers", (1, 1024), Some(32))?;
    let experts = keys.count("experts", (1, 1024), Some(1))?;
    let active = keys.count("active", (1, experts), Some(1))?;
    let threads = keys.count("threads", (1, 64), Some(4))?;
    let tokens = keys.count("tokens", (1, 1 << 20), None)?;
    let context = keys.count("context", (0, 1 << 24), Some(0))?;
    let warm = keys.count("warm", (0, 1 << 20), Some(0))?;
    let matrix = keys.size("weights", LINE * layers * experts, None)? / layers / experts / LINE * LINE;
    let left = (keys.size("kv", LINE * layers, None)? / layers).next_multiple_of(LINE);
    let room = left * (context + warm + tokens);
    let weights = making.regions.add("weights", Backing::Mapped, Before::Found, matrix * experts * layers);
    // The context is there; what the tokens add is written as they come.
    let kv = making.regions.add("context", Backing::Anonymous, Before::Written, room * layers);
    for thread in 0..threads {
        making.threads.push(Box::new(Decoder {
            // All threads draw the same experts.
            rng: making.stream(0),
            part: (thread, threads),
            weights,
            matrix,
            experts: (0..experts).collect(),
            active: active as usize,
            kv,
            left,
            room,
            context,
            layers,
            layer: 0,
            warm,
            tokens,
        }));
    }
    Ok(())
}

struct Decoder {
    rng: Rng,
    /// Which thread of how many.
    part: (u64, u64),
    weights: u64,
    matrix: u64,
    experts: Vec<u64>,
    active: usize,
    kv: u64,
    left: u64,
    room: u64,
    context: u64,
    layers: u64,
    layer: u64,
    /// Tokens before measuring begins, and then.
    warm: u64,
    tokens: u64,
}

impl Decoder {
    /// Its part of `bytes` from `base` on, line by line.
    fn read(&self, base: u64, bytes: u64, instructions: u32, steps: &mut Vec<Step>) {
        let (number, of) = self.part;
        let line = |n: u64| bytes / LINE * n / of;
        for at in line(number)..line(number + 1) {
            steps.push(Step { instructions, act: Act::Load, bytes: LINE as u32, address: base + at * LINE });
        }
    }
}

impl Thread for Decoder {
    /// A layer of a token.
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        if self.tokens == 0 {
            return Ok(());
        }
        let first = self.weights + self.layer * self.matrix * self.experts.len() as u64;
        for chosen in 0..self.active {
            let other = chosen + self.rng.below((self.experts.len() - chosen) as u64) as usize;
            self.experts.swap(chosen, other);
            self.read(first + self.experts[chosen] * self.matrix, self.matrix, COMPUTE, steps);
        }
        let context = self.kv + self.layer * self.room;
        self.read(context, self.context * self.left, COMPUTE, steps);
        if self.part.0 == 0 {
            let own = context + self.context * self.left;
            let line = |at: u64| Step { instructions: 2, act: Act::Store, bytes: LINE as u32, address: own + at };
            steps.extend((0..self.left).step_by(LINE as usize).map(line));
        }
        self.layer += 1;
        if self.layer == self.layers {
            (self.layer, self.context) = (0, self.context + 1);
            if self.warm == 0 {
                self.tokens -= 1;
            } else {
                self.warm -= 1;
                if self.warm == 0 {
                    steps.push(Step { act: Act::Begin, ..Step::default() });
                }
            }
        }
        Ok(())
    }
}
