//! The addresses and sizes of a generated job.

use media::{Op, Request};
use sim::Rng;

use super::order::Order;
use crate::dist::{Distribution, FreeMap, Sampler};
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
    // Requests for each random offset, how many are left of them, and whether they repeat it.
    run_length: u64,
    run_left: u64,
    identical: bool,
    fua: bool,
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
    /// What its random offsets are multiples of.
    align: u64,
    /// Percent of its requests that are random.
    random_share: u64,
    /// Where it stands in the region; for a random direction, behind its last request.
    order: Order,
    /// Where its last request started.
    last: u64,
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
            let (unit, align) = (sizes.smallest(), job.alignment(direction));
            // A job with gaps is done when it has come to the end of its region.
            let wraps = job.gap == 0 || job.io_size.is_some() || job.time_based;
            let order = Order::new(if job.rw.random { 0 } else { job.gap }, wraps, job.strided.then_some(job.zones));
            let (random, random_share) = (job.rw.random, job.random_share[direction]);
            Lane { op, fixed, unit, sizes, random, sampler: 0, align, random_share, order, last: 0 }
        });
        for direction in [READ, WRITE, TRIM] {
            if !job.rw.random || !job.rw.has(direction) {
                continue;
            }
            // Directions with the same blocks share a sampler: one random map, and the same hot blocks.
            let twin = (READ..direction).find(|other| {
                job.rw.has(*other)
                    && lanes[*other].align == lanes[direction].align
                    && job.distribution[*other] == job.distribution[direction]
            });
            if let Some(twin) = twin {
                lanes[direction].sampler = lanes[twin].sampler;
                continue;
            }
            let lane = &mut lanes[direction];
            lane.sampler = samplers.len();
            let (distribution, blocks) = (&job.distribution[direction], bytes / lane.align);
            if blocks == 0 {
                return Err(format!(
                    "found offsets in steps of {} bytes, expected at most the region's {bytes}",
                    lane.align
                ));
            }
            let cut = job.random_map && !job.lfsr && job.mixes_sizes() && *distribution == Distribution::Random;
            samplers.push(match cut {
                true => Sampler::Free(FreeMap::new(blocks)),
                false => Sampler::new(distribution, blocks, lane.align, job.random_map, &mut rng)?,
            });
        }
        let op = if let Mix::Only(direction) = kind { lanes[direction].op } else { Op::Read };
        let (run_length, identical, fua) = (job.run_length, job.identical, job.sync);
        let run_left = 0;
        Ok(Pattern {
            rng,
            kind,
            op,
            position: 0,
            start,
            bytes,
            lanes,
            samplers,
            run_length,
            run_left,
            identical,
            fua,
            trimmed: None,
        })
    }

    /// Begins again, as the first pass did.
    pub fn rewind(&mut self) {
        self.position = 0;
        (self.run_left, self.trimmed) = (0, None);
        for lane in &mut self.lanes {
            lane.order.rewind();
        }
        for sampler in &mut self.samplers {
            sampler.restart(&mut self.rng);
        }
    }

    /// The size of every request, where all have one, and are random from one sampler or sequential in one direction.
    pub fn only_size(&self) -> Option<u64> {
        let lanes = match self.kind {
            Mix::Only(direction) => &self.lanes[direction..=direction],
            Mix::Mixed(_) if !self.samplers.is_empty() => &self.lanes[READ..=WRITE],
            Mix::Mixed(_) | Mix::TrimWrite => return None,
        };
        let size = lanes[0].fixed;
        let alike = lanes.iter().all(|lane| {
            lane.fixed == size
                && lane.sampler == 0
                && lane.random_share == 100
                && lane.align == size
                && lane.order.is_plain()
        });
        (size != 0 && alike && self.run_length == 1 && !self.fua).then_some(size)
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

    /// The next request of a direction; none where a sequential one has come to the end of its only pass.
    pub fn draw(&mut self, direction: usize) -> Option<Request> {
        if direction == WRITE
            && let Some((offset, bytes)) = self.trimmed.take()
        {
            return Some(Request { fua: self.fua, ..Request::new(Op::Write, offset, bytes) });
        }
        let (at, mapped) = self.place(direction)?;
        let lane = &mut self.lanes[direction];
        let mut bytes = size(&lane.sizes, self.bytes - at, &mut self.rng);
        if mapped && let Sampler::Free(map) = &mut self.samplers[lane.sampler] {
            let blocks = bytes.div_ceil(lane.unit);
            let free = map.take(at / lane.unit, blocks);
            bytes = if free < blocks { free * lane.unit } else { bytes };
        }
        assert!(at + bytes <= self.bytes, "a request of {bytes} bytes at {at} leaves the region of {}", self.bytes);
        lane.order.advance(at, bytes);
        lane.last = at;
        if self.kind == Mix::TrimWrite {
            self.trimmed = Some((self.start + at, bytes));
        }
        let fua = self.fua && direction == WRITE;
        Some(Request { fua, ..Request::new(lane.op, self.start + at, bytes) })
    }

    /// Where the next request of a direction starts, and whether it was drawn.
    fn place(&mut self, direction: usize) -> Option<(u64, bool)> {
        let lane = &mut self.lanes[direction];
        if !lane.random {
            return lane.order.next(self.bytes, lane.unit).map(|at| (at, false));
        }
        let goes_on = if self.run_left > 0 {
            self.run_left -= 1;
            true
        } else {
            self.run_left = self.run_length - 1;
            lane.random_share < 100 && self.rng.below(100) >= lane.random_share
        };
        if goes_on && self.identical {
            return Some((lane.last, false));
        }
        if goes_on && lane.order.end() + lane.unit <= self.bytes {
            return Some((lane.order.end(), false));
        }
        let drawn = self.samplers[lane.sampler].draw(&mut self.rng) * lane.align;
        // Offsets closer together than blocks are: the last of them have no room for one.
        let last = (self.bytes - lane.unit) / lane.align * lane.align;
        Some((drawn.min(last), true))
    }
}

/// A size of at most `room` bytes, which the smallest is: one that is too large is drawn again, as in fio.
fn size(sizes: &Sizes, room: u64, rng: &mut Rng) -> u64 {
    loop {
        let drawn = match sizes {
            Sizes::Fixed(bytes) => return *bytes,
            Sizes::Range(smallest, largest) => (1 + rng.below(*largest)).next_multiple_of(*smallest).min(*largest),
            Sizes::Split(split) => {
                let weights = split.last().expect("a split has sizes").1;
                let u = rng.below(weights);
                split[split.partition_point(|(_, end)| *end <= u)].0
            }
        };
        if drawn <= room {
            return drawn;
        }
    }
}
