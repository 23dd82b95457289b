//! The keys of a file with `kind = "kvcache"`.

use std::path::{Path, PathBuf};

use sim::Time;
use workload::Error;
use workload::program::keys::{KeyBasis, Keys, parse_tables};

use crate::gpu::{DATA_SHEETS, Gpu, Roofline};
use crate::load::{Lengths, Load, Source};
use crate::model::{Model, PUBLISHED};

/// Name of the kind.
pub const KIND: &str = "kvcache";

/// Order in which a tier evicts blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// Least recently used first.
    Lru,
    /// First in, first out: reuse does not prolong a block's life. On a drive, slots are overwritten in order.
    Fifo,
}

const EVICTIONS: [(&str, Eviction); 2] = [("lru", Eviction::Lru), ("fifo", Eviction::Fifo)];

/// Treatment of cached blocks below GPU memory that a request could reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// They are always fetched.
    Fetch,
    /// They are computed again; nothing is offloaded.
    Recompute,
    /// Blocks on drives are fetched if the estimated time is shorter than that of computing them.
    Cheaper,
}

const REUSES: [(&str, Reuse); 3] =
    [("fetch", Reuse::Fetch), ("recompute", Reuse::Recompute), ("cheaper", Reuse::Cheaper)];

/// Distribution of a block over several drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each block is spread over all drives, request by request.
    Stripe,
    /// Each block is on one drive; slots are dealt to the drives in turn.
    Block,
}

const PLACEMENTS: [(&str, Placement); 2] = [("stripe", Placement::Stripe), ("block", Placement::Block)];

/// Place from which weights that are not in GPU memory are read in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightSource {
    /// Host memory, over the host link.
    Host,
    /// The drives, then the host link.
    Drive,
}

const SOURCES: [(&str, WeightSource); 2] = [("host", WeightSource::Host), ("drive", WeightSource::Drive)];

/// The GPUs of the server.
#[derive(Clone, Copy, Debug)]
pub struct Gpus {
    /// Each GPU.
    pub gpu: Gpu,
    /// Their number.
    pub count: u64,
    /// Fraction of the peak arithmetic that steps reach.
    pub compute_share: f64,
    /// Fraction of the memory bandwidth that steps reach.
    pub bandwidth_share: f64,
    /// Bytes of the pool of KV blocks, over all GPUs.
    pub pool: u64,
}

impl Gpus {
    /// Returns the rates of all GPUs together.
    pub fn roofline(&self) -> Roofline {
        let count = self.count as f64;
        Roofline {
            flops: self.gpu.flops * count * self.compute_share,
            bandwidth: self.gpu.bandwidth * count * self.bandwidth_share,
        }
    }
}

/// The scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// Tokens per KV block.
    pub block: u64,
    /// Largest number of requests that run at once.
    pub batch: usize,
    /// Largest number of tokens that a step computes.
    pub step_tokens: u64,
}

/// The tiers below GPU memory.
#[derive(Clone, Copy, Debug)]
pub struct Tiers {
    /// Bytes of host memory for KV blocks.
    pub host: u64,
    /// Bytes per second of the link between host and GPUs, in each direction.
    pub link: u64,
    /// Eviction from GPU and host memory.
    pub eviction: Eviction,
    /// Use of cached blocks.
    pub reuse: Reuse,
}

/// The drives.
#[derive(Clone, Copy, Debug)]
pub struct DriveTier {
    /// Their number; 0 for a server without a flash tier.
    pub count: usize,
    /// Fraction of each drive's capacity that holds KV blocks.
    pub used: f64,
    /// Eviction from the drives.
    pub eviction: Eviction,
    /// Placement of blocks.
    pub placement: Placement,
    /// Largest request in bytes.
    pub request: u64,
    /// Largest numbers of reads and of writes outstanding at a drive.
    pub depth: usize,
    /// Bytes of host memory for blocks on their way to the drives; blocks evicted while it is full are dropped.
    pub staging: u64,
    /// One in this many channels of each drive, and the same part of each block, is simulated.
    pub sample: u64,
}

/// Weights that are read again in each step.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Fraction of the weights that is streamed.
    pub streamed: f64,
    /// Source of the streamed fraction.
    pub source: WeightSource,
}

/// A file with `kind = "kvcache"`.
#[derive(Clone, Debug)]
pub struct Config {
    /// The model.
    pub model: Model,
    /// The GPUs.
    pub gpus: Gpus,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Host memory and link.
    pub tiers: Tiers,
    /// The drives.
    pub drive: DriveTier,
    /// Streamed weights.
    pub weights: Weights,
    /// The load.
    pub load: Load,
    /// Keys and values as written in the file.
    pub options: Vec<(String, String)>,
    /// Bases of values: those that the file states, and those of a named model and GPU.
    pub basis: Vec<(String, String, String)>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Names the file, the line, the key and the expected value.
    pub fn open(path: &Path) -> Result<Config, Error> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io { file: file.clone(), source })?;
        Config::parse(&file, &text)
    }

    /// Like [`Config::open`], from a string. `file` is used in messages, and paths are relative to its folder.
    ///
    /// # Errors
    /// See [`Config::open`].
    pub fn parse(file: &str, text: &str) -> Result<Config, Error> {
        let mut keys = parse_tables(file, text)?;
        keys.choice("kind", &[KIND], None)?;
        let mut basis: Vec<_> = keys.basis().iter().map(stated).collect();
        let model = model(&mut keys, &mut basis)?;
        let weights = Weights {
            streamed: keys.part("weights.streamed", Some(0.0))?,
            source: word(&mut keys, "weights.source", &SOURCES, WeightSource::Drive)?,
        };
        let scheduler = Scheduler {
            block: keys.count("scheduler.block", (1, 4096), Some(16))?,
            batch: keys.count("scheduler.batch", (1, 65_536), Some(256))? as usize,
            step_tokens: keys.count("scheduler.step_tokens", (1, 1 << 20), Some(8192))?,
        };
        let gpus = gpus(&mut keys, &model, &weights, &mut basis)?;
        let tiers = Tiers {
            host: keys.size("tiers.host", 0, Some(0))?,
            link: keys.bandwidth("tiers.link", Some(64_000_000_000))?,
            eviction: word(&mut keys, "tiers.eviction", &EVICTIONS, Eviction::Lru)?,
            reuse: word(&mut keys, "tiers.reuse", &REUSES, Reuse::Fetch)?,
        };
        let drive = drive(&mut keys)?;
        if weights.streamed > 0.0 && weights.source == WeightSource::Drive && drive.count == 0 {
            return Err(keys.error("weights.source", "found \"drive\", expected \"host\" where drive.count is 0"));
        }
        let load = load(&mut keys, Path::new(file).parent().unwrap_or(Path::new("")))?;
        let config = Config { model, gpus, scheduler, tiers, drive, weights, load, options: keys.options(), basis };
        keys.finish()?;
        if config.gpu_blocks() == 0 {
            let block = sim::units::show_size(config.block_bytes());
            let found = sim::units::show_size(config.gpus.pool);
            return Err(keys.error("gpu.pool", &format!("found {found}, expected at least one KV block of {block}")));
        }
        Ok(config)
    }

    /// Returns the bytes of a KV block in memory.
    pub fn block_bytes(&self) -> u64 {
        self.scheduler.block * self.model.kv_bytes_per_token()
    }

    /// Returns the blocks of the GPU pool.
    pub fn gpu_blocks(&self) -> u64 {
        self.gpus.pool / self.block_bytes()
    }

    /// Returns the bytes of weights read from outside GPU memory in each step.
    pub fn streamed_bytes(&self) -> u64 {
        (self.weights.streamed * self.model.weight_bytes() as f64) as u64
    }
}

fn stated(basis: &KeyBasis) -> (String, String, String) {
    (basis.key.clone(), basis.kind.clone(), basis.text.clone())
}

fn word<T: Copy + PartialEq>(
    keys: &mut Keys,
    name: &'static str,
    words: &[(&'static str, T)],
    or: T,
) -> Result<T, Error> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let default = words.iter().position(|(_, value)| *value == or);
    keys.choice(name, &names, default).map(|at| words[at].1)
}

fn model(keys: &mut Keys, basis: &mut Vec<(String, String, String)>) -> Result<Model, Error> {
    let published = match keys.has("model.name") {
        true => Some(&PUBLISHED[keys.choice("model.name", &PUBLISHED.each_ref().map(|each| each.name), None)?]),
        false => None,
    };
    if let Some(published) = published {
        basis.push(("model.name".to_owned(), "given".to_owned(), published.source.to_owned()));
    }
    let of = |field: fn(&Model) -> u64| published.map(|each| field(&each.model));
    Ok(Model {
        parameters: keys.count("model.parameters", (1, 1 << 50), of(|m| m.parameters))?,
        layers: keys.count("model.layers", (1, 4096), of(|m| m.layers))?,
        heads: keys.count("model.heads", (1, 4096), of(|m| m.heads))?,
        kv_heads: keys.count("model.kv_heads", (1, 4096), of(|m| m.kv_heads))?,
        head_dim: keys.count("model.head_dim", (1, 65_536), of(|m| m.head_dim))?,
        weight_bits: keys.count("model.weight_bits", (1, 64), of(|m| m.weight_bits).or(Some(16)))?,
        kv_bits: 8 * keys.count("model.kv_bytes", (1, 8), of(|m| m.kv_bits / 8).or(Some(2)))?,
    })
}

fn gpus(
    keys: &mut Keys,
    model: &Model,
    weights: &Weights,
    basis: &mut Vec<(String, String, String)>,
) -> Result<Gpus, Error> {
    let named = match keys.has("gpu.name") {
        true => Some(&DATA_SHEETS[keys.choice("gpu.name", &DATA_SHEETS.each_ref().map(|each| each.name), None)?]),
        false => None,
    };
    if let Some(named) = named {
        basis.push(("gpu.name".to_owned(), "given".to_owned(), named.source.to_owned()));
    }
    let of = named.map(|each| each.gpu);
    let power = keys.quantity("gpu.power", "a power such as \"700W\"", of.map(|gpu| gpu.power_uw), power)?;
    let gpu = Gpu {
        flops: keys.quantity("gpu.flops", "a rate such as \"989TFLOP/s\"", of.map(|gpu| gpu.flops), flops)?,
        bandwidth: keys.bandwidth("gpu.bandwidth", of.map(|gpu| gpu.bandwidth as u64))? as f64,
        memory: keys.size("gpu.memory", 1, of.map(|gpu| gpu.memory))?,
        power_uw: power,
        idle_uw: keys.quantity("gpu.idle_power", "a power such as \"70W\"", Some(power / 10), self::power)?,
    };
    let count = keys.count("gpu.count", (1, 4096), Some(1))?;
    let resident = ((1.0 - weights.streamed) * model.weight_bytes() as f64) as u64;
    let usable = (keys.part("gpu.memory_share", Some(0.9))? * (gpu.memory * count) as f64) as u64;
    let compute_share = keys.number("gpu.compute_share", (0.001, 1.0), Some(1.0))?;
    let bandwidth_share = keys.number("gpu.bandwidth_share", (0.001, 1.0), Some(1.0))?;
    let pool = match keys.has("gpu.pool") {
        true => keys.size("gpu.pool", 1, None)?,
        false => {
            keys.size("gpu.pool", 1, Some(0))?;
            usable.checked_sub(resident).filter(|pool| *pool > 0).ok_or_else(|| {
                let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
                let found = format!("found {} of usable memory (gpu.memory, gpu.memory_share)", gb(usable));
                keys.error("gpu.count", &format!("{found}, expected more than the {} of weights", gb(resident)))
            })?
        }
    };
    Ok(Gpus { gpu, count, compute_share, bandwidth_share, pool })
}

fn power(text: &str) -> Result<Option<u64>, String> {
    sim::units::power(text).map(Some).map_err(|error| error.to_string())
}

fn flops(text: &str) -> Result<Option<f64>, String> {
    let units = [("GFLOP/s", 1e9), ("TFLOP/s", 1e12), ("PFLOP/s", 1e15)];
    let found = units.iter().find_map(|(unit, scale)| Some((text.trim().strip_suffix(unit)?, scale)));
    Ok(found.and_then(|(number, scale)| Some(number.trim().parse::<f64>().ok()? * scale)).filter(|rate| *rate > 0.0))
}

fn drive(keys: &mut Keys) -> Result<DriveTier, Error> {
    let request = keys.size("drive.request", 4096, Some(512 << 10))?;
    if !request.is_multiple_of(4096) || request > 64 << 20 {
        return Err(keys.error("drive.request", "expected a multiple of 4KiB, at most 64MiB"));
    }
    Ok(DriveTier {
        count: keys.count("drive.count", (0, 64), Some(1))? as usize,
        used: keys.number("drive.used", (0.0001, 1.0), Some(0.9))?,
        eviction: word(keys, "drive.eviction", &EVICTIONS, Eviction::Lru)?,
        placement: word(keys, "drive.placement", &PLACEMENTS, Placement::Stripe)?,
        request,
        depth: keys.count("drive.depth", (1, 65_536), Some(64))? as usize,
        staging: keys.size("drive.staging", 0, Some(4 << 30))?,
        sample: keys.count("drive.sample", (1, 64), Some(1))?,
    })
}

fn rate(text: &str) -> Result<Option<f64>, String> {
    let units = [("/s", 1.0), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3600.0)];
    let found = units.iter().find_map(|(unit, scale)| Some((text.trim().strip_suffix(unit)?, scale)));
    let rate = found.and_then(|(number, scale)| Some(number.trim().parse::<f64>().ok()? * scale));
    Ok(rate.filter(|rate| *rate > 0.0 && *rate <= 1e6))
}

fn load(keys: &mut Keys, folder: &Path) -> Result<Load, Error> {
    let trace: Option<PathBuf> = match keys.has("load.trace") {
        true => Some(folder.join(keys.text("load.trace", "the path of a CSV file")?)),
        false => None,
    };
    let prefix_tokens = keys.count("load.prefix.tokens", (0, 1 << 24), Some(0))?;
    let context_max = keys.count("load.context_max", (1, 1 << 24), Some(8192))?;
    let duration = keys.time("load.duration", trace.as_ref().map(|_| Time::MAX))?;
    let warm_up = keys.time("load.warm_up", Some(Time::ZERO))?;
    if warm_up >= duration || duration == Time::ZERO {
        return Err(keys.error("load.warm_up", &format!("expected less than load.duration ({duration})")));
    }
    let source = match trace {
        Some(path) => Source::Trace(path),
        None => Source::Sessions {
            rate: keys.quantity("load.rate", "sessions per time, such as \"2/s\"", None, rate)?,
            turns: keys.number("load.turns", (1.0, 10_000.0), Some(1.0))?,
            think: keys.time("load.think", Some(Time::from_s(30)))?,
            prefixes: keys.count("load.prefix.count", (1, 1 << 32), Some(1))?,
            prompt: lengths(keys, ["load.prompt.tokens", "load.prompt.distribution", "load.prompt.deviation"])?,
            output: lengths(keys, ["load.output.tokens", "load.output.distribution", "load.output.deviation"])?,
        },
    };
    Ok(Load { source, prefix_tokens, context_max, duration, warm_up })
}

fn lengths(keys: &mut Keys, [tokens, distribution, deviation]: [&'static str; 3]) -> Result<Lengths, Error> {
    let mean = keys.number(tokens, (1.0, 1e7), None)?;
    let kind = keys.choice(distribution, &["fixed", "exponential", "lognormal"], Some(0))?;
    Ok(match kind {
        0 => Lengths::Fixed(mean.round() as u64),
        1 => Lengths::Exponential(mean),
        _ => Lengths::LogNormal { mean, sigma: keys.number(deviation, (0.0, 4.0), Some(1.0))? },
    })
}
