//! Dropped copies and resting blocks, in the drive that the tests of victims lay out by hand.

use media::{Action, OpId, Status};

use crate::Actions;
use crate::config::Policy;
use crate::gc::victim::tests::{BLOCKS, PROGRAM_UNITS, PROGRAMS, drive, laid};
use crate::space::blocks::Use;
use crate::space::parallel_unit::Stream;

/// Takes the reads out of `out`.
fn reads(out: &mut Actions) -> Vec<OpId> {
    let id = |action| if let Action::Read(read) = action { Some(read.id) } else { None };
    out.actions.drain(..).filter_map(id).collect()
}

#[test]
fn dropped_copies_are_no_longer_in_flight() {
    for completed in 0..=2 {
        let (mut ftl, flash) = laid(Policy::Greedy, &[5]);
        (1..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
        let mut out = Actions::default();
        ftl.collect(0, &mut out);
        let ids = reads(&mut out);
        assert_eq!((ids.len(), ftl.gc.units[0].in_flight), (2, 2 * PROGRAM_UNITS), "two whole programs are read");
        for _ in 0..PROGRAMS {
            assert!(ftl.room(0, Stream::Copy).is_some(), "something takes all room");
        }
        for id in &ids[..completed] {
            ftl.done(*id, Status::Ok, &flash, &mut out);
        }
        assert_eq!(ftl.gc.units[0].count_pending(), completed as u32 * PROGRAM_UNITS);

        ftl.back_out(0, &mut out);
        let unit = &ftl.gc.units[0];
        assert_eq!((unit.count_pending(), unit.in_flight), (0, (2 - completed as u32) * PROGRAM_UNITS));
        assert_eq!(unit.scan.is_none(), completed == 2, "a block whose pages are being read is still collected");
        let usage = if completed == 2 { Use::Closed } else { Use::Victim };
        assert_eq!((ftl.space.blocks.usage(0), ftl.space.blocks.valid(0)), (usage, 5));
    }
}

#[test]
fn a_block_rests_until_as_many_as_configured_were_filled_after_it() {
    for rest in 0..3 {
        let mut ftl = drive(Policy::Greedy, &[5, 6, 7, 8]);
        ftl.gc.rest = rest;
        (4..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
        for filled in 0..4 {
            ftl.rest(0, filled);
            ftl.withhold_resting(0, filled);
            // The first block that no longer rests, or was not filled yet.
            let first = if filled as usize >= rest { 0 } else { filled + 1 };
            assert_eq!(ftl.least_valid(0), Some(first), "{filled} blocks were filled, and {rest} rest");
        }
        let ended = (0..4).take_while(|_| ftl.end_rest(0)).count();
        assert_eq!(ended, rest);
        assert_eq!(ftl.least_valid(0), Some(0));
    }
}
