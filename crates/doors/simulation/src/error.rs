//! Errors of the caller, each with a one-line message.

use sim::Time;

use crate::request::Op;

/// The reason why a call was refused. A refused call has no effect.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No device, or too many.
    #[error("devices: found {found}, expected 1 to {max}")]
    Devices {
        /// Number of devices found.
        found: usize,
        /// Maximum number of devices.
        max: usize,
    },
    /// The history's limit is too high.
    #[error("history: found {found} bytes, expected at most {max}")]
    History {
        /// The limit found.
        found: u64,
        /// The highest limit.
        max: u64,
    },
    /// The device cannot be built from its system or options.
    #[error("{device}: {cause}")]
    Device {
        /// The device's name.
        device: String,
        /// The mistake.
        cause: String,
    },
    /// The request names a device that does not exist.
    #[error("device: found {found}, expected 0 to {}", devices - 1)]
    NoDevice {
        /// The index found.
        found: u64,
        /// Number of devices.
        devices: usize,
    },
    /// The device does not serve this operation.
    #[error("op: found {}, expected {expected} for {device}", op.name())]
    Op {
        /// The operation found.
        op: Op,
        /// The device's name.
        device: String,
        /// The operations that it serves.
        expected: &'static str,
    },
    /// The address or the length is no multiple of the device's unit, or zero where it must not be.
    #[error("{field}: found {found}, expected {expected} for a {} to {device}", op.name())]
    Unaligned {
        /// `address` or `bytes`.
        field: &'static str,
        /// The value found.
        found: u64,
        /// The expected values.
        expected: &'static str,
        /// The operation.
        op: Op,
        /// The device's name.
        device: String,
    },
    /// The request exceeds the device.
    #[error(
        "address: found {address} with {bytes} bytes, expected an end at or below the {capacity} bytes of {device}"
    )]
    Beyond {
        /// First byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
        /// The device's bytes.
        capacity: u64,
        /// The device's name.
        device: String,
    },
    /// The request alone exceeds the limit of outstanding requests.
    #[error("bytes: found {bytes}, expected at most {} lines of 64 bytes at once for {device} (outstanding)", limit)]
    Large {
        /// Number of bytes.
        bytes: u64,
        /// The limit in lines.
        limit: u32,
        /// The device's name.
        device: String,
    },
    /// Too many outstanding requests.
    #[error("{device} has {outstanding} outstanding, expected at most {limit} with these {more}: advance first")]
    Full {
        /// The device's name.
        device: String,
        /// Outstanding requests (drives) or lines (main memory).
        outstanding: u32,
        /// Requests or lines of the refused call.
        more: u64,
        /// The limit.
        limit: u32,
    },
    /// A submission or an advance to a time that has passed.
    #[error("{call}: found {found}, expected {now} (now) or later")]
    Past {
        /// `at` or `until`.
        call: &'static str,
        /// The time found.
        found: Time,
        /// The present time.
        now: Time,
    },
    /// A time too late for the clock.
    #[error("{call}: found {found}, expected at most {max}")]
    Late {
        /// `at` or `until`.
        call: &'static str,
        /// The time found.
        found: Time,
        /// The latest time.
        max: Time,
    },
    /// One of several requests submitted together is wrong; none was submitted.
    #[error("request {index}: {cause}")]
    InBatch {
        /// Its index.
        index: usize,
        /// The mistake in it.
        cause: Box<Error>,
    },
    /// The state cannot be saved because the history exceeded its limit.
    #[error("save: the history of submissions exceeds {limit} bytes (history)")]
    NoHistory {
        /// The limit.
        limit: u64,
    },
    /// A file of a saved state cannot be read or written, or holds something else.
    #[error("{path}: {cause}")]
    File {
        /// Its path.
        path: String,
        /// The mistake.
        cause: String,
    },
    /// The caller's `watch` ended the call.
    #[error("interrupted")]
    Interrupted,
}
