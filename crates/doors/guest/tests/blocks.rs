//! A drive as plain blocks: any range reads back the data written last.

mod support;

use guest::{BlockError, Blocks, Drive, Options};
use sim::Streams;
use support::{SMALL, system};

fn blocks() -> Blocks {
    let small = system("", &SMALL);
    Blocks::new(|memory| Drive::new(&small, &Options::default(), memory)).expect("a drive")
}

#[test]
fn any_ranges_read_back_what_was_written_last() {
    let mut blocks = blocks();
    let size = 3 << 20;
    let mut expected = vec![0u8; size as usize];
    let mut rng = Streams::new(1).stream("blocks");
    for step in 0..400 {
        let offset = rng.below(size);
        let bytes = (rng.below(300_000) >> rng.below(19)).min(size - offset);
        let range = offset as usize..(offset + bytes) as usize;
        match rng.below(10) {
            0..4 => {
                let mut found = vec![1; bytes as usize];
                blocks.read(offset, &mut found).expect("a read");
                assert!(found == expected[range], "step {step}: {bytes} bytes at {offset}");
            }
            4..8 => {
                let value = rng.below(256) as u8;
                let data: Vec<u8> = (0..bytes).map(|i| value.wrapping_add((i / 7) as u8)).collect();
                blocks.write(offset, &data).expect("a write");
                expected[range].copy_from_slice(&data);
            }
            8 => {
                blocks.zero(offset, bytes).expect("zeros");
                expected[range].fill(0);
            }
            _ => blocks.flush().expect("a flush"),
        }
    }
}

#[test]
fn trimmed_blocks_are_zeros_and_the_blocks_around_them_stay() {
    let mut blocks = blocks();
    blocks.write(0, &[7; 64 << 10]).expect("a write");
    blocks.trim(100, 40_000).expect("a trim");
    let mut found = vec![1; 64 << 10];
    blocks.read(0, &mut found).expect("a read");
    assert!(found[..512].iter().all(|byte| *byte == 7) && found[40_448..].iter().all(|byte| *byte == 7));
    assert!(found[4096..36_864].iter().all(|byte| *byte == 0), "the whole mapping units");
}

#[test]
fn extents_are_what_was_written_and_not_discarded() {
    const UNIT: u64 = 4096;
    let mut blocks = blocks();
    let size = 3 << 20;
    let mut mapped = vec![false; (size / UNIT) as usize];
    let mut rng = Streams::new(2).stream("extents");
    for step in 0..400 {
        let offset = rng.below(size);
        let bytes = (1 + (rng.below(300_000) >> rng.below(19))).min(size - offset);
        let touched = (offset / UNIT) as usize..(offset + bytes).div_ceil(UNIT) as usize;
        let whole = offset.div_ceil(UNIT) as usize..((offset + bytes) / UNIT) as usize;
        match rng.below(8) {
            0..3 => {
                // Zeros that are written take space.
                blocks.write(offset, &vec![(step % 2) as u8; bytes as usize]).expect("a write");
                mapped[touched].fill(true);
            }
            3..5 => {
                blocks.zero(offset, bytes).expect("zeros");
                mapped[touched].fill(true);
                whole.for_each(|unit| mapped[unit] = false);
            }
            5 => {
                blocks.trim(offset, bytes).expect("a trim");
                whole.for_each(|unit| mapped[unit] = false);
            }
            6 => blocks.flush().expect("a flush"),
            _ => {
                let mut at = offset;
                let found = blocks.extents(offset, bytes).expect("extents");
                assert!(found.windows(2).all(|pair| pair[0].1 != pair[1].1), "step {step}: {found:?}");
                for (length, is_hole) in found {
                    for unit in at / UNIT..(at + length).div_ceil(UNIT) {
                        assert_eq!(is_hole, !mapped[unit as usize], "step {step}: unit {unit}");
                    }
                    let mut data = vec![1; length as usize];
                    blocks.read(at, &mut data).expect("a read");
                    assert!(!is_hole || data.iter().all(|byte| *byte == 0), "step {step}: {length} bytes at {at}");
                    at += length;
                }
                assert_eq!(at, offset + bytes);
            }
        }
    }
    assert_eq!(blocks.extents(1, 0), Ok(Vec::new()));
}

#[test]
fn what_is_beyond_the_end_is_refused() {
    let mut blocks = blocks();
    let end = blocks.bytes();
    blocks.write(end - 1, &[9]).expect("the last byte");
    let mut found = [0; 1];
    blocks.read(end - 1, &mut found).expect("the last byte");
    assert_eq!(found, [9]);
    for (offset, bytes) in [(end, 1), (end - 1, 2), (u64::MAX, 2)] {
        let refused = Err(BlockError::Range { offset, bytes });
        assert_eq!(blocks.read(offset, &mut vec![0; bytes as usize]), refused);
        assert_eq!(blocks.write(offset, &vec![0; bytes as usize]), refused);
        assert_eq!(blocks.zero(offset, bytes), refused);
        assert_eq!(blocks.trim(offset, bytes), refused);
        assert_eq!(blocks.extents(offset, bytes).map(|_| ()), refused);
    }
}
