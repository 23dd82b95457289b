//! PCI Express, generations 1 to 6.
//!
//! Each direction is a serial resource. A transaction layer packet (TLP) occupies it for its payload, header, sequence
//! number, link CRC and framing, all stretched by the line encoding. The acknowledgment and flow-control packets
//! (DLLPs) that a TLP causes occupy the other direction. Writes are posted: they have no response. A read is a request
//! in one direction and completions in the other. The model omits retraining, replays and skip ordered sets (under 0.3
//! %).

use keys::{
    COUNT, Conflict, Fallback, RATE, SIZE, TIME, Value, assumed, by_assumed, by_given, expect, given, power_of_two,
    section,
};
use sim::Time;

use crate::{ByteTime, Direction, Serial, Span, Transfer, Utilization};

section! {
    /// Configuration of a PCI Express link. Generations 1 to 6 have 2.5, 5, 8, 16, 32 or 64 GT/s per lane; 32 lanes exist
    /// up to generation 5. In generation 6, DLLPs have a fixed place in every flit.
    #[derive(Eq)]
    PcieConfig {
        "link.generation" generation: u8 = COUNT.within(1.0, 6.0),
            Fallback::By("link.type", &[
                by_assumed("pcie", "4", "used by client drives since 2020"),
                by_given("sata", "3", "Serial ATA Revision 3: 6 Gb/s"),
            ]),
            "PCIe generation (1 to 6) or SATA revision (1 to 3).",
            when "link.type" is "pcie" | "sata";
        "link.lanes" lanes: u8 = COUNT.within(1.0, 32.0),
            Fallback::By("link.type", &[
                by_given("pcie", "4", "an M.2 (socket 3) or U.2 drive has up to four lanes"),
                by_given("ufs", "2", "UFS 2.0 (JESD220B): up to two lanes in each direction"),
            ]),
            "PCIe lanes: 1, 2, 4, 8, 12, 16 or 32; UFS lanes in each direction: 1 or 2.",
            when "link.type" is "pcie" | "ufs";
        "link.bandwidth" bandwidth: Option<u64> = RATE.or("auto"),
            given("auto", "follows from generation, lanes, encoding and packets"),
            "For simple models: bytes per second in each direction, without packet overhead, in place of generation \
             and lanes.",
            when "link.type" is "pcie";
        "link.latency" latency: Time = TIME,
            Fallback::By("link.type", &[
                by_assumed("pcie", "150ns", "with the host's memory, a 64-byte read takes half a microsecond, as on \
                    servers (Neugebauer et al., Understanding PCIe performance, SIGCOMM 2018)"),
                by_assumed("ufs", "400ns", "about thirty cycles of a 167 MHz UniPro clock in each of host and device, \
                    and both M-PHYs"),
            ]),
            "Time from the last bit leaving to its use at the other end.",
            when "link.type" is "pcie" | "ufs";
        "link.max_payload" max_payload: u32 = SIZE.within(128.0, 4096.0),
            assumed("256B", "common to most hosts and drives"),
            "Maximum data bytes of a PCIe packet (Max_Payload_Size), a power of two.",
            when "link.type" is "pcie";
        "link.read_completion_boundary" read_completion_boundary: Option<u32> = SIZE.within(64.0, 4096.0).or("max_payload"),
            assumed("max_payload", "products write 6.9 GB/s on PCIe 4.0 x4, more than packets of 64 bytes (5.9) or 128 \
                bytes (6.7) allow"),
            "Bytes per completion packet of a PCIe read, a power of two; at most max_payload.",
            when "link.type" is "pcie";
        "link.dllp" dllp: u32 = SIZE.within(0.0, 64.0),
            assumed("8B", "an Ack and an UpdateFC for every second packet"),
            "Average bytes of link-layer packets (Ack, UpdateFC) that a packet causes in the other direction.",
            when "link.type" is "pcie";
        "host.memory_latency" host_memory: Time = TIME,
            assumed("200ns", "with the link's latency, a 64-byte read takes half a microsecond, as on servers \
                (Neugebauer et al., Understanding PCIe performance, SIGCOMM 2018)"),
            "Time from a PCIe read's arrival at the host until its first byte leaves.",
            when "link.type" is "pcie";

        check packets;
    }
}

impl PcieConfig {
    /// Returns the payload of each read completion in bytes.
    pub fn completion_payload(&self) -> u32 {
        self.read_completion_boundary.unwrap_or(self.max_payload)
    }

    fn packets(&self) -> Result<(), Conflict> {
        power_of_two("link.max_payload", u64::from(self.max_payload))?;
        let (boundary, payload) = ("link.read_completion_boundary", "link.max_payload");
        let bytes = self.completion_payload();
        power_of_two(boundary, u64::from(bytes))?;
        let most = format!("at most {payload} ({})", Value::Size(u64::from(self.max_payload)).plain());
        expect(bytes <= self.max_payload, &[boundary, payload], most)
    }
}

impl Default for PcieConfig {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> PcieConfig {
        crate::config::default_where("pcie")
    }
}

/// Bytes of a TLP in addition to its payload.
#[derive(Clone, Copy, Debug)]
struct Overhead {
    /// Memory write or memory read request, 64-bit address.
    request: u32,
    /// Completion with data.
    completion: u32,
}

/// A 4-DW request header or 3-DW completion header, 4 bytes of link CRC, and 4 more bytes: generations 1 and 2 use one
/// byte of framing at each end and a two-byte sequence number; generations 3 to 5 put the number into a four-byte
/// framing token (PCI Express Base Specification 5.0, 2.2, 3.6 and 4.2.2).
const FRAMED: Overhead = Overhead { request: 16 + 8, completion: 12 + 8 };
/// In flit mode the flit carries framing, sequence number and CRC (PCI Express Base Specification 6.0, 2.2 and 4.2.3).
const FLIT: Overhead = Overhead { request: 16, completion: 12 };
const BARE: Overhead = Overhead { request: 0, completion: 0 };

/// Bytes of an NVMe submission queue entry (NVM Express Base Specification 2.0, 3.3.3.1).
pub const SUBMISSION: u32 = 64;
/// Bytes of an NVMe completion queue entry (3.3.3.2).
pub const COMPLETION: u32 = 16;
/// Bytes of a doorbell register, and of an interrupt message.
pub const REGISTER: u32 = 4;

#[derive(Clone, Debug, Default)]
struct Wire {
    serial: Serial,
    payload: u64,
    bytes: u64,
    packets: u64,
    /// Most recent size of data to the host; used only in that direction.
    last: WriteLoad,
}

/// Wire usage of host-bound data of one size, cached because successive transfers usually have equal sizes.
#[derive(Clone, Copy, Debug, Default)]
struct WriteLoad {
    payload: u64,
    packets: u64,
    bytes: u64,
    /// Time on the wire.
    length: Time,
    /// Time that the acknowledgments take in the other direction.
    acknowledgments: Time,
    /// Transfers of this size that are not yet in the wire's counters.
    times: u64,
}

impl Wire {
    fn count(&mut self, packets: u64, payload: u64, bytes: u64) {
        self.packets += packets;
        self.payload += payload;
        self.bytes += bytes;
    }

    /// Adds the transfers of the last size to the counters.
    fn count_last(&mut self) {
        let WriteLoad { payload, packets, bytes, times, .. } = self.last;
        self.count(times * packets, times * payload, times * bytes);
        self.last.times = 0;
    }
}

/// Wire usage of a read of host memory, cached because most reads have the same size.
#[derive(Clone, Copy, Debug, Default)]
struct ReadLoad {
    bytes: u64,
    /// Number of read requests.
    requests: u64,
    /// Time of the requests on the wire.
    request_time: Time,
    /// Number of completions.
    completions: u64,
    /// Bytes of the completions, headers included.
    total: u64,
    /// Time of the completions on the wire.
    length: Time,
}

/// A PCI Express link between a device and its root complex.
#[derive(Clone, Debug)]
pub struct Pcie {
    /// To the device, to the host.
    wires: [Wire; 2],
    byte: ByteTime,
    overhead: Overhead,
    /// DLLPs that a TLP causes in the other direction: bytes, and their time.
    dllp: u64,
    dllp_time: Time,
    /// log2 of the payload of a write and a completion.
    write_shift: u32,
    completion_shift: u32,
    /// Half a full TLP: the average wait of an urgent packet while data is on the wire.
    residue: Time,
    latency: Time,
    host_memory: Time,
    /// Times of the packets that every command causes.
    register: Time,
    request: Time,
    completion: Time,
    /// Wire time per direction of a completion queue entry, without and with an interrupt behind it.
    completion_charge: [[Time; 2]; 2],
    /// Time from the doorbell's departure to the entry's arrival on idle wires, and its wire time per direction,
    /// acknowledgments included.
    submission: Time,
    submission_charge: [Time; 2],
    /// Most recent size of read.
    last_read: ReadLoad,
    /// Submissions, completions (without and with an interrupt) and head doorbells so far. `utilization` adds their
    /// packets.
    submissions: u64,
    completions: [u64; 2],
    heads: u64,
}

/// log2 of the maximum bytes of a read request. Given: 512, the default of Max_Read_Request_Size (PCI Express Base
/// Specification).
const REQUEST_SHIFT: u32 = 9;

fn packets(bytes: u64, shift: u32) -> u64 {
    (bytes + (1 << shift) - 1) >> shift
}

const DOWN: usize = Direction::ToDevice as usize;
const UP: usize = Direction::ToHost as usize;

impl Pcie {
    /// Creates an idle link.
    ///
    /// # Panics
    /// If the generation, the number of lanes or a packet size does not exist in PCI Express.
    pub fn new(config: &PcieConfig) -> Pcie {
        let size = |bytes: u32, least: u32, name: &str| {
            let fits = bytes.is_power_of_two() && (least..=4096).contains(&bytes);
            assert!(fits, "{name} is {bytes}, expected a power of two from {least} to 4096");
            bytes.trailing_zeros()
        };
        let (byte, overhead, dllp) = match config.bandwidth {
            Some(rate) => (ByteTime::at_rate(rate), BARE, 0),
            None => {
                let (byte, overhead) = Pcie::signaling(config.generation, config.lanes);
                (byte, overhead, u64::from(config.dllp))
            }
        };
        let (read, write) = (config.completion_payload(), config.max_payload);
        assert!(read <= write, "read_completion_boundary is {read}, more than max_payload ({write})");
        let time = |payload: u32, header: u32| byte.of_bytes(u64::from(payload + header));
        let completion_shift = size(read, 64, "read_completion_boundary");
        let entry = packets(u64::from(SUBMISSION), completion_shift);
        let (register, request) = (time(REGISTER, overhead.request), time(0, overhead.request));
        let submission = time(SUBMISSION, entry as u32 * overhead.completion);
        let flights = config.latency * 3 + config.host_memory;
        let dllp_time = byte.of_bytes(dllp);
        let completion = time(COMPLETION, overhead.request);
        Pcie {
            wires: [Wire::default(), Wire::default()],
            byte,
            overhead,
            dllp,
            dllp_time,
            write_shift: size(write, 128, "max_payload"),
            completion_shift,
            residue: time(write, overhead.request) / 2,
            latency: config.latency,
            host_memory: config.host_memory,
            register,
            request,
            submission: register + request + submission + flights,
            submission_charge: [register + submission + dllp_time, request + dllp_time * (1 + entry)],
            completion,
            completion_charge: [[dllp_time, completion], [dllp_time * 2, completion + register]],
            last_read: ReadLoad::default(),
            submissions: 0,
            completions: [0; 2],
            heads: 0,
        }
    }

    /// Returns the time per byte of packets, and the packet overhead, of a generation.
    fn signaling(generation: u8, lanes: u8) -> (ByteTime, Overhead) {
        assert!(matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32), "PCIe has no link of {lanes} lanes");
        assert!(generation < 6 || lanes <= 16, "PCIe 6 has no link of {lanes} lanes");
        // (10^8 transfers per second, bits on the wire, bits carried).
        let (rate, coded, plain, overhead) = match generation {
            1 => (25, 10, 8, FRAMED),
            2 => (50, 10, 8, FRAMED),
            3 => (80, 130, 128, FRAMED),
            4 => (160, 130, 128, FRAMED),
            5 => (320, 130, 128, FRAMED),
            // A flit of 256 bytes carries 236 of TLPs, 6 of link layer, 8 of CRC and 6 of error correction.
            6 => (640, 256, 236, FLIT),
            _ => panic!("PCIe generation {generation}, expected 1 to 6"),
        };
        // 8 bits per byte at 10^8 `rate` bits per second and lane: 80,000 ps / rate.
        (ByteTime::of(80_000 * coded, rate * plain * u128::from(lanes)), overhead)
    }

    /// Sends urgent packets with `payload` bytes in total at `at`. Returns the time at which they have left.
    fn urgent(&mut self, now: Time, at: Time, way: usize, packets: u64, payload: u64, header: u32) -> Time {
        let bytes = payload + packets * u64::from(header);
        let length = self.byte.of_bytes(bytes);
        let left = self.wires[way].serial.due(at, self.residue) + length;
        self.wires[way].serial.charge_urgent(now, length);
        self.wires[way].count(packets, payload, bytes);
        self.acknowledge(way, packets);
        left
    }

    /// Charges the other direction for the DLLPs of `packets` TLPs.
    fn acknowledge(&mut self, way: usize, packets: u64) {
        self.wires[1 - way].serial.charge(self.dllp_time * packets);
    }

    /// The host writes a device register at `at`. Returns the arrival time.
    pub fn doorbell(&mut self, now: Time, at: Time) -> Time {
        self.urgent(now, at, DOWN, 1, u64::from(REGISTER), self.overhead.request) + self.latency
    }

    /// The device requests `bytes` of host memory now. Returns the arrival time of the last completion.
    pub fn fetch(&mut self, now: Time, bytes: u32) -> Time {
        let bytes = u64::from(bytes);
        let (requests, completions) = (packets(bytes, REQUEST_SHIFT), packets(bytes, self.completion_shift));
        let request = self.urgent(now, now, UP, requests, 0, self.overhead.request) + self.latency;
        let due = request + self.host_memory;
        self.urgent(now, due, DOWN, completions, bytes, self.overhead.completion) + self.latency
    }

    /// The host writes a doorbell at `at`, and the device immediately fetches one submission queue entry. Returns the
    /// entry's arrival time. All waiting for busy wires is charged once, at the start.
    pub fn submission(&mut self, now: Time, at: Time) -> Time {
        let [down, up] = &mut self.wires;
        let from = up.serial.due(down.serial.due(at, self.residue), self.residue);
        down.serial.charge_urgent(now, self.submission_charge[DOWN]);
        up.serial.charge_urgent(now, self.submission_charge[UP]);
        self.submissions += 1;
        from + self.submission
    }

    /// The device writes a completion queue entry at `at` and, if `interrupt` is set, sends an interrupt behind it.
    /// Returns both arrival times; the second is meaningless without an interrupt.
    #[inline]
    pub fn completion(&mut self, now: Time, at: Time, interrupt: bool) -> (Time, Time) {
        let [down, up] = &mut self.wires;
        let entry = up.serial.due(at, self.residue) + self.completion;
        let charge = &self.completion_charge[usize::from(interrupt)];
        up.serial.charge_urgent(now, charge[UP]);
        down.serial.charge(charge[DOWN]);
        self.completions[usize::from(interrupt)] += 1;
        let visible = entry + self.latency;
        (visible, visible + self.register)
    }

    /// The host writes a completion queue's head doorbell. No component waits for it.
    pub fn head(&mut self) {
        self.wires[DOWN].serial.charge(self.register);
        self.wires[UP].serial.charge(self.dllp_time);
        self.heads += 1;
    }

    /// The device sends an interrupt now. Returns the arrival time.
    pub fn interrupt(&mut self, now: Time) -> Time {
        self.urgent(now, now, UP, 1, u64::from(REGISTER), self.overhead.request) + self.latency
    }

    /// The device moves data: to the host as posted writes, from the host as pipelined reads of host memory.
    #[inline(always)]
    pub fn data(
        &mut self,
        now: Time,
        direction: Direction,
        bytes: u64,
        mut occupied: impl FnMut(Direction, Span),
    ) -> Transfer {
        let span = match direction {
            Direction::ToHost => {
                if self.wires[UP].last.payload != bytes {
                    self.wires[UP].count_last();
                    self.wires[UP].last = self.write_load(bytes);
                }
                let [down, up] = &mut self.wires;
                up.last.times += 1;
                down.serial.charge(up.last.acknowledgments);
                up.serial.take(now, up.last.length)
            }
            Direction::ToDevice => {
                if bytes != self.last_read.bytes {
                    self.last_read = self.read_load(bytes);
                }
                let ReadLoad { requests, request_time, completions, total, length, .. } = self.last_read;
                let [down, up] = &mut self.wires;
                let from = up.serial.due(now, self.residue);
                up.serial.charge_urgent(now, request_time);
                up.count(requests, 0, requests * u64::from(self.overhead.request));
                let due = from + self.request + self.latency + self.host_memory;
                down.serial.charge(self.dllp_time * requests);
                down.count(completions, bytes, total);
                up.serial.charge(self.dllp_time * completions);
                down.serial.take(due, length)
            }
        };
        occupied(direction, span);
        Transfer { sent: span.to, arrives: span.to + self.latency }
    }

    /// Returns the wire usage of a read of host memory.
    fn read_load(&self, bytes: u64) -> ReadLoad {
        let requests = packets(bytes, REQUEST_SHIFT);
        let request_time = self.byte.of_bytes(requests * u64::from(self.overhead.request));
        let completions = packets(bytes, self.completion_shift);
        let total = bytes + completions * u64::from(self.overhead.completion);
        ReadLoad { bytes, requests, request_time, completions, total, length: self.byte.of_bytes(total) }
    }

    /// Returns the wire usage of `payload` bytes to the host.
    fn write_load(&self, payload: u64) -> WriteLoad {
        let packets = packets(payload, self.write_shift);
        let bytes = payload + packets * u64::from(self.overhead.request);
        let (length, acknowledgments) = (self.byte.of_bytes(bytes), self.dllp_time * packets);
        WriteLoad { payload, packets, bytes, length, acknowledgments, times: 0 }
    }

    /// Returns the traffic of each direction; see [`Link::utilization`](crate::Link::utilization).
    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        let [mut down, mut up] = self.wires.clone();
        up.count_last();
        let (request, completion) = (u64::from(self.overhead.request), u64::from(self.overhead.completion));
        let add = |wire: &mut Wire, times: u64, packets: u64, payload: u32, header: u64| {
            wire.count(times * packets, times * u64::from(payload), times * (u64::from(payload) + packets * header));
        };
        add(&mut down, self.submissions + self.heads, 1, REGISTER, request);
        add(&mut up, self.submissions, 1, 0, request);
        let entry = packets(u64::from(SUBMISSION), self.completion_shift);
        add(&mut down, self.submissions, entry, SUBMISSION, completion);
        add(&mut up, self.completions.iter().sum(), 1, COMPLETION, request);
        add(&mut up, self.completions[1], 1, REGISTER, request);
        let of = |direction, this: &Wire, other: &Wire| Utilization {
            direction,
            busy: this.serial.busy(now),
            elapsed: now,
            payload: this.payload,
            wire: this.bytes + other.packets * self.dllp,
            packets: this.packets,
        };
        [of(Direction::ToDevice, &down, &up), of(Direction::ToHost, &up, &down)]
    }

    /// Returns the time from a read request's departure to the arrival of its first completion, without the time on the
    /// wire.
    pub fn round_trip(&self) -> Time {
        self.latency * 2 + self.host_memory
    }

    /// See [`Link::power_cut`](crate::Link::power_cut).
    pub fn power_cut(&mut self, now: Time) {
        for wire in &mut self.wires {
            wire.serial.power_cut(now);
        }
    }
}
