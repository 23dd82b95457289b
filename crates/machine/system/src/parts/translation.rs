//! The translation layer of a drive: page-mapped, or of zones.

use ftl::config::{ConfigError, HostMemory};
use ftl::{Ftl, HandleStats, Headroom, HostLines, HostMemoryLoss, MountReport, Occupancy, Stats};
use media::{Actions, Flash, Op, OpId, ProgramUnit, ReadOp, Request, Status, Tag};
use sim::{Part, Rng, Schedule, Streams, Time, Timer};
use zones::ftl::ZonedFtl;

use super::Parts;
use super::both::Both as BothLayers;
use super::promise::Promise;

/// The translation layer of a drive.
// One per drive; its size does not matter. A tag of its own costs less to look at than one within a field.
#[allow(clippy::large_enum_variant)]
#[repr(u8)]
pub enum Translation {
    /// Maps pages, and collects garbage.
    Pages(Ftl),
    /// Maps zones to blocks.
    Zones(ZonedFtl),
    /// Zones, and pages of a conventional part.
    Both(BothLayers),
}

use Translation::{Both, Pages, Zones};

impl Translation {
    /// Mounts `flash` with the layer of `parts`.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn mount(
        parts: &Parts,
        flash: &impl Flash,
        streams: &Streams,
    ) -> Result<(Translation, MountReport), ConfigError> {
        let Some(config) = &parts.zones else {
            return Ftl::mount(parts.ftl.clone(), flash, streams).map(|(ftl, report)| (Pages(ftl), report));
        };
        let (ftl, found) = ZonedFtl::mount(config.clone(), flash).map_err(|error| ConfigError(error.0))?;
        let report = MountReport {
            pages_read: found.pages_read,
            // Zones are spread over all dies alike.
            pages_of_busiest_die: found.pages_read.div_ceil(u64::from(config.geometry.all_dies())),
            ..MountReport::default()
        };
        let Some(config) = &parts.conventional else { return Ok((Zones(ftl), report)) };
        let blocks = parts.nand.geometry.blocks;
        BothLayers::mount((ftl, report), blocks, config, flash, streams).map(|(both, report)| (Both(both), report))
    }

    /// Returns the first contents of `flash` that a drive of `parts` cannot have left, if there are any. A
    /// [`mount`](Self::mount) of other flash does not fail.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn contradiction(parts: &Parts, flash: &impl Flash, streams: &Streams) -> Result<Option<String>, ConfigError> {
        let Some(config) = &parts.zones else { return Ftl::contradiction(&parts.ftl, flash, streams) };
        let found = ZonedFtl::contradiction(config, flash).map_err(|error| ConfigError(error.0))?;
        match &parts.conventional {
            Some(config) if found.is_none() => {
                BothLayers::contradiction(parts.nand.geometry.blocks, config, flash, streams)
            }
            _ => Ok(found),
        }
    }

    /// Returns the page-mapped layer.
    ///
    /// # Panics
    /// If the drive has zones.
    pub fn pages(&self) -> &Ftl {
        let Pages(ftl) = self else { panic!("the drive has zones") };
        ftl
    }

    /// Like [`pages`](Self::pages), mutable.
    ///
    /// # Panics
    /// If the drive has zones.
    pub fn pages_mut(&mut self) -> &mut Ftl {
        let Pages(ftl) = self else { panic!("the drive has zones") };
        ftl
    }

    /// Returns the layer of zones, if the drive has zones.
    pub fn zoned(&self) -> Option<&ZonedFtl> {
        match self {
            Pages(_) => None,
            Zones(ftl) => Some(ftl),
            Both(both) => Some(&both.zones),
        }
    }

    /// Returns states and write pointers of the zones, if the drive has zones, for changes that concern no data.
    pub fn zones_mut(&mut self) -> Option<&mut ::zones::Zones> {
        match self {
            Pages(_) => None,
            Zones(ftl) => Some(ftl.zones_mut()),
            Both(both) => Some(both.zones.zones_mut()),
        }
    }

    /// Starts what a mount left to do.
    pub fn start(&mut self, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.warm_map(),
            Zones(ftl) => ftl.resume(out),
            Both(both) => both.start(out),
        }
    }

    /// Holds in RAM what a long run of random overwrites does ([`Ftl::hold_overwrites`]), in a layer that maps pages.
    pub fn hold_overwrites(&mut self, rng: &mut Rng, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.hold_overwrites(rng, out),
            // Such drives are not prepared as overwritten.
            Zones(_) | Both(_) => {}
        }
    }

    /// Starts a host command.
    #[inline(always)]
    pub fn command(&mut self, now: Time, tag: Tag, request: &Request, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.command(now, tag, request, out),
            // Of copies, so that a request for pages alone need not be in memory.
            Zones(ftl) => ftl.command(now, tag, &{ *request }, out),
            Both(both) => both.command(now, tag, &{ *request }, out),
        }
    }

    /// Returns `request` at the place where it takes effect, if it is an append that is accepted.
    pub fn placed(&self, request: &Request) -> Request {
        match self.zoned() {
            Some(ftl) if request.op == Op::Append => Request { offset: append_offset(ftl, request.offset), ..*request },
            _ => *request,
        }
    }

    /// Accepts the data of a write.
    #[inline]
    pub fn arrived(&mut self, now: Time, tag: Tag, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.arrived(now, tag, out),
            Zones(ftl) => ftl.arrived(now, tag, out),
            Both(both) => both.arrived(now, tag, out),
        }
    }

    /// Handles the end of an operation.
    #[inline(always)]
    pub fn done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.done(id, status, flash, out),
            Zones(ftl) => ftl.done(id, status, flash, out),
            Both(both) => both.done(id, status, flash, out),
        }
    }

    /// Returns the first byte that the flash read `id`, which is in progress, needs of its pages.
    pub fn read_from(&self, id: OpId) -> u32 {
        match self {
            Pages(ftl) => ftl.read_from(id),
            // Commands are of whole units.
            Zones(_) => 0,
            Both(both) => both.read_from(id),
        }
    }

    /// Returns the command that the flash read `id`, which is in progress, delivers data to; `None` for any other operation.
    pub fn reader(&self, id: OpId) -> Option<Tag> {
        match self {
            Pages(ftl) => ftl.reader(id),
            Zones(ftl) => ftl.reader(id),
            Both(both) => both.reader(id),
        }
    }

    /// Returns true if the command `tag` has waited for a buffer since the last call: for room in it, or for its content.
    pub fn take_buffer_wait(&mut self, tag: Tag) -> bool {
        match self {
            Pages(ftl) => ftl.take_buffer_wait(tag),
            // A read of zones waits for nothing but the flash.
            Zones(_) => false,
            Both(both) => both.take_buffer_wait(tag),
        }
    }

    /// Appends reads of the whole pages that hold `units` to `reads`, for those in flash whose place is known at once. Each
    /// must be submitted, or its end be reported at once. Units beyond the capacity are passed over.
    pub fn read_ahead(&mut self, units: std::ops::Range<u32>, reads: &mut Vec<ReadOp>) {
        match self {
            Pages(ftl) => ftl.read_ahead(units, reads),
            Zones(ftl) => ftl.read_ahead(units, reads),
            Both(both) => both.read_ahead(units, reads),
        }
    }

    /// Returns the page-mapped layer if the logical numbers of its units describe the program `id` fully, and nothing
    /// else is to be done.
    #[inline]
    pub fn plain(&mut self, id: OpId) -> Option<&mut Ftl> {
        match self {
            Pages(ftl) if ftl.is_plain(id) => Some(ftl),
            _ => None,
        }
    }

    /// Returns the number for the spare area of a program.
    #[inline]
    pub fn program_sequence(&self, id: OpId) -> u64 {
        match self {
            Pages(ftl) => ftl.program_sequence(id),
            Zones(ftl) => ftl.program_sequence(id),
            Both(both) => both.program_sequence(id),
        }
    }

    /// Iterates over the units of a program.
    pub fn program_units(&self, id: OpId) -> impl Iterator<Item = ProgramUnit> + '_ {
        let (pages, zones, both) = match self {
            Pages(ftl) => (Some(ftl.program_units(id)), None, None),
            Zones(ftl) => (None, Some(ftl.program_units(id)), None),
            Both(both) => (None, None, Some(both.program_units(id))),
        };
        pages.into_iter().flatten().chain(zones.into_iter().flatten()).chain(both.into_iter().flatten())
    }

    /// Writes the logical numbers of the units of a program to `to`. Returns false if they alone do not describe it.
    #[inline]
    pub fn program_logical(&self, id: OpId, to: &mut [u32]) -> bool {
        match self {
            Pages(ftl) => ftl.program_logical(id, to),
            Zones(_) | Both(_) => {
                let (mut plain, user_units) = (true, self.user_units());
                for (to, unit) in to.iter_mut().zip(self.program_units(id)) {
                    *to = unit.logical;
                    plain &= !unit.lost && (unit.logical < user_units || unit.logical == media::NOBODY);
                }
                plain
            }
        }
    }

    /// Returns the content of a unit of the layer itself, in the program `id`.
    pub fn note(&self, id: OpId, unit: u32) -> Option<&[u8]> {
        match self {
            Pages(ftl) => ftl.note(unit),
            Zones(ftl) => ftl.note(unit),
            Both(both) => both.note(id, unit),
        }
    }

    /// Returns the number of units that the host can address: lower logical numbers are the host's. Of two layers, the
    /// lower number.
    pub fn user_units(&self) -> u32 {
        match self {
            Pages(ftl) => ftl.user_units(),
            Zones(ftl) => ftl.user_units(),
            Both(both) => both.zones.user_units().min(both.pages.user_units()),
        }
    }

    /// Returns the time at which to call [`timer`](Self::timer) if nothing else happens before.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        match self {
            Pages(ftl) => ftl.next_timer(),
            _ => self.next_timer_of_zones(),
        }
    }

    fn next_timer_of_zones(&self) -> Option<Time> {
        match self {
            Pages(_) => unreachable!("handled by the caller"),
            Zones(ftl) => ftl.next_timer(),
            Both(both) => both.next_timer(),
        }
    }

    /// Handles a timer.
    pub fn timer(&mut self, now: Time, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.timer(now, out),
            Zones(ftl) => ftl.timer(now, out),
            Both(both) => both.timer(now, out),
        }
    }

    /// Resets the controller. `kept`: host memory keeps its contents.
    pub fn controller_reset(&mut self, kept: bool, flash: &impl Flash) -> HostMemoryLoss {
        match self {
            Pages(ftl) => ftl.controller_reset(kept, flash),
            Zones(ftl) => {
                ftl.controller_reset();
                HostMemoryLoss::default()
            }
            Both(both) => both.controller_reset(kept, flash),
        }
    }

    /// Goes on after a reset of the controller.
    pub fn resume(&mut self, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.resume(out),
            Zones(ftl) => ftl.resume(out),
            Both(both) => both.resume(out),
        }
    }

    /// Begins to write all buffered data to flash.
    pub fn write_out(&mut self, out: &mut Actions) {
        match self {
            Pages(ftl) => ftl.write_out(out),
            Zones(ftl) => ftl.write_out(out),
            Both(both) => both.write_out(out),
        }
    }

    /// Returns true if no data is only in the buffer.
    pub fn is_written_out(&self) -> bool {
        match self {
            Pages(ftl) => ftl.is_written_out(),
            Zones(ftl) => ftl.is_written_out(),
            Both(both) => both.is_written_out(),
        }
    }

    /// Writes back a changed part of the map from number `from` on. Returns the next number, if there is more.
    pub fn write_back_map(&mut self, from: u32, out: &mut Actions) -> Option<u32> {
        match self {
            Pages(ftl) => ftl.write_back_map(from, out),
            Zones(_) => None,
            Both(both) => both.write_back_map(from, out),
        }
    }

    /// Uses the configured host memory, which a drive with zones has none of.
    pub fn enable_host_memory(&mut self) {
        self.pages_mut().enable_host_memory();
    }

    /// Uses `memory` of the host.
    pub fn enable_lent_memory(&mut self, memory: HostMemory) {
        self.pages_mut().enable_lent_memory(memory);
    }

    /// Begins to return host memory.
    pub fn release_host_memory(&mut self, out: &mut Actions) {
        self.pages_mut().release_host_memory(out);
    }

    /// Returns true if the layer uses host memory.
    pub fn uses_host_memory(&self) -> bool {
        matches!(self, Pages(ftl) if ftl.uses_host_memory())
    }

    /// Handles damaged map entries in host memory.
    pub fn host_memory_damaged(&mut self, id: OpId, flash: &impl Flash, out: &mut Actions) -> HostMemoryLoss {
        self.pages_mut().host_memory_damaged(id, flash, out)
    }

    /// Returns the lines of map entries that an access to host memory concerns.
    #[inline]
    pub fn host_memory_lines(&self, id: OpId, entries: &mut Vec<u8>) -> Option<HostLines> {
        self.pages().host_memory_lines(id, entries)
    }

    /// Returns the promise of the command `tag`, which ends successfully.
    pub fn promise(&self, tag: Tag) -> Promise {
        match self {
            Pages(ftl) => Promise::of_pages(ftl, tag),
            Zones(ftl) => Promise::of_zones(ftl, tag),
            Both(both) => both.promise(tag),
        }
    }

    /// Returns the sequence number below which all programs have completed.
    pub fn oldest_sequence(&self) -> u64 {
        match self {
            Pages(ftl) => ftl.oldest_sequence(),
            Zones(ftl) => ftl.oldest_sequence(),
            Both(both) => both.oldest_sequence(),
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        match self {
            Pages(ftl) => *ftl.stats(),
            Zones(ftl) => stats_of(ftl),
            Both(both) => both.stats(stats_of(&both.zones)),
        }
    }

    /// Resets the counters.
    pub fn reset_stats(&mut self) {
        match self {
            Pages(ftl) => ftl.reset_stats(),
            Zones(ftl) => ftl.reset_stats(),
            Both(both) => both.reset_stats(),
        }
    }

    /// Returns the counters of each reclaim unit handle; empty without placement.
    pub fn handle_stats(&self) -> &[HandleStats] {
        match self {
            Pages(ftl) => ftl.handle_stats(),
            Zones(_) | Both(_) => &[],
        }
    }

    /// Returns the current occupancy.
    pub fn occupancy(&self) -> Occupancy {
        match self {
            Pages(ftl) => ftl.occupancy(),
            Zones(_) => Occupancy::default(),
            Both(both) => both.pages.occupancy(),
        }
    }

    /// Returns what the drive can take before it must collect; that of zones is in the host's hands.
    pub fn headroom(&self) -> Headroom {
        match self {
            Pages(ftl) => ftl.headroom(),
            Zones(_) => Headroom::default(),
            Both(both) => both.pages.headroom(),
        }
    }

    /// Returns the number of parallel units that collect blocks on their own; 0 for zones.
    pub fn collecting_units(&self) -> u32 {
        match self {
            Pages(ftl) => ftl.parallel_units(),
            Zones(_) => 0,
            Both(both) => both.pages.parallel_units(),
        }
    }

    /// Returns the minimum, mean and maximum number of erases of a block.
    pub fn wear(&self) -> (u32, f64, u32) {
        match self {
            Pages(ftl) => ftl.wear(),
            Zones(ftl) => ftl.wear(),
            Both(both) => both.wear(),
        }
    }

    /// Returns true if the drive no longer accepts writes.
    pub fn is_read_only(&self) -> bool {
        match self {
            Pages(ftl) => ftl.is_read_only(),
            Zones(ftl) => ftl.is_read_only(),
            Both(both) => both.is_read_only(),
        }
    }

    /// Returns how many entries the map cache holds, and its capacity, if there is one.
    pub fn map_cache_use(&self) -> Option<(u32, u32)> {
        match self {
            Pages(ftl) => ftl.map_cache_use(),
            Zones(_) | Both(_) => None,
        }
    }
}

/// Returns the address at which an append to the zone at `offset` would be written.
fn append_offset(ftl: &ZonedFtl, offset: u64) -> u64 {
    let unit = u64::from(ftl.unit_bytes());
    let zones = ftl.zones();
    zones.zone_of(offset / unit).map_or(offset, |zone| (zones.start(zone) + zones.written(zone)) * unit)
}

/// Returns the counters of a layer of zones as those of a page-mapped one.
fn stats_of(ftl: &ZonedFtl) -> Stats {
    let of = ftl.stats();
    Stats {
        host_units: of.host_units,
        host_bytes: of.host_units * u64::from(ftl.unit_bytes()),
        programmed_host: of.programmed_host,
        programmed_copy: of.programmed_copy,
        programmed_system: of.programmed_log,
        programmed_padding: of.programmed_padding,
        programs: of.programs,
        host_reads: of.host_reads,
        read_hits: of.read_hits,
        read_misses: of.read_misses,
        read_unwritten: of.read_unwritten,
        copy_reads: of.copy_reads,
        erases: of.erases,
        failures: of.failures,
        lost_units: of.lost_units,
        ..Stats::default()
    }
}

impl Part for Translation {
    type Event = Timer;
    type Output = Actions;

    fn handle(&mut self, now: Time, _: Timer, _: &mut impl Schedule<Timer>, out: &mut Actions) {
        self.timer(now, out);
    }

    fn next_timer(&self) -> Option<Time> {
        Translation::next_timer(self)
    }
}
