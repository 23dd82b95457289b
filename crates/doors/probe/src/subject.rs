//! What a user wants probed, by its name: a simulated drive, a file, a drive.

use system::System;
use system::SystemError;

use crate::options::Options;
use crate::plan::{Host, Plan};

#[cfg(target_os = "linux")]
use crate::block::{Disk, Found, Refusal, Roots, Switch, other_sizes};

/// Bytes that every test needs: it works in places that it has not touched before.
pub const BYTES_MIN: u64 = 64 << 20;

/// What is to be probed. Nothing is open.
#[derive(Debug)]
pub enum Subject {
    /// A system, simulated: in virtual time.
    Simulated(Box<System>),
    /// A file or a drive.
    #[cfg(target_os = "linux")]
    Real(Box<Found>),
}

/// Why there is nothing to probe.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// A mistake in a system.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A file or drive that is not probed.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Elsewhere there is no way past the page cache that is known to be one.
    #[cfg(not(target_os = "linux"))]
    #[error("{path}: found a file or a device, expected a simulated drive: real ones are probed on Linux only")]
    NotLinux {
        /// What was asked for.
        path: String,
    },
    /// A real drive is as it is.
    #[error("--set: found `{set}` for {path}, expected a simulated drive: a real one is as it is")]
    Set {
        /// The change.
        set: String,
        /// What was asked for.
        path: String,
    },
    /// Neither a name nor a path.
    #[error("{name}: found no such preset, file or block device, expected one; the nearest preset is \"{nearest}\"")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The preset whose name is most like it.
        nearest: String,
    },
}

impl Subject {
    /// The subject of a name: a preset or a system file (`.toml`), changed by `sets`, else a path.
    ///
    /// # Errors
    /// A mistake in a system; each reason not to probe a file or drive.
    pub fn find(
        name: &str,
        sets: &[(&str, &str)],
        #[cfg(target_os = "linux")] roots: &Roots,
    ) -> Result<Subject, SubjectError> {
        // No preset has a dot in its name.
        let is_path = name.contains(['/', '.']) || std::fs::symlink_metadata(name).is_ok();
        let is_system = name.ends_with(".toml") || system::preset(name).is_some();
        if is_system || !is_path {
            let loaded = System::load(name, sets).map_err(|error| match error {
                SystemError::Unknown { name, nearest } => SubjectError::Unknown { name, nearest },
                other => other.into(),
            })?;
            return Ok(Subject::Simulated(Box::new(loaded)));
        }
        if let Some((key, value)) = sets.first() {
            return Err(SubjectError::Set { set: format!("{key}={value}"), path: name.to_owned() });
        }
        #[cfg(not(target_os = "linux"))]
        return Err(SubjectError::NotLinux { path: name.to_owned() });
        #[cfg(target_os = "linux")]
        {
            let found = Found::look(name, roots)?;
            found.check_size("a probe", BYTES_MIN)?;
            Ok(Subject::Real(Box::new(found)))
        }
    }

    /// Whether what the user typed names it.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_key(&self, typed: &str) -> Result<(), SubjectError> {
        match self {
            Subject::Simulated(_) => Ok(()),
            #[cfg(target_os = "linux")]
            Subject::Real(found) => Ok(found.confirm(typed).map(drop)?),
        }
    }

    /// What a probe of it would do; `writes`: whether it may write to a real target. Nothing is opened for writing, and
    /// nothing is switched.
    ///
    /// # Errors
    /// If it may write by the user's word, and must not.
    pub fn plan(&self, options: &Options, writes: bool) -> Result<Plan, SubjectError> {
        let host = match self {
            Subject::Simulated(system) => Host {
                kind: "simulated",
                name: system.title.clone(),
                key_is: None,
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

/// Whether the host lends the drive of `system` memory.
fn lends(system: &System) -> bool {
    system.device.hmb.size > 0 && system.host.hmb.limit.min(system.device.hmb.size) >= system.device.hmb.minimum.max(1)
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
    // What cannot be switched is left alone; the results say why.
    let switch = found.disk().and_then(|disk| Switch::find(found.roots(), found.path(), disk).ok()).flatten();
    Ok(Host {
        kind,
        name: found.disk().and_then(Disk::model).unwrap_or_default(),
        key_is: Some(found.key_is()),
        hmb: switch.map(|switch| (switch.found(), switch.way_back(), other_sizes(found.roots()))),
        writable,
        capacity_bytes: found.capacity_bytes(),
        block_bytes: found.block_bytes(),
    })
}
