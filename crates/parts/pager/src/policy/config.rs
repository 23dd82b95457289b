//! Keys of demand paging: table `[host.paging]`.

use keys::{BOOL, COUNT, SIZE, given, section, words};

use crate::policy::{Name, Reading};

words! {
    /// Paging policies that a system file names.
    Kind {
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

section! {
    /// Demand paging: paging policy, and source of page requests.
    #[derive(Copy, Eq)]
    PagingConfig {
        "host.paging.policy" policy: Kind = keys::Kind::words(Kind::WORDS),
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
        /// Interpretation of PM-XIP.
        table reading: Reading;
        /// Requests of the instruction cache.
        table lines: Lines;
    }
}

section! {
    /// Requests of the instruction cache, and their place among the moves of pages.
    #[derive(Copy, Eq)]
    Lines {
        "host.paging.line" bytes: u64 = SIZE.within(1.0, 1024.0),
            given("16B", "xip: 5.1, an instruction cache with blocks of four words"),
            "Bytes per request: a line of the instruction cache.",
            when "link.type" is "onenand";
        "host.paging.overlap" overlap: bool = BOOL,
            given("false", "xip: 3.3 adds up the times of all transfers"),
            "Moves into SRAM overlap with the program, and with the array's load of the other buffer.",
            when "link.type" is "onenand";
    }
}

impl PagingConfig {
    /// Returns the policy with its parameters.
    pub fn name(&self) -> Name {
        self.policy.with(self.window, self.threshold)
    }
}

impl Kind {
    /// Returns the policy's name, with the parameters of PM-XIP if it is that.
    pub(super) fn with(self, window: u32, threshold: u32) -> Name {
        match self {
            Kind::Lru => Name::Lru,
            Kind::Fifo => Name::Fifo,
            Kind::Clock => Name::Clock,
            Kind::TwoQ => Name::TwoQ,
            Kind::Arc => Name::Arc,
            Kind::S3Fifo => Name::S3Fifo,
            Kind::PmXip => Name::PmXip { window, threshold },
            Kind::RentOrBuy => Name::RentOrBuy,
        }
    }
}
