//! The controller's interface: inputs, actions, payload moves, and the content of programs.

use media::{Action, OpId, PageAddr, Status, Tag};

use crate::request::{Application, Reply, Request};

/// An input of the controller.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A request.
    Request {
        /// Identifies the request in its reply; must not be in use.
        tag: Tag,
        /// The application that makes the request.
        application: Application,
        /// The request.
        request: Request,
    },
    /// An operation that has ended.
    Done {
        /// The operation.
        id: OpId,
        /// Its result.
        status: Status,
        /// For a read: the page's content, if the controller wrote it for itself; otherwise ignored.
        content: &'a [u8],
    },
}

/// A move of payload, where payload is kept: performed at once, in order, before the actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Flash page `page` holds segment `segment` for read `tag`.
    FlashToHost {
        /// The flash page.
        page: PageAddr,
        /// The read.
        tag: Tag,
        /// The segment.
        segment: u32,
    },
    /// Segment `segment` of read `tag` was never written and reads as zeros.
    ZeroToHost {
        /// The read.
        tag: Tag,
        /// The segment.
        segment: u32,
    },
    /// Flash page `page` goes into a copy buffer of its size; there is one buffer per segment of a page.
    FlashToBuffer {
        /// The flash page.
        page: PageAddr,
        /// The buffer.
        buffer: u32,
    },
}

/// The content of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A segment of the data of write `tag`.
    Host {
        /// The write.
        tag: Tag,
        /// The segment.
        segment: u32,
    },
    /// A copy buffer.
    Buffer(u32),
    /// A flash page of the controller's own metadata.
    Own(&'a [u8]),
}

/// Actions to perform: first the moves, in order, then the operations; and the replies.
#[derive(Debug, Default)]
pub struct Actions {
    /// Operations: reads, programs, erases, barriers, blocks to be marked bad.
    pub actions: Vec<Action>,
    /// Moves of payload.
    pub moves: Vec<Move>,
    /// Replies.
    pub replies: Vec<Reply>,
}
