//! A drive of the target, and what was written to it before the simulated part of a run.

use std::fs::File;
use std::io;
use std::path::Path;

use media::{Op, Request};
use nand::{PayloadKind, Store};
use sha2::{Digest, Sha256};
use sim::{Streams, Time};
use storage::Machine;
use storage::counters::Counters;
use storage::fast::Fast;
use storage::prepare::{Preparation, prepare};
use system::parts::Parts;
use system::{System, SystemError};

use crate::jobs::Addresses;

/// Loads a system at 1/`part` of its size, with the same over-provisioning. The blocks have few pages, so that there are
/// many superblocks, and erases are shorter by the same factor. Everything else keeps its size, such as the write cache.
///
/// # Errors
/// If the system cannot be loaded or does not shrink.
pub fn shrunk(name: &str, sets: &[(&str, &str)], part: u64) -> Result<System, Box<SystemError>> {
    let whole = System::load(name, sets)?;
    if part == 1 {
        return Ok(whole);
    }
    let flash = &whole.flash;
    let (pages, blocks) = (u64::from(flash.pages), u64::from(flash.blocks));
    let (few_pages, few_blocks) = ((pages * 2 / part).max(1), blocks / 2);
    let units = whole.user_bytes / whole.ftl.unit;
    let few_units = (u128::from(units) * u128::from(few_blocks * few_pages) / u128::from(blocks * pages)) as u64;
    let shorter = |time: Time| format!("{}ns", time.ns() * few_pages / pages);
    let values = [
        ("flash.pages", few_pages.to_string()),
        ("flash.blocks", few_blocks.to_string()),
        ("ftl.capacity", format!("{}B", few_units * whole.ftl.unit)),
        ("flash.erase", shorter(flash.erase)),
        ("flash.slc_erase", shorter(flash.slc_erase)),
        // As many pages of the map as the whole drive has.
        ("ftl.checkpoint.span", format!("{}B", (whole.ftl.checkpoint.span / part).max(whole.ftl.unit))),
    ];
    let changes = values.iter().map(|(key, value)| (*key, value.as_str()));
    let all: Vec<(&str, &str)> = sets.iter().copied().chain(changes).collect();
    Ok(System::load(name, &all)?)
}

/// Writes to a drive in its steady state before the simulated part. Numbers of requests are for all drives together.
#[derive(Debug)]
pub struct History {
    /// Addresses of each writer.
    pub addresses: Vec<Addresses>,
    /// Number of requests of each writer of the run before this one.
    pub before: u64,
    /// Number of writers of the run before this one.
    pub before_writers: u64,
    /// Number of requests of the first writer of this run.
    pub begun: u64,
    /// Number of requests by which each writer is behind the one before it.
    pub apart: u64,
}

impl History {
    /// Returns the writes to drive `drive` of `drives`, in order.
    pub fn writes(&self, (drive, drives): (usize, usize)) -> impl Iterator<Item = Request> {
        let behind = (self.before_writers - 1) * self.apart;
        let before = if self.before > 0 { self.before + behind } else { 0 };
        let runs = [(self.before_writers, before), (self.addresses.len() as u64, self.begun)];
        runs.into_iter().flat_map(move |(writers, last)| {
            (drive as u64..last).step_by(drives).flat_map(move |index| {
                let of = move |writer: u64| {
                    let index = index.checked_sub(writer * self.apart)?;
                    Some(self.addresses[writer as usize].request(Op::Write, index))
                };
                (0..writers).filter_map(of)
            })
        })
    }
}

/// A drive and its outstanding requests.
pub struct Drive {
    /// The drive behind a host of its own.
    pub machine: Machine,
    /// Job and time of submission of each outstanding request.
    outstanding: Vec<(u16, Time)>,
    free: Vec<u32>,
    /// Counters at the start of the measured part.
    pub begin: Option<Counters>,
}

impl Drive {
    /// Prepares a drive, given by its number and the number of drives: steady under uniform writes, then written as in
    /// `history`. With a folder for images, a drive that was written before is read from there.
    ///
    /// # Errors
    /// If the drive cannot be prepared, or its image cannot be read or written.
    pub fn new(
        system: &System,
        seed: u64,
        number: (usize, usize),
        history: &History,
        images: Option<&Path>,
    ) -> io::Result<Drive> {
        let streams = Streams::new(seed);
        let parts = Parts::new(system, PayloadKind::None).map_err(io::Error::other)?;
        let path = images.map(|folder| {
            let of = format!("{:?} {} {seed} {number:?} {history:?}", parts.nand.geometry, system.hash_of(&["ftl"]));
            let hash: String = Sha256::digest(of).iter().map(|byte| format!("{byte:02x}")).collect();
            folder.join(format!("written-{}.zst", &hash[..32]))
        });
        let store = match path {
            Some(path) if path.exists() => {
                let mut stream = zstd::Decoder::new(File::open(path)?)?;
                Store::load(&mut stream, parts.nand.buffers).map_err(io::Error::other)?
            }
            _ => {
                let store = written(system, &parts, &streams, history.writes(number))?;
                if let Some(path) = path {
                    let mut stream = zstd::Encoder::new(File::create(path)?, 1)?;
                    store.save(&mut stream)?;
                    stream.finish()?;
                }
                store
            }
        };
        let (nand, ftl, _) = parts.mount(store, &streams).map_err(io::Error::other)?;
        Ok(Drive { machine: Machine::new(&parts, ftl, nand), outstanding: Vec::new(), free: Vec::new(), begin: None })
    }

    /// Submits a request of `job` at `now`.
    pub fn submit(&mut self, now: Time, job: u16, request: Request) {
        let io = self.free.pop().unwrap_or_else(|| {
            self.outstanding.push((0, Time::ZERO));
            self.outstanding.len() as u32 - 1
        });
        self.outstanding[io as usize] = (job, now);
        self.machine.submit(now, io, job, request);
    }

    /// Ends request `io`. Returns its job and the time of its submission.
    pub fn end(&mut self, io: u32) -> (u16, Time) {
        self.free.push(io);
        self.outstanding[io as usize]
    }
}

/// Returns flash in its steady state, after `writes`.
fn written(
    system: &System,
    parts: &Parts,
    streams: &Streams,
    writes: impl Iterator<Item = Request>,
) -> io::Result<Store> {
    let (store, _) = prepare(system, parts, Preparation::Steady, streams, None).map_err(io::Error::other)?;
    let (nand, mut ftl, _) = parts.mount(store, streams).map_err(io::Error::other)?;
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    for request in writes.chain([Request::flush()]) {
        if !fast.request(request).is_ok() {
            return Err(io::Error::other("the drive became read-only while it was prepared"));
        }
    }
    store.forget_rule();
    Ok(store)
}
