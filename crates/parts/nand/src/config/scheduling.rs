//! Sharing of dies and channels among operations.

use keys::{BOOL, COUNT, Kind, TIME, assumed, section, words};
use sim::Time;

use super::timing::HOUR;

words! {
    /// Order in which a die serves waiting operations.
    Policy {
        /// Reads of the map first, since reads of the host wait for them (as in MQSim, Tavakkol et al., FAST 2018); then
        /// reads of the host; then all others in order of arrival. On the channel, the data of these reads precedes that of
        /// other reads and of programs.
        ReadsFirst = "reads-first",
        /// In order of arrival.
        Fifo = "fifo",
    }
}

words! {
    /// Whether a read of the page in a plane's register skips sensing.
    Reuse {
        /// Always sensed.
        Never = "never",
        /// Skipped for reads that arrive while their die is busy; an idle die counts as having lost its registers.
        Queued = "queued",
        /// Skipped until another operation uses the register.
        Held = "held",
    }
}

section! {
    /// Sharing of dies and channels among operations, and suspension of programs and erases for reads of the host or the map.
    #[derive(Copy, Eq)]
    Scheduling {
        "flash.scheduling" policy: Policy = Kind::words(Policy::WORDS),
            assumed("reads-first", "common in controllers, for low read latency"),
            "Order in which a die serves waiting operations.";
        "flash.overtakes" overtakes_max: u32 = COUNT.within(1.0, 65535.0),
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
        "flash.concurrent_programs" programs_max: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
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
        "flash.suspend.program" program_suspend: bool = BOOL,
            assumed("true", "supported by current chips"),
            "Suspend programs for reads.";
        "flash.suspend.erase" erase_suspend: bool = BOOL,
            assumed("true", "supported by current chips"),
            "Suspend erases for reads.";
        "flash.suspend.latency" suspend_latency: Time = TIME.within(1.0, HOUR),
            assumed("20us", "from the suspend command to a ready die: the rest of the current pulse"),
            "Time until the die is ready for the read; operations that would end sooner are not suspended.";
        "flash.suspend.resume" resume_overhead: Time = TIME.within(0.0, HOUR),
            assumed("10us", "the interrupted pulse is set up again"),
            "Time lost at each resumption.";
        "flash.suspend.max" suspensions_max: u32 = COUNT.within(1.0, 65535.0),
            assumed("8", "reads must not starve a program forever"),
            "Maximum number of suspensions per operation.";
    }
}

impl Default for Scheduling {
    /// The defaults of the keys.
    fn default() -> Scheduling {
        keys::defaults::<Scheduling, _>(&[])
    }
}

impl Scheduling {
    /// Returns a plain controller, for tests and examples: reads first, without suspension, cache operations and reuse.
    pub fn plain() -> Scheduling {
        Scheduling {
            cache_read: false,
            cache_program: false,
            reuse_page: Reuse::Never,
            program_suspend: false,
            erase_suspend: false,
            ..Scheduling::default()
        }
    }
}
