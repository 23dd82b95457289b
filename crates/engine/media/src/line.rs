//! What caches ask of main memory: lines. Whatever is main memory (DRAM, or flash behind DRAM) takes the same requests.

/// Bytes of a line.
pub const LINE: u64 = 64;

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// It is read; someone waits for it.
    Fill,
    /// It comes back changed.
    WriteBack,
}

/// A line that a last-level cache asks for or gives back. Each is answered once, with its number: a fill when its 64 bytes
/// are there, a write-back when memory has taken it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRequest {
    /// Its number, which the caller chooses; no two under way have the same.
    pub id: u32,
    /// Its first byte, a multiple of [`LINE`].
    pub address: u64,
    /// What is done.
    pub kind: LineKind,
}
