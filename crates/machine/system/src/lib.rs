//! System files: the parts of a machine and their parameters.
//!
//! A system is a TOML file. It may extend a preset or another file, and `--set key=value` overrides both. Each key is
//! one row of a table (the `section!`s of [`host`], [`link`], [`device`], [`flash`], [`ftl`]): name, kind of value,
//! default with its basis, help, and the field it is read into. The loader, range checks, resolved files, JSON Schema
//! and suggestions for misspelled names all use that table.

mod check;
mod error;
mod file;
mod key;
pub mod parts;
mod schema;
mod sections;

use sha2::{Digest, Sha256};

pub use error::{Place, SystemError};
pub use file::presets::{preset, presets};
pub use key::table::keys;
pub use key::value::Value;
pub use key::{Basis, Choice, Fallback, Key, Kind, Shape};
pub use sections::device::Device;
pub use sections::flash::Flash;
pub use sections::ftl::Ftl;
pub use sections::host::Host;
pub use sections::link::{Link, LinkType};
pub use sections::{device, flash, ftl, host, hybrid, kernel, link, memory, onenand};

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
    pub ftl: Ftl,
    /// `[cpu]`
    pub cpu: memory::Cpu,
    /// `[memory]`
    pub memory: memory::Memory,
    /// `[nvmm]`
    pub nvmm: hybrid::Nvmm,
    /// `[kernel]`
    pub kernel: kernel::Kernel,
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
    settings: Vec<Setting>,
}

/// The value of a key, the position that sets it, and its basis.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its value.
    pub value: Value,
    /// Position of the assignment; `None` for a default.
    pub place: Option<Place>,
    /// Basis of the value; `None` if the file that sets it does not state one.
    pub basis: Option<Basis>,
    /// Whether the key applies. If another key makes it meaningless (lanes of a SATA link), it has its default.
    pub applies: bool,
    /// Whether an extended file set it, so that its basis may refer to another product.
    pub inherited: bool,
    /// Number of the file in the chain that set it, from 1; 0 if none did.
    layer: usize,
    /// Whether a file states the basis.
    stated: bool,
}

impl System {
    /// Loads a preset or a file with everything that it extends, and applies `sets` (dotted key, TOML value or plain
    /// word).
    ///
    /// A name that ends in `.toml` or contains a `/` is a file. Any other name is a preset, or a file if no such preset
    /// exists.
    ///
    /// # Errors
    /// Returns the first error found, in one line with its position.
    pub fn load(name_or_path: &str, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        System::new(file::chain::open(name_or_path)?, sets)
    }

    /// Like [`System::load`], from a file's text. `name` is used in messages, and extended files are relative to its
    /// folder.
    ///
    /// # Errors
    /// Returns the first error found, in one line with its position.
    pub fn from_toml(name: &str, text: &str, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        System::new(file::chain::parse(name, text)?, sets)
    }

    /// Splits a `--set` option into key and value.
    ///
    /// # Errors
    /// If there is no `=`.
    pub fn split_set(text: &str) -> Result<(&str, &str), SystemError> {
        let (key, value) = text.split_once('=').ok_or_else(|| SystemError::NotSet { text: text.to_owned() })?;
        Ok((key.trim(), value.trim()))
    }

    fn new(chain: file::chain::Chain, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        match sets.iter().any(|(key, _)| *key == file::scale::KEY) {
            true => file::scale::scaled(&chain, sets),
            false => System::plain(chain, sets),
        }
    }

    fn plain(chain: file::chain::Chain, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        let settings = file::resolve::resolve(chain, file::layer::Layer::from_sets(sets)?)?;
        let mut values = key::Values(settings.iter());
        let mut system = System {
            title: values.next("title"),
            host: Host::read(&mut values),
            link: Link::read(&mut values),
            device: Device::read(&mut values),
            flash: Flash::read(&mut values),
            ftl: Ftl::read(&mut values),
            cpu: memory::Cpu::read(&mut values),
            memory: memory::Memory::read(&mut values),
            nvmm: hybrid::Nvmm::read(&mut values),
            kernel: kernel::Kernel::read(&mut values),
            raw_bytes: 0,
            user_bytes: 0,
            slc_blocks: 0,
            dynamic_blocks: 0,
            copy_blocks: 0,
            settings: Vec::new(),
        };
        assert!(values.0.next().is_none(), "every row of the table is read into a field");
        system.settings = settings;
        check::check(&mut system)?;
        Ok(system)
    }

    /// Returns all settings in the table's order.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the setting of a key.
    ///
    /// # Panics
    /// If the key does not exist.
    pub fn setting(&self, key: &str) -> &Setting {
        &self.settings[key::table::row(key)]
    }

    /// Returns the whole system as one file: every value with its unit, and a comment about its origin.
    pub fn resolved_toml(&self) -> String {
        file::print::print(self)
    }

    /// Returns a file with the values that the file itself or a `--set` sets, without defaults and extended files.
    pub fn changed_toml(&self) -> String {
        file::print::print_changed(self)
    }

    /// Returns a JSON Schema (draft 2020-12) of system files, for completion and validation in editors.
    pub fn schema() -> serde_json::Value {
        schema::schema()
    }

    /// Returns the SHA-256 (hexadecimal) of all values that influence results, which excludes title and bases.
    pub fn content_hash(&self) -> String {
        self.hash_of(&[""])
    }

    /// Like [`System::content_hash`], restricted to `tables`: a prepared drive is the same whatever link it is behind.
    pub fn hash_of(&self, tables: &[&str]) -> String {
        let inside = |key: &Key| tables.iter().any(|table| key.table().starts_with(table));
        let mut hash = Sha256::new();
        for setting in self.settings.iter().filter(|s| s.applies && !std::ptr::eq(s.key, &keys()[key::table::TITLE])) {
            // Keys added later do not change the hash while they are off.
            let absent = [("memory.type", "none"), ("ftl.parity.stripe", "off"), ("flash.failures.die", "none")];
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
