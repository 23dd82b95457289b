//! `[device.zones]`: the zones of a namespace, as system files describe them.

use keys::{COUNT, Kind, SIZE, TIME, assumed, section, words};
use sim::Time;

words! {
    /// Command set of the namespace.
    Namespace {
        /// Logical blocks that can be written in any order.
        Conventional = "conventional",
        /// Zones (NVMe Zoned Namespace Command Set).
        Zoned = "zoned",
    }
}

section! {
    /// Zones of the namespace (NVMe Zoned Namespace Command Set): ranges that are written in order, and reset as a whole. The
    /// drive maps them to whole blocks, and collects no garbage.
    Zones {
        "device.namespace" namespace: Namespace = Kind::words(Namespace::WORDS),
            assumed("conventional", "most drives have no other"),
            "Command set of the namespace. Zoned: it consists of zones (device.zones), which are written in order and \
             reset as a whole.",
            when "link.type" is "pcie";
        "device.zones.size" size: u64 = SIZE.least(4096.0),
            assumed("2GiB", "a ZN540, the drive most measured"),
            "Bytes from the start of a zone to that of the next, a multiple of ftl.unit.",
            when "device.namespace" is "zoned";
        "device.zones.capacity" capacity: Option<u64> = SIZE.least(4096.0).or("size"),
            assumed("size", "drivers prefer zones without a gap"),
            "Writable bytes of a zone, a multiple of ftl.unit.",
            when "device.namespace" is "zoned";
        "device.zones.count" count: Option<u32> = COUNT.within(1.0, 16777216.0).or("auto"),
            assumed("auto", "as many as the flash holds, without the blocks that ftl.over_provisioning leaves"),
            "Number of zones.",
            when "device.namespace" is "zoned";
        "device.zones.conventional" conventional: u64 = SIZE,
            assumed("0B", "drives that have one need it for file systems on zones alone"),
            "Bytes of a conventional namespace on blocks of its own, the second one of a guest's drive.",
            when "device.namespace" is "zoned";
        "device.zones.open" open: Option<u32> = COUNT.within(1.0, 16777216.0).or("unlimited"),
            assumed("unlimited", "as active"),
            "Maximum number of open zones.",
            when "device.namespace" is "zoned";
        "device.zones.active" active: Option<u32> = COUNT.within(1.0, 16777216.0).or("unlimited"),
            assumed("14", "a ZN540, the drive most measured"),
            "Maximum number of active zones: open, or closed with data. Each may hold the rest of a program in the write \
             cache.",
            when "device.namespace" is "zoned";
        "device.zones.dies" dies: Option<u32> = COUNT.within(1.0, 65535.0).or("all"),
            assumed("all", "large zones are spread over all dies, for the speed of one"),
            "Number of dies over which a zone is spread.",
            when "device.namespace" is "zoned";
        "device.zones.finish_depth" finish_depth: Option<u32> = COUNT.within(1.0, 65535.0).or("dies"),
            assumed("dies", "all dies of the zone are busy"),
            "Maximum number of programs in progress that fill a zone that is being finished.",
            when "device.namespace" is "zoned";

        /// Controller time of zone management.
        table times: Times;
    }
}

section! {
    /// Controller time of zone management, which is done one command at a time, in addition to flash operations.
    #[derive(Copy, Eq)]
    Times {
        "device.zones.open_time" open: Time = TIME,
            assumed("5us", "a change of a state in memory"),
            "Controller time to open or close a zone.",
            when "device.namespace" is "zoned";
        "device.zones.finish_time" finish: Time = TIME,
            assumed("5us", "a change of a state in memory"),
            "Controller time to finish a zone, without what its filler takes.",
            when "device.namespace" is "zoned";
        "device.zones.reset_time" reset: Time = TIME,
            assumed("100us", "a change of tables for some hundred blocks"),
            "Controller time to reset a zone; its blocks are erased after that.",
            when "device.namespace" is "zoned";
        "device.zones.reset_written" reset_written: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional time to reset a zone that is written to its capacity, less in proportion for others.",
            when "device.namespace" is "zoned";
        "device.zones.reset_active" reset_active: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional time to reset a zone that is not full and has data in flash.",
            when "device.namespace" is "zoned";
        "device.zones.yields" yields: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Delay of zone management by each read, write or append that arrives meanwhile.",
            when "device.namespace" is "zoned";
    }
}

impl Default for Times {
    /// The defaults of the keys.
    fn default() -> Times {
        keys::defaults::<Times, _>(&[])
    }
}
