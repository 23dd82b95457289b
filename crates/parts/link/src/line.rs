//! Link between a processor's last-level cache and remote memory: 64-byte lines, full duplex.

use keys::{RATE, SIZE, TIME, assumed, section};
use sim::{Serial, Time};

use crate::rate::ByteTime;

/// Bytes per line.
const LINE: u64 = 64;

section! {
    /// The link between the last-level cache and the memory controller, which carries cache lines (CXL.mem, a memory
    /// controller in another package).
    #[derive(Copy, Eq)]
    LineLinkConfig {
        "memory.link.latency" latency: Time = TIME.within(0.0, 1e9),
            assumed("10ns", "a link between packages on a board, without a multi-layer protocol"),
            "Latency in one direction.",
            when "memory.type" is "hybrid";
        "memory.link.bandwidth" bandwidth: Option<u64> = RATE.within(1e6, 1e15).or("unlimited"),
            assumed("51.2GB/s", "equal to four channels of DDR3-1600"),
            "Bytes per second in each direction.",
            when "memory.type" is "hybrid";
        "memory.link.header" header: u64 = SIZE.within(0.0, 256.0),
            assumed("8B", "a command and an address"),
            "Bytes of a message in addition to its line.",
            when "memory.type" is "hybrid";
    }
}

/// A link that carries cache lines.
#[derive(Clone, Debug)]
pub struct LineLink {
    latency: Time,
    /// Wire time of a message with a line, and of one without.
    with: Time,
    without: Time,
    to_memory: Serial,
    to_cache: Serial,
}

impl LineLink {
    /// Creates an idle link.
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

    /// Sends a request at `now`, with a line if `with_line` is set. Returns the time at which memory receives it.
    pub fn request(&mut self, now: Time, with_line: bool) -> Time {
        let length = if with_line { self.with } else { self.without };
        self.to_memory.take(now, length).to + self.latency
    }

    /// Sends a response at `now`, with a line if `with_line` is set. Returns the time at which the cache receives it.
    pub fn answer(&mut self, now: Time, with_line: bool) -> Time {
        let length = if with_line { self.with } else { self.without };
        self.to_cache.take(now, length).to + self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_queue_in_each_direction_independently() {
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
