//! The switch of an NVMe drive's host memory buffer, and its way back.
//!
//! Linux 5.15 and later show it as `/sys/class/nvme/nvmeN/hmb` for drives that ask for host memory (Identify, HMPRE). What is
//! written there is sent to the drive (Set Features, Host Memory Buffer) before the write returns. How much memory the drive
//! gets is a parameter of the driver, read when it is loaded: that is explained, and never changed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::roots::{Roots, attribute, names};
use super::usage;
use crate::{HmbSwitch, TargetError};

/// The parameter of the driver that limits the memory of each drive.
const LIMIT: &str = "module/nvme/parameters/max_host_mem_size_mb";

/// The switch of one controller. Puts back what it found when it is dropped.
#[derive(Debug)]
pub struct Switch {
    /// The target's name, for messages.
    target: String,
    attribute: PathBuf,
    /// Whether the drive had host memory when it was found.
    found: bool,
    /// It may be otherwise than it was found.
    touched: bool,
}

impl Switch {
    /// The switch of a drive's controller. `None` if the drive asks for no host memory, the kernel is too old, or several
    /// controllers lead to it.
    ///
    /// # Errors
    /// If there is one that cannot be read, or not be written: it is left alone then.
    pub fn find(roots: &Roots, target: &str, disk: &Disk) -> Result<Option<Switch>, TargetError> {
        let Some(attribute) = place(roots, disk) else { return Ok(None) };
        let mut switch = Switch { target: target.to_owned(), attribute, found: false, touched: false };
        switch.found = switch.read()?;
        match usage::may_write(&switch.attribute) {
            Ok(()) => Ok(Some(switch)),
            Err(error) => Err(switch.error(format!("cannot be switched: {error}"))),
        }
    }

    /// Whether the drive had host memory when it was found.
    pub fn found(&self) -> bool {
        self.found
    }

    /// What a user types to have it as it was found, should this process be killed.
    pub fn way_back(&self) -> String {
        format!("echo {} > {}", u8::from(self.found), self.attribute.display())
    }

    /// Puts back what was found.
    ///
    /// # Errors
    /// If the drive or the driver refuses; the message says how it is set back by hand.
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
            Err(error) => Err(self.error(format!(
                "NOT AS IT WAS FOUND, and could not be set back ({error}): set it by hand with `{}`",
                self.way_back()
            ))),
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

    /// Writes, and looks whether it is so: the driver accepts a 1 also where it then finds no memory.
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
        // Before the write: if it fails, nobody knows how far it came.
        self.touched = true;
        self.set(on)
            .map_err(|cause| self.error(format!("cannot be switched {}: {cause}", if on { "on" } else { "off" })))
    }

    /// The driver tells nobody but its log.
    fn size_bytes(&mut self) -> Option<u64> {
        None
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            // The last that can be done for the user, who must know.
            eprintln!("error: {error}");
        }
    }
}

/// Where the switch of a drive is. A namespace's device is its controller, or, where paths are shared, a subsystem with
/// several.
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

/// Most memory that the driver gives a drive, in MiB; `None` without the driver.
pub fn limit_mib(roots: &Roots) -> Option<u64> {
    attribute(roots.sys.join(LIMIT))?.parse().ok()
}

/// How a user has the driver give another size, which nothing here does.
pub fn other_sizes(roots: &Roots) -> String {
    let now = limit_mib(roots).map_or_else(|| "its default".to_owned(), |mib| format!("{mib} MiB"));
    format!(
        "the driver gives a drive as much host memory as it asks for, up to {now}. Another limit is a parameter of the \
         driver, read when it is loaded: nvme.max_host_mem_size_mb=MIB on the kernel's command line and a reboot, or, where \
         no drive of this machine needs the driver meanwhile, modprobe -r nvme and modprobe nvme max_host_mem_size_mb=MIB. \
         Neither is ever done by this program."
    )
}
