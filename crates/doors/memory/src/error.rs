//! What can go wrong, each in one line.

use std::io;

use nvmm::Token;

/// Why something is not done. Nothing of it is, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("{path}: {what}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Another process, or another `Memory` of this one, has it open.
    #[error("{path}: the memory is open elsewhere, and has one writer at a time")]
    Locked {
        /// The file.
        path: String,
    },
    /// It does not begin as a memory does.
    #[error("{path}: this is not a memory: both copies of its superblock are {found}")]
    NotMemory {
        /// The file.
        path: String,
        /// What is there.
        found: &'static str,
    },
    /// Written by another version.
    #[error("{path}: the memory has format {found}, and this program knows format {known}")]
    Format {
        /// The file.
        path: String,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Something in the file cannot be read, without which it cannot be opened.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: String,
        /// What.
        what: String,
    },
    /// It is shorter than it says it is.
    #[error("{path}: the file has {found} bytes, the memory in it {expected}: it was truncated")]
    Truncated {
        /// The file.
        path: String,
        /// Bytes of the file.
        found: u64,
        /// Bytes that the memory takes.
        expected: u64,
    },
    /// A device that is too small for what is to be made on it.
    #[error("{path}: the device has {found} bytes, {expected} are needed")]
    TooSmall {
        /// The device.
        path: String,
        /// Its bytes.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// What a memory is made or opened with does not work.
    #[error("{0}")]
    Option(String),
    /// An address that is beyond the memory.
    #[error("address {address:#x}: {bytes} bytes from there are not within the memory's {capacity}")]
    OutOfRange {
        /// First byte.
        address: u64,
        /// How many.
        bytes: u64,
        /// Bytes that the memory has.
        capacity: u64,
    },
    /// Nobody allocated it, or it was deleted, or a rollback went back before it.
    #[error("address {address:#x}: its page is not allocated")]
    NotAllocated {
        /// The page's first byte that was wanted.
        address: u64,
    },
    /// No permission.
    #[error("address {address:#x}: its page may not be {what}")]
    NotPermitted {
        /// The page's first byte that was wanted.
        address: u64,
        /// `read` or `written`.
        what: &'static str,
    },
    /// No run of free pages is so long.
    #[error("{bytes} bytes cannot be allocated: no {pages} pages in a row are free")]
    NoPages {
        /// Bytes.
        bytes: u64,
        /// As pages.
        pages: u64,
    },
    /// What is written, and what tokens keep, fills the file.
    #[error("the memory is full: {0}; drop tokens or delete pages")]
    Full(String),
    /// The file system has no room. What was written stays in DRAM: the call may be made again when there is room.
    #[error("{path}: the file system is full: {source}; make room and try again")]
    DiskFull {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A page that cannot be read, or whose checksum does not match. All others can be.
    #[error("{path}: address {address:#x}: the {bytes} bytes there cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// First byte of what is lost.
        address: u64,
        /// How many.
        bytes: u64,
        /// Why.
        why: String,
    },
    /// A part of the page table cannot be read.
    #[error("{path}: a part of the page table cannot be read: {why}")]
    TableUnreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// A token that stands for nothing.
    #[error("token {} stands for no state that is kept{}", .token.0, .newest.map_or_else(String::new, |t| format!("; the newest that does is {}", t.0)))]
    UnknownToken {
        /// The token.
        token: Token,
        /// The newest that is live.
        newest: Option<Token>,
    },
    /// No more tokens can be kept.
    #[error("{live} tokens are live, and no more can be: drop one first")]
    TooManyTokens {
        /// How many are.
        live: u32,
    },
    /// A name that cannot be one.
    #[error("name {name:?}: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Writing or flushing failed in a way after which nobody knows what is in the file.
    #[error("{path}: {why}: what was not synced is lost; open the memory again")]
    Broken {
        /// The file.
        path: String,
        /// What failed.
        why: String,
    },
    /// A reader beside the writer, whose state the writer had to give up for want of room.
    #[error(
        "{path}: what is read was overwritten, for the writer had no other room: open it again, or give the memory more space"
    )]
    Stale {
        /// The file.
        path: String,
    },
    /// It was closed.
    #[error("{path}: the memory is closed")]
    Closed {
        /// The file.
        path: String,
    },
    /// Loads and stores cannot be served.
    #[error("{path}: the memory cannot be mapped: {why}")]
    NotMappable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// A child process got it by `fork`.
    #[error("{path}: the memory was opened by process {opener}, and is not this one's: open it after the fork")]
    Forked {
        /// The file.
        path: String,
        /// Who opened it.
        opener: u32,
    },
}
