//! The wires between a host and its storage, and what their protocols add to every byte.
//!
//! A link has no events of its own: it is told what is sent and says when it arrives. Each kind of link has the messages
//! that its protocol has; a command's data moves over all of them ([`Link::data`]).

pub mod ddr;
pub mod dmi;
pub mod line;
pub mod pcie;
pub mod rate;
pub mod sata;
pub mod shared_buffer;
pub mod ufs;

use sim::Time;

pub use ddr::{Ddr, DdrConfig};
pub use dmi::{Dmi, DmiConfig};
pub use line::{LineLink, LineLinkConfig};
pub use pcie::{Pcie, PcieConfig};
pub use rate::ByteTime;
pub use sata::{Sata, SataConfig};
pub use shared_buffer::SharedBufferConfig;
pub use sim::{Serial, Span};
pub use ufs::{Ufs, UfsConfig};

/// Which way something travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From host to device (PCIe: downstream).
    ToDevice,
    /// From device to host (PCIe: upstream).
    ToHost,
}

/// When a command's data was on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its last byte has left: what must follow it may follow now.
    pub sent: Time,
    /// Its last byte is at the other end.
    pub arrives: Time,
}

/// What one direction of a link has carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilisation {
    /// Which way.
    pub direction: Direction,
    /// Time in which the wire was occupied, at most `elapsed`.
    pub busy: Time,
    /// Time since the start of the run.
    pub elapsed: Time,
    /// Bytes of data, commands, completions and registers.
    pub payload: u64,
    /// Bytes on the wire before encoding: the payload, its headers and framing, and the packets that only the
    /// protocol needs.
    pub wire: u64,
    /// Packets (PCIe: TLPs, SATA: frames, UFS: data frames).
    pub packets: u64,
}

impl Utilisation {
    /// Busy time over elapsed time; zero at the start of a run.
    pub fn fraction(&self) -> f64 {
        if self.elapsed == Time::ZERO { 0.0 } else { self.busy.ps() as f64 / self.elapsed.ps() as f64 }
    }
}

/// What a link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Config {
    /// PCI Express.
    Pcie(PcieConfig),
    /// Serial ATA.
    Sata(SataConfig),
    /// A buffer on the memory bus. It has no [`Link`]: the bus is the memory's.
    SharedBuffer(SharedBufferConfig),
    /// UniPro over M-PHY, whose messages are its own: [`Ufs`].
    Ufs(UfsConfig),
    /// A DDR port of the memory controller.
    Ddr(DdrConfig),
}

/// A link whose data moves by [`Link::data`].
#[expect(clippy::large_enum_variant, reason = "a machine has one")]
#[derive(Clone, Debug)]
pub enum Link {
    /// PCI Express.
    Pcie(Pcie),
    /// Serial ATA.
    Sata(Sata),
}

impl Link {
    /// An idle link.
    ///
    /// # Panics
    /// If the configuration is not one of that kind of link (see [`Pcie::new`] and [`Sata::new`]), or it is that of
    /// [`Ufs`] or of a [`Ddr`] port, whose messages are their own.
    pub fn new(config: &Config) -> Link {
        match config {
            Config::Pcie(config) => Link::Pcie(Pcie::new(config)),
            Config::Sata(config) => Link::Sata(Sata::new(config)),
            Config::SharedBuffer(_) => panic!("a buffer on the memory bus has no link of its own"),
            Config::Ufs(_) => panic!("UFS moves information units, not a command's data"),
            Config::Ddr(_) => panic!("a DDR port has no packets"),
        }
    }

    /// PCIe: the host writes a register of the device at `at`, now or later. Returns its arrival.
    #[inline]
    pub fn doorbell(&mut self, now: Time, at: Time) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.doorbell(now, at),
            Link::Sata(_) => refuse("a doorbell"),
        }
    }

    /// PCIe: the device reads `bytes` of host memory, asked for now: queue entries, a list. Returns when it has them.
    #[inline]
    pub fn fetch(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.fetch(now, bytes),
            Link::Sata(_) => refuse("a read of host memory"),
        }
    }

    /// PCIe: a doorbell written at `at`, now or later, and at once the fetch of the queue entry that it is for.
    /// Returns when the device has the entry.
    #[inline]
    pub fn submission(&mut self, now: Time, at: Time) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.submission(now, at),
            Link::Sata(_) => refuse("a doorbell"),
        }
    }

    /// PCIe: a completion queue entry written at `at`, now or later, and an interrupt behind it if there is one.
    /// Returns their arrivals.
    #[inline]
    pub fn completion(&mut self, now: Time, at: Time, interrupt: bool) -> (Time, Time) {
        match self {
            Link::Pcie(pcie) => pcie.completion(now, at, interrupt),
            Link::Sata(_) => refuse("a completion queue"),
        }
    }

    /// PCIe: the host writes a completion queue's head doorbell, which nothing waits for.
    #[inline]
    pub fn head(&mut self) {
        match self {
            Link::Pcie(pcie) => pcie.head(),
            Link::Sata(_) => refuse("a doorbell"),
        }
    }

    /// PCIe: an interrupt, sent now. Returns its arrival.
    #[inline]
    pub fn interrupt(&mut self, now: Time) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.interrupt(now),
            Link::Sata(_) => refuse("an interrupt message"),
        }
    }

    /// SATA: a FIS of `bytes`, sent now or when the wire is free.
    #[inline]
    pub fn frame(&mut self, now: Time, direction: Direction, bytes: u32) -> Span {
        match self {
            Link::Pcie(_) => panic!("PCIe has no frames of its own"),
            Link::Sata(sata) => sata.frame(now, direction, bytes),
        }
    }

    /// The data of a command, all of it or a piece, moved by the device from now on. `occupied` is told of each
    /// stretch of the wire.
    #[inline]
    pub fn data(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u64,
        occupied: impl FnMut(Direction, Span),
    ) -> Transfer {
        match self {
            Link::Pcie(pcie) => pcie.data(now, direction, bytes, occupied),
            Link::Sata(sata) => sata.data(now, direction, bytes, occupied),
        }
    }

    /// The least time in which the device can learn anything that it reads from the host; zero on SATA.
    pub fn round_trip(&self) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.round_trip(),
            Link::Sata(_) => Time::ZERO,
        }
    }

    /// What each direction has carried until `now`: to the device, to the host.
    ///
    /// # Panics
    /// If a direction, or on a half-duplex link both together, were busy for longer than has passed: the model is
    /// broken.
    pub fn utilisation(&self, now: Time) -> [Utilisation; 2] {
        match self {
            Link::Pcie(pcie) => pcie.utilisation(now),
            Link::Sata(sata) => sata.utilisation(now),
        }
    }

    /// What is on the wire at `now` is lost, and so is what waits for it.
    pub fn power_cut(&mut self, now: Time) {
        match self {
            Link::Pcie(pcie) => pcie.power_cut(now),
            Link::Sata(sata) => sata.power_cut(now),
        }
    }
}

#[cold]
fn refuse(what: &str) -> ! {
    panic!("SATA has no such thing as {what}")
}
