//! Byte times: exact to a 2^-32 of a picosecond, without a division for each message.

use sim::Time;

/// How long a byte takes on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteTime {
    /// Picoseconds a byte, times 2^32, rounded up.
    scaled: u64,
}

impl ByteTime {
    /// The byte time where `bytes` take `ps` picoseconds.
    ///
    /// # Panics
    /// If `bytes` is zero or a byte takes more than 4 ms (so does 1 kB/s, the slowest link that can be stated, with
    /// room to spare).
    pub const fn of(ps: u128, bytes: u128) -> ByteTime {
        assert!(bytes > 0, "a rate of zero bytes");
        let scaled = (ps << 32).div_ceil(bytes);
        assert!(scaled <= u64::MAX as u128, "slower than 1 kB/s");
        ByteTime { scaled: scaled as u64 }
    }

    /// The byte time at `bytes_per_s`.
    ///
    /// # Panics
    /// If that is under 1 kB/s.
    pub const fn at_rate(bytes_per_s: u64) -> ByteTime {
        ByteTime::of(1_000_000_000_000, bytes_per_s as u128)
    }

    /// The time `bytes` take, rounded up to a picosecond.
    #[inline]
    pub const fn of_bytes(self, bytes: u64) -> Time {
        Time::from_ps(((bytes as u128 * self.scaled as u128 + 0xffff_ffff) >> 32) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_where_the_rate_is_and_within_a_picosecond_elsewhere() {
        assert_eq!(ByteTime::at_rate(4_000_000_000).of_bytes(4096), Time::from_ns(1024));
        for rate in [1_000, 333_000_000, 600_000_000, 15_753_846_153] {
            for bytes in [0, 1, 17, 4096, 1 << 20] {
                let (fast, exact) = (ByteTime::at_rate(rate).of_bytes(bytes), Time::of_transfer(bytes, rate));
                assert!(fast >= exact && fast <= exact + Time::from_ps(1), "{bytes} at {rate}: {fast} for {exact}");
            }
        }
    }
}
