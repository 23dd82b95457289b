//! Requests that do not map to one command immediately: those that wait for a queue entry, and those that are split
//! into commands and joined again when all have ended.

use media::{Op, Request, Status};
use sim::{Dense, Time};

use crate::Completed;

/// Marks the absence of a request.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Io {
    request: Request,
    /// Bytes handed to the device so far.
    issued: u64,
    /// Time at which the doorbell of the last command was written.
    submitted: Time,
    /// The next request that waits for a queue entry.
    next: u32,
    /// Commands in the device.
    flying: u32,
    core: u16,
    status: Status,
    open: bool,
    /// True once all of the request has been handed to the device.
    whole: bool,
}

const EMPTY: Io = Io {
    request: Request::flush(),
    issued: 0,
    submitted: Time::ZERO,
    next: NONE,
    flying: 0,
    core: 0,
    status: Status::Ok,
    open: false,
    whole: false,
};

impl Io {
    /// Returns its next command.
    #[inline]
    fn next(&self, max_transfer: u64) -> Request {
        let Io { request, issued, .. } = *self;
        let left = request.bytes - issued;
        let bytes = if request.op.has_data() { left.min(max_transfer) } else { left };
        Request { offset: request.offset + issued, bytes, ..request }
    }
}

/// Requests by the submitter's number. Numbers are dense and reused.
#[derive(Clone, Debug)]
pub struct Requests {
    ios: Dense<Io>,
    max_transfer: u64,
}

/// Requests that wait for a queue entry, first come first served.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    first: u32,
    last: u32,
}

/// An empty list.
pub const NOBODY: Waiting = Waiting { first: NONE, last: NONE };

impl Waiting {
    /// Returns the request that has waited longest.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        if self.first == NONE { None } else { Some(self.first) }
    }
}

/// The request that has waited longest.
pub(crate) struct Next<'a> {
    io: &'a mut Io,
    waiting: &'a mut Waiting,
    max_transfer: u64,
}

impl Next<'_> {
    /// Returns the core that submits the request.
    #[inline]
    pub(crate) fn core(&self) -> u16 {
        self.io.core
    }

    /// See [`Requests::take`].
    #[inline]
    pub(crate) fn take(self, at: Time) -> Request {
        let Next { io, waiting, max_transfer } = self;
        let piece = io.next(max_transfer);
        io.issued += piece.bytes;
        io.flying += 1;
        io.submitted = at;
        if io.issued == io.request.bytes {
            io.whole = true;
            waiting.first = io.next;
        }
        piece
    }
}

impl Requests {
    /// Creates an empty table. Requests larger than `max_transfer` bytes will be split.
    ///
    /// # Panics
    /// Panics if `max_transfer` is not a positive multiple of a sector.
    pub fn new(max_transfer: u64) -> Requests {
        let fits = max_transfer > 0 && max_transfer.is_multiple_of(media::SECTOR);
        assert!(fits, "transfers of {max_transfer} bytes, expected a multiple of {}", media::SECTOR);
        Requests { ios: Dense::new(Vec::new()), max_transfer }
    }

    /// Returns true if the request fits in one command.
    #[inline]
    pub fn is_whole(&self, request: &Request) -> bool {
        // The limit applies to transfers; trims and flushes move no data.
        request.bytes <= self.max_transfer || !request.op.has_data()
    }

    /// Adds a new request, submitted on `core`, to those that wait.
    ///
    /// # Panics
    /// Panics if its number is in use.
    #[inline]
    pub fn open(&mut self, io: u32, core: u16, request: Request, waiting: &mut Waiting) {
        if io as usize >= self.ios.len() {
            self.grow(io);
        }
        // SAFETY: the table had the entry, or has grown to it.
        let place = unsafe { self.ios.get_unchecked_mut(io as usize) };
        assert!(!place.open, "request {io} is still in progress");
        // Sources of requests check this: a flush alone has no bytes.
        debug_assert!((request.op == Op::Flush) == (request.bytes == 0), "{request:?}");
        *place = Io { request, core, open: true, ..EMPTY };
        if waiting.first == NONE {
            waiting.first = io;
        } else {
            self.ios[waiting.last as usize].next = io;
        }
        waiting.last = io;
    }

    fn grow(&mut self, io: u32) {
        assert!(io != NONE, "{io} is not a valid request number");
        self.ios.grow((io as usize + 1).next_power_of_two(), EMPTY);
    }

    /// Returns the operation and range of a request.
    #[inline]
    pub fn request(&self, io: u32) -> Request {
        self.ios[io as usize].request
    }

    /// Returns the core that submits the request.
    #[inline]
    pub fn core(&self, io: u32) -> u16 {
        self.ios[io as usize].core
    }

    /// Returns the next command of a waiting request.
    #[inline]
    pub fn next(&self, io: u32) -> Request {
        self.ios[io as usize].next(self.max_transfer)
    }

    /// Issues the next command of the request that has waited longest, with its doorbell written at `at`. After its
    /// last command the request no longer waits.
    #[inline]
    pub fn take(&mut self, waiting: &mut Waiting, at: Time) -> Request {
        self.waiting(waiting).take(at)
    }

    /// Returns the request that has waited longest.
    ///
    /// # Panics
    /// If none waits.
    #[inline]
    pub(crate) fn waiting<'a>(&'a mut self, waiting: &'a mut Waiting) -> Next<'a> {
        Next { io: &mut self.ios[waiting.first as usize], waiting, max_transfer: self.max_transfer }
    }

    /// Records the end of one of the request's commands. Returns the completion of the request if it was the last.
    #[inline]
    pub fn ended(&mut self, io: u32, status: Status) -> Option<Completed> {
        let place = &mut self.ios[io as usize];
        assert!(place.open && place.flying > 0, "request {io} has no command in progress");
        place.flying -= 1;
        if place.status.is_ok() {
            place.status = status;
        }
        if place.flying > 0 || !place.whole {
            return None;
        }
        place.open = false;
        Some(Completed { io, status: place.status, submitted: place.submitted })
    }

    /// Drops all requests and returns those in progress.
    pub fn power_cut(&mut self) -> Vec<u32> {
        let open = (0..self.ios.len() as u32).filter(|io| self.ios[*io as usize].open).collect();
        self.ios.fill(EMPTY);
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_bad_status_stays() {
        let (mut requests, mut waiting) = (Requests::new(4096), NOBODY);
        requests.open(3, 0, Request::new(Op::Read, 0, 12288), &mut waiting);
        for _ in 0..3 {
            requests.take(&mut waiting, Time::from_us(1));
        }
        assert_eq!(waiting.first(), None);
        assert_eq!(requests.ended(3, Status::Ok), None);
        assert_eq!(requests.ended(3, Status::Uncorrectable), None);
        let end = Completed { io: 3, status: Status::Uncorrectable, submitted: Time::from_us(1) };
        assert_eq!(requests.ended(3, Status::NoSpace), Some(end));
    }

    #[test]
    fn a_trim_is_one_command_and_so_is_a_flush() {
        let (mut requests, mut waiting) = (Requests::new(4096), NOBODY);
        for (io, request) in [(0, Request::new(Op::Trim, 0, 1 << 30)), (1, Request::flush())] {
            requests.open(io, 0, request, &mut waiting);
            assert_eq!(requests.take(&mut waiting, Time::ZERO), request);
            assert_eq!(requests.ended(io, Status::Ok).unwrap().io, io);
        }
    }

    proptest! {
        /// Commands leave in the order of their requests, cover each request exactly, and never exceed the maximum
        /// transfer.
        #[test]
        fn splits_cover_and_join(sizes in prop::collection::vec(1u64..40, 1..40), max in 1u64..12) {
            let (mut requests, mut waiting) = (Requests::new(max * 512), NOBODY);
            for (io, sectors) in sizes.iter().enumerate() {
                let request = Request { fua: true, ..Request::new(Op::Write, io as u64 * 65536, sectors * 512) };
                requests.open(io as u32, 0, request, &mut waiting);
            }
            for (io, sectors) in sizes.iter().enumerate() {
                let mut covered = 0;
                let mut pieces = 0;
                while waiting.first() == Some(io as u32) {
                    let piece = requests.take(&mut waiting, Time::ZERO);
                    prop_assert_eq!(piece.offset, io as u64 * 65536 + covered);
                    prop_assert!(piece.fua && piece.bytes > 0 && piece.bytes <= max * 512);
                    covered += piece.bytes;
                    pieces += 1;
                }
                prop_assert_eq!(covered, sectors * 512);
                for piece in 0..pieces {
                    let end = requests.ended(io as u32, Status::Ok);
                    prop_assert_eq!(end.is_some(), piece + 1 == pieces);
                }
            }
            prop_assert_eq!(waiting.first(), None);
            prop_assert!(requests.power_cut().is_empty());
        }
    }
}
