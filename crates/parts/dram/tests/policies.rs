//! The effect of each policy on a request's latency, in clocks of DDR4-2400: 17-17-17, CWL 12, a burst of 4.

mod support;

use dram::{Ack, Channel, Config, Device, PagePolicy, Request, RequestKind};
use sim::{Streams, Time};
use support::{Pattern, Traffic, run};

fn plain() -> Config {
    Config::new(Device::preset("DDR4-2400").expect("a preset"))
}

fn read(address: u64) -> Request {
    Request { kind: RequestKind::Read, address, bytes: 64, ..Request::default() }
}

/// Submits requests one after another, each at its time. Returns the clocks that each took.
fn clocks(config: &Config, requests: &[(Time, Request)]) -> Vec<u64> {
    let mut channel = Channel::new(config).expect("a channel");
    let mut done = Vec::new();
    for (number, (at, request)) in requests.iter().enumerate() {
        channel.submit(*at, Request { id: number as u64, ..*request });
    }
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
    }
    done.sort_by_key(|completion| completion.id);
    let clock = config.device.clock;
    done.iter().map(|c| clock.at_or_before(c.at) - clock.at_or_after(c.submitted)).collect()
}

#[test]
fn rows_stay_open_are_closed_or_are_closed_after_a_while() {
    // One row of all banks: this is the address of the same bank's next row.
    let next_row = u64::from(plain().device.row_bytes * plain().device.banks());
    let apart = |us, second| [(Time::ZERO, read(0)), (Time::from_us(us), read(second))];
    let timeout = PagePolicy::Timeout(Time::from_ns(300));
    for (page, hit, other_row) in [
        (PagePolicy::Open, 17 + 4, 17 + 17 + 17 + 4),
        (PagePolicy::Closed, 17 + 17 + 4, 17 + 17 + 4),
        (timeout, 17 + 17 + 4, 17 + 17 + 4),
    ] {
        let config = Config { page, ..plain() };
        assert_eq!(clocks(&config, &apart(1, 64)), [38, hit], "{page:?}, the same row");
        assert_eq!(clocks(&config, &apart(1, next_row)), [38, other_row], "{page:?}, another row");
    }
    // Before the timeout the row is still open.
    let soon = [(Time::ZERO, read(0)), (Time::from_ns(200), read(64))];
    assert_eq!(clocks(&Config { page: timeout, ..plain() }, &soon), [38, 21]);
    // A closed page waits for the last of the requests queued for it.
    let both = [(Time::ZERO, read(0)), (Time::ZERO, read(64))];
    assert_eq!(clocks(&Config { page: PagePolicy::Closed, ..plain() }, &both), [38, 38 + 6]);
}

#[test]
fn reads_are_answered_from_queued_writes() {
    let write = Request { kind: RequestKind::Write, ..read(128) };
    let requests = [(Time::ZERO, write), (Time::ZERO, read(128)), (Time::ZERO, read(192))];
    // The write is accepted immediately; the read enters one clock later and has its data one clock after that.
    let took = clocks(&plain(), &requests);
    assert_eq!(took[..2], [0, 2]);
    let through = Request { ack: Ack::Written, ..write };
    assert_eq!(clocks(&plain(), &[(Time::ZERO, through)]), [17 + 12 + 4]);
}

#[test]
fn postponed_refreshes_are_made_up_for() {
    let run_for = |postpone| {
        let config = Config { refresh_postpone: postpone, ..plain() };
        let mut channel = Channel::new(&config).expect("a channel");
        let mut traffic = Traffic::new(Pattern::RandomRead, config.bytes(), Streams::new(1).stream("traffic"));
        let busy = run(&mut channel, &mut traffic, 5_000, 40);
        let so_far = channel.activity(busy.end)[0].refreshes;
        let later = busy.end + Time::from_us(50);
        (busy.end, so_far, channel.activity(later)[0].refreshes, later.ps() / 7_800_000)
    };
    let (end, at_once, all, due) = run_for(0);
    let (sooner, postponed, made_up, due_then) = run_for(8);
    assert!(at_once == end.ps() / 7_800_000 && at_once >= 3, "{at_once} refreshes in {end}");
    assert_eq!(postponed, 0, "there was work all the time, for less than eight intervals");
    assert!(sooner < end);
    assert_eq!((all, made_up), (due, due_then));
}

#[test]
fn ports_take_turns() {
    let config = Config { ports: 3, ..plain() };
    let mut channel = Channel::new(&config).expect("a channel");
    // One port submits a large read, one many small reads, one a few.
    channel.submit(Time::ZERO, Request { port: 0, bytes: 1 << 20, ..read(0) });
    for line in 0..200 {
        channel.submit(Time::ZERO, Request { port: 1, ..read((1 << 30) + line * 8192) });
    }
    for line in 0..20 {
        channel.submit(Time::ZERO, Request { port: 2, id: 2, ..read((1 << 31) + line * 8192) });
    }
    let (mut done, mut last) = (Vec::new(), Time::ZERO);
    // Run until the last of the few has entered.
    while channel.port_stats(2).bytes[0] < 20 * 64 {
        last = channel.next_event().expect("work is left");
        channel.advance(last, &mut done);
    }
    // The others have entered as many bursts each by then, except for some since the previous call.
    for other in [0, 1] {
        let bursts = channel.port_stats(other).bytes[0] / 64;
        assert!((20..=24).contains(&bursts), "{bursts} bursts of port {other} by {last}");
    }
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
        last = now;
    }
    let [large, many, few] = [0, 1, 2].map(|port| channel.port_stats(port));
    assert_eq!((large.requests, many.requests, few.requests), ([1, 0], [200, 0], [20, 0]));
    assert_eq!((large.bytes[0], many.bytes[0], few.bytes[0]), (1 << 20, 200 * 64, 20 * 64));
    assert!(few.mean_latency(RequestKind::Read) <= few.latency_max[0] && few.latency_max[0] < large.latency_max[0]);
    assert!(large.latency_max[0] <= last);
}

#[test]
fn the_address_order_decides_what_sequential_traffic_meets() {
    // Consecutive bursts in different bank groups are tCCD_S apart, in one group tCCD_L: 4 and 6 clocks.
    let bandwidth = |order: &str| {
        let config = Config { order: order.parse().expect("an order"), ..plain() };
        let mut channel = Channel::new(&config).expect("a channel");
        let mut traffic = Traffic::new(Pattern::SequentialRead, config.bytes(), Streams::new(1).stream("traffic"));
        run(&mut channel, &mut traffic, 20_000, 80).gigabytes_per_s()
    };
    let (peak, groups_last) = (plain().device.peak_bandwidth() / 1e9, bandwidth("row:rank:bank:column:group"));
    assert!(groups_last > 0.94 * peak, "{groups_last} of {peak}");
    let within_a_group = bandwidth("group:row:rank:bank:column");
    assert!((0.60..0.68).contains(&(within_a_group / peak)), "{within_a_group} of {peak}");
}

#[test]
fn a_row_in_use_when_its_time_is_over_is_closed_later() {
    let order = "group:row:rank:bank:column".parse().expect("an order");
    let config = Config { page: PagePolicy::Timeout(Time::from_ns(300)), order, ..plain() };
    // The commands for a whole row take more than twice as long.
    let row = Request { bytes: plain().device.row_bytes, ..read(0) };
    assert_eq!(clocks(&config, &[(Time::ZERO, row), (Time::from_us(5), read(0))])[1], 17 + 17 + 4);
}
