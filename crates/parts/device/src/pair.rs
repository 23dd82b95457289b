//! Queue pairs of NVMe: what is fetched from them and posted to them, and where the controller is in them.

use media::Status;

/// Submission queue entries to read: `count` of them from `index` on, round the end of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The queue pair.
    pub queue: u16,
    /// First entry.
    pub index: u16,
    /// How many.
    pub count: u16,
}

/// A completion queue entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command's number within its queue.
    pub cid: u16,
    /// The submission queue's head: entries before it are free for reuse.
    pub sq_head: u16,
    /// Differs from what the place held before: the entry is new.
    pub phase: bool,
    /// How the command ended.
    pub status: Status,
}

/// A command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The queue pair.
    pub queue: u16,
    /// The command's number within its queue.
    pub cid: u16,
    /// How it ended.
    pub status: Status,
    /// An interrupt follows its completion.
    pub interrupt: bool,
}

/// The controller's side of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// Next submission queue entry to fetch, and the first that is not there yet.
    pub sq_head: u16,
    pub sq_tail: u16,
    /// Next place in the completion queue, and the first that the host has not freed yet.
    pub cq_tail: u16,
    pub cq_head: u16,
    pub phase: bool,
    /// Completions that no interrupt has told yet.
    pub untold: u32,
    pub epoch: u16,
}

/// As the host created it.
pub(crate) const EMPTY: Pair =
    Pair { sq_head: 0, sq_tail: 0, cq_tail: 0, cq_head: 0, phase: true, untold: 0, epoch: 0 };
