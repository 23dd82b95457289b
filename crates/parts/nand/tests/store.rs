//! The store against an obvious model: maps of what was written, with power cuts and reloads in between.

use std::collections::{BTreeMap, HashMap};

use media::{BlockAddr, Flash, Geometry, Move, NOBODY, PageAddr, PlaneMask, Tag};
use nand::{HostData, Order, PayloadKind, Store, TagBuffers, UnitWrite};
use proptest::prelude::*;

const GEOMETRY: Geometry =
    Geometry { channels: 1, chips: 1, dies: 2, planes: 2, blocks: 3, pages: 5, page_bytes: 4096, unit_bytes: 2048 };
const UNITS: usize = 2;
const SECTORS: usize = 4;
const BUFFERS: u32 = 6;

#[derive(Clone, Debug, PartialEq)]
struct ModelPage {
    sequence: u64,
    logical: Vec<u32>,
    lost: Vec<bool>,
    data: Vec<Vec<u8>>,
    notes: HashMap<u32, Vec<u8>>,
    torn: bool,
}

#[derive(Clone, Debug, Default)]
struct ModelBlock {
    pages: BTreeMap<u32, ModelPage>,
    erases: u32,
    slc: bool,
    bad: bool,
    erase_torn: bool,
    written_s: u32,
}

#[derive(Clone, Debug)]
enum Step {
    Program { far: u64, units: Vec<(u32, u32, bool)>, slc: bool },
    Tear { slc: bool },
    Erase,
    TearErase,
    MarkBad,
    Note { unit: u32, text: Vec<u8> },
    Fill { buffer: u32, stamp: u64 },
    Age(u32),
    Reload,
}

fn step() -> impl Strategy<Value = Step> {
    let unit = (prop_oneof![4 => 0u32..1000, 1 => Just(NOBODY)], 0..BUFFERS, prop::bool::weighted(0.1));
    let far = prop_oneof![6 => 0u64..100, 1 => 65_530u64..65_545, 1 => 0u64..1 << 40];
    prop_oneof![
        20 => (far, prop::collection::vec(unit, UNITS * 2), prop::bool::weighted(0.2))
            .prop_map(|(far, units, slc)| Step::Program { far, units, slc }),
        3 => any::<bool>().prop_map(|slc| Step::Tear { slc }),
        4 => Just(Step::Erase),
        1 => Just(Step::TearErase),
        1 => prop::bool::weighted(0.1).prop_map(|b| if b { Step::MarkBad } else { Step::Erase }),
        3 => (0..UNITS as u32, prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(unit, text)| Step::Note { unit, text }),
        6 => (0..BUFFERS, any::<u64>()).prop_map(|(buffer, stamp)| Step::Fill { buffer, stamp }),
        1 => (0u32..100).prop_map(Step::Age),
        2 => Just(Step::Reload),
    ]
}

fn one(die: u16, plane: u32, block: u32, page: u32) -> PageAddr {
    PageAddr { die, planes: PlaneMask::one(plane), block, page }
}

fn reload(store: &Store) -> Store {
    let mut bytes = Vec::new();
    store.save(&mut bytes).unwrap();
    let loaded = Store::load(&mut &bytes[..], store.geometry(), BUFFERS).unwrap();
    let mut again = Vec::new();
    loaded.save(&mut again).unwrap();
    assert_eq!(bytes, again, "a loaded store saves the same bytes");
    loaded
}

/// The planes on which the next program may go to the same page, and that page.
fn next_page(model: &HashMap<(u16, u32, u32), ModelBlock>, order: Order, at: (u16, u16, u32, u32)) -> Option<PageAddr> {
    let (die, mask, block, wish) = at;
    let mut planes = 0;
    let mut page = None;
    for plane in PlaneMask(mask).iter() {
        let b = &model[&(die, plane, block)];
        let mine = match order {
            Order::InOrder => b.pages.len() as u32,
            Order::Any => wish,
        };
        let free = mine < GEOMETRY.pages && !b.pages.contains_key(&mine) && !b.bad && !b.erase_torn;
        if free && page.is_none_or(|p| p == mine) {
            page = Some(mine);
            planes |= 1 << plane;
        }
    }
    page.map(|page| PageAddr { die, planes: PlaneMask(planes), block, page })
}

fn check(store: &Store, model: &HashMap<(u16, u32, u32), ModelBlock>, kind: PayloadKind) {
    for (&(die, plane, block), expected) in model {
        let view = store.block(die, plane, block);
        assert_eq!(view.programmed as usize, expected.pages.len());
        assert_eq!(view.erases, expected.erases);
        assert_eq!((view.bad, view.erase_torn), (expected.bad, expected.erase_torn));
        assert_eq!(view.torn, expected.pages.values().any(|p| p.torn));
        assert_eq!(view.written_s, expected.written_s);
        assert_eq!(view.slc, expected.slc);
        let info = Flash::block(store, die, plane, block);
        assert_eq!((info.programmed, info.erases, info.torn), (view.programmed, view.erases, view.erase_torn));
        let found: Vec<_> = store.pages(die, plane, block).map(|p| (p.page, p.sequence, p.units.to_vec())).collect();
        let readable = |p: &ModelPage| !p.torn && !expected.erase_torn;
        let wanted: Vec<_> = expected
            .pages
            .iter()
            .map(|(n, p)| if readable(p) { (*n, p.sequence, p.logical.clone()) } else { (*n, 0, vec![]) })
            .collect();
        assert_eq!(found, wanted, "pages of {die}/{plane}/{block}");
        for page in 0..GEOMETRY.pages {
            let address = one(die, plane, block, page);
            let p = expected.pages.get(&page).filter(|p| readable(p));
            assert_eq!(store.readable(address, plane), p.is_some());
            let Some(p) = p else { continue };
            assert_eq!(store.logical(address, plane), &p.logical[..]);
            assert_eq!(store.sequence(address, plane), p.sequence);
            for unit in 0..UNITS {
                assert_eq!(store.lost(address, plane, unit as u32), p.lost[unit]);
                let note = p.notes.get(&(unit as u32)).map_or(&[][..], |n| n);
                assert_eq!(store.note(address, plane, unit as u32), note);
                if kind != PayloadKind::None {
                    assert_eq!(store.unit(address, unit as u32), &p.data[unit][..]);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn is_the_obvious_model(
        any in any::<bool>(),
        kind in prop_oneof![Just(PayloadKind::None), Just(PayloadKind::Stamp), Just(PayloadKind::Bytes)],
        steps in prop::collection::vec((step(), 0u16..2, 1u16..4, 0u32..3, 0u32..5), 1..120),
    ) {
        let order = if any { Order::Any } else { Order::InOrder };
        let mut store = Store::new(&GEOMETRY, kind, order, BUFFERS);
        let mut model: HashMap<(u16, u32, u32), ModelBlock> = HashMap::new();
        for die in 0..2 {
            for plane in 0..2 {
                for block in 0..3 {
                    model.insert((die, plane, block), ModelBlock::default());
                }
            }
        }
        let unit_payload = SECTORS * kind.sector_bytes();
        let mut buffers = vec![vec![0u8; unit_payload]; BUFFERS as usize];
        let mut host = TagBuffers::new(kind);
        let (mut sequence, mut clock) = (0, 0);
        for (step, die, mask, block, wish) in steps {
            let mut all = BlockAddr { die, planes: PlaneMask(0), block };
            for plane in PlaneMask(mask).iter() {
                if !model[&(die, plane, block)].bad {
                    all.planes.0 |= 1 << plane;
                }
            }
            match step {
                Step::Program { far, units, slc } => {
                    let Some(page) = next_page(&model, order, (die, mask, block, wish)) else { continue };
                    sequence += far;
                    let slc = page.planes.iter().find_map(|p| {
                        let b = &model[&(die, p, block)];
                        (!b.pages.is_empty()).then_some(b.slc)
                    }).unwrap_or(slc);
                    let agree = |p: u32| model[&(die, p, block)].pages.is_empty() || model[&(die, p, block)].slc == slc;
                    if !page.planes.iter().all(agree) {
                        continue;
                    }
                    let units: Vec<UnitWrite> = units[..page.planes.count() as usize * UNITS]
                        .iter().map(|&(logical, buffer, lost)| UnitWrite { logical, buffer, lost }).collect();
                    store.program(page, sequence, slc, &units);
                    for (plane, units) in page.planes.iter().zip(units.chunks(UNITS)) {
                        let b = model.get_mut(&(die, plane, block)).unwrap();
                        if b.pages.is_empty() {
                            (b.slc, b.written_s) = (slc, clock);
                        }
                        b.pages.insert(page.page, ModelPage {
                            sequence,
                            logical: units.iter().map(|u| u.logical).collect(),
                            lost: units.iter().map(|u| u.lost).collect(),
                            data: units.iter().map(|u| match u.logical {
                                NOBODY => vec![0; unit_payload],
                                _ => buffers[u.buffer as usize].clone(),
                            }).collect(),
                            notes: HashMap::new(),
                            torn: false,
                        });
                    }
                }
                Step::Tear { slc } => {
                    let Some(page) = next_page(&model, order, (die, mask, block, wish)) else { continue };
                    let agree = |p: u32| model[&(die, p, block)].pages.is_empty() || model[&(die, p, block)].slc == slc;
                    if !page.planes.iter().all(agree) {
                        continue;
                    }
                    store.tear(page, slc);
                    for plane in page.planes.iter() {
                        let b = model.get_mut(&(die, plane, block)).unwrap();
                        if b.pages.is_empty() {
                            (b.slc, b.written_s) = (slc, clock);
                        }
                        b.pages.insert(page.page, ModelPage {
                            sequence: 0, logical: vec![], lost: vec![], data: vec![], notes: HashMap::new(), torn: true,
                        });
                    }
                }
                Step::Erase => {
                    store.erase(all);
                    for plane in all.planes.iter() {
                        let b = model.get_mut(&(die, plane, block)).unwrap();
                        *b = ModelBlock { erases: b.erases + 1, ..ModelBlock::default() };
                    }
                }
                Step::TearErase => {
                    store.tear_erase(all);
                    for plane in all.planes.iter() {
                        let b = model.get_mut(&(die, plane, block)).unwrap();
                        b.erases += 1;
                        b.erase_torn = true;
                    }
                }
                Step::MarkBad => {
                    store.mark_bad(all);
                    for plane in all.planes.iter() {
                        model.get_mut(&(die, plane, block)).unwrap().bad = true;
                    }
                }
                Step::Note { unit, text } => {
                    let b = model.get_mut(&(die, 0, block)).unwrap();
                    let torn = b.erase_torn;
                    let Some(p) = b.pages.get_mut(&wish).filter(|p| !p.torn && !torn) else { continue };
                    if let std::collections::hash_map::Entry::Vacant(free) = p.notes.entry(unit) {
                        store.set_note(one(die, 0, block, wish), 0, unit, &text);
                        free.insert(text);
                    }
                }
                Step::Fill { buffer, stamp } => {
                    let bytes: Vec<u8> = stamp.to_le_bytes().iter().copied().cycle().take(unit_payload).collect();
                    host.open(Tag(1), SECTORS as u32).copy_from_slice(&bytes);
                    let sectors = SECTORS as u32;
                    store.apply(&Move::HostToBuffer { tag: Tag(1), from: 0, sectors, buffer, to: 0 }, &mut host);
                    buffers[buffer as usize] = bytes;
                }
                Step::Age(seconds) => {
                    clock += seconds;
                    store.set_clock_s(clock);
                }
                Step::Reload => {
                    store = reload(&store);
                    // RAM is lost with the power.
                    buffers.iter_mut().for_each(|b| b.fill(0));
                }
            }
        }
        check(&store, &model, kind);
        check(&reload(&store), &model, kind);
    }
}

fn stamps(values: [u64; 4]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn every_movement_moves_what_it_says() {
    let mut store = Store::new(&GEOMETRY, PayloadKind::Stamp, Order::InOrder, 4);
    let mut host = TagBuffers::new(PayloadKind::Stamp);
    let (write, read) = (Tag(0), Tag(3));
    host.open(write, 6).copy_from_slice(&(1..=6u64).flat_map(u64::to_le_bytes).collect::<Vec<_>>());
    store.apply(&Move::HostToBuffer { tag: write, from: 2, sectors: 3, buffer: 1, to: 1 }, &mut host);
    assert_eq!(store.buffer(1), stamps([0, 3, 4, 5]));

    let page = one(0, 0, 0, 0);
    let units =
        [UnitWrite { logical: 7, buffer: 1, lost: false }, UnitWrite { logical: NOBODY, buffer: 9, lost: false }];
    store.program(page, 1, false, units);
    store.buffer_mut(1).fill(0xff);
    store.apply(&Move::FlashToBuffer { page, unit: 0, buffer: 1, keep: 0b0101 }, &mut host);
    let all = u64::MAX;
    assert_eq!(store.buffer(1), stamps([all, 3, all, 5]));
    store.apply(&Move::BufferToBuffer { from: 1, to: 0, keep: 0b0001 }, &mut host);
    assert_eq!(store.buffer(0), stamps([0, 3, all, 5]));
    store.apply(&Move::BufferToBuffer { from: 0, to: 2, keep: 0b1100 }, &mut host);
    assert_eq!(store.buffer(2), stamps([0, 3, 0, 0]));
    store.apply(&Move::ZeroBuffer { buffer: 1, keep: 0b0010 }, &mut host);
    assert_eq!(store.buffer(1), stamps([0, 3, 0, 0]));

    store.apply(&Move::XorFlash { page, unit: 0, buffer: 3 }, &mut host);
    assert_eq!(store.buffer(3), stamps([0, 3, 4, 5]));
    store.apply(&Move::XorBuffer { from: 2, to: 3 }, &mut host);
    assert_eq!(store.buffer(3), stamps([0, 0, 4, 5]));
    store.apply(&Move::XorBuffer { from: 3, to: 2 }, &mut host);
    assert_eq!(store.buffer(2), stamps([0, 3, 4, 5]));

    host.open(read, 4).fill(0xee);
    store.apply(&Move::FlashToHost { page, unit: 0, from: 2, sectors: 2, tag: read, to: 0 }, &mut host);
    store.apply(&Move::BufferToHost { buffer: 1, from: 1, sectors: 1, tag: read, to: 2 }, &mut host);
    store.apply(&Move::ZeroToHost { tag: read, to: 3, sectors: 1 }, &mut host);
    assert_eq!(host.data(read), stamps([4, 5, 3, 0]));
    assert_eq!(host.sectors(read, 1, 2).len(), 16);
}

#[test]
fn any_damage_to_an_image_is_found() {
    let mut store = Store::new(&GEOMETRY, PayloadKind::Stamp, Order::InOrder, BUFFERS);
    let unit = UnitWrite { logical: 5, buffer: 0, lost: true };
    for page in 0..3u32 {
        store.program(one(1, 1, 2, page), u64::from(page) * 100_000, true, [unit; 2]);
    }
    store.set_note(one(1, 1, 2, 1), 1, 0, b"trimmed");
    store.tear(one(1, 1, 2, 3), true);
    store.tear_erase(BlockAddr { die: 0, planes: PlaneMask(3), block: 1 });
    let mut image = Vec::new();
    store.save(&mut image).unwrap();
    for at in 0..image.len() {
        for bit in [0, 3, 7] {
            let mut damaged = image.clone();
            damaged[at] ^= 1 << bit;
            assert!(Store::load(&mut &damaged[..], &GEOMETRY, 0).is_err(), "bit {bit} of byte {at} of {}", image.len());
        }
        assert!(Store::load(&mut &image[..at], &GEOMETRY, 0).is_err(), "cut off at {at}");
    }
    let said = |bytes: &[u8]| Store::load(&mut &bytes[..], &GEOMETRY, 0).err().unwrap().to_string();
    assert_eq!(
        said(b"PK and so on, long enough"),
        "found no image of a drive, expected it to start with \"NANDRAM-STORE\""
    );
    image[14] = 9;
    assert_eq!(said(&image), "found a drive's image of version 9, expected version 1: prepare the drive again");
}

/// The promise: 4 bytes a unit, 2 bytes a page and little more, all of it written.
#[test]
fn half_a_terabyte_written_whole_costs_680_megabytes() {
    // A sixteenth of the drive, so that the test is quick: 32 GiB of 4 KiB units in 8 KiB pages.
    let geometry = Geometry {
        channels: 8,
        chips: 4,
        dies: 2,
        planes: 2,
        blocks: 128,
        pages: 256,
        page_bytes: 8192,
        unit_bytes: 4096,
    };
    assert_eq!(geometry.bytes(), 32 << 30);
    let mut store = Store::new(&geometry, PayloadKind::None, Order::InOrder, 100);
    let unit = UnitWrite { logical: 1, buffer: 0, lost: false };
    let mut sequence = 0;
    for block in 0..geometry.blocks {
        for page in 0..geometry.pages {
            for die in 0..64 {
                sequence += 1;
                store.program(PageAddr { die, planes: PlaneMask(3), block, page }, sequence, false, [unit; 4]);
            }
        }
    }
    let whole = store.bytes_held() * 16;
    assert!(whole < 680_000_000, "{whole}");
    for block in 0..geometry.blocks {
        for die in 0..64 {
            store.erase(BlockAddr { die, planes: PlaneMask(3), block });
        }
    }
    for die in 0..64 {
        store.program(PageAddr { die, planes: PlaneMask(3), block: 9, page: 0 }, sequence, false, [unit; 4]);
    }
    assert_eq!(store.bytes_held() * 16, whole, "an erased block's room is used again");
}

/// The promise: a drive of 16 TB opens at once and costs 12 bytes a block until it is written.
#[test]
fn sixteen_terabytes_open_at_once() {
    let geometry = Geometry {
        channels: 16,
        chips: 8,
        dies: 8,
        planes: 4,
        blocks: 512,
        pages: 512,
        page_bytes: 16384,
        unit_bytes: 8192,
    };
    assert!(geometry.bytes() > 16_000_000_000_000);
    let start = std::time::Instant::now();
    let store = Store::new(&geometry, PayloadKind::None, Order::InOrder, 100);
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
    let blocks = store.blocks().count() as u64;
    assert!(store.bytes_held() <= 16 * blocks);
}

mod rules {
    use super::*;

    fn fresh(order: Order) -> Store {
        Store::new(&GEOMETRY, PayloadKind::None, order, 0)
    }

    fn program(store: &mut Store, page: u32, sequence: u64) {
        let unit = UnitWrite { logical: 0, buffer: 0, lost: false };
        store.program(one(0, 0, 0, page), sequence, false, [unit; 2]);
    }

    fn block() -> BlockAddr {
        BlockAddr { die: 0, planes: PlaneMask(1), block: 0 }
    }

    #[test]
    #[should_panic(expected = "whose next erased page is 1")]
    fn a_page_is_programmed_once() {
        let mut store = fresh(Order::InOrder);
        program(&mut store, 0, 1);
        program(&mut store, 0, 2);
    }

    #[test]
    #[should_panic(expected = "whose next erased page is 0")]
    fn pages_go_in_order() {
        program(&mut fresh(Order::InOrder), 1, 1);
    }

    #[test]
    #[should_panic(expected = "page 5 of a block of 5")]
    fn a_full_block_is_full() {
        let mut store = fresh(Order::InOrder);
        (0..6).for_each(|page| program(&mut store, page, 1));
    }

    #[test]
    fn any_order_where_it_is_allowed() {
        let mut store = fresh(Order::Any);
        program(&mut store, 3, 1);
        program(&mut store, 0, 2);
        assert_eq!(store.sequence(one(0, 0, 0, 0), 0), 2);
    }

    #[test]
    #[should_panic(expected = "not erased")]
    fn any_order_still_erases_first() {
        let mut store = fresh(Order::Any);
        program(&mut store, 3, 1);
        program(&mut store, 3, 2);
    }

    #[test]
    #[should_panic(expected = "bad block")]
    fn a_bad_block_is_not_programmed() {
        let mut store = fresh(Order::InOrder);
        store.mark_bad(block());
        program(&mut store, 0, 1);
    }

    #[test]
    #[should_panic(expected = "bad block")]
    fn a_block_that_turned_bad_is_not_programmed_on() {
        let mut store = fresh(Order::InOrder);
        program(&mut store, 0, 1);
        store.mark_bad(block());
        program(&mut store, 1, 2);
    }

    #[test]
    #[should_panic(expected = "bad block")]
    fn a_bad_block_is_not_erased() {
        let mut store = fresh(Order::InOrder);
        store.mark_bad(block());
        store.erase(block());
    }

    #[test]
    #[should_panic(expected = "whose erase was torn")]
    fn a_torn_erase_is_repeated_first() {
        let mut store = fresh(Order::InOrder);
        store.tear_erase(block());
        program(&mut store, 0, 1);
    }

    #[test]
    #[should_panic(expected = "sequence 1 after 2")]
    fn the_sequence_never_goes_back() {
        let mut store = fresh(Order::InOrder);
        program(&mut store, 0, 2);
        program(&mut store, 1, 1);
    }

    #[test]
    #[should_panic(expected = "sequence 3 after 5")]
    fn the_sequence_never_goes_back_behind_the_page_before() {
        let mut store = fresh(Order::InOrder);
        program(&mut store, 0, 1);
        program(&mut store, 1, 5);
        program(&mut store, 2, 3);
    }

    #[test]
    #[should_panic(expected = "in the other cell mode")]
    fn a_block_has_one_cell_mode() {
        let mut store = fresh(Order::InOrder);
        program(&mut store, 0, 1);
        store.tear(one(0, 0, 0, 1), true);
    }

    #[test]
    #[should_panic(expected = "erased or torn")]
    fn a_torn_page_is_not_read() {
        let mut store = fresh(Order::InOrder);
        store.tear(one(0, 0, 0, 0), false);
        store.sequence(one(0, 0, 0, 0), 0);
    }
}
