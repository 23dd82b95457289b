//! The host memory buffer switch of an NVMe drive.
//!
//! Linux 5.15 and later expose the switch as `/sys/class/nvme/nvmeN/hmb` for drives that request host memory (Identify,
//! HMPRE). A write to this attribute is sent to the drive (Set Features, Host Memory Buffer) before it returns. The
//! amount of memory is limited by a parameter of the driver that is read when the driver is loaded; the probe explains
//! this parameter but never changes it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::roots::{Roots, attribute, names};
use super::usage;
use crate::{HmbSwitch, TargetError};

/// The driver parameter that limits the host memory of each drive.
const LIMIT: &str = "module/nvme/parameters/max_host_mem_size_mb";

/// The switch of one controller. Restores the original state when dropped.
#[derive(Debug)]
pub struct Switch {
    /// The target's name, for messages.
    target: String,
    attribute: PathBuf,
    /// Whether host memory was enabled originally.
    found: bool,
    /// Whether the state may differ from the original.
    touched: bool,
}

impl Switch {
    /// Finds the switch of a drive's controller. Returns `None` if the drive requests no host memory, the kernel is
    /// too old, or several controllers lead to the drive.
    ///
    /// # Errors
    /// If the switch exists but cannot be read or written; it is left alone then.
    pub fn find(roots: &Roots, target: &str, disk: &Disk) -> Result<Option<Switch>, TargetError> {
        let Some(attribute) = place(roots, disk) else { return Ok(None) };
        let mut switch = Switch { target: target.to_owned(), attribute, found: false, touched: false };
        switch.found = switch.read()?;
        match usage::may_write(&switch.attribute) {
            Ok(()) => Ok(Some(switch)),
            Err(error) => Err(switch.error(format!("cannot be switched: {error}"))),
        }
    }

    /// Returns whether host memory was enabled originally.
    pub fn found(&self) -> bool {
        self.found
    }

    /// Returns the command with which a user restores the original state if this process is killed.
    pub fn restore_command(&self) -> String {
        format!("echo {} > {}", u8::from(self.found), self.attribute.display())
    }

    /// Restores the original state.
    ///
    /// # Errors
    /// If the drive or the driver refuses; the message contains the command to restore the state by hand.
    pub fn restore(&mut self) -> Result<(), TargetError> {
        if !self.touched {
            return Ok(());
        }
        let restored = self.set(self.found);
        match restored {
            Ok(()) => {
                self.touched = false;
                Ok(())
            }
            Err(error) => {
                Err(self.error(format!("NOT RESTORED ({error}): restore it by hand with `{}`", self.restore_command())))
            }
        }
    }

    fn read(&self) -> Result<bool, TargetError> {
        let text = fs::read_to_string(&self.attribute).map_err(|error| self.error(error.to_string()))?;
        match text.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(self.error(format!("found `{other}`, expected 0 or 1"))),
        }
    }

    /// Writes the attribute and reads it back: the driver accepts a 1 even if it then finds no memory.
    fn set(&self, on: bool) -> Result<(), String> {
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).open(&self.attribute)?;
            file.write_all(if on { b"1\n" } else { b"0\n" })
        };
        write().map_err(|error| error.to_string())?;
        match self.read() {
            Ok(now) if now == on => Ok(()),
            Ok(now) => Err(format!("found {} after {} was written", u8::from(now), u8::from(on))),
            Err(error) => Err(error.to_string()),
        }
    }

    fn error(&self, cause: String) -> TargetError {
        TargetError::Hmb { name: self.target.clone(), cause: format!("{}: {cause}", self.attribute.display()) }
    }
}

impl HmbSwitch for Switch {
    fn enabled(&mut self) -> Result<bool, TargetError> {
        self.read()
    }

    fn enable(&mut self, on: bool) -> Result<(), TargetError> {
        if self.read()? == on {
            return Ok(());
        }
        // Set before the write: after a failure the state is unknown.
        self.touched = true;
        self.set(on)
            .map_err(|cause| self.error(format!("cannot be switched {}: {cause}", if on { "on" } else { "off" })))
    }

    /// The driver reports the size only in its log.
    fn size_bytes(&mut self) -> Option<u64> {
        None
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            // The user must know, and a destructor has no other way to report it.
            eprintln!("error: {error}");
        }
    }
}

/// Returns the path of a drive's switch. The device of a namespace is its controller or, with multipath, a subsystem
/// with several controllers.
fn place(roots: &Roots, disk: &Disk) -> Option<PathBuf> {
    let device = fs::canonicalize(disk.folder().join("device")).ok()?;
    let controller = |folder: &Path| {
        let name = folder.file_name()?.to_str()?.to_owned();
        let number = name.strip_prefix("nvme")?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
    };
    let below = names(&device).into_iter().map(|name| device.join(name)).filter(|path| controller(path).is_some());
    let all = std::iter::once(device.clone()).chain(below);
    let mut found = all.filter(|folder| controller(folder).is_some() && folder.join("hmb").exists());
    let only = found.next().filter(|_| found.next().is_none())?;
    let known = roots.sys.join("class/nvme").join(controller(&only)?).join("hmb");
    Some(if known.exists() { known } else { only.join("hmb") })
}

/// Returns the driver's limit of host memory per drive in MiB; `None` without the driver.
pub fn limit_mib(roots: &Roots) -> Option<u64> {
    attribute(roots.sys.join(LIMIT))?.parse().ok()
}

/// Explains how a user changes the driver's limit; this program never does.
pub fn other_sizes(roots: &Roots) -> String {
    let now = limit_mib(roots).map_or_else(|| "its default".to_owned(), |mib| format!("{mib} MiB"));
    format!(
        "the driver gives a drive as much host memory as it requests, up to {now}. This limit is a parameter that the driver \
         reads when it is loaded. To change it, boot with nvme.max_host_mem_size_mb=MIB on the kernel command line or, if \
         no drive in use needs the driver, run modprobe -r nvme and modprobe nvme max_host_mem_size_mb=MIB. This program \
         never does either."
    )
}
