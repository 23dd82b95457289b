//! The error codes of `nandram.h`.

use memory::Error;

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Code {
    /// Success.
    Ok = 0,
    /// An argument is NULL, invalid, or not UTF-8.
    Argument = 1,
    /// A system call failed.
    Io = 2,
    /// The memory is open for writing elsewhere.
    Locked = 3,
    /// The file is not a memory.
    NotMemory = 4,
    /// The file was written by another version.
    Format = 5,
    /// The memory is too damaged to be opened.
    Damaged = 6,
    /// The file is too short.
    Truncated = 7,
    /// The device is too small.
    TooSmall = 8,
    /// An option is invalid or does not match the memory.
    Option = 9,
    /// The address range exceeds the memory.
    OutOfRange = 10,
    /// The page is not allocated.
    NotAllocated = 11,
    /// The page's permissions do not allow the access.
    NotPermitted = 12,
    /// No run of free pages is long enough.
    NoPages = 13,
    /// The data written and the versions that tokens keep fill the file.
    Full = 14,
    /// The file system has no space.
    DiskFull = 15,
    /// Data cannot be read.
    Unreadable = 16,
    /// Part of the page table cannot be read.
    TableUnreadable = 17,
    /// The token is not live.
    UnknownToken = 18,
    /// The maximum number of tokens is live.
    TooManyTokens = 19,
    /// The name is invalid, taken or unknown.
    Name = 20,
    /// The content of the file is unknown.
    Broken = 21,
    /// The reader's state was overwritten.
    Stale = 22,
    /// Another process opened the memory.
    Forked = 23,
    /// The memory was closed.
    Closed = 24,
    /// The memory cannot be mapped.
    NotMappable = 25,
    /// The system or a device cannot be built.
    System = 26,
    /// The time has passed, or is beyond the clock.
    Time = 27,
    /// Too many requests are outstanding.
    Busy = 28,
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

    pub(crate) fn of_simulation(error: &simulation::Error) -> Code {
        use simulation::Error;
        match error {
            Error::Devices { .. }
            | Error::History { .. }
            | Error::NoDevice { .. }
            | Error::Op { .. }
            | Error::Unaligned { .. }
            | Error::Large { .. } => Code::Argument,
            Error::Device { .. } => Code::System,
            Error::Beyond { .. } => Code::OutOfRange,
            Error::Full { .. } => Code::Busy,
            Error::Past { .. } | Error::Late { .. } => Code::Time,
            Error::InBatch { cause, .. } => Code::of_simulation(cause),
            Error::NoHistory { .. } => Code::Option,
            Error::File { .. } | Error::Interrupted => Code::Io,
        }
    }
}
