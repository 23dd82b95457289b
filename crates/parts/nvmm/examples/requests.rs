//! Reads or writes through a controller alone, on flash that completes everything at once and keeps only the
//! controller's metadata: `requests read|write COUNT`. For counting instructions and bytes of DRAM.

use std::collections::BTreeMap;

use media::{Action, BlockAddr, Geometry, PageAddr, Status, Tag};
use nvmm::{
    Actions, Address, Application, Config, Content, Controller, Input, Management, Medium, Nvmm, Order, Policy, Request,
};
use sim::{Streams, Time};

struct Flash(Geometry);

impl Medium for Flash {
    fn geometry(&self) -> &Geometry {
        &self.0
    }
    fn is_bad(&self, _: BlockAddr) -> bool {
        false
    }
    fn read(&self, _: PageAddr, _: &mut Vec<u8>) -> bool {
        false
    }
}

struct World {
    nvmm: Nvmm,
    own: BTreeMap<(u16, u16, u32, u32), Vec<u8>>,
    out: Actions,
}

impl World {
    fn ask(&mut self, request: Request) {
        let mut input = Some((Tag(0), request));
        let mut waiting: Vec<Action> = Vec::new();
        loop {
            match (input.take(), waiting.pop()) {
                (Some((tag, request)), _) => {
                    let input = Input::Request { tag, application: Application(1), request };
                    self.nvmm.handle(Time::ZERO, input, &mut self.out);
                }
                (None, Some(action)) => self.end(action),
                (None, None) => break,
            }
            self.out.moves.clear();
            waiting.append(&mut self.out.actions);
        }
        assert_eq!(self.out.replies.pop().expect("answered").answer, nvmm::Answer::Done);
    }

    fn end(&mut self, action: Action) {
        let at = |page: PageAddr| (page.die, page.planes.0, page.block, page.page);
        let (id, content) = match action {
            Action::Read(op) => (op.id, self.own.get(&at(op.page)).map_or(&[][..], Vec::as_slice)),
            Action::Program(op) => {
                if let Content::Own(bytes) = self.nvmm.content(op.id) {
                    self.own.insert(at(op.page), bytes.to_vec());
                }
                (op.id, &[][..])
            }
            Action::Erase(op) => (op.id, &[][..]),
            Action::Barrier(id) => (id, &[][..]),
            other => panic!("{other:?}"),
        };
        self.nvmm.handle(Time::ZERO, Input::Done { id, status: Status::Ok, content }, &mut self.out);
    }
}

/// The measured part, known to callgrind by its name.
#[inline(never)]
fn measured(world: &mut World, write: bool, count: u64, pages: u64) {
    let mut rng = Streams::new(1).stream("requests");
    for _ in 0..count {
        let address = Address::new(Controller(1), rng.below(pages) as u32, 0);
        let segments = 1 << rng.below(8);
        world.ask(if write { Request::Write { address, segments } } else { Request::Read { address, segments } });
    }
}

fn main() -> Result<(), String> {
    let usage = "requests read|write COUNT";
    let mut arguments = std::env::args().skip(1);
    let write = match arguments.next().as_deref() {
        Some("read") => false,
        Some("write") => true,
        _ => return Err(usage.to_owned()),
    };
    let count: u64 = arguments.next().and_then(|n| n.parse().ok()).ok_or(usage)?;
    let geometry = Geometry {
        channels: 4,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 160,
        pages: 128,
        page_bytes: 8192,
        unit_bytes: 8192,
    };
    let pages = 6000;
    let config = Config {
        controller: Controller(1),
        geometry,
        segments: 8,
        pages,
        versions: 3 * pages,
        order: Order::Ascending,
        open_blocks: 4,
        tags: 1,
        time_bits: 24,
        management: Management { policy: Policy::Greedy, collect_start: 2, tokens: 8, journal_pages: 64 },
    };
    let nvmm = Nvmm::format(config, &Flash(geometry)).map_err(|error| error.to_string())?;
    let mut world = World { nvmm, own: BTreeMap::new(), out: Actions::default() };
    for page in 0..pages {
        world.ask(Request::Write { address: Address::new(Controller(1), page, 0), segments: 0xff });
    }
    measured(&mut world, write, count, pages.into());
    let stats = world.nvmm.stats();
    println!(
        "{} bytes of DRAM a page; flash pages programmed for the host {}, the table {}, collection {}",
        stats.dram_bytes / u64::from(pages),
        stats.programs[0],
        stats.programs[1],
        stats.programs[2]
    );
    Ok(())
}
