//! A die: its array, its registers, and what waits for them.

use sim::Time;

use crate::op::{HOST, MAP, NONE, Op, Queue, REST};

/// What the array of a die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing.
    Idle,
    /// An operation has it, from its command until `end`.
    Busy,
    /// An operation is being suspended until `end`.
    Suspending,
    /// A read has ended, and its data wait in the data register for the cache register.
    Holding,
}

/// No page: no operation has an empty plane mask.
pub(crate) const NOWHERE: u64 = 0;

/// One die. Each of its planes has a data register, which works with the array, and a cache register, which works
/// with the channel; an operation on several planes uses those of all of them.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub channel: u32,
    /// Operations that wait for the die or are on it; without any, all else here is at rest.
    pub load: u32,
    pub phase: Phase,
    /// The operation that has the array.
    pub array: u32,
    /// When the array began with it (which may lie ahead: its command comes first), and when it ends.
    pub begin: Time,
    pub end: Time,
    /// The read whose data leave, or wait to: in the cache register, or, without cache reads, in the only one used.
    pub out: u32,
    pub out_since: Time,
    /// The program whose data are in the cache register while the array programs another, and since when.
    pub input: u32,
    pub input_ready: Time,
    /// The program or erase that is suspended, and how long it still takes.
    pub suspended: u32,
    pub remaining: Time,
    /// An event will ask whether to suspend.
    pub suspend_asked: bool,
    /// Page in the register after a read: its [`place`](Op::place), or [`NOWHERE`].
    pub sensed: u64,
    /// Reads that went ahead of the oldest waiting or suspended operation of the rest.
    pub overtaken: u32,
    /// Reads of the map that went ahead of the oldest waiting read of the host.
    pub host_overtaken: u32,
    pub queues: [Queue; 3],
    /// The channel's lists that this die is in, a bit each, and its followers there.
    pub listed: u32,
    pub next_listed: [u32; 3],
    pub stats: DieStats,
}

/// What a die did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieStats {
    /// Array reads, retries included.
    pub reads: u64,
    /// Of which retries.
    pub retries: u64,
    /// Programs.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
    /// Suspensions of programs and erases.
    pub suspensions: u64,
    /// The array read.
    pub reading: Time,
    /// The array programmed, suspending and resuming included.
    pub programming: Time,
    /// The array erased, suspending and resuming included.
    pub erasing: Time,
    /// Data that were read waited for the channel or left through it.
    pub holding: Time,
}

impl DieStats {
    /// The array worked.
    pub fn busy(&self) -> Time {
        self.reading + self.programming + self.erasing
    }

    /// Counts and times between an earlier reading and this one.
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
    /// True if its array and its registers do nothing.
    #[inline]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.phase == Phase::Idle && self.out == NONE
    }

    /// The first operation of its queue leaves it, to be started.
    #[inline(always)]
    pub(crate) fn leave_queue(&mut self, op: &Op) {
        self.queues[op.queue as usize].head = op.next;
        self.count_turn(op);
    }

    /// Counts the operations that `op`, which has left its queue, overtakes.
    #[inline(always)]
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
            phase: Phase::Idle,
            array: NONE,
            begin: Time::ZERO,
            end: Time::ZERO,
            out: NONE,
            out_since: Time::ZERO,
            input: NONE,
            input_ready: Time::ZERO,
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
