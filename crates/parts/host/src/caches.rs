//! Maintenance of processor caches that are not coherent with DMA.

use sim::Time;

/// Returns the CPU time to clean or invalidate the lines of `bytes`, given the time for 512 KiB.
pub fn maintenance(of_512kib: Time, bytes: u64) -> Time {
    const WHOLE: u128 = 512 << 10;
    Time::from_ps((u128::from(of_512kib.ps()) * u128::from(bytes)).div_ceil(WHOLE) as u64)
}
