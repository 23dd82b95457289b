//! Serial ATA, generations 1 to 3.
//!
//! There is one wire pair in each direction, but a frame in one direction needs the other for its handshake. The link
//! is therefore half-duplex: one serial resource. A frame information structure (FIS) travels in a frame of start, FIS,
//! CRC and end, where all but the FIS take one dword each. The encoding is 8b/10b, with two ALIGN primitives in every
//! 256 dwords (Serial ATA Revision 3.0, 9.4 and 9.5).

use keys::{BOOL, TIME, assumed, section};
use sim::Time;

use crate::{ByteTime, Direction, Serial, Span, Transfer, Utilization};

/// Bytes of a Register FIS: a command to the device, or to the host the acceptance of a command or the completion of a
/// non-queued one. Sizes: Serial ATA Revision 3.0, 10.3.
pub const REGISTER: u32 = 20;
/// Bytes of a DMA Setup FIS, which announces the tag and direction of the data that follows.
pub const DMA_SETUP: u32 = 28;
/// Bytes of a DMA Activate FIS, which allows the host to send the next Data FIS.
pub const DMA_ACTIVATE: u32 = 4;
/// Bytes of a Set Device Bits FIS, which reports completed queued commands.
pub const SET_DEVICE_BITS: u32 = 8;
/// Bytes of a Data FIS in front of its data.
pub const DATA_HEADER: u32 = 4;
/// Maximum data of a Data FIS in bytes. Given: 2,048 dwords (Serial ATA Revision 3.0). Every frame of a longer transfer
/// but the last has as much.
pub const DATA_MAX: u32 = 8192;
/// Bytes of start of frame, CRC and end of frame.
const FRAME: u32 = 12;
/// Bytes of a frame in front of its data: start of frame and header of the Data FIS.
const BEFORE_DATA: u32 = 4 + DATA_HEADER;

/// Flow control by the host during [`Sata::data_paced`].
pub trait Pace {
    /// Returns the time at which the next `bytes` may start; `at`, when the wire is ready, or later.
    fn may_start(&mut self, at: Time, bytes: u64) -> Time;
    /// Notifies the host that the bytes have been carried by `at`.
    fn passed(&mut self, at: Time, bytes: u64);
}

section! {
    /// Configuration of a Serial ATA link. Generations 1 to 3 have 1.5, 3 or 6 Gb/s. A frame's handshakes are X_RDY to R_RDY
    /// before the frame and WTRM to R_OK after it, each a round trip through both link and physical layers.
    #[derive(Eq)]
    SataConfig {
        "link.generation" generation: u8;
        "link.handshake" handshake: Time = TIME,
            assumed("400ns", "makes sequential reads of a 6 Gb/s drive reach 560 to 570 MB/s"),
            "Time of a SATA frame's handshakes, before and after it.",
            when "link.type" is "sata";
        "link.auto_activate" auto_activate: bool = BOOL,
            assumed("true", "supported by drives and hosts that queue commands"),
            "The DMA Setup FIS of a write activates its first Data FIS (DMA Setup Auto-Activate).",
            when "link.type" is "sata";
    }
}

impl Default for SataConfig {
    /// The defaults of the keys where `link.type` is `sata`.
    fn default() -> SataConfig {
        crate::config::default_where("sata")
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// Occupied time accepted so far, including the part after the current time.
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
    traffic: [Traffic; 2],
    byte: ByteTime,
    auto_activate: bool,
    handshake: Time,
}

impl Sata {
    /// Creates an idle link.
    ///
    /// # Panics
    /// If the generation is invalid.
    pub fn new(config: &SataConfig) -> Sata {
        let rate = match config.generation {
            1 => 15,
            2 => 30,
            3 => 60,
            other => panic!("SATA generation {other}, expected 1 to 3"),
        };
        Sata {
            wire: Serial::default(),
            traffic: [Traffic::default(); 2],
            // 10 bits per byte at `rate` times 10^8 bits per second; 254 of 256 dwords are not ALIGN primitives.
            byte: ByteTime::of(100_000 * 256, rate * 254),
            auto_activate: config.auto_activate,
            handshake: config.handshake,
        }
    }

    /// Sends a frame with a FIS of `bytes` bytes as soon as the wire is free.
    pub fn frame(&mut self, now: Time, direction: Direction, bytes: u32) -> Span {
        let length = self.account(direction, bytes);
        self.wire.take(now, length)
    }

    /// Counts a frame with a FIS of `bytes` bytes. Returns its time on the wire.
    fn account(&mut self, direction: Direction, bytes: u32) -> Time {
        let total = u64::from(bytes + FRAME);
        let length = self.handshake + self.byte.of_bytes(total);
        let way = &mut self.traffic[direction as usize];
        way.busy += length;
        way.payload += u64::from(bytes);
        way.wire += total;
        way.frames += 1;
        length
    }

    /// Transfers data of a queued command: a DMA Setup FIS and the Data FISes, each preceded by a DMA Activate FIS if
    /// it goes to the device. The device starts every transfer and keeps the wire until the end.
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
            let part = left.min(u64::from(DATA_MAX));
            let span = self.frame(now, direction, part as u32 + DATA_HEADER);
            occupied(direction, span);
            (left, activated, sent) = (left - part, false, span.to);
        }
        Transfer { sent, arrives: sent }
    }

    /// Like [`data`](Self::data), in chunks of `chunk` bytes that the host paces. While the host has no room for the
    /// next chunk, or has not fetched it yet, the frame stalls (HOLD) and keeps the wire.
    pub fn data_paced(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u64,
        chunk: u64,
        pace: &mut impl Pace,
        mut occupied: impl FnMut(Direction, Span),
    ) -> Transfer {
        occupied(Direction::ToHost, self.frame(now, Direction::ToHost, DMA_SETUP));
        let (mut left, mut activated, mut sent) = (bytes, self.auto_activate, now);
        while left > 0 {
            if direction == Direction::ToDevice && !activated {
                occupied(Direction::ToHost, self.frame(now, Direction::ToHost, DMA_ACTIVATE));
            }
            let framed = left.min(u64::from(DATA_MAX));
            // Half of the handshake time, start of frame and FIS header precede the data; the rest follows it.
            let start = now.max(self.wire.all_free()) + self.handshake / 2;
            let (mut carried, mut held) = (u64::from(BEFORE_DATA), Time::ZERO);
            let mut at = start + self.byte.of_bytes(carried);
            let mut unsent = framed;
            while unsent > 0 {
                let part = unsent.min(chunk);
                let starts = pace.may_start(at, part);
                held += starts.saturating_sub(at);
                carried += part;
                at = start + self.byte.of_bytes(carried) + held;
                pace.passed(at, part);
                unsent -= part;
            }
            let length = self.account(direction, framed as u32 + DATA_HEADER) + held;
            self.traffic[direction as usize].busy += held;
            let span = self.wire.take(now, length);
            occupied(direction, span);
            (left, activated, sent) = (left - framed, false, span.to);
        }
        Transfer { sent, arrives: sent }
    }

    /// Returns the traffic of each direction; see [`Link::utilization`](crate::Link::utilization).
    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        let both = self.wire.busy(now);
        let [down, up] = self.traffic;
        // The directions share the time of unfinished frames in proportion to all frames accepted so far.
        let accepted = down.busy + up.busy;
        let part = |way: Traffic| {
            let share = u128::from(way.busy.ps()) * u128::from(both.ps()) / u128::from(accepted.ps().max(1));
            Time::from_ps(share as u64)
        };
        let of = |direction, way: Traffic| Utilization {
            direction,
            busy: part(way),
            elapsed: now,
            payload: way.payload,
            wire: way.wire,
            packets: way.frames,
        };
        let result = [of(Direction::ToDevice, down), of(Direction::ToHost, up)];
        assert!(result[0].busy + result[1].busy <= now, "a half-duplex wire busy both traffic at once");
        result
    }

    /// See [`Link::power_cut`](crate::Link::power_cut).
    pub fn power_cut(&mut self, now: Time) {
        let [down, up] = self.utilization(now);
        (self.traffic[0].busy, self.traffic[1].busy) = (down.busy, up.busy);
        self.wire.power_cut(now);
    }
}
