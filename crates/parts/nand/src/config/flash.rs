//! `[flash]`: dimensions and kind of the chips.

use keys::{AGE, COUNT, Kind, SIZE, assumed, given, section, words};

use super::cell::Cell;
use super::power::Power;
use super::reliability::{Ecc, Errors, Faults, Variation, Wear};
use super::scheduling::Scheduling;
use super::timing::Timing;

words! {
    /// Order in which a block's pages may be programmed.
    Order {
        /// Ascending without gaps, as all multi-bit and all of today's NAND requires.
        InOrder = "in-order",
        /// Any order, as the earliest single-level cells allowed.
        Any = "any",
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
            "Bits per cell: slc, mlc (2), tlc (3), qlc (4), plc (5); page p of a block has type p modulo the bits.";
        "flash.order" order: Order = Kind::words(Order::WORDS),
            given("in-order", "NAND data sheets: pages are programmed in order within a block"),
            "Order in which a block's pages may be programmed.";
        "flash.age" age_s: u32 = AGE.within(0.0, 4294967295.0),
            assumed("0s", "data is only as old as the run"),
            "Age of the data in flash at the start of a run, for retention errors.";
        "flash.cycles" cycles: u32 = COUNT.within(0.0, 4294967295.0),
            assumed("0", "a drive starts new"),
            "Program and erase cycles of every block before the drive is prepared; they count for bit errors and \
             endurance.";

        /// Times of the array, the commands and the bus.
        table timing: Timing;
        /// Sharing of dies and channels among operations.
        table scheduling: Scheduling;
        /// Error correction.
        table ecc: Ecc;
        /// Wear and failures.
        table wear: Wear;
        /// Bit errors.
        table errors: Errors;
        /// Failing reads and dies.
        table faults: Faults;
        /// Power and energy.
        table power: Power;
        /// Variation between dies, blocks and word lines.
        table variation: Variation;
    }
}
