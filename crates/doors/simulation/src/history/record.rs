//! An entry of a history: a submission or an advance, in a few plain numbers.

use sim::Time;

use super::Position;
use crate::request::{Op, Request};

/// Kind of an entry for an advance; submissions have the number of their operation.
const ADVANCED: u8 = u8::MAX;
/// Flags of a submission: force unit access; and that the simulation advanced by one completion before it.
const FUA: u8 = 1;
const AFTER_ONE: u8 = 2;
/// Flag of an advance: to a time.
const UNTIL: u8 = 1;

/// The advance by one completion, which has no entry of its own: it comes before most submissions.
pub(super) const ONE: Position = Position { stops: 1, until: None, returned: 1 };

/// An entry of a history. Of an advance, `at` is the time, `address` the stops and `bytes` the completions returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    at: Time,
    address: u64,
    bytes: u64,
    handle: u64,
    device: u16,
    thread: u16,
    kind: u8,
    flags: u8,
}

/// What a [`Record`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A submission, after an advance by one completion or not.
    Submitted { after_one: bool, at: Time, request: Request },
    /// Any other advance.
    Advanced(Position),
}

impl Record {
    /// Bytes of a record in a file.
    pub const BYTES: usize = 4 * 8 + 2 * 2 + 2;

    #[inline]
    pub fn submitted(after_one: bool, at: Time, request: &Request) -> Record {
        let Request { device, op, fua, thread, address, bytes, handle } = *request;
        let flags = (u8::from(fua) * FUA) | (u8::from(after_one) * AFTER_ONE);
        Record { at, address, bytes, handle, device, thread, kind: op as u8, flags }
    }

    pub fn advanced(Position { stops, until, returned }: Position) -> Record {
        let flags = u8::from(until.is_some()) * UNTIL;
        let at = until.unwrap_or(Time::ZERO);
        Record { at, address: stops, bytes: returned, handle: 0, device: 0, thread: 0, kind: ADVANCED, flags }
    }

    /// Returns what it stands for; `None` if it is damaged.
    pub fn event(&self) -> Option<Event> {
        let Record { at, address, bytes, handle, device, thread, kind, flags } = *self;
        if kind == ADVANCED {
            let until = (flags & UNTIL != 0).then_some(at);
            return Some(Event::Advanced(Position { stops: address, until, returned: bytes }));
        }
        let (op, fua) = (Op::of_code(kind)?, flags & FUA != 0);
        let request = Request { device, op, fua, thread, address, bytes, handle };
        Some(Event::Submitted { after_one: flags & AFTER_ONE != 0, at, request })
    }

    /// Appends it to the content of a file.
    pub fn write(&self, content: &mut Vec<u8>) {
        for number in [self.at.ps(), self.address, self.bytes, self.handle] {
            content.extend(number.to_le_bytes());
        }
        content.extend(self.device.to_le_bytes());
        content.extend(self.thread.to_le_bytes());
        content.extend([self.kind, self.flags]);
    }

    /// Reads it from a file.
    pub fn read(from: &[u8; Record::BYTES]) -> Record {
        let number = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| from[8 * index + byte]));
        Record {
            at: Time::from_ps(number(0)),
            address: number(1),
            bytes: number(2),
            handle: number(3),
            device: u16::from_le_bytes([from[32], from[33]]),
            thread: u16::from_le_bytes([from[34], from[35]]),
            kind: from[36],
            flags: from[37],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = Event> {
        let flags = (any::<bool>(), any::<bool>());
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
        let submitted = (flags, 0u8..5, any::<u16>(), any::<u16>(), numbers);
        let submitted = submitted.prop_map(|((after_one, fua), op, device, thread, (at, address, bytes, handle))| {
            let op = Op::of_code(op).expect("one of five");
            let request = Request { device, op, fua, thread, address, bytes, handle };
            Event::Submitted { after_one, at: Time::from_ps(at), request }
        });
        let advanced = (any::<u64>(), prop::option::of(any::<u64>()), any::<u64>());
        let advanced = advanced.prop_map(|(stops, until, returned)| {
            Event::Advanced(Position { stops, until: until.map(Time::from_ps), returned })
        });
        prop_oneof![submitted, advanced]
    }

    proptest! {
        #[test]
        fn a_written_event_is_read_again(event in event()) {
            let record = match event {
                Event::Submitted { after_one, at, request } => Record::submitted(after_one, at, &request),
                Event::Advanced(position) => Record::advanced(position),
            };
            let mut content = Vec::new();
            record.write(&mut content);
            let content = content.try_into().expect("the bytes of one record");
            prop_assert_eq!(Record::read(&content).event(), Some(event));
        }
    }
}
