//! A die: its array, its registers, and its queues.

use sim::Time;

use crate::schedule::op::{HOST, MAP, NONE, Op, OpKind, Queue, REST};

/// The state of a die's array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Idle.
    Idle,
    /// Performing an operation, from its command until `end`.
    Busy,
    /// Suspending an operation until `end`.
    Suspending,
    /// A read has ended, and its data waits in the data register for the cache register.
    Holding,
}

/// No page, since no operation has an empty plane mask.
pub(crate) const NOWHERE: u64 = 0;

/// One die. Each plane has a data register, which works with the array, and a cache register, which works with the
/// channel; an operation on several planes uses the registers of all of them.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub channel: u32,
    /// Operations waiting for the die or running on it; at 0, all other state is idle.
    pub load: u32,
    /// Programs for it that wait because as many as allowed are under way.
    pub held_back: u32,
    pub phase: Phase,
    /// The operation in the array.
    pub array: u32,
    /// Begin of the array's work (possibly in the future, after the command) and its end.
    pub begin: Time,
    pub end: Time,
    /// The read whose data is leaving or waits to leave: in the cache register or, without cache reads, in the only
    /// register in use.
    pub out: u32,
    pub out_since: Time,
    /// The operation that the die begins once the array is free: a program whose data is in the cache register while
    /// the array programs another one, or a cache read whose command arrived while the array reads. And since when.
    pub input: u32,
    pub input_ready: Time,
    /// The array reads a page while the previous one is in the cache register or has left it.
    pub read_cached: bool,
    /// The suspended program or erase, and its remaining time.
    pub suspended: u32,
    pub remaining: Time,
    /// An event is scheduled that decides on a suspension.
    pub suspend_asked: bool,
    /// The page in the register after a read: its [`place`](Op::place), or [`NOWHERE`].
    pub sensed: u64,
    /// Reads that overtook the oldest waiting or suspended other operation.
    pub overtaken: u32,
    /// Reads of the map that overtook the oldest waiting read of the host.
    pub host_overtaken: u32,
    pub queues: [Queue; 3],
    /// The channel's lists with this die, one bit each, and its successors there.
    pub listed: u32,
    pub next_listed: [u32; 3],
    pub stats: DieStats,
}

/// Counters of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieStats {
    /// Array reads, retries included.
    pub reads: u64,
    /// Retries among them.
    pub retries: u64,
    /// Programs.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
    /// Suspensions of programs and erases.
    pub suspensions: u64,
    /// Time reading.
    pub reading: Time,
    /// Time programming, including suspending and resuming.
    pub programming: Time,
    /// Time erasing, including suspending and resuming.
    pub erasing: Time,
    /// Time during which read data waited for the channel or left through it.
    pub holding: Time,
}

impl DieStats {
    /// Returns the array's busy time.
    pub fn busy(&self) -> Time {
        self.reading + self.programming + self.erasing
    }

    /// Returns the counters since an earlier reading.
    pub fn since(&self, earlier: &DieStats) -> DieStats {
        DieStats {
            reads: self.reads - earlier.reads,
            retries: self.retries - earlier.retries,
            programs: self.programs - earlier.programs,
            erases: self.erases - earlier.erases,
            suspensions: self.suspensions - earlier.suspensions,
            reading: self.reading - earlier.reading,
            programming: self.programming - earlier.programming,
            erasing: self.erasing - earlier.erasing,
            holding: self.holding - earlier.holding,
        }
    }
}

impl Die {
    /// Returns whether its array and registers are idle.
    #[inline]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.phase == Phase::Idle && self.out == NONE
    }

    /// Ends the array's program or erase, which took `span`. Returns whether other operations wait or run.
    #[inline]
    pub(crate) fn end_write(&mut self, kind: OpKind, span: Time) -> bool {
        (self.array, self.phase, self.overtaken) = (NONE, Phase::Idle, 0);
        if kind == OpKind::Program {
            self.stats.programs += 1;
            self.stats.programming += span;
        } else {
            self.stats.erases += 1;
            self.stats.erasing += span;
        }
        self.load -= 1;
        self.load != 0
    }

    /// Takes the first operation out of its queue, to start it.
    #[inline]
    pub(crate) fn leave_queue(&mut self, op: &Op) {
        match op.queue as usize {
            HOST => self.queues[HOST].head = op.next,
            MAP => self.queues[MAP].head = op.next,
            _ => self.queues[REST].head = op.next,
        }
        self.count_turn(op);
    }

    /// Counts the operations overtaken by `op`, which has left its queue.
    #[inline]
    pub(crate) fn count_turn(&mut self, op: &Op) {
        if op.queue as usize == REST {
            self.overtaken = 0;
        } else {
            self.overtaken += u32::from(self.queues[REST].head & self.suspended != NONE);
        }
        match op.queue as usize {
            HOST => self.host_overtaken = 0,
            MAP => self.host_overtaken += u32::from(self.queues[HOST].head != NONE),
            _ => {}
        }
    }

    pub(crate) fn new(channel: u32) -> Die {
        Die {
            channel,
            load: 0,
            held_back: 0,
            phase: Phase::Idle,
            array: NONE,
            begin: Time::ZERO,
            end: Time::ZERO,
            out: NONE,
            out_since: Time::ZERO,
            input: NONE,
            input_ready: Time::ZERO,
            read_cached: false,
            suspended: NONE,
            remaining: Time::ZERO,
            suspend_asked: false,
            sensed: NOWHERE,
            overtaken: 0,
            host_overtaken: 0,
            queues: [Queue::EMPTY; 3],
            listed: 0,
            next_listed: [NONE; 3],
            stats: DieStats::default(),
        }
    }
}
