//! Inspects a real target before any test: what it is, whether it may be probed, and the key that its user must type
//! before it is written.

use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sim::units::show_size;

use super::content::{self, INSPECTED_BYTES};
use super::disk::{Disk, Medium, Number};
use super::file::{direct_alignment, holes, in_memory};
use super::refusal::Refusal;
use super::roots::Roots;
use super::usage::{self, Mount};

/// A file or drive that may be read. A drive is not kept open.
#[derive(Debug)]
pub struct Found {
    path: String,
    canonical: PathBuf,
    kind: TargetKind,
    capacity_bytes: u64,
    block_bytes: u64,
    roots: Roots,
    /// Recognized content, from the first bytes.
    content: Option<&'static str>,
    /// The kernel's identity of the target, to verify that the target opened later is the same.
    identity: Identity,
}

/// A plain file, or a drive.
#[derive(Debug)]
pub(crate) enum TargetKind {
    /// A file with its mount and the drive below. The open descriptor prevents the inode number from being reused.
    File { mount: Option<Mount>, below: Option<Disk>, read_only: bool, _held: File },
    /// A block device and the identity of its medium.
    Drive(Disk, Medium),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
}

impl Identity {
    fn of(data: &Metadata) -> Identity {
        // The node of a device may be recreated; only the device number counts.
        if data.file_type().is_block_device() {
            return Identity { device: data.rdev(), inode: 0, bytes: 0 };
        }
        Identity { device: data.dev(), inode: data.ino(), bytes: data.len() }
    }
}

/// Proof that the user typed the key of a target; holds that key. Required to open the target for writing.
#[derive(Debug)]
pub struct Confirmed(String);

impl Found {
    /// Inspects a path: opens it for reading and reads its first bytes. A drive is closed again.
    ///
    /// # Errors
    /// Any reason that forbids probing, even with read-only tests.
    pub fn inspect(path: &str, roots: &Roots) -> Result<Found, Refusal> {
        let canonical = usage::canonical(path)?;
        let data = canonical.metadata().map_err(|error| Refusal::io(path, error))?;
        let kind = data.file_type();
        let refused = |kind| Err(Refusal::Kind { path: path.to_owned(), kind });
        if kind.is_block_device() {
            let number = (rustix::fs::major(data.rdev()), rustix::fs::minor(data.rdev()));
            return Found::drive(path, canonical, number, Identity::of(&data), roots);
        }
        if kind.is_file() {
            return Found::file(path, canonical, &data, roots);
        }
        if kind.is_char_device() {
            let name = canonical.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.strip_prefix("nvme").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                return Err(Refusal::Controller { path: path.to_owned(), block: format!("/dev/{name}n1") });
            }
            return refused("a character device");
        }
        refused(if kind.is_dir() {
            "a folder"
        } else if kind.is_fifo() {
            "a pipe"
        } else {
            "a socket"
        })
    }

    fn drive(path: &str, canonical: PathBuf, of: Number, identity: Identity, roots: &Roots) -> Result<Found, Refusal> {
        let unknown =
            |what: &str| Refusal::io(path, format!("{}:{}: {what} is not in {}", of.0, of.1, roots.sys.display()));
        let disk = Disk::of(roots, of).ok_or_else(|| unknown("its device"))?;
        let medium = disk.medium();
        usage::check_drive(roots, path, &disk)?;
        usage::check_loop(path, &disk)?;
        if !disk.is_partition() && !disk.partitions().is_empty() {
            return Err(Refusal::Partitions { path: path.to_owned(), names: disk.partitions().join(", ") });
        }
        let capacity_bytes = disk.bytes().ok_or_else(|| unknown("its size"))?;
        let block_bytes = disk.queue_number("logical_block_size").ok_or_else(|| unknown("its logical block"))?;
        let start = start_of(&open(path, &canonical, identity, false)?, path)?;
        if let Some(kind) = content::partition_table(&start) {
            return Err(Refusal::Table { path: path.to_owned(), kind });
        }
        let content = content::recognized(&start);
        let (path, kind, roots) = (path.to_owned(), TargetKind::Drive(disk, medium), roots.clone());
        Ok(Found { path, canonical, kind, capacity_bytes, block_bytes, roots, content, identity })
    }

    fn file(path: &str, canonical: PathBuf, data: &Metadata, roots: &Roots) -> Result<Found, Refusal> {
        usage::check_file(roots, path, &canonical)?;
        let number = (rustix::fs::major(data.dev()), rustix::fs::minor(data.dev()));
        let mount = usage::mount_of(roots, number)?;
        let plain = File::open(&canonical).map_err(|error| refused(path, "read", &error))?;
        let identity = Identity::of(&plain.metadata().map_err(|error| Refusal::io(path, error))?);
        in_memory(path, &plain)?;
        let block_bytes = direct_alignment(path, &plain, mount.as_ref())?;
        let capacity_bytes = data.len() / block_bytes * block_bytes;
        let holes = holes(path, &plain, capacity_bytes)?;
        if holes > 0 {
            return Err(Refusal::Sparse { path: path.to_owned(), bytes: holes });
        }
        let start = start_of(&plain, path)?;
        let content = match content::partition_table(&start) {
            Some("GPT") => Some("a partition table (GPT)"),
            Some(_) => Some("a partition table (MBR)"),
            None => content::recognized(&start),
        };
        let below = Disk::of(roots, number);
        below.as_ref().map_or(Ok(()), |disk| usage::check_loop(path, disk))?;
        let read_only = data.mode() & 0o222 == 0;
        let (path, kind) = (path.to_owned(), TargetKind::File { mount, below, read_only, _held: plain });
        let roots = roots.clone();
        Ok(Found { path, canonical, kind, capacity_bytes, block_bytes, roots, content, identity })
    }

    /// Returns the path as given by the user.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the usable bytes of the target.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Returns the alignment of offsets and lengths in bytes.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    pub(crate) fn kind(&self) -> &TargetKind {
        &self.kind
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Returns the drive, or `None` for a file.
    pub fn disk(&self) -> Option<&Disk> {
        match &self.kind {
            TargetKind::Drive(disk, _) => Some(disk),
            TargetKind::File { .. } => None,
        }
    }

    /// Checks that the target has at least `expected` bytes, as required by `test`.
    ///
    /// # Errors
    /// If the target is smaller.
    pub fn check_size(&self, test: &str, expected: u64) -> Result<(), Refusal> {
        if self.capacity_bytes >= expected {
            return Ok(());
        }
        let (path, found, test) = (self.path.clone(), self.capacity_bytes, test.to_owned());
        Err(Refusal::TooSmall { path, found, expected, test })
    }

    /// Checks whether `tests` may write to the target once its user has confirmed. Does not open it for writing.
    ///
    /// # Errors
    /// If the target is read-only, this user has no write permission, or the target holds recognizable data.
    pub fn check_writes(&self, tests: &str) -> Result<(), Refusal> {
        let (path, tests) = (|| self.path.clone(), || tests.to_owned());
        let (what, read_only) = match &self.kind {
            TargetKind::File { read_only, .. } => ("a file", *read_only),
            TargetKind::Drive(disk, _) => ("a drive", disk.is_read_only()),
        };
        if read_only {
            return Err(Refusal::ReadOnly { path: path(), what, tests: tests() });
        }
        match usage::may_write(&self.canonical) {
            Err(rustix::io::Errno::ROFS) => return Err(Refusal::ReadOnly { path: path(), what, tests: tests() }),
            Err(_) => return Err(Refusal::Permission { path: path(), what: "write" }),
            Ok(()) => {}
        }
        match self.content {
            Some(content) => Err(Refusal::Content { path: path(), content, tests: tests() }),
            None => Ok(()),
        }
    }

    /// Returns the key that must be typed before the target is written: the serial number of a drive, or the canonical
    /// path of a file or of a drive without a serial number.
    pub fn key(&self) -> String {
        let serial = self.disk().and_then(Disk::serial);
        serial.unwrap_or_else(|| self.canonical.to_string_lossy().into_owned())
    }

    /// Describes the key without revealing a serial number: `the serial number of /dev/nvme0n1 (MODEL, SIZE)`.
    pub fn key_description(&self) -> String {
        let size = show_size(self.capacity_bytes);
        match self.disk() {
            Some(disk) if disk.serial().is_some() => {
                let model = disk.model().map_or_else(String::new, |model| format!("{model}, "));
                format!("the serial number of {} ({model}{size})", self.path)
            }
            Some(_) => format!("the path of the drive, which has no serial number: {}", self.canonical.display()),
            None => format!("the file's path from the root: {}", self.canonical.display()),
        }
    }

    /// Compares `typed` with the key.
    ///
    /// # Errors
    /// If `typed` differs from [`Found::key`].
    pub fn confirm(&self, typed: &str) -> Result<Confirmed, Refusal> {
        if typed == self.key() {
            return Ok(Confirmed(typed.to_owned()));
        }
        Err(Refusal::Unconfirmed { found: typed.to_owned(), expected: self.key_description() })
    }

    /// Opens the target for direct I/O, and a drive exclusively, so that nothing can mount it meanwhile. Checks for
    /// other users again.
    ///
    /// # Errors
    /// If the target was replaced or is now in use, or the kernel refuses.
    pub(crate) fn open(&self, write: Option<&Confirmed>) -> Result<File, Refusal> {
        match &self.kind {
            TargetKind::File { .. } => usage::check_file(&self.roots, &self.path, &self.canonical)?,
            TargetKind::Drive(disk, _) => usage::check_drive(&self.roots, &self.path, disk)?,
        }
        let file = open(&self.path, &self.canonical, self.identity, write.is_some())?;
        // Checked while the drive is open: while the user typed, the drive may have been unplugged and its name reused.
        let another = match &self.kind {
            TargetKind::File { .. } => false,
            TargetKind::Drive(disk, medium) => disk.medium() != *medium,
        };
        if another || write.is_some_and(|confirmed| confirmed.0 != self.key()) {
            return Err(Refusal::Changed { path: self.path.clone() });
        }
        Ok(file)
    }
}

fn open(shown: &str, path: &Path, identity: Identity, write: bool) -> Result<File, Refusal> {
    let drive = identity.inode == 0;
    let flags = OFlags::DIRECT | OFlags::CLOEXEC | if drive { OFlags::EXCL } else { OFlags::empty() };
    let flags = flags.bits().cast_signed();
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path).map_err(|error| {
        if error.kind() == ErrorKind::ResourceBusy {
            return Refusal::Busy { path: shown.to_owned() };
        }
        refused(shown, if write { "write" } else { "read" }, &error)
    })?;
    let found = file.metadata().map_err(|error| Refusal::io(shown, error))?;
    if Identity::of(&found) != identity {
        return Err(Refusal::Changed { path: shown.to_owned() });
    }
    Ok(file)
}

fn refused(path: &str, what: &'static str, error: &std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::PermissionDenied => Refusal::Permission { path: path.to_owned(), what },
        _ => Refusal::io(path, error),
    }
}

/// Reads the first bytes into an aligned buffer, since the descriptor may bypass the page cache.
fn start_of(file: &File, path: &str) -> Result<Vec<u8>, Refusal> {
    let mut buffers = super::buffers::Buffers::new(0);
    buffers.reserve(1, INSPECTED_BYTES);
    let buffer = buffers.get(0, INSPECTED_BYTES);
    let read = file.read_at(buffer, 0).map_err(|error| Refusal::io(path, error))?;
    Ok(buffer[..read].to_vec())
}
