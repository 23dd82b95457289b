//! `[device]`: the storage controller.

use sim::Time;

use keys::{
    BOOL, COUNT, ENERGY, FREQUENCY, Fallback, Kind, POWER, RATE, SIZE, TIME, assumed, by_assumed, by_given, given,
    section, words,
};

use ::device::OneNandConfig;

words! {
    /// Selection of the next submission queue (NVMe Base Specification, Command Arbitration).
    Arbitration {
        /// Each queue in turn.
        RoundRobin = "round-robin",
        /// Urgent queues first, then by weight.
        WeightedRoundRobin = "weighted-round-robin",
    }
}

words! {
    /// Buffering of a command's data between flash and interface.
    Buffering {
        /// In parts, as data arrives; commands overlap.
        Streamed = "streamed",
        /// As a whole, through a single buffer: flash and interface alternate, and commands are serialized.
        Single = "single",
    }
}

words! {
    /// Command set of the namespace.
    Namespace {
        /// Logical blocks that can be written in any order.
        Conventional = "conventional",
        /// Zones (NVMe Zoned Namespace Command Set).
        Zoned = "zoned",
    }
}

const FIRMWARE_CYCLES: &str = "a few thousand instructions per command without cache misses, from scratchpad memory";
const FIRMWARE: &str = "a few hundred instructions per command on processors of about 1 GHz";

section! {
    /// The storage controller.
    Device {
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
        "device.dram" dram: u64 = SIZE,
            assumed("1GiB", "about a thousandth of a 1 TB drive, for its map and data"),
            "DRAM of the controller; 0B: none.";
        "device.dram_bandwidth" dram_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "data of reads and writes passes through SRAM, or the DRAM is fast enough"),
            "Bytes per second of the controller's DRAM, through which a command's data passes twice.";
        "device.namespace" namespace: Namespace = Kind::words(Namespace::WORDS),
            assumed("conventional", "most drives have no other"),
            "Command set of the namespace. Zoned: it consists of zones (device.zones), which are written in order and \
             reset as a whole.",
            when "link.type" is "pcie";
        "device.bypass_flash" bypass_flash: bool = BOOL,
            assumed("false", "devices store their data"),
            "The firmware answers without translation layer and flash, to measure the protocol alone.",
            when "link.type" is "ufs" | "shared-buffer";

        /// Interrupt coalescing (NVMe Feature 08h).
        table coalescing: Coalescing;
        /// Memory that the host lends to the controller (NVMe Feature 0Dh).
        table hmb: Hmb;
        /// Transfers of the UFS transport protocol.
        table utp: Utp;
        /// The controller behind a shared buffer.
        table emulated: Emulated;
        /// The buffers of a OneNAND.
        table onenand: OneNandConfig;
        /// Power of the controller behind a shared buffer.
        table power: ControllerPower;
        /// Cost of the firmware.
        table firmware: Firmware;
        /// Staging paths for requests of more than one mapping unit.
        table staging: Staging;
        /// Weights of the queue classes under weighted round robin (NVMe Feature 01h).
        table weights: Weights;
    }
}

section! {
    /// Interrupt coalescing (NVMe Feature 08h): an interrupt waits for a number of completions or a time.
    Coalescing {
        "device.coalescing.threshold" threshold: u32 = COUNT.within(1.0, 256.0),
            given("1", "NVMe Base Specification: the default of Feature 08h is none"),
            "Number of completions that an interrupt waits for; 1: none.",
            when "link.type" is "pcie";
        "device.coalescing.time" time: Time = TIME.within(0.0, 25.5e9),
            given("0s", "NVMe Base Specification: the default of Feature 08h is none"),
            "Maximum time for which an interrupt waits, a multiple of 100us.",
            when "link.type" is "pcie";
    }
}

section! {
    /// Memory that the host lends to the controller: the Host Memory Buffer (NVMe Feature 0Dh).
    Hmb {
        "device.hmb.size" size: u64 = SIZE,
            assumed("0B", "drives with DRAM do not need it"),
            "Preferred size (HMPRE), a multiple of 4KiB; the host lends at most host.hmb.limit. 0B: none.",
            when "link.type" is "pcie";
        "device.hmb.minimum" minimum: u64 = SIZE,
            given("0B", "NVMe Base Specification: HMMIN is 0 if any size is acceptable"),
            "Minimum usable size (HMMIN), a multiple of 4KiB; at most device.hmb.size, if that is set.",
            when "link.type" is "pcie";
        "device.hmb.min_descriptor" min_descriptor: u64 = SIZE,
            given("0B", "NVMe Base Specification: HMMINDS is 0 if any size is acceptable"),
            "Minimum usable size of a contiguous region (HMMINDS), a multiple of 4KiB.",
            when "link.type" is "pcie";
        "device.hmb.max_descriptors" max_descriptors: Option<u32> = COUNT.within(1.0, 65535.0).or("any"),
            given("any", "NVMe Base Specification: HMMAXD is 0 if any number is acceptable"),
            "Maximum number of usable regions (HMMAXD).",
            when "link.type" is "pcie";
    }
}

section! {
    /// Transfers of the UFS transport protocol.
    Utp {
        "device.utp.segment" segment: u64 = SIZE.within(512.0, 130560.0),
            given("4KiB", "UFS 2.0 (JESD220B): bMaxDataInSize and bMaxDataOutSize follow the buffers, 8 x 512 bytes"),
            "Maximum data of a DATA IN or DATA OUT UPIU, a multiple of 512.",
            when "link.type" is "ufs";
        "device.utp.ready_to_transfers" ready_to_transfers: u32 = COUNT.within(1.0, 255.0),
            given("2", "UFS 2.0 (JESD220B): the default of bMaxNumOfRTT"),
            "Maximum number of READY TO TRANSFER UPIUs that wait for their data at the same time.",
            when "link.type" is "ufs";
    }
}

section! {
    /// The controller behind a shared buffer that looks like a DRAM.
    Emulated {
        "device.emulated.clock" clock: u64 = FREQUENCY.within(1e6, 10e9),
            given("266MHz", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, Table 1"),
            "Clock of the controller's cores and interconnect.",
            when "link.type" is "shared-buffer";
        "device.emulated.width" width: u64 = SIZE.within(4.0, 64.0),
            assumed("8B", "64-bit AXI"),
            "Bytes per cycle of the controller's interconnect, a power of two.",
            when "link.type" is "shared-buffer";
        "device.emulated.banks" banks: u32 = COUNT.within(1.0, 64.0),
            given("8", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 4.1"),
            "Single-ported SRAM banks of the buffer, a power of two.",
            when "link.type" is "shared-buffer";
        "device.emulated.boot" boot: Option<u64> = SIZE.within(512.0, 1073741824.0).or("none"),
            given("none", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 7.2: a suggestion"),
            "Boot mode: this many bytes from the start can be read without commands, until the first command is sent.",
            when "link.type" is "shared-buffer";
        "device.emulated.fetch" fetch: u32 = COUNT.within(0.0, 1e6),
            assumed("2500", FIRMWARE_CYCLES),
            "Cycles to detect, fetch and decode a submission queue entry.",
            when "link.type" is "shared-buffer";
        "device.emulated.complete" complete: u32 = COUNT.within(0.0, 1e6),
            assumed("2000", FIRMWARE_CYCLES),
            "Cycles to prepare and post a completion.",
            when "link.type" is "shared-buffer";
        "device.emulated.command" command: u32 = COUNT.within(0.0, 1e6),
            assumed("1000", FIRMWARE_CYCLES),
            "Cycles of the translation layer per command.",
            when "link.type" is "shared-buffer";
        "device.emulated.unit" unit: u32 = COUNT.within(0.0, 1e6),
            assumed("60", FIRMWARE_CYCLES),
            "Cycles of the translation layer per mapping unit of a command.",
            when "link.type" is "shared-buffer";
        "device.emulated.page" page: u32 = COUNT.within(0.0, 1e6),
            assumed("500", FIRMWARE_CYCLES),
            "Cycles of the flash interface layer per transferred page.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Power of the controller behind a shared buffer: a constant part, and the consumption of active parts.
    ControllerPower {
        "device.power.always" always: u64 = POWER,
            assumed("100mW", "clocks, leakage and the interfaces' delay-locked loops of a controller of 28 nm"),
            "Constant power of the controller.",
            when "link.type" is "shared-buffer";
        "device.power.core" core: u64 = POWER,
            assumed("30mW", "about 0.1 mW per MHz, an embedded core in 28 nm"),
            "Additional power of an active core.",
            when "link.type" is "shared-buffer";
        "device.power.interface_energy" interface_energy: u64 = ENERGY,
            assumed("80pJ", "10 pJ per bit: LPDDR3 pads and the logic behind them"),
            "Energy per byte that the host reads or writes.",
            when "link.type" is "shared-buffer";
        "device.power.buffer_energy" buffer_energy: u64 = ENERGY,
            assumed("100pJ", "an SRAM of a few hundred KiB is written and read, and the interconnect carries the data"),
            "Energy per byte that passes between the data buffer and the flash interface.",
            when "link.type" is "shared-buffer";
        "device.power.decode_energy" decode_energy: u64 = ENERGY,
            assumed("170pJ", "a 28 nm LDPC decoder at 533 MB/s consumes about 90 mW"),
            "Energy per decoded byte.",
            when "link.type" is "shared-buffer";
        "device.power.encode_energy" encode_energy: u64 = ENERGY,
            assumed("40pJ", "encoding takes a quarter of the work"),
            "Energy per encoded byte.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Firmware: core time per command, before and after its execution.
    Firmware {
        "device.firmware.cores" cores: u32 = COUNT.within(1.0, 64.0),
            assumed("2", "enough that a million commands per second, typical of client drives of 2020, are not \
                limited"),
            "Cores that handle commands.";
        "device.firmware.read" read: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to accept a read.";
        "device.firmware.write" write: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to accept a write.";
        "device.firmware.trim" trim: Time = TIME,
            assumed("2us", FIRMWARE),
            "Core time to accept a trim.";
        "device.firmware.trim_gib" trim_gib: Time = TIME,
            assumed("1ms", "4 ns for each of 262,144 map entries of 4 KiB; 1 to 20 ns are plausible"),
            "Additional core time per GiB that a trim covers.";
        "device.firmware.flush" flush: Time = TIME,
            assumed("1us", FIRMWARE),
            "Core time to accept a flush.";
        "device.firmware.append" append: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to accept a zone append.",
            when "device.namespace" is "zoned";
        "device.firmware.zone" zone: Time = TIME,
            assumed("1us", FIRMWARE),
            "Core time to accept a zone management command.",
            when "device.namespace" is "zoned";
        "device.firmware.complete" complete: Time = TIME,
            assumed("0s", "handled by hardware"),
            "Core time to complete a command.";
        "device.firmware.jump" jump: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Core time after a write that continues none of the last 16 sequential streams; the write itself does not \
             wait for it.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";

        /// Waits that occupy no core.
        table wait: Wait;
    }
}

section! {
    /// Waits of the firmware that occupy no core, between a command's decoding and its start.
    Wait {
        "device.firmware.wait.read" read: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a read.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.write" write: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a write.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.trim" trim: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a trim.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.flush" flush: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a flush.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.append" append: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a zone append.",
            when "device.namespace" is "zoned";
        "device.firmware.wait.split" split: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional wait of a read or write that touches more than one ftl.unit.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.unit" unit: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional wait for each ftl.unit beyond the first that a read or write touches.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
    }
}

section! {
    /// Staging paths for the data of requests that touch more than one ftl.unit.
    Staging {
        "device.staging.read" read: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "no effect unless a measured drive shows one"),
            "Bytes per second of the staging path for reads.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.staging.write" write: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "no effect unless a measured drive shows one"),
            "Bytes per second of the staging path for writes.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
    }
}

section! {
    /// Weights of the queue classes: commands per turn.
    Weights {
        "device.weights.high" high: u32 = COUNT.within(1.0, 256.0),
            assumed("8", "each class has twice the turns of the next"),
            "Weight of the class high.",
            when "device.arbitration" is "weighted-round-robin";
        "device.weights.medium" medium: u32 = COUNT.within(1.0, 256.0),
            assumed("4", "each class has twice the turns of the next"),
            "Weight of the class medium.",
            when "device.arbitration" is "weighted-round-robin";
        "device.weights.low" low: u32 = COUNT.within(1.0, 256.0),
            assumed("2", "each class has twice the turns of the next"),
            "Weight of the class low.",
            when "device.arbitration" is "weighted-round-robin";
    }
}
