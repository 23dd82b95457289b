//! The writes to a drive before and during the simulated run: fio began the same sequence of addresses in each run.

use std::io;

use media::{Op, Request};
use nand::Store;
use sim::Streams;
use storage::Machine;
use storage::fast::Fast;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::{Parts, Translation};

use crate::jobs::Addresses;

/// Writes of one drive in each run of 20 minutes, in thousands, by number of writers: with the schedulers none, BFQ, Kyber
/// and MQ-Deadline, in this order. From `disk_util` of the artifact's fio files; see `drives/README.md`. The runs with 4 and
/// 16 writers and no scheduler are held out: those with Kyber, which is nearly as fast, stand in for them.
const RUNS: [(u64, [u64; 4]); 5] = [
    (1, [47_338, 28_491, 38_036, 39_732]),
    (2, [90_517, 50_640, 75_261, 73_788]),
    (4, [125_455, 94_256, 125_455, 127_824]),
    (8, [172_368, 156_457, 201_726, 160_501]),
    (16, [212_124, 169_111, 212_124, 223_673]),
];

/// A run of writers.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Number of writers.
    pub writers: u64,
    /// Number of requests of the first writer to the drive.
    pub requests: u64,
    /// Share of the first writer's requests by which the last one is behind.
    pub lag: f64,
}

impl Run {
    /// Returns true if there was a run with this number of writers.
    pub fn exists(writers: u64) -> bool {
        RUNS.iter().any(|(number, _)| *number == writers)
    }

    /// Returns the runs with each number of writers, in order, of a drive of 1/`part` of the size.
    pub fn all(part: u64, lag: f64) -> impl Iterator<Item = Run> {
        RUNS.into_iter().flat_map(move |(writers, all)| {
            all.into_iter().map(move |thousands| {
                let lag = if writers > 1 { lag } else { 0.0 };
                let requests = thousands as f64 * 1e3 / (part * writers) as f64 / (1.0 - lag / 2.0);
                Run { writers, requests: requests as u64, lag }
            })
        })
    }

    /// Returns how many of its requests `writer` has sent when the first writer has sent `requests`.
    pub fn sent(&self, writer: u64, requests: u64) -> u64 {
        let behind = self.lag * writer as f64 / (self.writers - 1).max(1) as f64;
        (requests as f64 * (1.0 - behind)) as u64
    }

    /// Returns the writes that the writers send while the first one sends the requests from `from` to `to`, in order.
    pub fn writes(self, addresses: Addresses, from: u64, to: u64) -> impl Iterator<Item = Request> {
        (from..to).flat_map(move |number| {
            (0..self.writers).filter_map(move |writer| {
                let at = self.sent(writer, number);
                (self.sent(writer, number + 1) > at).then(|| addresses.request(Op::Write, writer, at))
            })
        })
    }
}

/// A drive without time.
pub struct Past {
    ftl: Translation,
    store: Store,
    /// Addresses of the writers.
    pub addresses: Addresses,
}

impl Past {
    /// Begins with a drive that is steady under uniform writes.
    ///
    /// # Errors
    /// If it cannot be prepared.
    pub fn begin(system: &System, parts: &Parts, seed: u64, addresses: Addresses) -> io::Result<Past> {
        let streams = Streams::new(seed);
        let (store, _) = prepare(system, parts, Preparation::Steady, &streams, None).map_err(io::Error::other)?;
        let (nand, ftl, _) = parts.mount(store, &streams).map_err(io::Error::other)?;
        let mut store = nand.into_store();
        store.forget_rule();
        Ok(Past { ftl, store, addresses })
    }

    /// Performs writes.
    ///
    /// # Errors
    /// If the drive becomes read-only.
    pub fn write(&mut self, writes: impl Iterator<Item = Request>) -> io::Result<()> {
        let mut fast = Fast::new(&mut self.ftl, &mut self.store);
        for request in writes {
            if !fast.request(request).is_ok() {
                return Err(io::Error::other("the drive became read-only while it was prepared"));
            }
        }
        Ok(())
    }

    /// Returns a copy of the drive with time, just powered up.
    ///
    /// # Errors
    /// If the drive becomes read-only or cannot be mounted.
    pub fn powered_up(&mut self, parts: &Parts, seed: u64) -> io::Result<Machine> {
        self.write(std::iter::once(Request::flush()))?;
        let mut image = Vec::new();
        self.store.save(&mut image)?;
        let store =
            Store::load(&mut image.as_slice(), &parts.nand.geometry, parts.nand.buffers).map_err(io::Error::other)?;
        let (nand, ftl, _) = parts.mount(store, &Streams::new(seed)).map_err(io::Error::other)?;
        Ok(Machine::new(parts, ftl, nand))
    }
}
