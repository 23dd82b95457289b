//! A plug-in of nbdkit: the drive of a system file as a network block device.
//!
//! `nbdkit libnbd_plugin.so system=FILE.toml [set=KEY=VALUE] [store=FILE] [seed=N]`. One drive for all connections, created before nbdkit
//! serves the first. Requests are performed one after another, each as fast as the simulation runs.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guest::{BlockError, Blocks, Drive, Options};
use guest_store::{Kept, Mode};
use nbdkit::{Error, ExtentHandle, ExtentType, Flags, Result, Server, ThreadModel};
use system::System;

/// The parameters of the command line.
struct Parameters {
    system: Option<String>,
    changes: Vec<(String, String)>,
    store: Option<PathBuf>,
    seed: u64,
}

/// A served drive, and the file that holds its flash.
struct Served {
    blocks: Blocks,
    kept: Option<Kept>,
}

static PARAMETERS: Mutex<Parameters> =
    Mutex::new(Parameters { system: None, changes: Vec::new(), store: None, seed: 1 });
static SERVED: Mutex<Option<Served>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn invalid(message: String) -> Error {
    Error::new(libc::EINVAL, message)
}

/// Lets `act` use the drive.
fn with<R>(act: impl FnOnce(&mut Blocks) -> std::result::Result<R, BlockError>) -> Result<R> {
    let mut served = lock(&SERVED);
    let Served { blocks, kept } = served.as_mut().expect("nbdkit called get_ready");
    let found = act(blocks);
    if let Some(notice) = kept.as_ref().and_then(Kept::take_notice) {
        eprintln!("nandram: {notice}");
    }
    found.map_err(|error| {
        let errno = match error {
            BlockError::Range { .. } => libc::EINVAL,
            BlockError::Status(BlockError::NO_SPACE) => libc::ENOSPC,
            BlockError::Status(_) => libc::EIO,
        };
        Error::new(errno, error.to_string())
    })
}

/// Creates the drive.
fn create() -> std::result::Result<Served, String> {
    let parameters = lock(&PARAMETERS);
    let path = parameters.system.as_deref().ok_or("system: found none, expected a system file or a preset")?;
    let changes: Vec<(&str, &str)> = parameters.changes.iter().map(|(key, value)| (&**key, &**value)).collect();
    let system = System::load(path, &changes).map_err(|error| error.to_string())?;
    let options = Options { seed: parameters.seed, ..Options::default() };
    let mut kept = None;
    let blocks = match &parameters.store {
        None => Blocks::new(|memory| Drive::new(&system, &options, memory)).map_err(|error| format!("{path}: {error}")),
        Some(store) => Blocks::new(|memory| {
            let (drive, file) = guest_store::open(&system, &options, memory, Path::new(store), Mode::OpenOrCreate)?;
            kept = Some(file);
            Ok::<_, guest_store::StoreError>(drive)
        })
        .map_err(|error| error.to_string()),
    }?;
    Ok(Served { blocks, kept })
}

/// A connection.
struct Connection;

impl Server for Connection {
    fn name() -> &'static str {
        "nandram"
    }

    fn longname() -> Option<&'static str> {
        Some("simulated drives of nandram")
    }

    fn config_help() -> Option<&'static str> {
        Some(
            "system=FILE|PRESET  The drive's system (required).\n\
             set=KEY=VALUE       A change of the system; repeatable.\n\
             store=FILE          File of the drive's flash, created if it does not exist.\n\
             seed=N              Seed of all random draws.",
        )
    }

    fn config(key: &str, value: &str) -> Result<()> {
        let mut parameters = lock(&PARAMETERS);
        // nbdkit changes its folder before it creates the drive.
        let absolute = |path: &str| std::path::absolute(path).map_err(Error::from);
        match key {
            "system" if Path::new(value).exists() => {
                let path = absolute(value)?.into_os_string().into_string();
                parameters.system = Some(path.map_err(|path| invalid(format!("system: {path:?} is not UTF-8")))?);
            }
            "system" => parameters.system = Some(value.to_owned()),
            "set" => {
                let (key, value) = System::split_set(value).map_err(|error| invalid(error.to_string()))?;
                parameters.changes.push((key.to_owned(), value.to_owned()));
            }
            "store" => parameters.store = Some(absolute(value)?),
            "seed" => {
                let seed = value.parse();
                parameters.seed =
                    seed.map_err(|_| invalid(format!("seed: found `{value}`, expected a whole number")))?;
            }
            _ => return Err(invalid(format!("found `{key}`, expected system, set, store or seed"))),
        }
        Ok(())
    }

    fn get_ready() -> Result<()> {
        // A write beyond a limit of the store's length fails instead.
        // SAFETY: No handler is installed, and nbdkit uses the signal for nothing else.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        *lock(&SERVED) = Some(create().map_err(invalid)?);
        Ok(())
    }

    fn thread_model() -> Result<ThreadModel> {
        // The mutex of the drive serializes the requests. nbdkit's own lock for all would be taken by a client that does
        // not finish its handshake.
        Ok(ThreadModel::SerializeRequests)
    }

    fn open(_readonly: bool) -> Result<Box<dyn Server>> {
        Ok(Box::new(Connection))
    }

    fn get_size(&self) -> Result<i64> {
        with(|blocks| Ok(blocks.bytes() as i64))
    }

    fn can_multi_conn(&self) -> Result<bool> {
        // All connections share the drive, so a flush on one covers the writes of all.
        Ok(true)
    }

    fn read_at(&self, to: &mut [u8], offset: u64) -> Result<()> {
        with(|blocks| blocks.read(offset, to))
    }

    fn write_at(&self, from: &[u8], offset: u64, _flags: Flags) -> Result<()> {
        with(|blocks| blocks.write(offset, from))
    }

    fn flush(&self) -> Result<()> {
        with(Blocks::flush)
    }

    fn trim(&self, count: u32, offset: u64, _flags: Flags) -> Result<()> {
        with(|blocks| blocks.trim(offset, count.into()))
    }

    fn zero(&self, count: u32, offset: u64, _flags: Flags) -> Result<()> {
        with(|blocks| blocks.zero(offset, count.into()))
    }

    fn can_extents(&self) -> Result<bool> {
        Ok(true)
    }

    fn extents(&self, count: u32, offset: u64, _flags: Flags, to: &mut ExtentHandle) -> Result<()> {
        let mut at = offset;
        for (bytes, is_hole) in with(|blocks| blocks.extents(offset, count.into()))? {
            to.add(at, bytes, if is_hole { ExtentType::HoleZero } else { ExtentType::Allocated })?;
            at += bytes;
        }
        Ok(())
    }

    fn unload() {
        let Some(Served { mut blocks, kept }) = lock(&SERVED).take() else { return };
        // Unflushed data may stay in the drive's buffer, as at a power cut.
        if let Some(Err(error)) = kept.map(|kept| kept.close(blocks.drive().0)) {
            eprintln!("nandram: error: {error}");
        }
    }
}

#[allow(missing_docs, reason = "the macro's function is nbdkit's, and documented there")]
mod exported {
    nbdkit::plugin!(super::Connection {
        config,
        get_ready,
        thread_model,
        can_multi_conn,
        write_at,
        flush,
        trim,
        zero,
        can_extents,
        extents,
        unload
    });
}
