//! A file from its beginning to its end.

use media::{Act, LINE, Step};

use super::{Backing, Before, Making, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Instructions that copy a line, its load and its store not counted: wide loads and stores, and a loop.
pub(super) const COPY: u32 = 6;

/// `dd-read` and `dd-write`: `file`, its size; `block`, the bytes of a call; `threads`, each with a part of the file.
pub(super) fn make(making: &mut Making<'_>, kind: &'static str) -> Result<(), Error> {
    let keys = &mut *making.keys;
    let file = keys.size("file", 4096, None)?;
    let block = keys.size("block", 64, Some(64 << 10))?;
    let threads = keys.count("threads", (1, 64), Some(1))?;
    let base = making.regions.add("file", Backing::File, Before::Found, file);
    let buffers =
        making.regions.add("buffers", Backing::Anonymous, Before::Allocated, (block * threads).next_multiple_of(LINE));
    for thread in 0..threads {
        let part = |n: u64| file / LINE * n / threads * LINE;
        making.threads.push(Box::new(Blocks {
            at: base + part(thread),
            end: base + part(thread + 1),
            block,
            buffer: buffers + thread * block,
            write: kind == "dd-write",
        }));
    }
    Ok(())
}

struct Blocks {
    at: u64,
    end: u64,
    block: u64,
    buffer: u64,
    write: bool,
}

impl Thread for Blocks {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        let bytes = self.block.min(self.end - self.at);
        if bytes > 0 {
            transfer(steps, self.write, self.at, bytes, self.buffer);
            self.at += bytes;
        }
        Ok(())
    }
}

/// A call that reads or writes `bytes` of a file, and the copy.
pub(super) fn transfer(steps: &mut Vec<Step>, write: bool, address: u64, bytes: u64, buffer: u64) {
    let act = if write { Act::Write } else { Act::Read };
    steps.push(Step { instructions: 100, act, bytes: bytes as u32, address });
    let (from, to) = if write { (buffer, address) } else { (address, buffer) };
    let mut done = 0;
    while done < bytes {
        let length = (LINE - done % LINE).min(bytes - done) as u32;
        steps.push(Step { instructions: COPY, act: Act::Load, bytes: length, address: from + done });
        steps.push(Step { instructions: 0, act: Act::Store, bytes: length, address: to + done });
        done += u64::from(length);
    }
}
