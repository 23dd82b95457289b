//! Configuration of a controller front end.

use media::Op;
use sim::Time;

use crate::shared_buffer::SharedBufferConfig;

/// Configuration of a storage controller's front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of commands in the controller, from fetch to completion: 1 to 65,535. (SATA: at most 32, the tags
    /// of native command queuing; UFS: at most 32 tasks.)
    pub max_commands: u32,
    /// NVMe: submission queue entries fetched at once, at least 1.
    pub fetch_burst: u32,
    /// NVMe: arbitration among submission queues.
    pub arbitration: Arbitration,
    /// NVMe: commands taken from a queue before the next queue's turn (Arbitration Burst: a power of two up to 64);
    /// `None` is no limit.
    pub arbitration_burst: Option<u32>,
    /// NVMe: priority class of each submission queue, set by the host at its creation (QPRIO). Only weighted round
    /// robin uses it. Queues beyond the list have medium priority, like all queues created by Linux.
    pub priorities: Vec<Priority>,
    /// NVMe: coalescing of interrupts for several completions (Feature 08h); `None` is off, the state after a reset.
    pub coalescing: Option<Coalescing>,
    /// NVMe: bytes of a memory page of the host (CC.MPS; 4096 on most). A transfer of more than two pages has a list of
    /// their addresses, 8 bytes each, that the controller reads first.
    pub host_page: u32,
    /// NVMe: the fields of Identify Controller about a Host Memory Buffer.
    pub hmb: crate::hmb::Identify,
    /// Processor time per command.
    pub firmware: Firmware,
    /// NVMe, SATA, UFS: command costs besides processor time.
    pub handling: crate::handling::Handling,
    /// Bandwidth in bytes per second of the controller's DRAM, which a command's data passes twice, written and then
    /// read; `None` if the buffers are SRAM or fast enough not to matter.
    pub dram_bandwidth: Option<u64>,
    /// UFS, shared buffer: the firmware answers immediately, without translation layer and flash. Data is transferred
    /// but has no content.
    pub bypass_flash: bool,
    /// Configuration specific to a device behind a shared buffer.
    pub shared_buffer: SharedBufferConfig,
    /// UFS: segmentation of data transfers.
    pub utp: Utp,
    /// SATA: a command occupies the drive's only data buffer until its data has passed. Flash fills the buffer and then
    /// the interface empties it, or the other way round; the next command starts after that.
    pub single_buffer: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            // Assumed: more than hosts commonly keep outstanding, less than a queue can hold.
            max_commands: 512,
            // Assumed: several cache lines of entries, so that a fetch is one PCIe read of 512 bytes.
            fetch_burst: 8,
            arbitration: Arbitration::RoundRobin,
            // Assumed: drives recommend 1 to 8 commands (Identify Controller, RAB).
            arbitration_burst: Some(8),
            priorities: Vec::new(),
            coalescing: None,
            host_page: 4096,
            hmb: crate::hmb::Identify::default(),
            firmware: Firmware::default(),
            handling: crate::handling::Handling::default(),
            dram_bandwidth: None,
            bypass_flash: false,
            shared_buffer: SharedBufferConfig::default(),
            utp: Utp::default(),
            single_buffer: false,
        }
    }
}

/// Arbitration mechanism (NVM Express Base Specification 2.0, 3.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// All queues in turn.
    RoundRobin,
    /// Urgent queues first, then the other classes by weight; queues of one class in turn.
    WeightedRoundRobin {
        /// Commands of high-priority queues per round (1 to 256; Arbitration feature, HPW + 1).
        high: u32,
        /// Commands of medium-priority queues per round.
        medium: u32,
        /// Commands of low-priority queues per round.
        low: u32,
    },
}

/// Priority class of a submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Strictly before all others.
    Urgent,
    /// High weight.
    High,
    /// Medium weight.
    Medium,
    /// Low weight.
    Low,
}

/// Interrupt coalescing (NVM Express Base Specification 2.0, Feature 08h), for each interrupt vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Completions that trigger an interrupt: 2 to 256 (the feature's THR + 1; THR 0 is no coalescing).
    pub threshold: u32,
    /// Maximum delay of an interrupt: the feature's TIME x 100 us, not zero.
    pub time: Time,
}

/// Processor time per command. Zero stands for hardware that takes no extra time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// Number of processors, which share the work first come first served.
    pub cores: u32,
    /// Time to decode a read.
    pub read: Time,
    /// Time to decode a write.
    pub write: Time,
    /// Time to decode a trim.
    pub trim: Time,
    /// Additional time per GiB that a trim covers.
    pub trim_gib: Time,
    /// Time to decode a flush.
    pub flush: Time,
    /// Time to decode a zone append.
    pub append: Time,
    /// Time to decode a zone management command.
    pub zone: Time,
    /// Time to complete a command of any kind.
    pub complete: Time,
}

impl Default for Firmware {
    /// Assumed: a few hundred instructions per command on processors of about 1 GHz; completion by hardware.
    fn default() -> Self {
        Firmware {
            cores: 2,
            read: Time::from_ns(700),
            write: Time::from_ns(700),
            trim: Time::from_us(2),
            // Assumed: 4 ns for each of 262,144 map entries of 4 KiB.
            trim_gib: Time::from_ms(1),
            flush: Time::from_us(1),
            append: Time::from_ns(700),
            zone: Time::from_us(1),
            complete: Time::ZERO,
        }
    }
}

impl Firmware {
    /// Returns the time of a trim of `bytes` beyond its decoding.
    pub fn trimming(&self, bytes: u64) -> Time {
        Time::from_ps(((u128::from(self.trim_gib.ps()) * u128::from(bytes)) >> 30) as u64)
    }

    /// Returns the time to decode a command.
    #[inline]
    pub const fn decode(&self, op: Op) -> Time {
        match op {
            Op::Read => self.read,
            Op::Write => self.write,
            Op::Trim => self.trim,
            Op::Flush => self.flush,
            Op::Append => self.append,
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => self.zone,
        }
    }
}

/// Transfers of the UFS transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utp {
    /// Maximum data of a DATA IN or DATA OUT UPIU in bytes (attributes bMaxDataInSize and bMaxDataOutSize): up to
    /// 130,560.
    pub segment: u32,
    /// Maximum number of READY TO TRANSFER UPIUs that wait for their data (attribute bMaxNumOfRTT).
    pub ready_to_transfers: u32,
}

impl Default for Utp {
    /// Given: the attributes' defaults (UFS 2.0, JESD220B, 14.3).
    fn default() -> Self {
        Utp { segment: 4096, ready_to_transfers: 2 }
    }
}
