//! Addresses and sizes of a generated job.

use media::{Op, Request};
use sim::Rng;

use super::order::Order;
use crate::dist::{Distribution, FreeMap, Sampler};
use crate::fio::{Job, READ, ReadWriteKind, Sizes, TRIM, WRITE, ZoneMode};
use crate::placement::Placement;

/// Generates a job's requests, one after another.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    rng: Rng,
    kind: Mix,
    // Operation of a job with a single direction.
    op: Op,
    // Start of the next request, if that direction is sequential.
    position: u64,
    // The region on the drive, in bytes.
    start: u64,
    bytes: u64,
    directions: [DirectionState; 3],
    samplers: Vec<Sampler>,
    // Requests per random offset, the number left for the current offset, and whether they repeat it.
    run_length: u64,
    run_left: u64,
    identical: bool,
    fua: bool,
    placement: Placement,
    // A block that was trimmed and must be written next.
    trimmed: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    Only(usize),
    /// Reads and writes, with this percentage of reads.
    Mixed(u64),
    TrimWrite,
}

/// One direction of a job.
#[derive(Clone, Debug)]
struct DirectionState {
    op: Op,
    /// Size of every request in bytes, or 0 if sizes are drawn.
    fixed: u64,
    unit: u64,
    sizes: Sizes,
    random: bool,
    /// Index of the sampler, if the direction is random.
    sampler: usize,
    /// Alignment of random offsets.
    align: u64,
    /// Percentage of requests that are random.
    random_share: u64,
    /// Sequential position in the region; for a random direction, the end of the last request.
    order: Order,
    /// Start of the last request.
    last: u64,
}

impl Pattern {
    /// Creates the pattern of `job` on a region of the drive, which holds at least one block of each direction.
    ///
    /// # Errors
    /// A message, if the distribution of addresses does not fit this region.
    pub fn new(job: &Job, start: u64, bytes: u64, mut rng: Rng, placement: Placement) -> Result<Pattern, String> {
        let kind = match job.rw.kind {
            ReadWriteKind::Only(Op::Read) => Mix::Only(READ),
            ReadWriteKind::Only(Op::Write) => Mix::Only(WRITE),
            ReadWriteKind::Only(_) => Mix::Only(TRIM),
            ReadWriteKind::Mixed => Mix::Mixed(job.reads),
            ReadWriteKind::TrimWrite => Mix::TrimWrite,
        };
        let mut samplers = Vec::new();
        let mut directions = [READ, WRITE, TRIM].map(|direction| {
            let sizes = job.sizes(direction);
            let fixed = if let Sizes::Fixed(bytes) = sizes { bytes } else { 0 };
            let op = [Op::Read, Op::Write, Op::Trim][direction];
            let (unit, align) = (sizes.smallest(), job.alignment(direction));
            // A job with gaps, or one that writes only parts of its zones, ends at the end of its region.
            let whole = job.gap == 0 && job.zone_mode != ZoneMode::Zbd;
            let wraps = whole || job.io_size.is_some() || job.time_based;
            let gap = if job.rw.random || job.zone_mode == ZoneMode::Zbd { 0 } else { job.gap };
            let strided = job.zone_mode == ZoneMode::Strided;
            let order = Order::new(gap, wraps, strided.then_some(job.zones));
            let (random, random_share) = (job.rw.random, job.random_share[direction]);
            DirectionState { op, fixed, unit, sizes, random, sampler: 0, align, random_share, order, last: 0 }
        });
        for direction in [READ, WRITE, TRIM] {
            if !job.rw.random || !job.rw.has(direction) {
                continue;
            }
            // Directions with the same blocks share a sampler, and thereby one random map and the same hot blocks.
            let twin = (READ..direction).find(|other| {
                job.rw.has(*other)
                    && directions[*other].align == directions[direction].align
                    && job.distribution[*other] == job.distribution[direction]
            });
            if let Some(twin) = twin {
                directions[direction].sampler = directions[twin].sampler;
                continue;
            }
            let state = &mut directions[direction];
            state.sampler = samplers.len();
            let (distribution, blocks) = (&job.distribution[direction], bytes / state.align);
            if blocks == 0 {
                return Err(format!(
                    "found offsets in steps of {} bytes, expected at most the region's {bytes}",
                    state.align
                ));
            }
            let cut = job.random_map && !job.lfsr && job.mixes_sizes() && *distribution == Distribution::Random;
            samplers.push(match cut {
                true => Sampler::Free(FreeMap::new(blocks)),
                false => Sampler::new(distribution, blocks, state.align, job.random_map, &mut rng)?,
            });
        }
        let op = if let Mix::Only(direction) = kind { directions[direction].op } else { Op::Read };
        let (run_length, identical, fua) = (job.run_length, job.identical, job.sync);
        let run_left = 0;
        Ok(Pattern {
            rng,
            kind,
            op,
            position: 0,
            start,
            bytes,
            directions,
            samplers,
            run_length,
            run_left,
            identical,
            fua,
            placement,
            trimmed: None,
        })
    }

    /// Starts again from the beginning of the region.
    pub fn rewind(&mut self) {
        self.position = 0;
        (self.run_left, self.trimmed) = (0, None);
        for state in &mut self.directions {
            state.order.rewind();
        }
        for sampler in &mut self.samplers {
            sampler.restart(&mut self.rng);
        }
    }

    /// Returns the common size of all requests, if there is one and requests come from a single random sampler or a
    /// single sequential direction.
    pub fn only_size(&self) -> Option<u64> {
        let directions = match self.kind {
            Mix::Only(direction) => &self.directions[direction..=direction],
            Mix::Mixed(_) if !self.samplers.is_empty() => &self.directions[READ..=WRITE],
            Mix::Mixed(_) | Mix::TrimWrite => return None,
        };
        let size = directions[0].fixed;
        let alike = directions.iter().all(|state| {
            state.fixed == size
                && state.sampler == 0
                && state.random_share == 100
                && state.align == size
                && state.order.is_plain()
        });
        (size != 0 && alike && self.run_length == 1 && !self.fua && !self.placement.is_on()).then_some(size)
    }

    /// Draws the direction of the next request.
    pub fn choose(&mut self) -> usize {
        match self.kind {
            Mix::Only(direction) => direction,
            Mix::Mixed(reads) if self.rng.below(100) < reads => READ,
            Mix::TrimWrite if self.trimmed.is_none() => TRIM,
            Mix::Mixed(_) | Mix::TrimWrite => WRITE,
        }
    }

    /// Returns the other direction of a mixed job, if it is used at all.
    pub fn other(&self, direction: usize) -> Option<usize> {
        match (self.kind, direction) {
            (Mix::Mixed(reads), READ) if reads < 100 => Some(WRITE),
            (Mix::Mixed(reads), WRITE) if reads > 0 => Some(READ),
            _ => None,
        }
    }

    /// Returns the next request of a pattern with the single size `size`.
    pub fn draw_plain(&mut self, size: u64) -> Request {
        let op = if let Mix::Only(_) = self.kind { self.op } else { self.directions[self.choose()].op };
        let at = match self.samplers.first_mut() {
            Some(sampler) => sampler.draw(&mut self.rng) * size,
            None => self.next_in_order(size),
        };
        Request::new(op, self.start + at, size)
    }

    fn next_in_order(&mut self, size: u64) -> u64 {
        let at = self.position;
        self.position = if at + 2 * size <= self.bytes { at + size } else { 0 };
        at
    }

    /// Returns the next request of a direction, or `None` if its only sequential pass has ended.
    pub fn draw(&mut self, direction: usize) -> Option<Request> {
        if direction == WRITE
            && let Some((offset, bytes)) = self.trimmed.take()
        {
            let placement = self.placement.draw();
            return Some(Request { fua: self.fua, placement, ..Request::new(Op::Write, offset, bytes) });
        }
        let (at, bytes) = self.propose(direction)?;
        Some(self.take(direction, at, bytes))
    }

    /// Returns position and length of a direction's next request; [`take`](Self::take) makes it one, here or elsewhere.
    /// `None` if the only sequential pass has ended.
    #[inline]
    pub fn propose(&mut self, direction: usize) -> Option<(u64, u64)> {
        let (at, mapped) = self.place(direction)?;
        let state = &mut self.directions[direction];
        let mut bytes = size(&state.sizes, self.bytes - at, &mut self.rng);
        if mapped && let Sampler::Free(map) = &mut self.samplers[state.sampler] {
            let blocks = bytes.div_ceil(state.unit);
            let free = map.take(at / state.unit, blocks);
            bytes = if free < blocks { free * state.unit } else { bytes };
        }
        assert!(
            at + bytes <= self.bytes,
            "a request of {bytes} bytes at {at} exceeds the region of {} bytes",
            self.bytes
        );
        Some((at, bytes))
    }

    /// Returns the request of `bytes` bytes at `at` of the region. A sequential direction continues behind it.
    #[inline]
    pub fn take(&mut self, direction: usize, at: u64, bytes: u64) -> Request {
        let state = &mut self.directions[direction];
        state.order.advance(at, bytes);
        state.last = at;
        if self.kind == Mix::TrimWrite {
            self.trimmed = Some((self.start + at, bytes));
        }
        let fua = self.fua && direction == WRITE;
        let placement = if direction == WRITE { self.placement.draw() } else { 0 };
        Request { fua, placement, ..Request::new(state.op, self.start + at, bytes) }
    }

    /// Returns whether a block was trimmed that must be written next.
    pub fn must_write(&self) -> bool {
        self.trimmed.is_some()
    }

    /// Returns the end of a direction's last request in the region.
    pub fn end(&self, direction: usize) -> u64 {
        self.directions[direction].order.end()
    }

    /// Lets a sequential direction continue at `at`.
    pub fn jump(&mut self, direction: usize, at: u64) {
        self.directions[direction].order.jump(at);
    }

    /// Returns the start of a direction's next request, and whether it was drawn at random.
    fn place(&mut self, direction: usize) -> Option<(u64, bool)> {
        let state = &mut self.directions[direction];
        if !state.random {
            return state.order.next(self.bytes, state.unit).map(|at| (at, false));
        }
        let continues = if self.run_left > 0 {
            self.run_left -= 1;
            true
        } else {
            self.run_left = self.run_length - 1;
            state.random_share < 100 && self.rng.below(100) >= state.random_share
        };
        if continues && self.identical {
            return Some((state.last, false));
        }
        if continues && state.order.end() + state.unit <= self.bytes {
            return Some((state.order.end(), false));
        }
        let drawn = self.samplers[state.sampler].draw(&mut self.rng) * state.align;
        // If offsets are closer together than blocks, there is not enough space for a block at the last ones.
        let last = (self.bytes - state.unit) / state.align * state.align;
        Some((drawn.min(last), true))
    }
}

/// Draws a size of at most `room` bytes. Like fio, draws again if a size is too large; the smallest size always fits.
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
