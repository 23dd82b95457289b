//! Accesses of a memory trace.

/// Type of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An instruction fetch; recorded only by lackey.
    Fetch,
    /// A load, or a cache fill.
    Read,
    /// A store, or a write-back.
    Write,
}

/// One access of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Instructions since the previous access; 0 if the format does not record them.
    pub instructions: u64,
    /// Type of the access.
    pub op: Op,
    /// First byte. Physical addresses equal virtual addresses.
    pub address: u64,
    /// Cycle of the memory's clock at which it arrives, if the format records one.
    pub cycle: Option<u64>,
    /// Length in bytes. If the format does not record it: the line size, or 1 if that is unknown too.
    pub bytes: u32,
}
