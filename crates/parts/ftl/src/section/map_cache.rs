//! The cache of the map in the controller, and its part in host memory.

use keys::{COUNT, Conflict, FRACTION, Kind, SIZE, Shape, Why, assumed, expect, section, words};

words! {
    /// Location of the controller's map cache, apart from the part that device.hmb keeps in host memory.
    MapPlace {
        /// In the controller's SRAM.
        Sram = "sram",
        /// In the controller's DRAM.
        Dram = "dram",
    }
}

words! {
    /// Granularity of the map cache.
    MapGrain {
        /// Map pages: the entries of all consecutive units that fit in one.
        Page = "page",
        /// Single entries, each with its unit number.
        Entry = "entry",
    }
}

words! {
    /// Contents of the map cache at the start.
    MapStart {
        /// Empty.
        Cold = "cold",
        /// Full, with random parts of the map.
        Warm = "warm",
    }
}

section! {
    /// The cache of the map.
    #[derive(Copy)]
    MapCache {
        "ftl.map_cache.size" size: Option<u64> = SIZE.least(4096.0).or("all"),
            assumed("all", "drives with DRAM hold their entire map in it"),
            "Cached part of the map in bytes, at 4 per unit; all: the entire map is cached, and none of it is stored \
             in flash.";
        "ftl.map_cache.grain" grain: MapGrain = Kind::words(MapGrain::WORDS),
            assumed("page", "one flash read fetches a whole page of the map"),
            "Granularity of the cache: pages of the map, or single entries, of which a miss fetches one.";
        "ftl.map_cache.entry" entry: u64 = SIZE.within(4.0, 64.0),
            assumed("8B", "4 bytes for the unit number and 4 for its address"),
            "Size of a cached entry in bytes.",
            when "ftl.map_cache.grain" is "entry";
        "ftl.map_cache.start" start: MapStart = Kind::words(MapStart::WORDS),
            assumed("cold", "the state after power-on"),
            "Contents at the start of a run: empty, or random parts of the map, as after uniform traffic.";
        "ftl.map_cache.place" place: MapPlace = Kind::words(MapPlace::WORDS),
            assumed("dram", "drives with DRAM hold their map in it"),
            "Location of the cache.";
        "ftl.map_cache.updates" updates: u32 = COUNT.within(0.0, 1048576.0),
            assumed("0", "as in DFTL, which keeps no list of pending updates"),
            "Maximum number of updates that wait for their part of the map, so that one fetch serves many; 0: each \
             update triggers a fetch.",
            when "ftl.map_cache.place" is "sram";

        check entries_wait_in_the_cache;
    }
}

impl MapCache {
    fn entries_wait_in_the_cache(&self) -> Result<(), Conflict> {
        match self.grain == MapGrain::Entry && self.updates > 0 {
            true => Err(Conflict {
                keys: vec!["ftl.map_cache.updates", "ftl.map_cache.grain"],
                why: Why::But("a changed entry waits in the cache itself"),
            }),
            false => Ok(()),
        }
    }
}

words! {
    /// Replacement policy of the map cache.
    Eviction {
        /// The least recently used.
        Lru = "lru",
        /// The first loaded.
        Fifo = "fifo",
        /// The first loaded that was not used since it was last passed over (Corbato, 1968).
        Clock = "clock",
    }
}

words! {
    /// Use of a Host Memory Buffer.
    HostMemoryUse {
        /// A part of the map cache.
        Map = "map",
        /// A part of the read cache.
        ReadCache = "read-cache",
        /// A part of the write cache.
        WriteBuffer = "write-buffer",
    }
}

section! {
    /// Use of the memory that the host lends (NVMe Feature 0Dh).
    HostMemory {
        "device.hmb.use" uses: Vec<HostMemoryUse> = Kind::new(Shape::Words(HostMemoryUse::WORDS)),
            assumed("map", "Kim and Kim, PLOS ONE 15(3), 2020: the main use in three drives"),
            "Uses of the buffer: part of the map cache, of the read cache, of the write cache, or several of them.",
            when "link.type" is "pcie";
        "device.hmb.read_cache" read_cache: Option<f64> = FRACTION.or("equal"),
            assumed("equal", "all uses have equal shares"),
            "Fraction for the read cache, if that is one of several uses.",
            when "link.type" is "pcie";
        "device.hmb.write_buffer" write_buffer: Option<f64> = FRACTION.or("equal"),
            assumed("equal", "all uses have equal shares"),
            "Fraction for the write cache, if that is one of several uses. The map has the rest.",
            when "link.type" is "pcie";
        "device.hmb.unit" unit: Option<u64> = SIZE.least(512.0).or("auto"),
            assumed("auto", "a page of the map, of ftl.unit, is read from flash at once"),
            "Granularity of map cache replacement, there and in the controller: ftl.unit times a power of two.",
            when "link.type" is "pcie";
        "device.hmb.eviction" eviction: Eviction = Kind::words(Eviction::WORDS),
            assumed("lru", "common in map caches (Gupta et al., DFTL, 2009)"),
            "Eviction policy of the map cache, there and in the controller.",
            when "link.type" is "pcie";
        "device.hmb.check" check: u32 = SIZE.within(0.0, 64.0),
            assumed("0B", "the link checks its transfers, and the host its memory"),
            "Check code in bytes that the controller stores with each 64 bytes of the buffer.",
            when "link.type" is "pcie";

        check once;
    }
}

impl HostMemory {
    fn once(&self) -> Result<(), Conflict> {
        let once = (1..self.uses.len()).all(|i| !self.uses[..i].contains(&self.uses[i]));
        expect(once, &["device.hmb.use"], "each use once")
    }
}

/// Returns the mapping units in `bytes`, as many as a layer can count.
pub(crate) fn units(bytes: u64, unit: u64) -> u32 {
    (bytes / unit).min(u64::from(u32::MAX / 4)) as u32
}
