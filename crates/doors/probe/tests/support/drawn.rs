//! Randomly drawn drives with their ground truth, which a probe's findings are judged against.

use probe::noise::{Disturbance, Noise};
use probe::report::{Estimate, Finding};
use probe::{Place, Report, Simulated, Verdict};
use sim::{Rng, Streams, Time};
use storage::prepare::Preparation;
use system::System;

/// The ground truth about one subject of a drive, hidden from the probe.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Subject: `read_cache`, `write_buffer`, `mapping_cache`.
    pub about: &'static str,
    /// Size in bytes or in sections of the map; `None` if absent.
    pub size: Option<u64>,
    /// Accepted absolute error of the size, alternatively to a tenth: a page.
    pub page: u64,
    /// Location; `None` if it cannot be inferred: no host memory, and no latency that distinguishes flash from memory.
    pub place: Option<Place>,
}

/// A randomly drawn drive.
pub struct Drive {
    /// The text of its system file.
    pub text: String,
    /// Its ground truth.
    pub truths: Vec<Truth>,
    preparation: Preparation,
    noise: Noise,
    disturbance: Option<Disturbance>,
    seed: u64,
}

fn log_uniform(rng: &mut Rng, from: u64, to: u64) -> u64 {
    let span = libm::log(to as f64 / from as f64);
    (from as f64 * libm::exp(rng.unit() * span)) as u64
}

fn one_of<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

fn us(rng: &mut Rng, from: u64, to: u64) -> Time {
    Time::from_ns(log_uniform(rng, from * 1000, to * 1000))
}

impl Drive {
    /// Draws drive `number` of the series `seed`.
    pub fn draw(seed: u64, number: u64) -> Drive {
        let streams = Streams::new(seed.wrapping_mul(1_000_003) + number);
        let rng = &mut streams.stream("drawn");
        let unit = one_of(rng, &[4096, 4096, 4096, 4096, 8192, 16384]);
        let (channels, dies, planes) = (one_of(rng, &[2, 4, 8]), one_of(rng, &[1, 2, 4]), one_of(rng, &[1, 2, 4]));
        let (page, pages) = (16384, one_of(rng, &[192, 384]));
        let capacity = one_of(rng, &[2u64, 4, 8]) << 30;
        let row = channels * dies * planes * page * pages;
        let blocks = (capacity * 115 / 100).div_ceil(row) + 18;
        let units = |rng: &mut Rng| log_uniform(rng, 16 << 10, 4 << 20).next_multiple_of(unit);

        let read_cache = rng.chance(0.5).then(|| units(rng));
        let mut write_buffer = units(rng).max(2 * unit);
        let write_back = rng.chance(0.7);
        let sections = capacity / (unit / 4 * unit);
        let mapping = rng.chance(0.6).then(|| log_uniform(rng, 4, (sections * 3 / 4).min(1024)));
        // In half of the drives one cache is in host memory, except for a small part in the controller.
        let lent =
            if rng.chance(0.5) { one_of(rng, &["read-cache", "write-buffer", "map", "nothing"]) } else { "nothing" };
        let lent = match lent {
            "read-cache" if read_cache.is_none() => "nothing",
            "write-buffer" if !write_back || write_buffer < 64 << 10 => "nothing",
            "map" if mapping.is_none_or(|sections| sections < 8) => "nothing",
            other => other,
        };
        // A third of the read caches inside the drive are in single-level-cell flash, with a fraction of the read time.
        let place = if rng.chance(1.0 / 3.0) && lent != "read-cache" { "slc" } else { one_of(rng, &["sram", "dram"]) };
        let slc_part = 0.35 + 0.25 * rng.unit();
        let (mut own_read, mut own_map) = (read_cache.unwrap_or(0), mapping);
        let hmb_bytes = match lent {
            "read-cache" => std::mem::take(&mut own_read),
            "write-buffer" => {
                let all = std::mem::replace(&mut write_buffer, 2 * unit);
                all - write_buffer
            }
            "map" => {
                own_map = Some(2);
                (mapping.expect("it is there") - 2) * unit
            }
            _ => 0,
        };
        let hmb = if hmb_bytes > 0 {
            format!("[device.hmb]\nsize = \"{hmb_bytes}B\"\nuse = \"{lent}\"\n")
        } else {
            String::new()
        };
        let all_write = write_buffer + if lent == "write-buffer" { hmb_bytes } else { 0 };
        // The largest command must fit into the buffer at any alignment.
        let largest = (write_buffer - unit).clamp(4096, 512 << 10);
        let max_transfer = 1u64 << largest.ilog2();

        let (generation, lanes) = (one_of(rng, &[3, 4]), one_of(rng, &[2, 4]));
        // Flash gets at most a third of the link's throughput, so that bursts fill the buffer.
        let link_bytes_per_s = lanes * 985_000_000 * (generation - 2);
        let program_bytes = channels * dies * planes * page;
        let least = (program_bytes * 1_000_000 / (link_bytes_per_s / 3)).max(300);
        let program = us(rng, least, least.max(1200) + 1);
        let map_cache = own_map.map_or("\"all\"".to_owned(), |sections| format!("\"{}B\"", sections * unit));
        let read = us(rng, 40, 90);
        let slc_read = Time::from_secs_f64(read.secs_f64() * slc_part);
        // The probe misjudges the write buffer of drive 10 of seed 7 where queued reads share a sensing.
        let text = format!(
            "title = \"drawn\"\n[host]\nmax_transfer = \"{max_transfer}B\"\n[link]\ntype = \"pcie\"\n\
             generation = {generation}\nlanes = {lanes}\n[device]\ndram = \"64MiB\"\n\
             cache_sharing = \"separate\"\nread_cache = {{ size = \"{}B\", place = \"{place}\" }}\n\
             write_cache = {{ size = \"{write_buffer}B\", mode = \"{}\" }}\n{hmb}[flash]\nchannels = {channels}\nchips = 1\n\
             dies = {dies}\nplanes = {planes}\nblocks = {blocks}\npages = {pages}\npage = \"{page}B\"\ncell = \"tlc\"\nreuse_page = \"never\"\n\
             read = \"{}ns\"\nslc_read = \"{}ns\"\nprogram = \"{}ns\"\nerase = \"3.5ms\"\nrate = \"{}MT/s\"\n[ftl]\nunit = \"{unit}B\"\n\
             capacity = \"{capacity}B\"\nmap_cache = {{ size = {map_cache} }}\n",
            own_read,
            if write_back { "write-back" } else { "write-through" },
            read.ns(),
            slc_read.ns(),
            program.ns(),
            one_of(rng, &[400, 800, 1200]),
        );
        let preparation = one_of(rng, &[Preparation::Filled, Preparation::Filled, Preparation::Steady]);
        let pauses = rng.chance(0.5).then(|| (us(rng, 2000, 20_000), us(rng, 20, 500)));
        let (jitter, outlier) = (us(rng, 1, 8), us(rng, 100, 3000));
        let outliers = if rng.chance(0.7) { rng.unit() * 0.01 } else { 0.0 };
        let disturbance =
            rng.chance(0.3).then(|| Disturbance::new(us(rng, 4000, 40_000), one_of(rng, &[1, 4]) * unit, &streams));
        Drive {
            text,
            truths: [
                ("read_cache", read_cache, unit, "read-cache"),
                ("write_buffer", write_back.then_some(all_write), unit, "write-buffer"),
                ("mapping_cache", mapping, 1, "map"),
            ]
            .map(|(about, size, page, name)| Truth {
                about,
                size,
                page,
                place: match (name, place) {
                    _ if lent == name && hmb_bytes > 0 => Some(Place::HostMemory),
                    ("read-cache", "slc") => Some(Place::Slc),
                    _ if hmb_bytes > 0 => Some(Place::Controller),
                    ("read-cache", _) => Some(Place::Memory),
                    _ => None,
                },
            })
            .to_vec(),
            preparation,
            noise: Noise::new(jitter, outliers, outlier, pauses, &streams),
            disturbance,
            seed: streams.seed(),
        }
    }

    /// Creates the drive as a probe target.
    pub fn target(&self) -> Simulated {
        let system = System::from_toml("drawn", &self.text, &[]).unwrap_or_else(|e| panic!("{e}\n{}", self.text));
        let target = Simulated::new("drawn", &system, self.preparation, self.seed, None);
        let target = target.unwrap_or_else(|e| panic!("{e}\n{}", self.text));
        target.disturbed(self.noise.clone(), self.disturbance.clone())
    }
}

/// The judgment of a finding against the ground truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Correctly found with the right size, or correctly reported as absent.
    Right,
    /// Correctly found, without a size.
    Unsized,
    /// Inconclusive.
    Open,
    /// Correctly found, with a wrong size.
    WrongSize,
    /// Wrongly reported as present or absent.
    Wrong,
}

impl Truth {
    fn finding<'a>(&self, report: &'a Report) -> &'a Finding {
        let findings = report.findings.iter().filter(|finding| finding.about == self.about);
        findings.max_by_key(|finding| finding.hmb).expect("a finding for each truth")
    }

    /// Returns the reported location if the truth has a location and the subject was found.
    pub fn reported_place(&self, report: &Report) -> Option<Option<Place>> {
        let finding = self.finding(report);
        let located = self.place.is_some() && self.size.is_some() && finding.verdict == Verdict::Supported;
        located.then_some(finding.place)
    }

    /// Judges `report` against this truth.
    pub fn judge(&self, report: &Report) -> Judged {
        let finding = self.finding(report);
        match (finding.verdict, self.size, finding.size) {
            (Verdict::Inconclusive, ..) => Judged::Open,
            (Verdict::Refuted, None, _) => Judged::Right,
            (Verdict::Supported, Some(_), None) => Judged::Unsized,
            (Verdict::Supported, Some(size), Some(Estimate { value, .. })) => {
                let most = (size as f64 / 10.0).max(self.page as f64);
                if (value - size as f64).abs() <= most { Judged::Right } else { Judged::WrongSize }
            }
            _ => Judged::Wrong,
        }
    }
}
