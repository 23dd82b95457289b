//! Codes of errors, as `nandram.h` has them.

use memory::Error;

/// What a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Code {
    /// It is done.
    Ok = 0,
    /// An argument is no pointer or no text.
    Argument = 1,
    /// The system refused.
    Io = 2,
    /// It is open elsewhere.
    Locked = 3,
    /// It does not begin as a memory does.
    NotMemory = 4,
    /// Of another version.
    Format = 5,
    /// It cannot be opened.
    Damaged = 6,
    /// The file is too short.
    Truncated = 7,
    /// The device is too small.
    TooSmall = 8,
    /// What it is made or opened with does not work.
    Option = 9,
    /// Beyond the memory.
    OutOfRange = 10,
    /// The page is not there.
    NotAllocated = 11,
    /// No permission.
    NotPermitted = 12,
    /// No run of pages is so long.
    NoPages = 13,
    /// What tokens keep fills the file.
    Full = 14,
    /// The file system has no room.
    DiskFull = 15,
    /// A page cannot be read.
    Unreadable = 16,
    /// A part of the table cannot be read.
    TableUnreadable = 17,
    /// The token stands for nothing.
    UnknownToken = 18,
    /// No more tokens can be live.
    TooManyTokens = 19,
    /// The name is taken, or cannot be one.
    Name = 20,
    /// Nobody knows what is in the file.
    Broken = 21,
    /// What is read was overwritten.
    Stale = 22,
    /// Another process opened it.
    Forked = 23,
    /// It was closed.
    Closed = 24,
    /// Loads and stores cannot be served.
    NotMappable = 25,
}

impl Code {
    pub(crate) fn of(error: &Error) -> Code {
        match error {
            Error::Io { .. } => Code::Io,
            Error::Locked { .. } => Code::Locked,
            Error::NotMemory { .. } => Code::NotMemory,
            Error::Format { .. } => Code::Format,
            Error::Damaged { .. } => Code::Damaged,
            Error::Truncated { .. } => Code::Truncated,
            Error::TooSmall { .. } => Code::TooSmall,
            Error::Option(_) => Code::Option,
            Error::OutOfRange { .. } => Code::OutOfRange,
            Error::NotAllocated { .. } => Code::NotAllocated,
            Error::NotPermitted { .. } => Code::NotPermitted,
            Error::NoPages { .. } => Code::NoPages,
            Error::Full(_) => Code::Full,
            Error::DiskFull { .. } => Code::DiskFull,
            Error::Unreadable { .. } => Code::Unreadable,
            Error::TableUnreadable { .. } => Code::TableUnreadable,
            Error::UnknownToken { .. } => Code::UnknownToken,
            Error::TooManyTokens { .. } => Code::TooManyTokens,
            Error::Name { .. } => Code::Name,
            Error::Broken { .. } => Code::Broken,
            Error::Stale { .. } => Code::Stale,
            Error::Forked { .. } => Code::Forked,
            Error::Closed { .. } => Code::Closed,
            Error::NotMappable { .. } => Code::NotMappable,
        }
    }
}
