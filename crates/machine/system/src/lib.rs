//! System files: the parts of a machine and their parameters.
//!
//! A system is a TOML file. It may extend a preset or another file, and `--set key=value` overrides both. Each key is
//! one row of a [`keys::section!`]: name, kind of value, default with its basis, help, and the field it is read into. The
//! parts declare their sections, and [`memory`] the keys that choose a machine. The loader, range checks, resolved files,
//! JSON Schema and suggestions for misspelled names all use the table of these rows.

mod check;
mod error;
mod file;
mod key;
pub mod memory;
pub mod parts;
mod schema;
mod setting;
mod system;

pub use ::link::LinkType;
pub use error::{Place, SystemError};
pub use file::presets::{preset, presets};
pub use key::table::keys;
pub use keys::{Basis, Choice, Fallback, Key, Kind, Shape, Value};
pub use setting::Setting;
pub use system::System;

use keys::{Section, Values};

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
        let value = |key: &str| &settings[key::table::row(key)].value;
        let values = Values(&value);
        let mut system = System {
            title: values.get("title"),
            host: Section::read(&values),
            paging: Section::read(&values),
            sram: Section::read(&values),
            link: Section::read(&values),
            device: Section::read(&values),
            onenand: Section::read(&values),
            flash: Section::read(&values),
            ftl: Section::read(&values),
            caches: Section::read(&values),
            read_ahead: Section::read(&values),
            zones: Section::read(&values),
            cpu: Section::read(&values),
            memory: Section::read(&values),
            nvmm: Section::read(&values),
            kernel: Section::read(&values),
            raw_bytes: 0,
            user_bytes: 0,
            slc_blocks: 0,
            dynamic_blocks: 0,
            copy_blocks: 0,
            settings: Vec::new(),
        };
        system.settings = settings;
        check::check(&mut system)?;
        Ok(system)
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
}
