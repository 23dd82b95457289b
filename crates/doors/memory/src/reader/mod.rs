//! A concurrent reader: the memory in the state of a sync, while another process, or another part of this one, writes.
//!
//! The reader registers, which makes the writer keep data blocks that become free from then on ([`nvmm::Nvmm::watch`]),
//! and opens the file like a writer, over a device that keeps writes in DRAM ([`Overlay`]). The writer does not keep
//! blocks of the page table, so the reader loads the whole table at once. The result is valid if its root is still the
//! newest afterwards, since nothing that a root refers to is overwritten before the next root is durable. A writer that
//! runs out of space starts another generation of readers before it reuses blocks that it kept. Readers check the mark
//! of the generation after each other read, so data of a later state is never mistaken for theirs.

pub(crate) mod copy;

use std::path::Path;

use nvmm::{Nvmm, OpenError, Token};

use crate::device::Device;
use crate::device::overlay::Overlay;
use crate::engine::Engine;
use crate::open::{self, Opening, io_error};
use crate::storage::Storage;
use crate::storage::layout::Shape;
use crate::{Disk, Error, Memory, Stats};

/// Maximum number of attempts to open, each of which fails if the writer commits a new root meanwhile.
const TRIES: u32 = 100;

/// A memory opened for reading in the state of a sync. Later writes become visible only through
/// [`refresh`](Self::refresh).
pub struct Reader<D: Device = Disk> {
    pub(crate) memory: Memory<Overlay<D>>,
    dram: u64,
    generation: u64,
    /// Bytes read from the file when the mark was last found unchanged: later ones may belong to another state.
    checked_bytes: u64,
}

impl Reader<Disk> {
    /// Opens the memory in `path` in the state of the last completed sync, or of one in progress. A writer, if there is
    /// one, continues undisturbed. DRAM holds the whole page table, about 0.4 % of the allocated size, and a cache of
    /// `dram` bytes.
    ///
    /// # Errors
    /// If the file is not a memory or is damaged, or the file system does not support locks.
    pub fn open(path: &Path, dram: u64) -> Result<Reader<Disk>, Error> {
        Reader::open_for(path, dram, false)
    }

    /// Opens the memory. If `rewrite_table` is set, a fresh copy of the table is written to the overlay.
    pub(crate) fn open_for(path: &Path, dram: u64, rewrite_table: bool) -> Result<Reader<Disk>, Error> {
        open::check_dram(dram)?;
        let name = path.display().to_string();
        let mut file = open::open_file(path, false).map_err(io_error(&name, "cannot be opened"))?;
        let shape = open::read_shape(&file, &name)?;
        let found = open::length(&mut file).map_err(io_error(&name, "its length cannot be determined"))?;
        if found < shape.file_bytes() {
            return Err(Error::Truncated { path: name, found, expected: shape.file_bytes() });
        }
        Reader::open_device(Disk::new(file, true), shape, dram, &name, rewrite_table)
    }

    /// Reopens the memory by its path in its current state.
    ///
    /// # Errors
    /// Same as [`open`](Self::open); then the reader keeps its state.
    pub fn refresh(&mut self) -> Result<(), Error> {
        *self = Reader::open(Path::new(&self.memory.path), self.dram)?;
        Ok(())
    }
}

impl<D: Device> Reader<D> {
    /// Opens the memory on a device.
    ///
    /// # Errors
    /// Same as [`open`](Reader::open).
    pub fn open_on(device: D, shape: Shape, dram: u64, path: &str) -> Result<Reader<D>, Error> {
        Reader::open_device(device, shape, dram, path, false)
    }

    fn open_device(device: D, shape: Shape, dram: u64, path: &str, rewrite_table: bool) -> Result<Reader<D>, Error> {
        let mut device = Overlay::new(device);
        // The newest root at the last failure. If opening fails twice with the same root, the file is damaged.
        let mut failed = None;
        for _ in 0..TRIES {
            let mut storage = Storage::new(device, shape);
            let Some(generation) = register(&mut storage, path)? else {
                device = storage.into_device();
                continue;
            };
            let newest = storage.newest_record();
            let opening = Opening::new(&mut storage);
            let opened = Nvmm::open(shape.config(), &opening)
                .and_then(|(mut nvmm, _)| nvmm.bring_all(&opening, rewrite_table).map(|()| nvmm));
            let complaint = storage.describe_damage();
            // Drop all checksums read so far.
            let mut storage = Storage::new(storage.into_device(), shape);
            let root = Nvmm::newest_root(shape.config(), &Opening::new(&mut storage));
            let error = match opened {
                Ok(nvmm) if nvmm.committed() < newest => open::lost_commit(path, nvmm.committed(), newest, &complaint),
                Ok(mut nvmm) if root == Some(nvmm.committed().0) => {
                    nvmm.keep_still();
                    let mut memory = Memory::new(Engine::new(nvmm, storage), dram, path);
                    memory.begin(false)?;
                    memory.engine.drain(&mut memory.frames).map_err(|stop| memory.stopped(stop))?;
                    memory.engine.storage.settle().map_err(|stop| memory.stopped(stop))?;
                    let mut reader = Reader { memory, dram, generation, checked_bytes: 0 };
                    reader.check_generation()?;
                    return Ok(reader);
                }
                Ok(_) => {
                    device = storage.into_device();
                    continue;
                }
                Err(error @ (OpenError::Config(_) | OpenError::Geometry { .. } | OpenError::Sizes { .. })) => {
                    return Err(open::damaged(path, &error, ""));
                }
                Err(error) => open::damaged(path, &error, &complaint),
            };
            if failed.replace(root) == Some(root) {
                return Err(error);
            }
            device = storage.into_device();
        }
        Err(Error::Stale { path: path.to_owned() })
    }

    /// Returns the device.
    pub fn into_device(self) -> D {
        self.memory.into_device().into_under()
    }

    /// Checks that everything read so far belongs to the opened state.
    pub(crate) fn check_generation(&mut self) -> Result<(), Error> {
        // Requests that no call waits for, such as a second read of the same checksums, may still be in flight.
        self.memory.engine.storage.wait_all().map_err(|stop| self.memory.stopped(stop))?;
        let (path, storage) = (&self.memory.path, &mut self.memory.engine.storage);
        match storage.read_mark().map_err(io_error(path, "cannot be read"))? {
            Some(found) if found == self.generation => self.checked_bytes = storage.read_bytes,
            _ => return Err(Error::Stale { path: path.clone() }),
        }
        Ok(())
    }

    /// Executes `call`, and checks that what it read belongs to the opened state. If an earlier check failed, what it
    /// found in DRAM may not.
    fn checked<T>(&mut self, call: impl FnOnce(&mut Memory<Overlay<D>>) -> Result<T, Error>) -> Result<T, Error> {
        let result = call(&mut self.memory);
        if self.memory.engine.storage.read_bytes != self.checked_bytes {
            self.check_generation()?;
        }
        result
    }

    /// Returns the memory's fixed parameters.
    pub fn shape(&self) -> Shape {
        self.memory.shape()
    }

    /// Reads `into.len()` bytes starting at `address`. Bytes that were never written are zero.
    ///
    /// # Errors
    /// Same as [`Memory::read`]; [`Error::Stale`] if the writer ran out of space and overwrote this state.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        self.checked(|memory| memory.read(address, into))
    }

    /// Checks that `bytes` bytes starting at `address` are allocated and may be read.
    ///
    /// # Errors
    /// If they are not.
    pub fn check(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.checked(|memory| memory.check(address, bytes))
    }

    /// Returns the live tokens of the state, oldest first, with their names.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn tokens(&mut self) -> Result<Vec<(Token, Option<String>)>, Error> {
        self.checked(Memory::tokens)
    }

    /// Returns the live token called `name`.
    ///
    /// # Errors
    /// If there is none, or the names cannot be read.
    pub fn token(&mut self, name: &str) -> Result<Token, Error> {
        self.checked(|memory| memory.token(name))
    }

    /// Returns the address, size in bytes and name of all named areas.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn names(&mut self) -> Result<Vec<(u64, u64, String)>, Error> {
        self.checked(Memory::names)
    }

    /// Returns the address and size in bytes of the area called `name`.
    ///
    /// # Errors
    /// If there is none, or one of its pages is no longer allocated.
    pub fn find(&mut self, name: &str) -> Result<(u64, u64), Error> {
        self.checked(|memory| memory.find(name))
    }

    /// Switches to the state that `token` stands for; newer tokens become unknown to this reader. The memory itself
    /// does not change.
    ///
    /// # Errors
    /// If the token is not live.
    pub fn go_to(&mut self, token: Token) -> Result<(), Error> {
        self.checked(|memory| memory.rollback(token))
    }

    /// Reads all allocated pages. Returns an error for each unreadable part, and the number of pages.
    ///
    /// # Errors
    /// If the device fails; [`Error::Stale`].
    pub fn verify(&mut self) -> Result<(Vec<Error>, u64), Error> {
        self.checked(Memory::verify)
    }

    /// Returns the statistics.
    pub fn stats(&self) -> Stats {
        self.memory.stats()
    }
}

/// Registers under the generation in the mark and returns it, or `None` if the writer started another one meanwhile.
fn register<D: Device>(storage: &mut Storage<Overlay<D>>, path: &str) -> Result<Option<u64>, Error> {
    let mut read = || storage.read_mark().map_err(io_error(path, "cannot be read"));
    // Retry, because a concurrent write may tear the mark.
    let Some(generation) = (0..3).find_map(|_| read().transpose()).transpose()? else {
        let what = "the readers' mark is damaged: opening the memory for writing repairs it".to_owned();
        return Err(Error::Damaged { path: path.to_owned(), what });
    };
    storage.device_mut().under().register(generation).map_err(io_error(path, "cannot register a reader"))?;
    let now = storage.read_mark().map_err(io_error(path, "cannot be read"))?;
    Ok((now == Some(generation)).then_some(generation))
}
