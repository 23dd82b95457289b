//! The controller and its medium: performs what it asks for, moves what it moves, until a request is answered.

use media::{Action, BlockAddr, Tag};
use nvmm::{Actions, Answer, Application, Content, Input, Move, Nvmm, Request};
use sim::Time;

use crate::device::Device;
use crate::frames::{Frames, NONE};
use crate::storage::{Finished, Stop, Storage};

/// Whoever has the memory open.
pub(crate) const OPENER: Application = Application(1);

/// Frames of a request, by segment; [`NONE`]: what is read goes nowhere.
pub(crate) type Places = [u32; 16];

#[derive(Clone, Debug)]
struct Asked {
    places: Places,
    answer: Option<Answer>,
}

/// See the module.
pub struct Engine<D> {
    pub(crate) nvmm: Nvmm,
    pub(crate) storage: Storage<D>,
    out: Actions,
    asked: Vec<Asked>,
    free: Vec<u32>,
    /// What collection copies.
    buffers: Vec<Box<[u8]>>,
    noted: (u64, u64),
}

impl<D: Device> Engine<D> {
    pub(crate) fn new(mut nvmm: Nvmm, storage: Storage<D>) -> Engine<D> {
        nvmm.keep_dense();
        let shape = storage.shape;
        let tags = shape.config().tags;
        let buffer = || vec![0; shape.segment_bytes as usize].into_boxed_slice();
        Engine {
            noted: nvmm.committed(),
            nvmm,
            storage,
            out: Actions::default(),
            asked: vec![Asked { places: [NONE; 16], answer: None }; tags as usize],
            free: (0..tags).rev().collect(),
            buffers: (0..shape.segments).map(|_| buffer()).collect(),
        }
    }

    /// Requests that may be asked besides those under way.
    pub(crate) fn room(&self) -> usize {
        self.free.len()
    }

    /// Asks. Frames stay where they are until the answer is taken.
    ///
    /// # Panics
    /// If there is no room.
    pub(crate) fn ask(&mut self, request: Request, places: Places, frames: &mut Frames) -> Tag {
        let tag = Tag(self.free.pop().expect("there is room"));
        self.asked[tag.0 as usize] = Asked { places, answer: None };
        self.nvmm.handle(Time::ZERO, Input::Request { tag, application: OPENER, request }, &mut self.out);
        self.perform(&[], frames);
        tag
    }

    /// Goes on until `tag` is answered.
    pub(crate) fn answer(&mut self, tag: Tag, frames: &mut Frames) -> Result<Answer, Stop> {
        loop {
            if let Some(answer) = self.take_answer(tag) {
                return Ok(answer);
            }
            self.step(frames)?;
        }
    }

    /// Goes on until nothing is under way but what is held.
    pub(crate) fn drain(&mut self, frames: &mut Frames) -> Result<(), Stop> {
        while !self.nvmm.is_idle() {
            self.step(frames)?;
        }
        Ok(())
    }

    /// Takes the answer to `tag`, if there is one.
    pub(crate) fn take_answer(&mut self, tag: Tag) -> Option<Answer> {
        let answer = self.asked[tag.0 as usize].answer.take()?;
        self.free.push(tag.0);
        Some(answer)
    }

    /// Goes on with what has ended, without waiting. Whether something had.
    pub(crate) fn try_step(&mut self, frames: &mut Frames) -> Result<bool, Stop> {
        match self.storage.try_next()? {
            Some(finished) => self.take(finished, frames),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Has what the controller knows of a page brought into DRAM. Whether it is there.
    pub(crate) fn try_bring(&mut self, page: u32, frames: &mut Frames) -> bool {
        let here = self.nvmm.prefetch(page, &mut self.out);
        self.perform(&[], frames);
        here
    }

    /// Goes on with what ends next; waits for it.
    pub(crate) fn step(&mut self, frames: &mut Frames) -> Result<(), Stop> {
        let finished = self.storage.next()?;
        self.take(finished, frames);
        Ok(())
    }

    fn take(&mut self, finished: Finished, frames: &mut Frames) {
        let content = finished.content.as_deref().unwrap_or(&[]);
        let content = &content[..content.len().min(self.storage.shape.segment_bytes as usize)];
        let input = Input::Done { id: finished.id, status: finished.status, content };
        self.nvmm.watch(self.storage.watched);
        self.nvmm.handle(Time::ZERO, input, &mut self.out);
        self.perform(content, frames);
        self.storage.give_back(finished);
    }

    /// Brings what the controller knows of a page into DRAM.
    pub(crate) fn bring(&mut self, page: u32, frames: &mut Frames) -> Result<(), Stop> {
        while !self.nvmm.prefetch(page, &mut self.out) {
            self.perform(&[], frames);
            self.step(frames)?;
        }
        Ok(())
    }

    /// Gives back the space of blocks that hold nothing any more, of `most` at most, but for `kept`, which are used again first.
    pub(crate) fn release(&mut self, kept: usize, most: usize) {
        for _ in 0..self.nvmm.releasable().saturating_sub(kept).min(most) {
            let block = self.nvmm.released().expect("as many");
            self.storage.release(block, 1);
        }
    }

    /// Gives back the space of all blocks of data that hold nothing, from before it was opened too.
    pub(crate) fn release_all(&mut self) {
        self.release(0, usize::MAX);
        let mut run: Option<(BlockAddr, u32)> = None;
        for block in self.nvmm.free_blocks() {
            run = match run {
                Some((first, count)) if first.block + count == block.block => Some((first, count + 1)),
                before => {
                    before.into_iter().for_each(|(first, count)| self.storage.release(first, count));
                    Some((block, 1))
                }
            };
        }
        run.into_iter().for_each(|(first, count)| self.storage.release(first, count));
    }

    /// Moves, then actions; `content` is what was just read.
    fn perform(&mut self, content: &[u8], frames: &mut Frames) {
        let Engine { nvmm, storage, out, asked, buffers, .. } = self;
        if nvmm.revoked() {
            storage.revoke();
        }
        let place = |asked: &[Asked], tag: Tag, segment: u32| asked[tag.0 as usize].places[segment as usize];
        for moved in out.moves.drain(..) {
            match moved {
                Move::FlashToHost { tag, segment, .. } => match place(asked, tag, segment) {
                    NONE => {}
                    frame => frames.bytes_mut(frame).copy_from_slice(content),
                },
                Move::ZeroToHost { tag, segment } => match place(asked, tag, segment) {
                    NONE => {}
                    frame => frames.bytes_mut(frame).fill(0),
                },
                Move::FlashToBuffer { buffer, .. } => buffers[buffer as usize].copy_from_slice(content),
            }
        }
        for action in out.actions.drain(..) {
            match action {
                Action::Read(op) => storage.read(op.id, op.page),
                Action::Program(op) => match nvmm.content(op.id) {
                    Content::Host { tag, segment } => {
                        let frame = place(asked, tag, segment);
                        storage.program(op.id, op.page, |into| into.copy_from_slice(frames.bytes(frame)));
                    }
                    Content::Buffer(buffer) => {
                        storage.program(op.id, op.page, |into| into.copy_from_slice(&buffers[buffer as usize]));
                    }
                    Content::Own(bytes) => storage.program(op.id, op.page, |into| into.copy_from_slice(bytes)),
                },
                Action::Erase(op) => storage.erase(op.id, op.block),
                // The controller notes it in its own directory.
                Action::Retire(_) => {}
                Action::Barrier(id) => storage.barrier(id),
                other => panic!("{other:?} is not for this medium"),
            }
        }
        for reply in out.replies.drain(..) {
            asked[reply.tag.0 as usize].answer = Some(reply.answer);
        }
        let committed = nvmm.committed();
        if std::mem::replace(&mut self.noted, committed) != committed {
            storage.note_commit(committed);
        }
    }
}
