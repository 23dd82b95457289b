//! A job whose requests go to several drives.

use sim::Rng;

use super::super::pattern::Pattern;
use super::{Placed, Placing};
use crate::fio::Service;

/// The drives of a job, of which each has a pattern. The first one's is that of the job.
#[derive(Clone, Debug)]
pub(in crate::player) struct Files {
    /// Patterns of the further drives.
    others: Vec<Pattern>,
    service: Service,
    /// Requests per choice of a drive, and those left until the next.
    per_choice: u64,
    left: u64,
    /// The drive in use, and the bytes of its pass that are left.
    current: usize,
    pass: u64,
    /// Bytes of the region on each drive.
    bytes: u64,
    rng: Rng,
}

impl Files {
    /// Creates the drives of a job with a region of `bytes` bytes on each. `others` are the patterns of all but the first.
    pub fn new(others: Vec<Pattern>, (service, per_choice): (Service, u64), bytes: u64, mut rng: Rng) -> Files {
        let current = if service == Service::Random { rng.below(others.len() as u64 + 1) as usize } else { 0 };
        Files { others, service, per_choice, left: per_choice, current, pass: bytes, bytes, rng }
    }

    fn pattern<'a>(&'a mut self, first: &'a mut Pattern) -> &'a mut Pattern {
        match self.current.checked_sub(1) {
            None => first,
            Some(other) => &mut self.others[other],
        }
    }

    /// Chooses the drive of the next request, after one of `bytes` bytes.
    fn go_on(&mut self, bytes: u64) {
        let count = self.others.len() + 1;
        self.pass = self.pass.saturating_sub(bytes);
        self.left -= 1;
        match self.service {
            Service::Sequential if self.pass == 0 => {
                (self.current, self.pass) = ((self.current + 1) % count, self.bytes)
            }
            Service::RoundRobin if self.left == 0 => self.current = (self.current + 1) % count,
            Service::Random if self.left == 0 => self.current = self.rng.below(count as u64) as usize,
            _ => {}
        }
        if self.left == 0 {
            self.left = self.per_choice;
        }
    }
}

impl Placing for Files {
    fn waiting(&self) -> Option<usize> {
        None
    }

    fn choose(&mut self, pattern: &mut Pattern) -> usize {
        self.pattern(pattern).choose()
    }

    fn place(&mut self, pattern: &mut Pattern, direction: usize, _: u32) -> Placed {
        let count = self.others.len() + 1;
        for _ in 0..count {
            if let Some(request) = self.pattern(pattern).draw(direction) {
                // A block that was trimmed is written on the same drive.
                if !self.pattern(pattern).must_write() {
                    self.go_on(request.bytes);
                }
                return Placed::Request(request, 0);
            }
            (self.current, self.pass) = ((self.current + 1) % count, self.bytes);
        }
        Placed::End
    }

    fn rewind(&mut self) {
        self.others.iter_mut().for_each(Pattern::rewind);
        (self.current, self.pass, self.left) = (0, self.bytes, self.per_choice);
    }
}
