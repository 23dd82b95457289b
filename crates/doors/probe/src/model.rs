//! Generates a system file that models a probed drive.
//!
//! Sizes are taken from the findings. Flash timing, the number of dies and the cost of a command cannot be observed
//! from outside. They are chosen so that the simulated model matches the measured latency of random reads and writes,
//! one request and 32 at a time.

use media::Op;
use storage::prepare::Preparation;
use system::System;

use crate::measure::bench::Bench;
use crate::measure::parallel::latencies;
use crate::options::Options;
use crate::report::{Finding, Place, Report, Verdict};
use crate::target::simulated::Simulated;
use crate::target::wire::Wire;

/// Reason why no model could be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The report lacks data that a model needs.
    #[error("{name}: found no {what}, expected one for a model: probe with the test {test}")]
    Missing {
        /// The target.
        name: String,
        /// The missing quantity.
        what: &'static str,
        /// The test that measures it.
        test: &'static str,
    },
    /// The findings do not describe a drive that can be simulated.
    #[error("{name}: no model: {cause}")]
    Unfit {
        /// The target.
        name: String,
        /// The reason.
        cause: String,
    },
}

/// Maximum capacity of the simulated drive during calibration; the map cache is scaled down in proportion.
const CAPACITY_MAX: u64 = 8 << 30;
/// Maximum number of calibration rounds.
const ROUNDS: u32 = 8;
/// Calibration ends once all latencies are within this relative error.
const CLOSE: f64 = 0.02;
/// Maximum numbers of channels, tried in order until all latencies are within the relative error `GOOD`.
const CHANNELS: [u64; 2] = [8, 4];
const GOOD: f64 = 0.08;

/// The calibrated parameters.
#[derive(Clone, Copy, Debug)]
struct Fit {
    dies: u64,
    channels_max: u64,
    read_ns: f64,
    program_ns: f64,
    firmware_read_ns: f64,
    firmware_write_ns: f64,
}

/// The findings used by a model.
struct Found<'a> {
    name: &'a str,
    capacity: u64,
    unit: u64,
    read_cache: Option<u64>,
    /// Microseconds of a first and a second read, if the read cache is in flash.
    read_cache_in_flash: Option<[f64; 2]>,
    write_buffer: Option<u64>,
    write_buffer_seen: bool,
    /// Whether a flush has nothing to do although writes are acknowledged before flash has them.
    is_protected: bool,
    write_back: Option<bool>,
    sections: Option<u64>,
    hmb: bool,
    wire: Option<Wire>,
    /// Bytes stored on one die before the next.
    stripe: Option<u64>,
    /// Program time, derived from the duration of a flush.
    program_us: Option<f64>,
    reads_us: [f64; 2],
    writes_us: Option<[f64; 2]>,
}

/// The link of a drive whose link is unknown.
const ASSUMED: Wire = Wire::Pcie { generation: 3, lanes: 4 };

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
        // A unit of the map in flash has the size that one of its entries maps.
        let unit = 1u64 << (covers * 4).ilog2().div_ceil(2);
        let buffer = finding("write_buffer");
        let keeps_up = buffer.is_some_and(|finding| {
            finding.verdict != Verdict::Refuted
                && finding.size.is_none()
                && !finding.numbers.contains_key("end_bytes_per_s")
        });
        let is_protected = finding("flush").is_some_and(|flush| flush.verdict == Verdict::Refuted)
            && buffer.is_some_and(|buffer| buffer.verdict != Verdict::Refuted);
        let flush = finding("flush").filter(|finding| finding.verdict == Verdict::Supported);
        Ok(Found {
            name,
            capacity: report.target.capacity_bytes / unit * unit,
            unit,
            read_cache: size("read_cache"),
            read_cache_in_flash: pair(
                finding("read_cache").filter(|finding| finding.size.is_some() && finding.place == Some(Place::Slc)),
                ["first_us", "again_us"],
            ),
            // A buffer that no burst filled gets the size of the largest burst.
            write_buffer: size("write_buffer").or(keeps_up.then_some(2 * report.options.write_buffer_max)),
            write_buffer_seen: size("write_buffer").is_some(),
            is_protected,
            write_back: finding("write_buffer").and_then(|finding| match finding.verdict {
                Verdict::Supported => Some(true),
                Verdict::Refuted => Some(false),
                Verdict::Inconclusive => None,
            }),
            sections: size("mapping_cache"),
            hmb: finding("mapping_cache").is_some_and(|finding| finding.place == Some(Place::HostMemory)),
            wire: report.target.environment.get("link").and_then(|text| Wire::parse(text)),
            stripe: size("stripe"),
            program_us: flush
                .map(|flush| flush.numbers["flush_after_write_us"] - flush.numbers["flush_idle_us"])
                .filter(|us| (20.0..20e3).contains(us)),
            reads_us,
            writes_us: pair(finding("write_buffer"), ["random_write_us", "random_write_us_32"]),
        })
    }

    /// Returns the tables of a system file for a drive of `capacity` bytes.
    fn tables(&self, fit: &Fit, capacity: u64) -> String {
        let unit = self.unit;
        // If the size is unknown, it is chosen large enough for the largest command.
        let write = self.write_buffer.unwrap_or(1 << 20).next_multiple_of(unit).max(4096 + unit);
        let transfer = 1u64 << (write - unit).min(512 << 10).ilog2();
        let even = |channels: &u64| *channels <= fit.channels_max && fit.dies.is_multiple_of(*channels);
        let channels = [8, 4, 2, 1].into_iter().find(even).expect("one does");
        let dies = fit.dies / channels;
        let (planes, page) = self.planes();
        let pages = 192;
        let blocks = (capacity * 115 / 100).div_ceil(channels * dies * planes * page * pages) + 12;
        let scaled = |sections: u64| (sections as f64 * capacity as f64 / self.capacity as f64).ceil() as u64 * unit;
        let map = self.sections.map_or("\"all\"".to_owned(), |sections| format!("\"{}B\"", scaled(sections)));
        // Only the array time differs between the two reads.
        let (place, slc_read) = match self.read_cache_in_flash {
            Some([first, again]) => {
                let ns = (fit.read_ns - 1e3 * (first - again)).max(1.0);
                (", place = \"slc\"", format!("slc_read = \"{ns:.0}ns\"\n"))
            }
            None => ("", String::new()),
        };
        let mode = if self.write_back == Some(false) { "write-through" } else { "write-back" };
        format!(
            "[host]\nmax_transfer = \"{transfer}B\"\n\n{}\n\
             [device]\ndram = \"64MiB\"\ncache_sharing = \"separate\"\n\
             power_loss_protection = {}\n\
             firmware = {{ read = \"{:.0}ns\", write = \"{:.0}ns\" }}\nread_cache = {{ size = \"{}B\"{place} }}\n\
             write_cache = {{ size = \"{write}B\", mode = \"{mode}\" }}\n\n\
             [flash]\nchannels = {channels}\nchips = 1\ndies = {dies}\nplanes = {planes}\nblocks = {blocks}\n\
             pages = {pages}\npage = \"{page}B\"\ncell = \"tlc\"\nread = \"{:.0}ns\"\nprogram = \"{:.0}ns\"\n\
             erase = \"3.5ms\"\n{slc_read}\n[ftl]\nunit = \"{unit}B\"\ncapacity = \"{capacity}B\"\nmap_cache = {{ size = {map} }}\n",
            self.wire.unwrap_or(ASSUMED).table(),
            self.is_protected,
            fit.firmware_read_ns,
            fit.firmware_write_ns,
            self.read_cache.unwrap_or(0).next_multiple_of(unit),
            fit.read_ns,
            fit.program_ns,
        )
    }

    /// Returns the planes per die and the flash page size in bytes; their product is the stripe.
    fn planes(&self) -> (u64, u64) {
        match self.stripe {
            Some(stripe @ 4096..=16384) if stripe.is_power_of_two() && stripe >= self.unit => (1, stripe),
            Some(stripe @ (32768 | 65536 | 131_072)) => (stripe >> 14, 16384),
            _ => (2, 16384),
        }
    }

    fn unfit(&self, cause: impl ToString) -> ModelError {
        ModelError::Unfit { name: self.name.to_owned(), cause: cause.to_string() }
    }

    /// Simulates the model and returns the latencies of reads and writes, one and 32 at a time.
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

    /// Chooses the dies and times for which the model best matches the drive.
    fn fit(&self) -> Result<Fit, ModelError> {
        let mut best: Option<(f64, Fit)> = None;
        for channels_max in CHANNELS {
            let found = self.fit_on(channels_max)?;
            if best.is_none_or(|best| found.0 < best.0) {
                best = Some(found);
            }
            if best.is_some_and(|best| best.0 < GOOD) {
                break;
            }
        }
        Ok(best.expect("channels were tried").1)
    }

    /// Like [`Found::fit`], with at most `channels_max` channels; also returns the largest relative error of a latency.
    fn fit_on(&self, channels_max: u64) -> Result<(f64, Fit), ModelError> {
        let [alone, many] = self.reads_us;
        let at_once = (32.0 * alone / many).max(1.0);
        let mut fit = Fit {
            dies: dies(at_once.round() as u64),
            channels_max,
            read_ns: (alone - 10.0).max(1.0) * 1e3,
            program_ns: self.program_us.map_or(600e3, |us| us * 1e3),
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
            // A single read waits for the array; if the array time is at its minimum, the firmware accounts for the
            // rest.
            let short = (alone - reads[0]) * 1e3 / self.waits();
            fit.firmware_read_ns = (fit.firmware_read_ns + (short + fit.read_ns - 1e3).min(0.0)).max(0.0);
            fit.read_ns = (fit.read_ns + short).max(1e3);
            // Concurrent reads share the dies, an integral number.
            let more = (fit.dies as f64 * libm::exp(read_off[1] - read_off[0])).round() as u64;
            fit.dies = dies(more);
            if let Some(theirs) = self.writes_us {
                fit.firmware_write_ns =
                    (fit.firmware_write_ns + (theirs[0] - writes[0]).clamp(-20.0, 20.0) * 1e3).max(0.0);
                fit.program_ns = (fit.program_ns * libm::exp(-write_off[1])).clamp(20e3, 20e6);
                if self.write_back == Some(false) {
                    fit.firmware_write_ns = 700.0;
                }
            }
        }
        Ok(best)
    }

    /// Returns the number of array reads that a random read waits for: one for its data, and in most cases one for the
    /// map unless the whole map is cached.
    fn waits(&self) -> f64 {
        let reach = self.sections.map(|sections| sections * (self.unit / 4) * self.unit);
        reach.map_or(1.0, |reach| 2.0 - (reach as f64 / self.capacity as f64).min(1.0))
    }
}

/// Rounds to a number of dies that many channel counts divide evenly.
fn dies(about: u64) -> u64 {
    match about {
        0..=16 => about.max(1),
        17..=48 => about.next_multiple_of(4),
        _ => about.next_multiple_of(8).min(256),
    }
}

/// Generates a system file from `report`; every value states whether it was measured, assumed or calibrated.
///
/// # Errors
/// If the report has no read latencies, or the findings do not describe a valid drive.
pub fn model(report: &Report) -> Result<String, ModelError> {
    let found = Found::of(report)?;
    let fit = found.fit()?;
    let target = found.name.replace(['"', '\\'], "'");
    let mut basis = Vec::new();
    let mut say = |key: &str, kind: &str, why: &str| basis.push(format!("\"{key}\" = {{ {kind} = \"{why}\" }}\n"));
    let measured = |known: bool, why: &str| {
        if known { ("given", format!("measured: {why}")) } else { ("assumed", why.to_owned()) }
    };
    let (kind, why) = measured(found.read_cache.is_some(), "regions read again");
    say("device.read_cache.size", kind, &why);
    if found.read_cache_in_flash.is_some() {
        say("device.read_cache.place", "given", "measured: a second read is faster, but slower than from memory");
        say("flash.slc_read", "given", "measured: the time that a second read saves");
    }
    let (kind, why) = measured(found.write_buffer_seen, "bursts of writes");
    say("device.write_cache.size", kind, &why);
    if found.is_protected {
        say("device.power_loss_protection", "given", "measured: a flush finds nothing to do");
    }
    let (kind, why) = measured(found.write_back.is_some(), "writes and the flushes after them");
    say("device.write_cache.mode", kind, &why);
    let (kind, why) = measured(found.sections.is_some(), "sections read again, at 4 bytes per map entry");
    say("ftl.map_cache.size", kind, &why);
    say(
        "ftl.unit",
        kind,
        if found.sections.is_some() {
            "measured: the bytes that a unit of the map covers, at 4 bytes per entry"
        } else {
            "the page size of common file systems"
        },
    );
    match found.wire {
        Some(_) => say("link", "given", "reported by the host"),
        None => say("link", "assumed", "common in drives since 2018"),
    }
    say("ftl.capacity", "given", "measured: reported by the target");
    for key in ["flash.read", "flash.channels", "flash.dies", "device.firmware.read"] {
        say(key, "calibrated", "measured: latency of random reads, one and 32 at a time");
    }
    if found.writes_us.is_some() {
        for key in ["flash.program", "device.firmware.write"] {
            say(key, "calibrated", "measured: latency of random writes, one and 32 at a time");
        }
    }
    for (key, why) in [("flash.planes", "common for dies"), ("flash.page", "the page size of most 3D NAND")] {
        match found.stripe {
            Some(_) => say(
                key,
                "given",
                "measured: page size times planes is the distance within which two reads wait for one another",
            ),
            None => say(key, "assumed", why),
        }
    }
    for (key, why) in [
        ("host.max_transfer", "limited by the size of the write buffer"),
        ("device.dram", "the location of caches in the controller cannot be observed"),
        ("device.cache_sharing", "each cache was measured separately"),
        ("flash.chips", "one die per chip"),
        ("flash.blocks", "15 % more than the capacity"),
        ("flash.pages", "as in 3D NAND of 64 layers"),
        ("flash.cell", "common in current drives"),
        ("flash.erase", "typical of 3D NAND"),
    ] {
        say(key, "assumed", why);
    }
    let note = if found.hmb {
        "# The drive's map cache is in host memory; the model places it in the controller.\n"
    } else {
        ""
    };
    let tables = found.tables(&fit, found.capacity);
    let text = format!("{note}title = \"Model of {target}, from a probe\"\n\n{tables}\n[basis]\n{}", basis.concat());
    System::from_toml("model", &text, &[]).map_err(|error| found.unfit(error))?;
    Ok(text)
}
