//! Sequential reads or writes of a file.

use media::{Act, LINE, Step};

use super::builder::{Backing, Builder, InitialState, Thread};
use crate::error::Error;
use crate::trace::TraceError;

/// Instructions to copy a line, besides its load and store: wide loads and stores, and a loop.
pub(super) const COPY: u32 = 6;

/// Builds `dd-read` or `dd-write`. Keys: `file`, its size; `block`, bytes per call; `threads`, each of which handles a
/// part of the file.
pub(super) fn make(builder: &mut Builder<'_>, kind: &'static str) -> Result<(), Error> {
    let keys = &mut *builder.keys;
    let file = keys.size("file", 4096, None)?;
    let block = keys.size("block", 64, Some(64 << 10))?;
    let threads = keys.count("threads", (1, 64), Some(1))?;
    let base = builder.regions.add("file", Backing::File, InitialState::Existing, file);
    let buffers = builder.regions.add(
        "buffers",
        Backing::Anonymous,
        InitialState::Allocated,
        (block * threads).next_multiple_of(LINE),
    );
    for thread in 0..threads {
        let part = |n: u64| file / LINE * n / threads * LINE;
        builder.threads.push(Box::new(Blocks {
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

/// Generates a call that reads or writes `bytes` of a file, and the copy to or from `buffer`.
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
