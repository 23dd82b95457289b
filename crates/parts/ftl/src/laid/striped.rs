//! Placement of a [`LaidStream`] in flash: whole programs over the parallel units in turn, filling the blocks of each
//! parallel unit in ascending order.
//!
//! A filled drive has rested: its SLC cache is folded. The map, written when the drive was switched off, is still in
//! that cache if it fits. Program numbers exclude parity.

use super::stream::LaidStream;
use crate::config::Config;
use crate::layout::{Divisor, Layout};

pub(super) struct Striped {
    pub(super) stream: LaidStream,
    parallel_units: u32,
    by_lanes: Divisor,
    lane_blocks: u32,
    by_lane_blocks: Divisor,
    /// Programs in the main blocks, and in all blocks.
    main: u32,
    all: u32,
    /// First block of a parallel unit and programs per block, for main blocks and for the SLC cache.
    first: [u32; 2],
    block_programs: [u32; 2],
    by_block_programs: [Divisor; 2],
    /// Padding units in each block.
    padding: Vec<u32>,
}

/// Indices for main blocks and SLC blocks.
const MAIN: usize = 0;
const SLC: usize = 1;

impl Striped {
    pub(super) fn new(config: &Config, layout: &Layout) -> Striped {
        let stream = LaidStream::new(config, layout);
        let all = stream.len().div_ceil(layout.program_units);
        let slc = config.slc.map_or(0, |slc| slc.blocks);
        let copies = config.read_copies.map_or(0, |copies| copies.blocks);
        let bits = config.slc.map_or(1, |slc| slc.bits);
        let block_programs = [layout.block_programs, (layout.pages / bits).max(1) * layout.per_row];
        let block_programs = block_programs.map(|programs| layout.data_before(programs));
        let data = stream.data() / layout.program_units;
        let cached =
            u64::from(all - data) <= u64::from((slc - copies) * layout.parallel_units) * u64::from(block_programs[SLC]);
        let mut striped = Striped {
            stream,
            parallel_units: layout.parallel_units,
            by_lanes: Divisor::new(layout.parallel_units),
            lane_blocks: layout.blocks,
            by_lane_blocks: Divisor::new(layout.blocks),
            main: if cached { data } else { all },
            all,
            first: [slc, copies],
            block_programs,
            by_block_programs: block_programs.map(Divisor::new),
            padding: vec![0; layout.all_blocks() as usize],
        };
        for (program, empty) in striped.stream.padded(layout.program_units) {
            let (block, _) = striped.place(program);
            striped.padding[block as usize] += empty;
        }
        striped
    }

    /// Returns the number of programs in all blocks.
    pub(super) fn all(&self) -> u32 {
        self.all
    }

    /// Returns how many of the first `programs` go to `pu`.
    fn of_lane(&self, programs: u32, pu: u32) -> u32 {
        self.by_lanes.quotient(programs + self.parallel_units - 1 - pu)
    }

    /// Returns the block of program `program` of the stream, and its number in the block.
    #[inline]
    pub(super) fn place(&self, program: u32) -> (u32, u32) {
        let (mut of_lane, pu) = self.by_lanes.divide(program);
        let mut kind = MAIN;
        if program >= self.main {
            (of_lane, kind) = (of_lane - self.of_lane(self.main, pu), SLC);
        }
        let (turn, number) = self.by_block_programs[kind].divide(of_lane);
        (pu * self.lane_blocks + self.first[kind] + turn, number)
    }

    /// Returns the program of the stream that is number `number` of `block`, if any.
    #[inline]
    pub(super) fn program(&self, block: u32, number: u32) -> Option<u32> {
        let (pu, in_lane) = self.by_lane_blocks.divide(block);
        let kind = usize::from(in_lane < self.first[MAIN]);
        let turn = in_lane.checked_sub(self.first[kind]).filter(|_| number < self.block_programs[kind])?;
        let before = if kind == SLC { self.of_lane(self.main, pu) } else { 0 };
        let program = (before + turn * self.block_programs[kind] + number) * self.parallel_units + pu;
        (program < if kind == SLC { self.all } else { self.main }).then_some(program)
    }

    /// Returns the number of programs in `block`.
    pub(super) fn programs(&self, block: u32) -> u32 {
        let (pu, in_lane) = self.by_lane_blocks.divide(block);
        let kind = usize::from(in_lane < self.first[MAIN]);
        let Some(turn) = in_lane.checked_sub(self.first[kind]) else { return 0 };
        let main = self.of_lane(self.main, pu);
        let of_lane = if kind == SLC { self.of_lane(self.all, pu) - main } else { main };
        of_lane.saturating_sub(turn * self.block_programs[kind]).min(self.block_programs[kind])
    }

    /// Returns the number of padding units in `block`.
    pub(super) fn padding(&self, block: u32) -> u32 {
        self.padding[block as usize]
    }
}
