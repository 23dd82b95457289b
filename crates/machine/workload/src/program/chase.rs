//! Pointer chase: the address of each load depends on the previous load.

use media::{Act, LINE, Step};

use super::builder::{Backing, Builder, InitialState, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Steps generated per call.
const BATCH: u64 = 512;

/// Builds the program. Keys: `table`; `loads`, divided among `threads`; `instructions` between two loads (default 0).
/// The lines of the table form a single cycle in scrambled order, and each thread starts at a different position. The
/// table is already written.
pub(super) fn make(builder: &mut Builder<'_>, _: &'static str) -> Result<(), Error> {
    let keys = &mut *builder.keys;
    let bytes = keys.size("table", 4096, None)?;
    let loads = keys.count("loads", (1, u64::MAX >> 8), None)?;
    let threads = keys.count("threads", (1, 64), Some(1))?;
    let instructions = keys.count("instructions", (0, 1 << 24), Some(0))? as u32;
    let base = builder.regions.add("table", Backing::Anonymous, InitialState::Written, bytes);
    let lines = bytes / LINE;
    let bits = (u64::BITS - (lines - 1).leading_zeros()).max(2);
    let order = Order { lines, bits, key: builder.stream(0).below(u64::MAX) | 1 };
    for thread in 0..threads {
        builder.threads.push(Box::new(Chase {
            order,
            base,
            at: lines * thread / threads,
            left: loads / threads + u64::from(thread < loads % threads),
            instructions,
        }));
    }
    Ok(())
}

/// A permutation of all lines that needs no memory. It scrambles numbers below a power of two by invertible steps, and
/// repeats until the result is a valid line.
#[derive(Clone, Copy)]
struct Order {
    lines: u64,
    bits: u32,
    key: u64,
}

impl Order {
    fn line(&self, number: u64) -> u64 {
        let mask = u64::MAX >> (u64::BITS - self.bits);
        let mut line = number;
        loop {
            for key in [self.key, self.key.rotate_left(21) | 1, self.key.rotate_left(42) | 1] {
                line = line.wrapping_mul(key).wrapping_add(key >> 7) & mask;
                line ^= line >> (self.bits / 2);
            }
            if line < self.lines {
                return line;
            }
        }
    }
}

struct Chase {
    order: Order,
    base: u64,
    at: u64,
    left: u64,
    instructions: u32,
}

impl Thread for Chase {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        for _ in 0..BATCH.min(self.left) {
            let address = self.base + self.order.line(self.at) * LINE;
            steps.push(Step { instructions: self.instructions, act: Act::OrderedLoad, bytes: 8, address });
            self.at = (self.at + 1) % self.order.lines;
            self.left -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_loads_every_line_once() {
        for lines in [64_u64, 65, 100, 4095, 4096] {
            let bits = (u64::BITS - (lines - 1).leading_zeros()).max(2);
            let order = Order { lines, bits, key: 0x9e37_79b9_7f4a_7c15 };
            let mut seen: Vec<u64> = (0..lines).map(|number| order.line(number)).collect();
            let neighbors = seen.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count();
            assert!(neighbors < 12, "{neighbors} neighbors of {lines} lines follow each other");
            seen.sort_unstable();
            assert_eq!(seen, (0..lines).collect::<Vec<u64>>());
        }
    }
}
