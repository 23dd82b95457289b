//! The addresses and sizes of a generated job.

use media::{Op, Request};
use sim::Rng;

use crate::dist::Sampler;
use crate::fio::{Job, Kind, READ, Sizes, TRIM, WRITE};

/// Draws a job's requests, one after another.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    rng: Rng,
    kind: Mix,
    // What a job of one direction does.
    op: Op,
    // Where the next request starts, if that one direction is sequential.
    position: u64,
    // The region on the drive, in bytes.
    start: u64,
    bytes: u64,
    lanes: [Lane; 3],
    samplers: Vec<Sampler>,
    // What was trimmed and is now to be written.
    trimmed: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    Only(usize),
    /// Reads and writes: of 100, so many reads.
    Mixed(u64),
    TrimWrite,
}

/// One direction of a job.
#[derive(Clone, Debug)]
struct Lane {
    op: Op,
    /// Every request's bytes, or 0 where they are drawn.
    fixed: u64,
    unit: u64,
    sizes: Sizes,
    random: bool,
    /// Which sampler draws for it, if it is random.
    sampler: usize,
    /// Where the next request starts in the region, if it is sequential.
    position: u64,
}

impl Pattern {
    /// The pattern of `job` on a region of the drive, which holds at least one block of each direction.
    ///
    /// # Errors
    /// What is wrong with the distribution of addresses for this region.
    pub fn new(job: &Job, start: u64, bytes: u64, mut rng: Rng) -> Result<Pattern, String> {
        let kind = match job.rw.kind {
            Kind::Only(Op::Read) => Mix::Only(READ),
            Kind::Only(Op::Write) => Mix::Only(WRITE),
            Kind::Only(_) => Mix::Only(TRIM),
            Kind::Mixed => Mix::Mixed(job.reads),
            Kind::TrimWrite => Mix::TrimWrite,
        };
        let mut samplers = Vec::new();
        let mut lanes = [READ, WRITE, TRIM].map(|direction| {
            let sizes = job.sizes(direction);
            let fixed = if let Sizes::Fixed(bytes) = sizes { bytes } else { 0 };
            let op = [Op::Read, Op::Write, Op::Trim][direction];
            Lane { op, fixed, unit: sizes.smallest(), sizes, random: job.rw.random, sampler: 0, position: 0 }
        });
        for direction in [READ, WRITE, TRIM] {
            if !job.rw.random || !job.rw.has(direction) {
                continue;
            }
            // Directions with the same blocks share a sampler: one random map, and the same hot blocks.
            let twin = (READ..direction).find(|other| {
                job.rw.has(*other)
                    && lanes[*other].unit == lanes[direction].unit
                    && job.distribution[*other] == job.distribution[direction]
            });
            if let Some(twin) = twin {
                lanes[direction].sampler = lanes[twin].sampler;
                continue;
            }
            let lane = &mut lanes[direction];
            lane.sampler = samplers.len();
            let distribution = &job.distribution[direction];
            samplers.push(Sampler::new(distribution, bytes / lane.unit, lane.unit, job.random_map, &mut rng)?);
        }
        let op = if let Mix::Only(direction) = kind { lanes[direction].op } else { Op::Read };
        Ok(Pattern { rng, kind, op, position: 0, start, bytes, lanes, samplers, trimmed: None })
    }

    /// The size of every request, where all have one, and are random from one sampler or sequential in one direction.
    pub fn only_size(&self) -> Option<u64> {
        let lanes = match self.kind {
            Mix::Only(direction) => &self.lanes[direction..=direction],
            Mix::Mixed(_) if !self.samplers.is_empty() => &self.lanes[READ..=WRITE],
            Mix::Mixed(_) | Mix::TrimWrite => return None,
        };
        let size = lanes[0].fixed;
        let alike = lanes.iter().all(|lane| lane.fixed == size && lane.sampler == 0);
        (size != 0 && alike).then_some(size)
    }

    /// The direction of the next request.
    #[inline(never)]
    pub fn choose(&mut self) -> usize {
        match self.kind {
            Mix::Only(direction) => direction,
            Mix::Mixed(reads) if self.rng.below(100) < reads => READ,
            Mix::TrimWrite if self.trimmed.is_none() => TRIM,
            Mix::Mixed(_) | Mix::TrimWrite => WRITE,
        }
    }

    /// The other direction of a mix, if it is drawn at all.
    pub fn other(&self, direction: usize) -> Option<usize> {
        match (self.kind, direction) {
            (Mix::Mixed(reads), READ) if reads < 100 => Some(WRITE),
            (Mix::Mixed(reads), WRITE) if reads > 0 => Some(READ),
            _ => None,
        }
    }

    /// The next request, where `size` is the only size.
    #[inline(always)]
    pub fn draw_plain(&mut self, size: u64) -> Request {
        let op = if let Mix::Only(_) = self.kind { self.op } else { self.lanes[self.choose()].op };
        let at = match self.samplers.first_mut() {
            Some(sampler) => sampler.draw(&mut self.rng) * size,
            None => self.next_in_order(size),
        };
        Request::new(op, self.start + at, size)
    }

    #[inline(never)]
    fn next_in_order(&mut self, size: u64) -> u64 {
        let at = self.position;
        self.position = if at + 2 * size <= self.bytes { at + size } else { 0 };
        at
    }

    /// The next request of a direction.
    pub fn draw(&mut self, direction: usize) -> Request {
        let lane = &mut self.lanes[direction];
        if direction == WRITE
            && let Some((offset, bytes)) = self.trimmed.take()
        {
            return Request::new(Op::Write, offset, bytes);
        }
        let at = if lane.random { self.samplers[lane.sampler].draw(&mut self.rng) * lane.unit } else { lane.position };
        let bytes = size(&lane.sizes, self.bytes - at, &mut self.rng);
        assert!(at + bytes <= self.bytes, "a request of {bytes} bytes at {at} leaves the region of {}", self.bytes);
        if !lane.random {
            lane.position = if at + bytes + lane.unit <= self.bytes { at + bytes } else { 0 };
        }
        if self.kind == Mix::TrimWrite {
            self.trimmed = Some((self.start + at, bytes));
        }
        Request::new(lane.op, self.start + at, bytes)
    }
}

/// A size of at most `room` bytes: the one drawn, or else the largest that fits.
fn size(sizes: &Sizes, room: u64, rng: &mut Rng) -> u64 {
    match sizes {
        Sizes::Fixed(bytes) => *bytes,
        Sizes::Range(smallest, largest) => {
            let drawn = (1 + rng.below(largest / smallest)) * smallest;
            drawn.min(room - room % smallest)
        }
        Sizes::Split(split) => {
            let weights = split.last().expect("a split has sizes").1;
            let u = rng.below(weights);
            let drawn = split[split.partition_point(|(_, end)| *end <= u)].0;
            if drawn <= room {
                return drawn;
            }
            split.iter().map(|(bytes, _)| *bytes).filter(|bytes| *bytes <= room).max().expect("the smallest fits")
        }
    }
}
