//! The frames against an obvious second implementation: a list of pages in the order in which they came.

use media::{BlockAddr, Class, OpId, PageAddr, PlaneMask, ReadOp};
use proptest::prelude::*;
use read_ahead::section::ReadAhead as Section;
use read_ahead::{ReadAhead, Served};
use sim::Time;

const UNIT: u64 = 4096;
const PAGE: u64 = 16384;
const FRAMES: usize = 8;

/// Die, block, page, plane.
type Place = (u16, u32, u32, u32);

/// Pages of one plane, each with the operation that reads it, if it is still on its way.
#[derive(Default)]
struct List {
    /// One entry per frame, filled in turn.
    frames: Vec<Option<(Place, Option<u32>)>>,
    next: usize,
}

impl List {
    fn new() -> List {
        List { frames: vec![None; FRAMES], next: 0 }
    }

    fn state(&self, place: Place) -> Option<Option<u32>> {
        self.frames.iter().flatten().find(|(held, _)| *held == place).map(|(_, load)| *load)
    }

    fn served(&self, op: &ReadOp) -> Served {
        let states: Vec<_> = places(op.page).map(|place| self.state(place)).collect();
        match () {
            () if states.iter().any(Option::is_none) => Served::Not,
            () if states.iter().flatten().any(Option::is_some) => Served::Later,
            () => Served::Now,
        }
    }

    /// Returns the planes that are read.
    fn begin(&mut self, op: &ReadOp) -> u16 {
        let missing: Vec<_> = places(op.page).filter(|place| self.state(*place).is_none()).collect();
        let free = (0..FRAMES).map(|offset| (self.next + offset) % FRAMES);
        let room = free.take_while(|frame| !matches!(self.frames[*frame], Some((_, Some(_))))).count();
        if missing.is_empty() || room < missing.len() {
            return 0;
        }
        for place in &missing {
            self.frames[self.next] = Some((*place, Some(op.id.0)));
            self.next = (self.next + 1) % FRAMES;
        }
        missing.iter().map(|place| 1 << place.3).sum()
    }

    fn end(&mut self, id: u32, read: bool) {
        for frame in &mut self.frames {
            match frame {
                Some((_, load)) if *load == Some(id) && read => *load = None,
                Some((_, load)) if *load == Some(id) => *frame = None,
                _ => {}
            }
        }
    }

    fn erase(&mut self, die: u16, block: u32) {
        for frame in &mut self.frames {
            if matches!(frame, Some((place, _)) if (place.0, place.1) == (die, block)) {
                *frame = None;
            }
        }
    }
}

fn places(page: PageAddr) -> impl Iterator<Item = Place> {
    page.planes.iter().map(move |plane| (page.die, page.block, page.page, plane))
}

#[derive(Clone, Debug)]
enum Step {
    Begin(u16, u32, u32, u16),
    Serve(u16, u32, u32, u16),
    /// Ends the read ahead of this number, modulo those in progress; false if it failed.
    End(usize, bool),
    /// Erases a block none of whose pages is being read, as the translation layer sees to.
    Erase(u16, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let page = || (0..2u16, 0..2u32, 0..4u32, 1..4u16);
    prop_oneof![
        3 => page().prop_map(|(die, block, page, planes)| Step::Begin(die, block, page, planes)),
        4 => page().prop_map(|(die, block, page, planes)| Step::Serve(die, block, page, planes)),
        3 => (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(which, read)| Step::End(which, read)),
        1 => (0..2u16, 0..2u32).prop_map(|(die, block)| Step::Erase(die, block)),
    ]
}

fn read(id: u32, (die, block, page, planes): (u16, u32, u32, u16)) -> ReadOp {
    let page = PageAddr { die, planes: PlaneMask(planes), block, page };
    ReadOp { id: OpId(id), page, bytes: page.planes.count() * PAGE as u32, class: Class::Host }
}

proptest! {
    #[test]
    fn pages_are_here_as_in_a_list(steps in prop::collection::vec(step(), 1..120)) {
        let section = Section { size: FRAMES as u64 * PAGE, streams: 2, wait: Time::ZERO, after: 2 };
        let (mut ahead, mut list) = (ReadAhead::new(&section, UNIT, PAGE).unwrap(), List::new());
        let (mut loads, mut waiting): (Vec<ReadOp>, Vec<ReadOp>) = Default::default();
        for (id, step) in (0..).zip(steps) {
            match step {
                Step::Begin(die, block, page, planes) => {
                    let op = read(id, (die, block, page, planes));
                    let expected = list.begin(&op);
                    let begun = ahead.begin(op);
                    prop_assert_eq!(begun.map_or(0, |op| op.page.planes.0), expected);
                    prop_assert!(begun.is_none_or(|op| u64::from(op.bytes) == u64::from(op.page.planes.count()) * PAGE));
                    loads.extend(begun);
                }
                Step::Serve(die, block, page, planes) => {
                    let op = read(id, (die, block, page, planes));
                    let served = ahead.serve(&op);
                    prop_assert_eq!(served, list.served(&op));
                    if served == Served::Later {
                        waiting.push(op);
                    }
                }
                Step::End(..) if loads.is_empty() => prop_assert_eq!(ahead.end(OpId(id), true), None),
                Step::End(which, read) => {
                    let load = loads.swap_remove(which % loads.len());
                    list.end(load.id.0, read);
                    let ended = ahead.end(load.id, read).expect("a read ahead");
                    let by = |wanted: Served| -> Vec<ReadOp> {
                        waiting.iter().filter(|op| list.served(op) == wanted).copied().collect()
                    };
                    prop_assert_eq!(ended.served, by(Served::Now).iter().map(|op| op.id).collect::<Vec<_>>());
                    prop_assert_eq!(ended.unserved, by(Served::Not));
                    waiting.retain(|op| list.served(op) == Served::Later);
                }
                Step::Erase(die, block) => {
                    if !loads.iter().chain(&waiting).any(|op| (op.page.die, op.page.block) == (die, block)) {
                        list.erase(die, block);
                        ahead.erase(BlockAddr { die, planes: PlaneMask(3), block });
                    }
                }
            }
        }
    }
}
