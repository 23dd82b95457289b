//! A reader beside the writer: the memory as a sync left it, while another process, or another part of this one, goes on.
//!
//! It registers, so that the writer keeps the blocks of data that become free from then on ([`nvmm::Nvmm::watch`]), and opens the file as a
//! writer would, over a device that keeps what is written in DRAM ([`Overlay`]). The blocks of the table are not kept: all of it is read at
//! once, and counts if its root is still the newest afterwards, since nothing of a root is written over before the next one is there.
//! A writer that has no other room begins another generation of readers before it uses what it kept; the mark of the generation is read
//! after whatever else is read, so that nothing is taken for the state that is not of it.

use std::path::Path;

use nvmm::{Nvmm, OpenError, Token};

use crate::device::Device;
use crate::engine::Engine;
use crate::layout::Shape;
use crate::open::{self, Opening, io_error};
use crate::overlay::Overlay;
use crate::storage::Storage;
use crate::{Disk, Error, Memory, Stats};

/// Times that opening is tried while the writer makes one root after the other.
const TRIES: u32 = 100;

/// A memory as a sync left it, to be read. What the writer does meanwhile does not show until [`refresh`](Self::refresh).
pub struct Reader<D: Device = Disk> {
    pub(crate) memory: Memory<Overlay<D>>,
    dram: u64,
    generation: u64,
}

impl Reader<Disk> {
    /// Opens the memory in `path` as its last completed sync left it, or one that is under way. The writer, if there is one, goes on. All
    /// of the page table, about 0.4 % of what was allocated, and `dram` bytes of what is read are kept in DRAM.
    ///
    /// # Errors
    /// If it is no memory, or damaged, or the file system has no locks.
    pub fn open(path: &Path, dram: u64) -> Result<Reader<Disk>, Error> {
        Reader::open_for(path, dram, false)
    }

    /// `anew`: the table is written once more, over what is read.
    pub(crate) fn open_for(path: &Path, dram: u64, anew: bool) -> Result<Reader<Disk>, Error> {
        open::check_dram(dram)?;
        let name = path.display().to_string();
        let mut file = open::open_file(path, false, false).map_err(io_error(&name, "cannot be opened"))?;
        let shape = open::read_shape(&file, &name)?;
        let found = open::length(&mut file).map_err(io_error(&name, "has no length"))?;
        if found < shape.file_bytes() {
            return Err(Error::Truncated { path: name, found, expected: shape.file_bytes() });
        }
        Reader::open_anew(Disk::new(file, true), shape, dram, &name, anew)
    }

    /// The same memory as it is now, opened by its name.
    ///
    /// # Errors
    /// As [`open`](Self::open); then it is as it was.
    pub fn refresh(&mut self) -> Result<(), Error> {
        *self = Reader::open(Path::new(&self.memory.path), self.dram)?;
        Ok(())
    }
}

impl<D: Device> Reader<D> {
    /// The same over a device.
    ///
    /// # Errors
    /// As [`open`](Reader::open).
    pub fn open_on(device: D, shape: Shape, dram: u64, path: &str) -> Result<Reader<D>, Error> {
        Reader::open_anew(device, shape, dram, path, false)
    }

    fn open_anew(device: D, shape: Shape, dram: u64, path: &str, anew: bool) -> Result<Reader<D>, Error> {
        let mut device = Overlay::new(device);
        // The root that was the newest when the last try failed: if it fails once more with it, that is damage.
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
                .and_then(|(mut nvmm, _)| nvmm.bring_all(&opening, anew).map(|()| nvmm));
            let complaint = storage.wrong();
            // With nothing of what was read before.
            let mut storage = Storage::new(storage.into_device(), shape);
            let root = Nvmm::newest_root(shape.config(), &Opening::new(&mut storage));
            let error = match opened {
                Ok(nvmm) if nvmm.committed() < newest => open::lost(path, nvmm.committed(), newest, &complaint),
                Ok(mut nvmm) if root == Some(nvmm.committed().0) => {
                    nvmm.keep_still();
                    let mut memory = Memory::new(Engine::new(nvmm, storage), dram, path);
                    memory.begin(false)?;
                    memory.engine.drain(&mut memory.frames).map_err(|stop| memory.stopped(stop))?;
                    memory.engine.storage.settle().map_err(|stop| memory.stopped(stop))?;
                    let mut reader = Reader { memory, dram, generation };
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

    /// Gives up the device.
    pub fn into_device(self) -> D {
        self.memory.into_device().into_under()
    }

    /// That what was read is of the state that was opened.
    pub(crate) fn check_generation(&mut self) -> Result<(), Error> {
        let path = &self.memory.path;
        match self.memory.engine.storage.read_mark().map_err(io_error(path, "cannot be read"))? {
            Some(found) if found == self.generation => Ok(()),
            _ => Err(Error::Stale { path: path.clone() }),
        }
    }

    /// What `call` reads, if it is of the state that was opened.
    fn checked<T>(&mut self, call: impl FnOnce(&mut Memory<Overlay<D>>) -> Result<T, Error>) -> Result<T, Error> {
        let before = self.memory.engine.storage.read_bytes;
        let result = call(&mut self.memory);
        let storage = &self.memory.engine.storage;
        if storage.read_bytes != before && !storage.device().is_busy() {
            self.check_generation()?;
        }
        result
    }

    /// What the memory was made with.
    pub fn shape(&self) -> Shape {
        self.memory.shape()
    }

    /// Reads `into.len()` bytes from `address` on. What was never written is zeros.
    ///
    /// # Errors
    /// As [`Memory::read`]; [`Error::Stale`] if the writer has no other room than what this state is in.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        self.checked(|memory| memory.read(address, into))
    }

    /// That `bytes` bytes from `address` on are there and may be read.
    ///
    /// # Errors
    /// If not.
    pub fn check(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.checked(|memory| memory.check(address, bytes))
    }

    /// Tokens that were live, oldest first, and their names.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn tokens(&mut self) -> Result<Vec<(Token, Option<String>)>, Error> {
        self.checked(Memory::tokens)
    }

    /// The token of that name.
    ///
    /// # Errors
    /// If there is none, or the names cannot be read.
    pub fn token(&mut self, name: &str) -> Result<Token, Error> {
        self.checked(|memory| memory.token(name))
    }

    /// Address, bytes and name of all areas that have one.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn names(&mut self) -> Result<Vec<(u64, u64, String)>, Error> {
        self.checked(Memory::names)
    }

    /// Address and bytes of the area of that name.
    ///
    /// # Errors
    /// If none has it, or its pages are not there any more.
    pub fn find(&mut self, name: &str) -> Result<(u64, u64), Error> {
        self.checked(|memory| memory.find(name))
    }

    /// Reads from now on the state that `token` stands for, and knows no newer tokens. The memory itself is not changed.
    ///
    /// # Errors
    /// If it stands for none.
    pub fn go_to(&mut self, token: Token) -> Result<(), Error> {
        self.checked(|memory| memory.rollback(token))
    }

    /// Reads all that is there. What cannot be read, and how many pages there are.
    ///
    /// # Errors
    /// If the device fails; [`Error::Stale`].
    pub fn verify(&mut self) -> Result<(Vec<Error>, u64), Error> {
        self.checked(Memory::verify)
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        self.memory.stats()
    }
}

/// Registers under the generation that the mark says, and says it; none: the writer began another meanwhile.
fn register<D: Device>(storage: &mut Storage<Overlay<D>>, path: &str) -> Result<Option<u64>, Error> {
    let mut read = || storage.read_mark().map_err(io_error(path, "cannot be read"));
    // While it is written it may be torn.
    let Some(generation) = (0..3).find_map(|_| read().transpose()).transpose()? else {
        let what = "the mark of readers is damaged: whoever opens it for writing makes it anew".to_owned();
        return Err(Error::Damaged { path: path.to_owned(), what });
    };
    storage.device_mut().under().register(generation).map_err(io_error(path, "cannot be marked as read"))?;
    let now = storage.read_mark().map_err(io_error(path, "cannot be read"))?;
    Ok((now == Some(generation)).then_some(generation))
}
