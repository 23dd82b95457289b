//! Demand paging from a OneNAND: the tables `[host.paging]`, `[host.sram]` and `[device.onenand]`.

use pager::policy::{Name, Promotion, Reading, Test, Window};
use sim::Time;

use super::key::{BOOL, COUNT, Kind, POWER, SIZE, TIME, given, section, words};

const SRAM: &str = "xip: Table 3, a line of 16 bytes from SRAM in 40 ns at 100 MHz";
const FIGURE_5: &str = "xip: Figure 5 line by line; the text leaves it open";

words! {
    /// Which page is where.
    Paging {
        /// Least recently used.
        Lru = "lru",
        /// First in, first out.
        Fifo = "fifo",
        /// Second chance.
        Clock = "clock",
        /// 2Q.
        TwoQ = "2q",
        /// ARC.
        Arc = "arc",
        /// S3-FIFO.
        S3Fifo = "s3-fifo",
        /// PM-XIP: pages requested often lately are moved, others are executed in place.
        PmXip = "pm-xip",
        /// Rent or buy, this project's.
        RentOrBuy = "rent-or-buy",
    }
}

words! {
    /// Whether PM-XIP's window holds the request that is being served.
    History {
        /// It does not.
        Before = "before",
        /// It does.
        With = "with",
    }
}

words! {
    /// When PM-XIP tests the pages in the buffers at a fault.
    Tested {
        /// After the victim was discarded and the page loaded.
        After = "after",
        /// Before, so that the would-be victim has its chance.
        First = "first",
    }
}

words! {
    /// When PM-XIP may move a page from a buffer into SRAM.
    Promoted {
        /// At a fault.
        Fault = "fault",
        /// Also when it is requested in its buffer.
        Hit = "hit",
    }
}

section! {
    /// Demand paging: who asks for pages, and which page is where.
    DemandPaging {
        "host.paging.policy" policy: Paging = Kind::words(Paging::WORDS),
            given("pm-xip", "xip: 4"),
            "Which page is in SRAM, which in a buffer.",
            when "link.type" is "onenand";
        "host.paging.window" window: u32 = COUNT.within(1.0, 1048576.0),
            given("8", "xip: 5.2, the best with 4 KB of SRAM"),
            "Requests of PM-XIP's page history window.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.threshold" threshold: u32 = COUNT.within(0.0, 1048576.0),
            given("4", "xip: 5.2, the best with 4 KB of SRAM"),
            "Occurrences in the window that a page exceeds to be moved into SRAM.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.history" history: History = Kind::words(History::WORDS),
            given("before", FIGURE_5),
            "Whether the window, when the threshold is tested, holds the current request.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.test" test: Tested = Kind::words(Tested::WORDS),
            given("after", FIGURE_5),
            "Whether pages are tested after a victim left its buffer, or first.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.promotion" promotion: Promoted = Kind::words(Promoted::WORDS),
            given("fault", FIGURE_5),
            "Whether a page is moved at a fault only, or also when it is hit in its buffer.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.line" line: u64 = SIZE.within(1.0, 1024.0),
            given("16B", "xip: 5.1, an instruction cache with blocks of four words"),
            "Bytes that a request fetches: a line of the instruction cache.",
            when "link.type" is "onenand";
        "host.paging.overlap" overlap: bool = BOOL,
            given("false", "xip: 3.3 adds the times of all transfers up"),
            "Moves into SRAM go on while the program does, and while the array loads the other buffer.",
            when "link.type" is "onenand";
    }
}

section! {
    /// On-chip SRAM that pages are moved into.
    Sram {
        "host.sram.size" size: u64 = SIZE.within(512.0, 1073741824.0),
            given("4KiB", "xip: 5.1, the smallest of 4, 8, 16 and 32 KB"),
            "Bytes of the page frames.",
            when "link.type" is "onenand";
        "host.sram.access" access: Time = TIME.within(1.0, 1e9),
            given("10ns", SRAM),
            "Time of an access.",
            when "link.type" is "onenand";
        "host.sram.width" width: u64 = SIZE.within(1.0, 64.0),
            given("4B", SRAM),
            "Bytes of an access.",
            when "link.type" is "onenand";
        "host.sram.power" power: u64 = POWER,
            given("44.75mW", "xip: Table 3, 1.79 nJ a line"),
            "Power while it is accessed.",
            when "link.type" is "onenand";
    }
}

section! {
    /// The SRAM buffers of a OneNAND, through which all pages come.
    OneNand {
        "device.onenand.buffers" buffers: u32 = COUNT.within(1.0, 16.0),
            given("2", "xip: 3.1"),
            "Buffers of a page each, which the host can read in place.",
            when "link.type" is "onenand";
    }
}

impl DemandPaging {
    /// The policy.
    pub fn name(&self) -> Name {
        match self.policy {
            Paging::Lru => Name::Lru,
            Paging::Fifo => Name::Fifo,
            Paging::Clock => Name::Clock,
            Paging::TwoQ => Name::TwoQ,
            Paging::Arc => Name::Arc,
            Paging::S3Fifo => Name::S3Fifo,
            Paging::PmXip => Name::PmXip { window: self.window, threshold: self.threshold },
            Paging::RentOrBuy => Name::RentOrBuy,
        }
    }

    /// How PM-XIP is read.
    pub fn reading(&self) -> Reading {
        Reading {
            window: match self.history {
                History::Before => Window::BeforeCurrent,
                History::With => Window::WithCurrent,
            },
            test: match self.test {
                Tested::After => Test::AfterDiscard,
                Tested::First => Test::BeforeDiscard,
            },
            promotion: match self.promotion {
                Promoted::Fault => Promotion::OnFault,
                Promoted::Hit => Promotion::OnHit,
            },
        }
    }
}
