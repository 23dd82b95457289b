//! Snapshots of every counter of a machine, from which the figures for part of a run are computed.
//!
//! A snapshot is taken at the first request that ends after an interval. At most 64 are kept, whatever the length of
//! the run.

use ftl::{HandleStats, Headroom, Occupancy, Stats};
use nand::{DieStats, EccStats, EnergyByPart};
use sim::Time;

use crate::machine::Machine;
use host_interface::shared_buffer::Report;

/// Counters at one point in time, or the difference between two such points.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Time of the snapshot; in a difference, the time between the two.
    pub at: Time,
    /// Number of requests that had ended.
    pub requests: u64,
    /// Counters of the translation layer.
    pub ftl: Stats,
    /// Counters of each reclaim unit handle; empty without placement.
    pub handles: Vec<HandleStats>,
    /// Counters of the read-ahead, if the drive reads ahead.
    pub read_ahead: Option<read_ahead::Stats>,
    /// Energy of the flash.
    pub energy: EnergyByPart,
    /// Busy time of each serial resource of host, link and controller, then of each flash channel ([`busy_names`]).
    pub busy: Vec<Time>,
    /// Counters of each die.
    pub dies: Vec<DieStats>,
    /// Number of interrupts.
    pub interrupts: u64,
    /// Report on the path through a shared buffer, and counters of the flash's ECC engines, whose energy is part of the
    /// controller's.
    pub shared_buffer: Option<Box<(Report, EccStats)>>,
    /// Counters of further drives, if the run has several.
    pub others: Vec<Other>,
}

/// Counters of a further drive.
#[derive(Clone, Debug, Default)]
pub struct Other {
    /// The counters.
    pub counters: Counters,
    /// The drive's headroom at the time of the snapshot; in a difference, that of the earlier one.
    pub headroom: Headroom,
}

impl Counters {
    /// Reads the counters of `machine` at `at`, when `requests` requests had ended.
    pub fn read(machine: &Machine, at: Time, requests: u64) -> Counters {
        let (interface, nand) = (machine.host_interface(), machine.nand());
        let geometry = nand.config().geometry;
        let paths = interface.utilization(at).into_iter().map(|u| u.busy);
        let channels = (0..geometry.channels).map(|channel| nand.channel_stats(at, channel).busy);
        let ecc = nand.ecc_stats(at);
        Counters {
            at,
            requests,
            ftl: machine.ftl().stats(),
            handles: machine.ftl().handle_stats().to_vec(),
            read_ahead: machine.read_ahead_stats(),
            energy: nand.energy(at),
            busy: paths.chain(channels).collect(),
            dies: (0..geometry.all_dies()).map(|die| nand.die_stats(at, die as u16)).collect(),
            interrupts: interface.interrupts(),
            shared_buffer: interface
                .shared_buffer(at, ecc.decoded_bytes, ecc.encoded_bytes)
                .map(|report| Box::new((report, ecc))),
            others: Vec::new(),
        }
    }

    /// Returns the counters of the translation layers of all drives together.
    pub fn ftl_of_all(&self) -> Stats {
        self.others.iter().fold(self.ftl, |sum, other| sum.plus(&other.counters.ftl))
    }

    /// Returns the energy of the flash of all drives together.
    pub fn energy_of_all(&self) -> EnergyByPart {
        self.others.iter().fold(self.energy, |sum, other| sum.plus(&other.counters.energy))
    }

    /// Returns the difference from an earlier snapshot, or a copy of this one if `earlier` is `None`.
    pub fn since(&self, earlier: Option<&Counters>) -> Counters {
        let Some(earlier) = earlier else { return self.clone() };
        Counters {
            at: self.at - earlier.at,
            requests: self.requests - earlier.requests,
            ftl: self.ftl.since(&earlier.ftl),
            handles: self.handles.iter().zip(&earlier.handles).map(|(now, then)| now.since(then)).collect(),
            read_ahead: self.read_ahead.zip(earlier.read_ahead).map(|(now, then)| now.since(then)),
            energy: self.energy.since(&earlier.energy),
            // Work accepted ahead of time is apportioned by estimate, so a reading may be lower than an earlier one.
            busy: self.busy.iter().zip(&earlier.busy).map(|(now, then)| now.saturating_sub(*then)).collect(),
            dies: self.dies.iter().zip(&earlier.dies).map(|(now, then)| now.since(then)).collect(),
            interrupts: self.interrupts - earlier.interrupts,
            shared_buffer: self.shared_buffer.as_deref().zip(earlier.shared_buffer.as_deref()).map(|(now, then)| {
                let ecc = EccStats {
                    encoded_bytes: now.1.encoded_bytes - then.1.encoded_bytes,
                    encoding: now.1.encoding - then.1.encoding,
                    decoded_bytes: now.1.decoded_bytes - then.1.decoded_bytes,
                    decoding: now.1.decoding - then.1.decoding,
                    waiting: now.1.waiting - then.1.waiting,
                };
                Box::new((now.0.since(&then.0), ecc))
            }),
            others: self
                .others
                .iter()
                .zip(&earlier.others)
                .map(|(now, then)| Other {
                    counters: now.counters.since(Some(&then.counters)),
                    headroom: then.headroom,
                })
                .collect(),
        }
    }
}

/// Returns the names of the entries of [`Counters::busy`], in order.
pub fn busy_names(machine: &Machine) -> Vec<String> {
    let paths =
        machine.host_interface().utilization(machine.now()).into_iter().map(|u| format!("{} {}", u.part, u.name));
    let channels = (0..machine.nand().config().geometry.channels).map(|channel| format!("flash channel {channel}"));
    paths.chain(channels).collect()
}

/// State of a machine at one point in time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineState {
    /// State of the translation layer.
    pub occupancy: Occupancy,
    /// The drive's headroom: what it could take before it had to collect.
    pub headroom: Headroom,
    /// Number of dies that are erasing.
    pub dies_erasing: u32,
    /// Flash operations waiting or in progress, over all dies.
    pub die_queue: u32,
    /// Commands queued between the driver and the translation layer.
    pub host_interface_queue: u32,
}

impl MachineState {
    /// Reads the state of `machine`.
    pub fn read(machine: &Machine) -> MachineState {
        let nand = machine.nand();
        let mut lengths = Vec::new();
        machine.host_interface().queue_lengths(&mut lengths);
        MachineState {
            occupancy: machine.ftl().occupancy(),
            headroom: machine.ftl().headroom(),
            dies_erasing: nand.dies_erasing(),
            die_queue: (0..nand.config().geometry.all_dies()).map(|die| nand.die_load(die as u16)).sum(),
            host_interface_queue: lengths.iter().sum(),
        }
    }
}

/// A snapshot at the end of an interval.
#[derive(Clone, Debug)]
pub struct Mark {
    /// End of the interval. The snapshot may be later, by the time until the next request ends.
    pub boundary: Time,
    /// The counters.
    pub counters: Counters,
    /// The state at the same time.
    pub state: MachineState,
}

/// Snapshots at the ends of a recorder's windows.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
}

impl Marks {
    /// Adds a snapshot.
    pub(crate) fn add(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// Drops the snapshots at the ends of windows that have since been merged.
    pub(crate) fn thin(&mut self, origin: Time, window: Time) {
        self.marks.retain(|mark| (mark.boundary - origin).ps().is_multiple_of(window.ps()));
    }

    /// Returns the snapshot of the last boundary that is not after `at`.
    pub fn at(&self, at: Time) -> Option<&Mark> {
        self.marks[..self.marks.partition_point(|mark| mark.boundary <= at)].last()
    }

    /// Returns the number of snapshots.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Returns true if there are no snapshots.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }
}
