//! Connects the controller to its medium: performs its actions, copies its data, and collects its answers.

use media::{Action, BlockAddr, Tag};
use nvmm::{Actions, Answer, Application, Content, Input, Move, Nvmm, Request};
use sim::Time;

use crate::cache::frames::{Frames, NONE};
use crate::device::Device;
use crate::storage::{Finished, Stop, Storage};

/// The application ID of the process that has the memory open.
pub(crate) const OPENER: Application = Application(1);

/// A frame number per segment of a request; [`NONE`] discards the data read.
pub(crate) type Places = [u32; 16];

#[derive(Clone, Debug)]
struct InFlight {
    places: Places,
    answer: Option<Answer>,
}

/// The controller, its medium and the requests between them.
pub struct Engine<D> {
    pub(crate) nvmm: Nvmm,
    pub(crate) storage: Storage<D>,
    out: Actions,
    in_flight: Vec<InFlight>,
    free: Vec<u32>,
    /// Buffers for the segments that garbage collection copies.
    buffers: Vec<Box<[u8]>>,
    noted: (u64, u64),
}

impl<D: Device> Engine<D> {
    pub(crate) fn new(mut nvmm: Nvmm, storage: Storage<D>) -> Engine<D> {
        nvmm.keep_dense();
        nvmm.let_reads_overtake();
        let shape = storage.shape;
        nvmm.reserve(shape.reserve);
        let tags = shape.config().tags;
        let buffer = || vec![0; shape.segment_bytes as usize].into_boxed_slice();
        Engine {
            noted: nvmm.committed(),
            nvmm,
            storage,
            out: Actions::default(),
            in_flight: vec![InFlight { places: [NONE; 16], answer: None }; tags as usize],
            free: (0..tags).rev().collect(),
            buffers: (0..shape.segments).map(|_| buffer()).collect(),
        }
    }

    /// Returns how many more requests can be submitted.
    pub(crate) fn room(&self) -> usize {
        self.free.len()
    }

    /// Submits a request. Its frames must not move until the answer is taken.
    ///
    /// # Panics
    /// If the maximum number of requests is in flight.
    pub(crate) fn submit(&mut self, request: Request, places: Places, frames: &mut Frames) -> Tag {
        let tag = Tag(self.free.pop().expect("a free request slot"));
        self.in_flight[tag.0 as usize] = InFlight { places, answer: None };
        self.nvmm.handle(Time::ZERO, Input::Request { tag, application: OPENER, request }, &mut self.out);
        self.perform(&[], frames);
        tag
    }

    /// Runs until `tag` is answered, and returns the answer.
    pub(crate) fn answer(&mut self, tag: Tag, frames: &mut Frames) -> Result<Answer, Stop> {
        loop {
            if let Some(answer) = self.take_answer(tag) {
                return Ok(answer);
            }
            self.step(frames)?;
        }
    }

    /// Runs until the controller is idle.
    pub(crate) fn drain(&mut self, frames: &mut Frames) -> Result<(), Stop> {
        while !self.nvmm.is_idle() {
            self.step(frames)?;
        }
        Ok(())
    }

    /// Takes the answer to `tag`, if it has arrived.
    pub(crate) fn take_answer(&mut self, tag: Tag) -> Option<Answer> {
        let answer = self.in_flight[tag.0 as usize].answer.take()?;
        self.free.push(tag.0);
        Some(answer)
    }

    /// Processes a completed operation without waiting. Returns whether there was one.
    pub(crate) fn try_step(&mut self, frames: &mut Frames) -> Result<bool, Stop> {
        match self.storage.try_next()? {
            Some(finished) => self.take(finished, frames),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Starts loading the page's table entry into DRAM. Returns whether it is already there.
    pub(crate) fn try_load_entry(&mut self, page: u32, frames: &mut Frames) -> bool {
        let here = self.nvmm.prefetch(page, &mut self.out);
        self.perform(&[], frames);
        here
    }

    /// Waits for the next completed operation and processes it.
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

    /// Loads the page's table entry into DRAM.
    pub(crate) fn load_entry(&mut self, page: u32, frames: &mut Frames) -> Result<(), Stop> {
        while !self.nvmm.prefetch(page, &mut self.out) {
            self.perform(&[], frames);
            self.step(frames)?;
        }
        Ok(())
    }

    /// Releases the space of at most `most` empty blocks to the device, keeping `kept` of them for imminent reuse.
    pub(crate) fn release(&mut self, kept: usize, most: usize) {
        for _ in 0..self.nvmm.releasable().saturating_sub(kept).min(most) {
            let block = self.nvmm.released().expect("a releasable block");
            self.storage.release(block, 1);
        }
    }

    /// Releases the space of all empty data blocks, including those emptied before the memory was opened.
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

    /// Performs the controller's pending data moves, then its actions. `content` is the data just read.
    fn perform(&mut self, content: &[u8], frames: &mut Frames) {
        let Engine { nvmm, storage, out, in_flight, buffers, noted, .. } = self;
        if nvmm.revoked() {
            storage.revoke();
        }
        // Before the actions: the next commit's first barrier may be among them, and waits for this record.
        let committed = nvmm.committed();
        if std::mem::replace(noted, committed) != committed {
            storage.note_commit(committed);
        }
        let place = |in_flight: &[InFlight], tag: Tag, segment: u32| in_flight[tag.0 as usize].places[segment as usize];
        for moved in out.moves.drain(..) {
            match moved {
                Move::FlashToHost { tag, segment, .. } => match place(in_flight, tag, segment) {
                    NONE => {}
                    frame => frames.bytes_mut(frame).copy_from_slice(content),
                },
                Move::ZeroToHost { tag, segment } => match place(in_flight, tag, segment) {
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
                        let frame = place(in_flight, tag, segment);
                        storage.program(op.id, op.page, |into| into.copy_from_slice(frames.bytes(frame)));
                    }
                    Content::Buffer(buffer) => {
                        storage.program(op.id, op.page, |into| into.copy_from_slice(&buffers[buffer as usize]));
                    }
                    Content::Own(bytes) => storage.program(op.id, op.page, |into| into.copy_from_slice(bytes)),
                },
                Action::Erase(op) => storage.erase(op.id, op.block),
                // The controller records retired blocks in its own directory.
                Action::Retire(_) => {}
                Action::Barrier(id) => storage.barrier(id),
                other => panic!("{other:?} is not an action for this medium"),
            }
        }
        for reply in out.replies.drain(..) {
            in_flight[reply.tag.0 as usize].answer = Some(reply.answer);
        }
    }
}
