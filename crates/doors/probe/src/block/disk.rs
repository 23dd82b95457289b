//! A block device as described by sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use super::roots::{Roots, attribute, names};
use crate::target::wire::Wire;

/// A device number: major and minor.
pub type Number = (u32, u32);

/// Distinguishes a medium from another that appears under the same device name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Medium {
    sequence: Option<String>,
    bytes: Option<u64>,
    serial: Option<String>,
}

/// A block device described by `/sys/dev/block/MAJOR:MINOR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The sysfs folder of the device itself.
    own: PathBuf,
    /// The sysfs folder of the whole drive: the same folder, or that of the parent drive for a partition.
    whole: PathBuf,
}

impl Disk {
    /// Looks up a device by number. Returns `None` if sysfs does not know it.
    pub fn of(roots: &Roots, (major, minor): Number) -> Option<Disk> {
        let own = fs::canonicalize(roots.sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
        let whole = if own.join("partition").exists() { own.parent()?.to_owned() } else { own.clone() };
        Some(Disk { own, whole })
    }

    /// Returns the kernel name of the device: `nvme0n1`, `sda2`.
    pub fn name(&self) -> String {
        last(&self.own)
    }

    /// Returns the name of the whole drive.
    pub fn drive(&self) -> String {
        last(&self.whole)
    }

    /// Returns the sysfs folder of the whole drive.
    pub fn folder(&self) -> &Path {
        &self.whole
    }

    /// Returns whether the device is a partition.
    pub fn is_partition(&self) -> bool {
        self.own != self.whole
    }

    /// Returns the size in bytes. The kernel counts 512-byte sectors regardless of the logical block size.
    pub fn bytes(&self) -> Option<u64> {
        attribute(self.own.join("size"))?.parse::<u64>().ok()?.checked_mul(512)
    }

    /// Returns whether the kernel refuses writes to the device.
    pub fn is_read_only(&self) -> bool {
        [&self.own, &self.whole].iter().any(|folder| attribute(folder.join("ro")).is_some_and(|text| text != "0"))
    }

    /// Returns an attribute of the drive's request queue.
    pub fn queue(&self, name: &str) -> Option<String> {
        attribute(self.whole.join("queue").join(name))
    }

    /// Returns a numeric attribute of the drive's request queue.
    pub fn queue_number(&self, name: &str) -> Option<u64> {
        self.queue(name)?.parse().ok()
    }

    /// Returns the names of the drive's partitions.
    pub fn partitions(&self) -> Vec<String> {
        let there = names(&self.whole);
        there.into_iter().filter(|name| self.whole.join(name).join("partition").exists()).collect()
    }

    /// Returns the name and number of the drive and of each of its partitions.
    pub fn family(&self) -> Vec<(String, Number)> {
        let folders = self.partitions().into_iter().map(|name| self.whole.join(name));
        let all = std::iter::once(self.whole.clone()).chain(folders);
        all.filter_map(|folder| Some((last(&folder), number(&attribute(folder.join("dev"))?)?))).collect()
    }

    /// Returns the devices stacked on `name` (device-mapper, md), where `name` is the drive or one of its partitions.
    pub fn holders(&self, name: &str) -> Vec<String> {
        let folder = if name == self.drive() { self.whole.clone() } else { self.whole.join(name) };
        names(folder.join("holders"))
    }

    /// Returns the model name.
    pub fn model(&self) -> Option<String> {
        attribute(self.whole.join("device/model"))
    }

    /// Returns the firmware version.
    pub fn firmware(&self) -> Option<String> {
        ["device/firmware_rev", "device/rev"].iter().find_map(|name| attribute(self.whole.join(name)))
    }

    /// Returns the host link: for NVMe from the attributes of the PCIe device, for SATA from the speed of the port in
    /// the device path.
    pub(crate) fn link(&self) -> Option<Wire> {
        let device = ["device/device", "device"].iter().map(|name| self.whole.join(name));
        let pcie = device.into_iter().find_map(|folder| {
            Wire::pcie(&attribute(folder.join("current_link_speed"))?, &attribute(folder.join("current_link_width"))?)
        });
        pcie.or_else(|| {
            let is_port = |folder: &&Path| {
                let name = last(folder);
                name.strip_prefix("ata").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            };
            let port = self.whole.ancestors().find(is_port)?;
            let links = names(port).into_iter().filter(|name| name.starts_with("link"));
            let speed = |name: String| attribute(port.join(&name).join("ata_link").join(&name).join("sata_spd"));
            let gigabits = links.into_iter().find_map(speed)?;
            let revision = ["1.5 Gbps", "3.0 Gbps", "6.0 Gbps"].iter().position(|each| *each == gigabits)? + 1;
            Some(Wire::Sata { revision: revision as u32 })
        })
    }

    /// Returns the serial number: for NVMe and MMC an attribute of the device, for SCSI and SATA page 80h of the vital
    /// product data (SPC-4, section 7.8.15; the text starts at byte 4), for virtio an attribute of the drive itself.
    pub fn serial(&self) -> Option<String> {
        let plain = ["device/serial", "serial"].iter().find_map(|name| attribute(self.whole.join(name)));
        plain.or_else(|| {
            let page = fs::read(self.whole.join("device/vpd_pg80")).ok()?;
            let text = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
            (!text.is_empty()).then_some(text)
        })
    }

    /// Returns the identity of the medium: the kernel's disk sequence number (since Linux 5.15), the size and the
    /// serial number. A replacement under the same name differs in at least one of them.
    pub(crate) fn medium(&self) -> Medium {
        Medium { sequence: attribute(self.whole.join("diskseq")), bytes: self.bytes(), serial: self.serial() }
    }

    /// Returns whether the drive is a loop device whose requests go through the page cache.
    pub fn is_buffered_loop(&self) -> bool {
        self.backing().is_some() && attribute(self.whole.join("loop/dio")).as_deref() != Some("1")
    }

    /// Returns the file or device behind a loop device.
    pub fn backing(&self) -> Option<String> {
        attribute(self.whole.join("loop/backing_file"))
    }
}

fn last(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Parses `MAJOR:MINOR`.
pub fn number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
