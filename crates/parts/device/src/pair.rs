//! NVMe queue pairs as seen by the controller.

use media::Status;

/// Submission queue entries to fetch: `count` entries starting at `index`, wrapping at the end of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The queue pair.
    pub queue: u16,
    /// First entry.
    pub index: u16,
    /// Number of entries.
    pub count: u16,
}

/// A completion queue entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command's number within its queue.
    pub cid: u16,
    /// The submission queue's head: entries before it are free for reuse.
    pub sq_head: u16,
    /// Phase tag, which differs from that of the entry's previous content.
    pub phase: bool,
    /// Status of the command.
    pub status: Status,
}

/// A command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The queue pair.
    pub queue: u16,
    /// The command's number within its queue.
    pub cid: u16,
    /// Status of the command.
    pub status: Status,
    /// True if an interrupt follows the completion.
    pub interrupt: bool,
}

/// The controller's side of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// Index of the next submission queue entry to fetch, and of the first that the host has not written yet.
    pub sq_head: u16,
    pub sq_tail: u16,
    /// Index of the next completion queue entry to write, and of the first that the host has not freed yet.
    pub cq_tail: u16,
    pub cq_head: u16,
    pub phase: bool,
    /// Entries of the submission queue and of the completion queue.
    pub sq_depth: u16,
    pub cq_depth: u16,
    /// Completions not yet covered by an interrupt.
    pub untold: u32,
    pub epoch: u16,
}

impl Pair {
    /// Returns a newly created pair of queues of `depth` entries.
    pub(crate) const fn new(depth: u16) -> Pair {
        Pair {
            sq_head: 0,
            sq_tail: 0,
            cq_tail: 0,
            cq_head: 0,
            phase: true,
            sq_depth: depth,
            cq_depth: depth,
            untold: 0,
            epoch: 0,
        }
    }

    /// Takes `count` entries from the head of the submission queue; the pair is number `queue`.
    #[inline]
    pub(crate) fn take_entries(&mut self, queue: u16, count: u32) -> Fetch {
        let index = self.sq_head;
        let (head, depth) = (u32::from(index) + count, u32::from(self.sq_depth));
        self.sq_head = (if head >= depth { head - depth } else { head }) as u16;
        Fetch { queue, index, count: count as u16 }
    }

    /// Returns the pair, empty.
    pub(crate) const fn emptied(&self) -> Pair {
        Pair { cq_depth: self.cq_depth, ..Pair::new(self.sq_depth) }
    }
}
