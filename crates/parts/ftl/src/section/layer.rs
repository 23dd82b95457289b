//! `[ftl]`: mapping, striping, collection and the upkeep of data.

use keys::{
    AGE, BOOL, COUNT, Conflict, FRACTION, FromValue, Kind, NUMBER, SIZE, TIME, Value, assumed, given, power_of_two,
    section, words,
};
use sim::Time;

use super::map_cache::MapCache;
use super::policy::Policy;
use super::slc_cache::SlcCache;

words! {
    /// The unit in which flash is opened, collected and erased.
    Group {
        /// A block of one plane: every plane has its own write point and collects independently.
        Plane = "plane",
        /// The blocks with the same number on all planes of a die.
        Die = "die",
        /// The blocks with the same number on all dies: a superblock, as large drives use.
        Drive = "drive",
    }
}

words! {
    /// A dimension of striping.
    Axis {
        /// Channels.
        Channel = "C",
        /// Ways: the chips on a channel.
        Way = "W",
        /// Dies of a chip.
        Die = "D",
        /// Planes of a die.
        Plane = "P",
    }
}

/// All orders of the four dimensions.
const STRIPES: &[&str] = &[
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP", "DCPW",
    "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

/// Order in which consecutive programs are spread over the flash, fastest-changing dimension first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe(pub [Axis; 4]);

impl FromValue for Stripe {
    fn from_value(value: &Value) -> Option<Stripe> {
        let Value::Word(order) = value else { return None };
        let axis = |letter: u8| Axis::named(std::str::from_utf8(&[letter]).ok()?);
        let [a, b, c, d] = order.as_bytes() else { return None };
        Some(Stripe([axis(*a)?, axis(*b)?, axis(*c)?, axis(*d)?]))
    }
}

section! {
    /// The flash translation layer.
    Layer {
        "ftl.unit" unit: u64 = SIZE.within(512.0, 65536.0),
            assumed("4KiB", "the page size of host file systems"),
            "Data bytes covered by one map entry (indirection unit): a power of two that divides or is a multiple of flash.page. \
             A unit of several pages lies on neighboring planes of a program first.";
        "ftl.capacity" capacity: Option<u64> = SIZE.least(4096.0).or("auto"),
            given("auto", "follows from ftl.over_provisioning"),
            "Capacity visible to the host, in bytes. Set either this or ftl.over_provisioning; the other is auto.";
        "ftl.over_provisioning" over_provisioning: Option<f64> = FRACTION.within(0.001, 10.0).or("auto"),
            assumed("0.07", "the difference between GB and GiB, rounded"),
            "(Raw bytes - parity - user bytes) / user bytes.";
        "ftl.group" group: Group = Kind::words(Group::WORDS),
            assumed("drive", "superblocks keep the metadata of large drives small"),
            "Unit of allocation, collection and erase: a block, the blocks of a die, or the blocks of all dies.";
        "ftl.stripe" stripe: Stripe = Kind::words(STRIPES),
            assumed("CWDP", "channels first, which minimizes waiting for a bus"),
            "Order in which consecutive programs are spread over channels, ways, dies and planes, fastest-changing \
             letter first.";
        "ftl.multi_plane" multi_plane: bool = BOOL,
            assumed("true", "doubles program bandwidth"),
            "Programs and erases cover all planes of a die at once.";
        "ftl.parity.stripe" parity: Option<u32> = COUNT.within(1.0, 65535.0).or("off"),
            assumed("off", "unknown for most drives; Micron's P320h has 7, its P400m and the Crucial M500 have 15"),
            "Data programs per stripe, each on a different die, followed by one program of their parity; off: no \
             parity.",
            when "ftl.group" is "drive";

        /// Garbage collection.
        table gc: Collection;
        /// The cache of the map.
        table map_cache: MapCache;
        /// Blocks in SLC mode (one bit per cell) that take writes first.
        table slc_cache: SlcCache;
        /// Flexible Data Placement.
        table placement: Placement;
        /// Background refresh.
        table refresh: Refresh;
        /// Wear leveling.
        table wear: Wear;

        check unit;
    }
}

impl Layer {
    fn unit(&self) -> Result<(), Conflict> {
        power_of_two("ftl.unit", self.unit)
    }
}

section! {
    /// Garbage collection.
    #[derive(Copy)]
    Collection {
        "ftl.gc.policy" policy: Policy = Kind::words(Policy::WORDS),
            assumed("greedy", "best for uniform traffic, and simple"),
            "Selection of the victim.";
        "ftl.gc.choices" choices: u32 = COUNT.within(1.0, 65536.0),
            assumed("10", "close to greedy (Van Houdt, SIGMETRICS 2013)"),
            "Number of randomly drawn blocks, of which the best is the victim.",
            when "ftl.gc.policy" is "d-choices";
        "ftl.gc.quiet" quiet: f64 = NUMBER.within(0.0, 64.0),
            assumed("0.5", "longer than the time between two losses of a block whose data is overwritten in order, and \
                shorter than a block of other data goes without one; 0.1 to 4 are plausible"),
            "A block is quiet if it lost no unit to host writes while so many blocks were programmed, on average over all \
             groups. Quiet blocks are collected before others if they free at least an eighth.",
            when "ftl.gc.policy" is "quiet-greedy";
        "ftl.gc.start" start: u32 = COUNT.within(3.0, 1048576.0),
            assumed("4", "few, so that over-provisioning is used for collection"),
            "Number of free groups (per plane, die or drive, according to ftl.group) below which collection runs.";
        "ftl.gc.ahead" ahead: u32 = COUNT.within(0.0, 1048576.0),
            assumed("2", "lets a burst of writes after a pause find free space; 0 to 16 are plausible, and each costs \
                over-provisioning"),
            "Free groups beyond ftl.gc.start that are collected in idle time if a victim frees at least an eighth; \
             idle time also folds the SLC cache.";
        "ftl.gc.idle" idle: Time = TIME,
            assumed("10ms", "longer than the gaps between requests of a busy host; products wait 1 ms to 1 s"),
            "Time without a command after which the drive counts as idle.";
        "ftl.gc.streams" separate: bool = BOOL,
            assumed("true", "copied data is colder than newly written data"),
            "Host writes and copies use separate blocks; data folded in batches goes to those of host writes.";
        "ftl.gc.batch" batch: u32 = COUNT.within(1.0, 64.0),
            assumed("1", "needs the least memory for copies"),
            "Pages that collection reads from each die in a row before it programs their data; each change from \
             reading to programming leaves the die idle during the transfers. The dies of a channel take turns. At most a \
             quarter of a block.";
        "ftl.gc.copies" copies: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
            assumed("auto", "two batches for each die that reads at the same time, two programs for each die of the \
                group, and at least 64 units"),
            "Maximum number of units of a group that are being copied at once; auto: enough to keep its dies busy.";
        "ftl.gc.slack" slack: Option<u32> = COUNT.within(1.0, 4294967295.0).or("auto"),
            assumed("auto", "enough that bursts of the host need not wait, and small compared with ftl.gc.start"),
            "Units by which the host may reduce a group's free space below its target before it waits for copies, at \
             least two programs; auto: an eighth of a block.";
    }
}

section! {
    /// Limits at which data is rewritten in the background because of its age or of reads of its block.
    #[derive(Copy)]
    Refresh {
        "ftl.refresh.reads" reads: Option<u32> = COUNT.within(4.0, 4294967295.0).or("off"),
            assumed("off", "flash.errors is also off, so there is no need to refresh"),
            "Reads of a block since its erase after which idle time rewrites its data; after a quarter more, it is \
             rewritten under load as well.";
        "ftl.refresh.age" age_s: Option<u32> = AGE.within(4.0, 4294967295.0).or("off"),
            assumed("off", "flash.errors is also off, so there is no need to refresh"),
            "Age of a block's data after which idle time rewrites it; after a quarter more, it is rewritten under load as \
             well.";
        "flash.age" drive_age_s: u32;
    }
}

impl Default for Refresh {
    /// The defaults of the keys, in a drive that is new.
    fn default() -> Refresh {
        keys::defaults::<Refresh, _>(&[("flash.age", Value::Age(0))])
    }
}

words! {
    /// Reclaim unit handles, and what collection does with their data (NVMe Flexible Data Placement).
    Isolation {
        /// No handles.
        Off = "off",
        /// Initially isolated: collection may mix the data of handles.
        Initial = "initial",
        /// Persistently isolated: collection keeps the data of handles apart.
        Persistent = "persistent",
    }
}

section! {
    /// Flexible Data Placement: host writes choose the blocks that they share.
    #[derive(Copy)]
    Placement {
        "ftl.placement.isolation" isolation: Isolation = Kind::words(Isolation::WORDS),
            assumed("off", "few drives offer it"),
            "Reclaim unit handles, each with its own blocks for host data, which writes choose by a placement \
             identifier; collection moves their data to blocks shared by all (initial) or to blocks of the same handle \
             (persistent).";
        "ftl.placement.handles" handles: u32 = COUNT.within(2.0, 16.0),
            assumed("8", "enough for a few lifetimes of data; 2 to 16 are plausible, and no data sheet was consulted"),
            "Number of reclaim unit handles.",
            when "ftl.placement.isolation" is "initial" | "persistent";
    }
}

section! {
    /// Wear leveling.
    #[derive(Copy)]
    Wear {
        "ftl.wear_leveling.dynamic" dynamic: bool = BOOL,
            assumed("true", "it has no cost"),
            "Allocate the free block with the fewest erases first.";
        "ftl.wear_leveling.static" static_threshold: Option<u32> = COUNT.within(1.0, 4294967295.0).or("off"),
            assumed("100", "small compared with the endurance, and large compared with the spread caused by \
                collection"),
            "Erase count difference from the most worn block outside of the SLC cache at which a block's data is moved; off: never.";
    }
}
