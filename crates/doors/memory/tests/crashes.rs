//! Cuts off the file at arbitrary instants, with writes lost, torn at sectors and reordered between flushes. The memory
//! must open in the state of the last completed sync, rollback or drop, or of one in progress: byte for byte, with
//! every token.

mod support;

use std::cell::RefCell;

use memory::{Error, InjectedFault, Memory, Shape};
use sim::Streams;
use support::histories::{Calls, DRAM, shape, verify};
use support::model::Contents;
use support::recorder::{Event, Recorder};

/// A history with its recorded events, and the event ranges in which a crash may lead to each state.
struct History {
    memory: Memory<Recorder>,
    /// Each state, with the event at which it was begun and the one at which the next state was complete.
    states: Vec<(Contents, usize, usize)>,
    /// The events during which versions were merged.
    merging: Vec<std::ops::Range<usize>>,
    shape: Shape,
}

fn play(seed: u64, shape: Shape, injected: InjectedFault) -> History {
    let image = vec![0; shape.file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, seed), shape, DRAM, "a recorder").expect("created");
    memory.inject_fault(injected);
    let made = memory.device().events.len();
    let mut calls = Calls::new(seed);
    let states = RefCell::new(vec![(Contents::default(), made, usize::MAX)]);
    let steps = 50 + calls.rng.below(200);
    let mut merging = Vec::new();
    for _ in 0..steps {
        let before = (memory.device().events.len(), memory.stats().controller.gathered);
        let mut will = |memory: &Memory<Recorder>, state: &Contents| {
            states.borrow_mut().push((state.clone(), memory.device().events.len(), usize::MAX));
        };
        let mut did = |memory: &Memory<Recorder>, state: &Contents| {
            let now = memory.device().events.len();
            let mut states = states.borrow_mut();
            let (begun, ..) = states.last().expect("begun");
            if begun != state {
                // The call was refused.
                states.pop();
                return;
            }
            let last = states.len() - 1;
            states[..last].iter_mut().for_each(|(_, _, until)| *until = (*until).min(now));
        };
        match calls.step(&mut memory, &mut will, &mut did) {
            Ok(()) => {}
            // With few version entries, a history may end early.
            Err(Error::Full(_)) if shape.versions < 100 => break,
            Err(error) => panic!("{error}"),
        }
        if memory.stats().controller.gathered > before.1 {
            merging.push(before.0..memory.device().events.len());
        }
    }
    History { memory, states: states.into_inner(), merging, shape }
}

/// Opens the memory left by a crash at event `at`, and checks that it is in a possible state.
fn crash(history: &History, at: usize, seed: u64, injected: InjectedFault) -> Result<(), String> {
    let mut rng = Streams::new(seed ^ (at as u64) << 32).stream("test.crash");
    let image = history.memory.device().crashed(at, &mut rng);
    let recorder = Recorder::new(image, seed);
    let opened = Memory::open_with_fault(recorder, history.shape, DRAM, "after a crash", injected);
    let mut memory = opened.map_err(|error| error.to_string())?;
    let possible: Vec<&Contents> = history
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

/// Crashes at `count` instants of a history.
fn history(seed: u64, count: usize, injected: InjectedFault) -> Result<(), String> {
    let history = play(seed, shape(), injected);
    let (first, last) = (history.states[0].1, history.memory.device().events.len());
    let mut rng = Streams::new(seed).stream("test.instants");
    for n in 0..count.min(last - first + 1) {
        // Use all instants if `count` suffices; otherwise random ones and the end.
        let at = match count > last - first {
            true => first + n,
            false if n == 0 => last,
            // Place half of the crashes just before a flush completes.
            false => {
                let any = first + rng.below((last - first + 1) as u64) as usize;
                let flushed = |at: &usize| matches!(history.memory.device().events[*at], Event::Flushed { .. });
                if n % 2 == 0 { any } else { (any..last).find(flushed).unwrap_or(any) }
            }
        };
        crash(&history, at, seed, injected).map_err(|error| format!("crash at event {at} of {last}: {error}"))?;
    }
    Ok(())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn a_crash_leads_back_to_the_last_completed_sync() {
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 300));
    for seed in first..first + count {
        let instants = if seed % 50 == 0 { usize::MAX } else { 8 };
        if let Err(error) = history(seed, instants, InjectedFault::None) {
            panic!("history {seed}: {error} (run it alone: HISTORY={seed} HISTORIES=1)");
        }
    }
}

/// With so few version entries that syncs and evictions merge versions, and crashes meanwhile.
#[test]
fn a_crash_while_versions_are_merged_leads_back_too() {
    let few = Shape { versions: 90, ..shape() };
    let mut crashes = 0;
    for seed in 0..400 {
        let history = play(seed, few, InjectedFault::None);
        let mut rng = Streams::new(seed).stream("test.merging");
        for events in &history.merging {
            let at = events.start + rng.below(events.len() as u64 + 1) as usize;
            crash(&history, at, seed, InjectedFault::None)
                .unwrap_or_else(|error| panic!("history {seed}: crash at event {at}: {error}"));
            crashes += 1;
        }
    }
    assert!(crashes > 60, "{crashes} crashes");
}

/// The same histories must fail with an injected fault; otherwise they prove nothing.
#[test]
fn injected_faults_are_caught() {
    for injected in [InjectedFault::FlushSkipped, InjectedFault::ChecksumIgnored] {
        let fails = |seed: &u64| {
            let failed = std::panic::catch_unwind(|| history(*seed, 8, injected));
            !matches!(failed, Ok(Ok(())))
        };
        let caught = (0..1000).find(fails);
        eprintln!("{injected:?} is caught by history {caught:?}");
        assert!(caught.is_some(), "{injected:?} went unnoticed");
    }
}
