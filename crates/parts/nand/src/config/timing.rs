//! Times of the array, the commands and the bus.

use keys::{COUNT, Fallback, Kind, TIME, TIMES, TRANSFERS, assumed, by_assumed, by_given, given, section, words};
use sim::Time;

use super::cell::Cell;

/// One hour in picoseconds, far longer than any flash operation.
pub(super) const HOUR: f64 = 3600e12;
const SLC_SHEET: &str = "Micron MT29F32G08ABAAA data sheet (32 Gb SLC, ONFI 2.2)";
const MLC_SHEET: &str = "Micron MT29F64G08CBAAA data sheet, Rev. G (L74A, 64 Gb MLC, ONFI 2.2)";
const TLC_RELEASE: &str = "Samsung, fifth-generation V-NAND (press release, July 2018)";
const QLC: &str = "about three times TLC: sixteen states are distinguished instead of eight";
const PLC: &str =
    "about twice QLC: thirty-two states are distinguished instead of sixteen; no maker has published times";
const ONFI_COMMAND: &str = "command and address cycles of 25 ns, then tWB of 100 ns, as in ONFI chips";

words! {
    /// Passes in which pages are programmed.
    Programming {
        /// One.
        OnePass = "one-pass",
        /// Two, each with the data.
        TwoPass = "two-pass",
    }
}

impl Programming {
    /// Returns the number of passes.
    pub const fn passes(self) -> u32 {
        match self {
            Programming::OnePass => 1,
            Programming::TwoPass => 2,
        }
    }
}

section! {
    /// Times of the array, the commands and the bus.
    #[derive(Copy, Eq)]
    Timing {
        "flash.read" read: [Time; Cell::BITS_MAX] = TIMES,
            Fallback::By("flash.cell", &[
                by_given("slc", "35us", SLC_SHEET),
                by_given("mlc", "75us", MLC_SHEET),
                by_given("tlc", "50us", TLC_RELEASE),
                by_assumed("qlc", "150us", QLC),
                by_assumed("plc", "300us", PLC),
            ]),
            "Array time to read a page (tR): one value, or a list with one per page type; stored as one if all are \
             equal.";
        "flash.program" program: [Time; Cell::BITS_MAX] = TIMES,
            Fallback::By("flash.cell", &[
                by_given("slc", "350us", SLC_SHEET),
                by_given("mlc", "1.3ms", MLC_SHEET),
                by_given("tlc", "500us", TLC_RELEASE),
                by_assumed("qlc", "1.5ms", QLC),
                by_assumed("plc", "3ms", PLC),
            ]),
            "Array time to program a page (tPROG): one value, or a list with one per page type; stored as one if all \
             are equal.";
        "flash.programming" programming: Programming = Kind::words(Programming::WORDS),
            assumed("one-pass", "all pages of a word line are programmed at once, as in TLC; QLC dies of two passes state it"),
            "Passes in which pages are programmed. two-pass: coarsely, and finely once the neighbors are programmed coarsely; \
             each pass takes the data over the channel again, and flash.program is the time of both together.";
        "flash.pass_distance" pass_distance: u32 = COUNT.within(1.0, 65536.0),
            assumed("16", "the next word line of four strings of four bits is programmed coarsely in between; 4 to 32 are plausible"),
            "Pages of a block that are programmed between the two passes of a page; device.dram holds their data until then.",
            when "flash.programming" is "two-pass";
        "flash.erase" erase: Time = TIME.within(1.0, HOUR),
            Fallback::By("flash.cell", &[
                by_given("slc", "1.5ms", SLC_SHEET),
                by_given("mlc", "3.8ms", MLC_SHEET),
                by_given("tlc", "3.5ms", "Cho et al., AERO (ASPLOS 2024): 3.5 ms and more for 3D NAND"),
                by_given("qlc", "3.5ms", "Cho et al., AERO (ASPLOS 2024): 3.5 ms and more for 3D NAND"),
                by_assumed("plc", "3.5ms", "as in other 3D NAND: an erase does not distinguish states"),
            ]),
            "Array time to erase a block (tBERS).";
        "flash.block_parts" block_parts: u32 = COUNT.within(1.0, 65536.0),
            assumed("1", "a drive of full size"),
            "Blocks that stand for one of the whole drive, in a copy at a smaller scale: one erase of a die in so many \
             takes time.";
        "flash.slc_read" slc_read: Time = TIME.within(1.0, HOUR),
            assumed("30us", "a one-bit page needs one comparison"),
            "Array time to read a page of a block in SLC mode.";
        "flash.slc_program" slc_program: Time = TIME.within(1.0, HOUR),
            assumed("200us", "a one-bit page needs few programming pulses"),
            "Array time to program a page of a block in SLC mode.";
        "flash.slc_erase" slc_erase: Time = TIME.within(1.0, HOUR),
            assumed("3.5ms", "as long as in any other mode"),
            "Array time to erase a block in SLC mode.";
        "flash.rate" transfers_per_s: u64 = TRANSFERS,
            given("1400MT/s", TLC_RELEASE),
            "Transfers per second on a channel, of eight bits each.";
        "flash.command.read" read_command: Time = TIME,
            assumed("275ns", ONFI_COMMAND),
            "Read command and address, per plane: seven cycles.";
        "flash.command.program" program_command: Time = TIME,
            assumed("275ns", ONFI_COMMAND),
            "Program command and address, per plane: seven cycles.";
        "flash.command.erase" erase_command: Time = TIME,
            assumed("225ns", ONFI_COMMAND),
            "Erase command and address, per plane: five cycles.";
    }
}
