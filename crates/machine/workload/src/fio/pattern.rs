//! Directions and block sizes of a job.

use media::Op;

/// Index of reads where a job has a value a direction.
pub(crate) const READ: usize = 0;
/// Index of writes.
pub(crate) const WRITE: usize = 1;
/// Index of trims.
pub(crate) const TRIM: usize = 2;

/// fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadWrite {
    /// Random addresses; else each after the one before.
    pub random: bool,
    /// Which directions.
    pub kind: Kind,
}

/// Which directions a job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One.
    Only(Op),
    /// Reads and writes.
    Mixed,
    /// Each block trimmed, then written.
    TrimWrite,
}

impl ReadWrite {
    /// Every value of the key with its meaning.
    pub const NAMES: [(&str, ReadWrite); 11] = [
        ("read", ReadWrite { random: false, kind: Kind::Only(Op::Read) }),
        ("write", ReadWrite { random: false, kind: Kind::Only(Op::Write) }),
        ("trim", ReadWrite { random: false, kind: Kind::Only(Op::Trim) }),
        ("randread", ReadWrite { random: true, kind: Kind::Only(Op::Read) }),
        ("randwrite", ReadWrite { random: true, kind: Kind::Only(Op::Write) }),
        ("randtrim", ReadWrite { random: true, kind: Kind::Only(Op::Trim) }),
        ("rw", ReadWrite { random: false, kind: Kind::Mixed }),
        ("readwrite", ReadWrite { random: false, kind: Kind::Mixed }),
        ("randrw", ReadWrite { random: true, kind: Kind::Mixed }),
        ("trimwrite", ReadWrite { random: false, kind: Kind::TrimWrite }),
        ("randtrimwrite", ReadWrite { random: true, kind: Kind::TrimWrite }),
    ];

    /// Whether the job has requests of this direction ([`READ`], [`WRITE`] or [`TRIM`]).
    pub fn has(self, direction: usize) -> bool {
        match self.kind {
            Kind::Only(Op::Read) => direction == READ,
            Kind::Only(Op::Write) => direction == WRITE,
            Kind::Only(_) => direction == TRIM,
            Kind::Mixed => direction != TRIM,
            Kind::TrimWrite => direction != READ,
        }
    }
}

/// Bytes of a request: a fixed size, or one drawn for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Always the same.
    Fixed(u64),
    /// Drawn evenly up to the second, then rounded up to a multiple of the first or to the second (fio's `bsrange`).
    Range(u64, u64),
    /// Each size in proportion to its weight (fio's `bssplit`), the weights running sums.
    Split(Vec<(u64, u64)>),
}

impl Sizes {
    /// The smallest size, to which addresses are aligned.
    pub fn smallest(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Range(bytes, _) => *bytes,
            Sizes::Split(split) => split.iter().map(|(bytes, _)| *bytes).min().expect("a split has sizes"),
        }
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Range(_, bytes) => *bytes,
            Sizes::Split(split) => split.iter().map(|(bytes, _)| *bytes).max().expect("a split has sizes"),
        }
    }

    /// The largest number of bytes that divides every size.
    pub fn common(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range(smallest, largest) => divisor(*smallest, *largest),
            Sizes::Split(split) => split.iter().fold(0, |common, (bytes, _)| divisor(common, *bytes)),
        }
    }
}

/// The greatest common divisor.
pub(super) fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
