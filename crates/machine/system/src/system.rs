//! A complete, validated description of a machine.

use sha2::{Digest, Sha256};

use crate::key::table::{TITLE, keys, row};
use crate::memory::{MainMemory, Memory};
use crate::setting::Setting;
use device::OneNandConfig;
use ftl::section::{Caches, Layer};
use host::SramConfig;
use host::cpu::CpuConfig;
use host::linux::LinuxConfig;
use nand::Flash;
use pager::policy::PagingConfig;
use read_ahead::section::ReadAhead;
use zones::section::{Namespace, Zones};

/// A complete, validated description of a machine, defaults included.
///
/// Two systems are equal if all their values are, whatever files the values come from.
#[derive(Clone, Debug)]
pub struct System {
    /// One-line description.
    pub title: String,
    /// `[host]`
    pub host: host::Config,
    /// `[host.paging]`
    pub paging: PagingConfig,
    /// `[host.sram]`
    pub sram: SramConfig,
    /// `[link]`
    pub link: link::Keys,
    /// `[device]`: the controller's front end
    pub device: device::Config,
    /// `[device.onenand]`
    pub onenand: OneNandConfig,
    /// `[flash]`
    pub flash: Flash,
    /// `[ftl]`
    pub ftl: Layer,
    /// `[device.read_cache]`, `[device.write_cache]`, and the use of host memory in `[device.hmb]`
    pub caches: Caches,
    /// `[device.read_ahead]`
    pub read_ahead: ReadAhead,
    /// `[device.zones]`
    pub zones: Zones,
    /// `[cpu]`
    pub cpu: CpuConfig,
    /// `[memory]`
    pub memory: Memory,
    /// `[nvmm]`
    pub nvmm: nvmm::Keys,
    /// `[kernel]`
    pub kernel: LinuxConfig,
    /// Raw capacity of the flash in bytes.
    pub raw_bytes: u64,
    /// Capacity visible to the host in bytes: `ftl.capacity`, or the result of `ftl.over_provisioning` in whole mapping
    /// units.
    pub user_bytes: u64,
    /// Blocks per plane that the SLC cache occupies.
    pub slc_blocks: u32,
    /// Further blocks per plane that the SLC cache may use while the drive is not full.
    pub dynamic_blocks: u32,
    /// Blocks per plane for the read cache in flash.
    pub copy_blocks: u32,
    pub(crate) settings: Vec<Setting>,
}

impl System {
    /// Returns all settings in the table's order.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the setting of a key.
    ///
    /// # Panics
    /// If the key does not exist.
    pub fn setting(&self, key: &str) -> &Setting {
        &self.settings[row(key)]
    }

    /// Returns true if the drive has zones.
    pub fn has_zones(&self) -> bool {
        self.zones.namespace == Namespace::Zoned
    }

    /// Returns the bytes of main memory available to programs and files.
    pub fn usable_memory(&self) -> u64 {
        self.memory.size.unwrap_or_else(|| match self.memory.kind {
            MainMemory::Hybrid => self.nvmm.capacity,
            MainMemory::Dram | MainMemory::None => self.memory.dram.bytes(),
        })
    }

    /// Returns the SHA-256 (hexadecimal) of all values that influence results, which excludes title and bases.
    pub fn content_hash(&self) -> String {
        self.hash_of(&[""])
    }

    /// Like [`System::content_hash`], restricted to `tables`: a prepared drive is the same whatever link it is behind.
    pub fn hash_of(&self, tables: &[&str]) -> String {
        let inside = |setting: &&Setting| tables.iter().any(|table| setting.key.table().starts_with(table));
        let apply = self.settings.iter().filter(|s| s.applies && !std::ptr::eq(s.key, &keys()[TITLE]));
        let mut lines: Vec<String> =
            apply.filter(inside).map(|setting| format!("{} = {}\n", setting.key.name, setting.value)).collect();
        // By name, so that the order of declarations does not matter.
        lines.sort_unstable();
        Sha256::digest(lines.concat()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl PartialEq for System {
    fn eq(&self, other: &System) -> bool {
        self.settings.iter().zip(&other.settings).all(|(a, b)| a.value == b.value && a.applies == b.applies)
    }
}
