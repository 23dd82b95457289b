//! The file is cut off at any instant, with writes lost, torn at sectors and in any order between flushes: the memory opens as the last
//! completed sync, rollback or drop left it, or one under way; byte for byte, with every token.

mod support;

use std::cell::RefCell;

use memory::{Memory, Plant};
use sim::Streams;
use support::histories::{Calls, DRAM, shape, verify};
use support::obvious::State;
use support::recorder::{Event, Recorder};

/// A history, its record, and from which event on each state is what a crash may lead to, to which.
struct History {
    memory: Memory<Recorder>,
    /// The state, the event when it was begun, and when the next was complete.
    states: Vec<(State, usize, usize)>,
}

fn play(seed: u64, plant: Plant) -> History {
    let image = vec![0; shape().file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, seed), shape(), DRAM, "a recorder").expect("it is made");
    memory.plant(plant);
    let made = memory.device().events.len();
    let mut calls = Calls::new(seed);
    let states = RefCell::new(vec![(State::default(), made, usize::MAX)]);
    let steps = 50 + calls.rng.below(200);
    for _ in 0..steps {
        let mut will = |memory: &Memory<Recorder>, state: &State| {
            states.borrow_mut().push((state.clone(), memory.device().events.len(), usize::MAX));
        };
        let mut did = |memory: &Memory<Recorder>, state: &State| {
            let now = memory.device().events.len();
            let mut states = states.borrow_mut();
            let (begun, ..) = states.last().expect("begun");
            if begun != state {
                // It was refused.
                states.pop();
                return;
            }
            let last = states.len() - 1;
            states[..last].iter_mut().for_each(|(_, _, until)| *until = (*until).min(now));
        };
        calls.step(&mut memory, &mut will, &mut did).unwrap_or_else(|error| panic!("{error}"));
    }
    History { memory, states: states.into_inner() }
}

/// Opens what a crash at event `at` left. What is wrong with it.
fn crash(history: &History, at: usize, seed: u64, plant: Plant) -> Result<(), String> {
    let mut rng = Streams::new(seed ^ (at as u64) << 32).stream("test.crash");
    let image = history.memory.device().crashed(at, &mut rng);
    let recorder = Recorder::new(image, seed);
    let opened = Memory::open_planted(recorder, shape(), DRAM, "what is left", plant);
    let mut memory = opened.map_err(|error| error.to_string())?;
    let possible: Vec<&State> = history
        .states
        .iter()
        .filter(|(_, from, until)| (*from..*until).contains(&at))
        .map(|(state, ..)| state)
        .collect();
    let tokens = memory.tokens().map_err(|error| error.to_string())?;
    let mut wrong = format!("none of {} states has tokens {tokens:?}", possible.len());
    for state in possible.into_iter().filter(|state| state.tokens() == tokens) {
        match verify(&mut memory, state) {
            Ok(()) => return Ok(()),
            Err(error) => wrong = error,
        }
    }
    Err(wrong)
}

/// Crashes at `count` instants of a history. What is wrong with one.
fn history(seed: u64, count: usize, plant: Plant) -> Result<(), String> {
    let history = play(seed, plant);
    let (first, last) = (history.states[0].1, history.memory.device().events.len());
    let mut rng = Streams::new(seed).stream("test.instants");
    for n in 0..count.min(last - first + 1) {
        // All, if so many are asked for; else any, the end among them.
        let at = match count > last - first {
            true => first + n,
            false if n == 0 => last,
            // Half of them in the middle of what a flush is about to make durable.
            false => {
                let any = first + rng.below((last - first + 1) as u64) as usize;
                let flushed = |at: &usize| matches!(history.memory.device().events[*at], Event::Flushed { .. });
                if n % 2 == 0 { any } else { (any..last).find(flushed).unwrap_or(any) }
            }
        };
        crash(&history, at, seed, plant).map_err(|error| format!("crash at event {at} of {last}: {error}"))?;
    }
    Ok(())
}

#[test]
fn a_crash_leads_back_to_the_last_completed_sync() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 300));
    for seed in first..first + count {
        let instants = if seed % 50 == 0 { usize::MAX } else { 8 };
        if let Err(error) = history(seed, instants, Plant::Nothing) {
            panic!("history {seed}: {error} (run it alone: HISTORY={seed} HISTORIES=1)");
        }
    }
}

/// The same histories, with a bug planted: they must find it, or they prove nothing.
#[test]
fn planted_bugs_are_caught() {
    for plant in [Plant::FlushSkipped, Plant::SumUnchecked] {
        let fails = |seed: &u64| {
            let failed = std::panic::catch_unwind(|| history(*seed, 8, plant));
            !matches!(failed, Ok(Ok(())))
        };
        let caught = (0..1000).find(fails);
        eprintln!("{plant:?} is caught by history {caught:?}");
        assert!(caught.is_some(), "{plant:?} went unnoticed");
    }
}
