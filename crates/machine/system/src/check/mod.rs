//! Checks across keys, and what follows from them: one module per table that has many.

pub(crate) mod hmb;
mod hybrid;
mod memory;
mod parity;
mod placement;
mod zones;

use host::ChipsetModel;
use keys::{Conflict, Section, Why};
use media::Geometry;

use crate::error::SystemError;
use crate::{LinkType, System, Value};
use ftl::section::{Group, MapPlace, Memory, ReadPlace};
use nand::{Cell, PageSpan, Programming};

/// Maximum bytes of a unit for which the write cache has a bit per sector.
const SECTORS_MAX: u64 = 32 << 10;
/// Maximum number of mapping units of a page, or of a program with parity.
const UNITS_MAX: u64 = 64;

/// Bytes of map per mapping unit.
const MAP_ENTRY: u64 = 4;

/// Checks a system after all its values have been parsed, and computes derived values.
pub(crate) fn check(system: &mut System) -> Result<(), SystemError> {
    sections(system)?;
    memory::check(system)?;
    if system.memory.kind == crate::memory::MainMemory::Hybrid {
        // The flash behind DRAM is not that of a drive.
        system.expect(
            system.link.kind == LinkType::None,
            &["link.type", "memory.type"],
            "\"none\" where memory.type is \"hybrid\"",
        )?;
        times(system)?;
        shape(system)?;
        return hybrid::check(system);
    }
    if system.link.kind == LinkType::None {
        return nothing(system);
    }
    if system.link.kind == LinkType::OneNand {
        return onenand(system);
    }
    link(system)?;
    geometry(system)?;
    device(system)?;
    if zones::check(system)? {
        return Ok(());
    }
    hmb::check(system)?;
    parity::check(system)?;
    placement::check(system)?;
    capacity(system)?;
    memory(system)
}

/// Checks the keys of each section against each other.
fn sections(s: &System) -> Result<(), SystemError> {
    let checks = [
        s.host.check(),
        s.paging.check(),
        s.sram.check(),
        s.link.check(),
        s.device.check(),
        s.onenand.check(),
        s.flash.check(),
        s.ftl.check(),
        s.caches.check(),
        s.read_ahead.check(),
        s.zones.check(),
        s.cpu.check(),
        s.memory.check(),
        s.nvmm.check(),
        s.kernel.check(),
    ];
    let Some(Conflict { keys, why }) = checks.into_iter().find_map(Result::err) else { return Ok(()) };
    let (first, second) = (|| s.is(keys[0]), || s.is(keys[1]));
    let why = match why {
        Why::Expected(expected) => format!("{}, expected {expected}", first()),
        Why::But(reason) => format!("{}, but {}: {reason}", first(), second()),
        Why::And(expected) => format!("{} and {}, expected {expected}", first(), second()),
    };
    s.conflict(&keys, why)
}

impl System {
    /// Returns an error about a combination of `keys`, at the position of the last one set. If all are defaults,
    /// reports the position of the machine's type.
    pub(crate) fn conflict(&self, keys: &[&str], why: String) -> Result<(), SystemError> {
        let last = keys.iter().map(|key| self.setting(key)).rev().max_by_key(|setting| setting.layer);
        if let Some(place) = last.and_then(|setting| setting.place.clone()) {
            return Err(SystemError::Conflict { place, why });
        }
        for kind in ["memory.type", "link.type"] {
            if let Some(place) = self.setting(kind).place.clone() {
                let why = format!("{}, and by default {why}", self.is(kind));
                return Err(SystemError::Conflict { place, why });
            }
        }
        panic!("the defaults of {keys:?} are inconsistent: {why}")
    }

    /// Formats `key is value`, as in the file.
    pub(crate) fn is(&self, key: &str) -> String {
        format!("{key} is {}", self.setting(key).value)
    }

    pub(crate) fn expect(&self, holds: bool, keys: &[&str], expected: &str) -> Result<(), SystemError> {
        match holds {
            true => Ok(()),
            false => self.conflict(keys, format!("{}, expected {expected}", self.is(keys[0]))),
        }
    }

    fn multiple(&self, key: &str, value: u64, other: &str, of: u64) -> Result<(), SystemError> {
        let of_text = format!("a multiple of {other} ({})", Value::Size(of).plain());
        self.expect(value.is_multiple_of(of), &[key, other], &of_text)
    }
}

/// A machine without storage needs main memory.
fn nothing(s: &System) -> Result<(), SystemError> {
    let memory = s.memory.kind != crate::memory::MainMemory::None;
    s.expect(memory, &["link.type", "memory.type"], "a link where memory.type is \"none\"")
}

/// Formats a size for comparison with another.
fn about(bytes: u64) -> String {
    match Value::Size(bytes).plain() {
        short if short.len() <= 8 => short,
        _ => format!("{:.1}MiB", bytes as f64 / 1048576.0),
    }
}

/// Checks the keys of host, link and controller against each other.
fn link(s: &System) -> Result<(), SystemError> {
    let (kind, word) = (s.link.kind, s.link.kind.word());
    let (depth, commands) = (s.host.queue_depth, s.device.max_commands);
    if kind == LinkType::Ufs && s.host.ufshci.queues > 0 {
        let most = "1 to 255 with host.ufshci.queues";
        s.expect(depth <= 255, &["host.queue_depth", "host.ufshci.queues"], most)?;
        s.expect(commands <= 255, &["device.max_commands", "host.ufshci.queues"], most)?;
    } else if matches!(kind, LinkType::Sata | LinkType::Ddr | LinkType::Ufs) {
        let most = format!("1 to 32 where link.type is \"{word}\"");
        s.expect(depth <= 32, &["host.queue_depth", "link.type"], &most)?;
        s.expect(commands <= 32, &["device.max_commands", "link.type"], &most)?;
    }
    if matches!(kind, LinkType::Sata | LinkType::Ddr) {
        let largest = format!("at most 32MiB where link.type is \"{word}\"");
        s.expect(s.host.max_transfer <= 32 << 20, &["host.max_transfer", "link.type"], &largest)?;
    }
    if kind == LinkType::Ddr {
        let bridges = "\"bridges\" where link.type is \"ddr\": the port belongs to the North Bridge";
        s.expect(s.host.chipset.model == ChipsetModel::Bridges, &["host.chipset", "link.type"], bridges)?;
    }
    if kind == LinkType::Pcie {
        s.expect(depth >= 2, &["host.queue_depth", "link.type"], "at least 2 where link.type is \"pcie\"")?;
    } else {
        let (slots, tags) = ("host.queue_depth", "device.max_commands");
        let most = format!("at most {tags} ({commands}) where link.type is \"{word}\"");
        s.expect(depth <= commands, &[slots, tags], &most)?;
    }
    if kind == LinkType::SharedBuffer {
        shared_buffer(s)?;
    }
    Ok(())
}

fn shared_buffer(s: &System) -> Result<(), SystemError> {
    let (depth, link) = ("host.queue_depth", "link.type");
    let most = "a power of two up to 32768 where link.type is \"shared-buffer\"";
    let fits = s.host.queue_depth.is_power_of_two() && s.host.queue_depth <= 32768;
    s.expect(fits, &[depth, link], most)?;
    let most = "at most 256 where link.type is \"shared-buffer\"";
    s.expect(s.host.pairs() <= 256, &["host.queue_pairs", "host.cores", link], most)?;
    let own = &s.link.shared_buffer;
    let peak = host_interface::shared_buffer::dram_device(own.memory).peak_bandwidth() as u64;
    let traffic = "host.mover.traffic";
    let most = format!("less than the {} that {} carries", Value::Rate(peak).plain(), own.memory.word());
    s.expect(own.traffic < peak, &[traffic, "link.memory", link], &most)
}

fn device(s: &System) -> Result<(), SystemError> {
    let threshold = "device.coalescing.threshold";
    if s.device.coalescing.is_on() && s.host.completion.is_polling() {
        let why = format!("{}, but {}: there are no interrupts to coalesce", s.is(threshold), s.is("host.completion"));
        return s.conflict(&[threshold, "host.completion"], why);
    }
    let cache = &s.caches.write;
    let largest = format!("at least host.max_transfer ({}), or 0B", s.setting("host.max_transfer").value.plain());
    s.expect(
        cache.size == 0 || cache.size >= s.host.max_transfer,
        &["device.write_cache.size", "host.max_transfer"],
        &largest,
    )?;
    s.multiple("device.write_cache.size", cache.size, "ftl.unit", s.ftl.unit)?;
    s.multiple("device.read_cache.size", s.caches.read.size, "ftl.unit", s.ftl.unit)?;
    s.multiple("ftl.map_cache.size", s.ftl.map_cache.size.unwrap_or(0), "ftl.unit", s.ftl.unit)?;
    read_ahead(s)
}

fn read_ahead(s: &System) -> Result<(), SystemError> {
    let size = "device.read_ahead.size";
    let least = 2 * u64::from(s.read_ahead.streams) * s.flash.page;
    let enough = s.read_ahead.size == 0 || s.read_ahead.size >= least;
    let keys = [size, "device.read_ahead.streams", "flash.page"];
    s.expect(enough, &keys, &format!("at least {}, two pages (flash.page) for each stream, or 0B", about(least)))
}

fn geometry(s: &System) -> Result<(), SystemError> {
    let flash = &s.flash;
    units(s)?;
    s.multiple("flash.page", flash.page, "flash.ecc.codeword", u64::from(flash.ecc.codeword_bytes))?;
    times(s)?;
    let cache = &s.caches.read;
    if cache.place == ReadPlace::Slc && cache.size > 0 && (flash.cell == Cell::Slc || s.caches.are_shared()) {
        let (other, why) = match flash.cell {
            Cell::Slc => ("flash.cell", "all of it is SLC"),
            _ => ("device.cache_sharing", "written data is in memory"),
        };
        let why = format!("{}, but {}: {why}", s.is("device.read_cache.place"), s.is(other));
        return s.conflict(&["device.read_cache.place", other], why);
    }
    for (key, size) in
        [("ftl.slc_cache.size", s.ftl.slc_cache.size), ("ftl.slc_cache.dynamic", s.ftl.slc_cache.dynamic)]
    {
        if size > 0 && flash.cell == Cell::Slc {
            let why = format!("{}, but {}: all of it is SLC", s.is(key), s.is("flash.cell"));
            return s.conflict(&[key, "flash.cell"], why);
        }
        let bits = flash.cell.bits();
        let least = format!("at least {bits} with {key}, because a block in SLC mode has 1/{bits} of its pages");
        s.expect(size == 0 || s.geometry().pages >= bits, &["flash.pages", key, "flash.cell"], &least)?;
    }
    shape(s)
}

/// Checks mapping units against pages: one divides the other.
fn units(s: &System) -> Result<(), SystemError> {
    let (unit, page) = (s.ftl.unit, s.flash.page);
    let whole = unit <= SECTORS_MAX || s.link.kind != LinkType::SharedBuffer;
    let most = "at most 32KiB where link.type is \"shared-buffer\": its commands are cut to single sectors";
    s.expect(whole, &["ftl.unit", "link.type"], most)?;
    if unit > page {
        s.multiple("ftl.unit", unit, "flash.page", page)?;
        let rows = s.span().pages;
        let why = format!("a multiple of {rows}, the pages of each plane that a ftl.unit spans");
        let keys = ["flash.pages", "ftl.unit", "flash.page", "flash.planes", "ftl.multi_plane"];
        return s.expect(s.flash.pages.is_multiple_of(rows), &keys, &why);
    }
    s.multiple("flash.page", page, "ftl.unit", unit)?;
    let of_page = page / unit;
    let of_program = if s.ftl.multi_plane { u64::from(s.flash.planes) * of_page } else { of_page };
    let (makes, count) = match s.ftl.parity {
        Some(_) => ("program of a stripe (ftl.parity.stripe)", of_program),
        None => ("page", of_page),
    };
    if count > UNITS_MAX {
        let why = format!("{}, so that {count} units make a {makes}, expected at most {UNITS_MAX}", s.is("ftl.unit"));
        return s.conflict(&["ftl.unit", "flash.page", "flash.planes", "ftl.multi_plane", "ftl.parity.stripe"], why);
    }
    Ok(())
}

/// Checks that there are as many times as page types, or one.
fn times(s: &System) -> Result<(), SystemError> {
    let types = s.flash.cell.bits() as usize;
    for key in ["flash.read", "flash.program"] {
        let Value::Times(times) = &s.setting(key).value else { unreachable!("{key} has times") };
        if times.len() != 1 && times.len() != types {
            let cell = s.is("flash.cell");
            let why = format!("{key} has {} times, expected 1 or {types} ({cell})", times.len());
            return s.conflict(&[key, "flash.cell"], why);
        }
    }
    Ok(())
}

fn shape(s: &System) -> Result<(), SystemError> {
    let shape = ["flash.channels", "flash.chips", "flash.dies", "flash.planes", "flash.blocks", "flash.pages"];
    match s.geometry().fault() {
        Some(why) => s.conflict(&[&shape[..], &["flash.page", "ftl.unit"]].concat(), format!("flash: {why}")),
        None => parity::check_die(s),
    }
}

/// Checks a OneNAND and its demand paging.
fn onenand(s: &mut System) -> Result<(), SystemError> {
    times(s)?;
    shape(s)?;
    s.multiple("host.sram.size", s.sram.size, "flash.page", s.flash.page)?;
    s.multiple("flash.page", s.flash.page, "host.paging.line", s.paging.lines.bytes)?;
    s.multiple("host.paging.line", s.paging.lines.bytes, "link.width", s.onenand.word_bytes)?;
    s.multiple("host.paging.line", s.paging.lines.bytes, "host.sram.width", s.sram.width)?;
    s.raw_bytes = u64::try_from(s.geometry().bytes()).expect("2^32 pages of 64 KiB fit");
    s.user_bytes = s.raw_bytes;
    Ok(())
}

impl System {
    /// Returns true if mapping units are pages, because there is no translation layer.
    fn maps_pages(&self) -> bool {
        matches!(self.link.kind, LinkType::OneNand | LinkType::None)
    }

    /// Returns the pages of the dies that a mapping unit spans if it is larger than one. A program has whole units.
    pub fn span(&self) -> PageSpan {
        let together = self.has_zones() || (self.ftl.multi_plane && self.ftl.group != Group::Plane);
        let unit = if self.maps_pages() { self.flash.page } else { self.ftl.unit };
        PageSpan::of(unit, self.flash.page, if together { self.flash.planes } else { 1 })
    }

    /// Returns the geometry that the translation layer sees: its pages are at least a unit. Without a translation layer, units
    /// are pages.
    pub fn geometry(&self) -> Geometry {
        let span = self.span();
        let unit = if self.maps_pages() { self.flash.page } else { self.ftl.unit };
        Geometry {
            channels: self.flash.channels,
            chips: self.flash.chips,
            dies: self.flash.dies,
            planes: self.flash.planes / span.planes,
            blocks: self.flash.blocks,
            pages: self.flash.pages / span.pages,
            page_bytes: u32::try_from(self.flash.page).expect("a page is at most 64 KiB") * span.count(),
            unit_bytes: u32::try_from(unit).expect("a unit is at most 64 KiB"),
        }
    }
}

fn capacity(s: &mut System) -> Result<(), SystemError> {
    let raw = u64::try_from(s.geometry().bytes()).expect("2^32 units of 64 KiB fit");
    s.raw_bytes = raw;
    let (given, key) = match (s.ftl.capacity, s.ftl.over_provisioning) {
        (Some(bytes), None) => (bytes, "ftl.capacity"),
        // The fraction is exact to 2^-53. The remainder of a partial unit is unused.
        (None, Some(spare)) => {
            ((s.without_parity(raw) as f64 / (1.0 + spare)) as u64 / s.ftl.unit * s.ftl.unit, "ftl.over_provisioning")
        }
        _ => unreachable!("exactly one of the two is given"),
    };
    s.user_bytes = given;
    if key == "ftl.capacity" {
        s.multiple(key, given, "ftl.unit", s.ftl.unit)?;
        let below = format!("less than the {} of flash", about(raw));
        s.expect(given < raw, &[key, "flash.blocks"], &below)?;
    }
    let planes = u64::from(s.geometry().all_dies()) * u64::from(s.flash.planes);
    let slc_block = u64::from(s.flash.pages) * s.flash.page / u64::from(s.flash.cell.bits());
    let slc_blocks = s.ftl.slc_cache.size.div_ceil(s.without_parity(planes * slc_block));
    let copy_blocks = copy_blocks(s, planes, slc_block);
    // The good blocks of a plane, minus the collection reserve, must hold the host's data.
    let blocks = (f64::from(s.flash.blocks) * (1.0 - s.flash.wear.factory_bad)) as u64;
    let dynamic = s.ftl.slc_cache.dynamic > 0;
    let frontiers = if s.ftl.gc.separate { 2 } else { 1 } + u64::from(dynamic);
    let block = u64::from(s.flash.pages) * s.flash.page;
    // A map that is not fully cached is also stored in flash.
    let map = if s.ftl.map_cache.size.is_some() { given / s.ftl.unit * MAP_ENTRY } else { 0 };
    let data = (given + map).div_ceil(s.without_parity(planes * block));
    let needed = data + u64::from(s.ftl.gc.start) + frontiers + slc_blocks + copy_blocks;
    if needed > blocks {
        let slc = if slc_blocks > 0 { format!(", {slc_blocks} of the SLC cache") } else { String::new() };
        let copies = if copy_blocks > 0 { format!(", {copy_blocks} of the read cache") } else { String::new() };
        let why = format!(
            "{}, which needs {needed} good blocks per plane ({data} of data, {} of ftl.gc.start, {frontiers} being \
             written{slc}{copies}), expected at most {blocks}",
            s.is(key),
            s.ftl.gc.start
        );
        let keys = [key, "ftl.gc.start", "ftl.slc_cache.size", "flash.blocks", "flash.bad_blocks"];
        return s.conflict(&keys, why);
    }
    s.slc_blocks = u32::try_from(slc_blocks).expect("fewer than blocks");
    let dynamic = s.ftl.slc_cache.dynamic.div_ceil(planes * slc_block).min(u64::from(s.flash.blocks));
    s.dynamic_blocks = u32::try_from(dynamic).expect("at most all blocks");
    s.copy_blocks = u32::try_from(copy_blocks).expect("fewer than blocks");
    Ok(())
}

/// Returns the blocks per plane for the read cache in flash: twice its size, because programs of copies may be partial,
/// plus two groups, one being written while the other is erased.
fn copy_blocks(s: &System, planes: u64, slc_block: u64) -> u64 {
    let cache = &s.caches.read;
    if cache.place != ReadPlace::Slc || cache.size == 0 {
        return 0;
    }
    let group = match s.ftl.group {
        Group::Plane => 1,
        Group::Die => u64::from(s.flash.planes),
        Group::Drive => planes,
    };
    (2 * (cache.size + group * slc_block)).div_ceil(planes * slc_block)
}

impl System {
    /// Returns the bytes that the controller holds between the two passes of their programs: on each die, of the blocks of
    /// host data and of copies.
    fn between_passes(&self) -> u64 {
        let (flash, open) = (&self.flash, if self.ftl.gc.separate { 2 } else { 1 });
        let pages = u64::from(flash.timing.pass_distance) * u64::from(flash.planes) * open;
        match flash.timing.programming {
            Programming::OnePass => 0,
            Programming::TwoPass => u64::from(self.geometry().all_dies()) * pages * flash.page,
        }
    }
}

fn memory(s: &System) -> Result<(), SystemError> {
    let units = s.user_bytes / s.ftl.unit;
    let map = s.ftl.map_cache.size.unwrap_or(units * MAP_ENTRY);
    let in_dram = [
        ("ftl.map_cache.size", s.ftl.map_cache.place == MapPlace::Dram, map),
        ("device.write_cache.size", s.caches.write.place == Memory::Dram, s.caches.write.size),
        ("device.read_cache.size", s.caches.read.place == ReadPlace::Dram, s.caches.read.size),
        ("device.read_ahead.size", true, s.read_ahead.size),
        ("flash.pass_distance", true, s.between_passes()),
    ];
    let needed: u64 = in_dram.iter().filter(|(_, there, _)| *there).map(|(_, _, bytes)| bytes).sum();
    if needed <= s.caches.dram {
        return Ok(());
    }
    let parts: Vec<String> = in_dram
        .iter()
        .filter(|(_, there, bytes)| *there && *bytes > 0)
        .map(|(key, _, bytes)| format!("{key} {}", about(*bytes)))
        .collect();
    let why = format!(
        "{}, but {} are to be in it ({}), expected as much DRAM or another place",
        s.is("device.dram"),
        about(needed),
        parts.join(", ")
    );
    let sizes = [
        "device.dram",
        "ftl.map_cache.size",
        "device.write_cache.size",
        "device.read_cache.size",
        "device.read_ahead.size",
        "flash.programming",
        "flash.pass_distance",
    ];
    let places = ["ftl.map_cache.place", "device.write_cache.place", "device.read_cache.place"];
    s.conflict(&[&sizes[..], &places, &["ftl.capacity", "flash.blocks"]].concat(), why)
}
