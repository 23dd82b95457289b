//! What a host is made of.

use sim::Time;

use crate::shared_buffer::SharedBufferConfig;
use crate::{DmaConfig, MemoryConfig};

/// A host: processors, a driver, and what they cost. Costs are processor time on one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Cores that submit. Job `j` runs on core `j` modulo this.
    pub cores: u32,
    /// NVMe: queue pairs, 1 to 65,535. Core `c` uses queue pair `c` modulo this.
    pub queue_pairs: u32,
    /// Entries of each queue, of which NVMe can use all but one (2 to 65,535); AHCI, UFSHCI: command slots, 1 to 32.
    pub queue_depth: u32,
    /// Submission of a command: block layer, driver, doorbell.
    pub submit: Time,
    /// Completion of a command: driver, block layer, waking the submitter. On the core that submitted.
    pub complete: Time,
    /// How the driver learns of completions.
    pub completion: Completion,
    /// Largest transfer of a command in bytes (NVMe: MDTS and the block layer's limit); larger requests are split.
    pub max_transfer: u64,
    /// NVMe: what the host is ready to lend to the controller.
    pub hmb: crate::hmb::HmbConfig,
    /// What only a SATA drive's host has.
    pub ahci: AhciConfig,
    /// What only the host of a device with a shared buffer has.
    pub shared_buffer: SharedBufferConfig,
    /// What only a UFS device's host has.
    pub ufshci: UfshciConfig,
    /// North and South Bridge as parts; `None`: what they cost is in the times of the adapter.
    pub chipset: Option<Chipset>,
}

/// What is between the processors and the storage: front-side bus, North Bridge with main memory, South Bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chipset {
    /// From a processor's write of a register to the North Bridge, over the front-side bus.
    pub front_side_bus: Time,
    /// Bytes a second each way between the bridges.
    pub dmi_bandwidth: u64,
    /// From one bridge to the other.
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
            // Assumed: a core of today does close to a million 4 KiB requests a second through io_uring and nvme-pci,
            // submission and completion together.
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

/// How a driver learns of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The device interrupts a core, which stops what it does.
    Interrupt {
        /// From the interrupt's arrival at the host to the first instruction of the driver's handler.
        delivery: Time,
        /// Entering and leaving the handler, completions not counted.
        handler: Time,
    },
    /// Cores look for completions whenever they have nothing else to do: no interrupts, no idle cores.
    Polling {
        /// From an entry's being in memory to the driver's seeing it.
        delay: Time,
    },
}

impl Default for Completion {
    /// Assumed: an interrupt costs about 2 us before the completion, as "When poll is better than interrupt" (Yang,
    /// Minturn and Hady, FAST 2012) has it in kind.
    fn default() -> Self {
        Completion::Interrupt { delivery: Time::from_ns(800), handler: Time::from_ns(1000) }
    }
}

/// An AHCI host bus adapter and its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AhciConfig {
    /// From the driver's write of a port register (PxCI) to the adapter's seeing it.
    pub register_write: Time,
    /// The adapter reads a command's header and table from memory (AHCI 1.3.1, 4.2.2 and 4.2.3), one command after
    /// the other.
    pub command_fetch: Time,
    /// The adapter reads an entry of the table's list of memory regions (PRDT).
    pub region_fetch: Time,
    /// Bytes of a memory region: those of a page if the buffer is scattered, at most 4 MiB.
    pub region: u64,
    /// The drive queues trims (SEND FPDMA QUEUED); else they are issued alone, as flushes are.
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
    /// From the driver's write of the doorbell register (UTRLDBR) to the controller's seeing it.
    pub register_write: Time,
    /// From a read's of memory leaving the controller to its data's coming, and from a write's to its being visible.
    pub memory_latency: Time,
    /// Bytes a second that the controller reads of memory, and as many that it writes at the same time.
    pub dma: u64,
    /// Bytes of a memory region: those of a page if the buffer is scattered, at most 256 KiB.
    pub region: u64,
    /// Interrupts wait for each other; `None`: each end of a command interrupts.
    pub aggregation: Option<Aggregation>,
    /// CPU time to maintain 512 KiB of caches that do not see the controller's accesses: before a transfer, and after one
    /// into memory. Zero: they see them.
    pub invalidation_512kib: Time,
}

/// Aggregation of a UFS host controller's interrupts (JESD223B, UTRIACR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Ends of commands that make an interrupt, 1 to 31.
    pub threshold: u32,
    /// Longest delay of an interrupt: up to 255 of the controller's units, which the standard says are 40 us.
    pub time: Time,
}

impl Default for UfshciConfig {
    fn default() -> Self {
        UfshciConfig {
            // Assumed: a posted write through a system on a chip's buses, which a core does not wait for.
            register_write: Time::from_ns(150),
            // Assumed: LPDDR behind the buses of a system on a chip.
            memory_latency: Time::from_ns(200),
            // Assumed: a 64-bit AXI bus at 200 MHz, which has a channel each way.
            dma: 1_600_000_000,
            region: 4096,
            aggregation: None,
            invalidation_512kib: Time::ZERO,
        }
    }
}
