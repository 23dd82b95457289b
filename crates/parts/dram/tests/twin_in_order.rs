//! Compares `InOrder` with a second implementation that is slow but obvious (`twin/`). The common rules are:
//!
//! 1. Bursts of a request are served in address order: by a precharge if another row is open, an activate if none is,
//!    and a column command. Rows stay open.
//! 2. A read of at most eight bursts of one row is short. On its arrival, each of its commands gets the first clock at
//!    which no command decided earlier forbids it (`twin/rules.rs`) and the command bus is free, even between commands
//!    of earlier reads. It may not precede a command of the backlog or of a rank's maintenance, and may be at most 2048
//!    clocks before the end of all commands.
//! 3. All other requests form the backlog, which is served in order. Each of its commands comes after all commands
//!    decided so far, and is decided when its clock has come: when the channel is called at it, or a request arrives
//!    after it.
//! 4. When short reads of more than `turn_min` bursts have arrived since the backlog was last served, `turn_min` of its
//!    bursts are decided before the read.
//! 5. Consider the last write of the backlog that contains any burst of a short read. If it contains all of them, the
//!    read is answered one clock after its arrival; otherwise it joins the backlog.
//! 6. A posted write is accepted as soon as earlier writes have at most `write_queue` bursts left.
//! 7. A refresh comes after the commands decided until it is due, and before later commands of the backlog and later
//!    requests: precharge all, if a row is open, and REF.
//! 8. A resting rank is woken for its refresh or its self-refresh, and when a short read or the backlog needs it.
//! 9. While there is no backlog, a rank is powered down, or closed and put into self-refresh, when the configured time
//!    has passed since its last column command and no command is in progress in the channel. It enters self-refresh
//!    again only after a refresh.

mod support;
mod twin;

use dram::{ChannelStats, Command, Completion, Config, InOrder, PortStats, PowerState, RankActivity, Request};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sim::Time;
use support::streams::{Ask, asks, configs, is_told, requests, violations};
use twin::Twin;

#[derive(Debug, PartialEq)]
struct Outcome {
    log: Vec<Command>,
    done: Vec<Completion>,
    stats: ChannelStats,
    ports: Vec<PortStats>,
    activity: Vec<RankActivity>,
}

/// Requests, their times, and whether the channel advances to that time first.
type Stream = Vec<(Time, Request, bool)>;

fn stream(config: &Config, asks: &[Ask]) -> Stream {
    requests(config, asks).into_iter().zip(asks).map(|((at, request), ask)| (at, request, ask.comes_late)).collect()
}

/// Returns a time long after all work is done: a burst that closes and opens a row takes less than 200 ns.
fn later(stream: &Stream) -> Time {
    let bursts: u64 = stream.iter().map(|(_, request, _)| u64::from(request.bytes) / 32 + 2).sum();
    stream.last().map_or(Time::ZERO, |(at, ..)| *at) + Time::from_ns(200) * bursts + Time::from_us(100)
}

fn in_order(config: &Config, stream: &Stream, keep_log: bool) -> Outcome {
    let mut channel = InOrder::new(config).expect("a channel");
    if keep_log {
        channel.keep_log();
    }
    let mut done = Vec::new();
    for (at, request, comes_late) in stream {
        if *comes_late {
            channel.advance(*at, &mut done);
        }
        channel.submit(*at, *request);
    }
    let activity = channel.activity(later(stream));
    channel.advance(later(stream), &mut done);
    let ports = (0..config.ports).map(|port| channel.port_stats(port)).collect();
    let stats = ChannelStats { steps: 0, ..channel.stats() };
    finished(Outcome { log: channel.take_log(), done, stats, ports, activity })
}

/// Returns the outcome, and the commands in the order of decision.
fn twin(config: &Config, order: &str, stream: &Stream) -> (Outcome, Vec<Command>) {
    let mut twin = Twin::new(config, order);
    for (at, request, comes_late) in stream {
        if *comes_late {
            twin.advance(*at);
        }
        twin.submit(*at, *request);
    }
    let activity = twin.activity(later(stream));
    let (log, stats) = (twin.sorted(), twin.stats());
    (finished(Outcome { log, done: twin.done, stats, ports: twin.ports, activity }), twin.decided)
}

/// Replaces the standby clocks found by the expected ones if the difference is permissible: `InOrder` counts them in
/// the order in which it decides.
fn standby_as_in(expected: &Outcome, decided: &[Command], mut found: Outcome) -> Outcome {
    const CLOSED: usize = PowerState::PrechargeStandby as usize;
    const OPEN: usize = PowerState::ActiveStandby as usize;
    for (rank, (ours, its)) in expected.activity.iter().zip(&mut found.activity).enumerate() {
        let same = ours.clocks[CLOSED] + ours.clocks[OPEN] == its.clocks[CLOSED] + its.clocks[OPEN];
        let off = ours.clocks[CLOSED].abs_diff(its.clocks[CLOSED]);
        if same && off <= twin::activity::uncertain(decided, rank as u8) {
            (its.clocks[CLOSED], its.clocks[OPEN]) = (ours.clocks[CLOSED], ours.clocks[OPEN]);
        }
    }
    found
}

/// Sorts requests that are done at the same time, whose order is unspecified.
fn finished(mut outcome: Outcome) -> Outcome {
    outcome.done.sort_by_key(|done| (done.at, done.id));
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(384) })]

    #[test]
    fn two_controllers_that_serve_in_order_do_the_same((config, order) in configs(), asks in asks()) {
        let stream = stream(&config, &asks);
        let (expected, decided) = twin(&config, order, &stream);
        prop_assert_eq!(violations(&config, &expected.log), []);
        prop_assert_eq!(expected.done.len(), stream.iter().filter(|(_, request, _)| is_told(request)).count());
        let found = standby_as_in(&expected, &decided, in_order(&config, &stream, true));
        if let Some(at) = (0..found.log.len()).find(|at| expected.log.get(*at) != found.log.get(*at)) {
            let from = at.saturating_sub(5);
            prop_assert_eq!(expected.log.get(from..at + 3), found.log.get(from..at + 3), "commands from the {}th on", from);
        }
        prop_assert_eq!(&expected.done, &found.done);
        prop_assert_eq!((expected.stats, &expected.ports), (found.stats, &found.ports));
        prop_assert_eq!(&expected.activity, &found.activity);
        prop_assert_eq!(&expected.log, &found.log);
        // Idle time without a log is skipped, and must count the same.
        let unlogged = standby_as_in(&expected, &decided, in_order(&config, &stream, false));
        prop_assert_eq!(Outcome { log: Vec::new(), ..expected }, unlogged);
    }
}

/// A change to one parameter of a controller.
type Plant = (&'static str, fn(&mut Config));

macro_rules! clock_more {
    ($($field:ident),*) => { [$((stringify!($field), |config: &mut Config| config.device.timing.$field += 1)),*] };
}

const TIMING: [Plant; 31] = clock_more![
    cl,
    cwl,
    rcd,
    rp,
    rpab,
    ras,
    rc,
    rrd_s,
    rrd_l,
    faw,
    ccd_s,
    ccd_l,
    ccd_l_wr,
    wtr_s,
    wtr_l,
    rtp,
    wr,
    rtw,
    rtrs,
    dqsck,
    write_lag,
    ppd,
    xp,
    cke,
    ckesr,
    xs,
    refi,
    rfc,
    activate_slots,
    column_slots,
    precharge_slots
];

const POLICY: [Plant; 7] = [
    ("turn_min", |config| config.turn_min += 1),
    ("write_queue", |config| config.write_queue += 1),
    ("power_down_after", |config| {
        config.power_down_after = config.power_down_after.map(|span| span + Time::from_ns(3))
    }),
    ("self_refresh_after", |config| {
        config.self_refresh_after = config.self_refresh_after.map(|span| span + Time::from_ns(3))
    }),
    ("refresh", |config| config.refresh = !config.refresh),
    ("latency", |config| config.latency += Time::from_ps(1)),
    ("ranks", |config| config.ranks.reverse()),
];

/// Tests the comparison itself: if one parameter of one controller differs slightly, it must report a difference.
#[test]
fn whatever_one_goes_by_is_told_apart() {
    let mut runner = TestRunner::deterministic();
    let mut draw = || {
        let ((config, order), asks) = (configs(), asks()).new_tree(&mut runner).expect("a value").current();
        let stream = stream(&config, &asks);
        let (outcome, _) = twin(&config, order, &stream);
        (config, order, stream, outcome)
    };
    let cases: Vec<_> = (0..128).map(|_| draw()).collect();
    for (name, plant) in TIMING.into_iter().chain(POLICY) {
        let differs = |(config, order, stream, expected): &(Config, &str, Stream, Outcome)| {
            let mut planted = config.clone();
            plant(&mut planted);
            let (other, decided) = twin(&planted, order, stream);
            standby_as_in(expected, &decided, other) != *expected
        };
        assert!(cases.iter().any(differs), "{name} made no difference");
    }
}
