//! One job of a job file, and what its keys may not say together.

use std::path::Path;
use std::path::PathBuf;

use media::Op;
use sim::Time;

use super::JobFileError;
use super::pattern::{Kind, ReadWrite, Sizes};
use super::value::{Amount, KbBase};
use crate::dist::Distribution;

/// A job as the file has it: nothing is known of the drive yet.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The section's name, or what `name` says.
    pub name: String,
    /// Where the section starts.
    pub line: u32,
    /// The keys that were given, inherited ones included, each once, in the order of their last mention.
    pub settings: Vec<Setting>,
    pub folder: PathBuf,
    pub kb: KbBase,
    pub rw: ReadWrite,
    pub block: [Option<u64>; 3],
    pub range: [Option<(u64, u64)>; 3],
    pub split: [Option<Vec<(u64, u64)>>; 3],
    pub depth: Option<u32>,
    pub synchronous: bool,
    pub clones: u32,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub offset: Amount,
    pub offset_increment: Amount,
    pub number_ios: Option<u64>,
    /// Of 100 requests of a mix.
    pub reads: u64,
    pub distribution: [Distribution; 3],
    pub random_map: bool,
    pub seed: Option<u64>,
    /// Bytes a second.
    pub rate: [Option<u64>; 3],
    pub rate_iops: [Option<u64>; 3],
    pub thinktime: Time,
    pub thinktime_blocks: u64,
    pub runtime: Option<Time>,
    pub time_based: bool,
    pub ramp_time: Time,
    /// A flush after so many writes; 0 for none.
    pub fsync: u64,
    pub fdatasync: u64,
    pub stonewall: bool,
    pub verify: bool,
    pub iolog: Option<PathBuf>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub key: &'static str,
    pub value: String,
    pub line: u32,
    /// In the job's own section, not inherited.
    pub own: bool,
}

/// What a replay obeys; any other key shapes a generated pattern.
const REPLAY_KEYS: [&str; 17] = [
    "read_iolog",
    "iodepth",
    "runtime",
    "ramp_time",
    "stonewall",
    "name",
    "description",
    "filename",
    "ioengine",
    "direct",
    "buffered",
    "thread",
    "group_reporting",
    "gtod_reduce",
    "kb_base",
    "randrepeat",
    "invalidate",
];

impl Job {
    /// A job of defaults.
    pub fn new(name: &str, line: u32, folder: &Path) -> Job {
        Job {
            name: name.to_owned(),
            line,
            settings: Vec::new(),
            folder: folder.to_owned(),
            kb: KbBase::Compatible,
            rw: ReadWrite { random: false, kind: Kind::Only(Op::Read) },
            block: [None; 3],
            range: [None; 3],
            split: [const { None }; 3],
            depth: None,
            synchronous: false,
            clones: 1,
            size: None,
            io_size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            number_ios: None,
            reads: 50,
            distribution: [const { Distribution::Random }; 3],
            random_map: true,
            seed: None,
            rate: [None; 3],
            rate_iops: [None; 3],
            thinktime: Time::ZERO,
            thinktime_blocks: 1,
            runtime: None,
            time_based: false,
            ramp_time: Time::ZERO,
            fsync: 0,
            fdatasync: 0,
            stonewall: false,
            verify: false,
            iolog: None,
        }
    }

    /// The setting of `key`, by the key's first name.
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// Requests the job keeps outstanding.
    pub fn outstanding(&self) -> u32 {
        if self.synchronous { 1 } else { self.depth.unwrap_or(1) }
    }

    /// Sizes of the requests of a direction: `bssplit` before `bsrange` before `bs`.
    pub fn sizes(&self, direction: usize) -> Sizes {
        if let Some(split) = &self.split[direction] {
            return match split.as_slice() {
                [(bytes, _)] => Sizes::Fixed(*bytes),
                _ => Sizes::Split(split.clone()),
            };
        }
        match (self.range[direction], self.block[direction]) {
            (Some((smallest, largest)), _) if smallest < largest => Sizes::Range(smallest, largest),
            (Some((bytes, _)), _) | (None, Some(bytes)) => Sizes::Fixed(bytes),
            (None, None) => Sizes::Fixed(4096),
        }
    }

    /// An error about `key`, at its line if it was given.
    pub fn error(&self, file: &str, key: &str, message: &str) -> JobFileError {
        let line = self.setting(key).map_or(self.line, |setting| setting.line);
        JobFileError { file: file.to_owned(), line, message: format!("{key}: {message}") }
    }

    /// What no single key can be blamed for.
    pub fn check(&self, file: &str) -> Result<(), JobFileError> {
        let fail = |key: &str, message: &str| Err(self.error(file, key, message));
        if self.iolog.is_some() {
            if let Some(setting) = self.settings.iter().find(|s| s.own && !REPLAY_KEYS.contains(&s.key)) {
                return fail(
                    setting.key,
                    "found it beside read_iolog, expected a job that replays or one that generates",
                );
            }
            return Ok(());
        }
        if self.time_based && self.runtime.is_none() {
            return fail("time_based", "found it without runtime, expected runtime=TIME too");
        }
        if self.setting("thinktime_blocks").is_some() && self.thinktime == Time::ZERO {
            return fail("thinktime_blocks", "found it without thinktime, expected thinktime=TIME too");
        }
        for direction in 0..3 {
            if self.rate[direction].is_some() && self.rate_iops[direction].is_some() {
                return fail("rate_iops", "found it beside rate, expected one of the two for a direction");
            }
        }
        if self.verify && self.rw.kind == Kind::Only(Op::Trim) {
            return fail("verify", "found it on a job that only trims, expected one that reads or writes");
        }
        Ok(())
    }
}
