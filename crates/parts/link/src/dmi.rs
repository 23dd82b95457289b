//! The Direct Media Interface between North Bridge and South Bridge: full duplex. Data sheets give its bandwidth, but
//! no packet format.
//!
//! Data of transfers is served in order of arrival. Short messages (register writes, read requests, descriptors,
//! interrupts) pass between the packets of data, as urgent packets do in [`sim::Serial`].

use sim::{Serial, Span, Time};

use crate::{ByteTime, Direction};

/// Configuration of a link between the bridges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmiConfig {
    /// Bytes per second in each direction.
    pub bandwidth: u64,
    /// Time from the last bit leaving one bridge to its use in the other.
    pub latency: Time,
}

/// Bytes of a read request or of a message without data.
pub const MESSAGE: u32 = 16;
/// Maximum bytes in a data packet. On average a message waits for half a packet if the wire carries data.
const PACKET: u64 = 128;

/// A link between the bridges. `ToDevice` means from North to South.
#[derive(Clone, Debug)]
pub struct Dmi {
    wires: [Serial; 2],
    byte: ByteTime,
    residue: Time,
    latency: Time,
    bytes: [u64; 2],
}

impl Dmi {
    /// Creates an idle link.
    ///
    /// # Panics
    /// If the link is slower than 1 kB/s.
    pub fn new(config: &DmiConfig) -> Dmi {
        let byte = ByteTime::at_rate(config.bandwidth);
        Dmi {
            wires: [Serial::default(); 2],
            byte,
            residue: byte.of_bytes(PACKET) / 2,
            latency: config.latency,
            bytes: [0; 2],
        }
    }

    /// Sends a message of `bytes`, due at `at` (now or later). Returns the arrival time.
    pub fn message(&mut self, now: Time, at: Time, direction: Direction, bytes: u32) -> Time {
        let (way, length) = (direction as usize, self.byte.of_bytes(u64::from(bytes)));
        let left = self.wires[way].due(at, self.residue) + length;
        self.wires[way].charge_urgent(now, length);
        self.bytes[way] += u64::from(bytes);
        left + self.latency
    }

    /// Sends a request for part of a transfer's data, due at `at`. Returns the arrival time. The requests of a transfer
    /// never wait for each other.
    pub fn request(&mut self, at: Time, direction: Direction) -> Time {
        let (way, length) = (direction as usize, self.byte.of_bytes(u64::from(MESSAGE)));
        let left = self.wires[way].due(at, self.residue) + length;
        self.wires[way].charge(length);
        self.bytes[way] += u64::from(MESSAGE);
        left + self.latency
    }

    /// Sends `bytes` of a transfer, ready at `at`, behind all data accepted before. They arrive [`Self::latency`] after
    /// they have left.
    pub fn data(&mut self, at: Time, direction: Direction, bytes: u64) -> Span {
        self.bytes[direction as usize] += bytes;
        self.wires[direction as usize].take(at, self.byte.of_bytes(bytes))
    }

    /// Returns the time from leaving one bridge to being usable in the other.
    pub fn latency(&self) -> Time {
        self.latency
    }

    /// Returns the bytes carried from North to South, and from South to North.
    pub fn bytes(&self) -> [u64; 2] {
        self.bytes
    }

    /// Returns the busy time from North to South, and from South to North, until `now`.
    ///
    /// # Panics
    /// If a busy time exceeds the elapsed time, which indicates an error in the model.
    pub fn busy(&self, now: Time) -> [Time; 2] {
        self.wires.map(|wire| wire.busy(now))
    }

    /// Discards everything that was accepted for a time later than `now`.
    pub fn power_cut(&mut self, now: Time) {
        self.wires.iter_mut().for_each(|wire| wire.power_cut(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_its_own_wire() {
        let mut dmi = Dmi::new(&DmiConfig { bandwidth: 1_000_000_000, latency: Time::from_ns(100) });
        let up = dmi.data(Time::ZERO, Direction::ToHost, 512);
        let down = dmi.data(Time::ZERO, Direction::ToDevice, 512);
        assert_eq!((up.to, down.to), (Time::from_ns(512), Time::from_ns(512)));
        // A message goes between the packets of data and delays the next data.
        let arrives = dmi.message(Time::from_ns(10), Time::from_ns(10), Direction::ToHost, 16);
        assert_eq!(arrives, Time::from_ns(10 + 64 + 16 + 100));
        assert_eq!(dmi.data(Time::from_ns(10), Direction::ToHost, 512).from, Time::from_ns(528));
        assert_eq!(dmi.bytes(), [512, 1040]);
        assert_eq!(dmi.busy(Time::from_us(2)), [Time::from_ns(512), Time::from_ns(1040)]);
        dmi.power_cut(Time::from_ns(600));
        assert_eq!(dmi.data(Time::from_ns(600), Direction::ToHost, 1).from, Time::from_ns(600));
    }
}
