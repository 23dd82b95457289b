//! Each call by itself: what it refuses, with its exact words; controllers that forward; what opening and rolling back cost.

mod support;

use media::Geometry;
use nvmm::{
    Address, Answer, Application, Config, Controller, Nvmm, OpenError, Order, Permissions, Plant, Policy, Request,
    Token,
};
use support::flash::Flash;
use support::world::World;

fn config() -> Config {
    Config {
        controller: Controller(7),
        geometry: Geometry {
            channels: 2,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 40,
            pages: 32,
            page_bytes: 512,
            unit_bytes: 512,
        },
        segments: 8,
        pages: 32,
        versions: 512,
        order: Order::Ascending,
        policy: Policy::LongestChain,
        consolidate: true,
        collect_start: 2,
        open_blocks: 1,
        tokens: 3,
        tags: 4,
        journal_pages: 16,
        time_bits: 24,
    }
}

fn world(config: Config) -> World {
    let flash = Flash::new(config.geometry, config.order, false);
    World::new(config, flash, 1, Plant::Nothing)
}

fn refusal(answer: Answer) -> String {
    match answer {
        Answer::Refused(error) => error.to_string(),
        other => panic!("{other:?} is no refusal"),
    }
}

const ONE: Application = Application(1);
const TWO: Application = Application(2);

#[test]
fn misuses_are_told_in_these_words() {
    let mut world = world(config());
    let at = |page| Address::new(Controller(7), page, 0);
    let write = |page, segments| Request::Write { address: at(page), segments };
    let read = |page, segments| Request::Read { address: at(page), segments };
    let read_only = Permissions { write: false, ..Permissions::PRIVATE };
    assert_eq!(world.ask(ONE, write(1, 0xff)), Answer::Done);
    assert_eq!(world.ask(ONE, write(2, 1)), Answer::Done);
    assert_eq!(world.ask(ONE, Request::SetPermissions { address: at(2), permissions: read_only }), Answer::Done);
    let table = [
        (ONE, write(32, 1), "00007:0000020+0000: page 0x20 is beyond this memory's last, 0x1f"),
        (ONE, read(0xfff_ffff, 1), "00007:fffffff+0000: page 0xfffffff is beyond this memory's last, 0x1f"),
        (ONE, write(1, 0), "00007:0000001+0000: segments 0b0, expected some of 0b11111111"),
        (ONE, read(1, 0x100), "00007:0000001+0000: segments 0b100000000, expected some of 0b11111111"),
        (ONE, Request::Delete { address: at(3) }, "00007:0000003+0000: the page is not there"),
        (
            ONE,
            Request::SetPermissions { address: at(3), permissions: read_only },
            "00007:0000003+0000: the page is not there",
        ),
        (TWO, read(1, 1), "00007:0000001+0000: application 2 may not read it"),
        (TWO, write(1, 1), "00007:0000001+0000: application 2 may not write it"),
        (ONE, write(2, 1), "00007:0000002+0000: application 1 may not write it"),
        (TWO, Request::Delete { address: at(1) }, "00007:0000001+0000: application 2 may not write it"),
        (
            TWO,
            Request::SetPermissions { address: at(1), permissions: Permissions::SHARED },
            "00007:0000001+0000: application 2 may not set its permissions, they are application 1's to set",
        ),
        (ONE, Request::Rollback { token: Token(9) }, "token 9 stands for no state that is kept; none is"),
        (ONE, Request::Drop { token: Token(0) }, "token 0 stands for no state that is kept; none is"),
    ];
    for (application, request, words) in table {
        assert_eq!(refusal(world.ask(application, request)), words, "{request:?}");
    }
    let tokens: Vec<Answer> = (0..3).map(|_| world.ask(ONE, Request::Sync)).collect();
    assert_eq!(tokens, [1, 2, 3].map(|token| Answer::Token(Token(token))));
    assert_eq!(refusal(world.ask(ONE, Request::Sync)), "3 tokens are live, and no more can be: drop one first");
    assert_eq!(world.ask(ONE, Request::Drop { token: Token(3) }), Answer::Done);
    let gone = refusal(world.ask(ONE, Request::Rollback { token: Token(3) }));
    assert_eq!(gone, "token 3 stands for no state that is kept; the newest that does is 2");
    for _ in 0..30 {
        let alloc = Request::Alloc { controller: None, permissions: Permissions::PRIVATE };
        assert!(matches!(world.ask(ONE, alloc), Answer::Allocated(_)));
    }
    let alloc = Request::Alloc { controller: Some(Controller::LOCAL), permissions: Permissions::PRIVATE };
    assert_eq!(refusal(world.ask(ONE, alloc)), "all 32 pages are used, by the present or by states that are kept");
    world.check();
}

#[test]
fn no_space_is_told_and_nothing_is_half_done() {
    let mut small = config();
    (small.pages, small.geometry.blocks) = (256, 24);
    let mut world = world(small);
    let mut refused = None;
    for page in 0..256 {
        let request = Request::Write { address: world.address(page), segments: 0xff };
        if let Answer::Refused(error) = world.ask(ONE, request) {
            refused = Some((page, error.to_string()));
            break;
        }
    }
    let (page, words) = refused.expect("256 pages are more than there is");
    let room = world.nvmm.stats().capacity;
    let needed = u64::from(page) * 8;
    assert_eq!(
        words,
        format!("no space: {needed} flash pages are needed, 8 more were to be, and the memory has room for {room}")
    );
    assert!(room - needed < 8);
    world.check();
    // What is deleted is room again, though the last sync had nothing of it.
    assert_eq!(world.ask(ONE, Request::Delete { address: world.address(0) }), Answer::Done);
    let request = Request::Write { address: world.address(page), segments: 0xff };
    assert_eq!(world.ask(ONE, request), Answer::Done);
    world.check();
}

#[test]
fn requests_for_other_controllers_are_forwarded_and_local_ones_never() {
    let (mut seventh, mut eighth) = (world(config()), {
        let mut config = config();
        config.controller = Controller(8);
        world(config)
    });
    let there = Address::new(Controller(8), 5, 0);
    let write = Request::Write { address: there, segments: 3 };
    assert_eq!(seventh.ask_elsewhere(ONE, write), Answer::Forward(Controller(8)));
    assert_eq!(eighth.ask(ONE, write), Answer::Done);
    let alloc = Request::Alloc { controller: Some(Controller(8)), permissions: Permissions::PRIVATE };
    assert_eq!(seventh.ask_elsewhere(ONE, alloc), Answer::Forward(Controller(8)));
    let Answer::Allocated(address) = eighth.ask(ONE, alloc) else { panic!("there is room") };
    assert_eq!(address.controller(), Controller(8));
    for local in [Controller::LOCAL, Controller::LOCAL_ONES] {
        let write = Request::Write { address: Address::new(local, 6, 0), segments: 3 };
        assert_eq!(seventh.ask(ONE, write), Answer::Done);
        assert_eq!(eighth.ask(ONE, write), Answer::Done);
    }
    seventh.check();
    eighth.check();
}

#[test]
fn a_memory_is_opened_only_as_what_it_is() {
    let made = world(config());
    let mut other = config();
    other.pages = 31;
    let error = Nvmm::open(other, &made.flash).err().expect("another size").to_string();
    assert_eq!(
        error,
        "the memory was made with other sizes than it is opened with: word 8 of its root is 32, expected 31"
    );
    let blank = Flash::new(config().geometry, Order::Any, false);
    assert_eq!(Nvmm::open(config(), &blank).err(), Some(OpenError::NoRoot));
    let mut odd = config();
    odd.geometry.blocks = 41;
    assert!(matches!(Nvmm::open(odd, &blank), Err(OpenError::Geometry { .. })));
    type Change = fn(&mut Config);
    let faults: [(Change, &str); 9] = [
        (|c| c.segments = 5, "5 segments a page, expected 4, 8 or 16"),
        (|c| c.geometry.pages = 16, "16 pages a block, expected 32 (what a vector reaches) to 4096"),
        (|c| c.geometry.page_bytes = 1536, "page is 1536 bytes, expected a power of two from 512 to 65536"),
        (
            |c| c.controller = Controller::LOCAL_ONES,
            "controller 0xfffff is no number of one, expected 0x1 to 0xffffe (all zeros and all ones are local)",
        ),
        (|c| c.pages = 0, "0 pages, expected 1 to 2^28"),
        (|c| c.versions = 31, "31 entries for versions, expected 32 to 2^30 - 32 pages"),
        (|c| c.collect_start = 1, "collection starts at 1 free blocks, expected at least 2"),
        (|c| c.journal_pages = 7, "7 pages of journal, expected at least 8"),
        (|c| c.time_bits = 25, "25 bits of time for 3 tokens, expected at most 24, and more times than tokens"),
    ];
    for (change, words) in faults {
        let mut wrong = config();
        change(&mut wrong);
        assert_eq!(wrong.check().expect_err("wrong").to_string(), words);
    }
}

/// Only dirty segments are written: one a write of one, whatever else the page holds.
#[test]
fn only_dirty_segments_are_written() {
    let mut world = world(config());
    let host = |world: &World| world.nvmm.stats().programs[0];
    for (segments, pages) in [(0xff, 8), (0b10_0100, 2), (1, 1)] {
        let before = host(&world);
        let write = Request::Write { address: world.address(4), segments };
        assert_eq!(world.ask(ONE, write), Answer::Done);
        assert_eq!(host(&world) - before, pages);
    }
    world.check();
}

/// Pages wear out one by one: capacity shrinks, and what was synced stays, to the last write that is taken.
#[test]
fn worn_pages_take_capacity_and_nothing_else() {
    let mut config = config();
    config.tokens = 2;
    let mut flash = Flash::new(config.geometry, config.order, false);
    flash.endurance = Some((20, 80));
    let mut world = World::new(config, flash, 3, Plant::Nothing);
    let first = world.nvmm.stats().capacity;
    let (mut least, mut writes) = (first, 0);
    for round in 0..100_000u32 {
        let write = Request::Write { address: world.address(round * 7 % 24), segments: 0xff };
        match world.ask(ONE, write) {
            Answer::Done => writes += 1,
            Answer::Refused(_) => break,
            other => panic!("{other:?}"),
        }
        let capacity = world.nvmm.stats().capacity;
        assert!(capacity <= least, "capacity came back");
        least = capacity;
        if round % 50 == 0
            && let Answer::Token(token) = world.ask(ONE, Request::Sync)
        {
            world.ask(ONE, Request::Drop { token });
        }
    }
    assert!(least < first / 2, "{least} of {first} flash pages are left");
    assert!(writes > 1000, "{writes} writes");
    world.check();
}

/// A terabyte: what is read to open it are the roots, the directory of what was ever written, the journal, and the chunks
/// that the journal changes.
#[test]
fn a_terabyte_opens_without_being_looked_through() {
    let mut config = config();
    config.geometry = Geometry {
        channels: 16,
        chips: 2,
        dies: 2,
        planes: 2,
        blocks: 4096,
        pages: 256,
        page_bytes: 8192,
        unit_bytes: 8192,
    };
    assert_eq!(config.geometry.bytes(), 1 << 40);
    (config.pages, config.versions, config.journal_pages) = (12 << 20, 36 << 20, 512);
    let mut world = world(config);
    let mut reads = Vec::new();
    for pages in [0, 100, 200] {
        for n in 0..pages {
            let write = Request::Write { address: world.address(n * 59_999), segments: 0b11 };
            assert_eq!(world.ask(ONE, write), Answer::Done);
        }
        assert!(matches!(world.ask(ONE, Request::Sync), Answer::Token(_)));
        world.power_cut();
        reads.push(world.last_open.expect("opened").pages_read);
    }
    // Four blocks of roots, two of journal, and a directory of a page or two.
    let fixed = 4 * 256 + 2 * 256 + 4;
    assert!(reads[0] <= fixed, "{reads:?}");
    // A page's entry and the version below it, and whose the flash pages are: at most three chunks each.
    assert!(reads[1] <= fixed + 3 * 100 && reads[2] <= fixed + 3 * 200, "{reads:?}");
}

/// Rolling back looks at chunks that changed since, not at all.
#[test]
fn a_rollback_restores_each_token_exactly() {
    let mut world = world(config());
    let mut tokens = Vec::new();
    for round in 0..3u32 {
        for page in round * 8..32 {
            let write = Request::Write { address: world.address(page), segments: 1 << (page % 8) | 1 << round };
            assert_eq!(world.ask(ONE, write), Answer::Done);
        }
        let Answer::Token(token) = world.ask(ONE, Request::Sync) else { panic!("a token") };
        tokens.push(token);
    }
    for token in tokens.into_iter().rev() {
        let before = world.nvmm.stats().rolled_back;
        assert_eq!(world.ask(ONE, Request::Rollback { token }), Answer::Done);
        let changed = world.nvmm.stats().rolled_back - before;
        assert_eq!(changed, [24, 16, 0][token.0 as usize - 1]);
        world.check();
    }
}
