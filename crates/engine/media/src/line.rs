//! Requests of caches to main memory, which concern lines. Every kind of main memory (DRAM, or flash behind DRAM)
//! accepts the same requests.

/// Bytes per line.
pub const LINE: u64 = 64;

/// Kind of access to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// A read that a program waits for.
    #[default]
    Fill,
    /// A write of a modified line.
    WriteBack,
}

/// A line that a last-level cache requests or writes back. Each request is answered once, with its number: a fill when
/// its 64 bytes have arrived, a write-back when memory has accepted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineRequest {
    /// Number chosen by the caller, unique among requests in progress.
    pub id: u32,
    /// Address of the first byte, a multiple of [`LINE`].
    pub address: u64,
    /// Kind of access.
    pub kind: LineKind,
}
