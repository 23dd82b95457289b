//! Banks: the open row, and the first cycle of each command. Also the gaps between commands that follow from the timing
//! table.

use std::ops::{Index, IndexMut};

use crate::device::Device;

/// Maximum number of banks per rank.
pub(crate) const BANKS: usize = 64;

/// One value for each bank of a rank. Numbers of banks come from a layout, so that only debug builds check them.
#[derive(Clone)]
pub(crate) struct PerBank<T>(pub(crate) [T; BANKS]);

impl<T> Index<usize> for PerBank<T> {
    type Output = T;

    #[inline]
    fn index(&self, bank: usize) -> &T {
        debug_assert!(bank < BANKS, "bank {bank}");
        &self.0[bank % BANKS]
    }
}

impl<T> IndexMut<usize> for PerBank<T> {
    #[inline]
    fn index_mut(&mut self, bank: usize) -> &mut T {
        debug_assert!(bank < BANKS, "bank {bank}");
        &mut self.0[bank % BANKS]
    }
}

/// Marks a bank without an open row.
pub(crate) const CLOSED: u32 = u32::MAX;

/// State of one bank.
#[derive(Clone, Copy)]
pub(crate) struct Bank {
    /// The open row, or [`CLOSED`].
    pub(crate) row: u32,
    /// The first cycle in which the bank itself allows a command.
    pub(crate) next_activate: u64,
    pub(crate) next_precharge: u64,
    pub(crate) next_column: u64,
    /// Cycle in which it was last opened, read or written.
    pub(crate) used: u64,
    /// Bursts by kind, rows opened, and rows closed because a request needed another one.
    pub(crate) bursts: [u64; 2],
    pub(crate) activates: u64,
    pub(crate) conflicts: u64,
}

impl Bank {
    pub(crate) const IDLE: Bank = Bank {
        row: CLOSED,
        next_activate: 0,
        next_precharge: 0,
        next_column: 0,
        used: 0,
        bursts: [0; 2],
        activates: 0,
        conflicts: 0,
    };
}

/// Gaps in clocks between commands, other than those within one bank.
pub(crate) struct Gaps {
    /// From a column command of each kind to one of each kind: in the same bank group, in another group, in another
    /// rank.
    pub(crate) same_group: [[u64; 2]; 2],
    pub(crate) same_rank: [[u64; 2]; 2],
    pub(crate) other_rank: [[u64; 2]; 2],
    /// From a column command of each kind to the next one of its kind and bank.
    pub(crate) same_bank: [u64; 2],
    /// From a column command of each kind to its bank's precharge.
    pub(crate) to_precharge: [u64; 2],
    /// From a column command of each kind to the end of its data.
    pub(crate) to_end: [u64; 2],
}

impl Gaps {
    /// Returns the minimum gap between two column commands.
    pub(crate) fn least(&self, ranks: usize) -> u64 {
        let gaps = [self.same_group, self.same_rank, self.other_rank];
        gaps.into_iter().take(if ranks > 1 { 3 } else { 2 }).flatten().flatten().min().expect("two tables of gaps")
    }

    pub(crate) fn new(device: &Device) -> Gaps {
        let t = &device.timing;
        let burst = device.burst_clocks();
        let turn = t.cl + burst + t.rtw - t.cwl.min(t.cl + burst);
        let written = t.cwl + burst + t.write_lag;
        let wide = |gaps: [[u32; 2]; 2]| gaps.map(|row| row.map(u64::from));
        let switch = |from: u32, to: u32| (from + burst + t.rtrs).saturating_sub(to).max(1);
        let same_group = [[t.ccd_l, turn.max(t.ccd_l)], [written + t.wtr_l, t.ccd_l_wr]];
        let same_rank = [[t.ccd_s, turn.max(t.ccd_s)], [written + t.wtr_s, t.ccd_s]];
        Gaps {
            same_group: wide(same_group),
            same_rank: wide(same_rank),
            same_bank: [0, 1].map(|k| u64::from(same_group[k][k].max(same_rank[k][k]).max(t.column_slots))),
            other_rank: wide([[switch(0, 0), switch(t.cl + t.dqsck, t.cwl)], [switch(t.cwl, t.cl), switch(0, 0)]]),
            to_precharge: [u64::from(t.rtp), u64::from(written + t.wr)],
            to_end: [u64::from(t.cl + t.dqsck + burst), u64::from(t.cwl + burst)],
        }
    }
}
