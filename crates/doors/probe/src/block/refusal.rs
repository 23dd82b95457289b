//! Reasons for refusing a real target, one line each.

use std::path::PathBuf;

use sim::units::show_size;

/// Reason why a file or drive is not probed. Nothing was written to it, and nothing was switched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The path does not exist.
    #[error("{path}: found no such file, expected a file or a block device")]
    Missing {
        /// The path as given by the user.
        path: String,
    },
    /// The path is neither a file nor a block device.
    #[error("{path}: found {kind}, expected a file or a block device")]
    Kind {
        /// The path as given by the user.
        path: String,
        /// `a folder`, `a character device`, …
        kind: &'static str,
    },
    /// The character device of an NVMe controller or namespace.
    #[error("{path}: found the character device of an NVMe controller, expected its block device, such as {block}")]
    Controller {
        /// The path as given by the user.
        path: String,
        /// The block device that was probably meant.
        block: String,
    },
    /// The user has no permission to open it.
    #[error(
        "{path}: found no permission to {what} it, expected a user with permission: root, or a member of its group"
    )]
    Permission {
        /// The path as given by the user.
        path: String,
        /// `read` or `write`.
        what: &'static str,
    },
    /// A file system on the drive or on one of its partitions is mounted.
    #[error("{path}: found {device} mounted on {at}, expected a drive that nothing uses: unmount it first")]
    Mounted {
        /// The path as given by the user.
        path: String,
        /// The device that is mounted.
        device: String,
        /// The mount point.
        at: String,
    },
    /// The kernel knows partitions of the drive.
    #[error(
        "{path}: found the partitions {names}, expected a drive without partitions: name a partition that nothing uses, or wipe the \
         drive first (wipefs --all)"
    )]
    Partitions {
        /// The path as given by the user.
        path: String,
        /// The names of the partitions.
        names: String,
    },
    /// The drive has a partition table, although the kernel created no partitions from it.
    #[error("{path}: found a partition table ({kind}), expected a drive without one: wipe it first (wipefs --all)")]
    Table {
        /// The path as given by the user.
        path: String,
        /// `GPT` or `MBR`.
        kind: &'static str,
    },
    /// The target is used as swap space.
    #[error("{path}: found {device} in use as swap, expected an unused file or drive: swapoff {device} first")]
    Swap {
        /// The path as given by the user.
        path: String,
        /// The swap device or file.
        device: String,
    },
    /// A kernel device is stacked on the drive: device-mapper, md, bcache.
    #[error("{path}: found {device} in use by {holder}, expected a drive that nothing uses")]
    InUse {
        /// The path as given by the user.
        path: String,
        /// The device in use.
        device: String,
        /// The device stacked on it.
        holder: String,
    },
    /// A loop device uses the target.
    #[error(
        "{path}: found the loop device {device} on it, expected an unused file or drive: losetup -d {device} first"
    )]
    Loop {
        /// The path as given by the user.
        path: String,
        /// The loop device.
        device: String,
    },
    /// The file is mounted directly, without a loop device.
    #[error("{path}: found it mounted on {at}, expected a file that nothing uses: unmount it first")]
    MountedFile {
        /// The path as given by the user.
        path: String,
        /// The mount point.
        at: String,
    },
    /// A process holds a lock on the file: a virtual machine, a database.
    #[error("{path}: found it locked by {process}, expected a file that nothing uses")]
    Locked {
        /// The path as given by the user.
        path: String,
        /// The process that holds the lock.
        process: String,
    },
    /// The kernel refuses exclusive access (open with `O_EXCL`) without naming the user.
    #[error("{path}: found it in use (the kernel refuses exclusive access), expected a drive that nothing uses")]
    Busy {
        /// The path as given by the user.
        path: String,
    },
    /// The target is read-only, and a test that writes was requested.
    #[error("{path}: found {what} that is read-only, expected one that can be written, for {tests}")]
    ReadOnly {
        /// The path as given by the user.
        path: String,
        /// `a file` or `a drive`.
        what: &'static str,
        /// The tests that write.
        tests: String,
    },
    /// The target holds recognizable data, and a test that writes was requested.
    #[error(
        "{path}: found {content} on it, expected nothing that {tests} would destroy: wipe it first if it is not needed \
         (wipefs --all)"
    )]
    Content {
        /// The path as given by the user.
        path: String,
        /// The recognized content.
        content: &'static str,
        /// The tests that write.
        tests: String,
    },
    /// The target is too small for a test.
    #[error("{path}: found {}, expected at least {} for {test}", show_size(*found), show_size(*expected))]
    TooSmall {
        /// The path as given by the user.
        path: String,
        /// Its bytes.
        found: u64,
        /// Bytes that the test needs.
        expected: u64,
        /// The test.
        test: String,
    },
    /// Parts of the file are not on the drive; the file system would serve reads of them itself.
    #[error(
        "{path}: found {} of it never written, expected a file without holes: copy it with cp --sparse=never",
        show_size(*bytes)
    )]
    Sparse {
        /// The path as given by the user.
        path: String,
        /// Bytes in holes.
        bytes: u64,
    },
    /// The file system has no drive below it.
    #[error("{path}: found a file on {kind}, which is in memory, expected one on a drive")]
    InMemory {
        /// The path as given by the user.
        path: String,
        /// The file system.
        kind: &'static str,
    },
    /// The kernel would place its page cache between the probe and the drive.
    #[error(
        "{path}: found a file system{kind} that cannot bypass the page cache (O_DIRECT), expected one that can: otherwise \
             the probe would measure this machine's page cache"
    )]
    NoDirect {
        /// The path as given by the user.
        path: String,
        /// ` (TYPE)`, or empty if the type is unknown.
        kind: String,
    },
    /// The target is on a loop device that uses the kernel's page cache.
    #[error(
        "{path}: found the loop device /dev/{device} without direct I/O, expected one that bypasses the page cache: losetup \
         --direct-io=on /dev/{device} first"
    )]
    BufferedLoop {
        /// The path as given by the user.
        path: String,
        /// The name of the loop device.
        device: String,
    },
    /// The file or drive was resized or replaced between its inspection and its opening.
    #[error("{path}: found that the file or drive changed since it was inspected, expected the same one")]
    Changed {
        /// The path as given by the user.
        path: String,
    },
    /// A required file could not be read.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error that the kernel reported.
        cause: String,
    },
    /// The user typed the wrong key.
    #[error("--confirm: found `{found}`, expected {expected}")]
    Unconfirmed {
        /// The text that was typed.
        found: String,
        /// A description of the key: `the serial number of PATH (MODEL, SIZE)`, or a path.
        expected: String,
    },
}

impl Refusal {
    /// Creates a refusal for a required file that could not be read.
    pub(crate) fn io(path: impl Into<PathBuf>, error: impl ToString) -> Refusal {
        Refusal::Io { path: path.into(), cause: error.to_string() }
    }
}
