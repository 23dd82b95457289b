//! Energy from data-sheet currents, by Micron's method (TN-41-01): each state of a rank draws its background current,
//! each command adds what its IDD test draws above the background. What is counted is the same commands and states that
//! make the time. The devices' core only: I/O and termination depend on the board and are not counted.

use sim::Energy;

use crate::device::{Device, DeviceError};

/// One supply of a device and the currents drawn from it in JEDEC's IDD tests, in microamperes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are JEDEC's names of the IDD tests")]
pub struct Rail {
    /// The supply's name, such as `"VDD"`.
    pub name: String,
    /// Its voltage in millivolts.
    pub millivolts: u64,
    pub idd0: u64,
    pub idd2n: u64,
    pub idd2p: u64,
    pub idd3n: u64,
    pub idd3p: u64,
    pub idd4r: u64,
    pub idd4w: u64,
    pub idd5b: u64,
    pub idd6: u64,
}

impl Rail {
    pub(crate) fn read(
        name: &str,
        read: &mut impl FnMut(&str, &str, f64) -> Result<u64, DeviceError>,
    ) -> Result<Rail, DeviceError> {
        let millivolts = read("voltage", "mV", 1.0)?;
        let mut current = |key: &str| read(key, "mA", 1000.0);
        Ok(Rail {
            name: name.to_owned(),
            millivolts,
            idd0: current("IDD0")?,
            idd2n: current("IDD2N")?,
            idd2p: current("IDD2P")?,
            idd3n: current("IDD3N")?,
            idd3p: current("IDD3P")?,
            idd4r: current("IDD4R")?,
            idd4w: current("IDD4W")?,
            idd5b: current("IDD5B")?,
            idd6: current("IDD6")?,
        })
    }
}

/// What a rank is in, as far as its background current goes.
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

/// What a rank did: the commands and the clocks in each state, from which its energy follows.
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
    /// Clocks in each state, in the order of [`PowerState`].
    pub clocks: [u64; 5],
}

impl RankActivity {
    /// Clocks in `state`.
    pub fn clocks_in(&self, state: PowerState) -> u64 {
        self.clocks[state as usize]
    }

    /// `times` more of what happened since `before`.
    pub(crate) fn repeat(&mut self, before: &RankActivity, times: u64) {
        let more = |now: &mut u64, before: u64| *now += (*now - before) * times;
        more(&mut self.activates, before.activates);
        more(&mut self.reads, before.reads);
        more(&mut self.writes, before.writes);
        more(&mut self.refreshes, before.refreshes);
        for (now, before) in self.clocks.iter_mut().zip(before.clocks) {
            more(now, before);
        }
    }

    /// The energy of all of the rank's devices.
    pub fn energy(&self, device: &Device) -> EnergyByUse {
        let mut energy = EnergyByUse::default();
        for rail in &device.rails {
            energy.add(self, device, rail);
        }
        energy
    }
}

/// Energy by what it was spent on.
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
    /// All of it.
    pub fn total(&self) -> Energy {
        self.standby + self.power_down + self.self_refresh + self.activate + self.read + self.write + self.refresh
    }

    /// The same of two.
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

    /// What is drawn whether or not memory is accessed.
    pub fn background(&self) -> Energy {
        self.standby + self.power_down + self.self_refresh + self.refresh
    }

    fn add(&mut self, activity: &RankActivity, device: &Device, rail: &Rail) {
        let t = &device.timing;
        let of =
            |current_clocks: u128| device.clock.energy(current_clocks * u128::from(rail.millivolts), device.devices());
        let state = |state: PowerState, current: u64| of(u128::from(current) * u128::from(activity.clocks_in(state)));
        // Currents are from different tests: where a sheet's differ by less than nothing, nothing is added.
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
        // The background during a refresh is counted as standby with closed banks.
        self.refresh += of(above(rail.idd5b, rail.idd2n, t.rfc) * u128::from(activity.refreshes));
    }
}
