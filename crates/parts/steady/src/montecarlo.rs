//! Compares the theory with the simulation of a simple store: uniform overwrites, blocks, one collector.

use std::collections::VecDeque;

use sim::{Rng, Streams};

use super::{Policy, Pool, Steady, solve};

const UNMAPPED: u32 = u32::MAX;

/// Assignment of write frontiers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Frontiers {
    /// Host and collector fill the same block.
    Shared,
    /// The host fills one block, the collector another.
    Separate,
}

struct Store {
    policy: Policy,
    frontiers: Frontiers,
    b: usize,
    /// Number of free blocks when a victim is chosen.
    reserve: usize,
    /// Unit -> slot (block * b + offset).
    home: Vec<u32>,
    /// Slot -> the unit last programmed there.
    slots: Vec<u32>,
    valid: Vec<u32>,
    /// Closed blocks in the order of closing.
    closed: VecDeque<u32>,
    free: Vec<u32>,
    /// Open blocks of the host and of the collector (shared: only the host's): block and number of programmed units.
    open: [Option<(u32, usize)>; 2],
    rng: Rng,
    host_writes: u64,
    moves: u64,
    choices: u64,
    /// Closed blocks by valid count, summed over a sample of the victim choices.
    histogram: Vec<u64>,
    watch: bool,
}

impl Store {
    fn empty(policy: Policy, frontiers: Frontiers, blocks: usize, units: usize, b: usize, seed: u64) -> Store {
        let reserve = if frontiers == Frontiers::Shared { 0 } else { 1 };
        Store {
            policy,
            frontiers,
            b,
            reserve,
            home: vec![UNMAPPED; units],
            slots: vec![UNMAPPED; blocks * b],
            valid: vec![0; blocks],
            closed: VecDeque::new(),
            free: (0..blocks as u32).rev().collect(),
            open: [None, None],
            rng: Streams::new(seed).stream("montecarlo"),
            host_writes: 0,
            moves: 0,
            choices: 0,
            histogram: vec![0; b + 1],
            watch: false,
        }
    }

    /// Creates a store with every unit written once, in order.
    fn filled(policy: Policy, frontiers: Frontiers, blocks: usize, units: usize, b: usize, seed: u64) -> Store {
        let mut store = Store::empty(policy, frontiers, blocks, units, b, seed);
        (0..units as u32).for_each(|unit| store.host_write(unit));
        store
    }

    /// Creates a store in the state `steady`, at a moment when a victim is about to be chosen.
    fn laid_out(steady: &Steady, blocks: usize, units: usize, seed: u64) -> Store {
        let b = steady.units_per_block as usize;
        let mut store = Store::empty(steady.policy, Frontiers::Shared, blocks, units, b, seed);
        let mut rng = Streams::new(seed).stream("layout");
        let laid = steady.lay_out(blocks as u64 - 1, units as u64, &mut rng).unwrap();
        let mut permutation: Vec<u32> = (0..units as u32).collect();
        shuffle(&mut permutation, &mut rng);
        for closed in laid.iter().rev() {
            let block = store.free.pop().unwrap();
            let mut offsets: Vec<usize> = (0..b).collect();
            shuffle(&mut offsets, &mut rng);
            for &offset in &offsets[..closed.valid as usize] {
                store.program(permutation.pop().unwrap(), block, offset);
            }
            store.closed.push_back(block);
        }
        assert!(permutation.is_empty());
        store
    }

    fn pool(&self) -> Pool {
        Pool {
            blocks: self.valid.len() as f64,
            free_blocks: self.reserve as f64,
            open_blocks: 1.0,
            open_fill: if self.frontiers == Frontiers::Shared { 0.0 } else { 0.5 },
            live_units: self.home.len() as f64,
            units_per_block: self.b as u32,
        }
    }

    fn program(&mut self, unit: u32, block: u32, offset: usize) {
        let slot = block as usize * self.b + offset;
        self.slots[slot] = unit;
        self.home[unit as usize] = slot as u32;
        self.valid[block as usize] += 1;
    }

    fn append(&mut self, unit: u32, frontier: usize) {
        if self.open[frontier].is_none() {
            self.open[frontier] = Some((self.free.pop().expect("a free block"), 0));
        }
        let (block, offset) = self.open[frontier].unwrap();
        self.program(unit, block, offset);
        self.open[frontier] = Some((block, offset + 1));
        if offset + 1 == self.b {
            self.closed.push_back(block);
            self.open[frontier] = None;
        }
    }

    fn host_write(&mut self, unit: u32) {
        match self.frontiers {
            // Take a block, then collect into it to restore the number of free blocks; repeat if the victim filled it.
            Frontiers::Shared => {
                while self.open[0].is_none() && self.free.len() <= self.reserve + 1 {
                    self.open[0] = Some((self.free.pop().expect("a free block"), 0));
                    self.collect(0);
                }
            }
            Frontiers::Separate => {
                while self.open[0].is_none() && self.free.len() <= self.reserve {
                    self.collect(1);
                }
            }
        }
        let old = self.home[unit as usize];
        if old != UNMAPPED {
            self.valid[old as usize / self.b] -= 1;
        }
        self.append(unit, 0);
        self.host_writes += 1;
    }

    fn collect(&mut self, frontier: usize) {
        assert_eq!(self.free.len(), self.reserve);
        self.choices += 1;
        if self.watch && self.choices & 15 == 0 {
            self.closed.iter().for_each(|&block| self.histogram[self.valid[block as usize] as usize] += 1);
        }
        let victim = self.choose();
        for offset in 0..self.b {
            let slot = victim as usize * self.b + offset;
            let unit = self.slots[slot];
            if unit != UNMAPPED && self.home[unit as usize] == slot as u32 {
                self.append(unit, frontier);
                self.moves += 1;
            }
        }
        self.valid[victim as usize] = 0;
        self.free.push(victim);
    }

    fn choose(&mut self) -> u32 {
        let valid_of = |position: &usize| self.valid[self.closed[*position] as usize];
        let position = match self.policy {
            Policy::Fifo => 0,
            Policy::Greedy => (0..self.closed.len()).min_by_key(valid_of).unwrap(),
            Policy::DChoices(d) => {
                let draws: Vec<usize> = (0..d).map(|_| self.rng.below(self.closed.len() as u64) as usize).collect();
                draws.into_iter().min_by_key(valid_of).unwrap()
            }
        };
        self.closed.remove(position).unwrap()
    }

    /// Overwrites random units, `turns` times the number of units in total.
    fn overwrite(&mut self, turns: f64) {
        for _ in 0..(turns * self.home.len() as f64) as u64 {
            let unit = self.rng.below(self.home.len() as u64) as u32;
            self.host_write(unit);
        }
    }

    /// Returns the write amplification over `turns`, and the maximum difference between the cumulative distribution of
    /// the closed blocks and that of `steady`.
    fn measure(&mut self, turns: f64, steady: &Steady) -> (f64, f64) {
        (self.host_writes, self.moves, self.watch) = (0, 0, true);
        self.histogram.fill(0);
        self.overwrite(turns);
        let wa = 1.0 + self.moves as f64 / self.host_writes as f64;
        let total: u64 = self.histogram.iter().sum();
        let (mut found, mut expected, mut worst) = (0.0, 0.0, 0.0f64);
        for (count, p) in self.histogram.iter().zip(&steady.valid) {
            found += *count as f64 / total as f64;
            expected += p;
            worst = worst.max((found - expected).abs());
        }
        (wa, worst)
    }
}

fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// Returns the number of user units for an over-provisioning of (T - U) / U.
fn units(blocks: usize, b: usize, over_provisioning: f64) -> usize {
    (blocks as f64 * b as f64 / (1.0 + over_provisioning)).round() as usize
}

#[test]
fn simulation_converges_to_the_theory() {
    let (blocks, b) = (300, 64);
    for policy in [Policy::Greedy, Policy::Fifo, Policy::DChoices(10), Policy::DChoices(2)] {
        for over_provisioning in [0.07, 0.125, 0.28] {
            for frontiers in [Frontiers::Shared, Frontiers::Separate] {
                let mut store = Store::filled(policy, frontiers, blocks, units(blocks, b, over_provisioning), b, 1);
                let steady = solve(policy, store.pool().occupancy().unwrap(), b as u32).unwrap();
                store.overwrite(5.0);
                let (wa, worst) = store.measure(10.0, &steady);
                let of = format!("{policy:?}, {over_provisioning}, {frontiers:?}");
                let error = wa / steady.write_amplification - 1.0;
                println!("{of}: {wa:.4} {:.4} {error:+.4} {worst:.4}", steady.write_amplification);
                assert!(error.abs() < 0.015, "{of}: {wa} against {}", steady.write_amplification);
                assert!(worst < 0.02, "{of}: distributions differ by {worst}");
            }
        }
    }
}

#[test]
fn an_analytic_layout_is_steady_from_the_first_write() {
    let (blocks, b) = (600, 64);
    for policy in [Policy::Greedy, Policy::Fifo, Policy::DChoices(10)] {
        let units = units(blocks, b, 0.125);
        let pool = Store::empty(policy, Frontiers::Shared, blocks, units, b, 2).pool();
        let steady = solve(policy, pool.occupancy().unwrap(), b as u32).unwrap();
        let mut store = Store::laid_out(&steady, blocks, units, 2);
        for quarter in 0..8 {
            let (wa, worst) = store.measure(0.25, &steady);
            let error = wa / steady.write_amplification - 1.0;
            println!("{policy:?}, {quarter}: {error:+.4} {worst:.4}");
            assert!(error.abs() < 0.05, "{policy:?}, quarter {quarter}: {wa} against {}", steady.write_amplification);
            assert!(worst < 0.03, "{policy:?}, quarter {quarter}: distributions differ by {worst}");
        }
    }
}

/// `cargo test -p steady --release -- --ignored --nocapture the_whole_table`: takes half a minute and prints the whole
/// table.
#[test]
#[ignore = "takes half a minute in release mode"]
fn the_whole_table() {
    let blocks = 2048;
    let raw = |over_provisioning: f64| 1.0 / (1.0 + over_provisioning);
    println!("OP     policy        b    limit   corrected  shared          separate        cdf");
    for over_provisioning in [0.07, 0.125, 0.28] {
        for policy in [Policy::Greedy, Policy::Fifo, Policy::DChoices(2), Policy::DChoices(5), Policy::DChoices(10)] {
            for b in [64, 256] {
                let limit = solve(policy, raw(over_provisioning), b as u32).unwrap().write_amplification;
                let mut row = format!("{over_provisioning:<6} {:<13} {b:<4} {limit:<7.4}", format!("{policy:?}"));
                let mut worst_cdf = 0.0f64;
                for frontiers in [Frontiers::Shared, Frontiers::Separate] {
                    let mut store = Store::filled(policy, frontiers, blocks, units(blocks, b, over_provisioning), b, 7);
                    let steady = solve(policy, store.pool().occupancy().unwrap(), b as u32).unwrap();
                    store.overwrite(6.0);
                    let (wa, worst) = store.measure(12.0, &steady);
                    let error = wa / steady.write_amplification - 1.0;
                    if frontiers == Frontiers::Shared {
                        row += &format!(" {:<10.4}", steady.write_amplification);
                    }
                    row += &format!(" {wa:<7.4}{:+6.2} %", 100.0 * error);
                    worst_cdf = worst_cdf.max(worst);
                    assert!(error.abs() < 0.01, "{row}");
                }
                println!("{row} {worst_cdf:.4}");
            }
        }
    }
}

/// The finite-pool correction is significant and correct when many blocks are held back.
#[test]
fn the_correction_accounts_for_blocks_held_back() {
    let (blocks, b) = (400, 32);
    let mut store = Store::empty(Policy::Fifo, Frontiers::Separate, blocks, units(blocks, b, 0.25), b, 3);
    store.reserve = 40;
    (0..store.home.len() as u32).for_each(|unit| store.host_write(unit));
    let steady = solve(Policy::Fifo, store.pool().occupancy().unwrap(), b as u32).unwrap();
    store.overwrite(4.0);
    let (wa, _) = store.measure(10.0, &steady);
    let naive = solve(Policy::Fifo, 1.0 / 1.25, b as u32).unwrap().write_amplification;
    assert!((wa / steady.write_amplification - 1.0).abs() < 0.01, "{wa} against {}", steady.write_amplification);
    assert!(wa / naive > 1.5, "{wa} against {naive} without the correction");
}
