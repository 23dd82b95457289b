//! The encoding of a history. An entry is a head of two bytes and numbers of eight bytes; the head says which numbers
//! follow. Those that are as expected do not: a program that submits each request when one has completed, all alike, leaves
//! ten bytes a request.

use sim::Time;

use super::Position;
use crate::request::{Op, Request};

/// In a head: the entry is an advance, of which these numbers follow.
const ADVANCED: u16 = 1 << 15;
const STOPS: u16 = 1;
const RETURNED: u16 = 1 << 1;
const UNTIL: u16 = 1 << 2;

/// In the head of a submission: its operation and force unit access; whether the simulation advanced by one completion
/// before it; and which numbers follow the address.
const OP: u16 = 7;
const FUA: u16 = 1 << 3;
const AFTER_ONE: u16 = 1 << 4;
const AT: u16 = 1 << 5;
const HANDLE: u16 = 1 << 6;
const DEVICE_AND_THREAD: u16 = 1 << 7;
const BYTES: u16 = 1 << 8;

/// The advance by one completion.
const ONE: Position = Position { stops: 1, until: None, returned: 1 };

/// What the next submission is expected to be: like the last one, with the handle that continues the last two.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    handle: u64,
    last: Request,
}

impl Expected {
    #[inline]
    fn after(last: &Request, expected: &Expected) -> Expected {
        let step = last.handle.wrapping_sub(expected.last.handle);
        Expected { handle: last.handle.wrapping_add(step), last: *last }
    }
}

/// An entry of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A submission and its time, which is the present if there is none.
    Submitted(Option<Time>, Request),
    /// An advance.
    Advanced(Position),
}

/// A history under construction.
#[derive(Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    expected: Expected,
}

impl Encoder {
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a number if it is to follow.
    #[inline]
    fn number(&mut self, follows: bool, number: u64) {
        if follows {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Appends an advance and a submission after it.
    #[inline]
    pub fn submitted(&mut self, advanced: Position, at: Option<Time>, request: &Request) {
        let after_one = advanced == ONE;
        if !after_one && advanced != Position::default() {
            self.advanced(advanced);
        }
        let Request { device, op, fua, thread, address, bytes, handle } = *request;
        let Expected { handle: expected, last } = self.expected;
        self.expected = Expected::after(request, &self.expected);
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        let head = op as u16
            | flag(fua, FUA)
            | flag(after_one, AFTER_ONE)
            | flag(at.is_some(), AT)
            | flag(handle != expected, HANDLE)
            | flag((device, thread) != (last.device, last.thread), DEVICE_AND_THREAD)
            | flag(bytes != last.bytes, BYTES);
        self.bytes.extend_from_slice(&head.to_le_bytes());
        self.number(true, address);
        if head >= AT {
            self.number(head & AT != 0, at.map_or(0, Time::ps));
            self.number(head & HANDLE != 0, handle);
            self.number(head & DEVICE_AND_THREAD != 0, u64::from(device) << 16 | u64::from(thread));
            self.number(head & BYTES != 0, bytes);
        }
    }

    /// Appends an advance.
    pub fn advanced(&mut self, Position { stops, until, returned }: Position) {
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        let follow = flag(stops > 0, STOPS) | flag(returned > 0, RETURNED) | flag(until.is_some(), UNTIL);
        self.bytes.extend_from_slice(&(ADVANCED | follow).to_le_bytes());
        self.number(follow & STOPS != 0, stops);
        self.number(follow & RETURNED != 0, returned);
        self.number(follow & UNTIL != 0, until.map_or(0, Time::ps));
    }
}

/// Reads a history.
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    expected: Expected,
    /// A submission whose advance has just been returned.
    submitted: Option<Entry>,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { rest: bytes, expected: Expected::default(), submitted: None }
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    /// Reads a number if it follows.
    fn number(&mut self, follows: bool) -> Option<Option<u64>> {
        if follows { self.bytes().map(|bytes| Some(u64::from_le_bytes(bytes))) } else { Some(None) }
    }

    /// Returns the next entry; `None` at the end, and an error for bytes that encode none.
    pub fn next(&mut self) -> Result<Option<Entry>, ()> {
        if self.rest.is_empty() && self.submitted.is_none() {
            return Ok(None);
        }
        self.entry().map(Some).ok_or(())
    }

    fn entry(&mut self) -> Option<Entry> {
        if let Some(submitted) = self.submitted.take() {
            return Some(submitted);
        }
        let head = u16::from_le_bytes(self.bytes()?);
        if head & ADVANCED != 0 {
            let stops = self.number(head & STOPS != 0)?.unwrap_or(0);
            let returned = self.number(head & RETURNED != 0)?.unwrap_or(0);
            let until = self.number(head & UNTIL != 0)?.map(Time::from_ps);
            return Some(Entry::Advanced(Position { stops, until, returned }));
        }
        let address = self.number(true)??;
        let at = self.number(head & AT != 0)?.map(Time::from_ps);
        let handle = self.number(head & HANDLE != 0)?.unwrap_or(self.expected.handle);
        let last = self.expected.last;
        let (device, thread) = match self.number(head & DEVICE_AND_THREAD != 0)? {
            Some(both) => ((both >> 16).try_into().ok()?, both as u16),
            None => (last.device, last.thread),
        };
        let bytes = self.number(head & BYTES != 0)?.unwrap_or(last.bytes);
        let (op, fua) = (Op::of_code((head & OP) as u8)?, head & FUA != 0);
        let request = Request { device, op, fua, thread, address, bytes, handle };
        self.expected = Expected::after(&request, &self.expected);
        let submitted = Entry::Submitted(at, request);
        if head & AFTER_ONE == 0 {
            return Some(submitted);
        }
        self.submitted = Some(submitted);
        Some(Entry::Advanced(ONE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..3, any::<u64>()]
    }

    /// A submission, and the advance before it.
    fn submission() -> impl Strategy<Value = (Position, Option<Time>, Request)> {
        let request = (0u16..3, 0u8..5, any::<bool>(), 0u16..3, (number(), number(), number()));
        let request = request.prop_map(|(device, op, fua, thread, (address, bytes, handle))| {
            let op = Op::of_code(op).expect("one of five");
            Request { device, op, fua, thread, address, bytes, handle }
        });
        let time = || prop::option::of(number()).prop_map(|ps| ps.map(Time::from_ps));
        let position = (number(), time(), number());
        let position = position.prop_map(|(stops, until, returned)| Position { stops, until, returned });
        (prop_oneof![position, Just(ONE), Just(Position::default())], time(), request)
    }

    proptest! {
        #[test]
        fn a_history_decodes_to_its_entries(submissions in prop::collection::vec(submission(), 0..30)) {
            let mut encoder = Encoder::default();
            for (advanced, at, request) in &submissions {
                encoder.submitted(*advanced, *at, request);
            }
            let mut decoder = Decoder::new(encoder.as_slice());
            for (advanced, at, request) in submissions {
                if advanced != Position::default() {
                    prop_assert_eq!(decoder.next(), Ok(Some(Entry::Advanced(advanced))));
                }
                prop_assert_eq!(decoder.next(), Ok(Some(Entry::Submitted(at, request))));
            }
            prop_assert_eq!(decoder.next(), Ok(None));
        }

        #[test]
        fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut decoder = Decoder::new(&bytes);
            while let Ok(Some(_)) = decoder.next() {}
        }
    }

    #[test]
    fn a_closed_loop_of_like_requests_leaves_ten_bytes_a_request() {
        let mut encoder = Encoder::default();
        for handle in 0..100 {
            let request = Request { bytes: 4096, address: handle * 7919 * 4096, handle, ..Request::default() };
            encoder.submitted(ONE, None, &request);
        }
        // The first two say their size, and the step of the handles.
        assert_eq!(encoder.bytes(), 100 * 10 + 2 * 8);
    }
}
