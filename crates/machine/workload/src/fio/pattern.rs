//! Directions and block sizes of a job.

use media::Op;

/// Index of reads in per-direction values.
pub(crate) const READ: usize = 0;
/// Index of writes in per-direction values.
pub(crate) const WRITE: usize = 1;
/// Index of trims in per-direction values.
pub(crate) const TRIM: usize = 2;

/// Value of fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadWrite {
    /// Whether addresses are random rather than sequential.
    pub random: bool,
    /// The directions.
    pub kind: ReadWriteKind,
}

/// Directions of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadWriteKind {
    /// A single direction.
    Only(Op),
    /// Reads and writes.
    Mixed,
    /// Each block is trimmed, then written.
    TrimWrite,
}

impl ReadWrite {
    /// All values of the key and their meanings.
    pub const NAMES: [(&str, ReadWrite); 11] = [
        ("read", ReadWrite { random: false, kind: ReadWriteKind::Only(Op::Read) }),
        ("write", ReadWrite { random: false, kind: ReadWriteKind::Only(Op::Write) }),
        ("trim", ReadWrite { random: false, kind: ReadWriteKind::Only(Op::Trim) }),
        ("randread", ReadWrite { random: true, kind: ReadWriteKind::Only(Op::Read) }),
        ("randwrite", ReadWrite { random: true, kind: ReadWriteKind::Only(Op::Write) }),
        ("randtrim", ReadWrite { random: true, kind: ReadWriteKind::Only(Op::Trim) }),
        ("rw", ReadWrite { random: false, kind: ReadWriteKind::Mixed }),
        ("readwrite", ReadWrite { random: false, kind: ReadWriteKind::Mixed }),
        ("randrw", ReadWrite { random: true, kind: ReadWriteKind::Mixed }),
        ("trimwrite", ReadWrite { random: false, kind: ReadWriteKind::TrimWrite }),
        ("randtrimwrite", ReadWrite { random: true, kind: ReadWriteKind::TrimWrite }),
    ];

    /// Returns whether the job has requests of this direction ([`READ`], [`WRITE`] or [`TRIM`]).
    pub fn has(self, direction: usize) -> bool {
        match self.kind {
            ReadWriteKind::Only(Op::Read) => direction == READ,
            ReadWriteKind::Only(Op::Write) => direction == WRITE,
            ReadWriteKind::Only(_) => direction == TRIM,
            ReadWriteKind::Mixed => direction != TRIM,
            ReadWriteKind::TrimWrite => direction != READ,
        }
    }
}

/// Request sizes in bytes: fixed, or drawn for each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// A fixed size.
    Fixed(u64),
    /// Drawn uniformly up to the second size, then rounded up to a multiple of the first or to the second (fio's
    /// `bsrange`).
    Range(u64, u64),
    /// Drawn in proportion to weights, stored as running sums (fio's `bssplit`).
    Split(Vec<(u64, u64)>),
}

impl Sizes {
    /// Returns the smallest size, to which addresses are aligned.
    pub fn smallest(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Range(bytes, _) => *bytes,
            Sizes::Split(split) => split.iter().map(|(bytes, _)| *bytes).min().expect("a split has sizes"),
        }
    }

    /// Returns the largest size.
    pub fn largest(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Range(_, bytes) => *bytes,
            Sizes::Split(split) => split.iter().map(|(bytes, _)| *bytes).max().expect("a split has sizes"),
        }
    }

    /// Returns the greatest common divisor of all sizes.
    pub fn common(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range(smallest, largest) => divisor(*smallest, *largest),
            Sizes::Split(split) => split.iter().fold(0, |common, (bytes, _)| divisor(common, *bytes)),
        }
    }
}

/// Returns the greatest common divisor.
pub(crate) fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
