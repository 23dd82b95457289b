//! Requests to a controller, and its answers.

use media::Tag;

use crate::address::{Address, Controller};
use crate::table::epochs::Token;
use crate::table::status::Permissions;

/// Number of an application, assigned by the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Application(pub u32);

/// A request (NVMM, "Software Interface"). The cache above names whole segments, one bit each: those it lacks, or those
/// that are dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Allocate an unused page. Answered with [`Answer::Allocated`].
    Alloc {
        /// The controller to allocate on; `None` or a local number means this one.
        controller: Option<Controller>,
        /// Its permissions.
        permissions: Permissions,
    },
    /// Read segments. Creates the page if it does not exist; segments never written read as zeros.
    Read {
        /// The page.
        address: Address,
        /// Its segments.
        segments: u32,
    },
    /// Write whole segments. Creates the page if it does not exist.
    Write {
        /// The page.
        address: Address,
        /// Its segments.
        segments: u32,
    },
    /// Delete the page. States of live tokens keep it.
    Delete {
        /// The page.
        address: Address,
    },
    /// Set permissions. A page that becomes temporary becomes the caller's.
    SetPermissions {
        /// The page.
        address: Address,
        /// The new permissions.
        permissions: Permissions,
    },
    /// Make all completed writes durable and keep this state. Answered with [`Answer::Token`]. The cache above must
    /// write back its dirty lines before.
    Sync,
    /// A sync that keeps no token: all completed writes become durable.
    Flush,
    /// A sync that releases the state of `token` in the same commit.
    Replace {
        /// The token to release.
        token: Token,
    },
    /// Restore the state of the token; anything newer, including newer tokens, is discarded. Durable when answered.
    Rollback {
        /// The state's token.
        token: Token,
    },
    /// Release the state of a token.
    Drop {
        /// The token.
        token: Token,
    },
    /// End the application: deletes its temporary pages.
    End,
}

impl Request {
    /// Returns the address that the request names, if any.
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

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Done,
    /// The allocated page.
    Allocated(Address),
    /// The token of the kept state.
    Token(Token),
    /// Forward the request to this controller; nothing was done here.
    Forward(Controller),
    /// Refused without any effect.
    Refused(Error),
}

/// The reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The page number is beyond the memory.
    #[error("{address}: page {:#x} is beyond this memory's last, {last:#x}", .address.page())]
    NoSuchPage {
        /// The address.
        address: Address,
        /// The last page.
        last: u32,
    },
    /// No segment is named, or one beyond the page's segments.
    #[error("{address}: segments {found:#b}, expected some of {all:#b}")]
    NoSuchSegment {
        /// The address.
        address: Address,
        /// The segments named.
        found: u32,
        /// All segments of a page.
        all: u32,
    },
    /// Delete or set permissions of a page that does not exist.
    #[error("{address}: the page does not exist")]
    NotThere {
        /// The address.
        address: Address,
    },
    /// No read permission.
    #[error("{address}: application {} may not read it", .application.0)]
    NotReadable {
        /// The address.
        address: Address,
        /// The application.
        application: Application,
    },
    /// No write permission.
    #[error("{address}: application {} may not write it", .application.0)]
    NotWritable {
        /// The address.
        address: Address,
        /// The application.
        application: Application,
    },
    /// Only the owner may set permissions, or an application with write permission where others may write.
    #[error("{address}: application {} may not set its permissions; application {} owns it", .application.0, .owner.0)]
    NotOwner {
        /// The address.
        address: Address,
        /// The application.
        application: Application,
        /// The owner.
        owner: Application,
    },
    /// No sync returned the token, it was dropped, or a rollback discarded it.
    #[error("no state is kept for token {}; {}", .token.0, say_newest(.newest))]
    UnknownToken {
        /// The address.
        token: Token,
        /// The newest live token.
        newest: Option<Token>,
    },
    /// The maximum number of tokens is live.
    #[error("{live} tokens are live, which is the maximum: drop one first")]
    TooManyTokens {
        /// That number.
        live: u32,
    },
    /// Every page is in use, by the present state or by a kept one.
    #[error("all {pages} pages are in use, by the present state or by kept ones")]
    NoPage {
        /// The number of pages.
        pages: u32,
    },
    /// No room in flash.
    #[error(
        "no space: {needed} flash pages are in use and {wanted} more are needed, but the memory has room for {room}"
    )]
    NoSpace {
        /// Flash pages needed by the present state and the kept ones.
        needed: u64,
        /// Flash pages that this request needs.
        wanted: u64,
        /// Flash pages available, without worn-out ones.
        room: u64,
    },
    /// No room in the table.
    #[error("no space: up to {wanted} version entries are needed, and {free} are free")]
    NoVersions {
        /// Entries that this request may need.
        wanted: u32,
        /// Free entries.
        free: u32,
    },
    /// A flash page cannot be read.
    #[error("{address}: segment {segment} cannot be read from flash")]
    Unreadable {
        /// The page.
        address: Address,
        /// The first unreadable segment.
        segment: u32,
    },
    /// A part of the table cannot be read.
    #[error("a part of the page table cannot be read from flash")]
    TableUnreadable,
    /// Too few good blocks are left to write the table.
    #[error("the memory is worn out: it can be read but not written")]
    WornOut,
}

fn say_newest(token: &Option<Token>) -> String {
    token.map_or_else(|| "none is kept".to_owned(), |token| format!("the newest kept is {}", token.0))
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request's tag, which is free for reuse.
    pub tag: Tag,
    /// The answer.
    pub answer: Answer,
}
