//! Numbers beyond a drive's tables: each call panics or finds nothing, in release builds too.

mod support;

use ftl::Ftl;
use media::{Actions, Geometry, Op, OpId, Request, Status, Tag};
use sim::{Streams, Time};
use support::drive::drive;
use testkit::flash::SimpleFlash;
use testkit::refused;

const NOW: Time = Time::from_us(1);

/// Tags of the drive.
const TAGS: u32 = 8;
const UNIT: u64 = 1024;
const UNITS: u32 = 10 * 16 * 4 * 4;

const GEOMETRY: Geometry = Geometry {
    channels: 2,
    chips: 2,
    dies: 1,
    planes: 2,
    blocks: 24,
    pages: 16,
    page_bytes: 2048,
    unit_bytes: UNIT as u32,
};

fn flash() -> SimpleFlash {
    SimpleFlash::new(GEOMETRY)
}

fn ftl() -> Ftl {
    Ftl::mount(drive(GEOMETRY, UNITS), &flash(), &Streams::new(1)).expect("a drive").0
}

fn read() -> Request {
    Request::new(Op::Read, 0, UNIT)
}

#[test]
fn a_drive_refuses_tags_and_operations() {
    let (mut out, flash) = (Actions::default(), flash());
    refused!(ftl = ftl();
        ftl.command(NOW, Tag(TAGS), &read(), &mut out),
        ftl.command(NOW, Tag(u32::MAX), &Request::flush(), &mut out),
        ftl.arrived(NOW, Tag(TAGS), &mut out),
        ftl.arrived(NOW, Tag(u32::MAX), &mut out),
        ftl.done(OpId(0), Status::Ok, &flash, &mut out),
        ftl.done(OpId(1_000_000_000), Status::Ok, &flash, &mut out),
        ftl.program_done(OpId(1_000_000_000), None, &mut out),
        ftl.program_sequence(OpId(1_000_000_000)),
        ftl.is_plain(OpId(1_000_000_000)),
        ftl.program_units(OpId(1_000_000_000)).count(),
        ftl.program_logical(OpId(1_000_000_000), &mut [0; 4]),
        ftl.host_memory_lines(OpId(1_000_000_000), &mut Vec::new()),
        ftl.host_memory_damaged(OpId(1_000_000_000), &flash, &mut out),
        ftl.is_away(1_000_000_000),
    );
    assert_eq!(ftl().note(u32::MAX), None);
}

#[test]
fn a_drive_refuses_sectors() {
    let beyond = [u64::from(UNITS) * UNIT, u64::from(UNITS - 1) * UNIT + 512, 1 << 40, u64::MAX << 12];
    for offset in beyond {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let mut out = Actions::default();
            refused!(ftl = ftl(); ftl.command(NOW, Tag(0), &Request::new(op, offset, UNIT), &mut out));
        }
    }
}

#[test]
fn a_drive_refuses_handles() {
    let mut out = Actions::default();
    refused!(ftl = ftl();
        ftl.command(NOW, Tag(0), &Request { placement: 1, ..Request::new(Op::Write, 0, UNIT) }, &mut out),
        ftl.reclaim_unit_left(1),
        ftl.update_reclaim_unit_handle(1, &mut out),
    );
}
