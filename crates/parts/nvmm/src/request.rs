//! What is asked of a controller, and what it answers.

use media::Tag;

use crate::address::{Address, Controller};
use crate::epochs::Token;
use crate::status::Permissions;

/// Who asks: the number of an application, given by the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Application(pub u32);

/// What is asked (NVMM, "Software Interface"). The cache above asks for whole segments, a bit each: those it lacks, those
/// that are dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page that was never used, or is used no more. Answered with [`Answer::Allocated`].
    Alloc {
        /// Where; none, or a local one: here.
        controller: Option<Controller>,
        /// Its permissions.
        permissions: Permissions,
    },
    /// Read segments. A page that is not there is created; what was never written is zeros.
    Read {
        /// The page.
        address: Address,
        /// Its segments.
        segments: u32,
    },
    /// Write segments, whole. A page that is not there is created.
    Write {
        /// The page.
        address: Address,
        /// Its segments.
        segments: u32,
    },
    /// The page is not there any more. States that live tokens stand for still have it.
    Delete {
        /// The page.
        address: Address,
    },
    /// Set permissions. A page that becomes temporary is the caller's from now on.
    SetPermissions {
        /// The page.
        address: Address,
        /// What they are to be.
        permissions: Permissions,
    },
    /// Make all that was written durable, and keep it. Answered with [`Answer::Token`]. What the cache above holds dirty,
    /// it has to write before.
    Sync,
    /// Back to the state that the token stands for; what is newer, tokens too, is forgotten. Durable when answered.
    Rollback {
        /// The state.
        token: Token,
    },
    /// The state is needed no more.
    Drop {
        /// It.
        token: Token,
    },
    /// The application ends: its temporary pages are deleted.
    End,
}

impl Request {
    /// The page it is about.
    pub(crate) fn address(&self) -> Option<Address> {
        match *self {
            Request::Read { address, .. }
            | Request::Write { address, .. }
            | Request::Delete { address }
            | Request::SetPermissions { address, .. } => Some(address),
            _ => None,
        }
    }
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// The page that was allocated.
    Allocated(Address),
    /// The state that was kept.
    Token(Token),
    /// It is for this controller: nothing was done here.
    Forward(Controller),
    /// It is not done, and nothing of it is.
    Refused(Error),
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The page number is none of this controller's.
    #[error("{address}: page {:#x} is beyond this memory's last, {last:#x}", .address.page())]
    NoSuchPage {
        /// What was asked for.
        address: Address,
        /// The last page.
        last: u32,
    },
    /// No segment, or more than a page has.
    #[error("{address}: segments {found:#b}, expected some of {all:#b}")]
    NoSuchSegment {
        /// What was asked for.
        address: Address,
        /// Of these segments.
        found: u32,
        /// All there are.
        all: u32,
    },
    /// Delete or setperms of a page that is not there.
    #[error("{address}: the page is not there")]
    NotThere {
        /// What was asked for.
        address: Address,
    },
    /// No read permission.
    #[error("{address}: application {} may not read it", .application.0)]
    NotReadable {
        /// What was asked for.
        address: Address,
        /// By whom.
        application: Application,
    },
    /// No write permission.
    #[error("{address}: application {} may not write it", .application.0)]
    NotWritable {
        /// What was asked for.
        address: Address,
        /// By whom.
        application: Application,
    },
    /// Permissions are set by the owner, or by who may write what others may write.
    #[error("{address}: application {} may not set its permissions, they are application {}'s to set", .application.0, .owner.0)]
    NotOwner {
        /// What was asked for.
        address: Address,
        /// By whom.
        application: Application,
        /// Whose it is.
        owner: Application,
    },
    /// No sync returned it, or it was dropped, or a rollback went back before it.
    #[error("token {} stands for no state that is kept; {}", .token.0, say_newest(.newest))]
    UnknownToken {
        /// What was asked for.
        token: Token,
        /// The newest that is live.
        newest: Option<Token>,
    },
    /// As many tokens as can be are live.
    #[error("{live} tokens are live, and no more can be: drop one first")]
    TooManyTokens {
        /// How many.
        live: u32,
    },
    /// Every page is used, now or by a state that is kept.
    #[error("all {pages} pages are used, by the present or by states that are kept")]
    NoPage {
        /// How many there are.
        pages: u32,
    },
    /// There is no room in flash.
    #[error("no space: {needed} flash pages are needed, {wanted} more were to be, and the memory has room for {room}")]
    NoSpace {
        /// By the present and the states that are kept.
        needed: u64,
        /// By this request.
        wanted: u64,
        /// What worn-out pages leave.
        room: u64,
    },
    /// There is no room in the table.
    #[error("no space: {wanted} table entries for versions might be needed, and {free} are free")]
    NoVersions {
        /// By this request, at most.
        wanted: u32,
        /// That can be had.
        free: u32,
    },
    /// Flash pages that cannot be read.
    #[error("{address}: segment {segment} cannot be read from flash")]
    Unreadable {
        /// The page.
        address: Address,
        /// The first segment that cannot.
        segment: u32,
    },
    /// A part of the table that cannot be read.
    #[error("a part of the page table cannot be read from flash")]
    TableUnreadable,
    /// Not enough good blocks are left to write the table.
    #[error("the memory is worn out: it can be read, not written")]
    WornOut,
}

fn say_newest(token: &Option<Token>) -> String {
    token.map_or_else(|| "none is".to_owned(), |token| format!("the newest that does is {}", token.0))
}

/// An answer, and to which request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request. Its tag may be used again.
    pub tag: Tag,
    /// The answer.
    pub answer: Answer,
}
