//! The driver's part of a Host Memory Buffer, in the manner of Linux's nvme-pci (drivers/nvme/host/pci.c,
//! `nvme_setup_host_mem`): as much as the controller prefers and the administrator allows, in pieces as large as memory
//! has them.

/// What the controller says of it in Identify Controller, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Preferred size (HMPRE); 0: the controller has no use for one.
    pub preferred: u64,
    /// Least size (HMMIN).
    pub minimum: u64,
    /// Least size of a piece (HMMINDS); 0: any.
    pub piece: u64,
    /// Most pieces (HMMAXD); 0: any number.
    pub pieces: u32,
}

/// What the host is ready to lend, and in what pieces it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HmbConfig {
    /// Bytes at most (the module's parameter `max_host_mem_size_mb`); 0: none.
    pub limit: u64,
    /// Largest contiguous piece that the allocator gives: 4 MiB where memory is not fragmented (pages of 4 KiB, order
    /// 10), less where it is.
    pub contiguous: u64,
}

impl Default for HmbConfig {
    /// Given: Linux's default of 128 MB; its page allocator's largest order.
    fn default() -> Self {
        HmbConfig { limit: 128 << 20, contiguous: 4 << 20 }
    }
}

/// A piece of the host's memory: address and bytes.
pub type Piece = (u64, u64);

/// What the driver asks of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The memory is that of before, with what was in it.
    pub returned: bool,
    /// Where the list of pieces is.
    pub list: u64,
    /// The pieces.
    pub pieces: Vec<Piece>,
}

/// Why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// The controller wants none.
    NotWanted,
    /// Its least size is above the limit.
    AboveLimit,
    /// Memory is too fragmented for its least size, or least piece.
    NoMemory,
}

/// Bytes of a page of the host's memory.
const PAGE: u64 = 4096;
/// Where the driver's list and buffers are: any address does, as nothing else is there.
const LIST: u64 = 0x1_0000;
const BUFFERS: u64 = 0x1_0000_0000;

/// The driver's side of a Host Memory Buffer.
#[derive(Clone, Debug)]
pub struct Hmb {
    config: HmbConfig,
    /// What was allocated for the controller.
    pieces: Vec<Piece>,
}

impl Hmb {
    /// A driver that has allocated nothing.
    pub fn new(config: HmbConfig) -> Hmb {
        Hmb { config, pieces: Vec::new() }
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes).sum()
    }

    /// At the start of a controller, or after its reset: what was allocated before is returned if it is enough.
    ///
    /// # Errors
    /// Why the controller has to do without.
    pub fn set_up(&mut self, wish: &Wish) -> Result<Offer, Without> {
        if wish.preferred == 0 {
            return Err(Without::NotWanted);
        }
        let preferred = wish.preferred.min(self.config.limit);
        if wish.minimum > self.config.limit || preferred == 0 {
            self.free();
            return Err(Without::AboveLimit);
        }
        let returned = !self.pieces.is_empty() && self.bytes() >= wish.minimum;
        if !returned {
            self.pieces = self.allocate(wish, preferred).ok_or(Without::NoMemory)?;
        }
        Ok(Offer { returned, list: LIST, pieces: self.pieces.clone() })
    }

    /// Pieces that come to `preferred` bytes, or at least to what the controller needs: as large as a contiguous piece
    /// can be, and half that, and half that again, until enough of them are found.
    fn allocate(&self, wish: &Wish, preferred: u64) -> Option<Vec<Piece>> {
        let least = wish.piece.max(2 * PAGE);
        let mut chunk = preferred.min(4 << 20);
        while chunk >= least {
            let most = preferred.div_ceil(chunk).min(if wish.pieces == 0 { u64::MAX } else { u64::from(wish.pieces) });
            let mut pieces = Vec::new();
            let mut bytes = 0;
            while bytes < preferred && (pieces.len() as u64) < most {
                let piece = chunk.min(preferred - bytes);
                if piece > self.config.contiguous {
                    break;
                }
                // Between two pieces lies memory of others.
                pieces.push((BUFFERS + pieces.len() as u64 * 2 * chunk, piece));
                bytes += piece;
            }
            if bytes > 0 && bytes >= wish.minimum {
                return Some(pieces);
            }
            chunk /= 2;
        }
        None
    }

    /// The memory is the host's again.
    pub fn free(&mut self) {
        self.pieces.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const WISH: Wish = Wish { preferred: 64 * MIB, minimum: 8 * MIB, piece: 0, pieces: 0 };

    fn set_up(config: HmbConfig, wish: Wish) -> Result<(usize, u64, u64), Without> {
        let mut hmb = Hmb::new(config);
        hmb.set_up(&wish).map(|offer| (offer.pieces.len(), offer.pieces[0].1, hmb.bytes()))
    }

    /// Number of pieces, bytes of the first and of all.
    #[test]
    fn it_lends_what_is_preferred_as_far_as_it_may_and_can() {
        let config = HmbConfig::default();
        assert_eq!(set_up(config, WISH), Ok((16, 4 * MIB, 64 * MIB)));
        assert_eq!(set_up(config, Wish { preferred: 480 * MIB, ..WISH }), Ok((32, 4 * MIB, 128 * MIB)));
        assert_eq!(set_up(config, Wish { preferred: 2 * MIB, minimum: 0, ..WISH }), Ok((1, 2 * MIB, 2 * MIB)));
        // The last piece is what is left.
        assert_eq!(set_up(config, Wish { preferred: 9 * MIB, ..WISH }), Ok((3, 4 * MIB, 9 * MIB)));
        // As many pieces as the controller takes, if that is enough for it.
        assert_eq!(set_up(config, Wish { pieces: 4, ..WISH }), Ok((4, 4 * MIB, 16 * MIB)));
        assert_eq!(set_up(config, Wish { pieces: 1, ..WISH }), Err(Without::NoMemory));
    }

    #[test]
    fn pieces_are_halved_until_memory_has_them() {
        let fragmented = |contiguous| HmbConfig { contiguous, ..HmbConfig::default() };
        assert_eq!(set_up(fragmented(MIB), WISH), Ok((64, MIB, 64 * MIB)));
        assert_eq!(set_up(fragmented(3 * MIB / 2), WISH), Ok((64, MIB, 64 * MIB)));
        assert_eq!(set_up(fragmented(8192), WISH), Ok((8192, 8192, 64 * MIB)));
        assert_eq!(set_up(fragmented(4096), WISH), Err(Without::NoMemory));
        assert_eq!(set_up(fragmented(MIB), Wish { piece: 2 * MIB, ..WISH }), Err(Without::NoMemory));
        assert_eq!(set_up(fragmented(MIB), Wish { pieces: 4, ..WISH }), Err(Without::NoMemory));
    }

    #[test]
    fn it_lends_nothing_above_the_limit_or_unasked() {
        let limited = |limit| HmbConfig { limit, ..HmbConfig::default() };
        assert_eq!(set_up(limited(4 * MIB), WISH), Err(Without::AboveLimit));
        assert_eq!(set_up(limited(0), Wish { minimum: 0, ..WISH }), Err(Without::AboveLimit));
        assert_eq!(set_up(HmbConfig::default(), Wish::default()), Err(Without::NotWanted));
    }

    #[test]
    fn after_a_reset_it_returns_what_it_lent() {
        let mut hmb = Hmb::new(HmbConfig::default());
        let first = hmb.set_up(&WISH).expect("memory");
        let second = hmb.set_up(&WISH).expect("the same");
        assert_eq!((first.returned, second.returned, &first.pieces), (false, true, &second.pieces));
        hmb.free();
        assert!(!hmb.set_up(&WISH).expect("memory").returned);
        // A controller that came back with a greater need gets other memory.
        assert!(!hmb.set_up(&Wish { preferred: 128 * MIB, minimum: 96 * MIB, ..WISH }).expect("memory").returned);
    }
}
