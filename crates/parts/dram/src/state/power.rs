//! Energy from data-sheet currents by Micron's method (TN-41-01): each state of a rank draws its background current,
//! and each command adds the current of its IDD test above the background. The commands and states are those that
//! determine the timing. Only the devices' core counts; I/O and termination depend on the board and are left out.

use sim::Energy;

use crate::device::{Device, Rail};

/// State of a rank that determines its background current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerState {
    /// All banks closed (IDD2N).
    PrechargeStandby,
    /// A bank open (IDD3N).
    ActiveStandby,
    /// Powered down, all banks closed (IDD2P).
    PrechargePowerDown,
    /// Powered down with a bank open (IDD3P).
    ActivePowerDown,
    /// Self-refresh (IDD6).
    SelfRefresh,
}

/// Activity of a rank, from which its energy is computed: the commands, and the clocks in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankActivity {
    /// ACT commands.
    pub activates: u64,
    /// Read bursts.
    pub reads: u64,
    /// Write bursts.
    pub writes: u64,
    /// REF commands.
    pub refreshes: u64,
    /// REFsb commands.
    pub same_bank_refreshes: u64,
    /// REFpb commands.
    pub bank_refreshes: u64,
    /// Clocks in each state, in the order of [`PowerState`].
    pub clocks: [u64; 5],
}

impl RankActivity {
    /// Returns the clocks in `state`.
    pub fn clocks_in(&self, state: PowerState) -> u64 {
        self.clocks[state as usize]
    }

    /// Adds the activity since `before` again `times` times.
    pub(crate) fn repeat(&mut self, before: &RankActivity, times: u64) {
        let more = |now: &mut u64, before: u64| *now += (*now - before) * times;
        more(&mut self.activates, before.activates);
        more(&mut self.reads, before.reads);
        more(&mut self.writes, before.writes);
        more(&mut self.refreshes, before.refreshes);
        more(&mut self.same_bank_refreshes, before.same_bank_refreshes);
        more(&mut self.bank_refreshes, before.bank_refreshes);
        for (now, before) in self.clocks.iter_mut().zip(before.clocks) {
            more(now, before);
        }
    }

    /// Returns the energy of all of the rank's devices.
    pub fn energy(&self, device: &Device) -> EnergyByUse {
        let mut energy = EnergyByUse::default();
        for rail in &device.rails {
            energy.add(self, device, rail);
        }
        energy
    }
}

/// Energy by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnergyByUse {
    /// Standby with all banks closed, and with a bank open.
    pub standby: Energy,
    /// Power-down.
    pub power_down: Energy,
    /// Self-refresh.
    pub self_refresh: Energy,
    /// Opening and closing rows.
    pub activate: Energy,
    /// Read bursts.
    pub read: Energy,
    /// Write bursts.
    pub write: Energy,
    /// Refresh.
    pub refresh: Energy,
}

impl EnergyByUse {
    /// Returns the total energy.
    pub fn total(&self) -> Energy {
        self.standby + self.power_down + self.self_refresh + self.activate + self.read + self.write + self.refresh
    }

    /// Returns the sum of two, by use.
    #[must_use]
    pub fn plus(&self, other: &EnergyByUse) -> EnergyByUse {
        EnergyByUse {
            standby: self.standby + other.standby,
            power_down: self.power_down + other.power_down,
            self_refresh: self.self_refresh + other.self_refresh,
            activate: self.activate + other.activate,
            read: self.read + other.read,
            write: self.write + other.write,
            refresh: self.refresh + other.refresh,
        }
    }

    /// Returns the energy drawn whether or not memory is accessed.
    pub fn background(&self) -> Energy {
        self.standby + self.power_down + self.self_refresh + self.refresh
    }

    fn add(&mut self, activity: &RankActivity, device: &Device, rail: &Rail) {
        let t = &device.timing;
        let of =
            |current_clocks: u128| device.clock.energy(current_clocks * u128::from(rail.millivolts), device.devices());
        let state = |state: PowerState, current: u64| of(u128::from(current) * u128::from(activity.clocks_in(state)));
        // Currents come from different tests: if a data sheet's difference is negative, nothing is added.
        let above = |current: u64, background: u64, clocks: u32| {
            u128::from(current.saturating_sub(background)) * u128::from(clocks)
        };
        let background = u128::from(rail.idd3n) * u128::from(t.ras) + u128::from(rail.idd2n) * u128::from(t.rc - t.ras);
        let activate = (u128::from(rail.idd0) * u128::from(t.rc)).saturating_sub(background);
        let burst = device.burst_clocks();
        self.standby += state(PowerState::PrechargeStandby, rail.idd2n);
        self.standby += state(PowerState::ActiveStandby, rail.idd3n);
        self.power_down += state(PowerState::PrechargePowerDown, rail.idd2p);
        self.power_down += state(PowerState::ActivePowerDown, rail.idd3p);
        self.self_refresh += state(PowerState::SelfRefresh, rail.idd6);
        self.activate += of(activate * u128::from(activity.activates));
        self.read += of(above(rail.idd4r, rail.idd3n, burst) * u128::from(activity.reads));
        self.write += of(above(rail.idd4w, rail.idd3n, burst) * u128::from(activity.writes));
        // The background during a refresh counts as standby with closed banks.
        let refresh = above(rail.idd5b, rail.idd2n, t.rfc);
        self.refresh += of(refresh * u128::from(activity.refreshes));
        // Assumed: a row's refresh takes the same energy with each command. REFsb refreshes all banks twice in tREFI.
        let share = 2 * u128::from(device.banks_per_group);
        self.refresh += of(refresh * u128::from(activity.same_bank_refreshes) / share);
        self.refresh += of(refresh * u128::from(activity.bank_refreshes) / u128::from(device.banks()));
    }
}
