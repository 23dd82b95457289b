//! Host controllers: the AHCI adapter of a SATA link, and the UFS host controller.

use keys::{BOOL, COUNT, Conflict, RATE, SIZE, TIME, assumed, expect, given, section};
use media::SECTOR;
use sim::Time;

const SOC: &str = "a few hundred nanoseconds through the buses of a system on a chip";

section! {
    /// An AHCI host bus adapter and its driver (AHCI 1.3.1, 4.2.2 and 4.2.3).
    #[derive(Eq)]
    AhciConfig {
        "host.ahci.region" region: u64 = SIZE.within(512.0, 4194304.0),
            assumed("4KiB", "buffers are scattered over pages"),
            "Size of a memory region in bytes.",
            when "link.type" is "sata" | "ddr";
        "host.ahci.queued_trim" queued_trim: bool = BOOL,
            assumed("false", "Linux disables queued trims for many drives"),
            "Queue trims with the other commands; otherwise they are issued alone, like flushes.",
            when "link.type" is "sata" | "ddr";

        check sectors;
    }
}

impl AhciConfig {
    fn sectors(&self) -> Result<(), Conflict> {
        expect(self.region.is_multiple_of(SECTOR), &["host.ahci.region"], "a multiple of 512B")
    }
}

impl Default for AhciConfig {
    /// The defaults of the keys where `link.type` is `sata`.
    fn default() -> AhciConfig {
        crate::config::default_where("sata")
    }
}

section! {
    /// A UFS host controller and its driver. The controller fetches commands and moves data for the device.
    #[derive(Eq)]
    UfshciConfig {
        "host.ufshci.register_write" register_write: Time = TIME,
            assumed("150ns", SOC),
            "Time from the driver's write of the doorbell register until the controller sees it.",
            when "link.type" is "ufs";
        "host.ufshci.queues" queues: u32 = COUNT.within(0.0, 255.0),
            given("0", "UFSHCI before 4.0 (JESD223E) has none"),
            "Pairs of submission and completion queues (multi-circular queue), each with its own interrupt, which cores use in \
             turn; more than cores are not used. 0: one list of at most 32 commands, and a doorbell register.",
            when "link.type" is "ufs";
        "host.ufshci.memory_latency" memory_latency: Time = TIME,
            assumed("200ns", SOC),
            "Time from a memory read leaving the controller until its data arrives, and from a write until it is \
             visible.",
            when "link.type" is "ufs";
        "host.ufshci.dma" dma: u64 = RATE,
            assumed("1.6GB/s", "a 64-bit AXI bus at 200 MHz, with one channel per direction"),
            "Bytes per second that the controller can read from memory, and write at the same time.",
            when "link.type" is "ufs";
        "host.ufshci.region" region: u64 = SIZE.within(512.0, 262144.0),
            assumed("4KiB", "buffers are scattered over pages"),
            "Size in bytes of a memory region, an entry of the PRDT.",
            when "link.type" is "ufs";
        "host.ufshci.invalidation" invalidation_512kib: Time = TIME,
            assumed("0us", "the caches are coherent with the controller's accesses"),
            "CPU time to maintain 512 KiB of non-coherent caches, for each command before its transfer, and for reads \
             also after it.",
            when "link.type" is "ufs";

        /// Aggregation of interrupts.
        table aggregation: Aggregation;

        check sectors;
    }
}

impl UfshciConfig {
    fn sectors(&self) -> Result<(), Conflict> {
        expect(self.region.is_multiple_of(SECTOR), &["host.ufshci.region"], "a multiple of 512B")
    }
}

impl Default for UfshciConfig {
    /// The defaults of the keys where `link.type` is `ufs`.
    fn default() -> UfshciConfig {
        crate::config::default_where("ufs")
    }
}

section! {
    /// Aggregation of a UFS host controller's interrupts (JESD223B, UTRIACR).
    #[derive(Copy, Eq)]
    Aggregation {
        "host.ufshci.aggregation" threshold: u32 = COUNT.within(1.0, 31.0),
            given("1", "Linux: off unless a controller's driver requests it"),
            "Number of command completions that an interrupt waits for (UTRIACR); 1: none.",
            when "link.type" is "ufs";
        "host.ufshci.aggregation_time" time: Time = TIME.within(0.0, 1.02e10),
            given("80us", "Linux: INT_AGGR_DEF_TO, twice 40 us"),
            "Maximum time for which an interrupt waits, in units of the controller, 40us by the standard.",
            when "link.type" is "ufs";

        check waits;
    }
}

impl Aggregation {
    /// Each completion interrupts.
    pub const OFF: Aggregation = Aggregation { threshold: 1, time: Time::from_us(80) };

    fn waits(&self) -> Result<(), Conflict> {
        expect(self.time > Time::ZERO, &["host.ufshci.aggregation_time"], "more than 0s")
    }
}
