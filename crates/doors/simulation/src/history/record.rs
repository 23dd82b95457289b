//! An entry of a history: a submission or an advance.

use sim::Time;

use super::Position;
use crate::request::{Op, Request};

/// Kind of an entry for an advance in a file; submissions have the number of their operation.
const ADVANCED: u8 = u8::MAX;

/// An entry of a history, in 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A submission at `at`, after the simulation has stopped `stops` times because requests completed. The other fields
    /// are those of its [`Request`].
    Submitted {
        at: Time,
        address: u64,
        bytes: u64,
        handle: u64,
        device: u16,
        thread: u16,
        op: Op,
        fua: bool,
        stops: u8,
    },
    /// An advance of which a submission's entry cannot hold the position.
    Advanced(Position),
}

impl Record {
    /// Bytes of a record in a file.
    pub const BYTES: usize = 4 * 8 + 2 * 2 + 3;

    #[inline]
    pub fn submitted(stops: u8, at: Time, request: &Request) -> Record {
        let Request { device, op, fua, thread, address, bytes, handle } = *request;
        Record::Submitted { at, address, bytes, handle, device, thread, op, fua, stops }
    }

    /// Appends it to the content of a file. Of an advance, the numbers are a time or [`Time::MAX`], and the stops.
    pub fn write(&self, content: &mut Vec<u8>) {
        let (numbers, small, bytes) = match *self {
            Record::Submitted { at, address, bytes, handle, device, thread, op, fua, stops } => {
                ([at.ps(), address, bytes, handle], [device, thread], [op as u8, fua.into(), stops])
            }
            Record::Advanced(Position { stops, until }) => {
                ([until.unwrap_or(Time::MAX).ps(), stops, 0, 0], [0; 2], [ADVANCED, 0, 0])
            }
        };
        content.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        content.extend(small.into_iter().flat_map(u16::to_le_bytes));
        content.extend(bytes);
    }

    /// Reads it from a file; `None` if it is damaged.
    pub fn read(from: &[u8; Record::BYTES]) -> Option<Record> {
        let number = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| from[8 * index + byte]));
        let small = |index: usize| u16::from_le_bytes([from[32 + 2 * index], from[33 + 2 * index]]);
        let at = Time::from_ps(number(0));
        if from[36] == ADVANCED {
            return Some(Record::Advanced(Position { stops: number(1), until: (at < Time::MAX).then_some(at) }));
        }
        Some(Record::Submitted {
            at,
            address: number(1),
            bytes: number(2),
            handle: number(3),
            device: small(0),
            thread: small(1),
            op: Op::of_code(from[36])?,
            fua: from[37] != 0,
            stops: from[38],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
        let submitted = (any::<bool>(), any::<u8>(), 0u8..5, any::<u16>(), any::<u16>(), numbers);
        let submitted = submitted.prop_map(|(fua, stops, op, device, thread, (at, address, bytes, handle))| {
            let op = Op::of_code(op).expect("one of five");
            let request = Request { device, op, fua, thread, address, bytes, handle };
            Record::submitted(stops, Time::from_ps(at), &request)
        });
        let advanced = (any::<u64>(), prop::option::of(0..u64::MAX));
        let advanced =
            advanced.prop_map(|(stops, until)| Record::Advanced(Position { stops, until: until.map(Time::from_ps) }));
        prop_oneof![submitted, advanced]
    }

    proptest! {
        #[test]
        fn a_written_record_is_read_again(record in record()) {
            let mut content = Vec::new();
            record.write(&mut content);
            let content = content.try_into().expect("the bytes of one record");
            prop_assert_eq!(Record::read(&content), Some(record));
        }
    }

    #[test]
    fn a_record_takes_as_much_memory_as_the_documents_say() {
        assert_eq!(size_of::<Record>(), 40);
    }
}
