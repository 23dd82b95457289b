//! `[link]`: the link between host and device.

use sim::Time;

use keys::{
    BOOL, COUNT, Fallback, Kind, POWER, RATE, SIZE, TIME, TRANSFERS, assumed, by_assumed, by_given, given, section,
    words,
};

const BURST: &str = "xip: Table 3, a 16-byte line takes 220 ns, which is eight transfers plus this; likewise a 1 KiB \
    page, with its writes to SRAM, takes 12.86 us";
const BURST_POWER: &str = "xip: Table 3, the two powers that reproduce the energy of a line (15.24 nJ) and of a page \
    (1056.21 nJ, with writes to SRAM at the power of reads)";

words! {
    /// Type of the link, which determines the protocol and the driver.
    LinkType {
        /// PCI Express with NVMe.
        Pcie = "pcie",
        /// Serial ATA with native command queuing, behind an AHCI host adapter.
        Sata = "sata",
        /// UFS: UniPro over M-PHY, behind a UFSHCI host controller.
        Ufs = "ufs",
        /// A DDR port of the memory controller; the device raises DQS when its data is ready.
        Ddr = "ddr",
        /// A shared buffer on the memory bus that looks like a DRAM, with its own queues.
        SharedBuffer = "shared-buffer",
        /// The bus of a OneNAND, whose buffers are read like memory.
        OneNand = "onenand",
        /// No storage.
        None = "none",
    }
}

words! {
    /// Ways in which the controller of a DDR port learns that data is ready.
    Strobe {
        /// The device raises the data strobe.
        Dqs = "dqs",
        /// Data follows each READ after a fixed time.
        Fixed = "fixed",
    }
}

words! {
    /// Data bus while a READ waits.
    Waiting {
        /// Reserved for the answer.
        Held = "held",
        /// Open to other transfers.
        Released = "released",
    }
}

words! {
    /// Memory channel of a device.
    Channel {
        /// A separate channel.
        Own = "own",
        /// The DRAM's channel.
        Shared = "shared",
    }
}

words! {
    /// Memory standards of a device's bus.
    Memory {
        /// 600 MHz.
        Lpddr3x1200 = "lpddr3-1200",
        /// 800 MHz.
        Lpddr3x1600 = "lpddr3-1600",
        /// 2133 MHz.
        Lpddr4Xx4266 = "lpddr4x-4266",
        /// 3200 MHz.
        Lpddr5x6400 = "lpddr5-6400",
    }
}

impl Memory {
    /// Returns the DRAM device of the standard.
    ///
    /// # Panics
    /// If `dram` has no such preset, which cannot happen because the words are its names.
    pub fn device(self) -> dram::Device {
        dram::Device::preset(self.word()).unwrap_or_else(|error| panic!("{error}"))
    }
}

words! {
    /// Rate series of M-PHY.
    Series {
        /// 1248 Mb/s in gear 1.
        A = "a",
        /// 1457.6 Mb/s in gear 1.
        B = "b",
    }
}

section! {
    /// The link between host and device.
    Link {
        "link.type" kind: LinkType = Kind::words(LinkType::WORDS),
            assumed("pcie", "used by current drives"),
            "Type of the link; determines protocol (NVMe, SATA NCQ, UTP, queues in a shared buffer) and driver.";
        "link.generation" generation: u32 = COUNT.within(1.0, 6.0),
            Fallback::By("link.type", &[
                by_assumed("pcie", "4", "used by client drives since 2020"),
                by_given("sata", "3", "Serial ATA Revision 3: 6 Gb/s"),
            ]),
            "PCIe generation (1 to 6) or SATA revision (1 to 3).",
            when "link.type" is "pcie" | "sata";
        "link.gear" gear: u32 = COUNT.within(1.0, 3.0),
            given("3", "UFS 2.0 (JESD220B): HS-G3, the fastest"),
            "M-PHY high-speed gear: 1.25 (series B: 1.46) Gb/s per lane, doubled by each gear.",
            when "link.type" is "ufs";
        "link.series" series: Series = Kind::words(Series::WORDS),
            assumed("b", "the faster one, which drivers request"),
            "M-PHY rate series.",
            when "link.type" is "ufs";
        "link.lanes" lanes: u32 = COUNT.within(1.0, 32.0),
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
        "link.credits" credits: u64 = SIZE.within(288.0, 16777216.0),
            assumed("4KiB", "large enough that the sender never waits"),
            "A UFS receiver's buffer, which holds unacknowledged frames.",
            when "link.type" is "ufs";
        "link.frames_per_afc" frames_per_afc: u32 = COUNT.within(1.0, 16.0),
            given("1", "Linux: drivers of host controllers set DL_TC0OutAckThreshold and DL_AFC0CreditThreshold to 0"),
            "Number of UniPro data frames answered by one acknowledgement and flow-control frame.",
            when "link.type" is "ufs";
        "link.max_payload" max_payload: u64 = SIZE.within(128.0, 4096.0),
            assumed("256B", "common to most hosts and drives"),
            "Maximum data bytes of a PCIe packet (Max_Payload_Size), a power of two.",
            when "link.type" is "pcie";
        "link.max_read_request" max_read_request: u64 = SIZE.within(128.0, 4096.0),
            given("512B", "PCI Express Base Specification: the default of Max_Read_Request_Size"),
            "Maximum bytes of a PCIe read request (Max_Read_Request_Size), a power of two.",
            when "link.type" is "pcie";
        "link.read_completion_boundary" read_completion_boundary: Option<u64> = SIZE.within(64.0, 4096.0).or("max_payload"),
            assumed("max_payload", "products write 6.9 GB/s on PCIe 4.0 x4, more than packets of 64 bytes (5.9) or 128 \
                bytes (6.7) allow"),
            "Bytes per completion packet of a PCIe read, a power of two; at most max_payload.",
            when "link.type" is "pcie";
        "link.dllp" dllp: u64 = SIZE.within(0.0, 64.0),
            assumed("8B", "an Ack and an UpdateFC for every second packet"),
            "Average bytes of link-layer packets (Ack, UpdateFC) that a packet causes in the other direction.",
            when "link.type" is "pcie";
        "link.handshake" handshake: Time = TIME,
            assumed("400ns", "makes sequential reads of a 6 Gb/s drive reach 560 to 570 MB/s"),
            "Time of a SATA frame's handshakes, before and after it.",
            when "link.type" is "sata";
        "link.data_fis" data_fis: u64 = SIZE.within(512.0, 8192.0),
            given("8KiB", "Serial ATA Revision 3.0: at most 2,048 dwords"),
            "Maximum data bytes of a SATA Data FIS, a multiple of 512.",
            when "link.type" is "sata";
        "link.auto_activate" auto_activate: bool = BOOL,
            assumed("true", "supported by drives and hosts that queue commands"),
            "The DMA Setup FIS of a write activates its first Data FIS (DMA Setup Auto-Activate).",
            when "link.type" is "sata";
        "link.rate" rate: u64 = TRANSFERS,
            Fallback::By("link.type", &[
                by_given("ddr", "800MT/s", "JESD79-2: DDR2-800"),
                by_given("onenand", "50MT/s", "xip: 5.1, 50 MHz"),
            ]),
            "Transfers per second of a DDR port, or of a OneNAND's bus.",
            when "link.type" is "ddr" | "onenand";
        "link.width" width: u64 = SIZE.within(1.0, 64.0),
            Fallback::By("link.type", &[
                by_given("ddr", "8B", "a DIMM's 64 data bits"),
                by_given("onenand", "2B", "xip: reference 4, the specification of the x16 KFG5616x1A"),
            ]),
            "Bytes per transfer of a DDR port, or of a OneNAND's bus.",
            when "link.type" is "ddr" | "onenand";
        "link.burst_latency" burst_latency: Time = TIME,
            given("60ns", BURST),
            "Time from the address to the first word of a burst from a OneNAND's buffer.",
            when "link.type" is "onenand";
        "link.latency_power" latency_power: u64 = POWER,
            given("8.917mW", BURST_POWER),
            "Power of a OneNAND's bus and buffer during a burst's latency.",
            when "link.type" is "onenand";
        "link.transfer_power" transfer_power: u64 = POWER,
            given("91.906mW", BURST_POWER),
            "Power of a OneNAND's bus and buffer during transfers.",
            when "link.type" is "onenand";
        "link.burst_length" burst_length: u32 = COUNT.within(4.0, 8.0),
            given("8", "JESD79-2: 4 or 8"),
            "Transfers per burst of a DDR port, 4 or 8; its DMA engine moves data in bursts.",
            when "link.type" is "ddr";
        "link.cas_latency" cas_latency: u32 = COUNT.within(1.0, 64.0),
            given("5", "JESD79-2F: DDR2-800D, 5-5-5"),
            "Clocks from a READ on a DDR port to its first data, if the device has that ready.",
            when "link.type" is "ddr";
        "link.strobe" strobe: Strobe = Kind::words(Strobe::WORDS),
            given("dqs", "ddrssd, 4.2"),
            "How a DDR port's controller learns that data is ready.",
            when "link.type" is "ddr";
        "link.fixed_latency" fixed_latency: Time = TIME,
            assumed("2ms", "a memory controller that waits a fixed time must wait for the slowest read: 64 KiB from \
                flash take 1.2 ms in a drive of 2007"),
            "Without DQS: time from a READ to its data. A READ that finds none is repeated.",
            when "link.strobe" is "fixed";
        "link.waiting" waiting: Waiting = Kind::words(Waiting::WORDS),
            assumed("held", "the paper's only signal is DQS: the device could not tell when a bus in use is free"),
            "Data bus of a DDR port while a READ waits for DQS.",
            when "link.strobe" is "dqs";
        "link.timeout" timeout: Time = TIME,
            assumed("10ms", "longer than a block erase and any queue of reads before it"),
            "Time after which a DDR port's controller gives up a READ that waits for DQS, lets other transfers use the \
             bus, and issues it again.",
            when "link.strobe" is "dqs";
        "link.data_buffer" data_buffer: u64 = SIZE.within(4096.0, 1073741824.0),
            assumed("512KiB", "throughput does not grow beyond it (Seo et al., A Mobile Storage Leveraging the DRAM \
                Interface, 6.3)"),
            "Size of the shared buffer's data area, a multiple of the sector size.",
            when "link.type" is "shared-buffer";
        "link.memory" memory: Memory = Kind::words(Memory::WORDS),
            given("lpddr3-1200", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, Table 2: LPDDR3 at 600 \
                MHz"),
            "Standard of the memory bus, which determines its timing.",
            when "link.type" is "shared-buffer";
        "link.channel" channel: Channel = Kind::words(Channel::WORDS),
            given("own", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.1"),
            "Whether the device has its own memory channel, or shares the DRAM's.",
            when "link.type" is "shared-buffer";
        "link.interleave" interleave: Option<u64> = SIZE.within(64.0, 1073741824.0).or("outside"),
            given("outside", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 7.1: it cannot participate"),
            "Position of the buffer: outside the interleaved region, contiguous; or inside, in granules of this size.",
            when "link.type" is "shared-buffer";
    }
}
