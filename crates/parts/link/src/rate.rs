//! Time per byte, exact to 2^-32 ps, without a division per message.

use sim::Time;

/// Time that one byte takes on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteTime {
    /// Picoseconds per byte, times 2^32, rounded up.
    scaled: u64,
}

impl ByteTime {
    /// Returns the byte time of a wire on which `bytes` take `ps` picoseconds.
    ///
    /// # Panics
    /// If `bytes` is zero, or if a byte takes more than 4 ms. The slowest supported link, 1 kB/s, stays below that
    /// limit.
    pub const fn of(ps: u128, bytes: u128) -> ByteTime {
        assert!(bytes > 0, "a rate of zero bytes");
        let scaled = (ps << 32).div_ceil(bytes);
        assert!(scaled <= u64::MAX as u128, "slower than 1 kB/s");
        ByteTime { scaled: scaled as u64 }
    }

    /// Returns the byte time at `bytes_per_s`.
    ///
    /// # Panics
    /// If the rate is below 1 kB/s.
    pub const fn at_rate(bytes_per_s: u64) -> ByteTime {
        ByteTime::of(1_000_000_000_000, bytes_per_s as u128)
    }

    /// Returns the time that `bytes` take, rounded up to a picosecond.
    pub const fn of_bytes(self, bytes: u64) -> Time {
        Time::from_ps(((bytes as u128 * self.scaled as u128 + 0xffff_ffff) >> 32) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_for_divisible_rates_and_within_a_picosecond_otherwise() {
        assert_eq!(ByteTime::at_rate(4_000_000_000).of_bytes(4096), Time::from_ns(1024));
        for rate in [1_000, 333_000_000, 600_000_000, 15_753_846_153] {
            for bytes in [0, 1, 17, 4096, 1 << 20] {
                let (fast, exact) = (ByteTime::at_rate(rate).of_bytes(bytes), Time::of_transfer(bytes, rate));
                assert!(fast >= exact && fast <= exact + Time::from_ps(1), "{bytes} at {rate}: {fast} for {exact}");
            }
        }
    }
}
