//! A prefilled memory compared with one that was really written in that order: the same data in the same places, and
//! the same counts.

mod support;

use media::{Action, BlockAddr, Geometry, PageAddr, Status, Tag};
use nvmm::{Actions, Address, Answer, Application, Config, Content, Controller, Input, Move, Nvmm, Request};
use sim::Time;
use std::collections::{BTreeMap, BTreeSet};

use support::flash::Flash;

fn config() -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 40,
        pages: 64,
        page_bytes: 4096,
        unit_bytes: 4096,
    };
    Config {
        controller: Controller(1),
        geometry,
        segments: 8,
        pages: 200,
        versions: 200 * 8 + 200,
        order: nvmm::Order::Ascending,
        open_blocks: 3,
        tags: 1,
        time_bits: 24,
        management: nvmm::Management {
            policy: nvmm::Policy::LongestChain,
            collect_start: 2,
            tokens: 4,
            journal_pages: 16,
        },
    }
}

/// Flash that completes every operation at once.
struct World {
    nvmm: Nvmm,
    out: Actions,
    own: BTreeMap<(u16, u32, u32), Vec<u8>>,
    reads: Vec<PageAddr>,
    stamps: BTreeMap<(u16, u32, u32), u64>,
    stamp: u64,
    copies: BTreeMap<u32, u64>,
    erased: Vec<BlockAddr>,
    /// Pages programmed for writes, in order, and whether their block was erased before.
    written: Vec<(PageAddr, bool)>,
}

fn at(page: PageAddr) -> (u16, u32, u32) {
    (page.die, page.block, page.page)
}

impl World {
    fn new(nvmm: Nvmm) -> World {
        World {
            nvmm,
            out: Actions::default(),
            own: BTreeMap::new(),
            reads: Vec::new(),
            stamps: BTreeMap::new(),
            stamp: 0,
            copies: BTreeMap::new(),
            erased: Vec::new(),
            written: Vec::new(),
        }
    }

    fn ask(&mut self, request: Request) -> Answer {
        let input = Input::Request { tag: Tag(0), application: Application(1), request };
        self.nvmm.handle(Time::ZERO, input, &mut self.out);
        loop {
            for movement in std::mem::take(&mut self.out.moves) {
                match movement {
                    Move::FlashToHost { page, .. } => self.reads.push(page),
                    Move::FlashToBuffer { page, buffer } => {
                        self.copies.insert(buffer, self.stamps.get(&at(page)).copied().unwrap_or(0));
                    }
                    Move::ZeroToHost { .. } => panic!("all of it is written"),
                }
            }
            let actions = std::mem::take(&mut self.out.actions);
            if actions.is_empty() {
                break;
            }
            for action in actions {
                self.end(action);
            }
        }
        self.out.replies.pop().expect("answered").answer
    }

    fn end(&mut self, action: Action) {
        let (id, content) = match action {
            Action::Read(op) => (op.id, self.own.get(&at(op.page)).cloned().unwrap_or_default()),
            Action::Program(op) => {
                self.own.remove(&at(op.page));
                match self.nvmm.content(op.id) {
                    Content::Own(bytes) => drop(self.own.insert(at(op.page), bytes.to_vec())),
                    Content::Host { .. } => {
                        self.stamps.insert(at(op.page), self.stamp);
                        self.written.push((op.page, self.erased.contains(&op.page.block())));
                    }
                    Content::Buffer(buffer) => drop(self.stamps.insert(at(op.page), self.copies[&buffer])),
                }
                (op.id, Vec::new())
            }
            Action::Erase(op) => {
                self.erased.push(op.block);
                (op.id, Vec::new())
            }
            Action::Barrier(id) => (id, Vec::new()),
            other => panic!("{other:?}"),
        };
        self.nvmm.handle(Time::ZERO, Input::Done { id, status: Status::Ok, content: &content }, &mut self.out);
    }

    fn read(&mut self, page: u32, segment: u32) -> PageAddr {
        let address = Address::new(Controller(1), page, 0);
        assert_eq!(self.ask(Request::Read { address, segments: 1 << segment }), Answer::Done);
        self.reads.pop().expect("read from flash")
    }

    fn write(&mut self, page: u32, segment: u32) {
        let address = Address::new(Controller(1), page, 0);
        assert_eq!(self.ask(Request::Write { address, segments: 1 << segment }), Answer::Done);
    }
}

fn full() -> World {
    full_of(config())
}

fn full_of(config: Config) -> World {
    let flash = Flash::new(config.geometry, config.order, false);
    World::new(Nvmm::format_full(config, &flash).expect("it fits"))
}

#[test]
fn it_lies_where_writing_it_would_have_put_it() {
    let config = config();
    let flash = Flash::new(config.geometry, config.order, false);
    let mut written = World::new(Nvmm::format(config.clone(), &flash).expect("it can work"));
    for page in 0..config.pages {
        for segment in 0..config.segments {
            written.write(page, segment);
        }
    }
    let mut full = full();
    for page in 0..config.pages {
        for segment in 0..config.segments {
            assert_eq!(full.read(page, segment), written.read(page, segment), "segment {segment} of page {page}");
        }
    }
    let (a, b) = (full.nvmm.stats(), written.nvmm.stats());
    assert_eq!((a.needed, a.capacity, a.free_versions), (b.needed, b.capacity, b.free_versions));
}

#[test]
fn it_is_overwritten_and_collected_as_any_other() {
    let mut world = full();
    let mut rng = sim::Streams::new(3).stream("full");
    let mut newest: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for stamp in 1..20_000 {
        let (page, segment) = (rng.below(200) as u32, rng.below(8) as u32);
        world.stamp = stamp;
        world.write(page, segment);
        newest.insert((page, segment), stamp);
        let (page, segment) = (rng.below(200) as u32, rng.below(8) as u32);
        let place = world.read(page, segment);
        let expected = newest.get(&(page, segment)).copied().unwrap_or(0);
        assert_eq!(world.stamps.get(&at(place)).copied().unwrap_or(0), expected, "segment {segment} of page {page}");
    }
    let stats = world.nvmm.stats();
    assert!(stats.collected > 50, "{stats:?}");
    assert_eq!(stats.needed, 1600);
}

/// Opens the write points of a full memory, and writes. Returns the pages written in each block that was not erased
/// before, in the order of the blocks' first writes.
fn written_without_erase(config: Config) -> Vec<Vec<u32>> {
    let mut world = full_of(config);
    world.nvmm.open_points();
    for write in 0..400 {
        world.write(write % 200, write % 8);
    }
    let mut blocks: Vec<(BlockAddr, Vec<u32>)> = Vec::new();
    for (page, _) in world.written.iter().filter(|(_, erased)| !erased) {
        match blocks.iter_mut().find(|(block, _)| *block == page.block()) {
            Some((_, pages)) => pages.push(page.page),
            None => blocks.push((page.block(), vec![page.page])),
        }
    }
    blocks.into_iter().map(|(_, pages)| pages).collect()
}

/// Erases come due one after another.
#[test]
fn opened_write_points_have_one_share_of_a_block_left_two_shares_and_so_on() {
    for open_blocks in [1, 3, 5] {
        let pages = config().geometry.pages;
        let left = (1..=open_blocks).map(|shares| shares * pages / open_blocks);
        let expected: Vec<Vec<u32>> = left.map(|left| (pages - left..pages).collect()).collect();
        assert_eq!(written_without_erase(Config { open_blocks, ..config() }), expected);
    }
}

#[test]
fn write_points_leave_the_blocks_that_collection_needs() {
    let mut world = full();
    let segments = (0..config().pages).flat_map(|page| (0..config().segments).map(move |segment| (page, segment)));
    let used: BTreeSet<(u16, u32)> =
        segments.map(|(page, segment)| world.read(page, segment)).map(|place| (place.die, place.block)).collect();
    // Beside those for data are those reserved beyond it: one for each write point, and four.
    let blocks = world.nvmm.stats().capacity as u32 / config().geometry.pages + config().open_blocks + 4;
    let free = blocks - used.len() as u32;
    for opened in 0..=3 {
        let management = nvmm::Management { collect_start: free - 1 - opened, ..config().management };
        assert_eq!(written_without_erase(Config { management, ..config() }).len(), opened as usize, "{free} are free");
    }
    let management = nvmm::Management { collect_start: free, ..config().management };
    assert_eq!(written_without_erase(Config { management, ..config() }).len(), 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |config: Config| {
        let flash = Flash::new(config.geometry, config.order, false);
        Nvmm::format_full(config, &flash).err().expect("refused").to_string()
    };
    let found = refuse(Config { versions: 1600, ..config() });
    assert_eq!(found, "1600 version entries, expected at least 1632 for a memory whose pages are all written");
    let found = refuse(Config { pages: 600, versions: 6000, ..config() });
    assert!(found.starts_with("4800 flash pages of data, expected at most "), "{found}");
}
