//! Measures the cost of a request. Run it under `valgrind --tool=callgrind --toggle-collect='*measured*'` with two
//! numbers of requests: the difference of the counts divided by the difference of the requests is the cost of one,
//! including the loop that submits it but not its generation. `bench/dram.sh` does that.
//!
//! ```text
//! bench PRESET PATTERN REQUESTS
//! ```
//!
//! Patterns: `random` (saturated random reads), `chase` (random reads, one outstanding), `sequential` (saturated),
//! `mixed` (saturated, two random reads per write), `dma` (reads of 4 KiB, eight outstanding, through two channels),
//! `pages` (like `dma`, driven by `Memory::next_done`), `page` (like `pages`, one outstanding).

use dram::{Channel, Completion, Config, Device, Memory, Request, RequestKind};
use sim::{Rng, Streams, Time};

fn request(id: u64, kind: RequestKind, address: u64, bytes: u32) -> Request {
    Request { id, kind, address, bytes, ..Request::default() }
}

#[derive(Clone, Copy)]
enum Pattern {
    Random,
    Sequential,
    Mixed,
    Large,
}

/// Returns the pattern's `id`th request.
fn next(pattern: Pattern, id: u64, bytes: u64, rng: &mut Rng) -> Request {
    match pattern {
        Pattern::Random => request(id, RequestKind::Read, rng.below(bytes >> 6) << 6, 64),
        Pattern::Sequential => request(id, RequestKind::Read, id * 64 % bytes, 64),
        Pattern::Mixed if id % 3 == 2 => request(id, RequestKind::Write, rng.below(bytes >> 6) << 6, 64),
        Pattern::Mixed => request(id, RequestKind::Read, rng.below(bytes >> 6) << 6, 64),
        Pattern::Large => request(id, RequestKind::Read, rng.below(bytes >> 12) << 12, 4096),
    }
}

/// Submits the requests to a channel, `outstanding` at a time. Returns the end of the last.
#[inline(never)]
fn measured_channel(channel: &mut Channel, requests: &[Request], outstanding: usize) -> Time {
    let (mut next, mut end) = (outstanding.min(requests.len()), Time::ZERO);
    let mut done: Vec<Completion> = Vec::with_capacity(outstanding);
    for request in &requests[..next] {
        channel.submit(end, *request);
    }
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
        let ended = done.len();
        done.clear();
        for _ in 0..ended {
            end = now;
            if let Some(request) = requests.get(next) {
                channel.submit(now, *request);
                next += 1;
            }
        }
    }
    end
}

/// Like [`measured_channel`], through several channels. The driver uses [`Memory::next_event`] or, with `far`,
/// [`Memory::next_done`].
#[inline(never)]
fn measured_memory(memory: &mut Memory, requests: &[Request], outstanding: usize, far: bool) -> Time {
    let (mut next, mut end) = (outstanding.min(requests.len()), Time::ZERO);
    let mut done: Vec<Completion> = Vec::with_capacity(outstanding);
    for request in &requests[..next] {
        memory.submit(end, *request);
    }
    while let Some(now) = if far { memory.next_done() } else { memory.next_event() } {
        if far {
            memory.come_to_done(now);
            while let Some(completion) = memory.take_done(now) {
                done.push(completion);
            }
        } else {
            memory.advance(now, &mut done);
        }
        let ended = done.len();
        done.clear();
        for _ in 0..ended {
            end = now;
            if let Some(request) = requests.get(next) {
                memory.submit(now, *request);
                next += 1;
            }
        }
    }
    end
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "expected PRESET, then random, chase, sequential, mixed, dma, pages or page, then a number of requests";
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
    let run = match pattern.as_str() {
        "chase" => Some((Pattern::Random, 1)),
        "random" => Some((Pattern::Random, 64)),
        "sequential" => Some((Pattern::Sequential, 64)),
        "mixed" => Some((Pattern::Mixed, 64)),
        "dma" | "pages" => Some((Pattern::Large, 8)),
        "page" => Some((Pattern::Large, 1)),
        _ => None,
    };
    let Some((pattern, outstanding)) = run else {
        eprintln!("found the pattern \"{pattern}\", {usage}");
        std::process::exit(2);
    };
    let mut rng = Streams::new(1).stream("bench");
    let requests: Vec<Request> = (0..requests).map(|id| next(pattern, id, config.bytes(), &mut rng)).collect();
    let end = if matches!(pattern, Pattern::Large) {
        let mut memory = Memory::interleaved(&config, 2, 256).expect("a preset works");
        measured_memory(&mut memory, &requests, outstanding, arguments[1] != "dma")
    } else {
        let mut channel = Channel::new(&config).expect("a preset works");
        measured_channel(&mut channel, &requests, outstanding)
    };
    let bytes: u64 = requests.iter().map(|request| u64::from(request.bytes)).sum();
    println!("{} requests in {end}: {:.3} GB/s", requests.len(), bytes as f64 / end.ps() as f64 * 1000.0);
}
