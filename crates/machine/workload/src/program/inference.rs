//! Inference with a large language model, token by token for one user. Each token reads the weights of every layer and
//! the context stored there (keys and values), and appends its own.

use media::{Act, LINE, Step};
use sim::Rng;

use super::builder::{Backing, Builder, InitialState, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Instructions per line of weights besides the load: 64 weights of one byte, of which a vector instruction multiplies
/// and adds 32; as many instructions to unpack them; and the loop.
const COMPUTE: u32 = 6;

/// Builds the program. Keys: `weights`, total bytes of all weights; `layers`; `experts` per layer, of which each token
/// uses `active`, drawn again for each layer and token; `kv`, bytes that a token stores across all layers; `context`,
/// number of tokens before the first; `warm`, tokens generated before measurement begins; `tokens`; `threads`, each of
/// which handles its part of each matrix and of the context.
pub(super) fn make(builder: &mut Builder<'_>, _: &'static str) -> Result<(), Error> {
    let keys = &mut *builder.keys;
    let layers = keys.count("layers", (1, 1024), Some(32))?;
    let experts = keys.count("experts", (1, 1024), Some(1))?;
    let active = keys.count("active", (1, experts), Some(1))?;
    let threads = keys.count("threads", (1, 64), Some(4))?;
    let tokens = keys.count("tokens", (1, 1 << 20), None)?;
    let context = keys.count("context", (0, 1 << 24), Some(0))?;
    let warm = keys.count("warm", (0, 1 << 20), Some(0))?;
    let matrix = keys.size("weights", LINE * layers * experts, None)? / layers / experts / LINE * LINE;
    let token_bytes = (keys.size("kv", LINE * layers, None)? / layers).next_multiple_of(LINE);
    let room = token_bytes * (context + warm + tokens);
    let weights = builder.regions.add("weights", Backing::Mapped, InitialState::Existing, matrix * experts * layers);
    // The initial context exists; tokens append to it as they are generated.
    let kv = builder.regions.add("context", Backing::Anonymous, InitialState::Written, room * layers);
    for thread in 0..threads {
        builder.threads.push(Box::new(Decoder {
            // All threads draw the same experts.
            rng: builder.stream(0),
            part: (thread, threads),
            weights,
            matrix,
            experts: (0..experts).collect(),
            active: active as usize,
            kv,
            token_bytes,
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
    /// Index of the thread, and number of threads.
    part: (u64, u64),
    weights: u64,
    matrix: u64,
    experts: Vec<u64>,
    active: usize,
    kv: u64,
    token_bytes: u64,
    room: u64,
    context: u64,
    layers: u64,
    layer: u64,
    /// Tokens left before measurement begins.
    /// Tokens left after that.
    warm: u64,
    tokens: u64,
}

impl Decoder {
    /// Reads the thread's part of `bytes` from `base` on, line by line.
    fn read(&self, base: u64, bytes: u64, instructions: u32, steps: &mut Vec<Step>) {
        let (number, of) = self.part;
        let line = |n: u64| bytes / LINE * n / of;
        for at in line(number)..line(number + 1) {
            steps.push(Step { instructions, act: Act::Load, bytes: LINE as u32, address: base + at * LINE });
        }
    }
}

impl Thread for Decoder {
    /// Generates the steps of one layer of a token.
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
        self.read(context, self.context * self.token_bytes, COMPUTE, steps);
        if self.part.0 == 0 {
            let own = context + self.context * self.token_bytes;
            let line = |at: u64| Step { instructions: 2, act: Act::Store, bytes: LINE as u32, address: own + at };
            steps.extend((0..self.token_bytes).step_by(LINE as usize).map(line));
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
