//! Saved states: the devices' systems and options, and the history, with a checksum.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sim::Time;
use storage::prepare::Preparation;
use system::System;

use super::Position;
use super::record::Record;
use super::replay::replay;
use crate::error::Error;
use crate::options::{DeviceOptions, Options};
use crate::simulation::Simulation;

/// First bytes of every file; the last digit is the version of the format.
const MAGIC: &[u8; 8] = b"nandsim3";
/// Bytes before the compressed content: magic and checksum.
const HEAD: usize = 8 + 32;
/// Maximum size of the content: the largest history, and 16 MiB for systems.
const CONTENT_MAX: u64 = Options::HISTORY_MAX + (16 << 20);
const LEVEL: i32 = 3;

impl Simulation {
    /// Writes the state to a file. It may be saved at any time, with requests outstanding and completions not yet
    /// returned.
    ///
    /// The file holds the history of submissions rather than the contents of every queue and table:
    /// [`restore`](Self::restore) repeats it.
    ///
    /// # Errors
    /// If the history exceeded [`Options::history`], or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Box<Error>> {
        let Some(records) = self.history.records() else {
            return Err(Error::NoHistory { limit: self.options.history }.into());
        };
        let header = self.header(self.history.position).to_string();
        let mut content = Vec::with_capacity(8 + header.len() + records.len() * Record::BYTES);
        content.extend((header.len() as u64).to_le_bytes());
        content.extend(header.as_bytes());
        records.iter().for_each(|record| record.write(&mut content));
        let wrong = |cause: std::io::Error| {
            Box::new(Error::File { path: path.display().to_string(), cause: cause.to_string() })
        };
        let packed = zstd::encode_all(&content[..], LEVEL).map_err(wrong)?;
        // A reader never sees half a file.
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let unfinished = PathBuf::from(name);
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&unfinished)?;
            file.write_all(MAGIC)?;
            file.write_all(&Sha256::digest(&packed))?;
            file.write_all(&packed)?;
            file.sync_all()?;
            fs::rename(&unfinished, path)
        };
        write().map_err(|cause| {
            drop(fs::remove_file(&unfinished));
            wrong(cause)
        })
    }

    fn header(&self, position: Position) -> Value {
        let devices: Vec<Value> = self
            .devices
            .iter()
            .map(|device| {
                let options = &device.options;
                json!({
                    "name": options.name,
                    "system": options.system.resolved_toml(),
                    "hash": options.system.content_hash(),
                    "prepare": options.preparation.to_string(),
                    "outstanding": options.outstanding,
                })
            })
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": self.options.seed,
            "history": self.options.history,
            "stops": position.stops,
            "returned": self.returned,
            "until_ps": position.until.map(Time::ps),
            "devices": devices,
        })
    }

    /// Reads a state that [`save`](Self::save) wrote and continues from it: all later calls have the results that they
    /// would have had there. `cache` is the folder for prepared drives. `watch` is called from time to time and returns
    /// whether to continue.
    ///
    /// The history is simulated again, which takes as long as the simulation itself took without the program outside.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged or was written by another version, or `watch` ends the call.
    pub fn restore(
        path: &Path,
        cache: Option<&Path>,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Simulation, Box<Error>> {
        let wrong = |cause: String| Box::new(Error::File { path: path.display().to_string(), cause });
        let content = read(path).map_err(wrong)?;
        let (header, history) = split(&content).ok_or_else(|| wrong("the header is damaged".to_owned()))?;
        let header: Value = serde_json::from_slice(header).map_err(|cause| wrong(cause.to_string()))?;
        if header["version"] != env!("CARGO_PKG_VERSION") {
            let found = &header["version"];
            return Err(wrong(format!("found version {found}, expected \"{}\"", env!("CARGO_PKG_VERSION"))));
        }
        let Header { devices, options, last, returned } = parse(&header, cache).map_err(wrong)?;
        let mut simulation = Simulation::new(devices, options)?;
        match replay(&mut simulation, history, (last, returned), watch) {
            Ok(true) => Ok(simulation),
            Ok(false) => Err(Error::Interrupted.into()),
            Err(cause) => Err(wrong(cause)),
        }
    }
}

/// Returns the content of a file, with its checksum verified.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let about = fs::metadata(path).map_err(|cause| cause.to_string())?;
    if !about.is_file() {
        return Err("expected a file".to_owned());
    }
    let mut file = fs::File::open(path).map_err(|cause| cause.to_string())?;
    let mut head = [0; HEAD];
    if file.read_exact(&mut head).is_err() || head[..8] != *MAGIC {
        return Err("found another kind of file, expected the saved state of a simulation".to_owned());
    }
    let mut packed = Vec::new();
    file.take(CONTENT_MAX).read_to_end(&mut packed).map_err(|cause| cause.to_string())?;
    if Sha256::digest(&packed)[..] != head[8..] {
        return Err("the file is damaged: its checksum does not match".to_owned());
    }
    let mut content = Vec::new();
    let unpacked =
        zstd::Decoder::new(&packed[..]).and_then(|unpacked| unpacked.take(CONTENT_MAX).read_to_end(&mut content));
    unpacked.map_err(|cause| cause.to_string())?;
    Ok(content)
}

/// Splits the content into header and history.
fn split(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = content.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.split_at_checked(length)
}

/// The content of a header.
struct Header {
    devices: Vec<DeviceOptions>,
    options: Options,
    last: Position,
    /// Number of completions returned at `last`.
    returned: usize,
}

/// Parses a header.
fn parse(header: &Value, cache: Option<&Path>) -> Result<Header, String> {
    let number = |key: &str| header[key].as_u64().ok_or_else(|| format!("{key}: found {}", header[key]));
    let mut devices = Vec::new();
    for device in header["devices"].as_array().ok_or("devices: found none")? {
        let text = |key: &str| device[key].as_str().ok_or_else(|| format!("{key}: found {}", device[key]));
        let name = text("name")?;
        let system = System::from_toml(name, text("system")?, &[]).map_err(|cause| cause.to_string())?;
        if system.content_hash() != text("hash")? {
            return Err(format!("{name}: the system differs from the saved one"));
        }
        let prepare = text("prepare")?;
        let preparation = Preparation::NAMES.iter().find(|(name, _)| *name == prepare);
        let outstanding = device["outstanding"].as_u64().and_then(|found| u32::try_from(found).ok());
        devices.push(DeviceOptions {
            preparation: preparation.ok_or_else(|| format!("prepare: found {prepare}"))?.1,
            cache: cache.map(Path::to_owned),
            outstanding: outstanding.ok_or_else(|| format!("outstanding: found {}", device["outstanding"]))?,
            ..DeviceOptions::new(name, system)
        });
    }
    let until = header["until_ps"].as_u64().map(Time::from_ps);
    let returned = usize::try_from(number("returned")?).map_err(|error| format!("returned: {error}"))?;
    let options = Options { seed: number("seed")?, history: number("history")? };
    Ok(Header { devices, options, last: Position { stops: number("stops")?, until }, returned })
}
