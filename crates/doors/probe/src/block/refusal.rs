//! Why a real target is refused: one line each.

use std::path::PathBuf;

use sim::units::show_size;

/// Why a file or drive is not probed. Nothing was written to it, and nothing was switched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such file.
    #[error("{path}: found no such file, expected a file or a block device")]
    Missing {
        /// What was asked for.
        path: String,
    },
    /// It is something that takes no block requests.
    #[error("{path}: found {kind}, expected a file or a block device")]
    Kind {
        /// What was asked for.
        path: String,
        /// `a folder`, `a character device`, …
        kind: &'static str,
    },
    /// The character device of an NVMe controller or namespace.
    #[error("{path}: found the character device of an NVMe controller, expected its block device, such as {block}")]
    Controller {
        /// What was asked for.
        path: String,
        /// What could be meant.
        block: String,
    },
    /// The user may not open it.
    #[error("{path}: found no permission to {what} it, expected a user who may: root, or a member of its group")]
    Permission {
        /// What was asked for.
        path: String,
        /// `read` or `write`.
        what: &'static str,
    },
    /// A file system of it, or of a partition of its drive, is mounted.
    #[error("{path}: found {device} mounted on {at}, expected a drive that nothing uses: unmount it first")]
    Mounted {
        /// What was asked for.
        path: String,
        /// The device that is mounted.
        device: String,
        /// Where.
        at: String,
    },
    /// The kernel knows partitions of it.
    #[error(
        "{path}: found the partitions {names}, expected a drive without: name a partition that nothing uses, or wipe the \
         drive first (wipefs --all)"
    )]
    Partitions {
        /// What was asked for.
        path: String,
        /// Their names.
        names: String,
    },
    /// There is a partition table on it, though the kernel made no partitions of it.
    #[error("{path}: found a partition table ({kind}), expected a drive without: wipe it first (wipefs --all)")]
    Table {
        /// What was asked for.
        path: String,
        /// `GPT` or `MBR`.
        kind: &'static str,
    },
    /// It is swapped to.
    #[error("{path}: found {device} in use as swap, expected what nothing uses: swapoff {device} first")]
    Swap {
        /// What was asked for.
        path: String,
        /// The device or file that is swapped to.
        device: String,
    },
    /// A device of the kernel stands on it: device-mapper, md, bcache.
    #[error("{path}: found {device} in use by {holder}, expected a drive that nothing uses")]
    Held {
        /// What was asked for.
        path: String,
        /// The device that is held.
        device: String,
        /// The device that holds it.
        holder: String,
    },
    /// A loop device stands on it.
    #[error("{path}: found the loop device {device} on it, expected what nothing uses: losetup -d {device} first")]
    Loop {
        /// What was asked for.
        path: String,
        /// The loop device.
        device: String,
    },
    /// It is mounted as it is, without a loop device.
    #[error("{path}: found it mounted on {at}, expected a file that nothing uses: unmount it first")]
    MountedFile {
        /// What was asked for.
        path: String,
        /// Where.
        at: String,
    },
    /// A process holds a lock on it: a virtual machine, a database.
    #[error("{path}: found it locked by {process}, expected a file that nothing uses")]
    Locked {
        /// What was asked for.
        path: String,
        /// Who holds the lock.
        process: String,
    },
    /// The kernel says so (open with `O_EXCL`): nothing tells by whom.
    #[error("{path}: found it in use (the kernel gives it to nobody else), expected a drive that nothing uses")]
    Busy {
        /// What was asked for.
        path: String,
    },
    /// It cannot be written, and a test that writes was asked for.
    #[error("{path}: found {what} that is read-only, expected one that can be written, for {tests}")]
    ReadOnly {
        /// What was asked for.
        path: String,
        /// `a file` or `a drive`.
        what: &'static str,
        /// The tests that write.
        tests: String,
    },
    /// It holds something, and a test that writes was asked for.
    #[error(
        "{path}: found {content} on it, expected nothing that {tests} would destroy: wipe it first if it is not needed \
         (wipefs --all)"
    )]
    Content {
        /// What was asked for.
        path: String,
        /// What was recognised.
        content: &'static str,
        /// The tests that write.
        tests: String,
    },
    /// It is too small for a test.
    #[error("{path}: found {}, expected at least {} for {test}", show_size(*found), show_size(*expected))]
    TooSmall {
        /// What was asked for.
        path: String,
        /// Its bytes.
        found: u64,
        /// Bytes that the test needs.
        expected: u64,
        /// The test.
        test: String,
    },
    /// Parts of the file are not on the drive: reads of them would be answered by the file system.
    #[error(
        "{path}: found {} of it never written, expected a file that is whole on its drive: copy it with cp --sparse=never",
        show_size(*bytes)
    )]
    Sparse {
        /// What was asked for.
        path: String,
        /// Bytes in holes.
        bytes: u64,
    },
    /// Its file system has no drive below it.
    #[error("{path}: found a file on {kind}, which keeps it in memory, expected one on a drive")]
    InMemory {
        /// What was asked for.
        path: String,
        /// The file system.
        kind: &'static str,
    },
    /// The kernel would put its page cache between the probe and the drive.
    #[error(
        "{path}: found a file system{kind} that cannot bypass the page cache for it (O_DIRECT), expected one that can: a \
         probe would find the page cache of this machine"
    )]
    NoDirect {
        /// What was asked for.
        path: String,
        /// ` (TYPE)`, or nothing if it is not known.
        kind: String,
    },
    /// The file grew, shrank or became another between being looked at and being opened, or the drive did.
    #[error("{path}: found another file or drive than a moment ago, expected one that nothing replaces")]
    Changed {
        /// What was asked for.
        path: String,
    },
    /// Something that is needed could not be read.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        cause: String,
    },
    /// The user confirmed another drive.
    #[error("--confirm: found `{found}`, expected {expected}")]
    Unconfirmed {
        /// What was typed.
        found: String,
        /// What names the target: `the serial number of PATH, MODEL of SIZE`, or a path.
        expected: String,
    },
}

impl Refusal {
    /// Something that is needed could not be read.
    pub(crate) fn io(path: impl Into<PathBuf>, error: impl ToString) -> Refusal {
        Refusal::Io { path: path.into(), cause: error.to_string() }
    }
}
