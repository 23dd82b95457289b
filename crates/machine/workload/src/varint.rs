//! Variable-length integers (LEB128), and zigzag encoding of signed differences.

/// Maximum length of an encoded number in bytes.
pub(crate) const LONGEST: usize = 10;

/// Appends `value`, seven bits per byte, lowest bits first. All bytes but the last have their top bit set.
pub(crate) fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Decodes the number at the start of `bytes`. Returns it with its length in bytes, or `None` if the encoding is
/// incomplete or exceeds 64 bits.
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut value = u64::from(first & 0x7f);
    for (i, &byte) in bytes.iter().enumerate().take(LONGEST).skip(1) {
        let bits = u64::from(byte & 0x7f);
        if i == LONGEST - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Maps 0, -1, 1, -2, … to 0, 1, 2, 3, …
pub(crate) fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// Undoes [`zigzag`].
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoded_numbers_decode_to_themselves(value in any::<u64>(), bits in 0u32..64, behind in any::<u8>()) {
            let value = value >> bits;
            let mut out = Vec::new();
            push(&mut out, value);
            let length = out.len();
            prop_assert!(length <= LONGEST);
            for cut in 0..length {
                prop_assert_eq!(read(&out[..cut]), None);
            }
            out.push(behind);
            prop_assert_eq!(read(&out), Some((value, length)));
            prop_assert_eq!(unzigzag(zigzag(value as i64)), value as i64);
        }
    }

    #[test]
    fn small_differences_are_small_numbers() {
        let zigzags: Vec<u64> = [0, -1, 1, -2, i64::MAX, i64::MIN].map(zigzag).to_vec();
        assert_eq!(zigzags, [0, 1, 2, 3, u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn more_than_64_bits_are_rejected() {
        assert_eq!(read(&[0xff; 11]), None);
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(read(&most), Some((u64::MAX, 10)));
        most[9] = 2;
        assert_eq!(read(&most), None);
    }
}
