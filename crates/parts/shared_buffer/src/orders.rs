//! The memory orderings on which the protocol relies, by name.

use std::sync::atomic::Ordering::{self, Acquire, Release};

/// The orderings of the accesses that publish data, and of those that check for it.
///
/// All other accesses are relaxed. Each of these orderings is necessary: `tests/loom.rs` weakens them one at a time and
/// finds the failure. The following needs no ordering of its own:
///
/// - the payload and the rest of a submission entry, which the entry's first word publishes;
/// - the reuse of a submission slot or of buffer space by the host, which happens only after a completion that the
///   device posted after reading them ([`CQ_PUBLISH`](Orders::CQ_PUBLISH), [`CQ_CHECK`](Orders::CQ_CHECK));
/// - the completion queue's head register: a completion entry is one word, which the host loads with acquire before it
///   advances the head. If the device could overwrite an entry early enough for the host's load to see the new value,
///   that load would have happened before the store it reads from.
pub trait Orders {
    /// Store of the header's magic number after the layout is written. Device.
    const HEADER_PUBLISH: Ordering = Release;
    /// Load of the header's magic number. Host.
    const HEADER_CHECK: Ordering = Acquire;
    /// Store of a submission entry's first word, which is written last: orders the write data and the rest of the entry
    /// before it. Host.
    const SQ_PUBLISH: Ordering = Release;
    /// Load of the first word of the entry at the submission queue's head. Device.
    const SQ_CHECK: Ordering = Acquire;
    /// Store of the doorbell: orders the entries before it. Host.
    const DOORBELL_RING: Ordering = Release;
    /// Load of the doorbell. Device.
    const DOORBELL_CHECK: Ordering = Acquire;
    /// Store of a completion entry: orders the read data before it, and also the device's loads of the submission entry
    /// and of the write data, so that the host can reuse both. Device.
    const CQ_PUBLISH: Ordering = Release;
    /// Load of the entry at the completion queue's head. Host.
    const CQ_CHECK: Ordering = Acquire;
    /// Store of the status register: orders the completions before it, and thus before the interrupt. Device.
    const STATUS_PUBLISH: Ordering = Release;
    /// Load of the status register. Host.
    const STATUS_CHECK: Ordering = Acquire;
}

/// The orderings that the protocol uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound;

impl Orders for Sound {}
