//! Refused requests, with their exact messages; they have no effect.

mod support;

use media::PageAddr;
use nvmm::{
    Address, Answer, Application, Config, Controller, Error, Nvmm, OpenError, Order, Permissions, Request, Token,
};
use support::flash::{Flash, PageContent};
use support::small::{config, world};
use support::world::World;

#[track_caller]
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
        (ONE, Request::Delete { address: at(3) }, "00007:0000003+0000: the page does not exist"),
        (
            ONE,
            Request::SetPermissions { address: at(3), permissions: read_only },
            "00007:0000003+0000: the page does not exist",
        ),
        (TWO, read(1, 1), "00007:0000001+0000: application 2 may not read it"),
        (TWO, write(1, 1), "00007:0000001+0000: application 2 may not write it"),
        (ONE, write(2, 1), "00007:0000002+0000: application 1 may not write it"),
        (TWO, Request::Delete { address: at(1) }, "00007:0000001+0000: application 2 may not write it"),
        (
            TWO,
            Request::SetPermissions { address: at(1), permissions: Permissions::SHARED },
            "00007:0000001+0000: application 2 may not set its permissions; application 1 owns it",
        ),
        (ONE, Request::Rollback { token: Token(9) }, "no state is kept for token 9; none is kept"),
        (ONE, Request::Drop { token: Token(0) }, "no state is kept for token 0; none is kept"),
    ];
    for (application, request, words) in table {
        assert_eq!(refusal(world.ask(application, request)), words, "{request:?}");
    }
    let tokens: Vec<Answer> = (0..3).map(|_| world.ask(ONE, Request::Sync)).collect();
    assert_eq!(tokens, [1, 2, 3].map(|token| Answer::Token(Token(token))));
    assert_eq!(refusal(world.ask(ONE, Request::Sync)), "3 tokens are live, which is the maximum: drop one first");
    assert_eq!(world.ask(ONE, Request::Drop { token: Token(3) }), Answer::Done);
    let gone = refusal(world.ask(ONE, Request::Rollback { token: Token(3) }));
    assert_eq!(gone, "no state is kept for token 3; the newest kept is 2");
    for _ in 0..30 {
        let alloc = Request::Alloc { controller: None, permissions: Permissions::PRIVATE };
        assert!(matches!(world.ask(ONE, alloc), Answer::Allocated(_)));
    }
    let alloc = Request::Alloc { controller: Some(Controller::LOCAL), permissions: Permissions::PRIVATE };
    assert_eq!(refusal(world.ask(ONE, alloc)), "all 32 pages are in use, by the present state or by kept ones");
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
        format!("no space: {needed} flash pages are in use and 8 more are needed, but the memory has room for {room}")
    );
    assert!(room - needed < 8);
    world.check();
    // Deleted data frees space, since the last sync did not contain it.
    assert_eq!(world.ask(ONE, Request::Delete { address: world.address(0) }), Answer::Done);
    let request = Request::Write { address: world.address(page), segments: 0xff };
    assert_eq!(world.ask(ONE, request), Answer::Done);
    world.check();
}

#[test]
fn a_memory_is_opened_only_as_what_it_is() {
    let made = world(config());
    let mut other = config();
    other.pages = 31;
    let error = Nvmm::open(other, &made.flash).err().expect("another size").to_string();
    assert_eq!(error, "the memory was created with other sizes: word 8 of its root is 32, expected 31");
    let blank = Flash::new(config().geometry, Order::Any, false);
    let words = |error: Option<OpenError>| error.expect("refused").to_string();
    assert_eq!(
        words(Nvmm::open(config(), &blank).err()),
        "no root found: not a memory, or its creation never completed"
    );
    let mut odd = config();
    odd.geometry.blocks = 41;
    let (found, expected) = (config().geometry, odd.geometry);
    assert_eq!(words(Nvmm::open(odd, &blank).err()), format!("the medium has {found:?}, expected {expected:?}"));
    type Change = fn(&mut Config);
    let faults: [(Change, &str); 19] = [
        (|c| c.segments = 5, "5 segments per page, expected 4, 8 or 16"),
        (|c| c.geometry.pages = 16, "16 pages per block, expected 32 (the reach of a vector) to 4096"),
        (|c| c.geometry.page_bytes = 1536, "page is 1536 bytes, expected a power of two from 512 to 65536"),
        (
            |c| c.controller = Controller::LOCAL_ONES,
            "controller number 0xfffff, expected 0x1 to 0xffffe (all zeros and all ones mean local)",
        ),
        (|c| c.pages = 0, "0 pages, expected 1 to 2^28"),
        (|c| c.versions = 31, "31 version entries, expected 32 to 2^30 - 32 pages"),
        (|c| c.management.collect_start = 1, "collection starts at 1 free blocks, expected at least 2"),
        (|c| c.management.journal_pages = 7, "7 pages of journal, expected at least 8"),
        (|c| c.geometry.planes = 17, "planes is 17, expected at most 16"),
        (|c| c.geometry.dies = 0, "dies is 0, expected at least 1"),
        (|c| c.geometry.unit_bytes = 500, "unit is 500 bytes, expected a multiple of 512"),
        (
            |c| c.open_blocks = 0,
            "0 open blocks, 4 tags and 3 tokens, expected at least 1 of each, and at most 4096 tokens",
        ),
        (|c| c.tags = 0, "1 open blocks, 0 tags and 3 tokens, expected at least 1 of each, and at most 4096 tokens"),
        (
            |c| c.management.tokens = 4097,
            "1 open blocks, 4 tags and 4097 tokens, expected at least 1 of each, and at most 4096 tokens",
        ),
        (|c| c.pages = (1 << 28) + 1, "268435457 pages, expected 1 to 2^28"),
        (|c| c.versions = 1 << 30, "1073741824 version entries, expected 32 to 2^30 - 32 pages"),
        (
            |c| (c.geometry.blocks, c.geometry.pages) = (1 << 22, 4096),
            "34359738368 mapping units, expected at most 4294967295: a larger unit maps a larger drive",
        ),
        (
            |c| c.geometry.blocks = 10,
            "20 blocks, of which 4 hold the root, 12 the table and 5 are reserved for collection: none is left for data",
        ),
        (|c| c.time_bits = 25, "25 bits of time for 3 tokens, expected at most 24, and more times than tokens"),
    ];
    for (change, words) in faults {
        let mut wrong = config();
        change(&mut wrong);
        assert_eq!(wrong.check().expect_err("wrong").to_string(), words);
    }
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_stays_readable() {
    let mut world = world(config());
    for page in [1, 2] {
        assert_eq!(world.ask(ONE, Request::Write { address: world.address(page), segments: 0b11 }), Answer::Done);
    }
    assert!(matches!(world.ask(ONE, Request::Sync), Answer::Token(_)));
    // The first stamp is in segment 0 of page 1.
    let damaged = world.flash.find(|held| *held == PageContent::Stamp(1)).expect("written");
    world.flash.tear(damaged);
    world.read_faults = f64::MIN_POSITIVE;
    let read = |page, segments| Request::Read { address: Address::new(Controller(7), page, 0), segments };
    assert_eq!(refusal(world.ask(ONE, read(1, 0b11))), "00007:0000001+0000: segment 0 cannot be read from flash");
    assert_eq!(world.ask(ONE, read(1, 0b10)), Answer::Done);
    assert_eq!(world.ask(ONE, read(2, 0b11)), Answer::Done);
    // An opened memory loads its table on demand, except for the part that the journal changes.
    world.power_cut();
    assert_eq!(world.ask(ONE, read(2, 0b11)), Answer::Done);
    world.power_cut();
    world.read_faults = 1.0;
    assert_eq!(refusal(world.ask(ONE, read(20, 1))), "a part of the page table cannot be read from flash");
    // There is nothing to open.
    let directory = world.flash.all(|held| matches!(held, PageContent::Own(bytes) if bytes[8] == 2));
    let number = |at: &PageAddr| (at.block * 2 + u32::from(at.die)) * 32 + at.page;
    let numbers: Vec<String> = directory.iter().map(|at| number(at).to_string()).collect();
    directory.into_iter().for_each(|page| world.flash.tear(page));
    let error = Nvmm::open(config(), &world.flash).err().expect("no directory").to_string();
    let (words, flash_page) = error.rsplit_once(' ').expect("words");
    assert_eq!(words, "the directory is unreadable: flash page");
    assert!(numbers.contains(&flash_page.to_owned()), "{flash_page} of {numbers:?}");
}

#[test]
fn too_few_entries_for_versions_are_told() {
    let mut small = config();
    (small.versions, small.management.tokens) = (40, 3);
    let mut world = world(small);
    let mut writes = 0;
    let words = loop {
        let write = Request::Write { address: world.address(writes % 32), segments: 1 };
        match world.ask(ONE, write) {
            Answer::Done => writes += 1,
            answer => break refusal(answer),
        }
    };
    assert_eq!(words, format!("no space: up to 10 version entries are needed, and {} are free", 24 - writes));
    assert!(writes > 10, "{writes} writes");
    world.check();
}

#[test]
fn a_worn_out_memory_is_read_and_not_written() {
    let mut flash = Flash::new(config().geometry, Order::Ascending, false);
    flash.endurance = Some((1, 3));
    let mut world = World::new(config(), flash, 3, nvmm::InjectedFault::None);
    let mut refused = None;
    for round in 0..10_000 {
        let write = Request::Write { address: world.address(round % 8), segments: 0xff };
        if let Answer::Refused(Error::WornOut) = world.ask(ONE, write) {
            refused = Some(round);
            break;
        }
    }
    assert!(refused.is_some(), "it wears out");
    let words = "the memory is worn out: it can be read but not written";
    assert_eq!(refusal(world.ask(ONE, Request::Write { address: world.address(1), segments: 1 })), words);
    assert_eq!(refusal(world.ask(ONE, Request::Sync)), words);
    let alloc = Request::Alloc { controller: None, permissions: Permissions::PRIVATE };
    assert_eq!(refusal(world.ask(ONE, alloc)), words);
    world.check();
}
