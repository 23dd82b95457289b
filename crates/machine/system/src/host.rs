//! `[host]`: who asks, and what asking costs.

use sim::Time;

use super::key::{
    BOOL, COUNT, Fallback, Kind, RATE, SIZE, Shape, TIME, assumed, by_assumed, by_given, given, section, words,
};

use super::onenand::{DemandPaging, Sram};

const URING: &str = "a core of today does close to a million requests of 4 KiB a second through io_uring and nvme-pci";
const AHCI_PATH: &str = "half of the 6.0 us that Intel gives for the path through AHCI (AnandTech, Testing SATA \
    Express, 2014)";
const UFS_PATH: &str = "half of the 6.0 us of AHCI, whose way through SCSI and interrupt it shares, on a core of a phone, \
    which takes two and a half times as long as a desktop's";
const SOC: &str = "a few hundred nanoseconds through the buses of a system on a chip";
const PHONE: &str = "block layer, driver and the wake-up of the thread that waits, on a core of 1.7 GHz with a kernel of \
    2012";
const ENGINE: &str = "a general DMA engine that runs programs (PL330), behind the DMA framework of a kernel of 2012, whose \
    callbacks run in a tasklet";
const POLL_PAPER: &str = "an interrupt costs about 2 us before the completion (in kind after Yang, Minturn and Hady, \
    When poll is better than interrupt, FAST 2012)";
const DMA_PATH: &str = "the same driver: registers of another DMA";
const ADAPTER: &str = "a chipset's adapter is a few hundred nanoseconds from cores and memory";

words! {
    /// How the host learns of a completion.
    Completion {
        /// The device interrupts.
        Interrupt = "interrupt",
        /// A core reads the completion queue until it has an entry.
        Polling = "polling",
    }
}

words! {
    /// What is between the processors and the storage's port.
    Chipset {
        /// Its cost is in the times of the adapter.
        Hidden = "hidden",
        /// North Bridge with main memory, DMI, South Bridge, each with its own bandwidth and latency.
        Bridges = "bridges",
    }
}

words! {
    /// Class of a submission queue under weighted round robin (NVMe Base Specification, Command Arbitration).
    QueuePriority {
        /// Before all others.
        Urgent = "urgent",
        /// By the weight of its class.
        High = "high",
        /// By the weight of its class.
        Medium = "medium",
        /// By the weight of its class.
        Low = "low",
    }
}

impl super::key::FromValue for Vec<QueuePriority> {
    fn from_value(value: &super::Value) -> Option<Vec<QueuePriority>> {
        match value {
            super::Value::Words(words) => {
                words.iter().map(|word| QueuePriority::from_value(&super::Value::Word(word))).collect()
            }
            _ => None,
        }
    }
}

section! {
    /// The host: its cores and its driver. The driver follows the link: nvme-pci over PCIe, AHCI over SATA,
    /// ufshcd over UFS.
    Host {
        "host.cores" cores: u32 = COUNT.within(1.0, 1024.0),
            assumed("8", "a desktop of today"),
            "CPU cores that submit requests; job j runs on core j modulo their number.";
        "host.queue_pairs" queue_pairs: Option<u32> = COUNT.within(1.0, 65535.0).or("auto"),
            given("auto", "the Linux NVMe driver makes one pair of I/O queues a core"),
            "Submission and completion queue pairs; auto: one a core.",
            when "link.type" is "pcie" | "shared-buffer";
        "host.queue_depth" queue_depth: u32 = COUNT.within(1.0, 65535.0),
            Fallback::By("link.type", &[
                by_given("pcie", "1024", "the default of the Linux NVMe driver"),
                by_given("sata", "32", "Serial ATA native command queuing: 32 tags"),
                by_given("ufs", "32", "UFSHCI 2.0 (JESD223B): a list of 32 transfer requests"),
                by_assumed("ddr", "32", "its DMA imitates that of SATA"),
                by_assumed("shared-buffer", "32", "as other storage of phones"),
            ]),
            "Entries of an NVMe queue, of which all but one can be used, or of a shared buffer's; command slots of AHCI, UFSHCI or \
             a DDR port's DMA.";
        "host.queue_priority" queue_priority: Vec<QueuePriority> = Kind::new(Shape::Words(QueuePriority::WORDS)),
            given("medium", "the Linux NVMe driver creates all of its queues so"),
            "Class of each queue pair; those beyond the list are medium.",
            when "device.arbitration" is "weighted-round-robin";
        "host.submit" submit: Time = TIME,
            Fallback::By("link.type", &[
                by_assumed("pcie", "700ns", URING),
                by_assumed("sata", "3us", AHCI_PATH),
                by_assumed("ufs", "7.5us", UFS_PATH),
                by_assumed("ddr", "3us", DMA_PATH),
                by_assumed("shared-buffer", "8us", PHONE),
            ]),
            "CPU time from the program's call to the doorbell, a command.";
        "host.complete" complete: Time = TIME,
            Fallback::By("link.type", &[
                by_assumed("pcie", "400ns", URING),
                by_assumed("sata", "3us", AHCI_PATH),
                by_assumed("ufs", "7.5us", UFS_PATH),
                by_assumed("ddr", "3us", DMA_PATH),
                by_assumed("shared-buffer", "12us", PHONE),
            ]),
            "CPU time from the completion seen to the program told, a command.";
        "host.completion" completion: Completion = Kind::words(Completion::WORDS),
            given("interrupt", "the default of the Linux NVMe, AHCI and UFS drivers"),
            "How the host learns of completions.";
        "host.poll" poll: Time = TIME,
            assumed("100ns", "a look at a queue entry that the device has just written is one cache miss"),
            "From an entry's being in memory to the polling core's seeing it.",
            when "host.completion" is "polling";
        "host.max_transfer" max_transfer: u64 = SIZE.within(4096.0, 1073741824.0),
            Fallback::By("link.type", &[
                by_assumed("pcie", "512KiB", "an MDTS of 7 with pages of 4 KiB, as client drives have"),
                by_given("sata", "1280KiB", "Linux: BLK_DEF_MAX_SECTORS, 2560 sectors"),
                by_given("ufs", "512KiB", "Linux: SCSI_DEFAULT_MAX_SECTORS, 1024 sectors, and 128 pages of 4 KiB \
                    (SG_ALL)"),
                by_given("ddr", "1280KiB", "Linux: BLK_DEF_MAX_SECTORS, 2560 sectors"),
                by_assumed("shared-buffer", "128KiB", "a program on each plane of four chips"),
            ]),
            "Bytes of the largest command; larger requests are split by the driver.";
        "host.chipset" chipset: Chipset = Kind::words(Chipset::WORDS),
            Fallback::By("link.type", &[
                by_assumed("pcie", "hidden", "its cost is in the latencies of the link and of memory"),
                by_assumed("sata", "hidden", "its cost is in host.ahci"),
                by_given("ddr", "bridges", "the port is one of the North Bridge"),
            ]),
            "What is between processors and storage: a cost within other times, or North and South Bridge as parts.",
            when "link.type" is "sata" | "ddr";
        "host.page" page: u64 = SIZE.within(4096.0, 65536.0),
            given("4KiB", "the page of x86, and NVMe's smallest"),
            "Memory page (NVMe CC.MPS), a power of two: a transfer of more than two has a list that is read first.",
            when "link.type" is "pcie";
        "host.memory_latency" memory_latency: Time = TIME,
            assumed("200ns", "with the link's latency, a read of 64 bytes takes the half microsecond that servers take \
                (Neugebauer et al., Understanding PCIe performance, SIGCOMM 2018)"),
            "From a PCIe read's arrival at the host to its first byte's leaving.",
            when "link.type" is "pcie";

        /// The AHCI host adapter of a SATA link.
        table ahci: Ahci;
        /// The host controller of a UFS link.
        table ufshci: Ufshci;
        /// The chipset's DMA.
        table dma: Dma;
        /// The link between the bridges.
        table dmi: Dmi;
        /// The front-side bus.
        table fsb: Fsb;
        /// Memory that the host lends to the controller (NVMe Feature 0Dh).
        table hmb: HostHmb;
        /// What the host of a shared buffer moves data with.
        table mover: Mover;
        /// What an interrupt costs.
        table interrupt: Interrupt;
        /// Main memory, as the chipset's DMA sees it.
        table memory: Memory;
        /// Demand paging.
        table paging: DemandPaging;
        /// On-chip SRAM.
        table sram: Sram;
    }
}

section! {
    /// Memory that the host lends to an NVMe controller.
    HostHmb {
        "host.hmb.limit" limit: u64 = SIZE,
            given("128MiB", "the default of the Linux NVMe driver (max_host_mem_size_mb)"),
            "The most that the driver lends; 0B: nothing.",
            when "link.type" is "pcie";
        "host.hmb.contiguous" contiguous: u64 = SIZE.least(4096.0),
            given("4MiB", "the largest order of Linux's page allocator, as long as memory is not fragmented"),
            "The largest contiguous piece that memory has.",
            when "link.type" is "pcie";
    }
}

section! {
    /// The DMA of a chipset: in the South Bridge for SATA, in the DRAM controller for a DDR port. It walks the list of
    /// memory regions (`host.ahci.region`) a sector or a burst at a time.
    Dma {
        "host.dma.entries" entries: u32 = COUNT.within(1.0, 8.0),
            assumed("4", "a read of 64 bytes brings four entries of 16"),
            "Entries of the list of memory regions (PRD table) that the DMA reads at once.",
            when "host.chipset" is "bridges";
        "host.dma.read_ahead" read_ahead: u32 = COUNT.within(0.0, 64.0),
            given("0", "ddrssd, 3.3: each piece of a write is fetched, sent and written before the next"),
            "Sectors of a write that the DMA asks memory for ahead of the one that is being sent.",
            when "host.chipset" is "bridges";
        "host.dma.buffer" buffer: u64 = SIZE.within(512.0, 1048576.0),
            assumed("4KiB", "some sectors, so that reads are posted: DMI is three times as fast as SATA"),
            "Data of a read that waits in the South Bridge for DMI; while it is full the SATA link stands still.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// The Direct Media Interface between North and South Bridge.
    Dmi {
        "host.dmi.bandwidth" bandwidth: u64 = RATE.least(1000.0),
            given("1GB/s", "Intel 965 Express Chipset Family data sheet (2006): 2 GB/s, half of it each way"),
            "Bytes a second each way.",
            when "host.chipset" is "bridges";
        "host.dmi.latency" latency: Time = TIME,
            assumed("150ns", "that of a PCI Express link, which DMI is in all but name"),
            "From one bridge to the other.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// The front-side bus, over which processors write the registers of a DMA.
    Fsb {
        "host.fsb.latency" latency: Time = TIME,
            assumed("100ns", "an uncached write on a bus of 266 MHz: arbitration, request, snoop, data"),
            "From a processor's write of a register to the North Bridge.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// Main memory, as the chipset's DMA sees it: a channel in order, with its refresh.
    Memory {
        "host.memory.bandwidth" bandwidth: u64 = RATE,
            given("6.4GB/s", "ddrssd, 5: DDR2-800, x64"),
            "Bytes a second of its data bus.",
            when "host.chipset" is "bridges";
        "host.memory.latency" latency: Time = TIME,
            assumed("60ns", "precharge, row and column of DDR2-800 at 12.5 ns each, and as much in the controller"),
            "From a first access to its first data.",
            when "host.chipset" is "bridges";
        "host.memory.refresh_interval" refresh_interval: Time = TIME,
            given("7.8us", "JESD79-2: tREFI up to 85 C"),
            "Time between refreshes; 0s: none.",
            when "host.chipset" is "bridges";
        "host.memory.refresh" refresh: Time = TIME,
            given("127.5ns", "JESD79-2: tRFC of 1 Gb"),
            "Time that a refresh takes.",
            when "host.chipset" is "bridges";
    }
}

section! {
    /// The AHCI host adapter, which fetches commands for the drive.
    Ahci {
        "host.ahci.register_write" register_write: Time = TIME,
            assumed("300ns", ADAPTER),
            "From the driver's write of a port register to the adapter's seeing it.",
            when "host.chipset" is "hidden";
        "host.ahci.command_fetch" command_fetch: Time = TIME,
            assumed("800ns", ADAPTER),
            "Reading a command's header and table from memory, one command after the other.",
            when "host.chipset" is "hidden";
        "host.ahci.region_fetch" region_fetch: Time = TIME,
            assumed("20ns", "entries of 16 bytes are read several at a time"),
            "Reading an entry of the list of memory regions.",
            when "host.chipset" is "hidden";
        "host.ahci.region" region: u64 = SIZE.within(512.0, 4194304.0),
            assumed("4KiB", "buffers are scattered over pages"),
            "Bytes of a memory region.",
            when "link.type" is "sata" | "ddr";
        "host.ahci.queued_trim" queued_trim: bool = BOOL,
            assumed("false", "Linux keeps queued trims off for many drives"),
            "Trims are queued with the other commands; else issued alone, as flushes are.",
            when "link.type" is "sata" | "ddr";
    }
}

section! {
    /// The UFS host controller, which fetches commands and moves data for the device.
    Ufshci {
        "host.ufshci.register_write" register_write: Time = TIME,
            assumed("150ns", SOC),
            "From the driver's write of the doorbell register to the controller's seeing it.",
            when "link.type" is "ufs";
        "host.ufshci.memory_latency" memory_latency: Time = TIME,
            assumed("200ns", SOC),
            "From a read's of memory leaving the controller to its data's coming, and of a write to its being visible.",
            when "link.type" is "ufs";
        "host.ufshci.dma" dma: u64 = RATE,
            assumed("1.6GB/s", "a 64-bit AXI bus at 200 MHz, with a channel each way"),
            "Bytes a second that the controller reads of memory, and as many that it writes at the same time.",
            when "link.type" is "ufs";
        "host.ufshci.region" region: u64 = SIZE.within(512.0, 262144.0),
            assumed("4KiB", "buffers are scattered over pages"),
            "Bytes of a memory region, an entry of the PRDT.",
            when "link.type" is "ufs";
        "host.ufshci.aggregation" aggregation: u32 = COUNT.within(1.0, 31.0),
            given("1", "Linux: off but where a controller's driver asks for it"),
            "Ends of commands that an interrupt waits for (UTRIACR); 1: none.",
            when "link.type" is "ufs";
        "host.ufshci.aggregation_time" aggregation_time: Time = TIME.within(0.0, 1.02e10),
            given("80us", "Linux: INT_AGGR_DEF_TO, twice 40 us"),
            "Longest time that it waits: units of the controller's, 40us by the standard.",
            when "link.type" is "ufs";
        "host.ufshci.invalidation" invalidation: Time = TIME,
            assumed("0us", "the caches see the controller's accesses"),
            "CPU time to maintain 512 KiB of caches that do not, done for each command before its transfer, and for reads after it.",
            when "link.type" is "ufs";
    }
}

words! {
    /// What moves data between memory and a shared buffer.
    Transfer {
        /// A DMA engine of the host's, from memory to memory.
        Dma = "dma",
        /// The processor.
        Copy = "copy",
    }
}

section! {
    /// The driver of a shared buffer, and what moves data between it and memory.
    Mover {
        "host.mover.transfer" transfer: Transfer = Kind::words(Transfer::WORDS),
            given("dma", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4"),
            "What moves data between a request's memory and the buffer.",
            when "link.type" is "shared-buffer";
        "host.mover.bandwidth" bandwidth: Option<u64> = RATE.or("unlimited"),
            given("450MB/s", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 6.2"),
            "Bytes a second that the DMA engine moves at most; unlimited: as many as the bus carries.",
            when "host.mover.transfer" is "dma";
        "host.mover.piece" piece: u64 = SIZE.within(4096.0, 1073741824.0),
            assumed("64KiB", "of powers of two the one with the least sum of invalidations and transfers' costs that a \
                request of 512 KiB waits for"),
            "Largest transfer by DMA; a longer one is several, so that the caches are maintained meanwhile.",
            when "host.mover.transfer" is "dma";
        "host.mover.setup" setup: Time = TIME,
            assumed("5us", ENGINE),
            "CPU time to set up and start a transfer by DMA.",
            when "host.mover.transfer" is "dma";
        "host.mover.descriptor" descriptor: Time = TIME,
            assumed("300ns", "some 32 bytes of program written uncached for the PL330 engine"),
            "CPU time for each further run of a transfer's that is not contiguous in the buffer.",
            when "host.mover.transfer" is "dma";
        "host.mover.delivery" delivery: Time = TIME,
            assumed("4us", ENGINE),
            "From a transfer's end to the first instruction of its interrupt's handler.",
            when "host.mover.transfer" is "dma";
        "host.mover.handler" handler: Time = TIME,
            assumed("5us", ENGINE),
            "CPU time of that handler.",
            when "host.mover.transfer" is "dma";
        "host.mover.invalidation" invalidation: Time = TIME,
            given("290us", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4"),
            "CPU time to invalidate 512 KiB of the caches, done for each transfer by DMA before it and after it.",
            when "host.mover.transfer" is "dma";
        "host.mover.word" word: u64 = SIZE.within(1.0, 32.0),
            given("1B", "Linux 3.4, arch/arm/kernel/io.c: memory that was mapped by ioremap is copied byte by byte"),
            "Bytes of an access to the buffer when the CPU copies.",
            when "host.mover.transfer" is "copy";
        "host.mover.uncached" uncached: Time = TIME,
            assumed("120ns", "from core to memory controller and back: about what a miss of the caches takes on such a \
                processor, the memory itself not counted"),
            "CPU time of an uncached access to the buffer, the bus not counted.",
            when "link.type" is "shared-buffer";
        "host.mover.extents" extents: u32 = COUNT.within(1.0, 6.0),
            given("1", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4: contiguous"),
            "Pieces of the data buffer that one command's data may lie in.",
            when "link.type" is "shared-buffer";
        "host.mover.shrink" shrink: Option<u64> = SIZE.within(512.0, 1073741824.0).or("never"),
            assumed("never", "smaller commands cost more than the wait for room"),
            "Least size of a smaller command that is issued where the buffer has no room for a whole one.",
            when "link.type" is "shared-buffer";
        "host.mover.traffic" traffic: u64 = RATE.least(0.0),
            given("0B/s", "nothing else runs while storage is measured"),
            "Bytes a second that other programs read and write in DRAM.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// What an interrupt costs.
    Interrupt {
        "host.interrupt.delivery" delivery: Time = TIME,
            assumed("800ns", POLL_PAPER),
            "From the interrupt's arrival at the host to the first instruction of its handler.",
            when "host.completion" is "interrupt";
        "host.interrupt.handler" handler: Time = TIME,
            assumed("1us", POLL_PAPER),
            "CPU time to enter and leave the handler, completions not counted.",
            when "host.completion" is "interrupt";
    }
}
