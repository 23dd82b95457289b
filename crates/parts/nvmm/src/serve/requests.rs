//! Requests under way, and the queue of those that cannot be served yet.

use std::collections::VecDeque;

use media::Tag;

use crate::address::Address;
use crate::request::{Application, Request};

/// One request under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    application: Application,
    /// Parts of a read that have not ended.
    left: u32,
    /// The lowest segment that could not be read.
    failed: Option<u8>,
    busy: bool,
}

/// All requests, by tag.
pub(crate) struct Requests {
    slots: Vec<Slot>,
    /// Waiting requests, in order of arrival.
    queue: VecDeque<Tag>,
    /// Reads overtake waiting writes of other segments of their page.
    pub reads_overtake: bool,
}

impl Requests {
    pub fn new(tags: u32) -> Requests {
        let free = Slot { request: Request::Sync, application: Application(0), left: 0, failed: None, busy: false };
        Requests {
            slots: vec![free; tags as usize],
            queue: VecDeque::with_capacity(tags as usize),
            reads_overtake: false,
        }
    }

    /// Records a new request.
    ///
    /// # Panics
    /// If the tag is already in use.
    pub fn begin(&mut self, tag: Tag, application: Application, request: Request) {
        let slot = &mut self.slots[tag.0 as usize];
        assert!(!slot.busy, "tag {} is under way", tag.0);
        *slot = Slot { request, application, left: 0, failed: None, busy: true };
    }

    /// Frees the tag of an answered request.
    pub fn end(&mut self, tag: Tag) {
        self.slots[tag.0 as usize].busy = false;
    }

    pub fn request(&self, tag: Tag) -> Request {
        self.slots[tag.0 as usize].request
    }

    pub fn application(&self, tag: Tag) -> Application {
        self.slots[tag.0 as usize].application
    }

    /// Segments that a read or write covers, one bit each; 0 for other requests.
    pub fn segments(&self, tag: Tag) -> u32 {
        match self.request(tag) {
            Request::Read { segments, .. } | Request::Write { segments, .. } => segments,
            _ => 0,
        }
    }

    /// Sets how many parts of a read must end before it is answered.
    pub fn start_parts(&mut self, tag: Tag, parts: u32) {
        self.slots[tag.0 as usize].left = parts;
    }

    /// Notes that a segment of a read could not be read.
    pub fn fail_segment(&mut self, tag: Tag, segment: u8) {
        let failed = &mut self.slots[tag.0 as usize].failed;
        *failed = Some(failed.map_or(segment, |lowest| lowest.min(segment)));
    }

    /// Ends one part of a read. Returns true after the last one.
    pub fn end_part(&mut self, tag: Tag) -> bool {
        let slot = &mut self.slots[tag.0 as usize];
        slot.left -= 1;
        slot.left == 0
    }

    /// Returns the address and the lowest unreadable segment of a read, if there is one.
    pub fn failure(&self, tag: Tag) -> Option<(Address, u8)> {
        let slot = &self.slots[tag.0 as usize];
        slot.request.address().zip(slot.failed)
    }

    /// Appends a request to the queue.
    pub fn wait(&mut self, tag: Tag) {
        self.queue.push_back(tag);
    }

    pub fn none_waits(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the waiting request at a position of the queue.
    pub fn waiting(&self, at: usize) -> Option<Tag> {
        self.queue.get(at).copied()
    }

    /// Takes the request at a position out of the queue.
    pub fn stop_waiting(&mut self, at: usize) {
        self.queue.remove(at);
    }

    /// Returns whether a request ahead of this position is for the same page: requests for one page keep their order.
    pub fn is_behind_its_page(&self, at: usize) -> bool {
        let page_of = |tag: Tag| self.request(tag).address().map(Address::page);
        let (tag, page) = (self.queue[at], page_of(self.queue[at]));
        let may_overtake = |other: Tag| {
            let disjoint = self.segments(tag) & self.segments(other) == 0;
            let pair = (self.request(tag), self.request(other));
            self.reads_overtake && disjoint && matches!(pair, (Request::Read { .. }, Request::Write { .. }))
        };
        page.is_some() && self.queue.iter().take(at).any(|other| page_of(*other) == page && !may_overtake(*other))
    }
}
