//! Minimum distances between commands: the standards' table, pair by pair.

use dram::{Command, CommandKind as K, Device, Timing};

pub struct Rules {
    t: Timing,
    burst: u32,
}

impl Rules {
    pub fn new(device: &Device) -> Rules {
        Rules { t: device.timing, burst: device.burst_clocks() }
    }

    /// Returns the clocks for which a command occupies the command bus.
    pub fn slots(&self, kind: K) -> u64 {
        u64::from(match kind {
            K::Activate => self.t.activate_slots,
            K::Read | K::Write => self.t.column_slots,
            _ => self.t.precharge_slots,
        })
    }

    /// Returns the clocks from a column command to the end of its data.
    pub fn data(&self, kind: K) -> u64 {
        u64::from(self.burst + if kind == K::Read { self.t.cl + self.t.dqsck } else { self.t.cwl })
    }

    /// Returns an upper bound of the distance between any two commands.
    pub fn longest(&self) -> u64 {
        let t = &self.t;
        let column = t.cl.max(t.cwl) + t.dqsck + self.burst + t.write_lag + 1;
        let after = t.wr.max(t.wtr_l).max(t.rtw).max(t.rtrs).max(t.rtp);
        u64::from((column + after).max(t.rfc).max(t.xs).max(t.ckesr).max(t.rc).max(t.faw))
    }

    /// Returns tFAW, the window of the last four ACTs of a rank.
    pub fn window(&self) -> u64 {
        u64::from(self.t.faw)
    }

    /// Returns the minimum clocks from `past` to `next`, or `None` if they are independent.
    pub fn gap(&self, past: &Command, next: &Command) -> Option<u64> {
        let gap = if past.rank == next.rank { self.in_rank(past, next) } else { self.across(past.kind, next.kind) };
        gap.map(u64::from)
    }

    fn in_rank(&self, past: &Command, next: &Command) -> Option<u32> {
        let (t, burst) = (&self.t, self.burst);
        let near = past.group == next.group;
        let bank = near && past.bank == next.bank;
        let by_group = |near_gap: u32, far_gap: u32| Some(if near { near_gap } else { far_gap });
        let written = t.cwl + burst + t.write_lag;
        let turn = (t.cl + burst + t.rtw).saturating_sub(t.cwl);
        match (past.kind, next.kind) {
            // Commands that wake a rank, and the minimum times of its rest.
            (K::PowerDown, K::PowerUp) => Some(t.cke),
            (K::SelfRefresh, K::SelfRefreshExit) => Some(t.ckesr),
            (K::PowerUp, _) => Some(t.xp),
            (K::SelfRefreshExit, _) => Some(t.xs),
            (K::Refresh, _) => Some(t.rfc),
            // Row commands.
            (K::Activate, K::Activate) if bank => Some(t.rc),
            (K::Activate, K::Activate) => by_group(t.rrd_l, t.rrd_s),
            (K::Activate, K::Precharge) if bank => Some(t.ras),
            (K::Activate, K::PrechargeAll) => Some(t.ras),
            (K::Precharge, K::Activate) if bank => Some(t.rp),
            (K::PrechargeAll, K::Activate) => Some(t.rpab),
            // If a precharge's slot on the bus is as long as tPPD, the bus already enforces it.
            (K::Precharge | K::PrechargeAll, K::Precharge | K::PrechargeAll) => {
                (t.ppd > t.precharge_slots).then_some(t.ppd)
            }
            // Column commands.
            (K::Activate, K::Read | K::Write) if bank => Some(t.rcd),
            (K::Read, K::Read) => by_group(t.ccd_l, t.ccd_s),
            (K::Write, K::Write) => by_group(t.ccd_l_wr, t.ccd_s),
            (K::Read, K::Write) => by_group(turn.max(t.ccd_l), turn.max(t.ccd_s)),
            (K::Write, K::Read) => by_group(written + t.wtr_l, written + t.wtr_s),
            (K::Read, K::Precharge) if bank => Some(t.rtp),
            (K::Read, K::PrechargeAll) => Some(t.rtp),
            (K::Write, K::Precharge) if bank => Some(written + t.wr),
            (K::Write, K::PrechargeAll) => Some(written + t.wr),
            // Commands that require a rank at rest.
            (K::Activate, K::Refresh | K::SelfRefresh | K::PowerDown) => Some(t.rc),
            (K::Precharge, K::Refresh | K::SelfRefresh | K::PowerDown) => Some(t.rp),
            (K::PrechargeAll, K::Refresh | K::SelfRefresh | K::PowerDown) => Some(t.rpab),
            (K::Read, K::PowerDown | K::SelfRefresh) => Some((t.cl + t.dqsck + burst + 1).max(t.rtp)),
            (K::Write, K::PowerDown | K::SelfRefresh) => Some(written + t.wr),
            _ => None,
        }
    }

    /// Ranks share the data bus.
    fn across(&self, past: K, next: K) -> Option<u32> {
        let t = &self.t;
        let free = |end: u32, begin: u32| Some((end + self.burst + t.rtrs).saturating_sub(begin).max(1));
        match (past, next) {
            (K::Read, K::Read) | (K::Write, K::Write) => free(0, 0),
            (K::Read, K::Write) => free(t.cl + t.dqsck, t.cwl),
            (K::Write, K::Read) => free(t.cwl, t.cl),
            _ => None,
        }
    }
}
