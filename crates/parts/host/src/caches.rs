//! Maintenance of processor caches for a DMA whose accesses they do not see.

use sim::Time;

/// CPU time to clean or invalidate the lines of `bytes`, from that of 512 KiB, by which it is given.
pub fn maintenance(of_512kib: Time, bytes: u64) -> Time {
    const WHOLE: u128 = 512 << 10;
    Time::from_ps((u128::from(of_512kib.ps()) * u128::from(bytes)).div_ceil(WHOLE) as u64)
}
