//! Creates and opens stores, and serves drives from them.

use std::cmp::Ordering;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guest::{Drive, Flash, GuestMemory, Options};
use media::{BlockAddr, PageAddr, Status};
use nand::Store;
use rustix::fs::{FlockOperation, OFlags, flock};
use sim::{Streams, Time};
use storage::Mirror;
use system::System;
use system::parts::{Parts, Translation};

use crate::layout::{ALIGN, DriveState, Identity, Layout, Sector};
use crate::load::Loader;
use crate::tail::{self, Tail};
use crate::{FlashFile, StoreError};

/// Whether a store may be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An existing store is opened, a missing one is created.
    OpenOrCreate,
    /// The store must exist.
    Open,
    /// The store must not exist.
    Create,
}

/// The file behind a drive.
#[derive(Clone, Debug)]
pub struct Kept(Arc<Mutex<FlashFile>>);

impl Kept {
    fn lock(&self) -> MutexGuard<'_, FlashFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the message to the user after the file could no longer be written, or could be written again. The drive goes
    /// on in between, but commands that change flash fail.
    pub fn take_notice(&self) -> Option<String> {
        self.lock().take_notice()
    }

    /// Writes the protected buffers and the counters of `drive`, whose file this is and whose host is gone, and makes
    /// everything durable.
    ///
    /// # Errors
    /// Fails if the file cannot be written. It then has at least all that was flushed successfully.
    pub fn close(&self, drive: &mut Drive) -> Result<(), StoreError> {
        drive.save_state();
        drive.run_out();
        let mut file = self.lock();
        file.close(drive.machine().nand().store(), drive.machine().ftl().oldest_sequence());
        file.failure().map_or(Ok(()), Err)
    }
}

impl Mirror for Kept {
    fn page(&mut self, store: &Store, page: PageAddr) {
        self.lock().page(store, page);
    }

    fn block(&mut self, store: &Store, block: BlockAddr) {
        self.lock().block(store, block);
    }

    fn all(&mut self, store: &Store) {
        self.lock().all(store);
    }

    fn follow(&mut self, store: &Store) -> Status {
        self.lock().follow(store)
    }

    fn barrier(&mut self, store: &Store, oldest: u64) -> Status {
        self.lock().barrier(store, oldest)
    }
}

/// Creates the drive of `system` over the flash in the file at `path`.
///
/// # Errors
/// Fails if the file is in use, damaged, unreadable or of another system, or the drive cannot be created. A store on a full
/// disk opens; see [`Kept::take_notice`].
pub fn open(
    system: &System,
    options: &Options,
    memory: Box<dyn GuestMemory>,
    path: &Path,
    mode: Mode,
) -> Result<(Drive, Kept), StoreError> {
    let mut kept = None;
    let drive = Drive::with_flash(system, options, memory, |parts, fresh| {
        let (store, file) = open_flash(system, parts, fresh, path, mode)?;
        let state = file.state().text.clone();
        let file = Kept(Arc::new(Mutex::new(file)));
        kept = Some(file.clone());
        let saver = file.clone();
        let save = Box::new(move |text: &str| saver.lock().set_text(text));
        Ok::<_, StoreError>(Flash { store, mirror: Some(Box::new(file)), state: Some(state), save: Some(save) })
    });
    let drive = drive.map_err(|error| match error {
        StoreError::Drive(guest::DriveError::State(_)) => {
            let what = "saved state of the controller".to_owned();
            StoreError::Damaged { path: path.to_owned(), what, offset: ALIGN as u64 }
        }
        other => other,
    })?;
    Ok((drive, kept.expect("the drive has its flash")))
}

/// Writes the store at `path` that `drive` would leave if its power were cut at its last event: programs and erases in
/// the arrays are torn.
///
/// # Errors
/// Fails if the file exists or cannot be written, or the drive cannot be cut.
pub fn cut(system: &System, drive: &Drive, now: Time, path: &Path) -> Result<(), StoreError> {
    let machine = drive.machine();
    let (layout, identity) = (Layout::new(machine.nand().store().geometry()), identity(system, machine.nand().store()));
    let (file, _) = open_file(path, Mode::Create)?;
    let mut file = create(file, path, layout, &identity, machine.nand().store())?;
    // The copy is read back, so that what is torn in it is torn by the rules of the medium.
    let mut copy = drive.fresh_store();
    loader(path, layout, 0)?.load(&mut copy)?;
    copy.set_clock_s(machine.nand().store().clock_s().max(copy.clock_s()));
    for torn in machine.tear_copy(now, &mut copy) {
        match torn {
            nand::Torn::Program(_, page) => file.page(&copy, page),
            nand::Torn::Erase(_, block) => file.block(&copy, block),
        }
    }
    file.set_text(&drive.state_text());
    file.failure().map_or(Ok(()), Err)
}

/// Opens or creates the file. Returns the flash in it.
pub(crate) fn open_flash(
    system: &System,
    parts: &Parts,
    mut fresh: Store,
    path: &Path,
    mode: Mode,
) -> Result<(Store, FlashFile), StoreError> {
    let (layout, identity) = (Layout::new(&parts.nand.geometry), identity(system, &fresh));
    let (file, is_new) = open_file(path, mode)?;
    if is_new || is_unfinished(&file, path, layout)? {
        let file = create(file, path, layout, &identity, &fresh)?;
        return Ok((fresh, file));
    }
    let mut sector = direct::Aligned::new(ALIGN);
    let mut read = |at: u64| -> Result<Sector, StoreError> {
        file.read_exact_at(&mut sector, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => foreign(path, "a shorter file".to_owned()),
            _ => StoreError::io(path, "cannot be read")(error),
        })?;
        Ok(std::array::from_fn(|i| sector[i]))
    };
    let found = Identity::parse(&read(0)?).map_err(|found| foreign(path, found))?;
    if (&found.hash, found.geometry, found.order) != (&identity.hash, identity.geometry, identity.order) {
        let (found, expected) = (found.name(), identity.name());
        return Err(StoreError::System { path: path.to_owned(), found, expected });
    }
    let states = [DriveState::parse(&read(ALIGN as u64)?), DriveState::parse(&read(2 * ALIGN as u64)?)];
    let damaged = |what: &str, offset| StoreError::Damaged { path: path.to_owned(), what: what.to_owned(), offset };
    let state = states.into_iter().flatten().max_by_key(|state| state.generation);
    let state = state.ok_or_else(|| damaged("both states of the drive", ALIGN as u64))?;
    settle_tail(&file, path, layout)?;
    let erased_until = fresh.clock_s();
    let cut_off = loader(path, layout, state.sealed)?.load(&mut fresh)?;
    match Translation::contradiction(parts, &fresh, &Streams::new(1)) {
        Ok(None) => {}
        Ok(Some(what)) => return Err(StoreError::Impossible { path: path.to_owned(), what }),
        Err(error) => return Err(StoreError::Drive(error.into())),
    }
    fresh.set_clock_s(state.clock_s.max(fresh.clock_s()).max(erased_until));
    let mut file = FlashFile::new(file, path, layout, state);
    file.write_table(&fresh);
    file.settle(&fresh, &cut_off);
    Ok((fresh, file))
}

/// Makes the changes that an earlier server has left behind the pages. Afterwards the file has its length.
fn settle_tail(file: &File, path: &Path, layout: Layout) -> Result<(), StoreError> {
    let begin = layout.bytes();
    let length = file.metadata().map_err(StoreError::io(path, "cannot be read"))?.len();
    let damaged = |what: String, offset| StoreError::Damaged { path: path.to_owned(), what, offset };
    let found = match length.cmp(&begin) {
        Ordering::Equal => return Ok(()),
        Ordering::Less => Tail::Foreign,
        Ordering::Greater => tail::find(file, begin).map_err(StoreError::io(path, "cannot be read"))?,
    };
    let settled = match found {
        Tail::Incomplete => tail::remove(file, begin),
        Tail::Complete(records) => tail::apply(file, begin, records, layout.page),
        Tail::Foreign => return Err(damaged(format!("length {length}, expected {begin}"), length.min(begin))),
    };
    settled.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            damaged("changes behind the pages".to_owned(), begin)
        }
        _ => StoreError::io(path, "cannot be written")(error),
    })
}

fn identity(system: &System, store: &Store) -> Identity {
    Identity {
        geometry: *store.geometry(),
        order: store.order(),
        hash: system.hash_of(&["flash", "ftl", "device"]),
        title: system.title.clone(),
    }
}

/// Writes a new store.
fn create(
    file: File,
    path: &Path,
    layout: Layout,
    identity: &Identity,
    store: &Store,
) -> Result<FlashFile, StoreError> {
    file.set_len(layout.bytes()).map_err(StoreError::io(path, "cannot be created"))?;
    let mut file = FlashFile::new(file, path, layout, DriveState { clock_s: store.clock_s(), ..DriveState::default() });
    file.all(store);
    file.set_text("");
    file.write_header(identity);
    file.failure().map_or(Ok(file), Err)
}

fn loader(path: &Path, layout: Layout, sealed: u64) -> Result<Loader, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path, "cannot be read"))?;
    Ok(Loader::new(file, path, layout, sealed))
}

/// Opens and locks the file, past the page cache if the file system supports it. Returns true with a new file.
fn open_file(path: &Path, mode: Mode) -> Result<(File, bool), StoreError> {
    let options = |flags: OFlags| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags.bits().cast_signed());
        options
    };
    let mut is_new = false;
    if mode != Mode::Open {
        match options(OFlags::empty()).create_new(true).open(path) {
            Ok(_) => is_new = true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && mode == Mode::OpenOrCreate => {}
            Err(error) => return Err(StoreError::io(path, "cannot be created")(error)),
        }
    }
    let kind = std::fs::metadata(path).map_err(StoreError::io(path, "cannot be opened"))?.file_type();
    if !kind.is_file() {
        return Err(foreign(path, if kind.is_dir() { "a folder" } else { "a device or a pipe" }.to_owned()));
    }
    let direct = options(OFlags::DIRECT).open(path);
    let file = direct.or_else(|_| options(OFlags::empty()).open(path));
    let file = file.map_err(StoreError::io(path, "cannot be opened"))?;
    // A killed server's descriptors may need a moment to close.
    for wait in (0..=25).rev() {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) if wait > 0 => std::thread::sleep(Duration::from_millis(20)),
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(StoreError::Locked(path.to_owned())),
            Err(error) => return Err(StoreError::io(path, "cannot be locked")(error.into())),
        }
    }
    Ok((file, is_new))
}

/// Returns true for an empty file, and for a store whose creation was interrupted.
fn is_unfinished(file: &File, path: &Path, layout: Layout) -> Result<bool, StoreError> {
    let fail = || StoreError::io(path, "cannot be read");
    let length = file.metadata().map_err(fail())?.len();
    if length == 0 {
        return Ok(true);
    }
    let mut header = direct::Aligned::new(ALIGN);
    if length != layout.bytes() {
        return Ok(false);
    }
    file.read_exact_at(&mut header, 0).map_err(fail())?;
    Ok(header.iter().all(|byte| *byte == 0))
}

fn foreign(path: &Path, found: String) -> StoreError {
    StoreError::Foreign { path: path.to_owned(), found }
}

/// The random streams of a drive.
pub(crate) fn streams(options: &Options) -> Streams {
    Streams::new(options.seed)
}
