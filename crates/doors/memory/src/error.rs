//! Errors, each with a one-line message.

use std::io;

use nvmm::Token;

/// The error type of all calls. Unless its variant states otherwise, the call had no effect.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{path}: {what}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The operation that failed.
        what: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another process, or another `Memory` in this one, has the memory open for writing.
    #[error("{path}: the memory is already open for writing, and only one writer is allowed")]
    Locked {
        /// The file.
        path: String,
    },
    /// The file does not begin with a superblock.
    #[error("{path}: not a memory: both copies of the superblock are {found}")]
    NotMemory {
        /// The file.
        path: String,
        /// The state of the superblocks: `missing`, `damaged` or `unrecognized`.
        found: &'static str,
    },
    /// The file was written by another version.
    #[error("{path}: the memory has format {found}, but this version supports formats 1 to {known}")]
    Format {
        /// The file.
        path: String,
        /// Its format.
        found: u32,
        /// The format that this version supports.
        known: u32,
    },
    /// Part of the file that is needed to open the memory cannot be read.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: String,
        /// A description of the damage.
        what: String,
    },
    /// The file is shorter than its superblock states.
    #[error("{path}: the file is truncated: it has {found} bytes, expected {expected}")]
    Truncated {
        /// The file.
        path: String,
        /// Bytes of the file.
        found: u64,
        /// Bytes that the memory needs.
        expected: u64,
    },
    /// The block device is too small for the new memory.
    #[error("{path}: the device has {found} bytes, but the memory needs {expected}")]
    TooSmall {
        /// The device.
        path: String,
        /// Its bytes.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// An option is invalid, or does not match the existing memory.
    #[error("{0}")]
    Option(String),
    /// The address range exceeds the memory.
    #[error("address {address:#x}: an access of {bytes} bytes exceeds the capacity of {capacity} bytes")]
    OutOfRange {
        /// First byte.
        address: u64,
        /// Length in bytes.
        bytes: u64,
        /// Capacity of the memory, in bytes.
        capacity: u64,
    },
    /// The page was never allocated or was deleted, or a rollback undid its allocation.
    #[error("address {address:#x}: its page is not allocated")]
    NotAllocated {
        /// The first requested byte in the page.
        address: u64,
    },
    /// The page's permissions do not allow the access.
    #[error("address {address:#x}: its page may not be {what}")]
    NotPermitted {
        /// The first requested byte in the page.
        address: u64,
        /// `read` or `written`.
        what: &'static str,
    },
    /// No run of free pages is long enough.
    #[error("cannot allocate {bytes} bytes: no {pages} contiguous pages are free")]
    NoPages {
        /// Requested bytes.
        bytes: u64,
        /// Pages that they take.
        pages: u64,
    },
    /// The data written and the versions that tokens keep fill the file.
    #[error("the memory is full: {0}; drop tokens or delete pages")]
    Full(String),
    /// The file system has no space. Unwritten data stays in DRAM; the call can be repeated once there is space.
    #[error("{path}: the file system is full: {source}; make room and try again")]
    DiskFull {
        /// The file.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A flash page cannot be read or fails its checksum. Other pages are not affected.
    #[error("{path}: address {address:#x}: the {bytes} bytes there cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Address of the first lost byte.
        address: u64,
        /// Number of lost bytes.
        bytes: u64,
        /// The reason.
        why: String,
    },
    /// Part of the page table cannot be read.
    #[error("{path}: a part of the page table cannot be read: {why}")]
    TableUnreadable {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The token is not live.
    #[error("token {} is not live{}", .token.0, .newest.map_or_else(String::new, |t| format!("; the newest live token is {}", t.0)))]
    UnknownToken {
        /// The token.
        token: Token,
        /// The newest live token.
        newest: Option<Token>,
    },
    /// The maximum number of tokens is live.
    #[error("the limit of {live} live tokens is reached: drop one first")]
    TooManyTokens {
        /// Number of live tokens.
        live: u32,
    },
    /// The name is invalid, taken or unknown.
    #[error("name {name:?}: {why}")]
    Name {
        /// The name.
        name: String,
        /// The reason.
        why: String,
    },
    /// A write or flush failed in a way that leaves the content of the file unknown.
    #[error("{path}: {why}: unsynced data is lost; reopen the memory")]
    Broken {
        /// The file.
        path: String,
        /// The operation that failed.
        why: String,
    },
    /// The writer ran out of space and overwrote the state that this concurrent reader had open.
    #[error(
        "{path}: the writer ran out of space and overwrote the state being read: refresh the reader, or give the memory more space"
    )]
    Stale {
        /// The file.
        path: String,
    },
    /// The memory was closed.
    #[error("{path}: the memory is closed")]
    Closed {
        /// The file.
        path: String,
    },
    /// The memory cannot be mapped for loads and stores.
    #[error("{path}: the memory cannot be mapped: {why}")]
    NotMappable {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The memory was inherited by a child process through `fork`.
    #[error("{path}: the memory was opened by process {opener} and cannot be used in this one: open it after the fork")]
    Forked {
        /// The file.
        path: String,
        /// Process ID of the opener.
        opener: u32,
    },
}
