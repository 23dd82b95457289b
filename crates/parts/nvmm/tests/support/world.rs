//! The controller on the obvious flash, compared with the obvious memory.

use media::{Action, EraseOp, OpId, ProgramOp, ReadOp, Status, Tag};
use nvmm::{
    Actions, Address, Answer, Application, Config, Content, Controller, Error, InjectedFault, Input, Move, Nvmm,
    OpenReport, Permissions, Request, Token,
};
use sim::{Rng, Streams, Time};

use super::flash::{Flash, PageContent};
use super::memory::{Memory, Page, Pages};

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) application: Application,
    /// Stamps written, or read so far, by segment.
    pub(super) data: Vec<Option<u64>>,
    /// A rollback happened meanwhile, so its data is unspecified.
    pub(super) loose: bool,
}

pub(super) enum Pending {
    Read(ReadOp),
    Program(ProgramOp, PageContent),
    /// With the number of programs completed at its request.
    Erase(EraseOp, u64),
    Barrier(OpId),
}

pub struct World {
    pub config: Config,
    pub nvmm: Nvmm,
    pub flash: Flash,
    pub memory: Memory,
    pub(super) asked: Vec<Option<Asked>>,
    pub(super) pending: Vec<Pending>,
    pub(super) buffers: Vec<Option<PageContent>>,
    pub(super) out: Actions,
    pub rng: Rng,
    pub(super) stamps: u64,
    pub(super) injected: InjectedFault,
    /// Probability that a read fails.
    pub read_faults: f64,
    pub erase_faults: f64,
    pub cuts: u64,
    pub refusals: [u64; 3],
    pub(super) last_token: u64,
    pub answers: Vec<Answer>,
    /// Collects reads, instead of comparing them with the obvious memory.
    pub(super) probe: Option<Vec<u64>>,
    pub last_open: Option<OpenReport>,
    /// Collections, sweeps, renumberings, checkpoints, pages rolled back and pages merged, over all power cuts.
    pub done: [u64; 6],
}

impl World {
    pub fn new(config: Config, mut flash: Flash, seed: u64, injected: InjectedFault) -> World {
        flash.geometry = config.geometry;
        let mut nvmm = Nvmm::format(config.clone(), &flash).unwrap_or_else(|error| panic!("{error}"));
        nvmm.inject(injected);
        let mut world = World {
            nvmm,
            flash,
            memory: Memory::new(),
            asked: vec![None; config.tags as usize],
            pending: Vec::new(),
            buffers: vec![None; config.segments as usize],
            out: Actions::default(),
            rng: Streams::new(seed).stream("test.world"),
            stamps: 0,
            injected,
            read_faults: 0.0,
            erase_faults: 0.0,
            cuts: 0,
            refusals: [0; 3],
            last_token: 0,
            answers: Vec::new(),
            probe: None,
            last_open: None,
            done: [0; 6],
            config,
        };
        // A new memory is complete once its first root is durable; a delete of a missing page waits for that.
        let refused = world.ask(Application(1), Request::Delete { address: world.address(0) });
        assert_eq!(refused, Answer::Refused(Error::NotThere { address: world.address(0) }));
        world
    }

    pub fn address(&self, page: u32) -> Address {
        Address::new(self.config.controller, page, 0)
    }

    fn all(&self) -> u32 {
        (1 << self.config.segments) - 1
    }

    fn free_tag(&self) -> Option<Tag> {
        self.asked.iter().position(Option::is_none).map(|tag| Tag(tag as u32))
    }

    /// Makes a request and completes all operations.
    pub fn ask(&mut self, application: Application, request: Request) -> Answer {
        self.drain();
        self.answers.clear();
        self.submit(application, request);
        self.drain();
        assert_eq!(self.answers.len(), 1, "{request:?} is not answered");
        self.answers.pop().expect("one")
    }

    /// Makes a request for another controller.
    pub fn ask_elsewhere(&mut self, application: Application, request: Request) -> Answer {
        let tag = self.free_tag().expect("a tag");
        let mut out = Actions::default();
        self.nvmm.handle(Time::ZERO, Input::Request { tag, application, request }, &mut out);
        assert!(out.actions.is_empty() && out.moves.is_empty() && out.replies.len() == 1);
        out.replies.pop().expect("one").answer
    }

    pub fn drain(&mut self) {
        while self.end_one() {}
        assert!(self.asked.iter().all(Option::is_none), "nothing is under way, and requests wait: {:?}", self.asked);
    }

    pub fn submit(&mut self, application: Application, request: Request) {
        let tag = self.free_tag().expect("a tag");
        let mut data = vec![None; self.config.segments as usize];
        if let Request::Write { segments, .. } = request {
            for segment in (0..self.config.segments).filter(|s| segments >> s & 1 != 0) {
                self.stamps += 1;
                data[segment as usize] = Some(self.stamps);
            }
        }
        self.asked[tag.0 as usize] = Some(Asked { request, application, data, loose: false });
        self.handle(Input::Request { tag, application, request });
    }

    fn handle(&mut self, input: Input) {
        self.nvmm.handle(Time::ZERO, input, &mut self.out);
        self.take_actions();
    }

    fn take_actions(&mut self) {
        for moved in std::mem::take(&mut self.out.moves) {
            self.apply(moved);
        }
        for action in std::mem::take(&mut self.out.actions) {
            match action {
                Action::Read(op) => self.pending.push(Pending::Read(op)),
                Action::Program(op) => {
                    let held = match self.nvmm.content(op.id) {
                        Content::Host { tag, segment } => {
                            let asked = self.asked[tag.0 as usize].as_ref().expect("a write under way");
                            PageContent::Stamp(asked.data[segment as usize].expect("a segment of the write"))
                        }
                        Content::Buffer(buffer) => {
                            self.buffers[buffer as usize].clone().expect("something was read into the buffer")
                        }
                        Content::Own(bytes) => PageContent::Own(bytes.to_vec()),
                    };
                    self.pending.push(Pending::Program(op, held));
                }
                Action::Erase(op) => self.pending.push(Pending::Erase(op, self.flash.mark())),
                Action::Retire(block) => self.flash.retire(block),
                Action::Barrier(id) => self.pending.push(Pending::Barrier(id)),
                other => panic!("{other:?} is not for this controller"),
            }
        }
        for reply in std::mem::take(&mut self.out.replies) {
            self.replied(reply);
        }
    }

    fn apply(&mut self, moved: Move) {
        let stamp = |held: &PageContent| match held {
            PageContent::Stamp(stamp) => *stamp,
            other => panic!("{moved:?} finds {other:?}"),
        };
        match moved {
            Move::FlashToHost { page, tag, segment } => {
                let stamp = stamp(self.flash.held(page));
                self.asked[tag.0 as usize].as_mut().expect("a read").data[segment as usize] = Some(stamp);
            }
            Move::ZeroToHost { tag, segment } => {
                self.asked[tag.0 as usize].as_mut().expect("a read").data[segment as usize] = Some(0);
            }
            Move::FlashToBuffer { page, buffer } => {
                let held = self.flash.held(page).clone();
                stamp(&held);
                self.buffers[buffer as usize] = Some(held);
            }
        }
    }

    /// Completes one operation: any, except that programs and erases of a die complete in order. Returns false if none
    /// is under way.
    pub fn end_one(&mut self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let mut at = self.rng.below(self.pending.len() as u64) as usize;
        let die = |pending: &Pending| match pending {
            Pending::Program(op, _) => Some(op.page.die),
            Pending::Erase(op, _) => Some(op.block.die),
            _ => None,
        };
        if let Some(of) = die(&self.pending[at]) {
            at = self.pending.iter().position(|pending| die(pending) == Some(of)).expect("itself");
        }
        let (id, status, content) = match self.pending.remove(at) {
            Pending::Read(op) => {
                let held = self.flash.held(op.page);
                let fails = self.read_faults > 0.0 && self.rng.chance(self.read_faults);
                let status = if fails || *held == PageContent::Torn { Status::Uncorrectable } else { Status::Ok };
                let content = if let PageContent::Own(bytes) = held { bytes.clone() } else { Vec::new() };
                (op.id, status, content)
            }
            Pending::Program(op, held) => {
                let worn = self.flash.program(op.page, held);
                (op.id, if worn { Status::Failed } else { Status::Ok }, Vec::new())
            }
            Pending::Erase(op, mark) => {
                let fails = self.erase_faults > 0.0 && self.rng.chance(self.erase_faults);
                self.flash.erase(op.block, mark);
                (op.id, if fails { Status::Failed } else { Status::Ok }, Vec::new())
            }
            Pending::Barrier(id) => {
                self.flash.barrier();
                (id, Status::Ok, Vec::new())
            }
        };
        self.handle(Input::Done { id, status, content: &content });
        true
    }

    /// Adds the controller's counters to the totals.
    pub fn count(&mut self) {
        let stats = self.nvmm.stats();
        let nvmm::Stats { collected, sweeps, renumberings, checkpoints, rolled_back, gathered, .. } = stats;
        let now = [collected, sweeps, renumberings, checkpoints, rolled_back, gathered];
        self.done.iter_mut().zip(now).for_each(|(done, now)| *done += now);
    }

    /// Returns whether a page of a commit is being programmed.
    pub fn commits(&self) -> bool {
        self.pending.iter().any(|op| matches!(op, Pending::Program(_, PageContent::Own(_)) | Pending::Barrier(_)))
    }

    /// Cuts the power and opens the memory again: it is in the state of the last completed sync, rollback or drop, or
    /// of one that was under way.
    pub fn power_cut(&mut self) {
        self.cuts += 1;
        self.count();
        let pending = std::mem::take(&mut self.pending);
        for op in pending {
            match op {
                Pending::Program(op, held) if self.rng.chance(0.5) => {
                    let in_order = self.flash.order == nvmm::Order::Ascending;
                    if *self.flash.held(op.page) == PageContent::Erased && !in_order && self.rng.chance(0.3) {
                        self.flash.program(op.page, held);
                    } else {
                        self.flash.tear(op.page);
                    }
                }
                Pending::Erase(op, mark) => match self.rng.below(3) {
                    0 => self.flash.erase(op.block, mark),
                    1 => self.flash.tear_erase(op.block),
                    _ => {}
                },
                _ => {}
            }
        }
        let mut rng = self.rng.clone();
        self.flash.power_cut(&mut rng);
        self.rng = rng;
        let asked: Vec<Asked> = std::mem::take(&mut self.asked).into_iter().flatten().collect();
        self.asked = vec![None; self.config.tags as usize];
        self.out = Actions::default();
        let (nvmm, report) = Nvmm::open(self.config.clone(), &self.flash).unwrap_or_else(|error| panic!("{error}"));
        assert!(report.pages_read < 100_000);
        self.last_open = Some(report);
        self.nvmm = nvmm;
        self.nvmm.inject(self.injected);
        let mut before = self.memory.clone();
        before.power_cut();
        let mut choices = vec![before.clone()];
        let tokens: Vec<Token> = self.nvmm.tokens().collect();
        for asked in &asked {
            let mut after = before.clone();
            match asked.request {
                Request::Sync => {
                    let token = Token(tokens.last().map_or(0, |token| token.0));
                    if token.0 > self.last_token {
                        after = self.memory.clone();
                        after.sync(token);
                    }
                }
                Request::Flush => {
                    after = self.memory.clone();
                    after.flush();
                }
                Request::Replace { token: old } => {
                    let token = Token(tokens.last().map_or(0, |token| token.0));
                    if token.0 > self.last_token {
                        after = self.memory.clone();
                        after.drop_token(old);
                        after.sync(token);
                    }
                }
                Request::Rollback { token } if after.find(token).is_some() => after.rollback(token),
                Request::Drop { token } => after.drop_token(token),
                _ => continue,
            }
            choices.push(after);
        }
        choices.retain(|memory| memory.tokens.iter().map(|(token, _)| *token).eq(tokens.iter().copied()));
        let known: Vec<Token> = self.memory.tokens.iter().map(|(token, _)| *token).collect();
        assert!(!choices.is_empty(), "tokens {tokens:?} are live, after {known:?} and {asked:?}");
        choices.dedup();
        self.memory = match choices.len() {
            1 => choices.pop().expect("one"),
            _ => {
                let found = self.snapshot();
                let is = |choice: &Memory| Self::readable(&choice.now) == found;
                choices.into_iter().find(is).expect("the memory is in a state that it could be in")
            }
        };
        self.last_token = self.last_token.max(tokens.last().map_or(0, |token| token.0));
    }

    /// Returns the visible content of a memory: unreadable pages have no segments.
    fn readable(pages: &Pages) -> Pages {
        let mut pages = pages.clone();
        for page in pages.values_mut().filter(|page| Self::reader(page).is_none()) {
            page.segments.clear();
        }
        pages
    }

    /// Lets the controller load its entries of a page.
    fn bring(&mut self, page: u32) {
        while !self.nvmm.prefetch(page, &mut self.out) {
            self.take_actions();
            assert!(self.end_one(), "page {page} does not come");
        }
    }

    /// Returns the memory's visible content.
    fn snapshot(&mut self) -> Pages {
        let mut pages = Pages::new();
        let faults = std::mem::take(&mut self.read_faults);
        for number in 0..self.config.pages {
            self.bring(number);
            let Some((permissions, owner)) = self.nvmm.ownership(number).expect("in DRAM") else { continue };
            let mut page = Page { owner, permissions, segments: Vec::new() };
            if let Some(reader) = Self::reader(&page) {
                self.probe = Some(Vec::new());
                let request = Request::Read { address: self.address(number), segments: self.all() };
                assert_eq!(self.ask(reader, request), Answer::Done);
                page.segments = self.probe.take().expect("answered");
            }
            pages.insert(number, page);
        }
        self.read_faults = faults;
        pages
    }

    fn reader(page: &Page) -> Option<Application> {
        [page.owner, Application(page.owner.0 + 1)].into_iter().find(|application| page.may_read(*application))
    }

    /// Checks every page, and the count of needed flash pages.
    pub fn check(&mut self) {
        self.drain();
        for page in 0..self.config.pages {
            match self.memory.now.get(&page).cloned() {
                Some(expected) => {
                    if let Some(reader) = Self::reader(&expected) {
                        let request = Request::Read { address: self.address(page), segments: self.all() };
                        let answer = self.ask(reader, request);
                        assert!(answer == Answer::Done || self.read_faults > 0.0, "{answer:?}");
                    }
                }
                None => {
                    let answer = self.ask(Application(1), Request::Delete { address: self.address(page) });
                    let broken = answer == Answer::Refused(Error::TableUnreadable) && self.read_faults > 0.0;
                    assert!(broken || matches!(answer, Answer::Refused(Error::NotThere { .. })), "{answer:?}");
                }
            }
            let expected = self.memory.now.get(&page).map(|page| (page.permissions, page.owner));
            self.bring(page);
            let standing = self.nvmm.ownership(page);
            assert!(
                standing == Some(expected) || standing.is_none() && self.read_faults > 0.0,
                "page {page}: {standing:?}"
            );
        }
        let tokens: Vec<Token> = self.memory.tokens.iter().map(|(token, _)| *token).collect();
        assert_eq!(self.nvmm.tokens().collect::<Vec<_>>(), tokens);
        let (known, counted) = (self.memory.needed(), self.nvmm.stats().needed);
        assert!(counted >= known, "{counted} flash pages are counted, {known} are needed");
    }

    /// Makes one random step: a request, or the end of an operation.
    pub fn step(&mut self, busy: f64) {
        if self.rng.chance(busy) && self.submit_random() {
            return;
        }
        self.end_one();
    }

    fn is_busy(&self, page: u32) -> bool {
        self.asked.iter().flatten().any(|asked| match asked.request {
            Request::Read { address, .. }
            | Request::Write { address, .. }
            | Request::Delete { address }
            | Request::SetPermissions { address, .. } => address.page() == page,
            _ => false,
        })
    }

    fn has_fence(&self) -> bool {
        self.asked.iter().flatten().any(|asked| {
            matches!(
                asked.request,
                Request::Sync
                    | Request::Flush
                    | Request::Replace { .. }
                    | Request::Rollback { .. }
                    | Request::Drop { .. }
                    | Request::End
            )
        })
    }

    fn submit_random(&mut self) -> bool {
        if self.free_tag().is_none() {
            return false;
        }
        let rng = &mut self.rng;
        let application = Application(1 + rng.below(3) as u32);
        let kind = rng.below(100);
        let page = rng.below(u64::from(self.config.pages)) as u32;
        let bits = rng.bits();
        let permissions = Permissions {
            read: bits & 7 != 0,
            write: bits >> 3 & 7 != 0,
            others_read: bits >> 6 & 1 != 0,
            others_write: bits >> 7 & 1 != 0,
            permanent: bits >> 8 & 1 != 0,
        };
        let all = (1u32 << self.config.segments) - 1;
        let some = match rng.below(4) {
            0 => all,
            1 => 1 << rng.below(u64::from(self.config.segments)),
            2 => (rng.half() & all).max(1),
            _ => (rng.half() & rng.half() & all).max(1),
        };
        let local = [Controller::LOCAL, Controller::LOCAL_ONES, self.config.controller][rng.below(3) as usize];
        let address = Address::new(local, page, rng.below(1 << 16) as u32);
        let token = match self.memory.tokens.len() as u64 {
            0 => Token(rng.below(4)),
            n if rng.chance(0.9) => self.memory.tokens[rng.below(n) as usize].0,
            _ => Token(rng.below(self.last_token + 2)),
        };
        let request = match kind {
            0..50 => Request::Write { address, segments: some },
            50..70 => Request::Read { address, segments: some },
            70..76 => Request::Delete { address },
            76..80 => Request::SetPermissions { address, permissions },
            80..84 => Request::Alloc { controller: None, permissions },
            84..88 => Request::Sync,
            88..90 => Request::Flush,
            90 => Request::Replace { token },
            91..93 => Request::Rollback { token },
            93..98 => Request::Drop { token },
            _ => Request::End,
        };
        let of_page = kind < 80;
        // Such a read may see, or create, the state before or after.
        let going_back =
            self.asked.iter().flatten().any(|a| matches!(a.request, Request::Rollback { .. } | Request::End));
        if going_back && matches!(request, Request::Read { .. }) {
            return false;
        }
        if of_page && self.is_busy(page) || !(of_page || (80..84).contains(&kind)) && self.has_fence() {
            return false;
        }
        self.submit(application, request);
        true
    }
}
