//! Configuration of a controller front end.

pub(crate) mod emulated;
pub(crate) mod firmware;
pub(crate) mod queues;

use keys::{
    BOOL, COUNT, Conflict, Fallback, Kind, RATE, SIZE, Section, Shape, Value, assumed, by_assumed, by_given, expect,
    given, power_of_two, section, words,
};
use media::SECTOR;

use self::emulated::SharedBufferConfig;
use self::queues::{Arbitration, Coalescing, Priority, Weights};
use crate::Firmware;
use crate::handling::Handling;
use crate::hmb::HmbKeys;

words! {
    /// Buffering of a command's data between flash and interface.
    Buffering {
        /// In parts, as data arrives; commands overlap.
        Streamed = "streamed",
        /// As a whole, through a single buffer: flash fills the buffer and then the interface empties it, or the other way
        /// round; the next command starts after that.
        Single = "single",
    }
}

section! {
    /// Configuration of a storage controller's front end. Commands count from fetch to completion. Queues beyond the list of
    /// priorities have medium priority, like all queues created by Linux. A transfer of more than two memory pages has a list
    /// of their addresses, 8 bytes each.
    #[derive(Eq)]
    Config {
        "device.arbitration" arbitration: Arbitration = Kind::words(Arbitration::WORDS),
            given("round-robin", "NVMe Base Specification: mandatory for every controller"),
            "Selection of the next submission queue.",
            when "link.type" is "pcie";
        "device.arbitration_burst" arbitration_burst: Option<u32> = COUNT.within(1.0, 64.0).or("unlimited"),
            assumed("8", "drives recommend 1 to 8 (Identify Controller, RAB)"),
            "Commands taken from a queue before the next queue's turn, a power of two (NVMe Feature 01h).",
            when "link.type" is "pcie";
        "device.fetch_burst" fetch_burst: u32 = COUNT.within(1.0, 1024.0),
            assumed("8", "512 bytes of entries, one PCIe read of the usual size"),
            "Number of submission queue entries fetched by one read of host memory.",
            when "link.type" is "pcie";
        "device.max_commands" max_commands: u32 = COUNT.within(1.0, 65535.0),
            Fallback::By("link.type", &[
                by_assumed("pcie", "512", "more than hosts commonly keep outstanding, less than a queue can hold"),
                by_given("sata", "32", "Serial ATA native command queuing: 32 tags"),
                by_given("ufs", "32", "UFS 2.0 (JESD220B): one queue, and a host's list of 32 transfer requests"),
                by_assumed("ddr", "32", "as in a SATA drive"),
                by_assumed("shared-buffer", "32", "like other phone storage"),
            ]),
            "Maximum number of commands that the controller processes at the same time.";
        "device.buffering" buffering: Buffering = Kind::words(Buffering::WORDS),
            assumed("streamed", "drives send one page while they read the next"),
            "Streamed: data leaves as it arrives, and commands overlap. Single: one buffer, which a command occupies \
             from its start until its data has left (read) or is written; flash and interface alternate.",
            when "link.type" is "sata" | "ddr";
        "device.dram_bandwidth" dram_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "data of reads and writes passes through SRAM, or the DRAM is fast enough"),
            "Bytes per second of the controller's DRAM, through which a command's data passes twice.";
        "device.bypass_flash" bypass_flash: bool = BOOL,
            assumed("false", "devices store their data"),
            "The firmware answers without translation layer and flash, to measure the protocol alone.",
            when "link.type" is "ufs" | "shared-buffer";
        "host.queue_priority" priorities: Vec<Priority> = Kind::new(Shape::Words(Priority::WORDS)),
            given("medium", "the Linux NVMe driver creates all of its queues with it"),
            "Class of each queue pair; pairs beyond the list are medium.",
            when "device.arbitration" is "weighted-round-robin";

        /// NVMe: coalescing of interrupts for several completions (Feature 08h).
        table coalescing: Coalescing;
        /// NVMe: the controller's preferences about a Host Memory Buffer.
        table hmb: HmbKeys;
        /// UFS: segmentation of data transfers.
        table utp: Utp;
        /// Configuration specific to a device behind a shared buffer.
        table shared_buffer: SharedBufferConfig;
        /// Processor time per command.
        table firmware: Firmware;
        /// NVMe, SATA, UFS: command costs besides processor time.
        table handling: Handling;
        /// NVMe: weights of the queue classes under weighted round robin (Feature 01h).
        table weights: Weights;

        check powers;
    }
}

impl Config {
    fn powers(&self) -> Result<(), Conflict> {
        if let Some(burst) = self.arbitration_burst {
            power_of_two("device.arbitration_burst", u64::from(burst))?;
        }
        Ok(())
    }
}

/// Returns the defaults of a section's keys where `link.type` is `word`, for flash with pages of 16 KiB that are mapped in
/// units of 4 KiB.
pub(crate) fn default_where<S: Section>(word: &'static str) -> S {
    let (unit, page) = (Value::Size(4096), Value::Size(16384));
    keys::defaults::<Config, S>(&[("link.type", Value::Word(word)), ("ftl.unit", unit), ("flash.page", page)])
}

impl Default for Config {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> Config {
        default_where("pcie")
    }
}

section! {
    /// Transfers of the UFS transport protocol.
    #[derive(Copy, Eq)]
    Utp {
        "device.utp.segment" segment: u32 = SIZE.within(512.0, 130560.0),
            given("4KiB", "UFS 2.0 (JESD220B): bMaxDataInSize and bMaxDataOutSize follow the buffers, 8 x 512 bytes"),
            "Maximum data of a DATA IN or DATA OUT UPIU, a multiple of 512.",
            when "link.type" is "ufs";
        "device.utp.ready_to_transfers" ready_to_transfers: u32 = COUNT.within(1.0, 255.0),
            given("2", "UFS 2.0 (JESD220B): the default of bMaxNumOfRTT"),
            "Maximum number of READY TO TRANSFER UPIUs that wait for their data at the same time.",
            when "link.type" is "ufs";

        check sectors;
    }
}

impl Utp {
    fn sectors(&self) -> Result<(), Conflict> {
        expect(u64::from(self.segment).is_multiple_of(SECTOR), &["device.utp.segment"], "a multiple of 512B")
    }
}

impl Default for Utp {
    /// The defaults of the keys where `link.type` is `ufs`.
    fn default() -> Utp {
        default_where("ufs")
    }
}
