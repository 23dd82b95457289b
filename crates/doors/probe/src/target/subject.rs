//! Resolves the name of a probe subject: a simulated drive, a file, or a drive.

use system::System;
use system::SystemError;

use crate::options::Options;
use crate::plan::{Host, Plan};

#[cfg(target_os = "linux")]
use crate::block::{Disk, Found, Refusal, Roots, Switch, other_sizes};

/// Minimum capacity for every test: each works in regions that were not touched before.
pub const BYTES_MIN: u64 = 64 << 20;

/// The subject of a probe, not yet opened.
#[derive(Debug)]
pub enum Subject {
    /// A simulated system in virtual time.
    Simulated(Box<System>),
    /// A file or a drive.
    #[cfg(target_os = "linux")]
    Real(Box<Found>),
}

/// Reason why a name does not resolve to a subject.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// An invalid system.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A system without a drive behind a driver and a controller.
    #[error("{name}: found a system without a drive that a host can address, expected a drive")]
    NoDrive {
        /// The name as given by the user.
        name: String,
    },
    /// A file or drive that must not be probed.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Other systems have no dependable way to bypass the page cache.
    #[cfg(not(target_os = "linux"))]
    #[error("{path}: found a file or a device, expected a simulated drive: real ones are probed on Linux only")]
    NotLinux {
        /// The path as given by the user.
        path: String,
    },
    /// Changes to the parameters of a real drive, which are fixed.
    #[error("--set: found `{set}` for {path}, expected a simulated drive: a real drive cannot be changed")]
    Set {
        /// The requested change.
        set: String,
        /// The path as given by the user.
        path: String,
    },
    /// Neither a preset nor a path.
    #[error("{name}: found no such preset, file or block device, expected one; the nearest preset is \"{nearest}\"")]
    Unknown {
        /// The name as given by the user.
        name: String,
        /// The preset with the most similar name.
        nearest: String,
    },
}

impl Subject {
    /// Resolves a name: a preset or a system file (`.toml`), changed by `sets`, or else a path.
    ///
    /// # Errors
    /// An invalid system, or any reason that forbids probing the file or drive.
    pub fn find(
        name: &str,
        sets: &[(&str, &str)],
        #[cfg(target_os = "linux")] roots: &Roots,
    ) -> Result<Subject, SubjectError> {
        // Preset names contain no dot.
        let is_path = name.contains(['/', '.']) || std::fs::symlink_metadata(name).is_ok();
        let is_system = name.ends_with(".toml") || system::preset(name).is_some();
        if is_system || !is_path {
            let loaded = System::load(name, sets).map_err(|error| match error {
                SystemError::Unknown { name, nearest } => SubjectError::Unknown { name, nearest },
                other => other.into(),
            })?;
            if loaded.link.config().is_none() {
                return Err(SubjectError::NoDrive { name: name.to_owned() });
            }
            return Ok(Subject::Simulated(Box::new(loaded)));
        }
        if let Some((key, value)) = sets.first() {
            return Err(SubjectError::Set { set: format!("{key}={value}"), path: name.to_owned() });
        }
        #[cfg(not(target_os = "linux"))]
        return Err(SubjectError::NotLinux { path: name.to_owned() });
        #[cfg(target_os = "linux")]
        {
            let found = Found::inspect(name, roots)?;
            found.check_size("a probe", BYTES_MIN)?;
            Ok(Subject::Real(Box::new(found)))
        }
    }

    /// Checks that `typed` is the key of the subject.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_key(&self, typed: &str) -> Result<(), SubjectError> {
        match self {
            Subject::Simulated(_) => Ok(()),
            #[cfg(target_os = "linux")]
            Subject::Real(found) => Ok(found.confirm(typed).map(drop)?),
        }
    }

    /// Returns the plan of a probe; `writes` is whether it may write to a real target. Opens nothing for writing and
    /// switches nothing.
    ///
    /// # Errors
    /// If `writes` is set and the target must not be written.
    pub fn plan(&self, options: &Options, writes: bool) -> Result<Plan, SubjectError> {
        let host = match self {
            Subject::Simulated(system) => Host {
                kind: "simulated",
                name: system.title.clone(),
                key_description: None,
                hmb: lends(system).then(|| (true, String::new(), String::new())),
                writable: true,
                capacity_bytes: system.user_bytes,
                block_bytes: media::SECTOR,
            },
            #[cfg(target_os = "linux")]
            Subject::Real(found) => real(found, options, writes)?,
        };
        Ok(Plan::new(&host, options))
    }
}

/// Returns whether the host lends memory to the drive of `system`.
fn lends(system: &System) -> bool {
    let wanted = &system.device.hmb;
    wanted.size > 0 && system.host.hmb.limit.min(wanted.size) >= wanted.minimum.max(1)
}

#[cfg(target_os = "linux")]
fn real(found: &Found, options: &Options, writes: bool) -> Result<Host, Refusal> {
    let writing: Vec<&str> = options.tests.iter().filter(|test| test.writes()).map(|test| test.name()).collect();
    let writable = writes && !writing.is_empty();
    if writable {
        found.check_writes(&writing.join(", "))?;
    }
    let kind = match found.disk() {
        None => "file",
        Some(disk) if disk.is_partition() => "partition",
        Some(_) => "drive",
    };
    // A switch that cannot be used is left alone; the results record the reason.
    let switch = found.disk().and_then(|disk| Switch::find(found.roots(), found.path(), disk).ok()).flatten();
    Ok(Host {
        kind,
        name: found.disk().and_then(Disk::model).unwrap_or_default(),
        key_description: Some(found.key_description()),
        hmb: switch.map(|switch| (switch.found(), switch.restore_command(), other_sizes(found.roots()))),
        writable,
        capacity_bytes: found.capacity_bytes(),
        block_bytes: found.block_bytes(),
    })
}
