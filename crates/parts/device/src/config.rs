//! What a controller is made of.

use media::Op;
use sim::Time;

use crate::shared_buffer::SharedBufferConfig;

/// A storage controller's front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Commands in the controller at a time, from fetch to completion: 1 to 65,535. (SATA: at most 32, the tags of
    /// native command queuing; UFS: at most 32 tasks.)
    pub max_commands: u32,
    /// NVMe: submission queue entries read from the host at once, 1 and up.
    pub fetch_burst: u32,
    /// NVMe: which queue is served next.
    pub arbitration: Arbitration,
    /// NVMe: commands taken from a queue before the next has its turn (Arbitration Burst: a power of two up to 64);
    /// `None` is no limit.
    pub arbitration_burst: Option<u32>,
    /// NVMe: priority class of each submission queue as the host created it (QPRIO), counted in weighted round robin
    /// only. Queues beyond the list are medium, as Linux creates all of its queues.
    pub priorities: Vec<Priority>,
    /// NVMe: interrupts held back until several completions can be told at once (Feature 08h); `None` is off, as after
    /// a reset.
    pub coalescing: Option<Coalescing>,
    /// NVMe: bytes of a memory page of the host (CC.MPS; 4096 on most). A transfer of more than two pages has a list of
    /// their addresses, 8 bytes each, that the controller reads first.
    pub host_page: u32,
    /// NVMe: what the controller says of a Host Memory Buffer in Identify Controller.
    pub hmb: crate::hmb::Identify,
    /// What the controller's processors do for a command.
    pub firmware: Firmware,
    /// NVMe, SATA, UFS: command costs besides processor time.
    pub handling: crate::handling::Handling,
    /// Bytes a second of the controller's DRAM, through which a command's data passes (written and read: twice its
    /// bytes); `None` where buffers are SRAM or fast enough not to matter.
    pub dram_bandwidth: Option<u64>,
    /// UFS, shared buffer: the firmware answers at once, without translation layer and flash; data moves, and is nobody's.
    pub bypass_flash: bool,
    /// What only a device behind a shared buffer has.
    pub shared_buffer: SharedBufferConfig,
    /// UFS: pieces in which data moves.
    pub utp: Utp,
    /// SATA: a command has the drive's only data buffer until its data has passed. Flash fills it, then the interface
    /// empties it, or the other way round, and the next command starts when that is over.
    pub single_buffer: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            // Assumed: more than hosts commonly keep outstanding, less than a queue can hold.
            max_commands: 512,
            // Assumed: a cache line of entries' worth several times over; one fetch is then one PCIe read of 512 bytes.
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

/// How queues share the controller (NVM Express Base Specification 2.0, 3.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// Queue after queue.
    RoundRobin,
    /// Urgent queues first; then the classes by weight, queue after queue within a class.
    WeightedRoundRobin {
        /// Commands of high-priority queues a round (1 to 256; Arbitration feature, HPW + 1).
        high: u32,
        /// Commands of medium-priority queues a round.
        medium: u32,
        /// Commands of low-priority queues a round.
        low: u32,
    },
}

/// Priority class of a submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// Weighted.
    High,
    /// Weighted.
    Medium,
    /// Weighted.
    Low,
}

/// Interrupt coalescing (NVM Express Base Specification 2.0, Feature 08h), for each interrupt vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Completions that make an interrupt: 2 to 256 (the feature's THR + 1; THR 0 is no coalescing).
    pub threshold: u32,
    /// Longest delay of an interrupt: the feature's TIME x 100 us, not zero.
    pub time: Time,
}

/// Processor time a command. Zero is hardware that does it in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// Processors that share the work, first come first served.
    pub cores: u32,
    /// Decoding a read.
    pub read: Time,
    /// Decoding a write.
    pub write: Time,
    /// Decoding a trim.
    pub trim: Time,
    /// More for each GiB that a trim covers.
    pub trim_gib: Time,
    /// Decoding a flush.
    pub flush: Time,
    /// Ending a command of any kind.
    pub complete: Time,
}

impl Default for Firmware {
    /// Assumed: a few hundred instructions a command on processors of about 1 GHz, completions by hardware.
    fn default() -> Self {
        Firmware {
            cores: 2,
            read: Time::from_ns(700),
            write: Time::from_ns(700),
            trim: Time::from_us(2),
            // Assumed: 4 ns for each of 262,144 map entries of 4 KiB.
            trim_gib: Time::from_ms(1),
            flush: Time::from_us(1),
            complete: Time::ZERO,
        }
    }
}

impl Firmware {
    /// What a trim of `bytes` takes beyond decoding it.
    pub fn trimming(&self, bytes: u64) -> Time {
        Time::from_ps(((u128::from(self.trim_gib.ps()) * u128::from(bytes)) >> 30) as u64)
    }

    /// Time of decoding a command.
    #[inline]
    pub const fn decode(&self, op: Op) -> Time {
        match op {
            Op::Read => self.read,
            Op::Write => self.write,
            Op::Trim => self.trim,
            Op::Flush => self.flush,
        }
    }
}

/// Transfers of the UFS transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utp {
    /// Most data of a DATA IN or DATA OUT UPIU in bytes (attributes bMaxDataInSize and bMaxDataOutSize): up to 130,560.
    pub segment: u32,
    /// READY TO TRANSFER UPIUs that wait for their data at a time (attribute bMaxNumOfRTT).
    pub ready_to_transfers: u32,
}

impl Default for Utp {
    /// Given: the attributes' defaults (UFS 2.0, JESD220B, 14.3).
    fn default() -> Self {
        Utp { segment: 4096, ready_to_transfers: 2 }
    }
}
