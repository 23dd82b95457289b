//! A loop that plays a workload on the simplest of drives.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sim::{Streams, Time};
use workload::{Ended, Error, Io, Next, Options, Player, Workload};

/// A request, when it was issued and when it completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub io: Io,
    pub issued: Time,
    pub completed: Time,
}

/// Plays to the end, and gives the requests in the order in which they were issued. A request takes `latency` of it;
/// equal completions come in the order of issue.
pub fn play(player: &mut Player, latency: impl FnMut(&Io) -> Time) -> Result<Vec<Done>, Error> {
    play_on(player, latency, false).map(|played| played.done)
}

/// What came of a workload.
#[derive(Debug)]
pub struct Played {
    /// The requests in the order in which they were issued.
    pub done: Vec<Done>,
    /// What was said of each when it completed, in that order.
    pub ended: Vec<Ended>,
    /// How many were replaced by the next of their job.
    pub replaced: usize,
}

/// As [`play`]. If it `replaces`, a request that completes alone is replaced by the next of its job, where the player can.
pub fn play_on(player: &mut Player, mut latency: impl FnMut(&Io) -> Time, replaces: bool) -> Result<Played, Error> {
    let mut now = Time::ZERO;
    let (mut done, mut ended, mut replaced): (Vec<Done>, Vec<Ended>, _) = (Vec::new(), Vec::new(), 0);
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
            (Next::Finished, None) => return Ok(Played { done, ended, replaced }),
            (next, completion) => panic!("{next:?} with {completion:?}"),
        };
        while let Some(Reverse((at, index))) = pending.peek().copied() {
            if at > now {
                break;
            }
            pending.pop();
            let id = done[index].io.id;
            let alone = pending.peek().is_none_or(|Reverse((at, _))| *at > now);
            if let Some((end, io)) = (replaces && alone).then(|| player.replace(now, id)).flatten() {
                let completed = now + latency(&io);
                pending.push(Reverse((completed, done.len())));
                done.push(Done { io, issued: now, completed });
                ended.push(end);
                replaced += 1;
            } else {
                ended.push(player.complete(now, id));
            }
            assert_eq!(player.completed() as usize, ended.len());
        }
    }
}

/// Plays a job file on a drive of `capacity` bytes that takes 100 us a request.
pub fn play_jobs(text: &str, capacity: u64) -> Vec<Done> {
    let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
    play_workload(&workload, &Options::new(capacity), 1).expect("a workload that fits the drive")
}

/// Plays a workload on a drive that takes 100 us a request.
pub fn play_workload(workload: &Workload, options: &Options, seed: u64) -> Result<Vec<Done>, Error> {
    play(&mut Player::new(workload, options, &Streams::new(seed))?, |_| Time::from_us(100))
}

/// The most requests that were ever outstanding at once.
pub fn depth(done: &[Done]) -> usize {
    let mut edges: Vec<(Time, i32)> = Vec::new();
    for d in done {
        edges.extend([(d.issued, 1), (d.completed, -1)]);
    }
    edges.sort_unstable();
    let mut outstanding = 0;
    edges.into_iter().map(|(_, step)| (outstanding += step, outstanding).1).max().unwrap_or(0) as usize
}
