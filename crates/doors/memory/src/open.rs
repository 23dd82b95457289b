//! Making a memory, and opening one.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use direct::Aligned;
use media::{BlockAddr, Geometry, OpId, PageAddr, Status};
use nvmm::{Medium, Nvmm, OpenError};
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::device::{Device, Op, Request};
use crate::engine::Engine;
use crate::layout::{FORMAT, MARK, RECORDS, Shape, Superblock, UNIT, mark, parse_mark, parse_record};
use crate::storage::{Stop, Storage};
use crate::{Disk, Error, Memory, PAGE_BYTES, Plant};

/// How a memory is made or opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes that can be allocated, when it is made: up to 4 TiB. When it is opened: none, or what it was made with.
    pub capacity: Option<u64>,
    /// Bytes of DRAM for the cache.
    pub dram: u64,
    /// When it is made: bytes in the file for data and the older versions that tokens keep; none: twice the capacity. What was never
    /// written takes no space of the file system.
    pub space: Option<u64>,
    /// When it is made: tokens that may be live at a time.
    pub tokens: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { capacity: None, dram: 256 << 20, space: None, tokens: 256 }
    }
}

/// Least DRAM for the cache: sixteen pages.
pub(crate) const DRAM_MIN: u64 = 16 * PAGE_BYTES;

pub(crate) fn io_error(path: &str, what: &'static str) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, what, source }
}

/// Opens `path`, past the page cache if the file system lets it.
pub(crate) fn open_file(path: &Path, new: bool, write: bool) -> io::Result<File> {
    let options = |direct: bool| {
        let flags = if direct { OFlags::DIRECT } else { OFlags::empty() };
        let mut options = OpenOptions::new();
        options.read(true).write(write).custom_flags(flags.bits().cast_signed());
        options
    };
    if new {
        options(false).create_new(true).open(path)?;
    }
    let Ok(file) = options(true).open(path) else { return options(false).open(path) };
    // Some take the flag and then want larger pieces than ours: an empty file reads nothing either way.
    let mut probe = Aligned::new(UNIT as usize);
    match file.read_at(&mut probe, 0) {
        Ok(_) => Ok(file),
        Err(_) => options(false).open(path),
    }
}

/// Takes the lock. A process that was killed has it until the kernel is done with its requests, a moment after its end.
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

/// What the file says it is.
pub(crate) fn read_shape(file: &File, path: &str) -> Result<Shape, Error> {
    let mut bytes = Aligned::new(UNIT as usize);
    let mut worst = "not there";
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
            Superblock::Foreign if worst == "not there" => worst = "foreign",
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

/// What the file `path` says it is; nothing is changed, and whoever has it open is not disturbed.
///
/// # Errors
/// If it cannot be read, or is none.
pub fn shape_of(path: &Path) -> Result<Shape, Error> {
    let name = path.display().to_string();
    let file = open_file(path, false, false).map_err(io_error(&name, "cannot be opened"))?;
    read_shape(&file, &name)
}

impl Memory<Disk> {
    /// Makes a memory in a new file, or on a block device whose first 64 KiB are zeros.
    ///
    /// # Errors
    /// If there is something already, or an option does not work, or the system refuses.
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
        let mut file = open_file(path, !is_drive, true).map_err(io_error(&name, "cannot be made"))?;
        lock(&file, &name)?;
        if is_drive {
            let found = length(&mut file).map_err(io_error(&name, "has no length"))?;
            if found < shape.file_bytes() {
                return Err(Error::TooSmall { path: name, found, expected: shape.file_bytes() });
            }
            let mut head = Aligned::new(64 << 10);
            file.read_exact_at(&mut head, 0).map_err(io_error(&name, "cannot be read"))?;
            if head.iter().any(|byte| *byte != 0) {
                let what = "there is something on the device already: its first 64 KiB are not zeros".to_owned();
                return Err(Error::Damaged { path: name, what });
            }
        } else {
            file.set_len(shape.file_bytes()).map_err(io_error(&name, "cannot be so long"))?;
            // The name is durable too.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(parent)
                .and_then(|parent| parent.sync_all())
                .map_err(io_error(&name, "its folder cannot be synced"))?;
        }
        Memory::create_on(Disk::new(file, true), shape, options.dram, &name)
    }

    /// Opens a memory as its last completed sync left it.
    ///
    /// # Errors
    /// If it is none, is open elsewhere, is damaged, or an option is not what it was made with.
    pub fn open(path: &Path, options: &Options) -> Result<Memory<Disk>, Error> {
        check_dram(options.dram)?;
        let name = path.display().to_string();
        let mut file = open_file(path, false, true).map_err(io_error(&name, "cannot be opened"))?;
        lock(&file, &name)?;
        let shape = read_shape(&file, &name)?;
        let found = length(&mut file).map_err(io_error(&name, "has no length"))?;
        if found < shape.file_bytes() {
            return Err(Error::Truncated { path: name, found, expected: shape.file_bytes() });
        }
        if let Some(capacity) = options.capacity.filter(|c| c.div_ceil(PAGE_BYTES) * PAGE_BYTES != shape.capacity()) {
            let made = shape.capacity();
            return Err(Error::Option(format!(
                "{name}: the memory was made with a capacity of {made} bytes, not {capacity}"
            )));
        }
        Memory::open_on(Disk::new(file, true), shape, options.dram, &name)
    }
}

impl<D: Device> Memory<D> {
    /// Makes a memory on a device that reads as zeros.
    ///
    /// # Errors
    /// If the device fails.
    pub fn create_on(device: D, shape: Shape, dram: u64, path: &str) -> Result<Memory<D>, Error> {
        let mut storage = Storage::new(device, shape);
        for copy in [UNIT, 0] {
            storage.put(copy, |into| shape.superblock(into)).map_err(|stop| stopped(stop, path))?;
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
        Memory::open_planted(device, shape, dram, path, Plant::Nothing)
    }

    /// The same with a bug.
    #[doc(hidden)]
    pub fn open_planted(device: D, shape: Shape, dram: u64, path: &str, plant: Plant) -> Result<Memory<D>, Error> {
        let mut storage = Storage::new(device, shape);
        storage.plant = plant;
        let newest = storage.newest_record();
        storage.begin_generation().map_err(|stop| stopped(stop, path))?;
        let opening = Opening::new(&mut storage);
        let opened = Nvmm::open(shape.config(), &opening);
        let why = storage.wrong();
        let (nvmm, _) = opened.map_err(|error| damaged(path, &error, &why))?;
        if nvmm.committed() < newest {
            return Err(lost(path, nvmm.committed(), newest, &why));
        }
        let mut memory = Memory::new(Engine::new(nvmm, storage), dram, path);
        memory.begin(false)?;
        Ok(memory)
    }
}

/// That what was durable cannot be read.
pub(crate) fn lost(path: &str, (root, group): (u64, u64), (last_root, last): (u64, u64), why: &str) -> Error {
    let what = format!(
        "the newest commit that can be read is {group} after root {root}, and {last} after root {last_root} was durable ({why})"
    );
    Error::Damaged { path: path.to_owned(), what }
}

pub(crate) fn damaged(path: &str, error: &OpenError, why: &str) -> Error {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    Error::Damaged { path: path.to_owned(), what: format!("{error}{why}") }
}

/// What made the medium stop, as an error.
pub(crate) fn stopped(stop: Stop, path: &str) -> Error {
    let path = path.to_owned();
    match stop {
        Stop::Full(source) => Error::DiskFull { path, source },
        Stop::Broken(why) => Error::Broken { path, why },
    }
}

/// The medium while a memory is opened: one read after the other.
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
        let good = finished.status == Status::Ok;
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
    /// The newest commit of which a record says that it is durable.
    pub(crate) fn newest_record(&mut self) -> (u64, u64) {
        let records = RECORDS.map(|at| self.get(at).ok().and_then(|bytes| parse_record(&bytes)).unwrap_or((0, 0)));
        records[0].max(records[1])
    }

    /// The generation of readers, as the file says; none: it is damaged.
    pub(crate) fn read_mark(&mut self) -> io::Result<Option<u64>> {
        self.get(MARK).map(|bytes| parse_mark(&bytes))
    }

    /// Whoever reads what was left lose it, for what is free may be written now: theirs is an older generation.
    fn begin_generation(&mut self) -> Result<(), Stop> {
        let (mut known, mut after) = (self.read_mark().ok().flatten(), 0);
        while let Some(reader) = self.device_mut().reader(after, 0) {
            (after, known) = (reader + 1, known.filter(|known| *known > reader));
        }
        self.generation = known.unwrap_or(after);
        if known.is_none() {
            self.put(MARK, |into| mark(after, into))?;
        }
        Ok(())
    }

    /// Reads a unit at once.
    fn get(&mut self, offset: u64) -> io::Result<Aligned> {
        self.alone(Op::Read, offset, UNIT as usize, Aligned::new(UNIT as usize))
    }

    /// Writes a unit at once.
    fn put(&mut self, offset: u64, fill: impl FnOnce(&mut [u8])) -> Result<(), Stop> {
        let mut buffer = Aligned::new(UNIT as usize);
        fill(&mut buffer);
        let full = io::ErrorKind::StorageFull;
        self.alone(Op::Write, offset, UNIT as usize, buffer).map(|_| ()).map_err(|error| match error.kind() {
            kind if kind == full => Stop::Full(error),
            _ => Stop::Broken(format!("its first pages could not be written: {error}")),
        })
    }

    pub(crate) fn alone(&mut self, op: Op, offset: u64, bytes: usize, buffer: Aligned) -> io::Result<Aligned> {
        let device = self.device_mut();
        assert!(!device.is_busy());
        device.start(Request { op, offset, bytes, buffer, user: 0 });
        let ended = device.wait()?;
        ended.result.map(|()| ended.request.buffer)
    }
}
