//! Flash addresses of operations.

/// The planes of a die that an operation works on, a bit each. A multi-plane operation has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaneMask(pub u16);

impl PlaneMask {
    /// Returns the mask of one plane.
    ///
    /// # Panics
    /// If its number is above 15.
    #[inline]
    pub const fn one(plane: u32) -> PlaneMask {
        assert!(plane < u16::BITS, "a die has at most 16 planes");
        PlaneMask(1 << plane)
    }

    /// Returns the planes in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let plane = rest.trailing_zeros();
            (rest != 0).then(|| {
                rest &= rest - 1;
                plane
            })
        })
    }

    /// Returns the number of planes.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// The same block number on one or more planes of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockAddr {
    /// Number of the die in the whole array.
    pub die: u16,
    /// Planes.
    pub planes: PlaneMask,
    /// Block within its plane.
    pub block: u32,
}

/// The same page of the same block number on one or more planes of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageAddr {
    /// Number of the die in the whole array.
    pub die: u16,
    /// Planes.
    pub planes: PlaneMask,
    /// Block within its plane.
    pub block: u32,
    /// Page within its block.
    pub page: u32,
}

impl PageAddr {
    /// Returns the block of this page.
    #[inline]
    pub const fn block(self) -> BlockAddr {
        BlockAddr { die: self.die, planes: self.planes, block: self.block }
    }
}
