//! The state of a drive before a run: erased, filled, overwritten until steady, or laid out in the computed steady
//! state.
//!
//! A prepared drive consists of its flash alone: it is always shut down and mounted before use, so that a freshly
//! prepared drive and one read from disk behave identically.

pub(crate) mod cache;
pub mod fast;
pub(crate) mod zoned;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ftl::aged::Load;
use ftl::config::ConfigError;
use media::{Op, Request};
use nand::{Order, PayloadKind, Store};
use sha2::{Digest, Sha256};
use sim::Streams;

use crate::prepare::cache::{restore, save};
use crate::prepare::fast::Fast;
use system::System;
use system::parts::Parts;

/// Preparation of a drive before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// None: the drive is in its factory state.
    Erased,
    /// The whole drive is written once, sequentially; the SLC cache has been folded since. Of a drive with zones, those that no
    /// job writes.
    Filled,
    /// The drive is filled, then overwritten at random in mapping units until write amplification settles.
    Overwritten,
    /// The drive is laid out, from theory, in the state that [`Preparation::Overwritten`] would leave.
    Steady,
    /// Like [`Preparation::Steady`], after a pause: the SLC cache is folded and space has been collected ahead.
    Rested,
}

impl Preparation {
    /// User-visible names of all preparations.
    pub const NAMES: [(&'static str, Preparation); 5] = [
        ("none", Preparation::Erased),
        ("fill", Preparation::Filled),
        ("random", Preparation::Overwritten),
        ("steady", Preparation::Steady),
        ("rested", Preparation::Rested),
    ];

    /// Returns the state in which a drive begins, as a sentence without its subject.
    pub fn begins(self) -> &'static str {
        match self {
            Preparation::Erased => "begins empty: reads of unwritten data do not reach its flash",
            Preparation::Filled => "begins filled: written once, in order",
            Preparation::Overwritten => "begins overwritten at random until its write amplification settled",
            Preparation::Steady => "begins in the steady state of random writes, computed",
            Preparation::Rested => "begins in the steady state of random writes, computed, after a rest",
        }
    }
}

impl fmt::Display for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = Self::NAMES.iter().find(|(_, p)| p == self).expect("every preparation has a name");
        f.write_str(name)
    }
}

/// Reasons why a drive could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The parts do not fit together, or have no steady state.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The translation layer ran out of usable flash.
    #[error("the drive became read-only during preparation: too many of its blocks are bad")]
    NoSpace,
}

/// Version of the preparation. Raise it whenever the same settings prepare a different drive, so that older images on
/// disk are ignored.
const PREPARED_VERSION: u32 = 5;

/// A drive's preparation.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The preparation performed.
    pub preparation: Preparation,
    /// True if the drive was read from disk, where an earlier run had saved it.
    pub restored: bool,
    /// Number of random overwrites per unit of the drive.
    pub passes: f64,
    /// Write amplification at the end: counted (overwritten) or computed (steady).
    pub write_amplification: Option<f64>,
    /// True if theory does not cover the collection policy and that of greedy collection was used.
    pub approximate: bool,
}

impl Prepared {
    pub(crate) fn new(preparation: Preparation) -> Prepared {
        Prepared { preparation, restored: false, passes: 0.0, write_amplification: None, approximate: false }
    }
}

/// Prepares flash for `parts`. A state that can be laid out is expressed as a rule, which costs nothing; any other is
/// produced by writes. With a `cache` folder, drives prepared by writes are read from there or saved there.
///
/// # Errors
/// Fails if the parts do not fit together or the drive runs out of usable blocks. A cache that cannot be read or
/// written is not an error: the drive is then prepared again.
pub fn prepare(
    system: &System,
    parts: &Parts,
    preparation: Preparation,
    streams: &Streams,
    cache: Option<&Path>,
) -> Result<(Store, Prepared), PrepareError> {
    if let Some(done) = lay_out(parts, preparation, streams)? {
        return Ok(done);
    }
    let image = cache.filter(|_| preparation != Preparation::Erased).map(|folder| {
        let payload = match parts.nand.payload {
            PayloadKind::None => "none",
            PayloadKind::Stamp => "stamp",
            PayloadKind::Bytes => "bytes",
        };
        let of = format!(
            "{}\n{preparation}\n{}\n{payload}\n{PREPARED_VERSION}\n{}",
            system.hash_of(&["flash", "ftl", "device"]),
            streams.seed(),
            env!("CARGO_PKG_VERSION")
        );
        let hash: String = Sha256::digest(of).iter().map(|byte| format!("{byte:02x}")).collect();
        folder.join(format!("drive-{}.zst", &hash[..32]))
    });
    if let Some((store, prepared)) = image.as_deref().and_then(|path| restore(path, parts, preparation, streams)) {
        return Ok((store, prepared));
    }
    let (store, prepared) = prepare_anew(parts, preparation, streams)?;
    if let Some(path) = image {
        save(&path, &store, &prepared);
    }
    Ok((store, prepared))
}

/// Lays the drive out as a rule, which takes no time and no disk space. Returns `None` if the drive must be written
/// instead.
fn lay_out(
    parts: &Parts,
    preparation: Preparation,
    streams: &Streams,
) -> Result<Option<(Store, Prepared)>, PrepareError> {
    if let Some(config) = parts.zones.as_ref().filter(|_| preparation != Preparation::Erased) {
        if preparation == Preparation::Filled {
            return zoned::fill(parts, config, &[], streams).map(Some);
        }
        let found =
            format!("the drive was to be prepared as {preparation}, expected none or fill: zones have no steady state");
        return Err(ConfigError(found).into());
    }
    if parts.nand.order != Order::InOrder {
        return Ok(None);
    }
    let mut prepared = Prepared::new(preparation);
    let mut store = parts.erased_store(streams);
    let rule = match preparation {
        Preparation::Erased | Preparation::Overwritten => None,
        Preparation::Filled => ftl::aged::filled(&parts.ftl, usable(&store))?,
        Preparation::Steady | Preparation::Rested => {
            let load = if preparation == Preparation::Steady { Load::Busy } else { Load::Rested };
            let (rule, aged) = ftl::aged::steady(&parts.ftl, load, streams, usable(&store))?;
            prepared.write_amplification = Some(aged.write_amplification);
            prepared.approximate = aged.approximate;
            Some(rule)
        }
    };
    let Some(rule) = rule else { return Ok(None) };
    store.lay_out(Arc::new(rule));
    Ok(Some((store, prepared)))
}

/// Returns a predicate for the usable physical blocks (die, plane, block).
fn usable(store: &Store) -> impl Fn(u16, u32, u32) -> bool + use<> {
    let bad: HashSet<usize> = (0..).zip(store.blocks()).filter(|(_, block)| block.bad).map(|(at, _)| at).collect();
    let g = *store.geometry();
    move |die, plane, block| {
        let at = (die as usize * g.planes as usize + plane as usize) * g.blocks as usize + block as usize;
        !bad.contains(&at)
    }
}

fn prepare_anew(parts: &Parts, preparation: Preparation, streams: &Streams) -> Result<(Store, Prepared), PrepareError> {
    let mut prepared = Prepared::new(preparation);
    let mut store = match preparation {
        Preparation::Erased => parts.erased_store(streams),
        Preparation::Filled => fill(parts, parts.erased_store(streams), streams)?,
        Preparation::Overwritten => {
            let store = match lay_out(parts, Preparation::Filled, streams)? {
                Some((store, _)) => store,
                None => fill(parts, parts.erased_store(streams), streams)?,
            };
            overwrite(parts, store, streams, &mut prepared)?
        }
        Preparation::Steady | Preparation::Rested => {
            let found =
                "flash.order: found any, expected in-order, the only order for a steady state layout".to_owned();
            return Err(ConfigError(found).into());
        }
    };
    // The drive must be identical to the one that is later read from disk.
    store.forget_rule();
    Ok((store, prepared))
}

/// Writes the whole drive sequentially.
fn fill(parts: &Parts, store: Store, streams: &Streams) -> Result<Store, PrepareError> {
    let (nand, mut ftl, _) = parts.mount(store, streams)?;
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    let unit = u64::from(parts.nand.geometry.unit_bytes);
    let step = unit * u64::from(parts.ftl.buffers.write.clamp(1, 128));
    let end = unit * u64::from(parts.ftl.user_units);
    let mut at = 0;
    while at < end {
        write(&mut fast, at, step.min(end - at))?;
        at += step;
    }
    switch_off(&mut fast)?;
    Ok(store)
}

fn write(fast: &mut Fast<'_>, offset: u64, bytes: u64) -> Result<(), PrepareError> {
    match fast.request(Request::new(Op::Write, offset, bytes)) {
        media::Status::Ok => Ok(()),
        _ => Err(PrepareError::NoSpace),
    }
}

/// Shuts a drive down in order: writes out its data and, where the controller cannot hold the whole map, the map.
fn switch_off(fast: &mut Fast<'_>) -> Result<(), PrepareError> {
    match fast.request(Request::flush()) {
        media::Status::Ok => fast.write_back_map(),
        _ => return Err(PrepareError::NoSpace),
    }
    Ok(())
}

/// Maximum number of passes over the drive if write amplification does not settle.
const PASSES_MAX: u32 = 40;
/// Write amplification has settled when two consecutive windows, each `1 / WINDOW` of a pass, differ by less than
/// `SETTLED`.
const WINDOW: u32 = 2;
const SETTLED: f64 = 0.005;

/// Overwrites units at random until write amplification settles.
fn overwrite(parts: &Parts, store: Store, streams: &Streams, prepared: &mut Prepared) -> Result<Store, PrepareError> {
    let (nand, mut ftl, _) = parts.mount(store, streams)?;
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    let mut rng = streams.stream("prepare.overwrite");
    let (unit, units) = (u64::from(parts.nand.geometry.unit_bytes), u64::from(parts.ftl.user_units));
    let window = (units / u64::from(WINDOW)).max(1);
    let (mut last, mut before) = (0.0, (0, 0));
    for pass in 1..=PASSES_MAX * WINDOW {
        for _ in 0..window {
            write(&mut fast, rng.below(units) * unit, unit)?;
        }
        let stats = fast.ftl().stats();
        let now = (stats.programmed(), stats.programmed_host);
        let amplification = (now.0 - before.0) as f64 / (now.1 - before.1).max(1) as f64;
        before = now;
        prepared.passes = f64::from(pass) / f64::from(WINDOW);
        prepared.write_amplification = Some(amplification);
        if pass > 2 * WINDOW && (amplification / last - 1.0_f64).abs() < SETTLED {
            break;
        }
        last = amplification;
    }
    switch_off(&mut fast)?;
    Ok(store)
}
