//! Gaps, constraints and refreshes of ranks, and the log, by commands issued directly.

use crate::device::{Device, Timing};
use crate::request::{RankKind, RequestKind};
use crate::state::bank::{BANKS, Gaps, PerBank};
use crate::state::constraints::{GROUPS, LIMITS};
use crate::state::per_rank::{PerRank, RANKS};
use crate::state::power::PowerState;
use crate::state::{CLOSED, ChannelState, Command, CommandKind, Constraints, PowerMode, Rank, RankActivity, class};

fn device(change: impl Fn(&mut Timing)) -> Device {
    let mut device = Device::preset("DDR5-4800").expect("a preset");
    change(&mut device.timing);
    device
}

fn state() -> ChannelState {
    ChannelState::new(&device(|_| {}), &[RankKind::Dram, RankKind::Dram], true)
}

#[test]
fn the_least_gap_regards_other_ranks_only_where_there_are_some() {
    let gaps = Gaps { other_rank: [[3; 2]; 2], same_rank: [[4; 2]; 2], ..Gaps::new(&device(|_| {})) };
    assert_eq!((gaps.least(1), gaps.least(2), gaps.least(4)), (4, 3, 3));
}

#[test]
fn data_of_different_ranks_leave_a_bubble_on_the_bus() {
    let device = device(|t| (t.cl, t.cwl, t.dqsck, t.rtrs) = (30, 28, 1, 2));
    let burst = u64::from(device.burst_clocks());
    let gaps = Gaps::new(&device).other_rank;
    assert_eq!(gaps, [[burst + 2, 31 + burst + 2 - 28], [28 + burst + 2 - 30, burst + 2]]);
}

#[test]
fn commands_to_different_ranks_are_at_least_a_clock_apart() {
    for beyond in [0, 1, 10] {
        let mut device = device(|t| (t.cwl, t.rtrs) = (10, 1));
        device.timing.cl = 10 + device.burst_clocks() + 1 + beyond;
        assert_eq!(Gaps::new(&device).other_rank[1][0], 1, "read data come {beyond} clocks after the bubble");
    }
}

#[test]
fn reads_and_writes_of_a_bank_keep_their_own_gap() {
    let gaps = Gaps::new(&device(|t| (t.ccd_s, t.ccd_l, t.ccd_l_wr, t.column_slots) = (4, 5, 9, 1)));
    assert_eq!(gaps.same_bank, [5, 9]);
    let gaps = Gaps::new(&device(|t| (t.ccd_s, t.ccd_l, t.ccd_l_wr, t.column_slots) = (4, 5, 9, 7)));
    assert_eq!(gaps.same_bank, [7, 9]);
}

#[test]
fn each_class_of_each_bank_group_has_its_own_limit() {
    let mut constraints = Constraints::NONE;
    let cycle = |group: usize, class: usize| (100 + group * 4 + class) as u64;
    for group in 0..GROUPS {
        (0..4).for_each(|class| constraints.hold_group(group, class, cycle(group, class)));
    }
    assert_eq!(GROUPS * 4, LIMITS);
    for group in 0..GROUPS {
        for class in 0..4 {
            assert_eq!(constraints.allows(group, class), cycle(group, class));
            assert_eq!(constraints.of_group(Constraints::place(group, class)), cycle(group, class));
        }
    }
}

#[test]
fn each_class_of_a_rank_has_its_own_limit() {
    let mut constraints = Constraints::NONE;
    for class in 0..4 {
        constraints.hold(class, 10 + class as u64);
    }
    constraints.hold(class::PRECHARGE, 5);
    for class in 0..4 {
        assert_eq!(constraints.of_rank(class), 10 + class as u64);
        assert_eq!(constraints.allows(3, class), 10 + class as u64);
    }
}

#[test]
fn the_fifth_activation_waits_for_the_first() {
    let mut rank = Rank::new(RankKind::Dram, true, 0);
    let next: Vec<u64> = (1..=9).map(|number| rank.fifth_after(100 * number)).collect();
    assert_eq!(next, [0, 0, 0, 100, 200, 300, 400, 500, 600]);
}

#[test]
fn ranks_without_cells_and_sleeping_ones_have_no_refresh_due() {
    assert_eq!(Rank::new(RankKind::Buffer, false, 7).refresh_due(), u64::MAX);
    let mut rank = Rank::new(RankKind::Dram, true, 7);
    assert_eq!(rank.refresh_due(), 7);
    rank.state = PowerMode::Asleep;
    assert_eq!(rank.refresh_due(), u64::MAX);
}

#[test]
fn only_ranks_of_dram_are_refreshed() {
    let refreshed = |refresh| {
        let state = ChannelState::new(&device(|_| {}), &[RankKind::Dram, RankKind::Buffer], refresh);
        state.ranks.iter().map(|rank| rank.refreshes).collect::<Vec<_>>()
    };
    assert_eq!((refreshed(true), refreshed(false)), (vec![true, false], vec![false, false]));
}

#[test]
fn every_clock_of_a_rank_is_counted_once() {
    let mut rank = Rank::new(RankKind::Dram, true, 0);
    rank.count(40);
    rank.open = 1;
    rank.count(100);
    assert_eq!(rank.activity_at(150).clocks.iter().sum::<u64>(), 150);
}

#[test]
fn a_rank_is_active_from_its_first_open_bank_to_its_last() {
    let mut state = state();
    state.activate(100, 0, 0, 7);
    state.activate(150, 0, 9, 7);
    state.precharge(300, 0, 0);
    state.precharge(420, 0, 9);
    state.activate(1_000, 0, 3, 7);
    let clocks = |cycle| {
        let activity = state.ranks[0].activity_at(cycle);
        [PowerState::PrechargeStandby, PowerState::ActiveStandby].map(|state| activity.clocks_in(state))
    };
    assert_eq!(clocks(1_000), [100 + 580, 320]);
    assert_eq!(clocks(1_050), [100 + 580, 320 + 50]);
}

#[test]
fn a_rank_rests_longer_in_self_refresh_than_in_power_down() {
    let device = device(|t| (t.cke, t.ckesr) = (5, 9));
    let mut state = ChannelState::new(&device, &[RankKind::Dram], true);
    for (mode, rests) in [(CommandKind::PowerDown, 5), (CommandKind::SelfRefresh, 9)] {
        state.command_rank(1_000, mode, 0);
        assert_eq!(state.exit_at(0, 1_000), 1_000 + rests, "{mode:?}");
        assert_eq!(state.exit_at(0, 2_000), 2_000);
    }
}

#[test]
fn each_of_as_many_ranks_as_a_channel_can_have_has_its_own_value() {
    let mut values = PerRank::new(RANKS, |rank| rank);
    (0..RANKS).for_each(|rank| values[rank] += 100 * rank);
    assert!((0..RANKS).all(|rank| values[rank] == 101 * rank));
    assert!(values.iter().enumerate().all(|(rank, value)| *value == 101 * rank));
}

#[test]
fn each_of_as_many_banks_as_a_rank_can_have_has_its_own_value() {
    let mut values = PerBank([0; BANKS]);
    (0..BANKS).for_each(|bank| values[bank] += 100 + bank);
    assert!((0..BANKS).all(|bank| values[bank] == 100 + bank));
}

#[test]
fn the_first_data_may_be_that_of_a_read_or_of_a_write() {
    for (cl, cwl) in [(30, 28), (28, 30)] {
        let device = device(|t| (t.cl, t.cwl, t.dqsck) = (cl, cwl, 0));
        let state = ChannelState::new(&device, &[RankKind::Dram], true);
        assert_eq!(state.data_min(), 28 + u64::from(device.burst_clocks()), "CL {cl}, CWL {cwl}");
    }
}

#[test]
fn an_automatic_precharge_closes_its_bank_alone() {
    let mut state = state();
    for bank in [0, 9] {
        state.activate(100 * (bank as u64 + 1), 0, bank, 7);
    }
    state.column(2_000, RequestKind::Read, 0, 9, 1);
    state.auto_precharge(0, 9);
    assert_eq!((state.ranks[0].open, state.bank(0, 9).row, state.bank(0, 0).row), (1, CLOSED, 7));
    assert_eq!((state.stats.activates, state.ranks[0].activity.activates), (2, 2));
}

#[test]
fn a_rank_is_quiet_after_its_data() {
    let mut state = state();
    assert_eq!(state.now, 0);
    state.activate(10, 0, 0, 7);
    state.column(60, RequestKind::Read, 0, 0, 1);
    let end = 60 + state.gaps.to_end[0];
    state.ranks[0].banks[0].next_precharge = 0;
    state.ranks[0].banks[0].next_activate = 0;
    assert_eq!(state.quiet_at(0), end + 1);
}

#[test]
fn columns_of_two_ranks_hold_each_other() {
    let mut state = state();
    state.activate(10, 0, 0, 7);
    state.column(60, RequestKind::Write, 0, 0, 1);
    let [read, write] = state.gaps.other_rank[1];
    let other = &state.ranks[1].constraints;
    assert_eq!((other.of_rank(class::READ), other.of_rank(class::WRITE)), (60 + read, 60 + write));
}

#[test]
fn same_bank_refreshes_take_the_banks_in_turn() {
    let mut state = state();
    let (per_group, interval) = (1 << state.group_shift, u64::from(state.timing.refi));
    let due = state.ranks[0].refresh_due();
    for number in 0..2 * per_group {
        assert_eq!(state.ranks[0].next_bank, number % per_group);
        let at = 1000 * u64::from(number + 1);
        state.refresh_same_bank(at, 0);
        let ready = at + u64::from(state.timing.rfc_sb);
        let held = |bank: usize| state.ranks[0].banks[bank].next_activate == ready;
        assert!((0..state.banks).all(|bank| held(bank) == (bank as u32 % per_group == number % per_group)));
        assert_eq!(state.ranks[0].next_bank_at, ready);
    }
    let times = u64::from(2 * per_group);
    assert_eq!(state.ranks[0].refresh_due(), due + times * (interval / times));
    assert_eq!((state.ranks[0].activity.same_bank_refreshes, state.stats.steps), (times, times));
}

#[test]
fn a_refresh_between_per_bank_refreshes_serves_for_the_rest_of_the_interval() {
    let mut state = state();
    let (share, due) = (u64::from(state.timing.refi) / state.banks as u64, state.ranks[0].refresh_due());
    for bank in 0..3 {
        let at = 1000 * (bank + 1);
        state.refresh_bank(at, 0);
        assert_eq!(state.ranks[0].banks[bank as usize].next_activate, at + u64::from(state.timing.rfc_pb));
        assert_eq!(
            (state.ranks[0].next_bank, state.ranks[0].refresh_due()),
            (bank as u32 + 1, due + (bank + 1) * share)
        );
    }
    state.command_rank(9000, CommandKind::Refresh, 0);
    assert_eq!((state.ranks[0].next_bank, state.ranks[0].refresh_due()), (0, due + u64::from(state.timing.refi)));
}

#[test]
fn the_log_holds_zero_for_what_a_command_does_not_address() {
    let mut state = state();
    state.log.kept = true;
    let bank = 3 << state.group_shift | 1;
    state.activate(10, 1, bank, 7);
    state.note_columns(RequestKind::Write, (60, 8, 2), 1, bank, (7, 5), 99);
    state.column(68, RequestKind::Write, 1, bank, 2);
    state.precharge(200, 1, bank);
    state.refresh_same_bank(300, 1);
    state.command_rank(900, CommandKind::Refresh, 1);
    let command = Command { rank: 1, ..Command::default() };
    let of_bank = Command { group: 3, bank: 1, ..command };
    let write = Command { kind: CommandKind::Write, row: 7, column: 5, request: 99, ..of_bank };
    let expected = [
        Command { cycle: 10, kind: CommandKind::Activate, row: 7, ..of_bank },
        Command { cycle: 60, ..write },
        Command { cycle: 68, column: 6, ..write },
        Command { cycle: 200, kind: CommandKind::Precharge, ..of_bank },
        Command { cycle: 300, kind: CommandKind::RefreshSameBank, ..command },
        Command { cycle: 900, kind: CommandKind::Refresh, ..command },
    ];
    assert_eq!(state.log.take(), expected);
}

#[test]
fn every_bank_twice_by_same_bank_refreshes_takes_the_energy_of_a_refresh() {
    let device = device(|_| {});
    let all = RankActivity { refreshes: 1, ..RankActivity::default() }.energy(&device).refresh;
    let times = u64::from(2 * device.banks_per_group);
    let same_bank = RankActivity { same_bank_refreshes: times, ..RankActivity::default() }.energy(&device).refresh;
    let banks = u64::from(device.banks());
    let per_bank = RankActivity { bank_refreshes: banks, ..RankActivity::default() }.energy(&device).refresh;
    assert_eq!(per_bank, all);
    assert!(all.pj_f64() > 0.0);
    assert_eq!(same_bank, all);
}

#[test]
fn repeated_activity_moves_what_is_due_and_the_start_of_a_power_down() {
    for (state, since, due) in [(PowerMode::Up, 5, 17), (PowerMode::Down, 15, 17), (PowerMode::Asleep, 5, 7)] {
        let mut rank = Rank::new(RankKind::Dram, true, 7);
        (rank.state, rank.since) = (state, 5);
        rank.repeat(&RankActivity::default(), 1, 10);
        assert_eq!((rank.since, rank.refresh_due, rank.ready), (since, due, 10), "{state:?}");
    }
}
