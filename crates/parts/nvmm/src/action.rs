//! What comes in and what goes out: inputs, actions, moves of payload, what programs write.

use media::{Action, OpId, PageAddr, Status, Tag};

use crate::request::{Application, Reply, Request};

/// What comes in.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Something is asked.
    Request {
        /// Answered with this; not that of a request under way.
        tag: Tag,
        /// Who asks.
        application: Application,
        /// What.
        request: Request,
    },
    /// An operation has ended.
    Done {
        /// Which.
        id: OpId,
        /// How.
        status: Status,
        /// Of a read, what the page holds if the controller wrote it for itself; else it does not matter.
        content: &'a [u8],
    },
}

/// Movement of payload, where payload is kept: done at once, in order, before the actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A flash page is segment `segment` of what read `tag` wants.
    FlashToHost {
        /// The flash page.
        page: PageAddr,
        /// The read.
        tag: Tag,
        /// The segment.
        segment: u32,
    },
    /// Segment `segment` of what read `tag` wants is zeros: it was never written.
    ZeroToHost {
        /// The read.
        tag: Tag,
        /// The segment.
        segment: u32,
    },
    /// A flash page goes into a copy buffer of its size; there are as many as segments to a page.
    FlashToBuffer {
        /// The flash page.
        page: PageAddr,
        /// The buffer.
        buffer: u32,
    },
}

/// What a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A segment of the data that came with the write `tag`.
    Host {
        /// The write.
        tag: Tag,
        /// The segment.
        segment: u32,
    },
    /// What is in a copy buffer.
    Buffer(u32),
    /// The controller's own bytes, a flash page of them.
    Own(&'a [u8]),
}

/// What is to be done: moves at once and in order, then operations; and what is answered.
#[derive(Debug, Default)]
pub struct Actions {
    /// Operations: reads, programs, erases, barriers, blocks to be marked bad.
    pub actions: Vec<Action>,
    /// Movements of payload.
    pub moves: Vec<Move>,
    /// Answers.
    pub replies: Vec<Reply>,
}
