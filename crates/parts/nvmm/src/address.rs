//! The 64-bit address: controller, page, and byte within the page (Jacob et al., NVMM, "Software Interface").

use std::fmt;

/// Bits of a controller's number.
pub const CONTROLLER_BITS: u32 = 20;
/// Bits of a virtual page number.
pub const PAGE_BITS: u32 = 28;
/// Bits of an offset within a page of 64 KB.
pub const OFFSET_BITS: u32 = 16;

/// A 20-bit controller number. All zeros and all ones denote the local controller, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Controller(pub u32);

impl Controller {
    /// All zeros: the local controller.
    pub const LOCAL: Controller = Controller(0);
    /// All ones: the local controller.
    pub const LOCAL_ONES: Controller = Controller((1 << CONTROLLER_BITS) - 1);

    /// Returns whether this is a local number, so that a request with it is never forwarded.
    pub const fn is_local(self) -> bool {
        self.0 == Self::LOCAL.0 || self.0 == Self::LOCAL_ONES.0
    }
}

/// From the most significant bit: 20 bits of controller, 28 bits of virtual page number, 16 bits of offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u64);

impl Address {
    /// Builds the address of byte `offset` in page `page` of `controller`.
    ///
    /// # Panics
    /// If a part does not fit into its bits.
    pub const fn new(controller: Controller, page: u32, offset: u32) -> Address {
        assert!(controller.0 < 1 << CONTROLLER_BITS && page < 1 << PAGE_BITS && offset < 1 << OFFSET_BITS);
        Address((controller.0 as u64) << (PAGE_BITS + OFFSET_BITS) | (page as u64) << OFFSET_BITS | offset as u64)
    }

    /// The controller part.
    pub const fn controller(self) -> Controller {
        Controller((self.0 >> (PAGE_BITS + OFFSET_BITS)) as u32)
    }

    /// The virtual page number.
    pub const fn page(self) -> u32 {
        (self.0 >> OFFSET_BITS) as u32 & ((1 << PAGE_BITS) - 1)
    }

    /// The byte within the page. The controller ignores it; the cache above uses it.
    pub const fn offset(self) -> u32 {
        self.0 as u32 & ((1 << OFFSET_BITS) - 1)
    }
}

/// Formats as `controller:page+offset`, in hexadecimal.
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
