//! UFS: UniPro over M-PHY, one or two lanes in each direction.
//!
//! The link is full duplex. A message (a UTP information unit, UPIU) travels as segments of a transport connection.
//! Each segment has one data frame: start, one byte of network and one of transport header, the data, end and CRC, in
//! symbols of sixteen bits (MIPI UniPro 1.6, layers 2 to 4). M-PHY encodes each byte in ten bits. The receiver answers
//! frames with acknowledgment and flow-control frames (AFC), which travel in the other direction. All messages of a
//! direction belong to one traffic class and one connection, so they stay in order.
//!
//! In fast mode the wires carry filler between frames, so a frame starts without delay. The model omits the exit from
//! power-saving states, retransmission, and the padding of a frame's end to two lanes (under 1 %).

use keys::{COUNT, Kind, SIZE, assumed, given, section, words};
use sim::Time;

use crate::{ByteTime, Direction, Serial, Span, Transfer, Utilization};

/// Bytes of every UPIU in front of its data: the header and the fields of its type (UFS 2.0, JESD220B, 10.6.2).
pub const UPIU: u32 = 32;
/// Additional bytes of a RESPONSE UPIU if the command failed: a length and 18 bytes of sense data (10.7.2).
pub const SENSE: u32 = 20;
/// Maximum data of a transport segment in bytes (UniPro 1.6: T_MTU).
pub const SEGMENT: u64 = 272;
/// Bytes that a frame adds to its segment: short headers of layers 3 and 4, start and end of frame, CRC.
const FRAME: u64 = 1 + 1 + 2 + 2 + 2;
/// Bytes of an acknowledgment and flow-control frame: start, contents, CRC. Every data frame is answered by one. Given:
/// Linux drivers of host controllers set DL_TC0OutAckThreshold and DL_AFC0CreditThreshold to 0.
const AFC: u64 = 6;
/// Bytes of the receiver's buffer that a full frame takes, in credits of 32 bytes.
const FRAME_CREDITS: u64 = (SEGMENT + 2).div_ceil(32) * 32;

words! {
    /// Rate series of M-PHY. Each gear has two rates, so that a host can choose the one that interferes less with its
    /// radio.
    Series {
        /// 1248 Mb/s in gear 1.
        A = "a",
        /// 1457.6 Mb/s in gear 1.
        B = "b",
    }
}

section! {
    /// Configuration of a UFS link.
    #[derive(Eq)]
    UfsConfig {
        "link.gear" gear: u8 = COUNT.within(1.0, 5.0),
            given("3", "UFS 2.0 (JESD220B): HS-G3, its fastest; UFS 3.0 has HS-G4 and UFS 4.0 HS-G5"),
            "M-PHY high-speed gear: 1.25 (series B: 1.46) Gb/s per lane, doubled by each gear.",
            when "link.type" is "ufs";
        "link.series" series: Series = Kind::words(Series::WORDS),
            assumed("b", "the faster one, which drivers request"),
            "M-PHY rate series.",
            when "link.type" is "ufs";
        "link.lanes" lanes: u8;
        "link.latency" latency: Time;
        "link.credits" credits: u32 = SIZE.within(288.0, 16777216.0),
            assumed("4KiB", "large enough that the sender never waits"),
            "A UFS receiver's buffer, which holds unacknowledged frames.",
            when "link.type" is "ufs";
    }
}

impl Default for UfsConfig {
    /// The defaults of the keys where `link.type` is `ufs`.
    fn default() -> UfsConfig {
        crate::config::default_where("ufs")
    }
}

impl UfsConfig {
    /// Returns the raw rate of a lane in units of 100 kb/s (MIPI M-PHY 5.0).
    ///
    /// # Panics
    /// If the gear does not exist.
    fn lane_rate(&self) -> u128 {
        assert!((1..=5).contains(&self.gear), "HS-G{}, expected gear 1 to 5", self.gear);
        let first = match self.series {
            Series::A => 12_480,
            Series::B => 14_576,
        };
        first << (self.gear - 1)
    }
}

#[derive(Clone, Debug, Default)]
struct Wire {
    serial: Serial,
    payload: u64,
    bytes: u64,
    frames: u64,
}

/// A UFS link between a host controller and a device.
#[derive(Clone, Debug)]
pub struct Ufs {
    /// To the device, to the host.
    wires: [Wire; 2],
    byte: ByteTime,
    /// Time from one full frame's start to the next: the frame's own time, or longer if the receiver's buffer limits
    /// it.
    interval: Time,
    latency: Time,
}

impl Ufs {
    /// Creates an idle link.
    ///
    /// # Panics
    /// If the configuration is not valid in UFS 4.0.
    pub fn new(config: &UfsConfig) -> Ufs {
        let (lanes, credits) = (u128::from(config.lanes), u64::from(config.credits));
        assert!((1..=2).contains(&lanes), "{lanes} lanes, expected 1 or 2");
        assert!(credits >= FRAME_CREDITS, "a buffer of {credits} bytes, expected at least {FRAME_CREDITS}");
        // 10 bits per byte.
        let byte = ByteTime::of(100_000_000, config.lane_rate() * lanes);
        let frame = byte.of_bytes(SEGMENT + FRAME);
        let answered = frame + config.latency + byte.of_bytes(AFC) + config.latency;
        Ufs {
            wires: [Wire::default(), Wire::default()],
            byte,
            interval: frame.max(answered / (credits / FRAME_CREDITS)),
            latency: config.latency,
        }
    }

    /// Sends a UPIU of `bytes`, data included, as soon as the wire is free. Calls `occupied` with its time on the wire.
    pub fn upiu(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u32,
        mut occupied: impl FnMut(Direction, Span),
    ) -> Transfer {
        assert!(bytes >= UPIU, "a UPIU of {bytes} bytes");
        let bytes = u64::from(bytes);
        let frames = bytes.div_ceil(SEGMENT);
        let last = bytes - (frames - 1) * SEGMENT;
        // Frames are whole symbols of two bytes.
        let last_frame = (last + FRAME).next_multiple_of(2);
        let length = self.interval * (frames - 1) + self.byte.of_bytes(last_frame);
        let wire = &mut self.wires[direction as usize];
        let span = wire.serial.take(now, length);
        wire.payload += bytes;
        wire.bytes += (frames - 1) * (SEGMENT + FRAME) + last_frame;
        wire.frames += frames;
        // No component waits for an AFC frame; it only takes wire time in the other direction.
        let back = &mut self.wires[1 - direction as usize];
        back.serial.charge(self.byte.of_bytes(AFC) * frames);
        back.bytes += AFC * frames;
        occupied(direction, span);
        Transfer { sent: span.to, arrives: span.to + self.latency }
    }

    /// Returns the traffic of each direction; see [`Link::utilization`](crate::Link::utilization). Packets are data
    /// frames.
    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        [Direction::ToDevice, Direction::ToHost].map(|direction| {
            let wire = &self.wires[direction as usize];
            Utilization {
                direction,
                busy: wire.serial.busy(now),
                elapsed: now,
                payload: wire.payload,
                wire: wire.bytes,
                packets: wire.frames,
            }
        })
    }

    /// See [`Link::power_cut`](crate::Link::power_cut).
    pub fn power_cut(&mut self, now: Time) {
        for wire in &mut self.wires {
            wire.serial.power_cut(now);
        }
    }
}
