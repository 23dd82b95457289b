//! A pointer chase: each load's address is in the line that was loaded before.

use media::{Act, LINE, Step};

use super::{Backing, Before, Making, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Steps made at once.
const BATCH: u64 = 512;

/// `table`; `loads`, shared out among `threads`; `instructions` between two (0). All lines of the table are one cycle in an
/// order without a pattern; the threads begin at places of their own. The table was written before.
pub(super) fn make(making: &mut Making<'_>, _: &'static str) -> Result<(), Error> {
    let keys = &mut *making.keys;
    let bytes = keys.size("table", 4096, None)?;
    let loads = keys.count("loads", (1, u64::MAX >> 8), None)?;
    let threads = keys.count("threads", (1, 64), Some(1))?;
    let instructions = keys.count("instructions", (0, 1 << 24), Some(0))? as u32;
    let base = making.regions.add("table", Backing::Anonymous, Before::Written, bytes);
    let lines = bytes / LINE;
    let bits = (u64::BITS - (lines - 1).leading_zeros()).max(2);
    let order = Order { lines, bits, key: making.stream(0).below(u64::MAX) | 1 };
    for thread in 0..threads {
        making.threads.push(Box::new(Chase {
            order,
            base,
            at: lines * thread / threads,
            left: loads / threads + u64::from(thread < loads % threads),
            instructions,
        }));
    }
    Ok(())
}

/// An order of all lines that needs no memory: numbers below a power of two are scrambled by steps that can each be undone,
/// and scrambled again until they name a line.
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
    fn every_line_is_loaded_once_in_a_round() {
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
