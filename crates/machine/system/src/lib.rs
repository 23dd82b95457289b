//! System files: which parts a machine is made of, and with which numbers.
//!
//! A system is a TOML file that may extend another one or a preset, with `--set key=value` on top. Every key is one
//! row of a table (the `section!`s of [`host`], [`link`], [`device`], [`flash`], [`ftl`]): its name, what it takes, its
//! default and on what that rests, its help and the field it is read into. The loader, the checks of single values,
//! the resolved file, the JSON Schema and the nearest name of a typo all read that table.

mod age;
mod chain;
mod check;
pub mod device;
mod error;
pub mod flash;
pub mod ftl;
mod hmb;
pub mod host;
pub mod hybrid;
pub mod kernel;
mod key;
mod layer;
pub mod link;
pub mod memory;
mod nearest;
pub mod onenand;
mod parity;
pub mod parts;
mod presets;
mod print;
mod resolve;
mod scale;
mod schema;
mod show;
mod table;
mod value;

use sha2::{Digest, Sha256};

pub use device::Device;
pub use error::{Place, SystemError};
pub use flash::Flash;
pub use ftl::Ftl;
pub use host::Host;
pub use key::{Basis, Choice, Fallback, Key, Kind, Shape};
pub use link::{Link, LinkType};
pub use presets::{preset, presets};
pub use table::keys;
pub use value::Value;

/// A machine as a file describes it, with every default, checked.
///
/// Two systems are equal if all their values are, wherever these come from.
#[derive(Clone, Debug)]
pub struct System {
    /// What it is, in a line.
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
    /// What the host sees, in bytes: `ftl.capacity`, or as `ftl.over_provisioning` leaves it, in whole mapping units.
    pub user_bytes: u64,
    /// Blocks of each plane that the SLC cache takes.
    pub slc_blocks: u32,
    /// Other blocks of each plane that it may use while the drive is not full.
    pub dynamic_blocks: u32,
    /// Blocks of each plane for copies of what was read.
    pub copy_blocks: u32,
    settings: Vec<Setting>,
}

/// The value of one key, where it was set and on what it rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its value.
    pub value: Value,
    /// Where it was set; `None` if it is the default.
    pub place: Option<Place>,
    /// On what it rests; `None` if the file that sets it does not say.
    pub basis: Option<Basis>,
    /// False if another key makes it meaningless (lanes of a SATA link); it then is the default.
    pub applies: bool,
    /// A file that this one extends set it: its basis may speak of another product.
    pub inherited: bool,
    /// The file of the chain that set it, from 1; 0 if none did.
    layer: usize,
    /// A file states the basis.
    stated: bool,
}

impl System {
    /// Loads a preset or a file and what it extends, with `sets` (dotted key, TOML value or plain word) on top.
    ///
    /// A name that ends in `.toml` or has a `/` is a file; any other is a preset, or a file if there is no such preset.
    ///
    /// # Errors
    /// The first mistake found, in one line with its place.
    pub fn load(name_or_path: &str, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        System::new(chain::open(name_or_path)?, sets)
    }

    /// The same from a file's text; `name` stands for the file in messages, and what it extends is sought beside it.
    ///
    /// # Errors
    /// The first mistake found, in one line with its place.
    pub fn from_toml(name: &str, text: &str, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        System::new(chain::parse(name, text)?, sets)
    }

    /// Splits the `key=value` of a `--set`.
    ///
    /// # Errors
    /// If there is no `=`.
    pub fn split_set(text: &str) -> Result<(&str, &str), SystemError> {
        let (key, value) = text.split_once('=').ok_or_else(|| SystemError::NotSet { text: text.to_owned() })?;
        Ok((key.trim(), value.trim()))
    }

    fn new(chain: chain::Chain, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        match sets.iter().any(|(key, _)| *key == scale::KEY) {
            true => scale::scaled(&chain, sets),
            false => System::plain(chain, sets),
        }
    }

    fn plain(chain: chain::Chain, sets: &[(&str, &str)]) -> Result<System, SystemError> {
        let settings = resolve::resolve(chain, layer::Layer::from_sets(sets)?)?;
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
        assert!(values.0.next().is_none(), "every row of the table has a field");
        system.settings = settings;
        check::check(&mut system)?;
        Ok(system)
    }

    /// All keys in the table's order, with where their values come from.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The setting of a key.
    ///
    /// # Panics
    /// If there is no such key.
    pub fn setting(&self, key: &str) -> &Setting {
        &self.settings[table::row(key)]
    }

    /// The whole system as one file: every value with its unit, and in a comment where it comes from.
    pub fn resolved_toml(&self) -> String {
        print::print(self)
    }

    /// The values that the file itself or a `--set` gives, as a file: without defaults and what it extends.
    pub fn changed_toml(&self) -> String {
        print::print_changed(self)
    }

    /// A JSON Schema (draft 2020-12) of system files, so that editors complete and check them.
    pub fn schema() -> serde_json::Value {
        schema::schema()
    }

    /// SHA-256 (hexadecimal) of all values that influence results: the title and the bases do not.
    pub fn content_hash(&self) -> String {
        self.hash_of(&[""])
    }

    /// The same of the tables `tables` alone: a prepared drive is the same drive behind another link.
    pub fn hash_of(&self, tables: &[&str]) -> String {
        let inside = |key: &Key| tables.iter().any(|table| key.table().starts_with(table));
        let mut hash = Sha256::new();
        for setting in self.settings.iter().filter(|s| s.applies && !std::ptr::eq(s.key, &keys()[table::TITLE])) {
            // A system without what could not be simulated before is the system that it was then.
            let absent = [("memory.type", "none"), ("ftl.parity.stripe", "off"), ("flash.failures.die", "none")];
            let is_absent = |(key, word)| setting.key.name == key && setting.value == Value::Word(word);
            // Nor is one that reads page by page another than before batches could be set.
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
