//! Every ordering that the protocol rests on, by name.

use std::sync::atomic::Ordering::{self, Acquire, Release};

/// The orderings of the accesses that publish something and of those that look for it.
///
/// All other accesses are relaxed. Each of these is needed: `tests/loom.rs` weakens them one by one and finds the
/// failure. What is *not* here needs none:
///
/// - the payload and the rest of a submission entry are published by the entry's first word;
/// - the host reuses a submission slot, and buffer space, only after a completion that the device posted after it had
///   read them ([`CQ_PUBLISH`](Orders::CQ_PUBLISH), [`CQ_CHECK`](Orders::CQ_CHECK));
/// - the completion queue's head register: a completion entry is one word, which the host loads with acquire before it
///   moves the head. Were the device to overwrite an entry in a way that the host's load could see too early, that
///   load would have happened before the store that it reads from.
pub trait Orders {
    /// Store of the header's magic number, once the layout is written. Device.
    const HEADER_PUBLISH: Ordering = Release;
    /// Load of the header's magic number. Host.
    const HEADER_CHECK: Ordering = Acquire;
    /// Store of a submission entry's first word, the last that is written: write data before their entry, and the
    /// entry as a whole. Host.
    const SQ_PUBLISH: Ordering = Release;
    /// Load of the first word of the entry at the submission queue's head. Device.
    const SQ_CHECK: Ordering = Acquire;
    /// Store of the doorbell: entries before their doorbell. Host.
    const DOORBELL_RING: Ordering = Release;
    /// Load of the doorbell. Device.
    const DOORBELL_CHECK: Ordering = Acquire;
    /// Store of a completion entry: read data before their completion; and the device's loads of the submission entry
    /// and of the write data before the host may reuse either. Device.
    const CQ_PUBLISH: Ordering = Release;
    /// Load of the entry at the completion queue's head. Host.
    const CQ_CHECK: Ordering = Acquire;
    /// Store of the status register: completions before the register, and so before the interrupt. Device.
    const STATUS_PUBLISH: Ordering = Release;
    /// Load of the status register. Host.
    const STATUS_CHECK: Ordering = Acquire;
}

/// The orderings as they are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound;

impl Orders for Sound {}
