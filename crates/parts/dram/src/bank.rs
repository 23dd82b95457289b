//! Banks: what is open, what waits, and from when on which command may come. And the gaps between commands that follow
//! from the timing table.

use crate::device::Device;
use crate::queue::{NONE, Queues};
use crate::request::Kind;

/// No row is open.
pub(crate) const CLOSED: u32 = u32::MAX;

/// One bank. Of pairs the first is for reads, the second for writes.
#[derive(Clone, Copy)]
pub(crate) struct Bank {
    /// The open row, or [`CLOSED`].
    pub(crate) row: u32,
    /// First and last of those that wait for the bank, and the first of them that the open row serves.
    pub(crate) head: [u8; 2],
    pub(crate) tail: [u8; 2],
    pub(crate) hit: [u8; 2],
    /// From when on the bank itself allows a command.
    pub(crate) next_activate: u64,
    pub(crate) next_precharge: u64,
    pub(crate) next_column: u64,
    /// When it was last opened or read or written.
    pub(crate) used: u64,
}

impl Bank {
    pub(crate) const IDLE: Bank = Bank {
        row: CLOSED,
        head: [NONE; 2],
        tail: [NONE; 2],
        hit: [NONE; 2],
        next_activate: 0,
        next_precharge: 0,
        next_column: 0,
        used: 0,
    };

    /// Notes an entry that has arrived. True if it is the first of its kind, or the first that the open row serves: else
    /// the bank does what it would have done without it.
    #[inline(always)]
    pub(crate) fn append(&mut self, queues: &mut Queues, kind: Kind, entry: u8) -> bool {
        let k = kind as usize;
        let before = std::mem::replace(&mut self.tail[k], entry);
        if before == NONE {
            self.head[k] = entry;
        } else {
            queues.get_mut(before).next = entry;
        }
        if self.hit[k] == NONE && queues.get(entry).row == self.row {
            self.hit[k] = entry;
            return true;
        }
        before == NONE
    }

    /// Takes a burst out: the oldest that the open row serves. The next such becomes the hit.
    #[inline(always)]
    pub(crate) fn take<const FAR: bool>(&mut self, queues: &mut Queues, kind: Kind, entry: u8) {
        let k = kind as usize;
        debug_assert_eq!(self.hit[k], entry, "not the oldest hit");
        queues.leave(kind, 1);
        if FAR && queues.get(entry).count > 1 {
            queues.shorten(entry, 1);
            return;
        }
        queues.remove(kind, entry);
        let after = queues.get(entry).next;
        if self.head[k] == entry {
            self.head[k] = after;
            if after == NONE {
                self.tail[k] = NONE;
            }
        } else {
            let mut before = self.head[k];
            while queues.get(before).next != entry {
                before = queues.get(before).next;
            }
            queues.get_mut(before).next = after;
            if after == NONE {
                self.tail[k] = before;
            }
        }
        self.hit[k] = first_of_row(queues, after, self.row);
    }

    /// Finds what the row that was just opened serves.
    #[inline(always)]
    pub(crate) fn find_hits(&mut self, queues: &Queues) {
        for k in 0..2 {
            self.hit[k] = first_of_row(queues, self.head[k], self.row);
        }
    }
}

#[inline(always)]
fn first_of_row(queues: &Queues, mut entry: u8, row: u32) -> u8 {
    while entry != NONE && queues.get(entry).row != row {
        entry = queues.get(entry).next;
    }
    entry
}

/// Gaps in clocks from one command to another, beyond those that a bank has of its own.
pub(crate) struct Gaps {
    /// From a column command of each kind to one of each kind: in the same bank group, in another, in another rank.
    pub(crate) same_group: [[u64; 2]; 2],
    pub(crate) same_rank: [[u64; 2]; 2],
    pub(crate) other_rank: [[u64; 2]; 2],
    /// From a column command of each kind to its bank's precharge.
    pub(crate) to_precharge: [u64; 2],
    /// From a column command of each kind to the end of its data.
    pub(crate) to_end: [u64; 2],
}

impl Gaps {
    /// From a column command to another at least.
    pub(crate) fn least(&self, ranks: usize) -> u64 {
        let gaps = [self.same_group, self.same_rank, self.other_rank];
        gaps.into_iter().take(if ranks > 1 { 3 } else { 2 }).flatten().flatten().min().unwrap_or(1)
    }

    pub(crate) fn new(device: &Device) -> Gaps {
        let t = &device.timing;
        let burst = device.burst_clocks();
        let turn = t.cl + burst + t.rtw - t.cwl.min(t.cl + burst);
        let written = t.cwl + burst + t.write_lag;
        let wide = |gaps: [[u32; 2]; 2]| gaps.map(|row| row.map(u64::from));
        let switch = |from: u32, to: u32| (from + burst + t.rtrs).saturating_sub(to).max(1);
        Gaps {
            same_group: wide([[t.ccd_l, turn.max(t.ccd_l)], [written + t.wtr_l, t.ccd_l_wr]]),
            same_rank: wide([[t.ccd_s, turn.max(t.ccd_s)], [written + t.wtr_s, t.ccd_s]]),
            other_rank: wide([[switch(0, 0), switch(t.cl + t.dqsck, t.cwl)], [switch(t.cwl, t.cl), switch(0, 0)]]),
            to_precharge: [u64::from(t.rtp), u64::from(written + t.wr)],
            to_end: [u64::from(t.cl + t.dqsck + burst), u64::from(t.cwl + burst)],
        }
    }
}
