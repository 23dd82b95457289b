//! The controller of a memory on a medium in memory that completes every operation at once, with a stamp in place of
//! each segment's data, compared with an array of stamps per kept state.

use std::collections::BTreeMap;

use media::{Action, PageAddr, Status, Tag};
use memory::Shape;
use nvmm::{
    Actions, Address, Answer, Application, Content, Controller, Error, Input, Medium, Move, Nvmm, Request, Token,
};
use sim::Time;

/// Requests submitted together.
const BATCH: usize = 32;

/// Flash without content.
struct Blank(media::Geometry);

impl Medium for Blank {
    fn geometry(&self) -> &media::Geometry {
        &self.0
    }
    fn is_bad(&self, _: media::BlockAddr) -> bool {
        false
    }
    fn read(&self, _: PageAddr, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// Stamps of all segments; 0: never written.
pub type State = Vec<u32>;

pub struct Endless {
    pub nvmm: Nvmm,
    out: Actions,
    /// Stamp per flash page.
    flash: Vec<u32>,
    /// Pages of the controller's own.
    own: BTreeMap<u64, Box<[u8]>>,
    buffers: [u32; 16],
    /// Stamps being written or read, by tag and segment.
    under_way: Vec<[u32; 16]>,
    answers: Vec<(Tag, Answer)>,
    pages_in_block: u64,
    segments: u32,
    pub now: State,
    pub synced: State,
    pub tokens: Vec<(Token, State)>,
    stamp: u32,
    /// Segments written.
    pub dirty: u64,
}

/// A refusal that live data justify.
#[derive(Debug)]
pub struct Full;

impl Endless {
    pub fn new(shape: Shape) -> Endless {
        let config = shape.config();
        let (pages, segments) = (config.pages as usize, config.segments);
        let flash = vec![0; config.geometry.blocks as usize * config.geometry.pages as usize];
        let mut nvmm = Nvmm::format(config.clone(), &Blank(config.geometry)).expect("a configuration that works");
        nvmm.keep_dense();
        nvmm.reserve(shape.reserve);
        let state = vec![0; pages * segments as usize];
        Endless {
            nvmm,
            out: Actions::default(),
            flash,
            own: BTreeMap::new(),
            buffers: [0; 16],
            under_way: vec![[0; 16]; BATCH],
            answers: Vec::new(),
            pages_in_block: config.geometry.pages.into(),
            segments,
            synced: state.clone(),
            now: state,
            tokens: Vec::new(),
            stamp: 0,
            dirty: 0,
        }
    }

    fn at(&self, page: PageAddr) -> u64 {
        u64::from(page.block) * self.pages_in_block + u64::from(page.page)
    }

    fn submit(&mut self, tag: usize, request: Request) {
        let tag = Tag(tag as u32);
        self.handle(Input::Request { tag, application: Application(1), request });
    }

    /// Performs all actions until none is left.
    pub fn drain(&mut self) {
        loop {
            let actions = std::mem::take(&mut self.out.actions);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                self.perform(action);
            }
        }
    }

    fn handle(&mut self, input: Input) {
        self.nvmm.handle(Time::ZERO, input, &mut self.out);
        for moved in std::mem::take(&mut self.out.moves) {
            match moved {
                Move::FlashToHost { page, tag, segment } => {
                    self.under_way[tag.0 as usize][segment as usize] = self.flash[self.at(page) as usize];
                }
                Move::ZeroToHost { tag, segment } => self.under_way[tag.0 as usize][segment as usize] = 0,
                Move::FlashToBuffer { page, buffer } => {
                    self.buffers[buffer as usize] = self.flash[self.at(page) as usize];
                }
            }
        }
        self.answers.extend(self.out.replies.drain(..).map(|reply| (reply.tag, reply.answer)));
    }

    fn perform(&mut self, action: Action) {
        let mut read = None;
        let id = match action {
            Action::Read(op) => {
                read = self.own.get(&self.at(op.page)).cloned();
                op.id
            }
            Action::Program(op) => {
                let at = self.at(op.page);
                match self.nvmm.content(op.id) {
                    Content::Own(bytes) => drop(self.own.insert(at, bytes.into())),
                    Content::Host { tag, segment } => {
                        self.flash[at as usize] = self.under_way[tag.0 as usize][segment as usize];
                    }
                    Content::Buffer(buffer) => self.flash[at as usize] = self.buffers[buffer as usize],
                }
                op.id
            }
            Action::Erase(op) => op.id,
            Action::Barrier(id) => id,
            other => panic!("{other:?}"),
        };
        self.handle(Input::Done { id, status: Status::Ok, content: read.as_deref().unwrap_or(&[]) });
    }

    fn ask(&mut self, request: Request) -> Answer {
        self.submit(0, request);
        self.drain();
        assert_eq!(self.answers.len(), 1, "{request:?} has one answer");
        self.answers.pop().expect("one").1
    }

    /// Writes segments, given by page, as the write-back of a sync does: all segments of a page in one request.
    pub fn write(&mut self, dirty: &BTreeMap<u32, u32>) -> Result<(), Full> {
        self.stamp += 1;
        let writes: Vec<(u32, u32)> = dirty.iter().map(|(page, segments)| (*page, *segments)).collect();
        for batch in writes.chunks(BATCH) {
            for (tag, (page, segments)) in batch.iter().enumerate() {
                self.under_way[tag] = [self.stamp; 16];
                self.submit(tag, self.request(*page, *segments));
            }
            self.drain();
            let answers = std::mem::take(&mut self.answers);
            assert_eq!(answers.len(), batch.len());
            for (tag, answer) in answers {
                let (page, segments) = batch[tag.0 as usize];
                match answer {
                    Answer::Done => self.written(page, segments),
                    // Promises to the other writes of the batch may have been in the way.
                    Answer::Refused(Error::NoSpace { .. } | Error::NoVersions { .. }) => {
                        self.write_alone(page, segments)?;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        Ok(())
    }

    fn request(&self, page: u32, segments: u32) -> Request {
        Request::Write { address: Address::new(Controller::LOCAL, page, 0), segments }
    }

    fn written(&mut self, page: u32, segments: u32) {
        self.dirty += u64::from(segments.count_ones());
        for segment in (0..self.segments).filter(|segment| segments >> segment & 1 != 0) {
            self.now[(page * self.segments + segment) as usize] = self.stamp;
        }
    }

    /// Writes without others under way. A refusal must be right: by the count of live data, or because compaction
    /// finds nothing either.
    fn write_alone(&mut self, page: u32, segments: u32) -> Result<(), Full> {
        self.under_way[0] = [self.stamp; 16];
        let refused = match self.ask(self.request(page, segments)) {
            Answer::Done => {
                self.written(page, segments);
                return Ok(());
            }
            Answer::Refused(refused) => refused,
            other => panic!("{other:?}"),
        };
        let live = self.live();
        match refused {
            Error::NoSpace { needed, wanted, room } => {
                assert_eq!((needed, wanted), (live, segments.count_ones().into()), "the controller counts live data");
                assert!(needed + wanted > room);
                assert_eq!(room, self.nvmm.stats().capacity);
            }
            Error::NoVersions { .. } => {
                self.nvmm.compact();
                let address = Address::new(Controller::LOCAL, page, 0);
                self.ask(Request::Read { address, segments: 1 });
                self.under_way[0] = [self.stamp; 16];
                let again = self.ask(self.request(page, segments));
                assert!(matches!(again, Answer::Refused(_)), "compaction found what the write did not: {refused}");
            }
            other => panic!("{other}"),
        }
        Err(Full)
    }

    /// Returns how many segments the present, the last sync and the tokens need, each version counted once.
    pub fn live(&self) -> u64 {
        let mut count = 0;
        let mut stamps = Vec::new();
        for at in 0..self.now.len() {
            stamps.clear();
            stamps.extend([self.now[at], self.synced[at]]);
            stamps.extend(self.tokens.iter().map(|(_, state)| state[at]));
            stamps.sort_unstable();
            stamps.dedup();
            count += stamps.iter().filter(|stamp| **stamp != 0).count() as u64;
        }
        count
    }

    pub fn sync(&mut self) {
        match self.ask(Request::Sync) {
            Answer::Token(token) => {
                self.synced.clone_from(&self.now);
                self.tokens.push((token, self.now.clone()));
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn drop_oldest(&mut self) {
        let (token, _) = self.tokens.remove(0);
        assert_eq!(self.ask(Request::Drop { token }), Answer::Done);
    }

    /// Returns to the newest token.
    pub fn rollback(&mut self) {
        let (token, state) = self.tokens.last().cloned().expect("a token");
        assert_eq!(self.ask(Request::Rollback { token }), Answer::Done);
        self.now.clone_from(&state);
        self.synced = state;
    }

    /// Reads every page and compares it.
    pub fn check(&mut self) {
        let all = u32::MAX >> (32 - self.segments);
        for page in 1..self.now.len() as u32 / self.segments {
            let first = (page * self.segments) as usize;
            if self.now[first..first + self.segments as usize].iter().all(|stamp| *stamp == 0) {
                continue;
            }
            let address = Address::new(Controller::LOCAL, page, 0);
            assert_eq!(self.ask(Request::Read { address, segments: all }), Answer::Done);
            let found = &self.under_way[0][..self.segments as usize];
            assert_eq!(found, &self.now[first..first + self.segments as usize], "page {page}");
        }
    }
}
