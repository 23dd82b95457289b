//! Numbers beyond the flash: each call panics, in release builds too.

mod support;

use media::{BlockAddr, Class, EraseOp, Move, NOBODY, OpId, PageAddr, PlaneMask, ProgramOp, ReadOp, Status, Tag};
use nand::{Config, Event, HostData, Nand, Order, PayloadKind, Store, TagBuffers, UnitWrite};
use sim::{Streams, Time};
use support::{Spans, config, page};
use testkit::refused;

const NOW: Time = Time::from_us(1);

/// The dimensions of `config()`, which are the first numbers beyond it.
const DIES: u16 = 4;
const PLANES: u32 = 2;
const BLOCKS: u32 = 4;
const PAGES: u32 = 6;

fn nand() -> Nand {
    let g = config().geometry;
    assert_eq!((g.all_dies(), g.planes, g.blocks, g.pages), (u32::from(DIES), PLANES, BLOCKS, PAGES));
    Nand::new(&config(), &Streams::new(1))
}

fn nowhere() -> Spans {
    Spans(sim::EventQueue::new(Nand::LANES), Vec::new())
}

#[test]
fn flash_refuses_addresses() {
    let pages = [page(DIES, 1, 0, 0), page(0, 1 << PLANES, 0, 0), page(0, 1, BLOCKS, 0)];
    for at in pages {
        let read = ReadOp { id: OpId(0), page: at, bytes: 512, class: Class::Host };
        let program = ProgramOp { id: OpId(0), page: at, sequence: 1, class: Class::Host, slc: false };
        let erase = EraseOp { id: OpId(0), block: at.block(), class: Class::Host };
        refused!(nand = nand();
            nand.submit_read(NOW, read, &mut nowhere()),
            nand.submit_program(NOW, program, &mut nowhere()),
            nand.submit_erase(NOW, erase, &mut nowhere()),
        );
    }
    refused!(nand = nand();
        nand.submit_read(NOW, ReadOp { id: OpId(0), page: page(0, 1, 0, PAGES), bytes: 512, class: Class::Host }, &mut nowhere()),
        nand.submit_program(
            NOW,
            ProgramOp { id: OpId(0), page: page(0, 1, 0, PAGES), sequence: 1, class: Class::Host, slc: false },
            &mut nowhere(),
        ),
    );
}

#[test]
fn flash_refuses_operations_dies_and_channels() {
    refused!(nand = nand();
        nand.submit_read(
            NOW,
            ReadOp { id: OpId(1 << 28), page: page(0, 1, 0, 0), bytes: 512, class: Class::Host },
            &mut nowhere(),
        ),
        nand.place_of(OpId(1_000_000_000)),
        nand.done(OpId(1_000_000_000), Status::Ok),
        nand.handle(NOW, Event::Decoded(OpId(1_000_000_000)), &mut nowhere()),
        nand.handle(NOW, Event::Array(DIES), &mut nowhere()),
        nand.handle(NOW, Event::Suspend(DIES), &mut nowhere()),
        nand.handle(NOW, Event::Transfer(2), &mut nowhere()),
        nand.handle(NOW, Event::Wake(2), &mut nowhere()),
        nand.outcome_of(NOW, Event::Array(DIES), &mut nowhere()),
        nand.die_load(DIES),
        nand.die_stats(NOW, DIES),
        nand.channel_stats(NOW, 2),
    );
}

/// A store with payload and four buffers.
fn store() -> Store {
    Store::new(&config().geometry, PayloadKind::Stamp, Order::InOrder, 4)
}

fn unit() -> UnitWrite {
    UnitWrite { logical: NOBODY, buffer: 0, lost: false }
}

#[test]
fn a_store_refuses_addresses() {
    for at in [page(DIES, 1, 0, 0), page(0, 1 << PLANES, 0, 0), page(0, 1, BLOCKS, 0)] {
        let plane = at.planes.0.trailing_zeros();
        let BlockAddr { die, block, .. } = at.block();
        refused!(store = store();
            store.program(at, 1, false, [unit()]),
            store.program_plain(at, 1, false),
            store.set_lost(at, plane, 0),
            store.set_note(at, plane, 0, &[1]),
            store.erase(at.block()),
            store.tear(at, false),
            store.tear_erase(at.block()),
            store.mark_bad(at.block()),
            store.set_erases(die, plane, block, 1),
            store.unit(at, 0),
            store.block(die, plane, block),
            store.readable(at, plane),
            store.pages(die, plane, block).count(),
        );
    }
    refused!(store = store();
        store.program(page(0, 1, 0, PAGES), 1, false, [unit()]),
        store.unit(page(0, 1, 0, PAGES), 0),
        store.set_note(page(0, 1, 0, PAGES), 0, 0, &[1]),
        store.number_of(page(0, 1, BLOCKS, 0), 0),
        store.number_of(page(0, 1, 0, 0), PLANES),
        store.program(page(0, 1, 0, 0), 1, false, [UnitWrite { logical: 0, buffer: 4, lost: false }]),
    );
    let written = || {
        let mut store = store();
        store.program(page(0, 1, 0, 0), 1, false, [unit()]);
        store
    };
    refused!(store = written(); store.unit(page(0, 1, 0, 0), 1));
    assert!(!store().readable(page(0, 1, 0, PAGES), 0));
}

#[test]
fn a_store_refuses_blocks_by_number() {
    let record = store().block_record(0);
    let blocks = store().blocks().count();
    refused!(store = store();
        store.block_record(blocks),
        store.page_record(blocks, 0),
        store.programmed_of(blocks),
        store.restore_block(blocks, &record),
    );
    assert!(store().page_record(0, PAGES).is_none());
}

#[test]
fn a_store_refuses_buffers_and_tags() {
    let tags = || TagBuffers::new(PayloadKind::Stamp);
    refused!(store = store();
        store.buffer(4),
        store.buffer_mut(4),
        store.apply(&Move::HostToBuffer { tag: Tag(9), from: 0, sectors: 1, buffer: 0, to: 0 }, &mut tags()),
        store.apply(&Move::BufferToHost { buffer: 0, from: 0, sectors: 1, tag: Tag(9), to: 0 }, &mut tags()),
        store.apply(&Move::FlashToBuffer { page: page(0, 1, BLOCKS, 0), unit: 0, buffer: 0, keep: 0 }, &mut tags()),
        store.apply(&Move::BufferToBuffer { from: 0, to: 4, keep: 0 }, &mut tags()),
        store.apply(&Move::ZeroBuffer { buffer: 4, keep: 0 }, &mut tags()),
        store.apply(&Move::XorBuffer { from: 0, to: 4 }, &mut tags()),
    );
    refused!(tags = tags();
        tags.data(Tag(9)),
        tags.data_mut(Tag(9)),
        tags.sectors(Tag(9), 0, 1),
        tags.sectors_mut(Tag(9), 0, 1),
    );
}

#[test]
fn planes_and_blocks_of_an_address_refuse_them() {
    let geometry = Config { ..config() }.geometry;
    let at: PageAddr = page(0, 1, 0, 0);
    refused!(geometry = geometry;
        PlaneMask::one(16),
        geometry.block_index(at, PLANES),
        geometry.block_index(PageAddr { block: BLOCKS, ..at }, 0),
    );
}
