//! Serial ATA, generation 1 to 3.
//!
//! One wire pair each way, but a frame one way needs the other for its handshake, so that the link is half-duplex: one
//! serial resource. A frame information structure (FIS) travels in a frame: start, the FIS, its CRC and end, a dword
//! each, in 8b/10b, with two ALIGN primitives in every 256 dwords (Serial ATA Revision 3.0, 9.4 and 9.5).

use sim::Time;

use crate::{ByteTime, Direction, Serial, Span, Transfer, Utilisation};

/// Bytes of a Register FIS, to the device (a command) or to the host (its acceptance, or the end of a command that is
/// not queued). Sizes: Serial ATA Revision 3.0, 10.3.
pub const REGISTER: u32 = 20;
/// Bytes of a DMA Setup FIS: which tag's data comes next, and which way.
pub const DMA_SETUP: u32 = 28;
/// Bytes of a DMA Activate FIS: the host may send the next Data FIS.
pub const DMA_ACTIVATE: u32 = 4;
/// Bytes of a Set Device Bits FIS: queued commands have ended.
pub const SET_DEVICE_BITS: u32 = 8;
/// Bytes of a Data FIS before its data.
pub const DATA_HEADER: u32 = 4;
/// Most data of a Data FIS: 2,048 dwords.
pub const DATA_MAX: u32 = 8192;
/// Start of frame, CRC, end of frame.
const FRAME: u32 = 12;
/// Bytes of a frame before its data: start of frame, header of the Data FIS.
const BEFORE_DATA: u32 = 4 + DATA_HEADER;

/// The host's end of a transfer that is paced piece by piece ([`Sata::data_paced`]).
pub trait Pace {
    /// The wire could carry the next piece, of `bytes`, from `at` on. Returns when it may: not before `at`.
    fn may_start(&mut self, at: Time, bytes: u64) -> Time;
    /// It has been carried by `at`.
    fn passed(&mut self, at: Time, bytes: u64);
}

/// A Serial ATA link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SataConfig {
    /// Generation, 1 to 3: 1.5, 3 or 6 Gb/s.
    pub generation: u8,
    /// Most data of a Data FIS in bytes, a multiple of 4 up to 8192.
    pub data_fis: u32,
    /// The DMA Setup FIS of a write activates its first Data FIS (DMA Setup Auto-Activate).
    pub auto_activate: bool,
    /// Time of a frame's handshakes: X_RDY until R_RDY before it and WTRM until R_OK after it, each a way there and
    /// back through both link and physical layers.
    pub handshake: Time,
}

impl Default for SataConfig {
    fn default() -> Self {
        SataConfig {
            generation: 3,
            data_fis: DATA_MAX,
            auto_activate: true,
            // Assumed: with it sequential reads of a third-generation drive reach 560 to 570 MB/s, as drives do.
            handshake: Time::from_ns(400),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Occupied time accepted so far, its end not yet reached included.
    busy: Time,
    payload: u64,
    wire: u64,
    frames: u64,
}

/// A Serial ATA link between a host bus adapter's port and a drive.
#[derive(Clone, Debug)]
pub struct Sata {
    wire: Serial,
    /// To the device, to the host.
    ways: [Way; 2],
    byte: ByteTime,
    data_fis: u64,
    auto_activate: bool,
    handshake: Time,
}

impl Sata {
    /// An idle link.
    ///
    /// # Panics
    /// If there is no such generation or Data FIS.
    pub fn new(config: &SataConfig) -> Sata {
        let rate = match config.generation {
            1 => 15,
            2 => 30,
            3 => 60,
            other => panic!("SATA generation {other}, expected 1 to 3"),
        };
        let size = config.data_fis;
        assert!(
            size > 0 && size.is_multiple_of(4) && size <= DATA_MAX,
            "a Data FIS of {size} bytes, expected up to 8192"
        );
        Sata {
            wire: Serial::default(),
            ways: [Way::default(); 2],
            // 10 bits a byte at `rate` times 10^8 bits a second, and 254 of 256 dwords are not ALIGN primitives.
            byte: ByteTime::of(100_000 * 256, rate * 254),
            data_fis: u64::from(size),
            auto_activate: config.auto_activate,
            handshake: config.handshake,
        }
    }

    /// A frame with a FIS of `bytes`, sent now or when the wire is free.
    #[inline]
    pub fn frame(&mut self, now: Time, direction: Direction, bytes: u32) -> Span {
        let length = self.account(direction, bytes);
        self.wire.take(now, length)
    }

    /// Counts a frame with a FIS of `bytes`; returns how long it takes.
    #[inline]
    fn account(&mut self, direction: Direction, bytes: u32) -> Time {
        let total = u64::from(bytes + FRAME);
        let length = self.handshake + self.byte.of_bytes(total);
        let way = &mut self.ways[direction as usize];
        way.busy += length;
        way.payload += u64::from(bytes);
        way.wire += total;
        way.frames += 1;
        length
    }

    /// The data of a queued command, or a piece of it: a DMA Setup FIS and its Data FISes, those to the device each
    /// after a DMA Activate FIS. The device, which starts every transfer, does not give the wire away in between.
    pub fn data(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u64,
        mut occupied: impl FnMut(Direction, Span),
    ) -> Transfer {
        occupied(Direction::ToHost, self.frame(now, Direction::ToHost, DMA_SETUP));
        let (mut left, mut activated, mut sent) = (bytes, self.auto_activate, now);
        while left > 0 {
            if direction == Direction::ToDevice && !activated {
                occupied(Direction::ToHost, self.frame(now, Direction::ToHost, DMA_ACTIVATE));
            }
            let piece = left.min(self.data_fis);
            let span = self.frame(now, direction, piece as u32 + DATA_HEADER);
            occupied(direction, span);
            (left, activated, sent) = (left - piece, false, span.to);
        }
        Transfer { sent, arrives: sent }
    }

    /// As [`data`](Self::data), in pieces that the host's end paces: where it has no room for the next piece or has not
    /// fetched it yet, the frame stands still (HOLD) and the wire stays taken.
    pub fn data_paced(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u64,
        piece: u64,
        pace: &mut impl Pace,
        mut occupied: impl FnMut(Direction, Span),
    ) -> Transfer {
        occupied(Direction::ToHost, self.frame(now, Direction::ToHost, DMA_SETUP));
        let (mut left, mut activated, mut sent) = (bytes, self.auto_activate, now);
        while left > 0 {
            if direction == Direction::ToDevice && !activated {
                occupied(Direction::ToHost, self.frame(now, Direction::ToHost, DMA_ACTIVATE));
            }
            let framed = left.min(self.data_fis);
            // Half of the handshakes, start of frame and FIS header come before the data, the rest behind it.
            let start = now.max(self.wire.all_free()) + self.handshake / 2;
            let (mut carried, mut held) = (u64::from(BEFORE_DATA), Time::ZERO);
            let mut at = start + self.byte.of_bytes(carried);
            let mut unsent = framed;
            while unsent > 0 {
                let part = unsent.min(piece);
                let goes = pace.may_start(at, part);
                held += goes.saturating_sub(at);
                carried += part;
                at = start + self.byte.of_bytes(carried) + held;
                pace.passed(at, part);
                unsent -= part;
            }
            let length = self.account(direction, framed as u32 + DATA_HEADER) + held;
            self.ways[direction as usize].busy += held;
            let span = self.wire.take(now, length);
            occupied(direction, span);
            (left, activated, sent) = (left - framed, false, span.to);
        }
        Transfer { sent, arrives: sent }
    }

    /// What each direction has carried; see [`Link::utilisation`](crate::Link::utilisation).
    pub fn utilisation(&self, now: Time) -> [Utilisation; 2] {
        let both = self.wire.busy(now);
        let [down, up] = self.ways;
        // Frames that are accepted and not yet over: shared out to the directions as all frames so far are.
        let accepted = down.busy + up.busy;
        let part = |way: Way| {
            let share = u128::from(way.busy.ps()) * u128::from(both.ps()) / u128::from(accepted.ps().max(1));
            Time::from_ps(share as u64)
        };
        let of = |direction, way: Way| Utilisation {
            direction,
            busy: part(way),
            elapsed: now,
            payload: way.payload,
            wire: way.wire,
            packets: way.frames,
        };
        let result = [of(Direction::ToDevice, down), of(Direction::ToHost, up)];
        assert!(result[0].busy + result[1].busy <= now, "a half-duplex wire busy both ways at once");
        result
    }

    /// See [`Link::power_cut`](crate::Link::power_cut).
    pub fn power_cut(&mut self, now: Time) {
        let [down, up] = self.utilisation(now);
        (self.ways[0].busy, self.ways[1].busy) = (down.busy, up.busy);
        self.wire.power_cut(now);
    }
}
