//! Each policy compared with a straightforward second implementation on many small random traces, under audit.

mod common;

use std::collections::VecDeque;

use common::audit;
use common::obvious::{figure_5, lru, min};
use pager::policy::{Arc, Clock, Comparison, Fifo, Lru, Min, PmXip, Reading, S3Fifo, TwoQ, Window};
use pager::{Counts, future};
use sim::{Rng, Streams};

/// Generates a trace of up to `longest` requests over 2 to 9 pages, with occasional runs.
fn trace(rng: &mut Rng, longest: u64) -> (u32, Vec<u32>) {
    let pages = 2 + rng.below(8) as u32;
    let again = rng.unit() * 0.6;
    let mut trace: Vec<u32> = Vec::new();
    for _ in 0..1 + rng.below(longest) {
        match trace.last() {
            Some(&last) if rng.chance(again) => trace.push(last),
            _ => trace.push(rng.below(u64::from(pages)) as u32),
        }
    }
    (pages, trace)
}

fn fifo(trace: &[u32], frames: usize) -> u64 {
    let (mut queue, mut misses) = (Vec::new(), 0);
    for &page in trace {
        if !queue.contains(&page) {
            misses += 1;
            if queue.len() == frames {
                queue.remove(0);
            }
            queue.push(page);
        }
    }
    misses
}

/// CLOCK as a queue with a second chance: the same policy without a hand.
fn second_chance(trace: &[u32], frames: usize) -> u64 {
    let (mut queue, mut misses) = (VecDeque::new(), 0);
    for &page in trace {
        if let Some((_, used)) = queue.iter_mut().find(|(other, _)| *other == page) {
            *used = true;
            continue;
        }
        misses += 1;
        if queue.len() == frames {
            while let Some((victim, used)) = queue.pop_front()
                && used
            {
                queue.push_back((victim, false));
            }
        }
        queue.push_back((page, false));
    }
    misses
}

/// 2Q as in the figure of its paper; lists start at the front.
fn two_q(trace: &[u32], frames: usize) -> u64 {
    let (kin, kout) = ((frames / 4).max(1), (frames / 2).max(1));
    let (mut a1in, mut a1out, mut am, mut misses) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for &page in trace {
        if am.contains(&page) {
            am.retain(|&other| other != page);
            am.insert(0, page);
        } else if !a1in.contains(&page) {
            misses += 1;
            let known = a1out.contains(&page);
            a1out.retain(|&other| other != page);
            if a1in.len() + am.len() == frames {
                if a1in.len() > kin || am.is_empty() {
                    a1out.insert(0, a1in.pop().unwrap());
                    a1out.truncate(kout);
                } else {
                    am.pop();
                }
            }
            if known { am.insert(0, page) } else { a1in.insert(0, page) }
        }
    }
    misses
}

/// ARC as in Figure 4 of its paper, case by case; lists start with the most recent page.
fn arc(trace: &[u32], c: usize) -> u64 {
    let (mut t1, mut t2, mut b1, mut b2) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut p, mut misses) = (0.0f64, 0);
    for &x in trace {
        let replace = |p: f64, t1: &mut Vec<u32>, t2: &mut Vec<u32>, b1: &mut Vec<u32>, b2: &mut Vec<u32>| {
            let long = t1.len() as f64;
            if !t1.is_empty() && (long > p || (b2.contains(&x) && long == p)) {
                b1.insert(0, t1.pop().unwrap());
            } else {
                b2.insert(0, t2.pop().unwrap());
            }
        };
        if t1.contains(&x) || t2.contains(&x) {
            t1.retain(|&other| other != x);
            t2.retain(|&other| other != x);
            t2.insert(0, x);
            continue;
        }
        misses += 1;
        if b1.contains(&x) {
            p = (p + (b2.len() as f64 / b1.len() as f64).max(1.0)).min(c as f64);
            replace(p, &mut t1, &mut t2, &mut b1, &mut b2);
            b1.retain(|&other| other != x);
            t2.insert(0, x);
        } else if b2.contains(&x) {
            p = (p - (b1.len() as f64 / b2.len() as f64).max(1.0)).max(0.0);
            replace(p, &mut t1, &mut t2, &mut b1, &mut b2);
            b2.retain(|&other| other != x);
            t2.insert(0, x);
        } else {
            if t1.len() + b1.len() == c {
                if t1.len() < c {
                    b1.pop();
                    replace(p, &mut t1, &mut t2, &mut b1, &mut b2);
                } else {
                    t1.pop();
                }
            } else {
                let all = t1.len() + t2.len() + b1.len() + b2.len();
                if all >= c {
                    if all == 2 * c {
                        b2.pop();
                    }
                    replace(p, &mut t1, &mut t2, &mut b1, &mut b2);
                }
            }
            t1.insert(0, x);
        }
    }
    misses
}

/// S3-FIFO as in Algorithm 1 of its paper; queues start at the head, and entries are pages with their use counts.
fn s3_fifo(trace: &[u32], frames: usize) -> u64 {
    let small = (frames / 10).max(1);
    let large = (frames - small).max(1);
    let (mut s, mut m, mut g) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
    let mut misses = 0;
    fn evict_m(m: &mut VecDeque<(u32, u8)>) {
        while let Some((page, uses)) = m.pop_back() {
            if uses == 0 {
                break;
            }
            m.push_front((page, uses - 1));
        }
    }
    for &page in trace {
        if let Some(entry) = s.iter_mut().chain(&mut m).find(|entry: &&mut (u32, u8)| entry.0 == page) {
            entry.1 = (entry.1 + 1).min(3);
            continue;
        }
        misses += 1;
        let ghost = g.contains(&page);
        g.retain(|&other| other != page);
        while s.len() + m.len() == frames {
            if s.len() < small {
                evict_m(&mut m);
                continue;
            }
            while let Some((tail, uses)) = s.pop_back() {
                if uses > 1 {
                    m.push_front((tail, 0));
                    if m.len() > large {
                        evict_m(&mut m);
                        break;
                    }
                } else {
                    g.push_front(tail);
                    g.truncate(large);
                    break;
                }
            }
        }
        if ghost { m.push_front((page, 0)) } else { s.push_front((page, 0)) }
    }
    misses
}

#[test]
fn lru_and_min_match_straightforward_implementations() {
    let mut rng = Streams::new(11).stream("traces");
    for _ in 0..100_000 {
        let (pages, trace) = trace(&mut rng, 40);
        let frames = 1 + rng.below(5) as u32;
        let held = frames as usize;
        let conventional = |misses| Counts::conventional(trace.len() as u64, misses);
        let what = || format!("{frames} frames, {trace:?}");
        assert_eq!(audit(Lru::new(frames), pages, &trace, frames, 1), conventional(lru(&trace, held)), "{}", what());
        let foreseen = future::foresee(pages, &trace);
        assert_eq!(audit(Min::new(frames), pages, &foreseen, frames, 1), conventional(min(&trace, held)), "{}", what());
    }
}

#[test]
fn other_baselines_match_straightforward_implementations() {
    let mut rng = Streams::new(12).stream("traces");
    for _ in 0..100_000 {
        let (pages, trace) = trace(&mut rng, 60);
        let frames = 1 + rng.below(6) as u32;
        let held = frames as usize;
        let conventional = |misses| Counts::conventional(trace.len() as u64, misses);
        let what = || format!("{frames} frames, {trace:?}");
        let f = frames;
        assert_eq!(audit(Fifo::new(f), pages, &trace, f, 1), conventional(fifo(&trace, held)), "{}", what());
        assert_eq!(audit(Clock::new(f), pages, &trace, f, 1), conventional(second_chance(&trace, held)), "{}", what());
        assert_eq!(audit(TwoQ::new(f), pages, &trace, f, 1), conventional(two_q(&trace, held)), "{}", what());
        assert_eq!(audit(Arc::new(f), pages, &trace, f, 1), conventional(arc(&trace, held)), "{}", what());
        assert_eq!(audit(S3Fifo::new(f), pages, &trace, f, 1), conventional(s3_fifo(&trace, held)), "{}", what());
    }
}

#[test]
fn pm_xip_matches_figure_5_under_all_interpretations() {
    let mut rng = Streams::new(13).stream("traces");
    let mut differ = 0;
    for _ in 0..100_000 {
        let (pages, trace) = trace(&mut rng, 30);
        let frames = 1 + rng.below(4) as u32;
        let buffers = 1 + rng.below(3) as u32;
        let window = 1 + rng.below(10) as u32;
        let threshold = rng.below(u64::from(window) / 2 + 2) as u32;
        let mut first = None;
        for reading in Reading::all() {
            let policy = PmXip::new(frames, buffers, window, threshold, reading);
            let counts = audit(policy, pages, &trace, frames, buffers);
            let literal =
                figure_5(&trace, frames as usize, buffers as usize, window as usize, threshold as usize, reading);
            assert_eq!(
                counts, literal,
                "{frames} frames, {buffers} buffers, PM-XIP({window},{threshold}), {reading:?}, {trace:?}"
            );
            differ += u32::from(*first.get_or_insert(counts) != counts);
        }
    }
    assert!(differ > 10_000, "found {differ} differences between interpretations, expected more than 10000");
}

#[test]
fn pm_xip_with_threshold_0_is_lru_if_the_window_contains_the_current_request_or_the_threshold_suffices() {
    let mut rng = Streams::new(14).stream("traces");
    for _ in 0..5_000 {
        let (pages, trace) = trace(&mut rng, 60);
        let frames = 1 + rng.below(5) as u32;
        let window = 1 + rng.below(20) as u32;
        for reading in [
            Reading { window: Window::WithCurrent, ..Reading::FIGURE_5 },
            Reading { comparison: Comparison::AtLeast, ..Reading::FIGURE_5 },
        ] {
            let counts = audit(PmXip::new(frames, 2, window, 0, reading), pages, &trace, frames, 2);
            assert_eq!(counts, audit(Lru::new(frames), pages, &trace, frames, 1), "{reading:?}");
        }
    }
}
