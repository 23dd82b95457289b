//! The checker must find an injected violation of each rule, and none in the legal stream around it.
//!
//! Each row is a legal stream whose last command comes at the first cycle that one rule allows. One clock earlier,
//! exactly that rule must be reported. The timing is DDR4-2400's, changed where another rule would require the same
//! gap.

mod support;

use dram::{Command, CommandKind as K, Device, Timing};
use support::audit::rule::Rule;
use support::audit::{Checker, Violation};

/// A command: clocks after the previous one, kind, rank, group, bank, row.
type Step = (u32, K, u8, u8, u8, u32);

fn audit(device: &Device, steps: &[Step], early: u64) -> Vec<Violation> {
    let (mut checker, mut violations, mut cycle) = (Checker::new(device, &[true, true]), Vec::new(), 1000);
    for (number, (gap, kind, rank, group, bank, row)) in steps.iter().enumerate() {
        cycle += u64::from(*gap);
        if number + 1 == steps.len() {
            cycle -= early;
        }
        let command =
            Command { cycle, kind: *kind, rank: *rank, group: *group, bank: *bank, row: *row, ..Command::default() };
        checker.check(&command, &mut violations);
    }
    violations
}

/// Adjusts the timing for a rule and returns its stream.
fn stream(rule: Rule, t: &mut Timing, burst: u32) -> Option<Vec<Step>> {
    let act = |gap, group, bank, row| (gap, K::Activate, 0, group, bank, row);
    let rd = |gap, group, bank, row| (gap, K::Read, 0, group, bank, row);
    let wr = |gap, group, bank, row| (gap, K::Write, 0, group, bank, row);
    let pre = |gap, group, bank| (gap, K::Precharge, 0, group, bank, 0);
    let to_rank = |gap, kind| (gap, kind, 0, 0, 0, 0);
    let written = |t: &Timing| t.cwl + burst + t.write_lag;
    Some(match rule {
        Rule::CommandBus => {
            t.activate_slots = 3;
            (t.rrd_s, t.rrd_l) = (1, 1);
            vec![act(0, 0, 0, 1), act(3, 1, 0, 1)]
        }
        Rule::Rcd => vec![act(0, 0, 0, 1), rd(t.rcd, 0, 0, 1)],
        Rule::Rp => vec![act(0, 0, 0, 1), pre(t.rc, 0, 0), act(t.rp, 0, 0, 2)],
        Rule::RpAll => {
            t.rpab = t.rp + 4;
            vec![act(0, 0, 0, 1), to_rank(t.rc, K::PrechargeAll), act(t.rpab, 0, 0, 2)]
        }
        Rule::Ras => vec![act(0, 0, 0, 1), pre(t.ras, 0, 0)],
        Rule::Rc => {
            t.rc = t.ras + t.rp + 5;
            vec![act(0, 0, 0, 1), pre(t.ras, 0, 0), act(t.rc - t.ras, 0, 0, 2)]
        }
        Rule::RrdS => vec![act(0, 0, 0, 1), act(t.rrd_s, 1, 0, 1)],
        Rule::RrdL => vec![act(0, 0, 0, 1), act(t.rrd_l, 0, 1, 1)],
        Rule::Faw => {
            let rest = t.faw - 3 * t.rrd_s;
            let s = t.rrd_s;
            vec![act(0, 0, 0, 1), act(s, 1, 0, 1), act(s, 2, 0, 1), act(s, 3, 0, 1), act(rest, 0, 1, 1)]
        }
        Rule::CcdS => vec![act(0, 0, 0, 1), act(50, 1, 0, 1), rd(50, 0, 0, 1), rd(t.ccd_s, 1, 0, 1)],
        Rule::CcdL => vec![act(0, 0, 0, 1), rd(50, 0, 0, 1), rd(t.ccd_l, 0, 0, 1)],
        Rule::CcdLWr => {
            t.ccd_l_wr = t.ccd_l + 3;
            vec![act(0, 0, 0, 1), wr(50, 0, 0, 1), wr(t.ccd_l_wr, 0, 0, 1)]
        }
        Rule::WtrS => vec![act(0, 0, 0, 1), act(50, 1, 0, 1), wr(50, 0, 0, 1), rd(written(t) + t.wtr_s, 1, 0, 1)],
        Rule::WtrL => vec![act(0, 0, 0, 1), wr(50, 0, 0, 1), rd(written(t) + t.wtr_l, 0, 0, 1)],
        Rule::Rtw => vec![act(0, 0, 0, 1), rd(50, 0, 0, 1), wr(t.cl + burst + t.rtw - t.cwl, 0, 0, 1)],
        Rule::Rtrs => {
            let other = (50, K::Activate, 1, 0, 0, 1);
            vec![act(0, 0, 0, 1), other, rd(50, 0, 0, 1), (burst + t.rtrs, K::Read, 1, 0, 0, 1)]
        }
        Rule::Rtp => vec![act(0, 0, 0, 1), rd(t.ras, 0, 0, 1), pre(t.rtp, 0, 0)],
        Rule::Wr => vec![act(0, 0, 0, 1), wr(t.rcd, 0, 0, 1), pre(written(t) + t.wr, 0, 0)],
        Rule::Ppd => {
            t.ppd = 4;
            vec![act(0, 0, 0, 1), act(50, 1, 0, 1), pre(50, 0, 0), pre(t.ppd, 1, 0)]
        }
        Rule::Rfc => vec![to_rank(0, K::Refresh), act(t.rfc, 0, 0, 1)],
        Rule::RfcSb | Rule::RefsbRd => {
            (t.rfc_sb, t.refsb_rd) = (200, 50);
            let (gap, bank) = if rule == Rule::RfcSb { (t.rfc_sb, 0) } else { (t.refsb_rd, 1) };
            vec![to_rank(0, K::RefreshSameBank), act(gap, 1, bank, 1)]
        }
        Rule::RfcPb | Rule::Rrefd => {
            (t.rfc_pb, t.rrefd) = (200, 50);
            let (gap, group) = if rule == Rule::RfcPb { (t.rfc_pb, 0) } else { (t.rrefd, 1) };
            vec![to_rank(0, K::RefreshBank), act(gap, group, 0, 1)]
        }
        Rule::Xp => vec![to_rank(0, K::PowerDown), to_rank(50, K::PowerUp), act(t.xp, 0, 0, 1)],
        Rule::Cke => vec![to_rank(0, K::PowerDown), to_rank(t.cke, K::PowerUp)],
        Rule::Xs => vec![to_rank(0, K::SelfRefresh), to_rank(50, K::SelfRefreshExit), act(t.xs, 0, 0, 1)],
        Rule::CkeSr => vec![to_rank(0, K::SelfRefresh), to_rank(t.ckesr, K::SelfRefreshExit)],
        Rule::RdPden => {
            vec![act(0, 0, 0, 1), rd(50, 0, 0, 1), to_rank(t.cl + t.dqsck + burst + 1, K::PowerDown)]
        }
        Rule::WrPden => vec![act(0, 0, 0, 1), wr(50, 0, 0, 1), to_rank(written(t) + t.wr, K::PowerDown)],
        // These rules concern states or late commands; see below.
        Rule::ActivateOpen | Rule::RowOpen | Rule::AllClosed | Rule::PoweredDown | Rule::Refi | Rule::RefreshAwake => {
            return None;
        }
    })
}

#[test]
fn a_clock_early_is_caught_by_each_rule_of_timing() {
    let mut planted = 0;
    for rule in Rule::ALL {
        let mut device = Device::preset("DDR4-2400").expect("a preset");
        let burst = device.burst_clocks();
        let Some(steps) = stream(rule, &mut device.timing, burst) else { continue };
        assert_eq!(audit(&device, &steps, 0), [], "{rule:?}: the legal stream");
        let found: Vec<Rule> = audit(&device, &steps, 1).iter().map(|violation| violation.rule).collect();
        assert_eq!(found, [rule], "{rule:?}: a clock early");
        planted += 1;
    }
    assert_eq!(planted, 30);
}

#[test]
fn the_other_pairs_of_a_rule_are_watched_too() {
    let device = Device::preset("DDR4-2400").expect("a preset");
    let (t, burst) = (&device.timing, device.burst_clocks());
    let (act, other) = ((0, K::Activate, 0, 0, 0, 1), (50, K::Activate, 1, 0, 0, 1));
    let cases: [(Rule, Vec<Step>); 9] = [
        (
            Rule::Rtrs,
            vec![act, other, (50, K::Read, 0, 0, 0, 1), (t.cl + burst + t.rtrs - t.cwl, K::Write, 1, 0, 0, 1)],
        ),
        (Rule::Rtrs, vec![act, other, (50, K::Write, 0, 0, 0, 1), (burst + t.rtrs, K::Write, 1, 0, 0, 1)]),
        // Precharges of banks that were already closed.
        (Rule::RpAll, vec![act, (t.rc, K::PrechargeAll, 0, 0, 0, 0), (t.rpab, K::Activate, 0, 1, 0, 1)]),
        (Rule::Rp, vec![act, (t.rc, K::Precharge, 0, 0, 0, 0), (t.rp, K::Refresh, 0, 0, 0, 0)]),
        (Rule::Rp, vec![act, (t.ras, K::ReadPrecharge, 0, 0, 0, 1), (t.rtp + t.rp, K::Activate, 0, 0, 0, 2)]),
        (
            Rule::Rp,
            vec![
                act,
                (t.rcd, K::WritePrecharge, 0, 0, 0, 1),
                (t.cwl + burst + t.write_lag + t.wr + t.rp, K::Activate, 0, 0, 0, 2),
            ],
        ),
        (Rule::Rfc, vec![(0, K::Refresh, 0, 0, 0, 0), (t.rfc, K::Refresh, 0, 0, 0, 0)]),
        (Rule::Ras, vec![act, (t.ras, K::PrechargeAll, 0, 0, 0, 0)]),
        (Rule::CommandBus, vec![act, (1, K::Activate, 1, 0, 0, 1)]),
    ];
    for (rule, steps) in cases {
        assert_eq!(audit(&device, &steps, 0), [], "{rule:?}: {steps:?}");
        let found: Vec<Rule> = audit(&device, &steps, 1).iter().map(|violation| violation.rule).collect();
        assert_eq!(found, [rule], "{steps:?}");
    }
}

#[test]
fn states_are_watched() {
    let device = Device::preset("DDR4-2400").expect("a preset");
    let t = &device.timing;
    let (act, to_rank) = ((0, K::Activate, 0, 0, 0, 1), |gap, kind| (gap, kind, 0, 0, 0, 0));
    let cases: [(Rule, Vec<Step>); 12] = [
        (Rule::ActivateOpen, vec![act, (100, K::Activate, 0, 0, 0, 2)]),
        (Rule::RowOpen, vec![act, (100, K::Read, 0, 0, 0, 2)]),
        (Rule::RowOpen, vec![act, (100, K::Write, 0, 1, 0, 1)]),
        (Rule::RowOpen, vec![act, (100, K::ReadPrecharge, 0, 0, 0, 1), (100, K::Read, 0, 0, 0, 1)]),
        (Rule::AllClosed, vec![act, to_rank(100, K::Refresh)]),
        (Rule::AllClosed, vec![act, to_rank(100, K::SelfRefresh)]),
        (Rule::AllClosed, vec![act, to_rank(100, K::RefreshSameBank)]),
        (Rule::AllClosed, vec![act, to_rank(100, K::RefreshBank)]),
        (Rule::PoweredDown, vec![to_rank(0, K::PowerDown), (100, K::Activate, 0, 0, 0, 1)]),
        (Rule::PoweredDown, vec![to_rank(0, K::SelfRefresh), to_rank(100, K::Refresh)]),
        (Rule::PoweredDown, vec![to_rank(0, K::PowerUp)]),
        (
            Rule::RefreshAwake,
            vec![to_rank(0, K::SelfRefresh), to_rank(100, K::SelfRefreshExit), to_rank(t.xs, K::SelfRefresh)],
        ),
    ];
    for (rule, steps) in cases {
        let found: Vec<Rule> = audit(&device, &steps, 0).iter().map(|violation| violation.rule).collect();
        assert_eq!(found, [rule], "{steps:?}");
    }
    let refreshed = [
        to_rank(0, K::SelfRefresh),
        to_rank(100, K::SelfRefreshExit),
        to_rank(t.xs, K::Refresh),
        to_rank(t.rfc, K::SelfRefresh),
    ];
    assert_eq!(audit(&device, &refreshed, 0), []);
}

#[test]
fn a_refresh_a_clock_late_is_caught() {
    let device = Device::preset("DDR4-2400").expect("a preset");
    let (interval, most) = (device.timing.refi, device.timing.refresh_postpone_max);
    let late = |gap| -> Vec<Step> { vec![(0, K::Refresh, 0, 0, 0, 0), (gap, K::Refresh, 0, 0, 0, 0)] };
    assert_eq!(audit(&device, &late((most + 1) * interval), 0), []);
    let found = audit(&device, &late((most + 1) * interval + 1), 0);
    assert_eq!(found.iter().map(|violation| violation.rule).collect::<Vec<_>>(), [Rule::Refi]);
    // No single refresh is late, but more and more are postponed.
    let slow: Vec<Step> = (0..40).map(|_| (interval * 3 / 2, K::Refresh, 0, 0, 0, 0)).collect();
    assert_eq!(audit(&device, &slow, 0).first().map(|violation| violation.rule), Some(Rule::Refi));
}
