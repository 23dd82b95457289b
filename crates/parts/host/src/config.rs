//! Configuration of a host.

use sim::Time;

use crate::shared_buffer::SharedBufferConfig;
use crate::{DmaConfig, MemoryConfig};

/// A host: its processors, its driver, and their costs. Costs are processor time on one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Cores that submit. Job `j` runs on core `j` modulo this.
    pub cores: u32,
    /// NVMe: queue pairs, 1 to 65,535. Core `c` uses queue pair `c` modulo this.
    pub queue_pairs: u32,
    /// Entries per queue, all but one of which NVMe can use (2 to 65,535); AHCI, UFSHCI: command slots, 1 to 32.
    pub queue_depth: u32,
    /// Time to submit a command: block layer, driver, doorbell.
    pub submit: Time,
    /// Time to complete a command on the core that submitted it: driver, block layer, waking the submitter.
    pub complete: Time,
    /// Notification of the driver about completions.
    pub completion: Completion,
    /// Largest transfer of a command in bytes (NVMe: MDTS and the block layer's limit); larger requests are split.
    pub max_transfer: u64,
    /// NVMe: memory that the host is willing to lend to the controller.
    pub hmb: crate::hmb::HmbConfig,
    /// Configuration specific to a SATA drive's host.
    pub ahci: AhciConfig,
    /// Configuration specific to the host of a device with a shared buffer.
    pub shared_buffer: SharedBufferConfig,
    /// Configuration specific to a UFS device's host.
    pub ufshci: UfshciConfig,
    /// North and South Bridge as separate parts; `None` if their costs are included in the adapter's times.
    pub chipset: Option<Chipset>,
}

/// The parts between processors and storage: front-side bus, North Bridge with main memory, South Bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chipset {
    /// Time from a processor's register write to its arrival at the North Bridge, over the front-side bus.
    pub front_side_bus: Time,
    /// Bandwidth between the bridges in bytes per second, each way.
    pub dmi_bandwidth: u64,
    /// Latency from one bridge to the other.
    pub dmi_latency: Time,
    /// Main memory.
    pub memory: MemoryConfig,
    /// The DMA: in the South Bridge for SATA, in the DRAM controller for a DDR port.
    pub dma: DmaConfig,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            cores: 8,
            queue_pairs: 8,
            // Linux's default for a PCIe NVMe queue.
            queue_depth: 1024,
            // Assumed: a current core completes close to a million 4 KiB requests per second through io_uring and
            // nvme-pci, submission and completion together.
            submit: Time::from_ns(700),
            complete: Time::from_ns(400),
            completion: Completion::default(),
            // Assumed: Linux's max_sectors_kb on many drives.
            max_transfer: 128 << 10,
            hmb: crate::hmb::HmbConfig::default(),
            ahci: AhciConfig::default(),
            shared_buffer: SharedBufferConfig::default(),
            ufshci: UfshciConfig::default(),
            chipset: None,
        }
    }
}

/// Notification of a driver about completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The device interrupts a core, which suspends its current work.
    Interrupt {
        /// Time from the interrupt's arrival at the host to the first instruction of the driver's handler.
        delivery: Time,
        /// Time to enter and leave the handler, without completions.
        handler: Time,
    },
    /// Cores poll for completions whenever they have no other work: there are no interrupts and no idle cores.
    Polling {
        /// Time from an entry's arrival in memory until the driver sees it.
        delay: Time,
    },
}

impl Default for Completion {
    /// Assumed: an interrupt costs about 2 us before the completion, in line with "When poll is better than interrupt"
    /// (Yang, Minturn and Hady, FAST 2012).
    fn default() -> Self {
        Completion::Interrupt { delivery: Time::from_ns(800), handler: Time::from_ns(1000) }
    }
}

/// An AHCI host bus adapter and its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AhciConfig {
    /// Time from the driver's write of a port register (PxCI) until the adapter sees it.
    pub register_write: Time,
    /// Time in which the adapter reads a command's header and table from memory (AHCI 1.3.1, 4.2.2 and 4.2.3), one
    /// command at a time.
    pub command_fetch: Time,
    /// Time in which the adapter reads an entry of the table's list of memory regions (PRDT).
    pub region_fetch: Time,
    /// Bytes per memory region: a page if the buffer is scattered, at most 4 MiB.
    pub region: u64,
    /// True if the drive queues trims (SEND FPDMA QUEUED); otherwise they are issued alone, like flushes.
    pub queued_trim: bool,
}

impl Default for AhciConfig {
    fn default() -> Self {
        AhciConfig {
            // Assumed: a chipset's adapter is a few hundred nanoseconds from cores and memory.
            register_write: Time::from_ns(300),
            command_fetch: Time::from_ns(800),
            region_fetch: Time::from_ns(20),
            region: 4096,
            // Linux keeps queued trims off for many drives.
            queued_trim: false,
        }
    }
}

/// A UFS host controller and its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UfshciConfig {
    /// Time from the driver's write of the doorbell register (UTRLDBR) until the controller sees it.
    pub register_write: Time,
    /// Memory latency: from a read request leaving the controller until its data arrives, and from a write leaving it
    /// until the data is visible.
    pub memory_latency: Time,
    /// Bandwidth in bytes per second at which the controller reads memory and, at the same time, writes it.
    pub dma: u64,
    /// Bytes per memory region: a page if the buffer is scattered, at most 256 KiB.
    pub region: u64,
    /// Interrupt aggregation; `None` if each completion interrupts.
    pub aggregation: Option<Aggregation>,
    /// CPU time to maintain 512 KiB of caches that are not coherent with the controller: before a transfer, and after
    /// one into memory. Zero if they are coherent.
    pub invalidation_512kib: Time,
}

/// Aggregation of a UFS host controller's interrupts (JESD223B, UTRIACR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Completions that trigger an interrupt, 1 to 31.
    pub threshold: u32,
    /// Maximum delay of an interrupt: up to 255 of the controller's units, 40 us each in the standard.
    pub time: Time,
}

impl Default for UfshciConfig {
    fn default() -> Self {
        UfshciConfig {
            // Assumed: a posted write over the buses of a system on a chip, which a core does not wait for.
            register_write: Time::from_ns(150),
            // Assumed: LPDDR behind the buses of a system on a chip.
            memory_latency: Time::from_ns(200),
            // Assumed: a 64-bit AXI bus at 200 MHz, with one channel each way.
            dma: 1_600_000_000,
            region: 4096,
            aggregation: None,
            invalidation_512kib: Time::ZERO,
        }
    }
}
