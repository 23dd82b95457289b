//! Every request is done once, reads return the data last written before them despite any reordering, and the way the
//! channel is called has no effect.

use std::collections::BTreeMap;

use dram::{
    Ack, Channel, ChannelStats, CommandKind, Completion, Config, Device, PagePolicy, RankKind, Ranks, Request,
    RequestKind,
};
use proptest::prelude::*;
use sim::Time;

fn config(preset: &str, ranks: u32, page: PagePolicy, small_queues: bool) -> Config {
    let mut config = Config::new(Device::preset(preset).expect("a preset"));
    config.ranks = vec![Ranks { kind: RankKind::Dram, count: ranks }];
    config.page = page;
    config.ports = 2;
    config.power_down_after = Some(Time::from_ns(200));
    config.self_refresh_after = Some(Time::from_us(50));
    // Small queues also have postponed refreshes, and no self-refresh that would end the postponement.
    if small_queues {
        config.refresh_postpone = config.device.timing.refresh_postpone_max;
        config.self_refresh_after = None;
    }
    if small_queues {
        (config.read_queue, config.write_queue, config.write_high, config.write_low, config.turn_min) = (3, 4, 3, 1, 2);
    }
    config
}

fn configs() -> impl Strategy<Value = Config> {
    let preset = prop::sample::select(vec!["DDR2-800", "DDR3-1600", "DDR4-2400", "DDR5-4800", "LPDDR4X-4266"]);
    let page = prop::sample::select(PagePolicy::EXAMPLES);
    (preset, prop::sample::select(vec![1, 2]), page, any::<bool>())
        .prop_map(|(preset, ranks, page, small)| config(preset, ranks, page, small))
}

/// A request: nanoseconds after the previous one, write or not, line, written through or not.
type Ask = (u64, bool, u64, bool);

fn asks(lines: u64) -> impl Strategy<Value = Vec<Ask>> {
    let pause = prop_oneof![6 => Just(0u64), 3 => 0u64..40, 1 => 0u64..200_000];
    prop::collection::vec((pause, any::<bool>(), 0..lines, any::<bool>()), 1..300)
}

/// Returns the address of a line. Lines share few banks: every fourth is in the next row of the same bank.
fn address(config: &Config, line: u64) -> u64 {
    let device = &config.device;
    let rows = u64::from(device.row_bytes * device.banks()) * config.rank_count() as u64;
    let line_bytes = u64::from(device.burst_bytes());
    line % 2 * line_bytes + line / 2 % 2 * u64::from(device.row_bytes) + line / 4 * rows
}

fn requests(config: &Config, asks: &[Ask]) -> Vec<(Time, Request)> {
    let mut now = Time::ZERO;
    let request = |(number, (pause, write, line, through)): (usize, &Ask)| {
        now += Time::from_ns(*pause);
        let kind = if *write { RequestKind::Write } else { RequestKind::Read };
        let ack = if *through { Ack::Written } else { Ack::Accepted };
        let bytes = config.device.burst_bytes();
        (now, Request { id: number as u64, port: 0, kind, address: address(config, *line), bytes, ack })
    };
    asks.iter().enumerate().map(request).collect()
}

/// Submits all requests and calls the channel when `next_event` says, or at every multiple of `call`. With `asks`,
/// queries the activity after every request, to which the channel must then advance.
fn drive(channel: &mut Channel, requests: &[(Time, Request)], call: Option<Time>) -> Vec<Completion> {
    drive_asking(channel, requests, call, false)
}

fn drive_asking(
    channel: &mut Channel,
    requests: &[(Time, Request)],
    call: Option<Time>,
    asks: bool,
) -> Vec<Completion> {
    let mut done = Vec::new();
    let mut now = Time::ZERO;
    for (at, request) in requests {
        match call {
            None => {
                while let Some(next) = channel.next_event().filter(|next| next < at) {
                    channel.advance(next, &mut done);
                }
            }
            Some(step) => {
                while now + step < *at {
                    now += step;
                    channel.advance(now, &mut done);
                }
            }
        }
        channel.submit(*at, *request);
        if asks {
            // The query is before the edge of the request, so that no work on that edge precedes other requests of the
            // same time.
            channel.activity(at.saturating_sub(Time::from_ps(1)));
        }
    }
    while let Some(next) = channel.next_event() {
        let seen = done.len();
        channel.advance(next, &mut done);
        assert!(done[seen..].iter().all(|completion| completion.at == next), "called at {next}: {:?}", &done[seen..]);
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reads_read_what_was_written_last(config in configs(), asks in asks(8)) {
        let requests = requests(&config, &asks);
        let mut channel = Channel::new(&config).expect("a channel");
        channel.keep_log();
        let done = drive(&mut channel, &requests, None);
        let mut ids: Vec<u64> = done.iter().map(|completion| completion.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..requests.len() as u64).collect::<Vec<_>>(), "each once");

        // Each read must see the last write before it in order of submission.
        let mut last = BTreeMap::new();
        let mut expected = BTreeMap::new();
        for (_, request) in &requests {
            match request.kind {
                RequestKind::Write => { last.insert(request.address, request.id); }
                RequestKind::Read => { expected.insert(request.id, last.get(&request.address).copied()); }
            }
        }
        // It saw the write that was last on the bus, or one that was still queued.
        let mut memory = BTreeMap::new();
        let mut written_at = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for command in channel.take_log() {
            let address = requests.get(command.request as usize).map(|(_, request)| request.address);
            match command.kind {
                CommandKind::Read | CommandKind::ReadPrecharge => {
                    seen.insert(command.request, memory.get(&address).copied());
                }
                CommandKind::Write | CommandKind::WritePrecharge => {
                    memory.insert(address, command.request);
                    written_at.insert(command.request, command.at(config.device.clock));
                }
                _ => {}
            }
        }
        prop_assert_eq!(channel.stats().forwarded, (expected.len() - seen.len()) as u64);
        for completion in done.iter().filter(|completion| completion.kind == RequestKind::Read) {
            let expected = expected[&completion.id];
            match seen.get(&completion.id) {
                Some(seen) => prop_assert_eq!(*seen, expected, "read {}", completion.id),
                None => {
                    // Answered from the queue: the write it must see was queued, and not yet on the bus.
                    let write = expected.expect("a forwarded read follows a write");
                    prop_assert!(written_at[&write] + config.device.clock.time(1) >= completion.at);
                    prop_assert!(requests[write as usize].0 <= completion.at);
                }
            }
        }
    }

    #[test]
    fn how_it_is_called_changes_nothing(config in configs(), asks in asks(64), step in 1u64..5_000) {
        let requests = requests(&config, &asks);
        let mut by_events = Channel::new(&config).expect("a channel");
        let mut by_clock = Channel::new(&config).expect("a channel");
        let mut asked = Channel::new(&config).expect("a channel");
        let mut logged = Channel::new(&config).expect("a channel");
        logged.keep_log();
        let done = drive(&mut by_events, &requests, None);
        prop_assert_eq!(&done, &drive(&mut by_clock, &requests, Some(Time::from_ps(step * 100))));
        prop_assert_eq!(&done, &drive(&mut logged, &requests, None));
        prop_assert_eq!(&done, &drive_asking(&mut asked, &requests, None, true));
        let later = done.last().map_or(Time::ZERO, |completion| completion.at) + Time::from_us(step);
        let activity = by_events.activity(later);
        prop_assert_eq!(&activity, &by_clock.activity(later));
        prop_assert_eq!(&activity, &asked.activity(later));
        // With a log, idle time is simulated instead of counted.
        prop_assert_eq!(&activity, &logged.activity(later));
        for rank in activity {
            let clocks: u64 = rank.clocks.iter().sum();
            prop_assert_eq!(clocks, config.device.clock.at_or_before(later), "each clock in one state");
        }
        // Only the steps of idle time may differ, because more or fewer of them are counted instead of simulated.
        let [stats, clocked, other, walked] =
            [by_events, by_clock, asked, logged].map(|channel| ChannelStats { steps: 0, ..channel.stats() });
        prop_assert_eq!((clocked, other, walked), (stats, stats, stats));
    }
}

#[test]
fn a_transfer_of_many_bursts_is_done_once_and_in_order_of_its_port() {
    let config = config("LPDDR3-1600", 1, PagePolicy::Open, false);
    let mut channel = Channel::new(&config).expect("a channel");
    let (bytes, line) = (512 * 1024, u64::from(config.device.burst_bytes()));
    let large = Request { id: 1, kind: RequestKind::Read, address: 4096 + line - 1, bytes, ..Request::default() };
    channel.submit(Time::ZERO, large);
    let other = Request { id: 2, port: 1, kind: RequestKind::Read, address: 1 << 26, bytes: 1, ..Request::default() };
    channel.submit(Time::ZERO, other);
    let done = drive(&mut channel, &[], None);
    assert_eq!(
        done.iter().map(|completion| completion.id).collect::<Vec<_>>(),
        [2, 1],
        "the other port is not behind it"
    );
    // The request is not aligned: it takes one burst more than its length.
    assert_eq!(channel.stats().bursts, [u64::from(bytes) / line + 2, 0]);
    assert_eq!(channel.port_stats(0).bytes[0], u64::from(bytes) + line);
    let peak = config.device.peak_bandwidth() / 1e12;
    let took = (done[1].at.ps()) as f64;
    assert!((0.90..0.98).contains(&(f64::from(bytes) / took / peak)), "{took} ps");
}
