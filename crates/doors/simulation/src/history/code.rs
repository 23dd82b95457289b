//! The encoding of a history: numbers of variable length, mostly differences from the previous submission.

use sim::Time;

use super::Position;
use crate::request::{Op, Request};

/// First byte of an entry for an advance; those of submissions are lower.
const ADVANCED: u8 = 0x80;
/// In the first byte of an advance: a time follows.
const UNTIL: u8 = 1;
/// In the first byte of a submission, whose lowest bits are the operation: what differs from the expectation.
const FUA: u8 = 1 << 3;
const OTHER_DEVICE: u8 = 1 << 4;
const OTHER_THREAD: u8 = 1 << 5;
const OTHER_BYTES: u8 = 1 << 6;
const OP: u8 = 7;

/// What the next submission is compared with.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    at: u64,
    request: Request,
}

impl Last {
    fn handle(&self) -> u64 {
        self.request.handle.wrapping_add(1)
    }
}

/// An entry of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A submission and its time.
    Submitted(Time, Request),
    /// An advance.
    Advanced(Position),
}

/// A history under construction.
#[derive(Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    last: Last,
}

impl Encoder {
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a number, seven bits per byte, lowest first; all bytes but the last have their top bit set.
    #[inline]
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Appends the difference between two numbers, modulo 2^64.
    #[inline]
    fn difference(&mut self, from: u64, to: u64) {
        let difference = to.wrapping_sub(from) as i64;
        self.number(((difference << 1) ^ (difference >> 63)) as u64);
    }

    #[inline]
    pub fn submitted(&mut self, at: Time, request: &Request) {
        let last = self.last;
        let flag = |differs: bool, flag: u8| if differs { flag } else { 0 };
        let other_device = request.device != last.request.device;
        let other_thread = request.thread != last.request.thread;
        let other_bytes = request.bytes != last.request.bytes;
        let head = request.op as u8
            | flag(request.fua, FUA)
            | flag(other_device, OTHER_DEVICE)
            | flag(other_thread, OTHER_THREAD)
            | flag(other_bytes, OTHER_BYTES);
        self.bytes.push(head);
        if head >= OTHER_DEVICE {
            if other_device {
                self.number(request.device.into());
            }
            if other_thread {
                self.number(request.thread.into());
            }
            if other_bytes {
                self.number(request.bytes);
            }
        }
        self.difference(last.at, at.ps());
        self.difference(last.request.address, request.address);
        self.difference(last.handle(), request.handle);
        self.last = Last { at: at.ps(), request: *request };
    }

    #[inline]
    pub fn advanced(&mut self, position: Position) {
        self.bytes.push(ADVANCED | if position.until.is_some() { UNTIL } else { 0 });
        self.number(position.stops);
        self.number(position.returned);
        if let Some(until) = position.until {
            self.difference(self.last.at, until.ps());
        }
    }
}

/// Reads a history.
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    last: Last,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { rest: bytes, last: Last::default() }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn difference(&mut self, from: u64) -> Option<u64> {
        let value = self.number()?;
        let difference = (value >> 1) as i64 ^ -((value & 1) as i64);
        Some(from.wrapping_add(difference as u64))
    }

    /// Returns the next entry; `None` at the end, and an error for bytes that encode none.
    pub fn next(&mut self) -> Result<Option<Entry>, ()> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.entry().map(Some).ok_or(())
    }

    fn entry(&mut self) -> Option<Entry> {
        let head = self.byte()?;
        if head & ADVANCED != 0 {
            let (stops, returned) = (self.number()?, self.number()?);
            let until = match head & !ADVANCED {
                0 => None,
                UNTIL => Some(Time::from_ps(self.difference(self.last.at)?)),
                _ => return None,
            };
            return Some(Entry::Advanced(Position { stops, until, returned }));
        }
        let last = self.last;
        let mut request = Request { op: Op::of_code(head & OP)?, fua: head & FUA != 0, ..last.request };
        if head & OTHER_DEVICE != 0 {
            request.device = self.number()?.try_into().ok()?;
        }
        if head & OTHER_THREAD != 0 {
            request.thread = self.number()?.try_into().ok()?;
        }
        if head & OTHER_BYTES != 0 {
            request.bytes = self.number()?;
        }
        let at = self.difference(last.at)?;
        request.address = self.difference(last.request.address)?;
        request.handle = self.difference(last.handle())?;
        self.last = Last { at, request };
        Some(Entry::Submitted(Time::from_ps(at), request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(value, bits)| value >> bits)
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let request = (0u16..3, 0u8..5, any::<bool>(), 0u16..3, (number(), number(), number()));
        let submitted = (number(), request).prop_map(|(at, (device, op, fua, thread, (address, bytes, handle)))| {
            let op = Op::of_code(op).expect("one of five");
            Entry::Submitted(Time::from_ps(at), Request { device, op, fua, thread, address, bytes, handle })
        });
        let position = (number(), prop::option::of(number()), number());
        let advanced = position.prop_map(|(stops, until, returned)| {
            Entry::Advanced(Position { stops, until: until.map(Time::from_ps), returned })
        });
        prop_oneof![3 => submitted, 1 => advanced]
    }

    proptest! {
        #[test]
        fn a_history_decodes_to_its_entries(entries in prop::collection::vec(entry(), 0..30)) {
            let mut encoder = Encoder::default();
            for entry in &entries {
                match entry {
                    Entry::Submitted(at, request) => encoder.submitted(*at, request),
                    Entry::Advanced(position) => encoder.advanced(*position),
                }
            }
            let mut decoder = Decoder::new(encoder.as_slice());
            for entry in entries {
                prop_assert_eq!(decoder.next(), Ok(Some(entry)));
            }
            prop_assert_eq!(decoder.next(), Ok(None));
        }

        #[test]
        fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut decoder = Decoder::new(&bytes);
            while let Ok(Some(_)) = decoder.next() {}
        }
    }
}
