//! Counters of the translation layer.

/// Counters since the mount or the last reset. Units are mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Units the host wrote, partly or whole.
    pub host_units: u64,
    /// Bytes the host wrote.
    pub host_bytes: u64,
    /// Part of `host_units` overwritten while still in RAM.
    pub overwritten_in_ram: u64,
    /// Units programmed for the host.
    pub programmed_host: u64,
    /// Units programmed by collection, wear leveling and folding.
    pub programmed_copy: u64,
    /// Translation units and journal pages programmed.
    pub programmed_system: u64,
    /// Units programmed as padding.
    pub programmed_padding: u64,
    /// Units programmed as parity.
    pub programmed_parity: u64,
    /// Program operations.
    pub programs: u64,
    /// Part of `programs` that wrote parity.
    pub parity_programs: u64,
    /// Reads whose page was rebuilt from its stripe.
    pub rebuilt: u64,
    /// Uncorrectable reads whose page could not be rebuilt.
    pub rebuild_failures: u64,
    /// Page reads for rebuilding.
    pub rebuild_reads: u64,
    /// Units moved because their page had to be rebuilt.
    pub relocated: u64,
    /// Pages read for the host.
    pub host_reads: u64,
    /// Units the host read from RAM.
    pub read_hits: u64,
    /// Units the host read from flash.
    pub read_misses: u64,
    /// Units the host read that hold no data.
    pub read_unwritten: u64,
    /// Units programmed as read copies.
    pub read_copies: u64,
    /// Units the host read from read copies.
    pub read_copy_hits: u64,
    /// Reads to complete a partly written unit.
    pub fill_reads: u64,
    /// Pages read by collection.
    pub copy_reads: u64,
    /// Translation units read.
    pub map_reads: u64,
    /// Hits in the map cache.
    pub map_hits: u64,
    /// Misses in the map cache.
    pub map_misses: u64,
    /// Part of `map_hits` in host memory.
    pub map_host_hits: u64,
    /// Units of read and written data found in host memory.
    pub host_memory_hits: u64,
    /// Reads of host memory by the controller.
    pub host_memory_loads: u64,
    /// Bytes read from host memory.
    pub host_memory_load_bytes: u64,
    /// Writes to host memory by the controller.
    pub host_memory_stores: u64,
    /// Bytes written to host memory.
    pub host_memory_store_bytes: u64,
    /// Blocks collected.
    pub victims: u64,
    /// Blocks in SLC mode among the victims.
    pub folded: u64,
    /// Valid units of the victims when they were chosen.
    pub victim_units: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Programs and erases that failed.
    pub failures: u64,
    /// Blocks whose data was rewritten because it was old or read often.
    pub refreshed: u64,
    /// Units lost because they could not be read when they were to be moved.
    pub lost_units: u64,
}

impl Stats {
    /// Returns the units programmed, including padding but not parity.
    fn programmed_data(&self) -> u64 {
        self.programmed_host + self.programmed_copy + self.programmed_system + self.programmed_padding
    }

    /// Returns the units programmed, including padding and parity.
    pub fn programmed(&self) -> u64 {
        self.programmed_data() + self.programmed_parity
    }

    /// Returns the write amplification like [`write_amplification`](Self::write_amplification), without parity.
    pub fn write_amplification_without_parity(&self) -> Option<f64> {
        (self.programmed_host > 0).then(|| self.programmed_data() as f64 / self.programmed_host as f64)
    }

    /// Returns the write amplification by units: units programmed, including padding and parity, per unit of host data
    /// programmed; `None` before the first.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.programmed_host > 0).then(|| self.programmed() as f64 / self.programmed_host as f64)
    }

    /// Returns the write amplification by bytes: bytes programmed, in units of `unit_bytes`, per byte written by the
    /// host; `None` before the first. Partial-unit writes raise it, and overwrites in RAM lower it.
    pub fn write_amplification_by_bytes(&self, unit_bytes: u32) -> Option<f64> {
        let programmed = self.programmed() as f64 * f64::from(unit_bytes);
        (self.host_bytes > 0).then(|| programmed / self.host_bytes as f64)
    }

    /// Returns the differences between these counters and an earlier reading.
    ///
    /// # Panics
    /// In debug builds, if `earlier` is the later reading.
    pub fn since(&self, earlier: &Stats) -> Stats {
        self.combine(earlier, |now, then| now - then)
    }

    /// Returns the sums of these counters and those of another drive.
    pub fn plus(&self, other: &Stats) -> Stats {
        self.combine(other, |one, other| one + other)
    }
}

macro_rules! combine {
    ($($field:ident),*) => {
        impl Stats {
            /// Applies `with` to each pair of counters.
            fn combine(&self, other: &Stats, with: impl Fn(u64, u64) -> u64) -> Stats {
                Stats { $($field: with(self.$field, other.$field)),* }
            }
        }
    };
}

combine!(
    host_bytes,
    host_units,
    overwritten_in_ram,
    programmed_host,
    programmed_copy,
    programmed_system,
    programmed_padding,
    programmed_parity,
    programs,
    parity_programs,
    rebuilt,
    rebuild_failures,
    rebuild_reads,
    relocated,
    host_reads,
    read_hits,
    read_misses,
    read_unwritten,
    read_copies,
    read_copy_hits,
    fill_reads,
    copy_reads,
    map_reads,
    map_hits,
    map_misses,
    map_host_hits,
    host_memory_hits,
    host_memory_loads,
    host_memory_load_bytes,
    host_memory_stores,
    host_memory_store_bytes,
    victims,
    folded,
    victim_units,
    erases,
    failures,
    refreshed,
    lost_units
);
