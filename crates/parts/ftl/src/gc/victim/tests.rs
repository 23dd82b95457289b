//! Victims in drives laid out by hand: one parallel unit of 16 blocks, each of 12 programs of two units.

use media::{Geometry, NOBODY, PageAddr, PlaneMask};
use sim::{Streams, Time};
use testkit::flash::{SimpleFlash, Unit};

use crate::Ftl;
use crate::config::{Allocation, Axis, Buffers, Collection, Config, Eviction, Group, MapCache, Policy, Refresh, Wear};
use crate::gc::resting::resting_blocks;
use crate::layout::Layout;

pub(in crate::gc) const BLOCKS: u32 = 16;
pub(in crate::gc) const PROGRAMS: u32 = 12;
pub(in crate::gc) const PROGRAM_UNITS: u32 = 2;
const BLOCK_UNITS: u32 = PROGRAMS * PROGRAM_UNITS;
/// The limit of copies in flight: two programs, which a power cut may damage.
const COPIES: u32 = 2 * PROGRAM_UNITS;

pub(in crate::gc) fn config(policy: Policy) -> Config {
    Config {
        user_units: 200,
        group: Group::Plane,
        stripe: [Axis::Channel, Axis::Way, Axis::Die, Axis::Plane],
        multi_plane: false,
        collection: Collection {
            policy,
            choices: 3,
            quiet: 0.5,
            start: 3,
            separate: false,
            ahead: 0,
            idle: Time::from_us(50),
            copies: Some(COPIES),
            batch: 1,
            slack: None,
        },
        wear: Wear { dynamic: true, static_threshold: None },
        map_cache: None,
        host_memory: None,
        buffers: Buffers {
            write: 8,
            read: 0,
            allocation: Allocation::Fill,
            shared: false,
            write_back: true,
            protected: false,
            high: 0,
            low: 0,
            resume: 0,
            gather: 0,
            holds_reads: false,
            idle: Time::from_us(20),
        },
        slc: None,
        read_copies: None,
        parity: None,
        placement: None,
        refresh: Refresh::default(),
        tags: 8,
        moves: true,
        geometry: Geometry {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: BLOCKS,
            pages: PROGRAMS,
            page_bytes: PROGRAM_UNITS * 512,
            unit_bytes: 512,
        },
    }
}

/// Returns a drive whose last block is free. Every other block is closed, and block `b` holds `valid[b]` valid units, or
/// none.
pub(in crate::gc) fn drive(policy: Policy, valid: &[u32]) -> Ftl {
    laid(policy, valid).0
}

/// Like [`drive`]; returns its flash as well.
pub(in crate::gc) fn laid(policy: Policy, valid: &[u32]) -> (Ftl, SimpleFlash) {
    let config = config(policy);
    let mut flash = SimpleFlash::new(config.geometry);
    let mut next = 0;
    for block in 0..BLOCKS - 1 {
        let end = next + valid.get(block as usize).unwrap_or(&0);
        for page in 0..PROGRAMS {
            let unit = |_| {
                let logical = if next < end { next } else { NOBODY };
                next += u32::from(next < end);
                Unit { logical, data: Vec::new(), lost: false, note: Vec::new() }
            };
            let units: Vec<Unit> = (0..PROGRAM_UNITS).map(unit).collect();
            let at = PageAddr { die: 0, planes: PlaneMask::one(0), block, page };
            flash.program(at, u64::from(block * PROGRAMS + page + 1), false, &units, false);
        }
    }
    let (ftl, _) = Ftl::mount(config, &flash, &Streams::new(1)).expect("a valid configuration");
    for block in 0..BLOCKS - 1 {
        assert_eq!(ftl.space.blocks.valid(block), *valid.get(block as usize).unwrap_or(&0));
    }
    assert_eq!(ftl.space.parallel_units[0].free(), [BLOCKS - 1]);
    (ftl, flash)
}

/// Returns the largest number of valid units with which a victim fits, in a drive that `prepare` has prepared.
fn most_that_fits(prepare: impl Fn(&mut Ftl)) -> u32 {
    let fits = |valid: u32| {
        let mut ftl = drive(Policy::Greedy, &[valid]);
        prepare(&mut ftl);
        ftl.fits(0, 0)
    };
    let most = (0..=BLOCK_UNITS).rev().find(|valid| fits(*valid)).expect("an empty victim fits");
    assert!((0..=most).all(fits), "a victim with fewer valid units than {most} does not fit");
    most
}

/// Of the free block, two programs are kept for those that a power cut may damage, two for the partly filled programs at
/// the ends of scans, and one for the journal.
const KEPT: u32 = (COPIES / PROGRAM_UNITS + 2 + 1) * PROGRAM_UNITS;

#[test]
fn a_victim_fits_beside_spare_programs_and_the_journal() {
    assert_eq!(most_that_fits(|_| {}), BLOCK_UNITS - KEPT);
}

#[test]
fn copies_in_flight_take_the_room_of_a_victim() {
    for in_flight in [1, 2, COPIES] {
        let most = most_that_fits(|ftl| ftl.gc.units[0].in_flight = in_flight);
        assert_eq!(most, BLOCK_UNITS - KEPT - in_flight, "{in_flight} copies are in flight");
    }
}

#[test]
fn an_emergency_uses_the_spare_programs() {
    let most = most_that_fits(|ftl| ftl.gc.units[0].emergency = true);
    assert_eq!(most, BLOCK_UNITS);
}

#[test]
fn an_emergency_leaves_room_for_the_journal_until_the_victims_trims_are_durable() {
    let most = most_that_fits(|ftl| {
        ftl.gc.units[0].emergency = true;
        ftl.space.blocks.set_trimmed(0, 1);
    });
    assert_eq!(most, BLOCK_UNITS - PROGRAM_UNITS);
}

#[test]
fn spare_programs_take_at_most_a_third_of_a_block() {
    let most = most_that_fits(|ftl| ftl.gc.units[0].quota = 100 * PROGRAM_UNITS);
    assert_eq!(most, BLOCK_UNITS - (PROGRAMS / 3 + 1) * PROGRAM_UNITS);
}

#[test]
fn an_empty_victim_fits_without_any_room() {
    let mut ftl = drive(Policy::Greedy, &[1]);
    ftl.gc.units[0].quota = 1000;
    ftl.space.blocks.add_hole(BLOCKS - 1, 0, 1);
    assert!(!ftl.fits(0, 0));
    assert!(ftl.fits(0, 1));
}

/// Returns the policy's choice among `blocks`, given by valid units and the number of programs since they were closed.
fn choice(policy: Policy, blocks: &[(u32, u64)]) -> u32 {
    let valid: Vec<u32> = blocks.iter().map(|(valid, _)| *valid).collect();
    let mut ftl = drive(policy, &valid);
    let now = ftl.durability.sequence.next();
    for block in 0..BLOCKS - 1 {
        match blocks.get(block as usize) {
            Some((_, age)) => ftl.space.blocks.close(block, now - age),
            None => ftl.space.blocks.withhold(block),
        }
    }
    ftl.choose(0).expect("a closed block")
}

#[test]
fn cost_benefit_weighs_age_against_copies() {
    // (1 - u) x age / 2u is half the age for 12 valid units of 24, and the age for 8.
    assert_eq!(choice(Policy::CostBenefit, &[(8, 50), (12, 101), (20, 101)]), 1);
    assert_eq!(choice(Policy::CostBenefit, &[(8, 50), (12, 99), (20, 99)]), 0);
    assert_eq!(choice(Policy::Greedy, &[(8, 50), (12, 101), (20, 101)]), 0);
    // The first of equals.
    assert_eq!(choice(Policy::CostBenefit, &[(8, 50), (12, 100)]), 0);
    assert_eq!(choice(Policy::CostBenefit, &[(12, 100), (8, 50)]), 0);
}

#[test]
fn cost_benefit_prefers_an_empty_block_and_never_a_full_one() {
    assert_eq!(choice(Policy::CostBenefit, &[(1, 150), (0, 1)]), 1);
    assert_eq!(choice(Policy::CostBenefit, &[(BLOCK_UNITS, 150), (23, 1)]), 1);
}

#[test]
fn fifo_chooses_the_block_that_was_closed_first() {
    assert_eq!(choice(Policy::Fifo, &[(3, 10), (20, 30), (5, 20)]), 1);
}

#[test]
fn d_choices_takes_the_best_of_as_many_draws_as_configured() {
    // Of two blocks, the fuller one is chosen if all three draws fall on it: once in eight times.
    let mut ftl = drive(Policy::DChoices, &[5, 10]);
    (2..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
    let choices = 8000;
    let fuller = (0..choices).filter(|_| ftl.choose(0) == Some(1)).count();
    // Four standard deviations of a binomial draw.
    assert!((fuller as f64 - 1000.0).abs() < 4.0 * (8000.0_f64 * 7.0 / 64.0).sqrt(), "{fuller} of {choices}");
}

#[test]
fn d_choices_finds_the_only_block_that_may_be_collected() {
    let mut ftl = drive(Policy::DChoices, &[5, 10]);
    (0..BLOCKS - 2).for_each(|block| ftl.space.blocks.withhold(block));
    assert!((0..100).all(|_| ftl.choose(0) == Some(BLOCKS - 2)));
    ftl.space.blocks.withhold(BLOCKS - 2);
    assert_eq!(ftl.choose(0), None);
}

#[test]
fn d_choices_gives_up_after_64_tries_per_draw() {
    let mut ftl = drive(Policy::DChoices, &[5, 10]);
    (0..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
    assert_eq!(ftl.choose(0), None);
    let mut rng = Streams::new(1).stream("ftl.collection");
    (0..64 * 3).for_each(|_| _ = rng.below(u64::from(BLOCKS)));
    assert_eq!(ftl.gc.rng.bits(), rng.bits());
}

#[test]
fn quiet_greedy_takes_an_empty_or_quiet_block_before_one_with_fewer_valid_units() {
    let chosen = |noted: &[u32], valid: &[u32]| {
        let mut ftl = drive(Policy::QuietGreedy, valid);
        let now = ftl.durability.sequence.next();
        (valid.len() as u32..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
        noted.iter().for_each(|block| ftl.gc.losses.note(*block, now));
        ftl.choose(0)
    };
    assert_eq!(chosen(&[], &[5, 10]), Some(0));
    assert_eq!(chosen(&[0], &[5, 10]), Some(1));
    assert_eq!(chosen(&[0, 1], &[5, 10]), Some(0), "none is quiet");
    assert_eq!(chosen(&[0, 1], &[1, 0]), Some(1));
    // A block that gives back little is not worth collecting, however quiet it is.
    assert_eq!(chosen(&[0], &[20, 22]), Some(0));
}

#[test]
fn victims_that_free_no_room_are_counted_until_something_takes_room() {
    let mut ftl = drive(Policy::Greedy, &[5, 10]);
    for block in 0..3 {
        ftl.start_victim(0, block, false);
        assert_eq!(ftl.gc.units[0].fruitless, u64::from(block) + 1);
    }
    ftl.stats.programmed_host += 1;
    ftl.start_victim(0, 3, false);
    assert_eq!(ftl.gc.units[0].fruitless, 0);
}

#[test]
fn a_block_is_worth_collecting_ahead_if_it_gives_back_an_eighth() {
    let ftl = drive(Policy::Greedy, &[21, 22]);
    assert!(ftl.pays_ahead(0) && !ftl.pays_ahead(1));
    // A whole program is a gain at all.
    let ftl = drive(Policy::Greedy, &[22, 23]);
    assert!(ftl.gains(0) && !ftl.gains(1));
}

#[test]
fn a_quarter_of_the_spare_blocks_may_rest() {
    let plain = config(Policy::Greedy);
    let map = MapCache { frames: 1, frame_units: 1, updates: 0, eviction: Eviction::Lru, entries: None, warm: false };
    let cached = Config { user_units: 4000, map_cache: Some(map), ..plain.clone() };
    let data = crate::sizes::all_units(&cached).div_ceil(u64::from(BLOCK_UNITS)) as u32;
    let resting = |config: &Config, spare: u32| {
        let blocks = data + config.collection.start + 1 + spare;
        let config = Config { geometry: Geometry { blocks, ..config.geometry }, ..config.clone() };
        resting_blocks(&config, &Layout::new(&config))
    };
    assert_eq!([7, 8, 11, 12].map(|spare| resting(&cached, spare)), [1, 2, 2, 3]);
    // No more than the map would fill three times.
    let map_blocks = (3 * crate::sizes::map_units(&cached)).div_ceil(BLOCK_UNITS) as usize;
    assert_eq!(resting(&cached, 1000), map_blocks);
    assert_eq!(resting(&Config { map_cache: None, ..cached }, 1000), 0);
}

#[test]
fn a_forced_block_waits_for_room_and_is_forgotten_once_it_is_not_closed() {
    let forced = |valid: u32, block: u32| {
        let mut ftl = drive(Policy::Greedy, &[valid]);
        ftl.gc.force(0, block);
        (ftl.next_victim(0, false), ftl.gc.units[0].forced.clone())
    };
    assert_eq!(forced(5, 0), (Some((0, true)), vec![]));
    assert_eq!(forced(BLOCK_UNITS, 0), (None, vec![0]), "its units do not fit");
    assert_eq!(forced(5, BLOCKS - 1), (None, vec![]), "it was erased");
}

#[test]
fn no_victim_is_chosen_while_the_last_room_is_needed() {
    let mut ftl = drive(Policy::Greedy, &[5, 6]);
    assert_eq!(ftl.next_victim(0, true), Some((2, false)), "an empty block");
    let mut full = drive(Policy::Greedy, &[5, 6]);
    assert!(full.room(0, crate::space::parallel_unit::Stream::Copy).is_some(), "the last free block is opened");
    full.start_victim(0, 0, false);
    assert_eq!(full.next_victim(0, true), None);
}

#[test]
fn another_block_replaces_the_policys_choice_only_if_nothing_will_free_room() {
    // The first block is the oldest, and full: collecting it gains nothing.
    let mut ftl = drive(Policy::Fifo, &[BLOCK_UNITS, 3]);
    (2..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
    ftl.gc.units[0].in_flight = 1;
    assert_eq!(ftl.gainful(0), None);
    ftl.gc.units[0].in_flight = 0;
    assert_eq!(ftl.gainful(0), Some(1));
}

#[test]
fn with_unusable_planes_a_victim_may_fill_the_room_of_the_drive() {
    let gainful = |valid: u32| {
        let mut ftl = drive(Policy::Fifo, &[BLOCK_UNITS, valid]);
        (2..BLOCKS - 1).for_each(|block| ftl.space.blocks.withhold(block));
        ftl.space.blocks.add_hole(2, 0, 1);
        ftl.gc.units[0].emergency = true;
        ftl.gc.use_all_room(0);
        // The journal needs a program of the free block.
        assert_eq!(ftl.pool_limit(0), i64::from(BLOCK_UNITS - PROGRAM_UNITS));
        ftl.gainful(0)
    };
    assert_eq!(gainful(BLOCK_UNITS - PROGRAM_UNITS), Some(1));
    assert_eq!(gainful(BLOCK_UNITS - PROGRAM_UNITS + 1), None);
}
