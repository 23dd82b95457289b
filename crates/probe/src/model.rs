//! From a probe to a model: a system file that behaves like the drive that was probed.
//!
//! Sizes are what was found. Times of flash, the number of dies and what a command costs are not seen from outside: they
//! are chosen such that the model, simulated, reads and writes at random as fast as the drive did, one request and 32 at a
//! time.

use machine::System;
use machine::prepare::Preparation;
use media::Op;

use crate::bench::Bench;
use crate::options::Options;
use crate::parallel::latencies;
use crate::report::{Finding, Place, Report, Verdict};
use crate::simulated::Simulated;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The report lacks what a model needs.
    #[error("{name}: found no {what}, which a model needs: probe with the test {test}")]
    Missing {
        /// The target.
        name: String,
        /// What is missing.
        what: &'static str,
        /// The test that finds it.
        test: &'static str,
    },
    /// What was found makes no drive that can be simulated.
    #[error("{name}: no model: {cause}")]
    Unfit {
        /// The target.
        name: String,
        /// Why not.
        cause: String,
    },
}

/// Drives are calibrated at this size at most; the map's cache is made smaller in proportion.
const CAPACITY_MAX: u64 = 8 << 30;
/// Rounds of calibration.
const ROUNDS: u32 = 8;
/// A round that is this close ends it.
const CLOSE: f64 = 0.02;

/// What of the model is varied.
#[derive(Clone, Copy, Debug)]
struct Fit {
    dies: u64,
    read_ns: f64,
    program_ns: f64,
    firmware_read_ns: f64,
    firmware_write_ns: f64,
}

/// What was found.
struct Found<'a> {
    name: &'a str,
    capacity: u64,
    unit: u64,
    read_cache: Option<u64>,
    write_buffer: Option<u64>,
    write_back: Option<bool>,
    sections: Option<u64>,
    hmb: bool,
    reads_us: [f64; 2],
    writes_us: Option<[f64; 2]>,
}

fn pair(finding: Option<&Finding>, names: [&str; 2]) -> Option<[f64; 2]> {
    let numbers = &finding?.numbers;
    Some([*numbers.get(names[0])?, *numbers.get(names[1])?])
}

impl Found<'_> {
    fn of(report: &Report) -> Result<Found<'_>, ModelError> {
        let name = &report.target.name;
        let state = report.findings.iter().filter_map(|finding| finding.hmb).max();
        let finding = |about: &str| report.finding(about, state);
        let size = |about: &str| {
            let finding = finding(about).filter(|finding| finding.verdict == Verdict::Supported)?;
            finding.size.map(|size| size.value as u64)
        };
        let reads_us = pair(finding("parallelism"), ["read_us", "read_us_32"]).ok_or(ModelError::Missing {
            name: name.clone(),
            what: "latency of reads",
            test: "parallelism",
        })?;
        let covers = size("mapping_unit").unwrap_or(4 << 20);
        // A unit of the map in flash is as large as what one of its entries maps.
        let unit = 1u64 << (covers * 4).ilog2().div_ceil(2);
        Ok(Found {
            name,
            capacity: report.target.capacity_bytes / unit * unit,
            unit,
            read_cache: size("read_cache"),
            write_buffer: size("write_buffer"),
            write_back: finding("write_buffer").and_then(|finding| match finding.verdict {
                Verdict::Supported => Some(true),
                Verdict::Refuted => Some(false),
                Verdict::Inconclusive => None,
            }),
            sections: size("mapping_cache"),
            hmb: finding("mapping_cache").is_some_and(|finding| finding.place == Some(Place::HostMemory)),
            reads_us,
            writes_us: pair(finding("write_buffer"), ["random_write_us", "random_write_us_32"]),
        })
    }

    /// The tables of a system file, for a drive of `capacity` bytes.
    fn tables(&self, fit: &Fit, capacity: u64) -> String {
        let unit = self.unit;
        // Chosen as large, if its size is not known, as a drive needs for its largest command.
        let write = self.write_buffer.unwrap_or(1 << 20).next_multiple_of(unit).max(4096 + unit);
        let transfer = 1u64 << (write - unit).min(512 << 10).ilog2();
        let channels = if fit.dies.is_multiple_of(4) { 4 } else { 1 };
        let dies = fit.dies / channels;
        let (planes, page, pages) = (2, 16384, 192);
        let blocks = (capacity * 115 / 100).div_ceil(channels * dies * planes * page * pages) + 12;
        let scaled = |sections: u64| (sections as f64 * capacity as f64 / self.capacity as f64).ceil() as u64 * unit;
        let map = self.sections.map_or("\"all\"".to_owned(), |sections| format!("\"{}B\"", scaled(sections)));
        let mode = if self.write_back == Some(false) { "write-through" } else { "write-back" };
        format!(
            "[host]\nmax_transfer = \"{transfer}B\"\n\n[link]\ntype = \"pcie\"\ngeneration = 3\nlanes = 4\n\n\
             [device]\ndram = \"64MiB\"\ncache_sharing = \"separate\"\n\
             firmware = {{ read = \"{:.0}ns\", write = \"{:.0}ns\" }}\nread_cache = {{ size = \"{}B\" }}\n\
             write_cache = {{ size = \"{write}B\", mode = \"{mode}\" }}\n\n\
             [flash]\nchannels = {channels}\nchips = 1\ndies = {dies}\nplanes = {planes}\nblocks = {blocks}\n\
             pages = {pages}\npage = \"{page}B\"\ncell = \"tlc\"\nread = \"{:.0}ns\"\nprogram = \"{:.0}ns\"\n\
             erase = \"3.5ms\"\n\n[ftl]\nunit = \"{unit}B\"\ncapacity = \"{capacity}B\"\nmap_cache = {{ size = {map} }}\n",
            fit.firmware_read_ns,
            fit.firmware_write_ns,
            self.read_cache.unwrap_or(0).next_multiple_of(unit),
            fit.read_ns,
            fit.program_ns,
        )
    }

    fn unfit(&self, cause: impl ToString) -> ModelError {
        ModelError::Unfit { name: self.name.to_owned(), cause: cause.to_string() }
    }

    /// How fast the model is: reads and writes, one and 32 at a time.
    fn simulate(&self, fit: &Fit) -> Result<([f64; 2], [f64; 2]), ModelError> {
        let text =
            format!("title = \"model\"\n{}", self.tables(fit, self.capacity.min(CAPACITY_MAX) / self.unit * self.unit));
        let system = System::from_toml("model", &text, &[]).map_err(|error| self.unfit(error))?;
        let target = Simulated::new("model", &system, Preparation::Filled, 1, None);
        let mut target = target.map_err(|error| self.unfit(error))?;
        let options = Options { keep_samples: false, ..Options::default() };
        let mut bench = Bench::new(&mut target, &options);
        let reads = latencies(&mut bench, Op::Read).map_err(|error| self.unfit(error))?;
        let writes = latencies(&mut bench, Op::Write).map_err(|error| self.unfit(error))?;
        Ok((reads, writes))
    }

    /// Chooses dies and times such that the model is as fast as the drive.
    fn fit(&self) -> Result<Fit, ModelError> {
        let [alone, many] = self.reads_us;
        let at_once = (32.0 * alone / many).max(1.0);
        let mut fit = Fit {
            dies: (at_once.round() as u64).max(1),
            read_ns: (alone - 10.0).max(1.0) * 1e3,
            program_ns: 600e3,
            firmware_read_ns: 700.0,
            firmware_write_ns: 700.0,
        };
        let mut best = (f64::INFINITY, fit);
        for _ in 0..ROUNDS {
            let (reads, writes) = self.simulate(&fit)?;
            let off = |ours: f64, theirs: f64| libm::log(ours / theirs);
            let write_off =
                self.writes_us.map_or([0.0; 2], |theirs| [off(writes[0], theirs[0]), off(writes[1], theirs[1])]);
            let read_off = [off(reads[0], alone), off(reads[1], many)];
            let worst = read_off.iter().chain(&write_off).fold(0.0_f64, |worst, off| worst.max(off.abs()));
            if worst < best.0 {
                best = (worst, fit);
            }
            if worst < CLOSE {
                break;
            }
            // A read alone waits for the array; if it is as short as can be, the firmware makes up the rest.
            let short = (alone - reads[0]) * 1e3 / self.waits();
            fit.firmware_read_ns = (fit.firmware_read_ns + (short + fit.read_ns - 1e3).min(0.0)).max(0.0);
            fit.read_ns = (fit.read_ns + short).max(1e3);
            // Many share the dies: a whole number of them.
            let more = (fit.dies as f64 * libm::exp(read_off[1] - read_off[0])).round() as u64;
            fit.dies = more.clamp(1, 256);
            if let Some(theirs) = self.writes_us {
                fit.firmware_write_ns =
                    (fit.firmware_write_ns + (theirs[0] - writes[0]).clamp(-20.0, 20.0) * 1e3).max(0.0);
                fit.program_ns = (fit.program_ns * libm::exp(-write_off[1])).clamp(20e3, 20e6);
                if self.write_back == Some(false) {
                    fit.firmware_write_ns = 700.0;
                }
            }
        }
        Ok(best.1)
    }

    /// Times that a random read waits for the array: for its data, and mostly for the map too, if not all of it is at hand.
    fn waits(&self) -> f64 {
        let reach = self.sections.map(|sections| sections * (self.unit / 4) * self.unit);
        reach.map_or(1.0, |reach| 2.0 - (reach as f64 / self.capacity as f64).min(1.0))
    }
}

/// A system file for what `report` found; every value says whether it was measured, assumed, or calibrated.
///
/// # Errors
/// If the report has no latencies of reads, or what was found makes no drive.
pub fn model(report: &Report) -> Result<String, ModelError> {
    let found = Found::of(report)?;
    let fit = found.fit()?;
    let target = found.name.replace(['"', '\\'], "'");
    let mut basis = Vec::new();
    let mut say = |key: &str, kind: &str, why: &str| basis.push(format!("\"{key}\" = {{ {kind} = \"{why}\" }}\n"));
    let measured = |known: bool, why: &str| {
        if known { ("given", format!("measured: {why}")) } else { ("assumed", why.to_owned()) }
    };
    let (kind, why) = measured(found.read_cache.is_some(), "pieces read again");
    say("device.read_cache.size", kind, &why);
    let (kind, why) = measured(found.write_buffer.is_some(), "bursts of writes");
    say("device.write_cache.size", kind, &why);
    let (kind, why) = measured(found.write_back.is_some(), "writes and the flushes after them");
    say("device.write_cache.mode", kind, &why);
    let (kind, why) = measured(found.sections.is_some(), "sections read again, at an entry's 4 bytes a unit");
    say("ftl.map_cache.size", kind, &why);
    say(
        "ftl.unit",
        kind,
        if found.sections.is_some() {
            "measured: what a unit of the map covers, at an entry's 4 bytes"
        } else {
            "the page of the hosts' file systems"
        },
    );
    say("ftl.capacity", "given", "measured: what the target says");
    for key in ["flash.read", "flash.channels", "flash.dies", "device.firmware.read"] {
        say(key, "calibrated", "measured: latency of random reads, one and 32 at a time");
    }
    if found.writes_us.is_some() {
        for key in ["flash.program", "device.firmware.write"] {
            say(key, "calibrated", "measured: latency of random writes, one and 32 at a time");
        }
    }
    for (key, why) in [
        ("host.max_transfer", "what the write buffer holds at once"),
        ("link", "that of most drives of 2018 and later"),
        ("device.dram", "where caches are in the controller is not seen from outside"),
        ("device.cache_sharing", "each cache was measured by itself"),
        ("flash.chips", "a die a chip"),
        ("flash.planes", "as most dies have"),
        ("flash.blocks", "15 % more than the capacity"),
        ("flash.pages", "as in 3D NAND of 64 layers"),
        ("flash.page", "the page of most 3D NAND"),
        ("flash.cell", "what most drives have"),
        ("flash.erase", "as of 3D NAND"),
    ] {
        say(key, "assumed", why);
    }
    let note = if found.hmb { "# The map's cache is in host memory; here it is in the controller.\n" } else { "" };
    let tables = found.tables(&fit, found.capacity);
    let text = format!("{note}title = \"Model of {target}, from a probe\"\n\n{tables}\n[basis]\n{}", basis.concat());
    System::from_toml("model", &text, &[]).map_err(|error| found.unfit(error))?;
    Ok(text)
}
