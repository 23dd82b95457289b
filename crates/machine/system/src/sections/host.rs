//! `[host]`: cores, driver, and the cost of I/O.

use sim::Time;

use keys::{
    BOOL, COUNT, Fallback, Kind, RATE, SIZE, Shape, TIME, assumed, by_assumed, by_given, given, section, words,
};

use ::host::SramConfig;
use pager::policy::PagingConfig;

const URING: &str = "a current core handles close to a million 4 KiB requests per second through io_uring and nvme-pci";
const AHCI_PATH: &str = "half of Intel's 6.0 us for the path through AHCI (AnandTech, Testing SATA Express, 2014)";
const UFS_PATH: &str = "half of the 6.0 us of AHCI, with which it shares SCSI and interrupt handling, on a phone core \
    that takes two and a half times as long as a desktop core";
const SOC: &str = "a few hundred nanoseconds through the buses of a system on a chip";
const PHONE: &str = "block layer, driver and wake-up of the waiting thread, on a 1.7 GHz core with a kernel of 2012";
const ENGINE: &str = "a general DMA engine that runs programs (PL330), behind the DMA framework of a kernel of 2012, \
    which runs callbacks in a tasklet";
const POLL_PAPER: &str = "an interrupt costs about 2 us before the completion (similar to Yang, Minturn and Hady, When \
    poll is better than interrupt, FAST 2012)";
const DMA_PATH: &str = "the same driver, with the registers of a different DMA engine";
const ADAPTER: &str = "a chipset's adapter is a few hundred nanoseconds from cores and memory";

words! {
    /// Detection of completions by the host.
    Completion {
        /// The device sends an interrupt.
        Interrupt = "interrupt",
        /// A core polls the completion queue.
        Polling = "polling",
    }
}

words! {
    /// The connection between the processors and the storage port.
    Chipset {
        /// Included in the adapter's times.
        Hidden = "hidden",
        /// North Bridge with main memory, DMI, South Bridge, each with its own bandwidth and latency.
        Bridges = "bridges",
    }
}

words! {
    /// Class of a submission queue under weighted round robin (NVMe Base Specification, Command Arbitration).
    QueuePriority {
        /// Served before all others.
        Urgent = "urgent",
        /// Served by the weight of its class.
        High = "high",
        /// Served by the weight of its class.
        Medium = "medium",
        /// Served by the weight of its class.
        Low = "low",
    }
}

section! {
    /// The host: its cores and its driver. The link determines the driver: nvme-pci over PCIe, AHCI over SATA, ufshcd
    /// over UFS.
    Host {
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
                by_given("ufs", "32", "UFSHCI 2.0 (JESD223B): a list of 32 transfer requests"),
                by_assumed("ddr", "32", "its DMA engine imitates that of SATA"),
                by_assumed("shared-buffer", "32", "like other phone storage"),
            ]),
            "Entries of an NVMe queue, of which all but one are usable, or of a shared buffer's queue; command slots \
             of AHCI, UFSHCI or a DDR port's DMA engine.";
        "host.queue_priority" queue_priority: Vec<QueuePriority> = Kind::new(Shape::Words(QueuePriority::WORDS)),
            given("medium", "the Linux NVMe driver creates all of its queues with it"),
            "Class of each queue pair; pairs beyond the list are medium.",
            when "device.arbitration" is "weighted-round-robin";
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
        "host.completion" completion: Completion = Kind::words(Completion::WORDS),
            given("interrupt", "the default of the Linux NVMe, AHCI and UFS drivers"),
            "How the host detects completions.";
        "host.poll" poll: Time = TIME,
            assumed("100ns", "polling a queue entry that the device has just written costs one cache miss"),
            "Time from an entry reaching memory until the polling core sees it.",
            when "host.completion" is "polling";
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
        "host.chipset" chipset: Chipset = Kind::words(Chipset::WORDS),
            Fallback::By("link.type", &[
                by_assumed("pcie", "hidden", "included in the latencies of the link and of memory"),
                by_assumed("sata", "hidden", "included in host.ahci"),
                by_given("ddr", "bridges", "the port belongs to the North Bridge"),
            ]),
            "Connection between processors and storage: included in other times, or North and South Bridge as separate \
             parts.",
            when "link.type" is "sata" | "ddr";
        "host.page" page: u64 = SIZE.within(4096.0, 65536.0),
            given("4KiB", "the page size of x86, and the smallest of NVMe"),
            "Memory page size (NVMe CC.MPS), a power of two: for transfers of more than two pages the device first \
             reads a list.",
            when "link.type" is "pcie";
        "host.memory_latency" memory_latency: Time = TIME,
            assumed("200ns", "with the link's latency, a 64-byte read takes half a microsecond, as on servers \
                (Neugebauer et al., Understanding PCIe performance, SIGCOMM 2018)"),
            "Time from a PCIe read's arrival at the host until its first byte leaves.",
            when "link.type" is "pcie";

        /// The AHCI host adapter of a SATA link.
        table ahci: Ahci;
        /// The host controller of a UFS link.
        table ufshci: Ufshci;
        /// The chipset's DMA engine.
        table dma: Dma;
        /// The link between the bridges.
        table dmi: Dmi;
        /// The front-side bus.
        table fsb: Fsb;
        /// Memory that the host lends to the controller (NVMe Feature 0Dh).
        table hmb: HostHmb;
        /// The component that moves data to and from a shared buffer.
        table mover: Mover;
        /// Cost of an interrupt.
        table interrupt: Interrupt;
        /// Main memory as seen by the chipset's DMA engine.
        table memory: Memory;
        /// Demand paging.
        table paging: PagingConfig;
        /// On-chip SRAM.
        table sram: SramConfig;
    }
}

section! {
    /// Memory that the host lends to an NVMe controller.
    HostHmb {
        "host.hmb.limit" limit: u64 = SIZE,
            given("128MiB", "the default of the Linux NVMe driver (max_host_mem_size_mb)"),
            "Maximum memory that the driver lends; 0B: none.",
            when "link.type" is "pcie";
        "host.hmb.contiguous" contiguous: u64 = SIZE.least(4096.0),
            given("4MiB", "the largest order of Linux's page allocator, as long as memory is not fragmented"),
            "Largest contiguous region of memory that the host can lend.",
            when "link.type" is "pcie";
    }
}

section! {
    /// The DMA engine of a chipset: in the South Bridge for SATA, in the DRAM controller for a DDR port. It walks the
    /// list of memory regions (`host.ahci.region`) one sector or one burst at a time.
    Dma {
        "host.dma.entries" entries: u32 = COUNT.within(1.0, 8.0),
            assumed("4", "a 64-byte read fetches four 16-byte entries"),
            "Entries of the list of memory regions (PRD table) that the DMA engine reads at once.",
            when "host.chipset" is "bridges";
        "host.dma.read_ahead" read_ahead: u32 = COUNT.within(0.0, 64.0),
            given("0", "ddrssd, 3.3: each piece of a write is fetched, sent and written before the next"),
            "Sectors of a write that the DMA engine requests from memory ahead of the one being sent.",
            when "host.chipset" is "bridges";
        "host.dma.buffer" buffer: u64 = SIZE.within(512.0, 1048576.0),
            assumed("4KiB", "a few sectors, so that reads are posted: DMI is three times as fast as SATA"),
            "Read data that can wait in the South Bridge for DMI; while it is full, the SATA link stalls.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// The Direct Media Interface between North and South Bridge.
    Dmi {
        "host.dmi.bandwidth" bandwidth: u64 = RATE.least(1000.0),
            given("1GB/s", "Intel 965 Express Chipset Family data sheet (2006): 2 GB/s, half of it each way"),
            "Bytes per second in each direction.",
            when "host.chipset" is "bridges";
        "host.dmi.latency" latency: Time = TIME,
            assumed("150ns", "like a PCI Express link, from which DMI hardly differs"),
            "Latency from one bridge to the other.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// The front-side bus, over which processors write the registers of a DMA engine.
    Fsb {
        "host.fsb.latency" latency: Time = TIME,
            assumed("100ns", "an uncached write on a bus of 266 MHz: arbitration, request, snoop, data"),
            "Time from a processor's register write until it reaches the North Bridge.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// Main memory as seen by the chipset's DMA engine: an in-order channel with refresh.
    Memory {
        "host.memory.bandwidth" bandwidth: u64 = RATE,
            given("6.4GB/s", "ddrssd, 5: DDR2-800, x64"),
            "Bandwidth of its data bus.",
            when "host.chipset" is "bridges";
        "host.memory.latency" latency: Time = TIME,
            assumed("60ns", "precharge, row and column access of DDR2-800 at 12.5 ns each, and about as much in the \
                controller"),
            "Time from a first access to its first data.",
            when "host.chipset" is "bridges";
        "host.memory.refresh_interval" refresh_interval: Time = TIME,
            given("7.8us", "JESD79-2: tREFI up to 85 C"),
            "Time between refreshes; 0s: none.",
            when "host.chipset" is "bridges";
        "host.memory.refresh" refresh: Time = TIME,
            given("127.5ns", "JESD79-2: tRFC of 1 Gb"),
            "Duration of a refresh.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// The AHCI host adapter, which fetches commands for the drive.
    Ahci {
        "host.ahci.register_write" register_write: Time = TIME,
            assumed("300ns", ADAPTER),
            "Time from the driver's write of a port register until the adapter sees it.",
            when "host.chipset" is "hidden";
        "host.ahci.command_fetch" command_fetch: Time = TIME,
            assumed("800ns", ADAPTER),
            "Time to read a command's header and table from memory, one command at a time.",
            when "host.chipset" is "hidden";
        "host.ahci.region_fetch" region_fetch: Time = TIME,
            assumed("20ns", "several 16-byte entries are read at a time"),
            "Time to read an entry of the list of memory regions.",
            when "host.chipset" is "hidden";
        "host.ahci.region" region: u64 = SIZE.within(512.0, 4194304.0),
            assumed("4KiB", "buffers are scattered over pages"),
            "Size of a memory region in bytes.",
            when "link.type" is "sata" | "ddr";
        "host.ahci.queued_trim" queued_trim: bool = BOOL,
            assumed("false", "Linux disables queued trims for many drives"),
            "Queue trims with the other commands; otherwise they are issued alone, like flushes.",
            when "link.type" is "sata" | "ddr";
    }
}

section! {
    /// The UFS host controller, which fetches commands and moves data for the device.
    Ufshci {
        "host.ufshci.register_write" register_write: Time = TIME,
            assumed("150ns", SOC),
            "Time from the driver's write of the doorbell register until the controller sees it.",
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
        "host.ufshci.aggregation" aggregation: u32 = COUNT.within(1.0, 31.0),
            given("1", "Linux: off unless a controller's driver requests it"),
            "Number of command completions that an interrupt waits for (UTRIACR); 1: none.",
            when "link.type" is "ufs";
        "host.ufshci.aggregation_time" aggregation_time: Time = TIME.within(0.0, 1.02e10),
            given("80us", "Linux: INT_AGGR_DEF_TO, twice 40 us"),
            "Maximum time for which an interrupt waits, in units of the controller, 40us by the standard.",
            when "link.type" is "ufs";
        "host.ufshci.invalidation" invalidation: Time = TIME,
            assumed("0us", "the caches are coherent with the controller's accesses"),
            "CPU time to maintain 512 KiB of non-coherent caches, for each command before its transfer, and for reads \
             also after it.",
            when "link.type" is "ufs";
    }
}

words! {
    /// Component that moves data between memory and a shared buffer.
    Transfer {
        /// A memory-to-memory DMA engine of the host.
        Dma = "dma",
        /// The processor.
        Copy = "copy",
    }
}

section! {
    /// The driver of a shared buffer, and the component that moves data between it and memory.
    Mover {
        "host.mover.transfer" transfer: Transfer = Kind::words(Transfer::WORDS),
            given("dma", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4"),
            "Component that moves data between a request's memory and the buffer.",
            when "link.type" is "shared-buffer";
        "host.mover.bandwidth" bandwidth: Option<u64> = RATE.or("unlimited"),
            given("450MB/s", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 6.2"),
            "Maximum bytes per second of the DMA engine; unlimited: only the bus limits it.",
            when "host.mover.transfer" is "dma";
        "host.mover.piece" piece: u64 = SIZE.within(4096.0, 1073741824.0),
            assumed("64KiB", "the power of two with the least total wait of a 512 KiB request for invalidations and \
                transfer setup"),
            "Maximum size of a DMA transfer; larger ones are split, so that cache maintenance overlaps with them.",
            when "host.mover.transfer" is "dma";
        "host.mover.setup" setup: Time = TIME,
            assumed("5us", ENGINE),
            "CPU time to set up and start a DMA transfer.",
            when "host.mover.transfer" is "dma";
        "host.mover.descriptor" descriptor: Time = TIME,
            assumed("300ns", "about 32 bytes of program, written uncached for the PL330 engine"),
            "CPU time for each further part of a transfer that is not contiguous in the buffer.",
            when "host.mover.transfer" is "dma";
        "host.mover.delivery" delivery: Time = TIME,
            assumed("4us", ENGINE),
            "Time from a transfer's end to the first instruction of its interrupt handler.",
            when "host.mover.transfer" is "dma";
        "host.mover.handler" handler: Time = TIME,
            assumed("5us", ENGINE),
            "CPU time of the transfer's interrupt handler.",
            when "host.mover.transfer" is "dma";
        "host.mover.invalidation" invalidation: Time = TIME,
            given("290us", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4"),
            "CPU time to invalidate 512 KiB of caches, before and after each DMA transfer.",
            when "host.mover.transfer" is "dma";
        "host.mover.word" word: u64 = SIZE.within(1.0, 32.0),
            given("1B", "Linux 3.4, arch/arm/kernel/io.c: memory mapped by ioremap is copied byte by byte"),
            "Bytes per access to the buffer when the CPU copies.",
            when "host.mover.transfer" is "copy";
        "host.mover.uncached" uncached: Time = TIME,
            assumed("120ns", "from core to memory controller and back: about the cost of a cache miss on such a \
                processor, without the memory itself"),
            "CPU time of an uncached access to the buffer, without the bus.",
            when "link.type" is "shared-buffer";
        "host.mover.extents" extents: u32 = COUNT.within(1.0, 6.0),
            given("1", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4: contiguous"),
            "Maximum number of extents in the data buffer for one command's data.",
            when "link.type" is "shared-buffer";
        "host.mover.shrink" shrink: Option<u64> = SIZE.within(512.0, 1073741824.0).or("never"),
            assumed("never", "smaller commands cost more than waiting for free space"),
            "Minimum size of a smaller command that is issued if the buffer has no space for a whole one.",
            when "link.type" is "shared-buffer";
        "host.mover.traffic" traffic: u64 = RATE.least(0.0),
            given("0B/s", "no other program runs while storage is measured"),
            "Bytes per second that other programs read and write in DRAM.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Cost of an interrupt.
    Interrupt {
        "host.interrupt.delivery" delivery: Time = TIME,
            assumed("800ns", POLL_PAPER),
            "Time from the interrupt's arrival at the host to the first instruction of its handler.",
            when "host.completion" is "interrupt";
        "host.interrupt.handler" handler: Time = TIME,
            assumed("1us", POLL_PAPER),
            "CPU time to enter and leave the handler, without handling completions.",
            when "host.completion" is "interrupt";
    }
}
