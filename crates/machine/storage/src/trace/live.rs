//! A request in progress, and the parts of its latency so far.
//!
//! The parts tile the time from the request's issue: each step moves the end of the tiled time forward and gives what it
//! passes to one part. Of several flash reads only the one that ends last is on the request's critical path. It is
//! known once the host is notified, so that reads and transfers are kept until then.

use media::{Op, Request};
use sim::{Span, Time};

use super::Traced;
use super::part::{Part, Parts};

/// Maximum number of transfers kept of a command: through the controller's memory, over the link, into host memory.
const STAGES: usize = 4;

/// A use of a resource for a command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stage {
    pub part: Part,
    /// Time at which the command was ready for it.
    pub since: Time,
    pub from: Time,
    pub to: Time,
}

/// Parts of a flash read, in the order in which it meets them.
const PIECE: [Part; 5] = [Part::DieWait, Part::Array, Part::ChannelWait, Part::Channel, Part::Correction];

/// A flash read of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The part that the time before it belongs to.
    before: Part,
    start: Time,
    /// End of the time in `parts`.
    until: Time,
    parts: [Time; PIECE.len()],
    /// The array has worked, and the data has not left yet.
    sensed: bool,
    die: u16,
}

impl Piece {
    /// Begins a read of `die` at `now`; the time before belongs to `before`.
    pub fn new(now: Time, before: Part, die: u16) -> Piece {
        Piece { before, start: now, until: now, parts: [Time::ZERO; PIECE.len()], sensed: false, die }
    }

    #[inline]
    fn pass(&mut self, at: usize, to: Time) {
        if to > self.until {
            self.parts[at] += to - self.until;
            self.until = to;
        }
    }

    /// Notes a command or data on the channel.
    #[inline]
    pub fn on_channel(&mut self, span: Span) {
        // Data follows the array's work; a command precedes it.
        let waits = if std::mem::take(&mut self.sensed) { 2 } else { 0 };
        self.pass(waits, span.from);
        self.pass(3, span.to);
    }

    /// Notes work of the array.
    #[inline]
    pub fn in_array(&mut self, span: Span) {
        self.pass(0, span.from);
        self.pass(1, span.to);
        self.sensed = true;
    }

    /// Ends the read at `now`.
    #[inline]
    pub fn end(&mut self, now: Time) {
        self.pass(4, now);
    }
}

/// A request in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub request: Request,
    parts: Parts,
    /// End of the time in `parts`.
    until: Time,
    /// The part that the time until the next event belongs to.
    gap: Part,
    /// The flash read that ended last.
    piece: Piece,
    /// `piece` is not in `parts` yet.
    has_piece: bool,
    /// Transfers that are not in `parts` yet, in the order of their ends.
    stages: [Stage; STAGES],
    count: u8,
    /// The die of the last flash read.
    die: Option<u16>,
}

impl Live {
    /// Returns an entry for a request that begins with [`begin`](Self::begin).
    pub fn empty(request: Request) -> Live {
        Live {
            request,
            parts: [Time::ZERO; Part::ALL.len()],
            until: Time::ZERO,
            gap: Part::Queue,
            piece: Piece::new(Time::ZERO, Part::Queue, 0),
            has_piece: false,
            stages: [Stage::default(); STAGES],
            count: 0,
            die: None,
        }
    }

    /// Begins a request that is issued at `now`. Stages of the request before remain, as none counts.
    #[inline]
    pub fn begin(&mut self, now: Time, request: Request) {
        self.request = request;
        self.parts = [Time::ZERO; Part::ALL.len()];
        self.until = now;
        self.gap = Part::Queue;
        self.has_piece = false;
        self.count = 0;
        self.die = None;
    }

    #[inline]
    fn pass(&mut self, part: Part, to: Time) {
        if to > self.until {
            self.parts[part as usize] += to - self.until;
            self.until = to;
        }
    }

    #[inline]
    fn pass_stage(&mut self, gap: Part, stage: Stage) {
        self.pass(gap, stage.since);
        self.pass(stage.part.wait(), stage.from);
        self.pass(stage.part, stage.to);
    }

    /// Notes work for the request itself, outside the drive.
    #[inline]
    pub fn works(&mut self, stage: Stage) {
        self.settle();
        self.pass_stage(self.gap, stage);
        self.gap = Part::Messages;
    }

    /// Hands a command to the translation layer at `now`. `decoded`: the controller's work for it, if there was any. The
    /// time after that work, and the time from now on, belong to the two `gaps`.
    #[inline]
    pub fn begins(&mut self, now: Time, decoded: Option<Stage>, gaps: (Part, Part)) {
        match decoded {
            Some(stage) => {
                self.pass_stage(self.gap, stage);
                self.pass(gaps.0, now);
            }
            None => self.pass(self.gap, now),
        }
        self.gap = gaps.1;
    }

    /// Sets the part that the time until the next event belongs to.
    pub fn waits(&mut self, gap: Part) {
        self.gap = gap;
    }

    /// Notes a transfer of a command's data.
    #[inline]
    pub fn moves(&mut self, stage: Stage) {
        let count = usize::from(self.count);
        if let Some(last) = count.checked_sub(1).map(|at| &mut self.stages[at]) {
            if last.part == stage.part && last.to == stage.from {
                // Behind other data of the request.
                last.to = stage.to;
                return;
            }
            if stage.since < last.to {
                if stage.to <= last.to {
                    return;
                }
                // Of two ways that the data takes at the same time, the request waits for the slower one. What is behind
                // the link follows it.
                if stage.part != Part::Adapter {
                    *last = stage;
                    return;
                }
            }
        }
        if count == STAGES {
            self.stages.copy_within(1.., 0);
            self.stages[STAGES - 1] = stage;
        } else {
            self.stages[count] = stage;
            self.count += 1;
        }
    }

    /// Ends a flash read.
    #[inline]
    pub fn read(&mut self, piece: &Piece) {
        self.piece = *piece;
        self.has_piece = true;
    }

    /// Notes that a write's data is in the controller.
    pub fn arrives(&mut self, now: Time) {
        self.settle();
        self.pass(Part::Messages, now);
        self.gap = Part::Program;
    }

    /// Notes that the translation layer ends a command.
    pub fn ends(&mut self, now: Time) {
        self.settle();
        self.pass(self.gap, now);
        self.gap = Part::Messages;
    }

    /// Adds the read and the transfers that were kept: nothing that ends later is on the critical path.
    #[inline]
    fn settle(&mut self) {
        if self.has_piece {
            self.has_piece = false;
            self.add_piece();
            self.gap = Part::Correction;
        }
        for at in 0..usize::from(self.count) {
            self.pass_stage(self.gap, self.stages[at]);
            self.gap = Part::Messages;
        }
        self.count = 0;
    }

    /// Adds the flash read, without the time that is in the parts already.
    #[inline]
    fn add_piece(&mut self) {
        self.die = Some(self.piece.die);
        self.pass(self.piece.before, self.piece.start);
        if self.piece.until <= self.until {
            return;
        }
        let mut passed = self.until - self.piece.start;
        for (part, time) in PIECE.into_iter().zip(self.piece.parts) {
            let cut = passed.min(time);
            passed -= cut;
            self.parts[part as usize] += time - cut;
        }
        self.until = self.piece.until;
    }

    /// Completes the request at `now`: its parts are complete.
    ///
    /// # Panics
    /// If the parts exceed the request's latency, which means that the model is broken.
    #[inline]
    pub fn completes(&mut self, now: Time) -> Traced<'_> {
        self.settle();
        self.pass(Part::Host, now);
        assert!(self.until == now, "{:?} has parts until {}, after its completion at {now}", self.request, self.until);
        Traced { request: &self.request, parts: &self.parts, die: self.die }
    }

    /// Returns the part that a command of this operation waits for in the translation layer. `cached`: the drive caches
    /// parts of its map.
    pub fn gap_of(op: Op, cached: bool) -> Part {
        match op {
            Op::Read if cached => Part::Map,
            Op::Read | Op::Write | Op::Append => Part::Buffer,
            Op::Trim | Op::Flush | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => Part::Program,
        }
    }
}
