//! Host links and storage buses, with the overhead that each protocol adds to every byte.
//!
//! A link generates no events of its own: the caller reports each transmission, and the link returns its arrival time.
//! Every kind of link has the messages of its protocol. [`Link::data`] moves a command's data over PCI Express or SATA.

mod config;
pub mod ddr;
pub mod dmi;
pub mod line;
pub mod pcie;
pub mod rate;
pub mod sata;
pub mod shared_buffer;
mod transfer;
pub mod ufs;

use sim::Time;

pub use config::{Config, Keys, LinkType};
pub use ddr::{Ddr, DdrConfig};
pub use dmi::{Dmi, DmiConfig};
pub use line::{LineLink, LineLinkConfig};
pub use pcie::{Pcie, PcieConfig};
pub use rate::ByteTime;
pub use sata::{Sata, SataConfig};
pub use shared_buffer::SharedBufferConfig;
pub use sim::{Serial, Span};
pub use transfer::{Direction, Transfer, Utilization};
pub use ufs::{Ufs, UfsConfig};

/// A link whose data moves through [`Link::data`].
#[expect(clippy::large_enum_variant, reason = "each machine has only one")]
#[derive(Clone, Debug)]
pub enum Link {
    /// PCI Express.
    Pcie(Pcie),
    /// Serial ATA.
    Sata(Sata),
}

impl Link {
    /// Creates an idle link.
    ///
    /// # Panics
    /// If the configuration is invalid (see [`Pcie::new`] and [`Sata::new`]) or belongs to a [`SharedBufferConfig`], a
    /// [`Ufs`] link or a [`Ddr`] port, which do not move data through a `Link`.
    pub fn new(config: &Config) -> Link {
        match config {
            Config::Pcie(config) => Link::Pcie(Pcie::new(config)),
            Config::Sata(config) => Link::Sata(Sata::new(config)),
            Config::SharedBuffer(_) => panic!("a buffer on the memory bus has no link of its own"),
            Config::Ufs(_) => panic!("UFS carries UPIUs and has no `Link`"),
            Config::Ddr(_) => panic!("a DDR port has no `Link`"),
        }
    }

    /// PCIe: the host writes a device register at `at`, now or later. Returns the arrival time.
    pub fn doorbell(&mut self, now: Time, at: Time) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.doorbell(now, at),
            Link::Sata(_) => refuse("doorbells"),
        }
    }

    /// PCIe: the device requests `bytes` of host memory now: queue entries or a list. Returns the time at which all
    /// bytes have arrived.
    pub fn fetch(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.fetch(now, bytes),
            Link::Sata(_) => refuse("reads of host memory"),
        }
    }

    /// PCIe: the host writes a doorbell at `at`, now or later, and the device immediately fetches the queue entry.
    /// Returns the time at which the device has the entry.
    pub fn submission(&mut self, now: Time, at: Time) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.submission(now, at),
            Link::Sata(_) => refuse("doorbells"),
        }
    }

    /// PCIe: the device writes a completion queue entry at `at`, now or later, and sends an interrupt behind it if
    /// `interrupt` is set. Returns both arrival times.
    pub fn completion(&mut self, now: Time, at: Time, interrupt: bool) -> (Time, Time) {
        match self {
            Link::Pcie(pcie) => pcie.completion(now, at, interrupt),
            Link::Sata(_) => refuse("completion queues"),
        }
    }

    /// PCIe: the host writes a completion queue's head doorbell. No component waits for it.
    pub fn head(&mut self) {
        match self {
            Link::Pcie(pcie) => pcie.head(),
            Link::Sata(_) => refuse("doorbells"),
        }
    }

    /// PCIe: the device sends an interrupt now. Returns the arrival time.
    pub fn interrupt(&mut self, now: Time) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.interrupt(now),
            Link::Sata(_) => refuse("interrupt messages"),
        }
    }

    /// SATA: sends a FIS of `bytes` bytes as soon as the wire is free.
    pub fn frame(&mut self, now: Time, direction: Direction, bytes: u32) -> Span {
        match self {
            Link::Pcie(_) => panic!("PCIe has no frames"),
            Link::Sata(sata) => sata.frame(now, direction, bytes),
        }
    }

    /// The device starts to move a command's data, or part of it, now. Calls `occupied` with each interval during which
    /// the wire is busy.
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

    /// Returns the minimum time in which the device can read anything from the host; zero on SATA.
    pub fn round_trip(&self) -> Time {
        match self {
            Link::Pcie(pcie) => pcie.round_trip(),
            Link::Sata(_) => Time::ZERO,
        }
    }

    /// Returns the traffic of both directions until `now`: to the device, then to the host.
    ///
    /// # Panics
    /// If a direction, or both directions of a half-duplex link together, were busy for longer than the elapsed time,
    /// which indicates an error in the model.
    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        match self {
            Link::Pcie(pcie) => pcie.utilization(now),
            Link::Sata(sata) => sata.utilization(now),
        }
    }

    /// Discards everything on the wire at `now` and everything queued behind it.
    pub fn power_cut(&mut self, now: Time) {
        match self {
            Link::Pcie(pcie) => pcie.power_cut(now),
            Link::Sata(sata) => sata.power_cut(now),
        }
    }
}

fn refuse(what: &str) -> ! {
    panic!("SATA has no {what}")
}
