//! Measures the player's cost per request under callgrind:
//!
//! ```text
//! cargo build --release -p workload --example player_cost
//! valgrind --tool=callgrind --toggle-collect='*turn*' target/release/examples/player_cost [JOBFILE] [REQUESTS]
//! ```
//!
//! JOBFILE `-` stands for 4 KiB random reads, 32 outstanding. The collected instructions, divided by the number of
//! requests, are those of one `complete`, the `next` that issues a request, and the `next` that has nothing more to
//! issue, plus about 25 for the enclosing function. The drive completes requests in order, 1 us apart.

use std::collections::VecDeque;
use std::hint::black_box;
use std::path::Path;

use sim::{Streams, Time};
use workload::{Next, Options, Player, Workload};

const RANDOM_READ: &str = "[randread]\nrw=randread\nbs=4k\niodepth=32\ntime_based\nruntime=1h\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let workload = match arguments.next() {
        Some(file) if file != "-" => Workload::open(Path::new(&file), None)?,
        _ => Workload::parse_fio("randread", RANDOM_READ)?,
    };
    let requests: u64 = arguments.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let mut player = Player::new(&workload, &Options::new(1 << 40), &Streams::new(1))?;
    let mut outstanding = VecDeque::with_capacity(1 << 10);
    let mut now = Time::ZERO;
    while let Next::Issue(io) = player.next(now)? {
        outstanding.push_back(io.id);
    }
    let mut sum = 0;
    for _ in 0..requests {
        now += Time::from_us(1);
        let Some(id) = outstanding.pop_front() else { break };
        if let Some((id, offset)) = turn(&mut player, now, id) {
            outstanding.push_back(id);
            sum ^= offset;
        }
    }
    println!("{requests} requests, checksum {:x}", black_box(sum));
    Ok(())
}

/// Completes one request and issues the next. Never inlined, so that callgrind can toggle collection at it.
#[inline(never)]
fn turn(player: &mut Player, now: Time, id: u32) -> Option<(u32, u64)> {
    player.complete(now, id);
    let mut issued = None;
    while let Ok(Next::Issue(io)) = player.next(now) {
        issued = Some((io.id, io.request.offset));
    }
    issued
}
