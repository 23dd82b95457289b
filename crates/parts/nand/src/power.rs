//! Power cuts, and energy.

use media::{BlockAddr, OpId, PageAddr};
use sim::{Energy, Time};

use crate::channel::{Channel, ChannelStats};
use crate::die::{Die, DieStats, Phase};
use crate::nand::Nand;
use crate::reliability::ecc::EccStats;
use crate::schedule::budget::ProgramBudget;
use crate::schedule::op::{NONE, Op, OpKind};
use crate::store::Store;

/// An operation interrupted by a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torn {
    /// A program: its page is used up and unreadable.
    Program(OpId, PageAddr),
    /// An erase: its block is unreadable and must be erased again.
    Erase(OpId, BlockAddr),
}

/// Energy by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnergyByPart {
    /// Array reads.
    pub read: Energy,
    /// Array programs.
    pub program: Energy,
    /// Erases.
    pub erase: Energy,
    /// Data on the channels.
    pub transfer: Energy,
    /// Power that all dies draw at all times.
    pub standby: Energy,
}

impl EnergyByPart {
    /// Returns the total.
    pub fn total(&self) -> Energy {
        self.read + self.program + self.erase + self.transfer + self.standby
    }

    /// Returns the sum with the energy of another drive.
    pub fn plus(&self, other: &EnergyByPart) -> EnergyByPart {
        EnergyByPart {
            read: self.read + other.read,
            program: self.program + other.program,
            erase: self.erase + other.erase,
            transfer: self.transfer + other.transfer,
            standby: self.standby + other.standby,
        }
    }

    /// Returns the energy drawn since an earlier reading.
    pub fn since(&self, earlier: &EnergyByPart) -> EnergyByPart {
        EnergyByPart {
            read: self.read - earlier.read,
            program: self.program - earlier.program,
            erase: self.erase - earlier.erase,
            transfer: self.transfer - earlier.transfer,
            standby: self.standby - earlier.standby,
        }
    }
}

impl Nand {
    /// Cuts the power: tears programs and erases in the arrays, forgets all other operations as if never submitted, and
    /// clears the RAM buffers. Events under way must not be handled any more.
    pub fn power_cut(&mut self, now: Time) -> Vec<Torn> {
        let mut torn = Vec::new();
        for die in 0..self.dies.len() {
            let Die { phase, array, begin, .. } = self.dies[die];
            let half_done = self.half_done(now, die);
            if matches!(phase, Phase::Busy | Phase::Suspending) && begin < now {
                self.spend(die, array, begin, now);
            }
            if half_done != NONE {
                torn.push(self.tear(half_done));
            }
            let d = &mut self.dies[die];
            if d.out != NONE {
                d.stats.holding += now - d.out_since;
            }
            *d = Die { stats: d.stats, ..Die::new(d.channel) };
        }
        self.independent.power_cut(now);
        self.channels.iter_mut().for_each(|channel| channel.reset(now));
        self.ops.forget_all();
        self.budget = ProgramBudget::new(self.config.scheduling.programs_max);
        self.ecc.power_cut(now);
        self.store.clear_buffers();
        torn
    }

    /// Tears in `store`, a copy of this flash's contents, the programs and erases that a power cut at `now` would tear.
    /// Returns them.
    pub fn tear_copy(&self, now: Time, store: &mut Store) -> Vec<Torn> {
        let half_done = (0..self.dies.len()).map(|die| self.half_done(now, die)).filter(|id| *id != NONE);
        half_done.map(|id| tear(store, id, &self.ops[id])).collect()
    }

    /// Returns the program or erase of a die that is in its array or suspended, if any.
    fn half_done(&self, now: Time, die: usize) -> u32 {
        let Die { phase, array, begin, suspended, .. } = self.dies[die];
        if matches!(phase, Phase::Busy | Phase::Suspending) {
            // A read may occupy the array while a program is suspended.
            let op = &self.ops[array];
            if op.kind != OpKind::Read && (begin < now || op.suspensions > 0) {
                return array;
            }
        }
        suspended
    }

    fn tear(&mut self, id: u32) -> Torn {
        let op = self.ops[id];
        tear(&mut self.store, id, &op)
    }

    /// Returns the number of reads, programs and erases that have begun, over all dies.
    pub fn operations(&self) -> u64 {
        self.dies.iter().map(|die| die.stats.reads + die.stats.programs + die.stats.erases).sum()
    }

    /// Returns the counters of a die until `now`.
    pub fn die_stats(&self, now: Time, die: u16) -> DieStats {
        let d = &self.dies[die as usize];
        let mut stats = d.stats;
        if matches!(d.phase, Phase::Busy | Phase::Suspending) {
            let so_far = now.saturating_sub(d.begin);
            match self.ops[d.array].kind {
                OpKind::Read => stats.reading += so_far,
                OpKind::Program => stats.programming += so_far,
                OpKind::Erase => stats.erasing += so_far,
            }
        }
        if d.out != NONE {
            stats.holding += now - d.out_since;
        }
        if self.tables.independent {
            self.add_planes(now, die as usize, &mut stats);
        }
        stats
    }

    /// Returns the number of dies that erase a block or have suspended an erase.
    pub fn dies_erasing(&self) -> u32 {
        let erases = |d: &&Die| {
            let busy = matches!(d.phase, Phase::Busy | Phase::Suspending) && self.ops[d.array].kind == OpKind::Erase;
            busy || (d.suspended != NONE && self.ops[d.suspended].kind == OpKind::Erase)
        };
        self.dies.iter().filter(erases).count() as u32
    }

    /// Returns the counters of a channel until `now`.
    pub fn channel_stats(&self, now: Time, channel: u32) -> ChannelStats {
        self.channels[channel as usize].stats_at(now)
    }

    /// Returns the counters of encoder and decoders until `now`.
    pub fn ecc_stats(&self, now: Time) -> EccStats {
        self.ecc.stats(now)
    }

    /// Returns the energy drawn from time zero until `now`.
    pub fn energy(&self, now: Time) -> EnergyByPart {
        let power = &self.config.power;
        let [read, program, erase] = self.energy;
        let mut energy = EnergyByPart { read, program, erase, ..EnergyByPart::default() };
        for (number, d) in (0..).zip(&self.dies) {
            if usize::from(number) < self.tables.dies {
                let idle = now - self.die_stats(now, number).busy();
                energy.standby += Energy::of_power(power.standby_uw, idle);
            }
            energy.read += Energy::of_power(power.read_uw, d.stats.reading);
            if matches!(d.phase, Phase::Busy | Phase::Suspending) {
                let op = &self.ops[d.array];
                let (planes, so_far) = (u64::from(op.planes.count()), now.saturating_sub(d.begin));
                match op.kind {
                    OpKind::Read => energy.read += Energy::of_power(power.read_uw * planes, so_far),
                    OpKind::Program => energy.program += Energy::of_power(power.program_uw * planes, so_far),
                    OpKind::Erase => energy.erase += Energy::of_power(power.erase_uw * planes, so_far),
                }
            }
        }
        for channel in &self.channels {
            let stats = channel.stats_at(now);
            energy.transfer += Energy::of_power(power.transfer_uw, stats.data);
            // Bytes of a transfer under way count in full.
            energy.transfer += Energy::from_pj(power.transfer_pj_per_byte * (stats.bytes_in + stats.bytes_out));
        }
        energy
    }

    /// Asserts that no array, register or channel was busy for longer than `now`.
    ///
    /// # Panics
    /// If one was.
    pub fn assert_bounds(&self, now: Time) {
        for die in 0..self.tables.dies as u16 {
            let stats = self.die_stats(now, die);
            assert!(stats.busy() <= now, "die {die} was busy for {} of {now}", stats.busy());
            let registers = if self.tables.independent { u64::from(self.config.geometry.planes) } else { 1 };
            assert!(stats.holding <= now * registers, "die {die} held data for {} of {now}", stats.holding);
            if !self.config.scheduling.cache_read && !self.tables.independent {
                let both = stats.busy() + stats.holding;
                assert!(both <= now, "die {die} worked and held data for {both} of {now}");
            }
        }
        for (number, channel) in self.channels.iter().enumerate() {
            let busy = Channel::stats_at(channel, now).busy;
            assert!(busy <= now, "channel {number} was busy for {busy} of {now}");
        }
    }
}

/// Tears the operation `id` in `store`.
fn tear(store: &mut Store, id: u32, op: &Op) -> Torn {
    if op.kind == OpKind::Program {
        store.tear(op.address(), op.slc);
        return Torn::Program(OpId(id), op.address());
    }
    store.tear_erase(op.address().block());
    Torn::Erase(OpId(id), op.address().block())
}
