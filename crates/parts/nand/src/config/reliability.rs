//! Wear, failures, bit errors and their correction.

use keys::{COUNT, Conflict, FRACTION, Kind, NUMBER, RATE, SIZE, TIME, assumed, expect, given, section, words};
use sim::Time;

use super::timing::HOUR;

const SURVEY: &str =
    "the order of magnitude measured on 3D TLC at about 3,000 cycles, as surveyed by Cai et al. (Proc. IEEE, 2017)";
const RBER: Kind = NUMBER.within(0.0, 0.5);
const EXPONENT: Kind = NUMBER.within(0.0, 10.0);

words! {
    /// Shape of the distribution of endurances.
    Spread {
        /// Normal; a draw below one cycle counts as one.
        Normal = "normal",
        /// Log-normal with the same mean and deviation.
        LogNormal = "log-normal",
    }
}

section! {
    /// Program and erase cycles that a page endures before its programs fail; the failure of a block's erases is drawn
    /// separately.
    #[derive(Copy)]
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

impl Endurance {
    /// Flash that never wears out.
    pub const UNLIMITED: Endurance = Endurance { mean: None, deviation: 0.0, spread: Spread::Normal, slc_factor: 1.0 };

    /// Returns mean and standard deviation in cycles; `None` for flash that never wears out.
    pub fn moments(&self) -> Option<(f64, f64)> {
        self.mean.map(f64::from).map(|mean| (mean, self.deviation * mean))
    }
}

section! {
    /// Wear, and failures independent of it.
    #[derive(Copy)]
    Wear {
        "flash.bad_blocks" factory_bad: f64 = FRACTION.within(0.0, 0.5),
            assumed("0", "data sheets allow up to 2 %, which is rarely reached"),
            "Fraction of factory bad blocks.";
        "flash.failures.program" program_failure: f64 = FRACTION,
            assumed("0", "rare: a run is short compared with a drive's life"),
            "Probability that a program fails.";
        "flash.failures.erase" erase_failure: f64 = FRACTION,
            assumed("0", "rare: a run is short compared with a drive's life"),
            "Probability that an erase fails.";

        /// Cycles that pages endure.
        table endurance: Endurance;
    }
}

impl Default for Wear {
    /// The defaults of the keys.
    fn default() -> Wear {
        keys::defaults::<Wear, _>(&[])
    }
}

words! {
    /// Model of bit errors.
    ErrorLaw {
        /// No errors and no random draws.
        None = "none",
        /// Power laws of cycles, age and reads.
        PowerLaw = "power-law",
    }
}

section! {
    /// Raw bit error rate, with c = cycles / reference: base + wear x c^wear_exponent + retention x c x
    /// days^retention_exponent + disturb x c^disturb_exponent x reads of the block.
    ///
    /// The form is that of the measurements surveyed by Cai et al., Error characterization, mitigation, and recovery in
    /// flash-memory-based solid-state drives (Proc. IEEE 105, 2017).
    #[derive(Copy)]
    Errors {
        "flash.errors.model" law: ErrorLaw = Kind::words(ErrorLaw::WORDS),
            assumed("none", "no errors by default"),
            "Model of bit errors.";
        "flash.errors.base" base: f64 = RBER,
            assumed("0.00001", SURVEY),
            "Bit error rate of a newly written page on a new block.",
            when "flash.errors.model" is "power-law";
        "flash.errors.reference" reference_cycles: f64 = COUNT.within(1.0, 4294967295.0),
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

impl Errors {
    /// Returns the model, unless there are no errors.
    pub fn modeled(self) -> Option<Errors> {
        (self.law != ErrorLaw::None).then_some(self)
    }
}

section! {
    /// The error correction of the controller. Without a model of bit errors only its decode time matters.
    #[derive(Copy)]
    Ecc {
        "flash.ecc.codeword" codeword_bytes: u32 = SIZE.within(256.0, 65536.0),
            assumed("1KiB", "data sheets state their requirements for this size"),
            "Data bytes per codeword; a page holds a whole number of codewords, and reads transfer whole ones.";
        "flash.ecc.correctable" correctable_bits: u32 = COUNT.within(1.0, 65535.0),
            assumed("72", "capability of a BCH code of the TLC generation for 1 KiB"),
            "Maximum number of correctable bit errors per codeword.";
        "flash.ecc.decode" decode: Time = TIME.within(0.0, HOUR),
            assumed("0s", "decoding overlaps with the transfer"),
            "Time to decode a read after it has left its die.";
        "flash.ecc.retries" retries_max: u8 = COUNT.within(0.0, 200.0),
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

        check code;
    }
}

impl Default for Ecc {
    /// The defaults of the keys, with decoders and encoders for each channel, as on all links but a shared buffer.
    fn default() -> Ecc {
        let shared = keys::defaults::<Ecc, Ecc>(&[]);
        Ecc { decoders: None, decode_bandwidth: None, encode_bandwidth: None, ..shared }
    }
}

impl Ecc {
    fn code(&self) -> Result<(), Conflict> {
        let bits = u64::from(self.codeword_bytes) * 8;
        let keys = ["flash.ecc.correctable", "flash.ecc.codeword"];
        let fewer = format!("fewer than the {bits} bits of flash.ecc.codeword");
        expect(u64::from(self.correctable_bits) < bits, &keys, fewer)
    }
}

section! {
    /// Operations that fail whatever the wear of their pages.
    #[derive(Copy)]
    Faults {
        "flash.failures.read" read: f64 = FRACTION,
            assumed("0", "rare: a run is short compared with a drive's life"),
            "Probability that a read is uncorrectable, after all retries.";
        "flash.failures.die" die: Option<u16> = COUNT.within(0.0, 65535.0).or("none"),
            assumed("none", "rare: a run is short compared with a drive's life"),
            "A failed die, counted from 0: all its reads, programs and erases fail; none: all dies work.";
    }
}

impl Default for Faults {
    /// The defaults of the keys.
    fn default() -> Faults {
        keys::defaults::<Faults, _>(&[])
    }
}

section! {
    /// Variation between locations: 10% means from 10 % below to 10 % above nominal. The value of a location follows from its
    /// address and the seed, and never changes.
    #[derive(Copy)]
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

impl Default for Variation {
    /// The defaults of the keys.
    fn default() -> Variation {
        keys::defaults::<Variation, _>(&[])
    }
}
