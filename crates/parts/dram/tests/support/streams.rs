//! Streams of requests, and channels with various devices, ranks and policies, for `proptest`.
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

/// Generates configurations for in-order channels, with the order of their address fields.
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

/// A generated request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Nanoseconds after the previous one.
    pause: u64,
    port: u8,
    kind: Kind,
    ack: Ack,
    /// A quarter of the channel, a page of 4 KiB in it, and a byte of the page.
    fourth: u64,
    page: u64,
    byte: u64,
    bytes: u64,
    /// True if the channel advances to the request's time before its submission.
    pub comes_late: bool,
}

/// Generates requests of all kinds with pauses.
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
    let ack = prop::sample::select(vec![Ack::Accepted, Ack::Written, Ack::Silent]);
    // Many go to the same places as others.
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

/// Generates dense short reads with few writes, so that the bus is booked far ahead.
fn dense() -> impl Strategy<Value = Vec<Ask>> {
    let span = (0u64..64, 1u64..=8).prop_map(|(line, lines)| (line * 64, lines * 64));
    let kind = prop_oneof![15 => Just(Kind::Read), 1 => Just(Kind::Write)];
    // Most find other rows of few banks open; the other banks were idle for a long time.
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

/// Returns the requests and their times.
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

/// Returns true if a completion will report the request.
pub fn is_told(request: &Request) -> bool {
    request.kind == Kind::Read || request.ack != Ack::Silent
}

/// Returns the violations of the standards in a log of commands.
pub fn violations(config: &Config, log: &[Command]) -> Vec<Violation> {
    let kinds = config.ranks.iter().flat_map(|group| (0..group.count).map(|_| group.kind));
    let refreshed: Vec<bool> = kinds.map(|kind| config.refresh && kind == RankKind::Dram).collect();
    let (mut checker, mut violations) = (Checker::new(&config.device, &refreshed), Vec::new());
    for command in log {
        checker.check(command, &mut violations);
    }
    violations
}
