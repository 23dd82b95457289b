//! Event loop that plays a workload on a minimal drive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sim::{Streams, Time};
use workload::{Error, Io, Next, Options, Player, Workload};

/// A request with its issue and completion times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub io: Io,
    pub issued: Time,
    pub completed: Time,
}

/// Plays to the end and returns the requests in the order of their issue. A request takes `latency`; simultaneous
/// completions are in the order of issue.
pub fn play(player: &mut Player, mut latency: impl FnMut(&Io) -> Time) -> Result<Vec<Done>, Error> {
    let mut now = Time::ZERO;
    let (mut done, mut ended): (Vec<Done>, u64) = (Vec::new(), 0);
    let mut pending = BinaryHeap::new();
    loop {
        let next = player.next(now)?;
        if let Next::Issue(io) = next {
            let completed = now + latency(&io);
            pending.push(Reverse((completed, done.len())));
            done.push(Done { io, issued: now, completed });
            assert_eq!(player.outstanding() as usize, pending.len());
            continue;
        }
        let completion = pending.peek().map(|Reverse((at, _))| *at);
        now = match (next, completion) {
            (Next::At(at), Some(first)) if first <= at => first,
            (Next::At(at), _) => {
                assert!(at > now, "{at} is not after {now}");
                at
            }
            (Next::Blocked, Some(first)) => first,
            (Next::Finished, None) => return Ok(done),
            (next, completion) => panic!("{next:?} with {completion:?}"),
        };
        while let Some(Reverse((at, index))) = pending.peek().copied() {
            if at > now {
                break;
            }
            pending.pop();
            let id = done[index].io.id;
            player.complete(now, id);
            ended += 1;
            assert_eq!(player.completed(), ended);
        }
    }
}

/// Plays a job file on a drive of `capacity` bytes that takes 100 us per request.
pub fn play_jobs(text: &str, capacity: u64) -> Vec<Done> {
    let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
    play_workload(&workload, &Options::new(capacity), 1).expect("a workload that fits the drive")
}

/// Plays a workload on a drive that takes 100 us per request.
pub fn play_workload(workload: &Workload, options: &Options, seed: u64) -> Result<Vec<Done>, Error> {
    play(&mut Player::new(workload, options, &Streams::new(seed))?, |_| Time::from_us(100))
}

/// Returns the maximum number of outstanding requests.
pub fn depth(done: &[Done]) -> usize {
    let mut edges: Vec<(Time, i32)> = Vec::new();
    for d in done {
        edges.extend([(d.issued, 1), (d.completed, -1)]);
    }
    edges.sort_unstable();
    let mut outstanding = 0;
    edges.into_iter().map(|(_, step)| (outstanding += step, outstanding).1).max().unwrap_or(0) as usize
}
