//! PCI Express, generation 1 to 6.
//!
//! Each direction is a serial resource. Every transaction layer packet (TLP) costs its header, sequence number, link
//! CRC and framing beside its payload, every byte its share of the encoding, and every packet the acknowledgement and
//! flow-control packets (DLLPs) that it causes the other way. A write is posted: it is sent and forgotten. A read is a
//! request one way and completions the other. Retrains, replays and skip ordered sets (under 0.3 %) are left out.

use sim::Time;

use crate::{ByteTime, Direction, Serial, Span, Transfer, Utilisation};

/// A PCI Express link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcieConfig {
    /// Generation, 1 to 6: 2.5, 5, 8, 16, 32 or 64 GT/s a lane.
    pub generation: u8,
    /// Lanes: 1, 2, 4, 8, 12, 16 or 32 (32 up to generation 5).
    pub lanes: u8,
    /// For simple models: bytes a second in each direction, with no overhead for packets. Replaces generation, lanes,
    /// packet sizes and `dllp`.
    pub bandwidth: Option<u64>,
    /// Largest payload of a write TLP in bytes (Max_Payload_Size: 128 to 4096; hosts commonly set 128, 256 or 512).
    pub max_payload: u32,
    /// Largest read request in bytes (Max_Read_Request_Size: 128 to 4096; 512 after reset).
    pub max_read_request: u32,
    /// Payload of each completion of a read in bytes: 64 or 128 where the root complex splits at every read completion
    /// boundary, up to `max_payload` where it joins.
    pub read_completion_boundary: u32,
    /// Bytes of DLLPs (Ack and UpdateFC, 8 bytes each with framing) that a TLP causes the other way, on average. None
    /// in generation 6, where they have a fixed place in every flit.
    pub dllp: u32,
    /// From the last bit's leaving to its being usable at the other end: both physical layers, switches, root complex.
    pub latency: Time,
    /// From a read request's arrival at the root complex to its first completion's leaving: the host's memory.
    pub host_memory: Time,
}

impl Default for PcieConfig {
    fn default() -> Self {
        PcieConfig {
            generation: 4,
            lanes: 4,
            bandwidth: None,
            max_payload: 256,
            max_read_request: 512,
            // Assumed: many root complexes split every read at 64 bytes (Neugebauer et al., "Understanding PCIe
            // performance for end host networking", SIGCOMM 2018, model it so).
            read_completion_boundary: 64,
            // Assumed: one Ack and one UpdateFC for every second TLP; the base specification's AckFactor lets a
            // receiver wait for 1 to 3 full packets.
            dllp: 8,
            // Assumed: with `host_memory`, a read of 64 bytes takes about half a microsecond, as servers do.
            latency: Time::from_ns(150),
            host_memory: Time::from_ns(200),
        }
    }
}

/// Bytes of a TLP beside its payload.
#[derive(Clone, Copy, Debug)]
struct Overhead {
    /// Memory write or memory read request, 64-bit address.
    request: u32,
    /// Completion with data.
    completion: u32,
}

/// 4-DW request header or 3-DW completion header, 4 bytes of link CRC, and 4 more: generation 1 and 2 frame with one
/// byte before and after and number with two, generation 3 to 5 put the number into a framing token of four (PCI
/// Express Base Specification 5.0, 2.2, 3.6 and 4.2.2).
const FRAMED: Overhead = Overhead { request: 16 + 8, completion: 12 + 8 };
/// In flit mode framing, number and CRC are the flit's (PCI Express Base Specification 6.0, 2.2 and 4.2.3).
const FLIT: Overhead = Overhead { request: 16, completion: 12 };
const BARE: Overhead = Overhead { request: 0, completion: 0 };

/// Bytes of an NVMe submission queue entry (NVM Express Base Specification 2.0, 3.3.3.1).
pub const SUBMISSION: u32 = 64;
/// Bytes of an NVMe completion queue entry (3.3.3.2).
pub const COMPLETION: u32 = 16;
/// Bytes of a doorbell register, and of the message that is an interrupt.
pub const REGISTER: u32 = 4;

#[derive(Clone, Debug, Default)]
struct Wire {
    serial: Serial,
    payload: u64,
    bytes: u64,
    packets: u64,
    /// Of the wire to the host.
    last: Load,
}

/// What data of some size for the host are on the wire, and how often they have been there since other data were: most
/// are alike.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    payload: u64,
    packets: u64,
    bytes: u64,
    /// Their time on the wire, and that of what they cause the other way.
    length: Time,
    acknowledgements: Time,
    times: u64,
}

impl Wire {
    #[inline]
    fn count(&mut self, packets: u64, payload: u64, bytes: u64) {
        self.packets += packets;
        self.payload += payload;
        self.bytes += bytes;
    }

    /// Counts what data of the last size have come to.
    fn count_last(&mut self) {
        let Load { payload, packets, bytes, times, .. } = self.last;
        self.count(times * packets, times * payload, times * bytes);
        self.last.times = 0;
    }
}

/// A read of host memory: its bytes, requests, what these take on the wire; completions, their bytes with headers and what
/// they take.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    bytes: u64,
    requests: u64,
    asking: Time,
    completions: u64,
    total: u64,
    length: Time,
}

/// A PCI Express link between a device and its root complex.
#[derive(Clone, Debug)]
pub struct Pcie {
    /// To the device, to the host.
    wires: [Wire; 2],
    byte: ByteTime,
    overhead: Overhead,
    /// What a TLP causes the other way: bytes, and their time.
    dllp: u64,
    dllp_time: Time,
    /// log2 of the payloads of a write, a read request and a completion.
    write_shift: u32,
    request_shift: u32,
    completion_shift: u32,
    /// Half a full TLP: what an urgent packet waits on average where data is on the wire.
    residue: Time,
    latency: Time,
    host_memory: Time,
    /// Times of the packets that every command has.
    register: Time,
    request: Time,
    completion: Time,
    /// What a completion queue entry without and with an interrupt behind it takes of either direction.
    completion_charge: [[Time; 2]; 2],
    /// From a doorbell's leaving the host to the entry's arrival, on idle wires; and what that takes of either
    /// direction, acknowledgements included.
    submission: Time,
    submission_charge: [Time; 2],
    /// What the device read last of the host's memory: most reads are of one size.
    last_read: Read,
    /// Submissions, completions without and with interrupts behind them and head doorbells so far, whose packets are
    /// counted when asked for.
    submissions: u64,
    completions: [u64; 2],
    heads: u64,
}

#[inline]
fn packets(bytes: u64, shift: u32) -> u64 {
    (bytes + (1 << shift) - 1) >> shift
}

const DOWN: usize = Direction::ToDevice as usize;
const UP: usize = Direction::ToHost as usize;

impl Pcie {
    /// An idle link.
    ///
    /// # Panics
    /// If the generation, lanes or packet sizes are none that PCI Express has.
    pub fn new(config: &PcieConfig) -> Pcie {
        let size = |bytes: u32, least: u32, name: &str| {
            let fits = bytes.is_power_of_two() && (least..=4096).contains(&bytes);
            assert!(fits, "{name} is {bytes}, expected a power of two from {least} to 4096");
            bytes.trailing_zeros()
        };
        let (byte, overhead, dllp) = match config.bandwidth {
            Some(rate) => (ByteTime::at_rate(rate), BARE, 0),
            None => {
                let (byte, overhead) = Pcie::signalling(config.generation, config.lanes);
                (byte, overhead, u64::from(config.dllp))
            }
        };
        let (read, write) = (config.read_completion_boundary, config.max_payload);
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
            request_shift: size(config.max_read_request, 128, "max_read_request"),
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
            last_read: Read::default(),
            submissions: 0,
            completions: [0; 2],
            heads: 0,
        }
    }

    /// Time of a byte of packets, and what packets cost, by generation.
    fn signalling(generation: u8, lanes: u8) -> (ByteTime, Overhead) {
        assert!(matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32), "PCIe has no link of {lanes} lanes");
        assert!(generation < 6 || lanes <= 16, "PCIe 6 has no link of {lanes} lanes");
        // (10^8 transfers a second, bits on the wire, bits carried).
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
        // 8 bits a byte at 10^8 `rate` bits a second and lane: 80,000 ps / rate.
        (ByteTime::of(80_000 * coded, rate * plain * u128::from(lanes)), overhead)
    }

    /// Urgent packets of `bytes` with their headers, due at `at`. Returns when they have left.
    #[inline]
    fn urgent(&mut self, now: Time, at: Time, way: usize, packets: u64, payload: u64, header: u32) -> Time {
        let bytes = payload + packets * u64::from(header);
        let length = self.byte.of_bytes(bytes);
        let left = self.wires[way].serial.due(at, self.residue) + length;
        self.wires[way].serial.charge_urgent(now, length);
        self.wires[way].count(packets, payload, bytes);
        self.acknowledge(way, packets);
        left
    }

    /// The other way: the DLLPs that `packets` TLPs cause.
    #[inline]
    fn acknowledge(&mut self, way: usize, packets: u64) {
        self.wires[1 - way].serial.charge(self.dllp_time * packets);
    }

    /// The host writes a register of the device at `at`. Returns its arrival.
    #[inline]
    pub fn doorbell(&mut self, now: Time, at: Time) -> Time {
        self.urgent(now, at, DOWN, 1, u64::from(REGISTER), self.overhead.request) + self.latency
    }

    /// The device reads `bytes` of host memory, asked for now. Returns the last completion's arrival.
    #[inline]
    pub fn fetch(&mut self, now: Time, bytes: u32) -> Time {
        let bytes = u64::from(bytes);
        let (requests, completions) = (packets(bytes, self.request_shift), packets(bytes, self.completion_shift));
        let asked = self.urgent(now, now, UP, requests, 0, self.overhead.request) + self.latency;
        let due = asked + self.host_memory;
        self.urgent(now, due, DOWN, completions, bytes, self.overhead.completion) + self.latency
    }

    /// A doorbell written at `at` and the fetch of one submission queue entry that follows it at once. Returns the
    /// entry's arrival. What has to be waited for is waited for once, at the start.
    #[inline(always)]
    pub fn submission(&mut self, now: Time, at: Time) -> Time {
        let [down, up] = &mut self.wires;
        let from = up.serial.due(down.serial.due(at, self.residue), self.residue);
        down.serial.charge_urgent(now, self.submission_charge[DOWN]);
        up.serial.charge_urgent(now, self.submission_charge[UP]);
        self.submissions += 1;
        from + self.submission
    }

    /// A completion queue entry written at `at`, and an interrupt behind it if there is one. Returns their arrivals (the
    /// second means nothing without).
    #[inline(always)]
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

    /// The host writes a completion queue's head doorbell, which nothing waits for.
    #[inline(always)]
    pub fn head(&mut self) {
        self.wires[DOWN].serial.charge(self.register);
        self.wires[UP].serial.charge(self.dllp_time);
        self.heads += 1;
    }

    /// An interrupt, sent now. Returns its arrival.
    #[inline]
    pub fn interrupt(&mut self, now: Time) -> Time {
        self.urgent(now, now, UP, 1, u64::from(REGISTER), self.overhead.request) + self.latency
    }

    /// Data moved by the device: to the host as posted writes, to the device by reads of host memory, whose requests
    /// are pipelined.
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
                    self.wires[UP].last = self.load(bytes);
                }
                let [down, up] = &mut self.wires;
                up.last.times += 1;
                down.serial.charge(up.last.acknowledgements);
                up.serial.take(now, up.last.length)
            }
            Direction::ToDevice => {
                if bytes != self.last_read.bytes {
                    self.last_read = self.read_of(bytes);
                }
                let Read { requests, asking, completions, total, length, .. } = self.last_read;
                let [down, up] = &mut self.wires;
                let asks = up.serial.due(now, self.residue);
                up.serial.charge_urgent(now, asking);
                up.count(requests, 0, requests * u64::from(self.overhead.request));
                let due = asks + self.request + self.latency + self.host_memory;
                down.serial.charge(self.dllp_time * requests);
                down.count(completions, bytes, total);
                up.serial.charge(self.dllp_time * completions);
                down.serial.take(due, length)
            }
        };
        occupied(direction, span);
        Transfer { sent: span.to, arrives: span.to + self.latency }
    }

    #[cold]
    #[inline(never)]
    fn read_of(&self, bytes: u64) -> Read {
        let requests = packets(bytes, self.request_shift);
        let asking = self.byte.of_bytes(requests * u64::from(self.overhead.request));
        let completions = packets(bytes, self.completion_shift);
        let total = bytes + completions * u64::from(self.overhead.completion);
        Read { bytes, requests, asking, completions, total, length: self.byte.of_bytes(total) }
    }

    /// Data for the host, of another size than the last.
    #[cold]
    #[inline(never)]
    fn load(&self, payload: u64) -> Load {
        let packets = packets(payload, self.write_shift);
        let bytes = payload + packets * u64::from(self.overhead.request);
        let (length, acknowledgements) = (self.byte.of_bytes(bytes), self.dllp_time * packets);
        Load { payload, packets, bytes, length, acknowledgements, times: 0 }
    }

    /// What each direction has carried; see [`Link::utilisation`](crate::Link::utilisation).
    pub fn utilisation(&self, now: Time) -> [Utilisation; 2] {
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
        let of = |direction, this: &Wire, other: &Wire| Utilisation {
            direction,
            busy: this.serial.busy(now),
            elapsed: now,
            payload: this.payload,
            wire: this.bytes + other.packets * self.dllp,
            packets: this.packets,
        };
        [of(Direction::ToDevice, &down, &up), of(Direction::ToHost, &up, &down)]
    }

    /// From a read request's leaving the device to its first completion's arrival, its own time on the wire not
    /// counted.
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
