//! The zones match the rules of the specification: in every state that small namespaces can reach, under every command,
//! and in random histories of larger ones.

mod support;

use std::collections::HashSet;

use proptest::prelude::*;
use support::rules::{Namespace, Permitted, ZoneCommand, permitted};
use zones::{Action, Config, Filter, Refusal, ZoneState, Zones};

fn namespace(zones: &Zones) -> Namespace {
    (0..zones.config().zones).map(|zone| (zones.state(zone), zones.written(zone))).collect()
}

/// Performs `command`. Returns the block at which data was written, if any.
fn perform(zones: &mut Zones, command: ZoneCommand) -> Result<Option<u64>, Refusal> {
    let before = namespace(zones);
    let mut closed = Action::Nothing;
    let result = match command {
        ZoneCommand::Read(block, count) => zones.read(block, count).map(|()| None),
        ZoneCommand::Write(block, count) | ZoneCommand::Append(block, count) => {
            let write = if matches!(command, ZoneCommand::Write(..)) { Zones::write } else { Zones::append };
            write(zones, block, count).map(|written| {
                closed = written.others;
                assert_eq!(zones.zone_of(written.block), Some(written.zone));
                assert_eq!(written.full, zones.state(written.zone) == ZoneState::Full);
                Some(written.block)
            })
        }
        ZoneCommand::Open(zone) => zones.open(zone).map(|others| {
            closed = others;
            None
        }),
        ZoneCommand::Close(zone) => zones.close(zone).map(|()| None),
        ZoneCommand::Finish(zone) => zones.finish(zone).map(|left| {
            let (state, written) = before[zone as usize];
            assert_eq!(left, if state == ZoneState::Full { 0 } else { zones.config().capacity - written });
            None
        }),
        ZoneCommand::Reset(zone) => zones.reset(zone).map(|written| {
            assert_eq!(written, before[zone as usize].1);
            None
        }),
        ZoneCommand::TakeOffline(zone) => zones.offline(zone).map(|()| None),
        ZoneCommand::OpenAll => zones.open_all().map(|()| None),
        other => {
            match other {
                ZoneCommand::CloseAll => zones.close_all(),
                ZoneCommand::FinishAll => zones.finish_all(),
                ZoneCommand::ResetAll => zones.reset_all(),
                ZoneCommand::OfflineAll => zones.offline_all(),
                ZoneCommand::LoseWrites(zone) => zones.lose_writes(zone),
                ZoneCommand::Lose(zone) => zones.lose(zone),
                _ => zones.restart(),
            }
            Ok(None)
        }
    };
    if let Action::Closed(zone) = closed {
        assert_eq!((before[zone as usize].0, zones.state(zone)), (ZoneState::ImplicitlyOpen, ZoneState::Closed));
    }
    result
}

/// Performs `command` and checks that the rules permit what it did.
fn check(zones: &mut Zones, command: ZoneCommand) {
    let (config, before) = (*zones.config(), namespace(zones));
    let found: Permitted = (perform(zones, command), namespace(zones));
    let allowed = permitted(&config, &before, command);
    assert!(allowed.contains(&found), "{command:?} of {before:?} with {config:?}: {found:?}, permitted {allowed:?}");
    let count = |counts: fn(ZoneState) -> bool| found.1.iter().filter(|(state, _)| counts(*state)).count() as u32;
    assert_eq!(zones.open_count(), count(ZoneState::is_open));
    assert_eq!(zones.active_count(), count(ZoneState::is_active));
}

/// Checks that the report of each state lists the zones in it.
fn check_report(zones: &Zones) {
    let all = namespace(zones);
    for state in ZoneState::ALL {
        let expected = all.iter().enumerate().filter(|(_, zone)| zone.0 == state).map(|(number, (_, written))| {
            let start = number as u64 * zones.config().size;
            let has_pointer = !matches!(state, ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline);
            (start, zones.config().capacity, has_pointer.then_some(start + written))
        });
        let found = zones.report(0, Filter::State(state)).map(|d| (d.start, d.capacity, d.write_pointer));
        assert!(found.eq(expected), "{state:?} of {all:?}");
    }
    assert_eq!(zones.report(1, Filter::All).count(), all.len() - 1);
}

/// Returns every command on a namespace of `config`, with sizes up to one more than the capacity of a zone.
fn commands(config: &Config) -> Vec<ZoneCommand> {
    let mut all = vec![
        ZoneCommand::OpenAll,
        ZoneCommand::CloseAll,
        ZoneCommand::FinishAll,
        ZoneCommand::ResetAll,
        ZoneCommand::OfflineAll,
        ZoneCommand::Restart,
    ];
    for block in 0..=config.blocks() {
        for count in 1..=config.capacity + 1 {
            all.extend([
                ZoneCommand::Read(block, count),
                ZoneCommand::Write(block, count),
                ZoneCommand::Append(block, count),
            ]);
        }
    }
    for zone in 0..config.zones {
        all.extend([
            ZoneCommand::Open(zone),
            ZoneCommand::Close(zone),
            ZoneCommand::Finish(zone),
            ZoneCommand::Reset(zone),
        ]);
        all.extend([ZoneCommand::TakeOffline(zone), ZoneCommand::LoseWrites(zone), ZoneCommand::Lose(zone)]);
    }
    all
}

/// Checks every command in every state that the zones can reach. Returns the number of states.
fn explore(config: Config) -> usize {
    let commands = commands(&config);
    let first = Zones::new(config).expect("a valid configuration");
    let mut seen = HashSet::from([first.clone()]);
    let mut pending = vec![first];
    while let Some(zones) = pending.pop() {
        check_report(&zones);
        for command in &commands {
            let mut next = zones.clone();
            check(&mut next, *command);
            if seen.insert(next.clone()) {
                pending.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn every_command_in_every_state_of_small_namespaces_obeys_the_rules() {
    let (mut configurations, mut states) = (0, 0);
    for zones in 1..=3 {
        let limits = || std::iter::once(None).chain((1..=zones).map(Some));
        for (open_max, active_max) in limits().flat_map(|open| limits().map(move |active| (open, active))) {
            // Three zones of a capacity below their size, and fewer of other shapes.
            for (size, capacity) in [(3, 2), (1, 1), (2, 2)].into_iter().take(if zones < 3 { 3 } else { 1 }) {
                let append_max = (capacity > 1).then_some(1);
                let config = Config { zones, size, capacity, open_max, active_max, append_max };
                if config.check().is_ok() {
                    configurations += 1;
                    states += explore(config);
                }
            }
        }
    }
    println!("{states} states of {configurations} configurations");
    assert!(configurations >= 49 && states > 45_000, "{states} states of {configurations} configurations");
}

fn config() -> impl Strategy<Value = Config> {
    let shape = (2u32..12, 1u64..20, 0u64..5, prop::option::of(1u64..8));
    (shape, prop::option::of(1u32..6), prop::option::of(0u32..4)).prop_map(
        |((zones, capacity, gap, append_max), open_max, more)| {
            let active_max = more.map(|more| open_max.unwrap_or(1) + more);
            Config { zones, size: capacity + gap, capacity, open_max, active_max, append_max }
        },
    )
}

/// Turns random numbers into a command that often fits the state of the zones.
fn draw(zones: &Zones, (what, zone, at, count): (u8, u32, u64, u64)) -> ZoneCommand {
    let config = zones.config();
    let zone = zone % config.zones;
    let (start, count) = (zones.start(zone), 1 + count % (config.capacity + 1));
    match what {
        0..=39 => ZoneCommand::Write(start + zones.written(zone), count),
        40..=47 => ZoneCommand::Write(at % config.blocks(), count),
        48..=67 => ZoneCommand::Append(start, count),
        68..=71 => ZoneCommand::Append(at % config.blocks(), count),
        72..=75 => ZoneCommand::Read(at % config.blocks(), count),
        76..=81 => ZoneCommand::Open(zone),
        82..=85 => ZoneCommand::Close(zone),
        86..=89 => ZoneCommand::Finish(zone),
        90..=93 => ZoneCommand::Reset(zone),
        94 => [ZoneCommand::OpenAll, ZoneCommand::CloseAll, ZoneCommand::FinishAll][at as usize % 3],
        95 => [ZoneCommand::ResetAll, ZoneCommand::OfflineAll][at as usize % 2],
        96 => ZoneCommand::LoseWrites(zone),
        97 => [ZoneCommand::Lose(zone), ZoneCommand::TakeOffline(zone)][at as usize % 2],
        _ => ZoneCommand::Restart,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_histories_obey_the_rules(
        config in config(),
        draws in prop::collection::vec((0u8..100, any::<u32>(), any::<u64>(), any::<u64>()), 1..200),
    ) {
        let mut zones = Zones::new(config).expect("a valid configuration");
        for numbers in draws {
            let command = draw(&zones, numbers);
            check(&mut zones, command);
        }
        check_report(&zones);
    }
}
