//! Creates and opens memories.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use direct::Aligned;
use media::{BlockAddr, Geometry, OpId, PageAddr};
use nvmm::{Medium, Nvmm, OpenError};
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::device::{Device, Op, Request};
use crate::engine::Engine;
use crate::storage::layout::{FORMAT, MARK, RECORDS, Shape, Superblock, UNIT, mark, parse_mark, parse_record};
use crate::storage::{Stop, Storage};
use crate::unnamed::Unnamed;
use crate::{Disk, Error, Memory, PAGE_BYTES};

/// Options for creating or opening a memory.
#[derive(Clone, Debug)]
pub struct Options {
    /// On creation: bytes that can be allocated, up to 4 TiB. On opening: `None`, or the capacity the memory was
    /// created with.
    pub capacity: Option<u64>,
    /// Size of the DRAM cache in bytes.
    pub dram: u64,
    /// On creation: bytes in the file for data and the older versions that tokens keep; `None` means twice the
    /// capacity. Parts that are never written take no disk space.
    pub space: Option<u64>,
    /// On creation: maximum number of live tokens.
    pub tokens: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { capacity: None, dram: 256 << 20, space: None, tokens: 256 }
    }
}

/// Minimum size of the DRAM cache: sixteen pages.
pub(crate) const DRAM_MIN: u64 = 16 * PAGE_BYTES;

pub(crate) fn io_error(path: &str, what: &'static str) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, what, source }
}

/// Opens `path`, bypassing the page cache if the file system supports it.
pub(crate) fn open_file(path: &Path, write: bool) -> io::Result<File> {
    let options = |direct: bool| {
        let flags = if direct { OFlags::DIRECT } else { OFlags::empty() };
        let mut options = OpenOptions::new();
        options.read(true).write(write).custom_flags(flags.bits().cast_signed());
        options
    };
    // Opening a pipe would wait for its other end.
    let kind = path.metadata()?.file_type();
    if !(kind.is_file() || kind.is_block_device()) {
        let found = if kind.is_dir() { "a folder" } else { "a pipe or a character device" };
        return Err(io::Error::other(format!("found {found}, expected a file or a block device")));
    }
    let Ok(file) = options(true).open(path) else { return options(false).open(path) };
    // Some file systems accept the flag but then require larger alignment than ours. An empty file passes the probe
    // either way.
    let mut probe = Aligned::new(UNIT as usize);
    match file.read_at(&mut probe, 0) {
        Ok(_) => Ok(file),
        Err(_) => options(false).open(path),
    }
}

/// Acquires the lock. The lock of a killed process persists for a moment after its death, until the kernel has finished
/// its requests.
fn lock(file: &File, path: &str) -> Result<(), Error> {
    let mut tries = 25;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if tries > 0 => tries -= 1,
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Locked { path: path.to_owned() }),
            Err(error) => return Err(io_error(path, "cannot be locked")(error.into())),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns whether `path` leads to this open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (opened, found) = (file.metadata()?, path.metadata()?);
    Ok((opened.dev(), opened.ino()) == (found.dev(), found.ino()))
}

/// Reads the memory's parameters from either superblock.
pub(crate) fn read_shape(file: &File, path: &str) -> Result<Shape, Error> {
    let mut bytes = Aligned::new(UNIT as usize);
    let mut worst = "missing";
    for copy in [0, UNIT] {
        bytes.fill(0);
        match file.read_exact_at(&mut bytes, copy) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            Err(error) => return Err(io_error(path, "cannot be read")(error)),
        }
        match Shape::parse(&bytes) {
            Superblock::Good(shape) => return Ok(shape),
            Superblock::Format(found) => return Err(Error::Format { path: path.to_owned(), found, known: FORMAT }),
            Superblock::Foreign if worst == "missing" => worst = "unrecognized",
            Superblock::Foreign => {}
            Superblock::Damaged => worst = "damaged",
        }
    }
    Err(Error::NotMemory { path: path.to_owned(), found: worst })
}

pub(crate) fn length(file: &mut File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

pub(crate) fn check_dram(dram: u64) -> Result<(), Error> {
    match dram < DRAM_MIN {
        true => Err(Error::Option(format!("dram is {dram} bytes, expected at least {DRAM_MIN}"))),
        false => Ok(()),
    }
}

/// Reads the parameters of the memory in the file `path`, without changing it or disturbing its users.
///
/// # Errors
/// If the file cannot be read, or is not a memory.
pub fn shape_of(path: &Path) -> Result<Shape, Error> {
    let name = path.display().to_string();
    let file = open_file(path, false).map_err(io_error(&name, "cannot be opened"))?;
    read_shape(&file, &name)
}

impl Memory<Disk> {
    /// Creates a memory in a new file, or on a block device whose first 64 KiB are zeros. The file appears under its name
    /// when it is a memory: a creation that fails, or is killed, leaves nothing and can be repeated.
    ///
    /// # Errors
    /// If the file exists or the device is not empty, an option is invalid, or a system call fails.
    pub fn create(path: &Path, options: &Options) -> Result<Memory<Disk>, Error> {
        check_dram(options.dram)?;
        let name = path.display().to_string();
        let capacity =
            options.capacity.ok_or_else(|| Error::Option(format!("{name}: a new memory needs a capacity")))?;
        let space = options.space.unwrap_or_else(|| capacity.saturating_mul(2));
        if options.tokens == 0 || options.tokens > 256 {
            return Err(Error::Option(format!("tokens is {}, expected 1 to 256", options.tokens)));
        }
        let shape = Shape::of(capacity, space, options.tokens).map_err(Error::Option)?;
        let is_drive = path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        let created = || io_error(&name, "cannot be created");
        let unnamed = if is_drive { None } else { Some(Unnamed::create(path).map_err(created())?) };
        let reached = unnamed.as_ref().map_or_else(|| path.to_owned(), Unnamed::reach);
        let mut file = open_file(&reached, true).map_err(created())?;
        lock(&file, &name)?;
        if is_drive {
            let found = length(&mut file).map_err(io_error(&name, "its length cannot be determined"))?;
            if found < shape.file_bytes() {
                return Err(Error::TooSmall { path: name, found, expected: shape.file_bytes() });
            }
            let mut head = Aligned::new(64 << 10);
            file.read_exact_at(&mut head, 0).map_err(io_error(&name, "cannot be read"))?;
            if head.iter().any(|byte| *byte != 0) {
                let what = "the device is not empty: its first 64 KiB are not zeros".to_owned();
                return Err(Error::Damaged { path: name, what });
            }
        } else {
            file.set_len(shape.file_bytes()).map_err(io_error(&name, "cannot be extended to its full length"))?;
        }
        let memory = Memory::create_on(Disk::new(file, true), shape, options.dram, &name)?;
        unnamed.map_or(Ok(()), Unnamed::publish).map_err(created())?;
        Ok(memory)
    }

    /// Opens a memory in the state of the last completed sync.
    ///
    /// # Errors
    /// If the file is not a memory, is open for writing elsewhere or is damaged, or an option does not match the
    /// memory.
    pub fn open(path: &Path, options: &Options) -> Result<Memory<Disk>, Error> {
        check_dram(options.dram)?;
        let name = path.display().to_string();
        let opened = || io_error(&name, "cannot be opened");
        let mut file = open_file(path, true).map_err(opened())?;
        lock(&file, &name)?;
        // A growth that held the lock has replaced the file by another one.
        while !is_at(&file, path).map_err(opened())? {
            file = open_file(path, true).map_err(opened())?;
            lock(&file, &name)?;
        }
        let shape = read_shape(&file, &name)?;
        let found = length(&mut file).map_err(io_error(&name, "its length cannot be determined"))?;
        if found < shape.file_bytes() {
            return Err(Error::Truncated { path: name, found, expected: shape.file_bytes() });
        }
        if let Some(capacity) = options.capacity.filter(|c| c.div_ceil(PAGE_BYTES) * PAGE_BYTES != shape.capacity()) {
            let made = shape.capacity();
            return Err(Error::Option(format!(
                "{name}: the memory was created with a capacity of {made} bytes, not {capacity}"
            )));
        }
        Memory::open_on(Disk::new(file, true), shape, options.dram, &name)
    }
}

impl<D: Device> Memory<D> {
    /// Creates a memory on a device that reads as zeros.
    ///
    /// # Errors
    /// If the device fails.
    pub fn create_on(device: D, shape: Shape, dram: u64, path: &str) -> Result<Memory<D>, Error> {
        let mut storage = Storage::new(device, shape);
        for copy in [UNIT, 0] {
            storage.write_unit(copy, |into| shape.superblock(into)).map_err(|stop| stopped(stop, path))?;
        }
        let opening = Opening::new(&mut storage);
        let nvmm = Nvmm::format(shape.config(), &opening).map_err(|error| damaged(path, &error, ""))?;
        let mut memory = Memory::new(Engine::new(nvmm, storage), dram, path);
        memory.begin(true)?;
        Ok(memory)
    }

    /// Opens the memory on a device.
    ///
    /// # Errors
    /// If it is damaged, or the device fails.
    pub fn open_on(device: D, shape: Shape, dram: u64, path: &str) -> Result<Memory<D>, Error> {
        Memory::open_storage(Storage::new(device, shape), shape, dram, path)
    }

    /// Opens the memory with an injected fault.
    ///
    /// # Errors
    /// If it is damaged, or the device fails.
    #[cfg(feature = "injected-faults")]
    pub fn open_with_fault(
        device: D,
        shape: Shape,
        dram: u64,
        path: &str,
        injected: crate::InjectedFault,
    ) -> Result<Memory<D>, Error> {
        let mut storage = Storage::new(device, shape);
        storage.inject(injected);
        Memory::open_storage(storage, shape, dram, path)
    }

    fn open_storage(mut storage: Storage<D>, shape: Shape, dram: u64, path: &str) -> Result<Memory<D>, Error> {
        let newest = storage.newest_record();
        storage.begin_generation().map_err(|stop| stopped(stop, path))?;
        let opening = Opening::new(&mut storage);
        let opened = Nvmm::open(shape.config(), &opening);
        let why = storage.describe_damage();
        let (nvmm, _) = opened.map_err(|error| damaged(path, &error, &why))?;
        if nvmm.committed() < newest {
            return Err(lost_commit(path, nvmm.committed(), newest, &why));
        }
        let mut memory = Memory::new(Engine::new(nvmm, storage), dram, path);
        memory.begin(false)?;
        Ok(memory)
    }
}

/// Returns the error for a durable commit that cannot be read.
pub(crate) fn lost_commit(path: &str, (root, group): (u64, u64), (last_root, last): (u64, u64), why: &str) -> Error {
    let what = format!(
        "the newest readable commit is {group} after root {root}, but {last} after root {last_root} was durable ({why})"
    );
    Error::Damaged { path: path.to_owned(), what }
}

pub(crate) fn damaged(path: &str, error: &OpenError, why: &str) -> Error {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    Error::Damaged { path: path.to_owned(), what: format!("{error}{why}") }
}

/// Converts the reason why the medium stopped into an error.
pub(crate) fn stopped(stop: Stop, path: &str) -> Error {
    let path = path.to_owned();
    match stop {
        Stop::Full(source) => Error::DiskFull { path, source },
        Stop::Broken(why) => Error::Broken { path, why },
    }
}

/// The medium during opening: executes one read at a time.
pub(crate) struct Opening<'a, D>(RefCell<&'a mut Storage<D>>, Geometry);

impl<D: Device> Opening<'_, D> {
    pub fn new(storage: &mut Storage<D>) -> Opening<'_, D> {
        let geometry = storage.shape.config().geometry;
        Opening(RefCell::new(storage), geometry)
    }
}

impl<D: Device> Medium for Opening<'_, D> {
    fn geometry(&self) -> &Geometry {
        &self.1
    }

    fn is_bad(&self, _: BlockAddr) -> bool {
        false
    }

    fn read(&self, page: PageAddr, into: &mut Vec<u8>) -> bool {
        let mut storage = self.0.borrow_mut();
        storage.read(OpId(0), page);
        let Ok(finished) = storage.next() else { return false };
        let good = finished.status.is_ok();
        if good {
            let content = finished.content.as_deref().expect("it was read");
            into.clear();
            into.extend_from_slice(&content[..self.1.page_bytes as usize]);
        }
        storage.give_back(finished);
        good
    }
}

impl<D: Device> Storage<D> {
    /// Returns the newest commit that a record declares durable. The next record will replace the older one.
    pub(crate) fn newest_record(&mut self) -> (u64, u64) {
        let records =
            RECORDS.map(|at| self.read_unit(at).ok().and_then(|bytes| parse_record(&bytes)).unwrap_or((0, 0)));
        self.next_record = usize::from(records[1] < records[0]);
        records[1 - self.next_record]
    }

    /// Reads the generation of readers, or `None` if the mark is damaged.
    pub(crate) fn read_mark(&mut self) -> io::Result<Option<u64>> {
        self.read_unit(MARK).map(|bytes| parse_mark(&bytes))
    }

    /// Invalidates readers of the previous state by starting a newer generation, because free blocks may be overwritten
    /// from now on.
    fn begin_generation(&mut self) -> Result<(), Stop> {
        let (mut known, mut after) = (self.read_mark().ok().flatten(), 0);
        while let Some(reader) = self.device_mut().reader(after, 0) {
            (after, known) = (reader + 1, known.filter(|known| *known > reader));
        }
        self.generation = known.unwrap_or(after);
        if known.is_none() {
            self.write_unit(MARK, |into| mark(after, into))?;
        }
        Ok(())
    }

    /// Invalidates all readers, because another file takes the place of this one.
    pub(crate) fn end_generation(&mut self) -> Result<(), Stop> {
        self.wait_all()?;
        let next = self.generation + 1;
        self.write_unit(MARK, |into| mark(next, into))
    }

    /// Reads a unit synchronously.
    fn read_unit(&mut self, offset: u64) -> io::Result<Aligned> {
        self.transfer_now(Op::Read, offset, UNIT as usize, Aligned::new(UNIT as usize))
    }

    /// Writes a unit synchronously.
    fn write_unit(&mut self, offset: u64, fill: impl FnOnce(&mut [u8])) -> Result<(), Stop> {
        let mut buffer = Aligned::new(UNIT as usize);
        fill(&mut buffer);
        let full = io::ErrorKind::StorageFull;
        self.transfer_now(Op::Write, offset, UNIT as usize, buffer).map(|_| ()).map_err(|error| match error.kind() {
            kind if kind == full => Stop::Full(error),
            _ => Stop::Broken(format!("its first pages could not be written: {error}")),
        })
    }

    pub(crate) fn transfer_now(&mut self, op: Op, offset: u64, bytes: usize, buffer: Aligned) -> io::Result<Aligned> {
        let device = self.device_mut();
        assert!(!device.is_busy());
        device.start(Request { op, offset, bytes, buffer, user: 0 });
        let ended = device.wait()?;
        ended.result.map(|()| ended.request.buffer)
    }
}
