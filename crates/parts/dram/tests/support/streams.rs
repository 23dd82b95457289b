//! Streams of requests, and channels of which the devices, the ranks and the policies differ, for `proptest`.
#![allow(dead_code, reason = "each test uses its part")]

use dram::{Ack, Checker, Command, Config, Device, Kind, RankKind, Ranks, Request, Violation};
use proptest::prelude::*;
use sim::Time;

const PORTS: u8 = 3;

const ORDERS: [&str; 5] = [
    "row:rank:bank:group:column",
    "row:column:rank:bank:group",
    "rank:row:bank:group:column",
    "row:bank:group:column:rank",
    "column:row:group:bank:rank",
];

/// Channels that serve in order, and the order of their addresses' fields.
pub fn configs() -> impl Strategy<Value = (Config, &'static str)> {
    let preset = prop::sample::select(Device::presets().collect::<Vec<_>>());
    let ranks = |kind, count| Ranks { kind, count };
    let ranks = prop::sample::select(vec![
        vec![ranks(RankKind::Dram, 1)],
        vec![ranks(RankKind::Dram, 2)],
        vec![ranks(RankKind::Dram, 4)],
        vec![ranks(RankKind::Dram, 2), ranks(RankKind::Buffer, 1)],
    ]);
    let rests = [None, Some(Time::from_ns(5)), Some(Time::from_ns(100)), Some(Time::from_us(3))];
    let sleeps = [None, Some(Time::from_ns(20)), Some(Time::from_us(1)), Some(Time::from_us(30))];
    let rests = (prop::sample::select(rests.to_vec()), prop::sample::select(sleeps.to_vec()));
    let queue = (1u32..=64, 1u32..40);
    let others = (prop::bool::weighted(0.9), 0u64..30);
    (preset, ranks, prop::sample::select(ORDERS.to_vec()), queue, rests, others).prop_map(
        |(preset, ranks, order, (write_queue, turn_min), (down, sleep), (refresh, latency))| {
            let config = Config {
                ranks,
                order: order.parse().expect("an order"),
                ports: PORTS,
                write_queue,
                write_high: write_queue,
                write_low: 0,
                turn_min,
                power_down_after: down,
                self_refresh_after: sleep,
                refresh,
                latency: Time::from_ns(latency),
                ..Config::new(Device::preset(preset).expect("a preset"))
            };
            (config, order)
        },
    )
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Nanoseconds after the one before it.
    pause: u64,
    port: u8,
    kind: Kind,
    ack: Ack,
    /// A fourth of the channel, and a page of 4 KiB and a byte of it.
    fourth: u64,
    page: u64,
    byte: u64,
    bytes: u64,
    /// The channel has come to its time before it comes.
    pub comes_late: bool,
}

/// Of all sorts and with pauses.
fn mixed() -> impl Strategy<Value = Vec<Ask>> {
    let pause = prop_oneof![6 => Just(0u64), 6 => 0u64..60, 2 => 0u64..600, 1 => 0u64..4000, 1 => 0u64..60_000];
    let span = prop_oneof![
        3 => Just((0u64, 4096u64)),
        6 => (0u64..64).prop_map(|line| (line * 64, 64)),
        2 => (0u64..64, 1u64..5).prop_map(|(line, lines)| (line * 64, lines * 64)),
        1 => (0u64..64, 1u64..200).prop_map(|(line, lines)| (line * 64, lines * 64)),
        1 => (0u64..4096, 1u64..600),
    ];
    let kind = prop_oneof![2 => Just(Kind::Read), 1 => Just(Kind::Write)];
    let ack = prop::sample::select(vec![Ack::Accepted, Ack::Written, Ack::Untold]);
    // Many meet where others were.
    let page = prop_oneof![2 => 0u64..24, 1 => Just(3u64)];
    let ask = (pause, 0..PORTS, kind, ack, 0u64..4, page, span, prop::bool::weighted(0.2)).prop_map(
        |(pause, port, kind, ack, fourth, page, (byte, bytes), comes_late)| Ask {
            pause,
            port,
            kind,
            ack,
            fourth,
            page,
            byte,
            bytes,
            comes_late,
        },
    );
    prop::collection::vec(ask, 1..120)
}

/// Short reads and few writes, one as soon as the other: the bus is taken far ahead.
fn dense() -> impl Strategy<Value = Vec<Ask>> {
    let span = (0u64..64, 1u64..=8).prop_map(|(line, lines)| (line * 64, lines * 64));
    let kind = prop_oneof![15 => Just(Kind::Read), 1 => Just(Kind::Write)];
    // Most find other rows of few banks open; the others were left alone for long.
    let page = prop_oneof![12 => Just(0u64), 1 => 0u64..24];
    let ask = (0u64..4, kind, 0u64..4, page, span).prop_map(|(pause, kind, fourth, page, (byte, bytes))| Ask {
        pause,
        port: 0,
        kind,
        ack: Ack::Accepted,
        fourth,
        page,
        byte,
        bytes,
        comes_late: false,
    });
    prop::collection::vec(ask, 60..200)
}

pub fn asks() -> impl Strategy<Value = Vec<Ask>> {
    prop_oneof![4 => mixed(), 1 => dense()]
}

/// The requests, and when each comes.
pub fn requests(config: &Config, asks: &[Ask]) -> Vec<(Time, Request)> {
    let mut now = Time::ZERO;
    let request = |(number, ask): (usize, &Ask)| {
        now += Time::from_ns(ask.pause);
        let address = config.bytes() / 4 * ask.fourth + ask.page * 4096 + ask.byte;
        let Ask { port, kind, ack, .. } = *ask;
        (now, Request { id: number as u64, port, kind, address, bytes: ask.bytes as u32, ack })
    };
    asks.iter().enumerate().map(request).collect()
}

/// A completion will tell that it is done.
pub fn is_told(request: &Request) -> bool {
    request.kind == Kind::Read || request.ack != Ack::Untold
}

/// What of the commands breaks a rule of the standards.
pub fn violations(config: &Config, log: &[Command]) -> Vec<Violation> {
    let kinds = config.ranks.iter().flat_map(|group| (0..group.count).map(|_| group.kind));
    let refreshed: Vec<bool> = kinds.map(|kind| config.refresh && kind == RankKind::Dram).collect();
    let (mut checker, mut violations) = (Checker::new(&config.device, &refreshed), Vec::new());
    for command in log {
        checker.check(command, &mut violations);
    }
    violations
}
