//! The parts between processors and storage: front-side bus, North Bridge with main memory, South Bridge.

use keys::{Fallback, Kind, RATE, TIME, assumed, by_assumed, by_given, given, section, words};
use sim::Time;

use crate::{DmaConfig, MemoryConfig};

words! {
    /// The connection between the processors and the storage port.
    ChipsetModel {
        /// Included in the adapter's times.
        Hidden = "hidden",
        /// North Bridge with main memory, DMI, South Bridge, each with its own bandwidth and latency.
        Bridges = "bridges",
    }
}

section! {
    /// The parts between processors and storage: front-side bus, North Bridge with main memory, South Bridge.
    #[derive(Eq)]
    Chipset {
        "host.chipset" model: ChipsetModel = Kind::words(ChipsetModel::WORDS),
            Fallback::By("link.type", &[
                by_assumed("pcie", "hidden", "included in the latencies of the link and of memory"),
                by_assumed("sata", "hidden", "included in host.ahci"),
                by_given("ddr", "bridges", "the port belongs to the North Bridge"),
            ]),
            "Connection between processors and storage: included in other times, or North and South Bridge as separate \
             parts.",
            when "link.type" is "sata" | "ddr";
        "host.dmi.bandwidth" dmi_bandwidth: u64 = RATE.least(1000.0),
            given("1GB/s", "Intel 965 Express Chipset Family data sheet (2006): 2 GB/s, half of it each way"),
            "Bytes per second in each direction.",
            when "host.chipset" is "bridges";
        "host.dmi.latency" dmi_latency: Time = TIME,
            assumed("150ns", "like a PCI Express link, from which DMI hardly differs"),
            "Latency from one bridge to the other.",
            when "host.chipset" is "bridges";
        "host.fsb.latency" front_side_bus: Time = TIME,
            assumed("100ns", "an uncached write on a bus of 266 MHz: arbitration, request, snoop, data"),
            "Time from a processor's register write until it reaches the North Bridge.",
            when "host.chipset" is "bridges";

        /// The DMA: in the South Bridge for SATA, in the DRAM controller for a DDR port.
        table dma: DmaConfig;
        /// Main memory.
        table memory: MemoryConfig;
    }
}

impl Default for Chipset {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> Chipset {
        crate::config::default_where("pcie")
    }
}
