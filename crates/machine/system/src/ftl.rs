//! `[ftl]`: the flash translation layer.

use super::key::{AGE, BOOL, COUNT, FRACTION, FromValue, Kind, SIZE, TIME, assumed, given, section, words};
use super::value::Value;
use sim::Time;

words! {
    /// Unit of allocation, collection and erase.
    Group {
        /// A block: each plane by itself.
        Plane = "plane",
        /// The blocks of one number on the planes of a die.
        Die = "die",
        /// The blocks of one number on all dies: a superblock.
        Drive = "drive",
    }
}

words! {
    /// How garbage collection chooses its victim.
    GcPolicy {
        /// The fewest valid units.
        Greedy = "greedy",
        /// The greatest free space times age over cost (Rosenblum and Ousterhout, 1992).
        CostBenefit = "cost-benefit",
        /// The one closed longest ago.
        Fifo = "fifo",
        /// The fewest valid units of some drawn at random (Van Houdt, SIGMETRICS 2013).
        DChoices = "d-choices",
    }
}

words! {
    /// Where the controller's cache of the map is; what device.hmb holds of it is in the host's memory.
    MapPlace {
        /// In the controller's SRAM.
        Sram = "sram",
        /// In the controller's DRAM.
        Dram = "dram",
    }
}

words! {
    /// What the cache of the map holds.
    MapGrain {
        /// Map pages: the entries of as many consecutive units as fit in one.
        Page = "page",
        /// Single entries, each with its number.
        Entry = "entry",
    }
}

words! {
    /// What the cache of the map holds at the start.
    MapStart {
        /// Nothing.
        Cold = "cold",
        /// As much as fits, drawn at random from the whole map.
        Warm = "warm",
    }
}

words! {
    /// A direction to stripe over.
    Axis {
        /// Channels.
        Channel = "C",
        /// Ways: the chips of a channel.
        Way = "W",
        /// Dies of a chip.
        Die = "D",
        /// Planes of a die.
        Plane = "P",
    }
}

/// Every order of the four directions.
const STRIPES: &[&str] = &[
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP", "DCPW",
    "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

impl FromValue for [Axis; 4] {
    fn from_value(value: &Value) -> Option<[Axis; 4]> {
        let Value::Word(order) = value else { return None };
        let axis = |letter| match letter {
            b'C' => Some(Axis::Channel),
            b'W' => Some(Axis::Way),
            b'D' => Some(Axis::Die),
            b'P' => Some(Axis::Plane),
            _ => None,
        };
        let [a, b, c, d] = order.as_bytes() else { return None };
        Some([axis(*a)?, axis(*b)?, axis(*c)?, axis(*d)?])
    }
}

section! {
    /// The flash translation layer.
    Ftl {
        "ftl.unit" unit: u64 = SIZE.within(512.0, 32768.0),
            assumed("4KiB", "the page of the hosts' file systems"),
            "Bytes that one entry of the map stands for: a power of two that divides flash.page.";
        "ftl.capacity" capacity: Option<u64> = SIZE.least(4096.0).or("auto"),
            given("auto", "follows from ftl.over_provisioning"),
            "Bytes that the host sees. Exactly one of this and ftl.over_provisioning; the other is auto.";
        "ftl.over_provisioning" over_provisioning: Option<f64> = FRACTION.within(0.001, 10.0).or("auto"),
            assumed("0.07", "what the difference between GB and GiB leaves, rounded"),
            "(Raw bytes - parity - user bytes) / user bytes.";
        "ftl.group" group: Group = Kind::words(Group::WORDS),
            assumed("drive", "superblocks keep the metadata of large drives small"),
            "Unit of allocation, collection and erase: a block, the blocks of a die, or of all dies.";
        "ftl.stripe" stripe: [Axis; 4] = Kind::words(STRIPES),
            assumed("CWDP", "channels first: the least wait for a bus"),
            "Order in which consecutive programs go over channels, ways, dies and planes, the first letter fastest.";
        "ftl.multi_plane" multi_plane: bool = BOOL,
            assumed("true", "twice the bandwidth of a program"),
            "Programs and erases cover all planes of a die at once.";

        /// Garbage collection.
        table gc: Gc;
        /// The cache of the map.
        table map_cache: MapCache;
        /// Blocks that hold one bit a cell and take writes first.
        table slc_cache: SlcCache;
        /// Parity across dies.
        table parity: Parity;
        /// Background refresh.
        table refresh: Refresh;
        /// Wear levelling.
        table wear_levelling: WearLevelling;
    }
}

section! {
    /// Garbage collection.
    Gc {
        "ftl.gc.policy" policy: GcPolicy = Kind::words(GcPolicy::WORDS),
            assumed("greedy", "the best for uniform traffic, and simple"),
            "How the victim is chosen.";
        "ftl.gc.choices" choices: u32 = COUNT.within(1.0, 65536.0),
            assumed("10", "close to greedy (Van Houdt, SIGMETRICS 2013)"),
            "Blocks drawn at random, of which the best is the victim.",
            when "ftl.gc.policy" is "d-choices";
        "ftl.gc.start" start: u32 = COUNT.within(3.0, 1048576.0),
            assumed("4", "few, so that over-provisioning serves collection"),
            "Free groups (of a plane, a die or the drive, as ftl.group says) below which space is collected.";
        "ftl.gc.ahead" ahead: u32 = COUNT.within(0.0, 1048576.0),
            assumed("2", "a burst of writes after a pause finds room; 0 to 16 are plausible, each costs over-provisioning"),
            "Free groups beyond ftl.gc.start that idle time collects where a victim gives back an eighth; it folds the SLC cache, too.";
        "ftl.gc.idle" idle: Time = TIME,
            assumed("10ms", "longer than the gaps between requests of a busy host; products wait 1 ms to 1 s"),
            "Time without a command after which idle time begins.";
        "ftl.gc.streams" streams: bool = BOOL,
            assumed("true", "what was copied is colder than what was just written"),
            "Host writes and copies go to blocks of their own.";
        "ftl.gc.batch" batch: u32 = COUNT.within(1.0, 64.0),
            assumed("1", "the least memory for copies"),
            "Pages of each die that collection reads in a row before their data is programmed: a die that turns from reading to programming idles for the transfers of both.";
        "ftl.gc.copies" copies: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
            assumed("auto", "two batches for each die of the group, and at least 64 units"),
            "Units of a group that are being copied at once; auto: what keeps its dies busy.";
        "ftl.gc.slack" slack: Option<u32> = COUNT.within(1.0, 4294967295.0).or("auto"),
            assumed("auto", "long enough that bursts of the host need not wait, short against ftl.gc.start"),
            "Units by which the host may take a group's free space below its target before it waits for copies, two programs at least; auto: an eighth of a block.";
    }
}

section! {
    /// The cache of the map.
    MapCache {
        "ftl.map_cache.size" size: Option<u64> = SIZE.least(4096.0).or("all"),
            assumed("all", "drives with DRAM hold their whole map in it"),
            "Bytes of the map that are at hand, at 4 a unit; all: the whole map, and none of it in flash.";
        "ftl.map_cache.grain" grain: MapGrain = Kind::words(MapGrain::WORDS),
            assumed("page", "one read of flash brings in a whole page of the map"),
            "What it holds: pages of the map, or single entries, of which a miss brings in one.";
        "ftl.map_cache.entry" entry: u64 = SIZE.within(4.0, 64.0),
            assumed("8B", "4 bytes for the unit's number and 4 for its place"),
            "Bytes that a cached entry takes.",
            when "ftl.map_cache.grain" is "entry";
        "ftl.map_cache.start" start: MapStart = Kind::words(MapStart::WORDS),
            assumed("cold", "what the drive was switched on with"),
            "What it holds at the start of a run: nothing, or parts of the map drawn at random, as uniform traffic leaves it.";
        "ftl.map_cache.place" place: MapPlace = Kind::words(MapPlace::WORDS),
            assumed("dram", "drives with DRAM hold their map in it"),
            "Where it is.";
        "ftl.map_cache.updates" updates: u32 = COUNT.within(0.0, 1048576.0),
            assumed("0", "as DFTL has it, which keeps no list of changes"),
            "Changes that wait for their part of the map, so that bringing it in serves many; 0: each has it brought in.",
            when "ftl.map_cache.place" is "sram";
    }
}

section! {
    /// Blocks that hold one bit a cell and take the host's writes first.
    SlcCache {
        "ftl.slc_cache.size" size: u64 = SIZE,
            assumed("0B", "none unless somebody asks for it"),
            "Data it holds, rounded up to whole blocks of every plane; 0B: none.";
        "ftl.slc_cache.fold" fold: u32 = COUNT.within(1.0, 1048576.0),
            assumed("2", "few, so that the cache is used before it is emptied"),
            "SLC groups' worth of free space that folding into the other blocks keeps while the host writes.";
        "ftl.slc_cache.keep" keep: f64 = FRACTION,
            assumed("0", "a pause gives the next burst the whole cache; products differ"),
            "Part of the cache that idle time leaves unfolded.";
        "ftl.slc_cache.dynamic" dynamic: u64 = SIZE,
            assumed("0B", "none unless somebody asks for it"),
            "Data that a dynamic part holds at most, in blocks in SLC mode for unused capacity: it shrinks as the drive fills.";
    }
}

section! {
    /// Background refresh.
    Refresh {
        "ftl.refresh.reads" reads: Option<u32> = COUNT.within(4.0, 4294967295.0).or("off"),
            assumed("off", "flash.errors is off, too: nothing to refresh for"),
            "Reads of a block since its erase at which idle time rewrites its data; a quarter beyond, beside requests.";
        "ftl.refresh.age" age: Option<u64> = AGE.within(4.0, 4294967295.0).or("off"),
            assumed("off", "flash.errors is off, too: nothing to refresh for"),
            "Age of a block's data at which idle time rewrites it; a quarter beyond, beside requests.";
    }
}

section! {
    /// Parity across dies.
    Parity {
        "ftl.parity.stripe" stripe: Option<u32> = COUNT.within(1.0, 65535.0).or("off"),
            assumed("off", "not known of most drives; Micron's P320h has 7, its P400m and the Crucial M500 have 15"),
            "Data programs of a stripe, each on another die, which one program of their parity follows; off: no parity.",
            when "ftl.group" is "drive";
    }
}

section! {
    /// Wear levelling.
    WearLevelling {
        "ftl.wear_levelling.dynamic" dynamic: bool = BOOL,
            assumed("true", "it costs nothing"),
            "The free block that was erased least is opened next.";
        "ftl.wear_levelling.static" static_threshold: Option<u32> = COUNT.within(1.0, 4294967295.0).or("off"),
            assumed("100", "small against the endurance, large against the spread that collection makes"),
            "Erases by which a block may lag behind the most worn one before its data is moved; off: never moved.";
    }
}
