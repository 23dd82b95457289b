//! What a request costs: run it under callgrind with two numbers of requests; the difference of the counts over the
//! difference of the requests is the cost of one, start-up dropped. `bench/dram.sh` does that.
//!
//! ```text
//! bench PRESET PATTERN REQUESTS
//! ```
//!
//! Patterns: `random` (saturated random reads), `chase` (random reads, one outstanding), `sequential` (saturated), `mixed`
//! (saturated, two random reads to one write), `dma` (reads of 4 KiB, eight outstanding, through two channels).

use dram::{Channel, Completion, Config, Device, Kind, Memory, Request};
use sim::{Rng, Streams, Time};

fn request(id: u64, kind: Kind, address: u64, bytes: u32) -> Request {
    Request { id, kind, address, bytes, ..Request::default() }
}

#[derive(Clone, Copy)]
enum Pattern {
    Random,
    Sequential,
    Mixed,
    Large,
}

/// The pattern's `id`th request.
#[inline(always)]
fn next(pattern: Pattern, id: u64, bytes: u64, rng: &mut Rng) -> Request {
    match pattern {
        Pattern::Random => request(id, Kind::Read, rng.below(bytes >> 6) << 6, 64),
        Pattern::Sequential => request(id, Kind::Read, id * 64 % bytes, 64),
        Pattern::Mixed if id % 3 == 2 => request(id, Kind::Write, rng.below(bytes >> 6) << 6, 64),
        Pattern::Mixed => request(id, Kind::Read, rng.below(bytes >> 6) << 6, 64),
        Pattern::Large => request(id, Kind::Read, rng.below(bytes >> 12) << 12, 4096),
    }
}

/// Submits `requests` requests of a pattern to a channel, `outstanding` at a time; returns when the last is done.
fn on_channel(config: &Config, pattern: Pattern, requests: u64, outstanding: u64) -> Time {
    let mut channel = Channel::new(config).expect("a preset works");
    let (bytes, mut rng) = (config.bytes(), Streams::new(1).stream("bench"));
    let (mut id, mut end) = (0, Time::ZERO);
    let mut done: Vec<Completion> = Vec::new();
    while id < outstanding.min(requests) {
        channel.submit(end, next(pattern, id, bytes, &mut rng));
        id += 1;
    }
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
        for _ in done.drain(..) {
            end = now;
            if id < requests {
                channel.submit(now, next(pattern, id, bytes, &mut rng));
                id += 1;
            }
        }
    }
    end
}

/// The same through two channels, spread by 256 bytes.
fn on_memory(config: &Config, pattern: Pattern, requests: u64, outstanding: u64) -> Time {
    let mut memory = Memory::interleaved(config, 2, 256).expect("a preset works");
    let (bytes, mut rng) = (2 * config.bytes(), Streams::new(1).stream("bench"));
    let (mut id, mut end) = (0, Time::ZERO);
    let mut done: Vec<Completion> = Vec::new();
    while id < outstanding.min(requests) {
        memory.submit(end, next(pattern, id, bytes, &mut rng));
        id += 1;
    }
    while let Some(now) = memory.next_event() {
        memory.advance(now, &mut done);
        for _ in done.drain(..) {
            end = now;
            if id < requests {
                memory.submit(now, next(pattern, id, bytes, &mut rng));
                id += 1;
            }
        }
    }
    end
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "expected PRESET, then random, chase, sequential, mixed or dma, then a number of requests";
    let [preset, pattern, requests] = arguments.as_slice() else {
        eprintln!("found {} arguments, {usage}", arguments.len());
        std::process::exit(2);
    };
    let device = match Device::preset(preset) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let Ok(requests) = requests.parse::<u64>() else {
        eprintln!("found \"{requests}\", {usage}");
        std::process::exit(2);
    };
    let config = Config::new(device);
    let (end, bytes) = match pattern.as_str() {
        "chase" => (on_channel(&config, Pattern::Random, requests, 1), 64),
        "random" => (on_channel(&config, Pattern::Random, requests, 64), 64),
        "sequential" => (on_channel(&config, Pattern::Sequential, requests, 64), 64),
        "mixed" => (on_channel(&config, Pattern::Mixed, requests, 64), 64),
        "dma" => (on_memory(&config, Pattern::Large, requests, 8), 4096),
        other => {
            eprintln!("found the pattern \"{other}\", {usage}");
            std::process::exit(2);
        }
    };
    println!("{requests} requests in {end}: {:.3} GB/s", (requests * bytes) as f64 / end.ps() as f64 * 1000.0);
}
