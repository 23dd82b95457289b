//! Compares serving in order with searching for open rows (`InOrder` and `Channel`) on the same requests: latency and
//! bandwidth of one channel, by pattern and number of outstanding requests.
//!
//! ```text
//! schedulers [PRESET [RANKS]]
//! ```
//!
//! A request follows each completion one clock later. In the second table, random reads of 64 bytes arrive at random
//! times with a given mean rate, regardless of completions. Random patterns cover all of memory; `copy` reads one half
//! and writes the other sequentially; writes are done when the controller accepts them. Latency is the mean of reads.

use dram::{Config, Device, Kind, Memory, RankKind, Ranks, Request, Scheduler};
use sim::{Rng, Streams, Time};

const REQUESTS: u64 = 100_000;
const OUTSTANDING: [u64; 5] = [1, 4, 16, 64, 96];

/// A pattern: its name, bytes per request, and a function that returns the kind and line of a request by number.
type Pattern = (&'static str, u32, fn(u64, u64, &mut Rng) -> (Kind, u64));

const PATTERNS: [Pattern; 8] = [
    ("random reads of 64", 64, |_, lines, rng| (Kind::Read, rng.below(lines))),
    ("random reads of 256", 256, |_, lines, rng| (Kind::Read, rng.below(lines))),
    ("random reads of 4096", 4096, |_, lines, rng| (Kind::Read, rng.below(lines))),
    ("sequential reads of 64", 64, |id, lines, _| (Kind::Read, id % lines)),
    ("sequential reads of 4096", 4096, |id, lines, _| (Kind::Read, id % lines)),
    ("random, a third writes, of 64", 64, |id, lines, rng| (third(id), rng.below(lines))),
    ("random, a third writes, of 4096", 4096, |id, lines, rng| (third(id), rng.below(lines))),
    ("copy of 64", 64, |id, lines, _| {
        let kind = if id % 2 == 0 { Kind::Read } else { Kind::Write };
        (kind, id / 2 % (lines / 2) + kind as u64 * (lines / 2))
    }),
];

fn third(id: u64) -> Kind {
    if id % 3 == 2 { Kind::Write } else { Kind::Read }
}

/// Returns the mean latency of reads in ns, and the bandwidth in GB/s.
fn measure(config: &Config, pattern: Pattern, outstanding: u64) -> (f64, f64) {
    let (_, bytes, next) = pattern;
    let mut rng = Streams::new(1).stream("schedulers");
    let mut memory = Memory::interleaved(config, 1, 4096).expect("a memory");
    let lines = config.bytes() / u64::from(bytes);
    let gap = config.device.clock.time(1);
    let mut request = |id: u64| {
        let (kind, line) = next(id, lines, &mut rng);
        Request { id, kind, address: line * u64::from(bytes), bytes, ..Request::default() }
    };
    for id in 0..outstanding {
        memory.submit(Time::ZERO, request(id));
    }
    let (mut submitted, mut end, mut done) = (outstanding, Time::ZERO, Vec::new());
    while let Some(now) = memory.next_event() {
        memory.advance(now, &mut done);
        for completion in done.drain(..) {
            end = end.max(completion.at);
            if submitted < REQUESTS {
                memory.submit(completion.at + gap, request(submitted));
                submitted += 1;
            }
        }
    }
    let seconds = end.ps() as f64 / 1e12;
    let moved = (REQUESTS * u64::from(bytes)) as f64;
    (memory.port_stats(0).mean_latency(Kind::Read).ps() as f64 / 1000.0, moved / seconds / 1e9)
}

/// Returns the mean latency in ns of random reads of 64 bytes, `gap` apart on average.
fn measure_rate(config: &Config, gap: Time) -> f64 {
    let mut rng = Streams::new(2).stream("schedulers");
    let mut memory = Memory::interleaved(config, 1, 4096).expect("a memory");
    let (mut now, mut done) = (Time::ZERO, Vec::new());
    for id in 0..REQUESTS {
        now += Time::from_ps((-(1.0 - rng.unit()).ln() * gap.ps() as f64) as u64);
        while let Some(next) = memory.next_event().filter(|next| *next <= now) {
            memory.advance(next, &mut done);
        }
        memory
            .submit(now, Request { id, address: rng.below(config.bytes() / 64) * 64, bytes: 64, ..Request::default() });
    }
    while let Some(next) = memory.next_event() {
        memory.advance(next, &mut done);
    }
    memory.port_stats(0).mean_latency(Kind::Read).ps() as f64 / 1000.0
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let preset = arguments.next().unwrap_or_else(|| "DDR4-2400".to_owned());
    let count = arguments.next().map_or(1, |count| count.parse().expect("a number of ranks"));
    let device = Device::preset(&preset).unwrap_or_else(|error| panic!("{error}"));
    let plain = Config { ranks: vec![Ranks { kind: RankKind::Dram, count }], ..Config::new(device) };
    println!("{preset}, ranks: {count}; ns and GB/s: first ready, in order, in order over first ready\n");
    println!("| pattern | outstanding | ns | ns | | GB/s | GB/s | |\n|---|--:|--:|--:|--:|--:|--:|--:|");
    for pattern in PATTERNS {
        for outstanding in OUTSTANDING {
            let [(ready_ns, ready), (order_ns, order)] = [Scheduler::FirstReady, Scheduler::InOrder]
                .map(|scheduler| measure(&Config { scheduler, ..plain.clone() }, pattern, outstanding));
            println!(
                "| {} | {outstanding} | {ready_ns:.0} | {order_ns:.0} | {:.2} | {ready:.2} | {order:.2} | {:.2} |",
                pattern.0,
                order_ns / ready_ns,
                order / ready
            );
        }
    }
    println!("\n| GB/s asked for | ns | ns | |\n|--:|--:|--:|--:|");
    for gap in [128, 64, 32, 24, 20, 16, 14].map(Time::from_ns) {
        let [ready, order] = [Scheduler::FirstReady, Scheduler::InOrder]
            .map(|scheduler| measure_rate(&Config { scheduler, ..plain.clone() }, gap));
        println!("| {:.2} | {ready:.0} | {order:.0} | {:.2} |", 64_000.0 / gap.ps() as f64, order / ready);
    }
}
