//! Configuration of a host.

pub(crate) mod adapter;
pub(crate) mod chipset;
pub(crate) mod completion;

use keys::{
    COUNT, Conflict, Fallback, SIZE, Section, TIME, Value, Why, assumed, by_assumed, by_given, expect, given, section,
};
use media::SECTOR;
use sim::Time;

use crate::hmb::HmbConfig;
use crate::shared_buffer::SharedBufferConfig;
use crate::{AhciConfig, Chipset, Completion, UfshciConfig};

const URING: &str = "a current core handles close to a million 4 KiB requests per second through io_uring and nvme-pci";
const AHCI_PATH: &str = "half of Intel's 6.0 us for the path through AHCI (AnandTech, Testing SATA Express, 2014)";
const UFS_PATH: &str = "half of the 6.0 us of AHCI, with which it shares SCSI and interrupt handling, on a phone core \
    that takes two and a half times as long as a desktop core";
const PHONE: &str = "block layer, driver and wake-up of the waiting thread, on a 1.7 GHz core with a kernel of 2012";
const DMA_PATH: &str = "the same driver, with the registers of a different DMA engine";

section! {
    /// A host: its processors, its driver, and their costs. Costs are processor time on one core. The link determines the
    /// driver: nvme-pci over PCIe, AHCI over SATA, ufshcd over UFS.
    #[derive(Eq)]
    Config {
        "host.cores" cores: u32 = COUNT.within(1.0, 1024.0),
            assumed("8", "a current desktop"),
            "CPU cores that submit requests; job j runs on core j modulo this number.";
        "host.queue_pairs" queue_pairs: Option<u32> = COUNT.within(1.0, 65535.0).or("auto"),
            given("auto", "the Linux NVMe driver creates one pair of I/O queues per core"),
            "Submission and completion queue pairs; auto: one per core.",
            when "link.type" is "pcie" | "shared-buffer";
        "host.queue_depth" queue_depth: u32 = COUNT.within(1.0, 65535.0),
            Fallback::By("link.type", &[
                by_given("pcie", "1024", "the default of the Linux NVMe driver"),
                by_given("sata", "32", "Serial ATA native command queuing: 32 tags"),
                by_given("ufs", "32", "UFSHCI 2.0 (JESD223B): a list of 32 transfer requests; with queues Linux takes as many as \
                    controller and device can (ufs-qcom: 64)"),
                by_assumed("ddr", "32", "its DMA engine imitates that of SATA"),
                by_assumed("shared-buffer", "32", "like other phone storage"),
            ]),
            "Entries of an NVMe queue, of which all but one are usable, or of a shared buffer's queue; command slots \
             of AHCI, UFSHCI (with `host.ufshci.queues` of all queues together) or a DDR port's DMA engine.";
        "host.submit" submit: Time = TIME,
            Fallback::By("link.type", &[
                by_assumed("pcie", "700ns", URING),
                by_assumed("sata", "3us", AHCI_PATH),
                by_assumed("ufs", "7.5us", UFS_PATH),
                by_assumed("ddr", "3us", DMA_PATH),
                by_assumed("shared-buffer", "8us", PHONE),
            ]),
            "CPU time per command from the program's call to the doorbell.";
        "host.complete" complete: Time = TIME,
            Fallback::By("link.type", &[
                by_assumed("pcie", "400ns", URING),
                by_assumed("sata", "3us", AHCI_PATH),
                by_assumed("ufs", "7.5us", UFS_PATH),
                by_assumed("ddr", "3us", DMA_PATH),
                by_assumed("shared-buffer", "12us", PHONE),
            ]),
            "CPU time per command from detecting the completion to notifying the program.";
        "host.max_transfer" max_transfer: u64 = SIZE.within(4096.0, 1073741824.0),
            Fallback::By("link.type", &[
                by_assumed("pcie", "512KiB", "an MDTS of 7 with pages of 4 KiB, as client drives have"),
                by_given("sata", "1280KiB", "Linux: BLK_DEF_MAX_SECTORS, 2560 sectors"),
                by_given("ufs", "512KiB", "Linux: SCSI_DEFAULT_MAX_SECTORS, 1024 sectors, and 128 pages of 4 KiB \
                    (SG_ALL)"),
                by_given("ddr", "1280KiB", "Linux: BLK_DEF_MAX_SECTORS, 2560 sectors"),
                by_assumed("shared-buffer", "128KiB", "one program on each plane of four chips"),
            ]),
            "Maximum command size in bytes; the driver splits larger requests.";

        /// Notification of the driver about completions.
        table completion: Completion;
        /// The AHCI host adapter of a SATA link.
        table ahci: AhciConfig;
        /// The host controller of a UFS link.
        table ufshci: UfshciConfig;
        /// The parts between processors and storage.
        table chipset: Chipset;
        /// NVMe: memory that the host is willing to lend to the controller.
        table hmb: HmbConfig;
        /// The driver of a shared buffer, and its means of moving data.
        table shared_buffer: SharedBufferConfig;

        check driver;
    }
}

impl Config {
    /// Returns the number of NVMe queue pairs. Core `c` uses queue pair `c` modulo this.
    pub fn pairs(&self) -> u32 {
        self.queue_pairs.unwrap_or(self.cores)
    }

    fn driver(&self) -> Result<(), Conflict> {
        let (threshold, completion) = ("host.ufshci.aggregation", "host.completion");
        if self.ufshci.aggregation.threshold > 1 && self.completion.is_polling() {
            let why = Why::But("there are no interrupts to aggregate");
            return Err(Conflict { keys: vec![threshold, completion], why });
        }
        if self.ufshci.aggregation.threshold > 1 && self.ufshci.queues > 0 {
            let why = Why::But("only the interrupts of a doorbell register are aggregated");
            return Err(Conflict { keys: vec![threshold, "host.ufshci.queues"], why });
        }
        expect(self.max_transfer.is_multiple_of(SECTOR), &["host.max_transfer"], "a multiple of 512B")
    }
}

/// Returns the defaults of a section's keys where `link.type` is `word`. The driver of a shared buffer also reads a key of the
/// link and one of the device: the buffer is outside of interleaved memory, and there is no boot mode.
pub(crate) fn default_where<S: Section>(word: &'static str) -> S {
    let others = [("link.type", word), ("link.interleave", "outside"), ("device.emulated.boot", "none")];
    keys::defaults::<Config, S>(&others.map(|(key, word)| (key, Value::Word(word))))
}

impl Default for Config {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> Config {
        default_where("pcie")
    }
}
