//! `[flash]`: chips, timing, programming rules and wear.

use sim::Time;

use keys::{
    AGE, BOOL, COUNT, ENERGY, FRACTION, Fallback, Kind, NUMBER, POWER, RATE, SIZE, TIME, TIMES, TRANSFERS, assumed,
    by_assumed, by_given, given, section, words,
};

/// One hour in picoseconds, far longer than any flash operation.
const HOUR: f64 = 3600e12;
const SLC_SHEET: &str = "Micron MT29F32G08ABAAA data sheet (32 Gb SLC, ONFI 2.2)";
const MLC_SHEET: &str = "Micron MT29F64G08CBAAA data sheet, Rev. G (L74A, 64 Gb MLC, ONFI 2.2)";
const TLC_RELEASE: &str = "Samsung, fifth-generation V-NAND (press release, July 2018)";
const QLC: &str = "about three times TLC: sixteen states are distinguished instead of eight";
const ONFI_COMMAND: &str = "command and address cycles of 25 ns, then tWB of 100 ns, as in ONFI chips";
const SURVEY: &str =
    "the order of magnitude measured on 3D TLC at about 3,000 cycles, as surveyed by Cai et al. (Proc. IEEE, 2017)";
const RBER: Kind = NUMBER.within(0.0, 0.5);
const EXPONENT: Kind = NUMBER.within(0.0, 10.0);
const ICC: &str = "25 mA at 3.3 V, within the range of ONFI data sheets for an active array";

words! {
    /// Bits per cell.
    Cell {
        /// One.
        Slc = "slc",
        /// Two.
        Mlc = "mlc",
        /// Three.
        Tlc = "tlc",
        /// Four.
        Qlc = "qlc",
    }
}

impl Cell {
    /// Returns the bits per cell, which is also the number of page types: page p of a block has type p modulo this.
    pub const fn bits(self) -> u32 {
        match self {
            Cell::Slc => 1,
            Cell::Mlc => 2,
            Cell::Tlc => 3,
            Cell::Qlc => 4,
        }
    }
}

words! {
    /// Order in which a die serves waiting operations.
    Scheduling {
        /// Host reads first, then map reads, then everything else in order.
        ReadsFirst = "reads-first",
        /// In order of arrival.
        Fifo = "fifo",
    }
}

words! {
    /// Order in which a block's pages may be programmed.
    Order {
        /// In ascending order.
        InOrder = "in-order",
        /// In any order (early SLC).
        Any = "any",
    }
}

words! {
    /// Condition under which a page already in the register is not sensed again.
    Reuse {
        /// Pages are always sensed.
        Never = "never",
        /// For reads that arrive while their die is busy.
        Queued = "queued",
        /// Until another operation uses the register.
        Held = "held",
    }
}

words! {
    /// Shape of the distribution of endurances.
    Spread {
        /// Normal.
        Normal = "normal",
        /// Log-normal with the same mean and deviation.
        LogNormal = "log-normal",
    }
}

words! {
    /// Model of bit errors.
    ErrorModel {
        /// No errors and no random draws.
        None = "none",
        /// Power laws of cycles, age and reads.
        PowerLaw = "power-law",
    }
}

section! {
    /// The flash chips.
    Flash {
        "flash.channels" channels: u32 = COUNT.within(1.0, 256.0),
            assumed("8", "client drives of 500 GB and more"),
            "Channels: buses from the controller to the chips.";
        "flash.chips" chips: u32 = COUNT.within(1.0, 256.0),
            assumed("2", "one package with several dies per channel, as on M.2 boards"),
            "Chips (ways, chip enables) per channel.";
        "flash.dies" dies: u32 = COUNT.within(1.0, 64.0),
            assumed("2", "one package with several dies per channel, as on M.2 boards"),
            "Dies (logical units) per chip.";
        "flash.planes" planes: u32 = COUNT.within(1.0, 16.0),
            assumed("2", "most dies have two or four"),
            "Planes per die.";
        "flash.blocks" blocks: u32 = COUNT.within(4.0, 16777216.0),
            assumed("912", "with the default page and block sizes, 32 GiB per die and two more blocks"),
            "Blocks per plane.";
        "flash.pages" pages: u32 = COUNT.within(1.0, 65536.0),
            assumed("1152", "96 layers of four strings with three bits"),
            "Pages per block.";
        "flash.page" page: u64 = SIZE.within(512.0, 65536.0),
            assumed("16KiB", "the page size of most 3D NAND"),
            "Data bytes per page, without its spare area.";
        "flash.cell" cell: Cell = Kind::words(Cell::WORDS),
            assumed("tlc", "most current drives"),
            "Bits per cell: slc, mlc (2), tlc (3), qlc (4); page p of a block has type p modulo the bits.";
        "flash.read" read: [Time; 4] = TIMES,
            Fallback::By("flash.cell", &[
                by_given("slc", "35us", SLC_SHEET),
                by_given("mlc", "75us", MLC_SHEET),
                by_given("tlc", "50us", TLC_RELEASE),
                by_assumed("qlc", "150us", QLC),
            ]),
            "Array time to read a page (tR): one value, or a list with one per page type; stored as one if all are \
             equal.";
        "flash.program" program: [Time; 4] = TIMES,
            Fallback::By("flash.cell", &[
                by_given("slc", "350us", SLC_SHEET),
                by_given("mlc", "1.3ms", MLC_SHEET),
                by_given("tlc", "500us", TLC_RELEASE),
                by_assumed("qlc", "1.5ms", QLC),
            ]),
            "Array time to program a page (tPROG): one value, or a list with one per page type; stored as one if all \
             are equal.";
        "flash.erase" erase: Time = TIME.within(1.0, HOUR),
            Fallback::By("flash.cell", &[
                by_given("slc", "1.5ms", SLC_SHEET),
                by_given("mlc", "3.8ms", MLC_SHEET),
                by_given("tlc", "3.5ms", "Cho et al., AERO (ASPLOS 2024): 3.5 ms and more for 3D NAND"),
                by_given("qlc", "3.5ms", "Cho et al., AERO (ASPLOS 2024): 3.5 ms and more for 3D NAND"),
            ]),
            "Array time to erase a block (tBERS).";
        "flash.slc_read" slc_read: Time = TIME.within(1.0, HOUR),
            assumed("30us", "a one-bit page needs one comparison"),
            "Array time to read a page of a block in SLC mode.";
        "flash.slc_program" slc_program: Time = TIME.within(1.0, HOUR),
            assumed("200us", "a one-bit page needs few programming pulses"),
            "Array time to program a page of a block in SLC mode.";
        "flash.slc_erase" slc_erase: Time = TIME.within(1.0, HOUR),
            assumed("3.5ms", "as long as in any other mode"),
            "Array time to erase a block in SLC mode.";
        "flash.rate" rate: u64 = TRANSFERS,
            given("1400MT/s", TLC_RELEASE),
            "Transfers per second on a channel, of eight bits each.";
        "flash.scheduling" scheduling: Scheduling = Kind::words(Scheduling::WORDS),
            assumed("reads-first", "common in controllers, for low read latency"),
            "Order in which a die serves waiting operations.";
        "flash.overtakes" overtakes: u32 = COUNT.within(1.0, 65535.0),
            assumed("32", "this delays a program by at most two to three milliseconds"),
            "Maximum number of reads that overtake a waiting or suspended program or erase, and of map reads that \
             overtake a waiting host read; prevents starvation.",
            when "flash.scheduling" is "reads-first";
        "flash.cache_read" cache_read: bool = BOOL,
            assumed("true", "ONFI's read cache commands, supported by all current chips"),
            "A plane reads its next page while the previous one is transferred over the channel.";
        "flash.cache_program" cache_program: bool = BOOL,
            assumed("true", "ONFI's program cache commands, supported by all current chips"),
            "A plane accepts its next page while it programs the previous one.";
        "flash.independent_reads" independent_reads: bool = BOOL,
            assumed("false", "many dies read one plane at a time, or all planes at the same address"),
            "Planes of a die read different pages at the same time (independent plane reads) while the die neither \
             programs nor erases.";
        "flash.concurrent_programs" concurrent_programs: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
            assumed("auto", "makers of drives rarely say how many dies program at once; half of them to all are plausible"),
            "Maximum number of programs under way at once on all dies, such as for want of power; others wait, while \
             their dies can read and erase. auto: any number.";
        "flash.reuse_page" reuse_page: Reuse = Kind::words(Reuse::WORDS),
            assumed("queued", "controllers combine waiting reads of a page; read data is kept in the controller's own \
                memory, if at all"),
            "When a read of the page in a plane's register skips sensing: never; queued, if it arrived while the die \
             was busy; held, until another operation uses the register.";
        "flash.commands_first" commands_first: bool = BOOL,
            assumed("true", "commands are short, and a die that waits for its command is idle"),
            "Commands that wait for a channel go before data transfers.";
        "flash.order" order: Order = Kind::words(Order::WORDS),
            given("in-order", "NAND data sheets: pages are programmed in order within a block"),
            "Order in which a block's pages may be programmed.";
        "flash.bad_blocks" bad_blocks: f64 = FRACTION.within(0.0, 0.5),
            assumed("0", "data sheets allow up to 2 %, which is rarely reached"),
            "Fraction of factory bad blocks.";
        "flash.age" age: u64 = AGE.within(0.0, 4294967295.0),
            assumed("0s", "data is only as old as the run"),
            "Age of the data in flash at the start of a run, for retention errors.";
        "flash.cycles" cycles: u32 = COUNT.within(0.0, 4294967295.0),
            assumed("0", "a drive starts new"),
            "Program and erase cycles of every block before the drive is prepared; they count for bit errors and \
             endurance.";

        /// Time of commands on a channel.
        table command: Command;
        /// Error correction.
        table ecc: Ecc;
        /// Erase cycles that a page or block endures.
        table endurance: Endurance;
        /// Bit errors.
        table errors: Errors;
        /// Operation failures.
        table failures: Failures;
        /// Power of a die.
        table power: Power;
        /// Suspension of operations for reads.
        table suspend: Suspend;
        /// Variation between dies, blocks and word lines.
        table variation: Variation;
    }
}

section! {
    /// Time of an operation's command and address on its channel.
    Command {
        "flash.command.read" read: Time = TIME,
            assumed("275ns", ONFI_COMMAND),
            "Read command and address, per plane: seven cycles.";
        "flash.command.program" program: Time = TIME,
            assumed("275ns", ONFI_COMMAND),
            "Program command and address, per plane: seven cycles.";
        "flash.command.erase" erase: Time = TIME,
            assumed("225ns", ONFI_COMMAND),
            "Erase command and address, per plane: five cycles.";
    }
}

section! {
    /// Error correction.
    Ecc {
        "flash.ecc.codeword" codeword: u64 = SIZE.within(256.0, 65536.0),
            assumed("1KiB", "data sheets state their requirements for this size"),
            "Data bytes per codeword; a page holds a whole number of codewords, and reads transfer whole ones.";
        "flash.ecc.correctable" correctable: u32 = COUNT.within(1.0, 65535.0),
            assumed("72", "capability of a BCH code of the TLC generation for 1 KiB"),
            "Maximum number of correctable bit errors per codeword.";
        "flash.ecc.decode" decode: Time = TIME.within(0.0, HOUR),
            assumed("0s", "decoding overlaps with the transfer"),
            "Time to decode a read after it has left its die.";
        "flash.ecc.retries" retries: u32 = COUNT.within(0.0, 200.0),
            assumed("7", "a short table of shifted read voltages"),
            "Further reads with shifted voltages before a page counts as uncorrectable.";
        "flash.ecc.retry_factor" retry_factor: f64 = FRACTION,
            assumed("0.5", "a shifted read voltage finds fewer errors"),
            "Factor by which each further read multiplies the bit error rate.";
        "flash.ecc.retry_floor" retry_floor: f64 = FRACTION,
            assumed("0.1", "cells whose states overlap are misread at any voltage"),
            "Fraction of the bit error rate that remains at every retry.";
        "flash.ecc.decoders" decoders: Option<u32> = COUNT.within(1.0, 256.0).or("unlimited"),
            given("2", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 4.1"),
            "Number of decoders, shared by all channels; unlimited for other link types.",
            when "link.type" is "shared-buffer";
        "flash.ecc.decode_bandwidth" decode_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("533MB/s", "16 bits per cycle of the cores' clock"),
            "Bytes per second of a decoder.",
            when "link.type" is "shared-buffer";
        "flash.ecc.encode_bandwidth" encode_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("533MB/s", "16 bits per cycle of the cores' clock"),
            "Bytes per second of the encoder shared by all channels; unlimited: each channel has its own.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Program and erase cycles that pages endure.
    Endurance {
        "flash.endurance.mean" mean: Option<u32> = COUNT.within(1.0, 4294967295.0).or("unlimited"),
            assumed("unlimited", "a run is short compared with a drive's life"),
            "Mean number of program and erase cycles that a page endures, drawn for each page.";
        "flash.endurance.deviation" deviation: f64 = FRACTION,
            assumed("0.1", "pages of a chip differ"),
            "Standard deviation of the endurance, as a fraction of the mean.";
        "flash.endurance.spread" spread: Spread = Kind::words(Spread::WORDS),
            assumed("normal", "the sum of many small causes"),
            "Shape of the endurance distribution.";
        "flash.endurance.slc_factor" slc_factor: f64 = NUMBER.within(0.001, 1000000.0),
            assumed("10", "SLC is rated for 30,000 to 100,000 cycles, TLC for 3,000"),
            "Endurance of a block in SLC mode, as a multiple of the endurance in its native mode.";
    }
}

section! {
    /// Raw bit error rate, with c = cycles / reference: base + wear x c^wear_exponent + retention x c x
    /// days^retention_exponent + disturb x c^disturb_exponent x reads of the block.
    ///
    /// The form is that of the measurements surveyed by Cai et al., Error characterization, mitigation, and recovery in
    /// flash-memory-based solid-state drives (Proc. IEEE 105, 2017).
    Errors {
        "flash.errors.model" model: ErrorModel = Kind::words(ErrorModel::WORDS),
            assumed("none", "no errors by default"),
            "Model of bit errors.";
        "flash.errors.base" base: f64 = RBER,
            assumed("0.00001", SURVEY),
            "Bit error rate of a newly written page on a new block.",
            when "flash.errors.model" is "power-law";
        "flash.errors.reference" reference: u32 = COUNT.within(1.0, 4294967295.0),
            assumed("3000", SURVEY),
            "Number of cycles for which wear, retention and disturb are specified.",
            when "flash.errors.model" is "power-law";
        "flash.errors.wear" wear: f64 = RBER,
            assumed("0.0002", SURVEY),
            "Bit error rate added by wear.",
            when "flash.errors.model" is "power-law";
        "flash.errors.wear_exponent" wear_exponent: f64 = EXPONENT,
            assumed("1.5", SURVEY),
            "Exponent of wear's growth with the cycles.",
            when "flash.errors.model" is "power-law";
        "flash.errors.retention" retention: f64 = RBER,
            assumed("0.0001", SURVEY),
            "Bit error rate added by the first day of the data's age.",
            when "flash.errors.model" is "power-law";
        "flash.errors.retention_exponent" retention_exponent: f64 = EXPONENT,
            assumed("0.6", SURVEY),
            "Exponent of retention's growth with the days.",
            when "flash.errors.model" is "power-law";
        "flash.errors.disturb" disturb: f64 = RBER,
            assumed("0.000000003", SURVEY),
            "Bit error rate added by each read of the block since its erase.",
            when "flash.errors.model" is "power-law";
        "flash.errors.disturb_exponent" disturb_exponent: f64 = EXPONENT,
            assumed("1.5", SURVEY),
            "Exponent of disturb's growth with the cycles.",
            when "flash.errors.model" is "power-law";
        "flash.errors.slc_factor" slc_factor: f64 = FRACTION,
            assumed("0.01", "two states far apart"),
            "Factor on the total bit error rate of a block in SLC mode.",
            when "flash.errors.model" is "power-law";
    }
}

section! {
    /// Failures independent of wear.
    Failures {
        "flash.failures.read" read: f64 = FRACTION,
            assumed("0", "rare: a run is short compared with a drive's life"),
            "Probability that a read is uncorrectable, after all retries.";
        "flash.failures.program" program: f64 = FRACTION,
            assumed("0", "rare: a run is short compared with a drive's life"),
            "Probability that a program fails.";
        "flash.failures.erase" erase: f64 = FRACTION,
            assumed("0", "rare: a run is short compared with a drive's life"),
            "Probability that an erase fails.";
        "flash.failures.die" die: Option<u32> = COUNT.within(0.0, 65535.0).or("none"),
            assumed("none", "rare: a run is short compared with a drive's life"),
            "A failed die, counted from 0: all its reads, programs and erases fail; none: all dies work.";
    }
}

section! {
    /// Power and energy.
    Power {
        "flash.power.read" read: u64 = POWER,
            assumed("82.5mW", ICC),
            "Power of a plane while it reads.";
        "flash.power.program" program: u64 = POWER,
            assumed("82.5mW", ICC),
            "Power of a plane while it programs.";
        "flash.power.erase" erase: u64 = POWER,
            assumed("82.5mW", ICC),
            "Power of a plane while it erases.";
        "flash.power.transfer" transfer: u64 = POWER,
            assumed("50mW", "the pads of a controller and of a die that drive the bus"),
            "Power of a channel and its active die while data is transferred.";
        "flash.power.transfer_energy" transfer_energy: u64 = ENERGY,
            assumed("0pJ", "included in the transfer power"),
            "Additional energy per transferred byte.";
        "flash.power.standby" standby: u64 = POWER,
            assumed("33uW", "10 uA at 3.3 V"),
            "Power of a die while its array is idle.";
    }
}

section! {
    /// Suspension of programs and erases for reads of the host or the map.
    Suspend {
        "flash.suspend.program" program: bool = BOOL,
            assumed("true", "supported by current chips"),
            "Suspend programs for reads.";
        "flash.suspend.erase" erase: bool = BOOL,
            assumed("true", "supported by current chips"),
            "Suspend erases for reads.";
        "flash.suspend.latency" latency: Time = TIME.within(1.0, HOUR),
            assumed("20us", "from the suspend command to a ready die: the rest of the current pulse"),
            "Time until the die is ready for the read; operations that would end sooner are not suspended.";
        "flash.suspend.resume" resume: Time = TIME.within(0.0, HOUR),
            assumed("10us", "the interrupted pulse is set up again"),
            "Time lost at each resumption.";
        "flash.suspend.max" max: u32 = COUNT.within(1.0, 65535.0),
            assumed("8", "reads must not starve a program forever"),
            "Maximum number of suspensions per operation.";
    }
}

section! {
    /// Variation between locations: 10% means from 10 % below to 10 % above nominal. Each location keeps its value.
    Variation {
        "flash.variation.dies" dies: f64 = FRACTION.within(0.0, 0.9),
            assumed("0", "unknown for most dies"),
            "Variation of array times between dies, drawn uniformly for each die.";
        "flash.variation.blocks" blocks: f64 = FRACTION.within(0.0, 0.9),
            assumed("0", "unknown for most dies"),
            "Variation of array times between blocks, drawn uniformly for each block; a multi-plane operation takes as \
             long as its slowest block.";
        "flash.variation.word_lines" word_lines: f64 = FRACTION.within(0.0, 0.9),
            assumed("0", "unknown for most dies"),
            "Variation of array times along a block, linear from its first (fastest) to its last (slowest) word line.";
        "flash.variation.bad_blocks" bad_blocks: f64 = FRACTION,
            assumed("0", "unknown for most dies"),
            "Variation of the fraction of bad blocks between dies, drawn uniformly for each die around \
             flash.bad_blocks.";
    }
}
