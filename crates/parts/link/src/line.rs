//! The way between a processor's last-level cache and memory that is not beside it: lines of 64 bytes, both ways at once.

use sim::{Serial, Time};

use crate::rate::ByteTime;

/// Bytes of a line.
const LINE: u64 = 64;

/// A link that carries lines (CXL.mem, a memory controller in another package).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLinkConfig {
    /// From one end to the other, beside the time on the wire.
    pub latency: Time,
    /// Bytes a second, each way; `None`: as many as are wanted.
    pub bandwidth: Option<u64>,
    /// Bytes of a message beside its line: command, address, check.
    pub header: u64,
}

/// Its two directions.
#[derive(Clone, Debug)]
pub struct LineLink {
    latency: Time,
    /// Time of a message with a line and of one without.
    with: Time,
    without: Time,
    to_memory: Serial,
    to_cache: Serial,
}

impl LineLink {
    /// An idle link.
    pub fn new(config: &LineLinkConfig) -> LineLink {
        let time = |bytes| config.bandwidth.map_or(Time::ZERO, |rate| ByteTime::at_rate(rate).of_bytes(bytes));
        LineLink {
            latency: config.latency,
            with: time(config.header + LINE),
            without: time(config.header),
            to_memory: Serial::default(),
            to_cache: Serial::default(),
        }
    }

    /// A request is sent at `now`, with a line that comes back or without: when memory has it.
    #[inline]
    pub fn request(&mut self, now: Time, with_line: bool) -> Time {
        let length = if with_line { self.with } else { self.without };
        self.to_memory.take(now, length).to + self.latency
    }

    /// Its answer is sent at `now`, with the line that was asked for or without: when the cache has it.
    #[inline]
    pub fn answer(&mut self, now: Time, with_line: bool) -> Time {
        let length = if with_line { self.with } else { self.without };
        self.to_cache.take(now, length).to + self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_one_another_and_each_way_is_its_own() {
        let config = LineLinkConfig { latency: Time::from_ns(20), bandwidth: Some(16_000_000_000), header: 16 };
        let mut link = LineLink::new(&config);
        assert_eq!(link.request(Time::ZERO, false), Time::from_ns(21));
        assert_eq!(link.request(Time::ZERO, true), Time::from_ns(26));
        assert_eq!(link.answer(Time::ZERO, true), Time::from_ns(25));
        assert_eq!(link.answer(Time::ZERO, true), Time::from_ns(30));
        let mut free = LineLink::new(&LineLinkConfig { latency: Time::ZERO, bandwidth: None, header: 16 });
        assert_eq!(free.answer(Time::from_ns(3), true), Time::from_ns(3));
    }
}
