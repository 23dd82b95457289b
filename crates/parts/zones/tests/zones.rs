//! Examples of a zone's life, choices of the controller, and configurations that cannot work.

use zones::{Action, Config, ConfigError, Refusal, Written, ZoneState, Zones};

/// Four zones of 16 blocks, of which 10 can be written; two may be open and three active.
const CONFIG: Config =
    Config { zones: 4, size: 16, capacity: 10, open_max: Some(2), active_max: Some(3), append_max: Some(8) };

fn zones() -> Zones {
    Zones::new(CONFIG).expect("a valid configuration")
}

#[test]
fn a_zone_is_written_in_order_up_to_its_capacity() {
    let mut zones = zones();
    assert_eq!(zones.write(17, 1), Err(Refusal::InvalidWrite));
    assert_eq!(zones.write(16, 4), Ok(Written { zone: 1, block: 16, full: false, others: Action::Nothing }));
    assert_eq!(zones.state(1), ZoneState::ImplicitlyOpen);
    assert_eq!(zones.append(16, 5).map(|written| written.block), Ok(20));
    assert_eq!(zones.write(25, 2), Err(Refusal::Boundary), "the capacity ends before the zone");
    assert_eq!(zones.write(25, 1).map(|written| written.full), Ok(true));
    assert_eq!((zones.state(1), zones.describe(1).write_pointer), (ZoneState::Full, None));
    assert_eq!((zones.open_count(), zones.active_count()), (0, 0));
    assert_eq!((zones.write(26, 1), zones.append(16, 1)), (Err(Refusal::Full), Err(Refusal::Full)));
    assert_eq!(zones.reset(1), Ok(10));
    assert_eq!(zones.describe(1).write_pointer, Some(16));
}

#[test]
fn the_zone_written_longest_ago_is_closed_to_open_another() {
    let mut zones = zones();
    for block in [0, 16, 1] {
        zones.write(block, 1).expect("a write at the pointer");
    }
    assert_eq!(zones.write(32, 1).map(|written| written.others), Ok(Action::Closed(1)));
    assert_eq!(
        [0, 1, 2].map(|zone| zones.state(zone)),
        [ZoneState::ImplicitlyOpen, ZoneState::Closed, ZoneState::ImplicitlyOpen]
    );
    assert_eq!(zones.write(48, 1), Err(Refusal::TooManyActive), "closed zones are active");
    zones.finish(1).expect("a closed zone can be finished");
    assert_eq!(zones.open(3), Ok(Action::Closed(0)));
    assert_eq!(zones.open(2), Ok(Action::Nothing), "it is open already");
    assert_eq!(zones.write(2, 1), Err(Refusal::TooManyOpen), "explicitly open zones stay open");
}

#[test]
fn appends_name_the_start_of_a_zone_and_are_limited() {
    let mut zones = zones();
    assert_eq!(zones.append(1, 1), Err(Refusal::InvalidField));
    assert_eq!(zones.append(0, 9), Err(Refusal::InvalidField));
    assert_eq!(zones.append(64, 1), Err(Refusal::OutOfRange));
    assert_eq!(zones.append(u64::MAX, 2), Err(Refusal::OutOfRange), "the end overflows");
}

#[test]
fn power_cuts_close_open_zones_and_recovery_moves_pointers_back() {
    let mut zones = zones();
    zones.write(0, 6).expect("a write at the pointer");
    zones.open(1).expect("an empty zone can be opened");
    zones.restart();
    assert_eq!([0, 1].map(|zone| zones.state(zone)), [ZoneState::Closed, ZoneState::Empty]);
    zones.recover(0, 4);
    assert_eq!((zones.state(0), zones.describe(0).write_pointer), (ZoneState::Closed, Some(4)));
    zones.recover(0, 0);
    assert_eq!((zones.state(0), zones.active_count()), (ZoneState::Empty, 0));
}

#[test]
fn unusable_zones_end_offline() {
    let mut zones = zones();
    zones.write(0, 6).expect("a write at the pointer");
    assert_eq!(zones.offline(0), Err(Refusal::InvalidTransition));
    zones.lose_writes(0);
    assert_eq!((zones.read(0, 1), zones.write(6, 1)), (Ok(()), Err(Refusal::ReadOnly)));
    assert_eq!((zones.reset(0), zones.finish(0)), (Err(Refusal::InvalidTransition), Err(Refusal::InvalidTransition)));
    zones.offline(0).expect("a read-only zone can be taken offline");
    zones.lose_writes(0);
    assert_eq!((zones.state(0), zones.read(15, 2)), (ZoneState::Offline, Err(Refusal::Offline)));
    assert_eq!(zones.read(16, 1), Ok(()));
}

#[test]
fn codes_are_those_of_the_specification() {
    let states = ZoneState::ALL.map(ZoneState::code);
    assert_eq!(states, [0x1, 0x2, 0x3, 0x4, 0xe, 0xd, 0xf]);
    assert_eq!((Refusal::Boundary.code(), Refusal::InvalidTransition.code()), ((1, 0xb8), (1, 0xbf)));
}

#[test]
fn configurations_that_cannot_work_are_explained() {
    let cases = [
        (Config { zones: 0, ..CONFIG }, "zones: found 0, expected at least 1"),
        (Config { capacity: 0, ..CONFIG }, "capacity: found 0 blocks, expected 1 to the zone's size of 16"),
        (Config { capacity: 17, ..CONFIG }, "capacity: found 17 blocks, expected 1 to the zone's size of 16"),
        (
            Config { size: u64::MAX, ..CONFIG },
            "zones of 18446744073709551615 blocks: found 4, expected an end below 2^64",
        ),
        (Config { open_max: Some(0), ..CONFIG }, "open zones: found 0, expected at least 1, or no limit"),
        (Config { append_max: Some(0), ..CONFIG }, "append: found 0, expected at least 1, or no limit"),
        (
            Config { active_max: Some(1), ..CONFIG },
            "active zones: found at most 1, expected at least the 2 that may be open",
        ),
    ];
    for (config, expected) in cases {
        assert_eq!(Zones::new(config).map_err(|error: ConfigError| error.to_string()).err().as_deref(), Some(expected));
    }
}
