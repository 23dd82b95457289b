//! What sysfs says of a block device.

use std::fs;
use std::path::{Path, PathBuf};

use super::roots::{Roots, attribute, names};
use crate::wire::Wire;

/// A device number: major and minor.
pub type Number = (u32, u32);

/// What tells a medium from another that comes by the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Medium {
    sequence: Option<String>,
    bytes: Option<u64>,
    serial: Option<String>,
}

/// A block device, as `/sys/dev/block/MAJOR:MINOR` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its own folder.
    own: PathBuf,
    /// The folder of the whole drive: its own, or that of the drive of which it is a partition.
    whole: PathBuf,
}

impl Disk {
    /// The device of a number. `None` if sysfs does not know it.
    pub fn of(roots: &Roots, (major, minor): Number) -> Option<Disk> {
        let own = fs::canonicalize(roots.sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
        let whole = if own.join("partition").exists() { own.parent()?.to_owned() } else { own.clone() };
        Some(Disk { own, whole })
    }

    /// Its name: `nvme0n1`, `sda2`.
    pub fn name(&self) -> String {
        last(&self.own)
    }

    /// The whole drive's name.
    pub fn drive(&self) -> String {
        last(&self.whole)
    }

    /// The whole drive's folder.
    pub fn folder(&self) -> &Path {
        &self.whole
    }

    /// Whether it is a part of a drive.
    pub fn is_partition(&self) -> bool {
        self.own != self.whole
    }

    /// Bytes. The kernel counts them in 512-byte sectors, whatever the logical block is.
    pub fn bytes(&self) -> Option<u64> {
        attribute(self.own.join("size"))?.parse::<u64>().ok()?.checked_mul(512)
    }

    /// Whether the kernel refuses to write to it.
    pub fn is_read_only(&self) -> bool {
        [&self.own, &self.whole].iter().any(|folder| attribute(folder.join("ro")).is_some_and(|text| text != "0"))
    }

    /// An attribute of the whole drive's request queue.
    pub fn queue(&self, name: &str) -> Option<String> {
        attribute(self.whole.join("queue").join(name))
    }

    /// The same as a number.
    pub fn queue_number(&self, name: &str) -> Option<u64> {
        self.queue(name)?.parse().ok()
    }

    /// The names of the drive's partitions.
    pub fn partitions(&self) -> Vec<String> {
        let there = names(&self.whole);
        there.into_iter().filter(|name| self.whole.join(name).join("partition").exists()).collect()
    }

    /// The drive and its partitions: name and number of each.
    pub fn family(&self) -> Vec<(String, Number)> {
        let folders = self.partitions().into_iter().map(|name| self.whole.join(name));
        let all = std::iter::once(self.whole.clone()).chain(folders);
        all.filter_map(|folder| Some((last(&folder), number(&attribute(folder.join("dev"))?)?))).collect()
    }

    /// The devices that stand on `name`, one of its family: device-mapper, md.
    pub fn holders(&self, name: &str) -> Vec<String> {
        let folder = if name == self.drive() { self.whole.clone() } else { self.whole.join(name) };
        names(folder.join("holders"))
    }

    /// What the maker calls it.
    pub fn model(&self) -> Option<String> {
        attribute(self.whole.join("device/model"))
    }

    /// The version of its firmware.
    pub fn firmware(&self) -> Option<String> {
        ["device/firmware_rev", "device/rev"].iter().find_map(|name| attribute(self.whole.join(name)))
    }

    /// The link it is on: of NVMe what its PCIe device says, of SATA the speed of the port in its path.
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

    /// Its serial number: of NVMe and MMC an attribute of the device, of SCSI and SATA page 80h of the vital product data
    /// (SPC-4, section 7.8.15: four bytes before it), of virtio one of the drive itself.
    pub fn serial(&self) -> Option<String> {
        let plain = ["device/serial", "serial"].iter().find_map(|name| attribute(self.whole.join(name)));
        plain.or_else(|| {
            let page = fs::read(self.whole.join("device/vpd_pg80")).ok()?;
            let text = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
            (!text.is_empty()).then_some(text)
        })
    }

    /// What another medium under the same name would not share: how many media the kernel had seen before (since Linux
    /// 5.15), its bytes, its serial number.
    pub(crate) fn medium(&self) -> Medium {
        Medium { sequence: attribute(self.whole.join("diskseq")), bytes: self.bytes(), serial: self.serial() }
    }

    /// The file or device below a loop device.
    pub fn backing(&self) -> Option<String> {
        attribute(self.whole.join("loop/backing_file"))
    }
}

fn last(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads `MAJOR:MINOR`.
pub fn number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
