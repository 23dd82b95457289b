//! The 64-bit address: a controller, a page of its, a byte of the page (Jacob et al., NVMM, "Software Interface").

use std::fmt;

/// Bits of a controller's number.
pub const CONTROLLER_BITS: u32 = 20;
/// Bits of a virtual page number.
pub const PAGE_BITS: u32 = 28;
/// Bits of an offset within a page of 64 KB.
pub const OFFSET_BITS: u32 = 16;

/// A controller's number, 20 bits. All zeros and all ones mean whichever controller is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Controller(pub u32);

impl Controller {
    /// All zeros: the controller that is asked.
    pub const LOCAL: Controller = Controller(0);
    /// All ones: the controller that is asked.
    pub const LOCAL_ONES: Controller = Controller((1 << CONTROLLER_BITS) - 1);

    /// Whether this names no controller in particular, so that what carries it is never forwarded.
    #[inline]
    pub const fn is_local(self) -> bool {
        self.0 == Self::LOCAL.0 || self.0 == Self::LOCAL_ONES.0
    }
}

/// 20 bits of controller, 28 bits of virtual page number, 16 bits of offset, from the most significant bit down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u64);

impl Address {
    /// The byte `offset` of page `page` of `controller`.
    ///
    /// # Panics
    /// If a part does not fit into its bits.
    pub const fn new(controller: Controller, page: u32, offset: u32) -> Address {
        assert!(controller.0 < 1 << CONTROLLER_BITS && page < 1 << PAGE_BITS && offset < 1 << OFFSET_BITS);
        Address((controller.0 as u64) << (PAGE_BITS + OFFSET_BITS) | (page as u64) << OFFSET_BITS | offset as u64)
    }

    /// Where it lives.
    #[inline]
    pub const fn controller(self) -> Controller {
        Controller((self.0 >> (PAGE_BITS + OFFSET_BITS)) as u32)
    }

    /// Virtual page number.
    #[inline]
    pub const fn page(self) -> u32 {
        (self.0 >> OFFSET_BITS) as u32 & ((1 << PAGE_BITS) - 1)
    }

    /// Byte within the page. The controller ignores it: it matters to the cache above.
    #[inline]
    pub const fn offset(self) -> u32 {
        self.0 as u32 & ((1 << OFFSET_BITS) - 1)
    }
}

/// `controller:page+offset`, in hexadecimal.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:05x}:{:07x}+{:04x}", self.controller().0, self.page(), self.offset())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_parts_fill_64_bits() {
        assert_eq!(CONTROLLER_BITS + PAGE_BITS + OFFSET_BITS, 64);
        let address = Address(0xabcd_e123_4567_89ab);
        assert_eq!(address.controller(), Controller(0xabcde));
        assert_eq!((address.page(), address.offset()), (0x123_4567, 0x89ab));
        assert_eq!(Address::new(Controller(0xabcde), 0x123_4567, 0x89ab), address);
        assert_eq!(address.to_string(), "abcde:1234567+89ab");
    }

    #[test]
    fn all_zeros_and_all_ones_are_local() {
        assert!(Address(0).controller().is_local() && Address(u64::MAX).controller().is_local());
        assert!(!Controller(1).is_local() && !Controller(0xffffe).is_local());
    }
}
