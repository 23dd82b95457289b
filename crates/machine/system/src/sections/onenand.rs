//! Demand paging from a OneNAND: the tables `[host.paging]` and `[host.sram]`.

use pager::policy::{Name, Promotion, Reading, Test, Window};
use sim::Time;

use keys::{BOOL, COUNT, Kind, POWER, SIZE, TIME, given, section, words};

const SRAM: &str = "xip: Table 3, a line of 16 bytes from SRAM in 40 ns at 100 MHz";
const FIGURE_5: &str = "xip: consistent with Figure 5, line by line; the text does not specify it";

words! {
    /// Paging policy.
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
        /// PM-XIP: moves pages that were recently requested often, executes others in place.
        PmXip = "pm-xip",
        /// Rent or buy, a policy of this project.
        RentOrBuy = "rent-or-buy",
    }
}

words! {
    /// Whether PM-XIP's window includes the current request.
    History {
        /// Excluded.
        Before = "before",
        /// Included.
        With = "with",
    }
}

words! {
    /// Point of a fault at which PM-XIP tests the pages in the buffers.
    Tested {
        /// After the victim was discarded and the page loaded.
        After = "after",
        /// Before that, so that the victim is tested as well.
        First = "first",
    }
}

words! {
    /// Requests at which PM-XIP may move a page from a buffer into SRAM.
    Promoted {
        /// At a fault.
        Fault = "fault",
        /// At a fault, and when the page is requested while in its buffer.
        Hit = "hit",
    }
}

section! {
    /// Demand paging: source of page requests, and paging policy.
    DemandPaging {
        "host.paging.policy" policy: Paging = Kind::words(Paging::WORDS),
            given("pm-xip", "xip: 4"),
            "Policy that assigns pages to SRAM and buffers.",
            when "link.type" is "onenand";
        "host.paging.window" window: u32 = COUNT.within(1.0, 1048576.0),
            given("8", "xip: 5.2, the best with 4 KB of SRAM"),
            "Number of requests in PM-XIP's page history window.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.threshold" threshold: u32 = COUNT.within(0.0, 1048576.0),
            given("4", "xip: 5.2, the best with 4 KB of SRAM"),
            "Number of occurrences in the window above which a page is moved into SRAM.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.history" history: History = Kind::words(History::WORDS),
            given("before", FIGURE_5),
            "Whether the window includes the current request when the threshold is tested.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.test" test: Tested = Kind::words(Tested::WORDS),
            given("after", FIGURE_5),
            "Whether pages are tested after a victim has left its buffer, or before.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.promotion" promotion: Promoted = Kind::words(Promoted::WORDS),
            given("fault", FIGURE_5),
            "Whether a page is moved only at a fault, or also when it is hit in its buffer.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.line" line: u64 = SIZE.within(1.0, 1024.0),
            given("16B", "xip: 5.1, an instruction cache with blocks of four words"),
            "Bytes per request: a line of the instruction cache.",
            when "link.type" is "onenand";
        "host.paging.overlap" overlap: bool = BOOL,
            given("false", "xip: 3.3 adds up the times of all transfers"),
            "Moves into SRAM overlap with the program, and with the array's load of the other buffer.",
            when "link.type" is "onenand";
    }
}

section! {
    /// On-chip SRAM into which pages are moved.
    Sram {
        "host.sram.size" size: u64 = SIZE.within(512.0, 1073741824.0),
            given("4KiB", "xip: 5.1, the smallest of 4, 8, 16 and 32 KB"),
            "Total size of the page frames in bytes.",
            when "link.type" is "onenand";
        "host.sram.access" access: Time = TIME.within(1.0, 1e9),
            given("10ns", SRAM),
            "Access time.",
            when "link.type" is "onenand";
        "host.sram.width" width: u64 = SIZE.within(1.0, 64.0),
            given("4B", SRAM),
            "Bytes per access.",
            when "link.type" is "onenand";
        "host.sram.power" power: u64 = POWER,
            given("44.75mW", "xip: Table 3, 1.79 nJ per line"),
            "Power during accesses.",
            when "link.type" is "onenand";
    }
}

impl DemandPaging {
    /// Returns the policy.
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

    /// Returns the selected interpretation of PM-XIP.
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
