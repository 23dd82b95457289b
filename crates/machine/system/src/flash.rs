//! `[flash]`: the chips, their times, their rules and how they wear.

use sim::Time;

use super::key::{
    AGE, BOOL, COUNT, ENERGY, FRACTION, Fallback, Kind, NUMBER, POWER, RATE, SIZE, TIME, TIMES, TRANSFERS, assumed,
    by_assumed, by_given, given, section, words,
};

/// In picoseconds: far beyond any operation of flash.
const HOUR: f64 = 3600e12;
const SLC_SHEET: &str = "Micron MT29F32G08ABAAA data sheet (32 Gb SLC, ONFI 2.2)";
const MLC_SHEET: &str = "Micron MT29F64G08CBAAA data sheet, Rev. G (L74A, 64 Gb MLC, ONFI 2.2)";
const TLC_RELEASE: &str = "Samsung, fifth-generation V-NAND (press release, July 2018)";
const QLC: &str = "about three times TLC's: sixteen states are told apart instead of eight";
const ONFI_COMMAND: &str = "command and address cycles of 25 ns, then tWB of 100 ns, as ONFI chips have them";
const SURVEY: &str =
    "of the order measured on 3D TLC of about 3,000 cycles, as surveyed by Cai et al. (Proc. IEEE, 2017)";
const RBER: Kind = NUMBER.within(0.0, 0.5);
const EXPONENT: Kind = NUMBER.within(0.0, 10.0);
const ICC: &str = "25 mA at 3.3 V, in the range of what ONFI data sheets give for an active array";

words! {
    /// Bits a cell.
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
    /// Bits a cell, and page types: page p of a block is of type p modulo this.
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
    /// Which waiting operation a die does next.
    Scheduling {
        /// The host's reads, then those of the map, then the rest in order.
        ReadsFirst = "reads-first",
        /// In order.
        Fifo = "fifo",
    }
}

words! {
    /// Which page of a block may be programmed next.
    Order {
        /// The next one.
        InOrder = "in-order",
        /// Any (early SLC).
        Any = "any",
    }
}

words! {
    /// When a page that was read is not sensed again.
    Reuse {
        /// Always sensed.
        Never = "never",
        /// For reads that come while their die is at work.
        Queued = "queued",
        /// As long as nothing else has used the register.
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
    /// Whether there are bit errors.
    ErrorModel {
        /// None, and nothing is drawn.
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
            assumed("2", "one package of several dies a channel, as M.2 boards carry"),
            "Chips (ways, chip enables) a channel.";
        "flash.dies" dies: u32 = COUNT.within(1.0, 64.0),
            assumed("2", "one package of several dies a channel, as M.2 boards carry"),
            "Dies (logical units) a chip.";
        "flash.planes" planes: u32 = COUNT.within(1.0, 16.0),
            assumed("2", "most dies have two or four"),
            "Planes a die.";
        "flash.blocks" blocks: u32 = COUNT.within(4.0, 16777216.0),
            assumed("912", "with the defaults of pages and page 32 GiB a die, and two blocks"),
            "Blocks a plane.";
        "flash.pages" pages: u32 = COUNT.within(1.0, 65536.0),
            assumed("1152", "96 layers of four strings of three bits"),
            "Pages a block.";
        "flash.page" page: u64 = SIZE.within(512.0, 65536.0),
            assumed("16KiB", "the page of most 3D NAND"),
            "Data bytes of a page, without its spare area.";
        "flash.cell" cell: Cell = Kind::words(Cell::WORDS),
            assumed("tlc", "most drives of today"),
            "Bits a cell: slc, mlc (2), tlc (3), qlc (4); page p of a block is of type p modulo the bits.";
        "flash.read" read: Vec<Time> = TIMES,
            Fallback::By("flash.cell", &[
                by_given("slc", "35us", SLC_SHEET),
                by_given("mlc", "75us", MLC_SHEET),
                by_given("tlc", "50us", TLC_RELEASE),
                by_assumed("qlc", "150us", QLC),
            ]),
            "Array time to read a page (tR): one, or a list of one a page type; kept as one if all are alike.";
        "flash.program" program: Vec<Time> = TIMES,
            Fallback::By("flash.cell", &[
                by_given("slc", "350us", SLC_SHEET),
                by_given("mlc", "1.3ms", MLC_SHEET),
                by_given("tlc", "500us", TLC_RELEASE),
                by_assumed("qlc", "1.5ms", QLC),
            ]),
            "Array time to program a page (tPROG): one, or a list of one a page type; kept as one if all are alike.";
        "flash.erase" erase: Time = TIME.within(1.0, HOUR),
            Fallback::By("flash.cell", &[
                by_given("slc", "1.5ms", SLC_SHEET),
                by_given("mlc", "3.8ms", MLC_SHEET),
                by_given("tlc", "3.5ms", "Cho et al., AERO (ASPLOS 2024): 3.5 ms and more for 3D NAND"),
                by_given("qlc", "3.5ms", "Cho et al., AERO (ASPLOS 2024): 3.5 ms and more for 3D NAND"),
            ]),
            "Array time to erase a block (tBERS).";
        "flash.slc_read" slc_read: Time = TIME.within(1.0, HOUR),
            assumed("30us", "a page of one bit needs one comparison"),
            "Array time to read a page of a block that holds one bit a cell.";
        "flash.slc_program" slc_program: Time = TIME.within(1.0, HOUR),
            assumed("200us", "a page of one bit needs few programming pulses"),
            "Array time to program a page of a block that holds one bit a cell.";
        "flash.slc_erase" slc_erase: Time = TIME.within(1.0, HOUR),
            assumed("3.5ms", "as long as in any other mode"),
            "Array time to erase a block that holds one bit a cell.";
        "flash.rate" rate: u64 = TRANSFERS,
            given("1400MT/s", TLC_RELEASE),
            "Transfers a second on a channel, of eight bits each.";
        "flash.scheduling" scheduling: Scheduling = Kind::words(Scheduling::WORDS),
            assumed("reads-first", "what controllers do for their read latency"),
            "Which waiting operation a die does next.";
        "flash.overtakes" overtakes: u32 = COUNT.within(1.0, 65535.0),
            assumed("32", "they delay a program by two to three milliseconds at most"),
            "Reads that go ahead of a waiting or suspended program or erase, and reads of the map ahead of a waiting one of the host, at most: so none starves.",
            when "flash.scheduling" is "reads-first";
        "flash.cache_read" cache_read: bool = BOOL,
            assumed("true", "ONFI's read cache commands; all chips of today have them"),
            "A plane reads its next page while the last one leaves by the channel.";
        "flash.cache_program" cache_program: bool = BOOL,
            assumed("true", "ONFI's program cache commands; all chips of today have them"),
            "A plane takes its next page while it programs the last one.";
        "flash.independent_reads" independent_reads: bool = BOOL,
            assumed("false", "many dies read one plane at a time, or all planes at the same address"),
            "Planes of a die read different pages at the same time (independent plane reads) while the die neither programs nor erases.";
        "flash.reuse_page" reuse_page: Reuse = Kind::words(Reuse::WORDS),
            assumed("queued", "controllers combine waiting reads of one page; read data is kept in their own memory, if at all"),
            "Whether a read of the page in a plane's register skips sensing: never; queued, if it arrived while the die was busy; held, until another operation uses the register.";
        "flash.commands_first" commands_first: bool = BOOL,
            assumed("true", "they are short, and a die that waits for its command idles"),
            "Commands that wait for a channel go before data that do.";
        "flash.order" order: Order = Kind::words(Order::WORDS),
            given("in-order", "NAND data sheets: pages are programmed in order within a block"),
            "Which page of a block may be programmed next.";
        "flash.bad_blocks" bad_blocks: f64 = FRACTION.within(0.0, 0.5),
            assumed("0", "what a data sheet allows, 2 % at most, is rarely there"),
            "Part of the blocks that is bad from the factory.";
        "flash.age" age: u64 = AGE.within(0.0, 4294967295.0),
            assumed("0s", "data is as old as the run"),
            "Age of the data that is in flash when a run starts; counts for retention errors.";
        "flash.cycles" cycles: u32 = COUNT.within(0.0, 4294967295.0),
            assumed("0", "a drive begins new"),
            "Program and erase cycles of every block before the drive is prepared; bit errors and endurance count them.";

        /// Time that commands take on a channel.
        table command: Command;
        /// Error correction.
        table ecc: Ecc;
        /// How often a page or block can be erased.
        table endurance: Endurance;
        /// Bit errors.
        table errors: Errors;
        /// Operations that fail.
        table failures: Failures;
        /// Power of a die.
        table power: Power;
        /// Operations interrupted for a read.
        table suspend: Suspend;
        /// Variation between dies, blocks and word lines.
        table variation: Variation;
    }
}

section! {
    /// Time that an operation's command and address take on its channel.
    Command {
        "flash.command.read" read: Time = TIME,
            assumed("275ns", ONFI_COMMAND),
            "Of a read, a plane: seven cycles.";
        "flash.command.program" program: Time = TIME,
            assumed("275ns", ONFI_COMMAND),
            "Of a program, a plane: seven cycles.";
        "flash.command.erase" erase: Time = TIME,
            assumed("225ns", ONFI_COMMAND),
            "Of an erase, a plane: five cycles.";
    }
}

section! {
    /// Error correction.
    Ecc {
        "flash.ecc.codeword" codeword: u64 = SIZE.within(256.0, 65536.0),
            assumed("1KiB", "as data sheets state what they require"),
            "Data bytes of a codeword; a page holds a whole number of them, and reads move whole ones.";
        "flash.ecc.correctable" correctable: u32 = COUNT.within(1.0, 65535.0),
            assumed("72", "as a BCH code of the TLC generation corrects in 1 KiB"),
            "Wrong bits of a codeword that can be corrected.";
        "flash.ecc.decode" decode: Time = TIME.within(0.0, HOUR),
            assumed("0s", "decoding runs along with the transfer"),
            "Time to decode a read after it has left its die.";
        "flash.ecc.retries" retries: u32 = COUNT.within(0.0, 200.0),
            assumed("7", "a short table of shifted read voltages"),
            "Further reads with shifted voltages before a page is given up.";
        "flash.ecc.retry_factor" retry_factor: f64 = FRACTION,
            assumed("0.5", "a shifted read voltage finds fewer errors"),
            "What each further read leaves of the bit error rate.";
        "flash.ecc.retry_floor" retry_floor: f64 = FRACTION,
            assumed("0.1", "cells whose states overlap are misread at any voltage"),
            "Fraction of the bit error rate that remains at every retry.";
        "flash.ecc.decoders" decoders: Option<u32> = COUNT.within(1.0, 256.0).or("unlimited"),
            given("2", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 4.1"),
            "Decoders, shared by all channels; elsewhere there are as many as are wanted.",
            when "link.type" is "shared-buffer";
        "flash.ecc.decode_bandwidth" decode_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("533MB/s", "16 bits a cycle of the cores' clock"),
            "Bytes a second of a decoder.",
            when "link.type" is "shared-buffer";
        "flash.ecc.encode_bandwidth" encode_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("533MB/s", "16 bits a cycle of the cores' clock"),
            "Bytes a second of the one encoder that all channels share; unlimited: each channel has its own.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// How often pages can be programmed and erased.
    Endurance {
        "flash.endurance.mean" mean: Option<u32> = COUNT.within(1.0, 4294967295.0).or("unlimited"),
            assumed("unlimited", "a run is short against a drive's life"),
            "Program and erase cycles that a page stands on average, drawn for each page.";
        "flash.endurance.deviation" deviation: f64 = FRACTION,
            assumed("0.1", "pages of a chip differ"),
            "Standard deviation of it, as a part of the mean.";
        "flash.endurance.spread" spread: Spread = Kind::words(Spread::WORDS),
            assumed("normal", "the sum of many small causes"),
            "Shape of its distribution.";
        "flash.endurance.slc_factor" slc_factor: f64 = NUMBER.within(0.001, 1000000.0),
            assumed("10", "SLC is rated for 30,000 to 100,000 cycles where TLC is for 3,000"),
            "Endurance of a block used as one bit a cell, as a multiple of the endurance in its own mode.";
    }
}

section! {
    /// Raw bit error rate, with c = cycles / reference: base + wear x c^wear_exponent
    /// + retention x c x days^retention_exponent + disturb x c^disturb_exponent x reads of the block.
    ///
    /// The form is that of the measurements surveyed by Cai et al., Error characterization, mitigation, and recovery in
    /// flash-memory-based solid-state drives (Proc. IEEE 105, 2017).
    Errors {
        "flash.errors.model" model: ErrorModel = Kind::words(ErrorModel::WORDS),
            assumed("none", "no errors unless somebody asks for them"),
            "Whether reads find bit errors, and by which law.";
        "flash.errors.base" base: f64 = RBER,
            assumed("0.00001", SURVEY),
            "Bit error rate of a fresh page just written.",
            when "flash.errors.model" is "power-law";
        "flash.errors.reference" reference: u32 = COUNT.within(1.0, 4294967295.0),
            assumed("3000", SURVEY),
            "Cycles for which wear, retention and disturb are given.",
            when "flash.errors.model" is "power-law";
        "flash.errors.wear" wear: f64 = RBER,
            assumed("0.0002", SURVEY),
            "Rate added by wear.",
            when "flash.errors.model" is "power-law";
        "flash.errors.wear_exponent" wear_exponent: f64 = EXPONENT,
            assumed("1.5", SURVEY),
            "Its growth with the cycles.",
            when "flash.errors.model" is "power-law";
        "flash.errors.retention" retention: f64 = RBER,
            assumed("0.0001", SURVEY),
            "Rate added by the first day of the data's age.",
            when "flash.errors.model" is "power-law";
        "flash.errors.retention_exponent" retention_exponent: f64 = EXPONENT,
            assumed("0.6", SURVEY),
            "Its growth with the days.",
            when "flash.errors.model" is "power-law";
        "flash.errors.disturb" disturb: f64 = RBER,
            assumed("0.000000003", SURVEY),
            "Rate added by each read of the block since its erase.",
            when "flash.errors.model" is "power-law";
        "flash.errors.disturb_exponent" disturb_exponent: f64 = EXPONENT,
            assumed("1.5", SURVEY),
            "Its growth with the cycles.",
            when "flash.errors.model" is "power-law";
        "flash.errors.slc_factor" slc_factor: f64 = FRACTION,
            assumed("0.01", "two states far apart"),
            "Factor on all of it for a block that holds one bit a cell.",
            when "flash.errors.model" is "power-law";
    }
}

section! {
    /// Operations that fail whatever the wear.
    Failures {
        "flash.failures.read" read: f64 = FRACTION,
            assumed("0", "rare: a run is short against a drive's life"),
            "Probability that a read cannot be corrected, after all retries.";
        "flash.failures.program" program: f64 = FRACTION,
            assumed("0", "rare: a run is short against a drive's life"),
            "Probability that a program fails.";
        "flash.failures.erase" erase: f64 = FRACTION,
            assumed("0", "rare: a run is short against a drive's life"),
            "Probability that an erase fails.";
        "flash.failures.die" die: Option<u32> = COUNT.within(0.0, 65535.0).or("none"),
            assumed("none", "rare: a run is short against a drive's life"),
            "A die of which every read, program and erase fails, counted from 0; none: all dies work.";
    }
}

section! {
    /// Power and energy.
    Power {
        "flash.power.read" read: u64 = POWER,
            assumed("82.5mW", ICC),
            "Of a plane while it reads.";
        "flash.power.program" program: u64 = POWER,
            assumed("82.5mW", ICC),
            "Of a plane while it programs.";
        "flash.power.erase" erase: u64 = POWER,
            assumed("82.5mW", ICC),
            "Of a plane while it erases.";
        "flash.power.transfer" transfer: u64 = POWER,
            assumed("50mW", "the pads of a controller and of a die that drive the bus"),
            "Of a channel and the die on it while data is transferred.";
        "flash.power.transfer_energy" transfer_energy: u64 = ENERGY,
            assumed("0pJ", "in the power while data is transferred"),
            "In addition, of each byte transferred.";
        "flash.power.standby" standby: u64 = POWER,
            assumed("33uW", "10 uA at 3.3 V"),
            "Of a die whose array is idle.";
    }
}

section! {
    /// Programs and erases that give way to a read of the host or of the map.
    Suspend {
        "flash.suspend.program" program: bool = BOOL,
            assumed("true", "chips of today can"),
            "A program gives way to a read.";
        "flash.suspend.erase" erase: bool = BOOL,
            assumed("true", "chips of today can"),
            "An erase gives way to a read.";
        "flash.suspend.latency" latency: Time = TIME.within(1.0, HOUR),
            assumed("20us", "from the suspend command to a ready die: the end of the pulse under way"),
            "Time until the die is ready for the read; what would end sooner is not suspended.";
        "flash.suspend.resume" resume: Time = TIME.within(0.0, HOUR),
            assumed("10us", "the pulse that was cut is set up again"),
            "Time lost at each resumption.";
        "flash.suspend.max" max: u32 = COUNT.within(1.0, 65535.0),
            assumed("8", "reads must not starve a program for ever"),
            "Suspensions that one operation suffers at most.";
    }
}

section! {
    /// Variation between locations: 10% means from 10 % below to 10 % above nominal. A location keeps its value.
    Variation {
        "flash.variation.dies" dies: f64 = FRACTION.within(0.0, 0.9),
            assumed("0", "not known of most dies"),
            "Variation of array times between dies, drawn uniformly for each die.";
        "flash.variation.blocks" blocks: f64 = FRACTION.within(0.0, 0.9),
            assumed("0", "not known of most dies"),
            "Variation of array times between blocks, drawn uniformly for each block; a multi-plane operation takes as long as its slowest block.";
        "flash.variation.word_lines" word_lines: f64 = FRACTION.within(0.0, 0.9),
            assumed("0", "not known of most dies"),
            "Variation of array times along a block, linear from its first (fastest) to its last (slowest) word line.";
        "flash.variation.bad_blocks" bad_blocks: f64 = FRACTION,
            assumed("0", "not known of most dies"),
            "Variation of the share of bad blocks between dies, drawn uniformly for each die around flash.bad_blocks.";
    }
}
