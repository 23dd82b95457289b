//! Numbers beyond a zoned drive: each call panics or fails, in release builds too.

use media::{Actions, Geometry, Op, OpId, Request, Status, Tag};
use sim::Time;
use testkit::flash::SimpleFlash;
use testkit::refused;
use zones::ftl::{ZonedFtl, ZonedFtlConfig};
use zones::section::Times;
use zones::{Config, Filter, Zones};

fn zones() -> Zones {
    let config =
        Config { zones: 4, size: 16, capacity: 10, open_max: Some(2), active_max: Some(3), append_max: Some(8) };
    Zones::new(config).expect("a valid configuration")
}

#[test]
fn zones_refuse_numbers() {
    refused!(zones = zones();
        zones.state(4),
        zones.written(4),
        zones.start(4),
        zones.describe(4),
        zones.open(4),
        zones.close(4),
        zones.finish(4),
        zones.reset(4),
        zones.offline(4),
        zones.lose_writes(4),
        zones.lose(4),
        zones.recover(4, 1),
        zones.restore(4, 1, false),
        zones.take_back(4, 1),
    );
    let mut zones = zones();
    assert_eq!(zones.report(4, Filter::All).count(), 0);
    assert_eq!(zones.zone_of(64), None);
    assert!(zones.write(64, 1).is_err());
    assert!(zones.append(64, 1).is_err());
}

const UNIT: u32 = 4096;

/// A drive of four zones on one die, with eight tags.
fn drive() -> ZonedFtlConfig {
    let geometry =
        Geometry { channels: 1, chips: 1, dies: 1, planes: 1, blocks: 0, pages: 6, page_bytes: UNIT, unit_bytes: UNIT };
    let zones = Config { zones: 4, size: 16, capacity: 10, open_max: None, active_max: None, append_max: None };
    let mut config = ZonedFtlConfig {
        zones,
        geometry,
        dies: 1,
        write: 0,
        write_back: true,
        protected: false,
        finish_depth: 1,
        times: Times::default(),
        tags: 8,
        moves: true,
    };
    config.write = config.waiting_units() as u32 + 8;
    config.geometry.blocks = config.used_blocks() as u32 + config.spare_blocks();
    config
}

#[test]
fn a_zoned_drive_refuses_them() {
    let flash = SimpleFlash::new(drive().geometry);
    let now = Time::from_us(1);
    let read = |offset| Request::new(Op::Read, offset, u64::from(UNIT));
    let mut out = Actions::default();
    refused!(ftl = ZonedFtl::mount(drive(), &flash).expect("a drive").0;
        ftl.command(now, Tag(8), &read(0), &mut out),
        ftl.command(now, Tag(u32::MAX), &read(0), &mut out),
        ftl.arrived(now, Tag(8), &mut out),
        ftl.done(OpId(0), Status::Ok, &flash, &mut out),
        ftl.done(OpId(1_000_000_000), Status::Ok, &flash, &mut out),
        ftl.promises_durability(Tag(8)),
        ftl.written_at(Tag(8)),
        ftl.program_sequence(OpId(1_000_000_000)),
        ftl.program_units(OpId(1_000_000_000)).count(),
    );
    let mut ftl = ZonedFtl::mount(drive(), &flash).expect("a drive").0;
    assert_eq!(ftl.note(u32::MAX), None);
    ftl.command(now, Tag(0), &read(64 * u64::from(UNIT)), &mut out);
    assert!(matches!(out.actions.last(), Some(media::Action::Complete { status: Status::Refused(_), .. })));
}
