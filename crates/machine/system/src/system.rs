//! A complete, validated description of a machine.

use sha2::{Digest, Sha256};

use crate::key::table::{TITLE, keys, row};
use crate::sections::device::{Device, Namespace};
use crate::sections::host::Host;
use crate::sections::link::Link;
use crate::sections::memory::{MainMemory, Memory};
use crate::setting::Setting;
use ftl::section::{Caches, Layer};
use host::cpu::CpuConfig;
use host::linux::LinuxConfig;
use keys::Key;
use keys::Value;
use nand::Flash;
use zones::section::Zones;

/// A complete, validated description of a machine, defaults included.
///
/// Two systems are equal if all their values are, whatever files the values come from.
#[derive(Clone, Debug)]
pub struct System {
    /// One-line description.
    pub title: String,
    /// `[host]`
    pub host: Host,
    /// `[link]`
    pub link: Link,
    /// `[device]`
    pub device: Device,
    /// `[flash]`
    pub flash: Flash,
    /// `[ftl]`
    pub ftl: Layer,
    /// `[device.read_cache]`, `[device.write_cache]`, and the use of host memory in `[device.hmb]`
    pub caches: Caches,
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
        self.device.namespace == Namespace::Zoned
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
        let inside = |key: &Key| tables.iter().any(|table| key.table().starts_with(table));
        let mut hash = Sha256::new();
        for setting in self.settings.iter().filter(|s| s.applies && !std::ptr::eq(s.key, &keys()[TITLE])) {
            // Keys added later do not change the hash while they are off.
            let absent = [
                ("memory.type", "none"),
                ("ftl.parity.stripe", "off"),
                ("ftl.placement.isolation", "off"),
                ("flash.failures.die", "none"),
                ("device.namespace", "conventional"),
                ("ftl.slc_cache.copies", "auto"),
                ("flash.concurrent_programs", "auto"),
            ];
            let is_absent = |(key, word)| setting.key.name == key && setting.value == Value::Word(word);
            // Neither does `ftl.gc.batch`, added later, at one page per batch.
            let no_batches = setting.key.name == "ftl.gc.batch" && setting.value == Value::Count(1);
            if inside(setting.key) && !absent.into_iter().any(is_absent) && !no_batches {
                hash.update(format!("{} = {}\n", setting.key.name, setting.value));
            }
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl PartialEq for System {
    fn eq(&self, other: &System) -> bool {
        self.settings.iter().zip(&other.settings).all(|(a, b)| a.value == b.value && a.applies == b.applies)
    }
}
