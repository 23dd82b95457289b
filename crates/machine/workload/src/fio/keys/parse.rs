//! Parsers of complex values.

use super::key::{Given, hint};
use crate::dist::{Distribution, Extent, Zone};
use crate::fio::job::Job;
use crate::fio::pattern::ReadWrite;
use crate::fio::value::{self, KbBase};
use media::SECTOR;

/// Parses `rw`. The number after a colon is requests per offset in a random job, and bytes in a sequential one.
pub(super) fn pattern(job: &mut Job, given: &Given) -> Result<(), String> {
    let (name, number) = match given.text.split_once(':') {
        Some((name, number)) => (name, Some(number)),
        None => (given.text, None),
    };
    job.rw = Given { text: name, kb: given.kb }.name(&ReadWrite::NAMES)?;
    (job.run_length, job.gap) = (1, 0);
    match number {
        Some(number) if job.rw.random => match value::number(number, given.kb).filter(|n| *n > 0) {
            Some(number) => job.run_length = number,
            None => return given.expected("a number of requests after the colon, such as randread:8"),
        },
        Some(number) => match value::signed(number, given.kb).filter(|n| n.unsigned_abs() % SECTOR == 0) {
            Some(bytes) => job.gap = bytes,
            None => {
                return given
                    .expected("a multiple of the 512-byte sector after the colon, such as read:8k or read:-8k");
            }
        },
        None => {}
    }
    Ok(())
}

/// Parses `blockalign`.
pub(super) fn block_align(job: &mut Job, given: &Given) -> Result<(), String> {
    match value::triple(given.text, |part| given.block(part)) {
        Some(align) => job.align = align,
        None => return given.expected("a multiple of the 512-byte sector, or read,write,trim values"),
    }
    job.random_map = false;
    Ok(())
}

/// Parses `percentage_random`.
pub(super) fn percentage_random(job: &mut Job, given: &Given) -> Result<(), String> {
    match value::triple(given.text, |part| part.trim().parse::<u64>().ok().filter(|percent| *percent <= 100)) {
        Some(shares) => job.random_share = shares.map(|share| share.unwrap_or(100)),
        None => return given.expected("a whole number from 0 to 100, or read,write,trim values"),
    }
    Ok(())
}

/// Parses `plids`.
pub(super) fn placement_indices(job: &mut Job, given: &Given) -> Result<(), String> {
    let index = |text: &str| text.trim().parse::<u16>().ok();
    match given.text.split(',').map(index).collect::<Option<Vec<u16>>>() {
        Some(mut indices) => {
            indices.sort_unstable();
            job.placement.indices = indices;
        }
        None => return given.expected("whole numbers from 0 to 65535, separated by commas"),
    }
    Ok(())
}

/// Parses `latency_percentile`.
pub(super) fn latency_percentile(job: &mut Job, given: &Given) -> Result<(), String> {
    match value::decimal(given.text).filter(|percent| (1.0..=100.0).contains(percent)) {
        Some(percentile) => job.latency.get_or_insert_default().percentile = percentile,
        None => return given.expected("a percentage from 1 to 100"),
    }
    Ok(())
}

/// Parses `steadystate`.
pub(super) fn steady_state(job: &mut Job, given: &Given) -> Result<(), String> {
    const FORMS: &str = "iops:LIMIT, iops_slope:LIMIT, bw:LIMIT or bw_slope:LIMIT, such as iops:10%";
    let Some((name, limit)) = given.text.split_once(':') else { return given.expected(FORMS) };
    let (bytes, slope) = match name {
        "iops" => (false, false),
        "iops_slope" => (false, true),
        "bw" => (true, false),
        "bw_slope" => (true, true),
        _ => return given.expected(FORMS),
    };
    let (number, percent) = limit.strip_suffix('%').map_or((limit, false), |number| (number, true));
    let Some(limit) = value::decimal(number) else { return given.expected(FORMS) };
    let steady = job.steady.get_or_insert_default();
    (steady.bytes, steady.slope, steady.limit, steady.percent) = (bytes, slope, limit, percent);
    Ok(())
}

/// Parses `replay_skip`.
pub(super) fn replay_skip(job: &mut Job, given: &Given) -> Result<(), String> {
    job.replay.skip = [false; 4];
    for name in given.text.split(',') {
        match ["read", "write", "trim", "sync"].iter().position(|known| *known == name.trim()) {
            Some(kind) => job.replay.skip[kind] = true,
            None => return given.expected("a list of read, write, trim and sync, such as trim,sync"),
        }
    }
    Ok(())
}

pub(super) fn blocks(job: &mut Job, given: &Given) -> Result<(), String> {
    match value::triple(given.text, |part| given.block(part)) {
        Some(block) => job.block = block,
        None => {
            return given
                .expected("a multiple of the 512-byte sector, or read,write,trim values, such as 4k or 8k,32k");
        }
    }
    Ok(())
}

pub(super) fn ranges(job: &mut Job, given: &Given) -> Result<(), String> {
    let range = |part: &str| {
        let (a, b) = part.split_once(['-', ':'])?;
        let (a, b) = (given.block(a)?, given.block(b)?);
        (a <= b).then_some((a, b))
    };
    match value::triple(given.text, range) {
        Some(range) => job.range = range,
        None => {
            return given.expected(
                "an ascending range of multiples of the 512-byte sector such as 4k-64k, or read,write,trim values",
            );
        }
    }
    Ok(())
}

/// Parses `a/b:a/b:…`. Missing `b` values share the remainder of 100 evenly. The returned weights are exact.
fn shares<T>(text: &str, part: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, u64)>> {
    let mut read = Vec::new();
    for item in text.split(':') {
        let (left, right) = item.split_once('/').unwrap_or((item, ""));
        let percent = match right.trim() {
            "" => None,
            right => Some(right.parse::<u64>().ok().filter(|p| *p <= 100)?),
        };
        read.push((part(left)?, percent));
    }
    let given: u64 = read.iter().filter_map(|(_, percent)| *percent).sum();
    let blank = read.iter().filter(|(_, percent)| percent.is_none()).count() as u64;
    if given > 100 || (blank == 0 && given != 100) {
        return None;
    }
    let weight = |percent: Option<u64>| percent.map_or(100 - given, |percent| percent * blank.max(1));
    Some(read.into_iter().map(|(left, percent)| (left, weight(percent))).collect())
}

pub(super) fn splits(job: &mut Job, given: &Given) -> Result<(), String> {
    let split = |part: &str| {
        let mut sum = 0;
        let drawn = shares(part, |bytes| given.block(bytes))?.into_iter().filter(|(_, weight)| *weight > 0);
        let split: Vec<(u64, u64)> = drawn
            .map(|(bytes, weight)| {
                sum += weight;
                (bytes, sum)
            })
            .collect();
        (split.len() <= 64).then_some(split)
    };
    match value::triple(given.text, split) {
        Some(split) => job.split = split,
        None => {
            return given
                .expected("up to 64 sizes of whole sectors with percentages that add up to 100, such as 4k/60:64k/40");
        }
    }
    Ok(())
}

pub(super) fn distribution(job: &mut Job, given: &Given) -> Result<(), String> {
    const FORMS: &str = "random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:… or zoned_abs:…";
    let (name, rest) = given.text.split_once(':').unwrap_or((given.text, ""));
    let parameters: Option<Vec<f64>> =
        if rest.is_empty() { Some(Vec::new()) } else { rest.split(':').map(value::decimal).collect() };
    let center = |center: Option<&f64>| match center {
        Some(center) if *center > 1.0 => given.expected("a center from 0 to 1"),
        other => Ok(other.copied()),
    };
    let all = |distribution: Distribution| [distribution.clone(), distribution.clone(), distribution];
    job.distribution = match (name, parameters.as_deref()) {
        ("random", Some([])) => all(Distribution::Random),
        ("zipf", Some(p @ ([] | [_] | [_, _]))) => {
            let theta = *p.first().unwrap_or(&1.1);
            if theta > 100.0 {
                return given.expected("an exponent from 0 to 100");
            }
            all(Distribution::Zipf { theta, center: center(p.get(1))? })
        }
        ("pareto", Some(p @ ([] | [_] | [_, _]))) => {
            let h = *p.first().unwrap_or(&0.2);
            if h <= 0.0 || h >= 1.0 {
                return given.expected("a skew between 0 and 1, such as pareto:0.2");
            }
            all(Distribution::Pareto { h, center: center(p.get(1))? })
        }
        ("normal", Some(p @ ([_] | [_, _]))) => {
            if p[0] <= 0.0 || p[0] > 100.0 {
                return given.expected("a deviation above 0 and up to 100 percent of the region");
            }
            all(Distribution::Normal { deviation: p[0], center: center(p.get(1))? })
        }
        ("zoned" | "zoned_abs", _) => match value::triple(rest, |part| zones(part, name == "zoned_abs", given.kb)) {
            Some(zones) => zones.map(|zones| zones.map_or(Distribution::Random, Distribution::Zoned)),
            None if name == "zoned" => {
                return given
                    .expected("zones of ACCESS/SIZE percent that each add up to 100, such as zoned:80/20:20/80");
            }
            None => {
                return given
                    .expected("zones of ACCESS/SIZE whose access adds up to 100, such as zoned_abs:80/1g:20/9g");
            }
        },
        ("random" | "zipf" | "pareto" | "normal", _) => return given.expected(FORMS),
        _ => {
            let hint = hint(name, ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"]);
            return given.expected(&format!("{FORMS}{hint}"));
        }
    };
    Ok(())
}

/// Parses `access/size:access/size:…` with up to 256 zones. Blank values share the remainder of 100 evenly.
fn zones(text: &str, absolute: bool, kb: KbBase) -> Option<Vec<Zone>> {
    let blank_or = |part: &str| if part.trim().is_empty() { Some(None) } else { part.trim().parse().ok().map(Some) };
    let mut access: Vec<Option<u64>> = Vec::new();
    let mut extents = Vec::new();
    for item in text.split(':') {
        let (share, extent) = item.split_once('/')?;
        access.push(blank_or(share)?);
        extents.push(extent);
    }
    let access = fill(&access)?;
    let extents: Vec<Extent> = if absolute {
        extents.into_iter().map(|e| value::number(e, kb).map(Extent::Bytes)).collect::<Option<_>>()?
    } else {
        let percents = extents.into_iter().map(blank_or).collect::<Option<Vec<_>>>()?;
        fill(&percents)?.into_iter().map(Extent::Percent).collect()
    };
    (access.len() <= 256)
        .then(|| access.into_iter().zip(extents).map(|(access, extent)| Zone { access, extent }).collect())
}

/// Fills in blank percentages, if the result can add up to 100.
fn fill(percents: &[Option<u64>]) -> Option<Vec<f64>> {
    let given = percents.iter().flatten().try_fold(0u64, |sum, p| sum.checked_add(*p))?;
    let blank = percents.iter().filter(|p| p.is_none()).count();
    if given > 100 || (blank == 0 && given != 100) {
        return None;
    }
    let rest = (100 - given) as f64 / blank.max(1) as f64;
    Some(percents.iter().map(|p| p.map_or(rest, |p| p as f64)).collect())
}

pub(super) fn rates(given: &Given, what: &str) -> Result<[Option<u64>; 3], String> {
    match value::triple(given.text, |part| value::number(part, given.kb)) {
        // As in fio, 0 means no limit.
        Some(rates) => Ok(rates.map(|rate| rate.filter(|rate| *rate > 0))),
        None => given.expected(what),
    }
}

/// Parses `direct` and `buffered`, with a note if fio would use a page cache.
pub(super) fn unbuffered(job: &mut Job, given: &Given, meant: bool, key: &str) -> Result<(), String> {
    const WHY: &str = "there is no page cache: each request goes to the drive";
    job.without_effect.retain(|(_, why)| *why != WHY);
    if given.flag()? != meant {
        job.without_effect.push((format!("{key}={}", given.text), WHY));
    }
    Ok(())
}

/// Parses `ioengine`, with a note if the engine is for a different kind of storage.
pub(super) fn engine(job: &mut Job, given: &Given, engines: &[(&'static str, bool)]) -> Result<(), String> {
    const WHY: &str = "the simulated drive replaces the storage that this engine accesses";
    job.without_effect.retain(|(_, why)| *why != WHY);
    // As in fio, `external:PATH` or a path loads an engine; the common ones access NVMe drives and bdevs of SPDK.
    if given.text.starts_with("external:") || given.text.contains('/') || SPDK.contains(&given.text) {
        job.without_effect.push((format!("ioengine={}", given.text), WHY));
        job.synchronous = false;
        return Ok(());
    }
    if let Some((_, synchronous)) = OTHERS.iter().find(|(name, _)| *name == given.text) {
        job.without_effect.push((format!("ioengine={}", given.text), WHY));
        job.synchronous = *synchronous;
        return Ok(());
    }
    if NOT_BLOCKS.contains(&given.text) {
        return given.expected("an engine that reads and writes blocks, such as libaio");
    }
    job.synchronous = given.name(engines)?;
    Ok(())
}

/// Engines that access ranges of a store other than a local block device, and whether each is synchronous.
const OTHERS: [(&str, bool); 21] = [
    ("mmap", true),
    ("splice", true),
    ("null", false),
    ("cpp_null", false),
    ("rbd", false),
    ("rados", false),
    ("libiscsi", false),
    ("nbd", false),
    ("nfs", false),
    ("gfapi", true),
    ("gfapi_async", false),
    ("dfs", false),
    ("ime_psync", true),
    ("ime_psyncv", true),
    ("ime_aio", false),
    ("libhdfs", true),
    ("libpmem", true),
    ("pmemblk", true),
    ("dev-dax", true),
    ("libcufile", true),
    ("mtd", true),
];

/// Names of the engines that SPDK brings.
const SPDK: [&str; 3] = ["spdk", "spdk_bdev", "spdk_nvme"];

/// fio engines that do not read and write ranges.
const NOT_BLOCKS: [&str; 20] = [
    "cpuio",
    "exec",
    "net",
    "netsplice",
    "rdma",
    "http",
    "librpma_apm_client",
    "librpma_apm_server",
    "librpma_gpspm_client",
    "librpma_gpspm_server",
    "e4defrag",
    "falloc",
    "ftruncate",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "libzbc",
];

pub(super) fn ignored(_: &mut Job, _: &Given) -> Result<(), String> {
    Ok(())
}

pub(super) fn ignored_flag(_: &mut Job, given: &Given) -> Result<(), String> {
    given.flag().map(|_| ())
}
