//! Readings of every counter of a machine, so that figures cover a part of a run.
//!
//! A reading is taken at the first request that ends after an interval: at most 64 are kept, whatever the run's length.

use ftl::{Occupancy, Stats};
use nand::{DieStats, EccStats, EnergyByPart};
use sim::Time;

use crate::machine::Machine;
use host_interface::shared_buffer::Report;

/// Counters at one point in time, or the difference between two.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// When they were read; of a difference, the time between.
    pub at: Time,
    /// Requests that had ended.
    pub requests: u64,
    /// Of the translation layer.
    pub ftl: Stats,
    /// Of the flash.
    pub energy: EnergyByPart,
    /// Busy time of each serial resource of host, link and controller, then of each flash channel ([`busy_names`]).
    pub busy: Vec<Time>,
    /// Of each die.
    pub dies: Vec<DieStats>,
    /// Interrupts.
    pub interrupts: u64,
    /// Of a path through a shared buffer, with the flash's ECC engines, whose energy is the controller's.
    pub shared_buffer: Option<Box<(Report, EccStats)>>,
}

impl Counters {
    /// Reads the counters of `machine` at `at`, when `requests` had ended.
    pub fn read(machine: &Machine, at: Time, requests: u64) -> Counters {
        let (interface, nand) = (machine.host_interface(), machine.nand());
        let geometry = nand.config().geometry;
        let paths = interface.utilisation(at).into_iter().map(|u| u.busy);
        let channels = (0..geometry.channels).map(|channel| nand.channel_stats(at, channel).busy);
        let ecc = nand.ecc_stats(at);
        Counters {
            at,
            requests,
            ftl: *machine.ftl().stats(),
            energy: nand.energy(at),
            busy: paths.chain(channels).collect(),
            dies: (0..geometry.all_dies()).map(|die| nand.die_stats(at, die as u16)).collect(),
            interrupts: interface.interrupts(),
            shared_buffer: interface
                .shared_buffer(at, ecc.decoded_bytes, ecc.encoded_bytes)
                .map(|report| Box::new((report, ecc))),
        }
    }

    /// The difference to an earlier reading; to `None`, this reading.
    pub fn since(&self, earlier: Option<&Counters>) -> Counters {
        let Some(earlier) = earlier else { return self.clone() };
        Counters {
            at: self.at - earlier.at,
            requests: self.requests - earlier.requests,
            ftl: self.ftl.since(&earlier.ftl),
            energy: self.energy.since(&earlier.energy),
            busy: self.busy.iter().zip(&earlier.busy).map(|(now, then)| *now - *then).collect(),
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
        }
    }
}

/// Names of [`Counters::busy`], in its order.
pub fn busy_names(machine: &Machine) -> Vec<String> {
    let paths =
        machine.host_interface().utilisation(machine.now()).into_iter().map(|u| format!("{} {}", u.part, u.name));
    let channels = (0..machine.nand().config().geometry.channels).map(|channel| format!("flash channel {channel}"));
    paths.chain(channels).collect()
}

/// State of a machine at one point in time.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Of the translation layer.
    pub occupancy: Occupancy,
    /// Dies that erase.
    pub dies_erasing: u32,
    /// Operations of flash that wait or are under way, over all dies.
    pub die_queue: u32,
    /// Commands in the queues between the driver and the translation layer.
    pub host_interface_queue: u32,
}

impl State {
    /// Reads the state of `machine`.
    pub fn read(machine: &Machine) -> State {
        let nand = machine.nand();
        let mut lengths = Vec::new();
        machine.host_interface().queue_lengths(&mut lengths);
        State {
            occupancy: machine.ftl().occupancy(),
            dies_erasing: nand.dies_erasing(),
            die_queue: (0..nand.config().geometry.all_dies()).map(|die| nand.die_load(die as u16)).sum(),
            host_interface_queue: lengths.iter().sum(),
        }
    }
}

/// A reading at the end of an interval.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The end of the interval; the reading may be later, by the time to the next request's end.
    pub boundary: Time,
    /// The reading.
    pub counters: Counters,
    /// The state then.
    pub state: State,
}

/// Readings at the ends of a recorder's windows.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
}

impl Marks {
    /// Adds a reading for the window that ends at `boundary`.
    pub(crate) fn add(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// Forgets readings at ends of windows that have been merged.
    pub(crate) fn thin(&mut self, origin: Time, window: Time) {
        self.marks.retain(|mark| (mark.boundary - origin).ps().is_multiple_of(window.ps()));
    }

    /// The last reading for a boundary up to `at`.
    pub fn at(&self, at: Time) -> Option<&Mark> {
        self.marks[..self.marks.partition_point(|mark| mark.boundary <= at)].last()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }
}
