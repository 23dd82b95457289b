//! Permutation of banks and channels by higher address bits.
//!
//! Without it, addresses a power of two apart are on the same channel and in the same bank, in different rows: streams
//! that advance in step then close each other's rows (Zhang, Zhu and Zhang, "A Permutation-based Page Interleaving
//! Scheme", MICRO 2000). Controllers XOR bank and channel bits with row bits, but their vendors do not publish which
//! ones. Here each bit is the parity of every `bits`th higher bit, so that `2^bits` streams at any power of two apart
//! use different channels or banks.

/// XORs the groups of `bits` bits of `value` together. Only the lowest `bits` bits of the result are meaningful.
#[inline]
pub(crate) fn fold(value: u64, bits: u32) -> u64 {
    // With a constant number of bits, the shifts are constant too, which takes half the instructions of a loop.
    match bits {
        1 => u64::from(value.count_ones() & 1),
        2 => fold_by(value, 2),
        3 => fold_by(value, 3),
        4 => fold_by(value, 4),
        5 => fold_by(value, 5),
        6 => fold_by(value, 6),
        _ => fold_by(value, bits),
    }
}

#[inline]
fn fold_by(value: u64, bits: u32) -> u64 {
    let (mut sum, mut shift) = (value, bits);
    while shift < 64 && shift > 0 {
        sum ^= sum >> shift;
        shift *= 2;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_is_the_parity_of_every_nth_bit() {
        let mut value = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..1000 {
            value = value.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            for bits in 1..10 {
                let mut sum = 0;
                for at in (0..64).step_by(bits as usize) {
                    sum ^= value >> at;
                }
                assert_eq!(fold(value, bits) & ((1 << bits) - 1), sum & ((1 << bits) - 1), "{value:#x} by {bits}");
            }
        }
        assert_eq!(fold(12345, 0), 12345);
    }

    #[test]
    fn streams_a_power_of_two_apart_are_spread_evenly() {
        for (bits, distance) in [(2, 14), (4, 12), (5, 20), (3, 9)] {
            let mut seen: Vec<u64> =
                (0..1_u64 << bits).map(|n| fold(n << distance, bits) & ((1 << bits) - 1)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..1 << bits).collect::<Vec<u64>>(), "{bits} bits, 2^{distance} apart");
        }
    }
}
