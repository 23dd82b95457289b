//! The driver's side of a Host Memory Buffer, modeled on Linux's nvme-pci (drivers/nvme/host/pci.c,
//! `nvme_setup_host_mem`): as much memory as the controller prefers and the administrator allows, in the largest
//! contiguous extents available.

use keys::{Conflict, SIZE, expect, given, section};

/// The controller's preferences from Identify Controller, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Preferred size (HMPRE); 0 if the controller does not use a buffer.
    pub preferred: u64,
    /// Minimum size (HMMIN).
    pub minimum: u64,
    /// Minimum size of an extent (HMMINDS); 0 for any size.
    pub extent_bytes_min: u64,
    /// Maximum number of extents (HMMAXD); 0 for any number.
    pub extents_max: u32,
}

section! {
    /// Memory that the host is willing to lend, and its fragmentation.
    #[derive(Copy, Eq)]
    HmbConfig {
        "host.hmb.limit" limit: u64 = SIZE,
            given("128MiB", "the default of the Linux NVMe driver (max_host_mem_size_mb)"),
            "Maximum memory that the driver lends; 0B: none.",
            when "link.type" is "pcie";
        "host.hmb.contiguous" contiguous: u64 = SIZE.least(4096.0),
            given("4MiB", "the largest order of Linux's page allocator, as long as memory is not fragmented"),
            "Largest contiguous region of memory that the host can lend.",
            when "link.type" is "pcie";

        check pages;
    }
}

impl HmbConfig {
    fn pages(&self) -> Result<(), Conflict> {
        expect(self.contiguous.is_multiple_of(PAGE), &["host.hmb.contiguous"], "a multiple of 4KiB")
    }
}

impl Default for HmbConfig {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> HmbConfig {
        crate::config::default_where("pcie")
    }
}

/// An extent of host memory: address and bytes.
pub type Extent = (u64, u64);

/// The memory that the driver offers to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// True if this is the same memory as before, with its contents intact.
    pub returned: bool,
    /// Address of the list of extents.
    pub list: u64,
    /// The extents.
    pub extents: Vec<Extent>,
}

/// Reason why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// The controller does not use one.
    NotWanted,
    /// The minimum size is above the limit.
    AboveLimit,
    /// Memory is too fragmented for the minimum size of the buffer or of an extent.
    NoMemory,
}

/// Bytes per page of host memory.
const PAGE: u64 = 4096;
/// Addresses of the driver's list and buffers. They are arbitrary, because nothing else is modeled there.
const LIST: u64 = 0x1_0000;
const BUFFERS: u64 = 0x1_0000_0000;

/// The driver's side of a Host Memory Buffer.
#[derive(Clone, Debug)]
pub struct Hmb {
    config: HmbConfig,
    /// Extents allocated for the controller.
    extents: Vec<Extent>,
}

impl Hmb {
    /// Creates a driver without allocated memory.
    pub fn new(config: HmbConfig) -> Hmb {
        Hmb { config, extents: Vec::new() }
    }

    /// Returns the number of bytes allocated.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Allocates memory at the start of a controller or after its reset. Memory allocated earlier is offered again if
    /// it is large enough.
    ///
    /// # Errors
    /// Fails with the reason why the controller has to work without a buffer.
    pub fn set_up(&mut self, wish: &Wish) -> Result<Offer, Without> {
        if wish.preferred == 0 {
            return Err(Without::NotWanted);
        }
        let preferred = wish.preferred.min(self.config.limit);
        if wish.minimum > self.config.limit || preferred == 0 {
            self.free();
            return Err(Without::AboveLimit);
        }
        let returned = !self.extents.is_empty() && self.bytes() >= wish.minimum;
        if !returned {
            self.extents = self.allocate(wish, preferred).ok_or(Without::NoMemory)?;
        }
        Ok(Offer { returned, list: LIST, extents: self.extents.clone() })
    }

    /// Allocates `preferred` bytes, or at least the minimum that the controller needs, in extents of the largest
    /// contiguous size, which is halved until there are enough.
    fn allocate(&self, wish: &Wish, preferred: u64) -> Option<Vec<Extent>> {
        let least = wish.extent_bytes_min.max(2 * PAGE);
        let mut chunk = preferred.min(4 << 20);
        while chunk >= least {
            let most = preferred.div_ceil(chunk).min(if wish.extents_max == 0 {
                u64::MAX
            } else {
                u64::from(wish.extents_max)
            });
            let mut extents = Vec::new();
            let mut bytes = 0;
            while bytes < preferred && (extents.len() as u64) < most {
                let extent = chunk.min(preferred - bytes);
                if extent > self.config.contiguous {
                    break;
                }
                // Other memory lies between two extents.
                extents.push((BUFFERS + extents.len() as u64 * 2 * chunk, extent));
                bytes += extent;
            }
            if bytes > 0 && bytes >= wish.minimum {
                return Some(extents);
            }
            chunk /= 2;
        }
        None
    }

    /// Takes the memory back.
    pub fn free(&mut self) {
        self.extents.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const WISH: Wish = Wish { preferred: 64 * MIB, minimum: 8 * MIB, extent_bytes_min: 0, extents_max: 0 };

    fn set_up(config: HmbConfig, wish: Wish) -> Result<(usize, u64, u64), Without> {
        let mut hmb = Hmb::new(config);
        hmb.set_up(&wish).map(|offer| (offer.extents.len(), offer.extents[0].1, hmb.bytes()))
    }

    /// Each result is the number of extents, the bytes of the first, and the total bytes.
    #[test]
    fn the_buffer_has_the_preferred_size_within_all_limits() {
        let config = HmbConfig::default();
        assert_eq!(set_up(config, WISH), Ok((16, 4 * MIB, 64 * MIB)));
        assert_eq!(set_up(config, Wish { preferred: 480 * MIB, ..WISH }), Ok((32, 4 * MIB, 128 * MIB)));
        assert_eq!(set_up(config, Wish { preferred: 2 * MIB, minimum: 0, ..WISH }), Ok((1, 2 * MIB, 2 * MIB)));
        // The last extent takes the remainder.
        assert_eq!(set_up(config, Wish { preferred: 9 * MIB, ..WISH }), Ok((3, 4 * MIB, 9 * MIB)));
        // The controller's maximum number of extents limits the buffer, and too small a buffer is not lent.
        assert_eq!(set_up(config, Wish { extents_max: 4, ..WISH }), Ok((4, 4 * MIB, 16 * MIB)));
        assert_eq!(set_up(config, Wish { extents_max: 1, ..WISH }), Err(Without::NoMemory));
    }

    #[test]
    fn extents_are_halved_until_contiguous_memory_suffices() {
        let fragmented = |contiguous| HmbConfig { contiguous, ..HmbConfig::default() };
        assert_eq!(set_up(fragmented(MIB), WISH), Ok((64, MIB, 64 * MIB)));
        assert_eq!(set_up(fragmented(3 * MIB / 2), WISH), Ok((64, MIB, 64 * MIB)));
        assert_eq!(set_up(fragmented(8192), WISH), Ok((8192, 8192, 64 * MIB)));
        assert_eq!(set_up(fragmented(4096), WISH), Err(Without::NoMemory));
        assert_eq!(set_up(fragmented(MIB), Wish { extent_bytes_min: 2 * MIB, ..WISH }), Err(Without::NoMemory));
        assert_eq!(set_up(fragmented(MIB), Wish { extents_max: 4, ..WISH }), Err(Without::NoMemory));
    }

    #[test]
    fn no_buffer_is_lent_above_the_limit_or_without_a_request() {
        let limited = |limit| HmbConfig { limit, ..HmbConfig::default() };
        assert_eq!(set_up(limited(4 * MIB), WISH), Err(Without::AboveLimit));
        assert_eq!(set_up(limited(0), Wish { minimum: 0, ..WISH }), Err(Without::AboveLimit));
        assert_eq!(set_up(HmbConfig::default(), Wish::default()), Err(Without::NotWanted));
    }

    #[test]
    fn after_a_reset_the_same_memory_is_offered() {
        let mut hmb = Hmb::new(HmbConfig::default());
        let first = hmb.set_up(&WISH).expect("memory");
        let second = hmb.set_up(&WISH).expect("the same");
        assert_eq!((first.returned, second.returned, &first.extents), (false, true, &second.extents));
        hmb.free();
        assert!(!hmb.set_up(&WISH).expect("memory").returned);
        // A controller that needs more after a reset gets other memory.
        assert!(!hmb.set_up(&Wish { preferred: 128 * MIB, minimum: 96 * MIB, ..WISH }).expect("memory").returned);
    }
}
