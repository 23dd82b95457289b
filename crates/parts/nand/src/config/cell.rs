//! Bits per cell.

use keys::words;

words! {
    /// Bits per cell.
    Cell {
        /// One.
        Slc = "slc",
        /// Two.
        Mlc = "mlc",
        /// Three.
        Tlc = "tlc",
        /// Four.
        Qlc = "qlc",
        /// Five.
        Plc = "plc",
    }
}

impl Cell {
    /// Returns the bits per cell, which is also the number of page types: a page's type is its number modulo this.
    pub const fn bits(self) -> u32 {
        match self {
            Cell::Slc => 1,
            Cell::Mlc => 2,
            Cell::Tlc => 3,
            Cell::Qlc => 4,
            Cell::Plc => 5,
        }
    }

    /// The most bits per cell.
    pub const BITS_MAX: usize = Cell::Plc.bits() as usize;
}
