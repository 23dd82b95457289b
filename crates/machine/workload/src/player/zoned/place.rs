//! Places requests in zones.

use media::{Op, Request};

use super::choice::Choice;
use super::job::Pending;
use super::{ZonedJob, Zones};
use crate::fio::{READ, TRIM, WRITE};
use crate::player::pattern::Pattern;
use crate::player::placing::{Placed, Placing};

/// A job and the zones that it shares.
pub(in crate::player) struct InZones<'a> {
    pub job: &'a mut ZonedJob,
    pub zones: &'a mut Zones,
}

/// A place: the first byte, the length, and the zone, if the request holds it.
type Place = (u64, u64, Option<u32>);

impl Placing for InZones<'_> {
    fn waiting(&self) -> Option<usize> {
        self.job.pending.map(|pending| pending.direction)
    }

    fn choose(&mut self, pattern: &mut Pattern) -> usize {
        self.job.direction(pattern.choose())
    }

    fn place(&mut self, pattern: &mut Pattern, direction: usize, in_flight: u32) -> Placed {
        if self.job.is_managing() {
            return Placed::Park;
        }
        if let Some(placed) = self.job.clear(self.zones, in_flight) {
            return placed;
        }
        loop {
            if self.job.pending.is_none() {
                self.follow(pattern, direction);
                self.job.pending = pattern.propose(direction).map(|(at, bytes)| Pending {
                    direction,
                    at: self.job.region.start + at,
                    bytes,
                    zone: None,
                    counted: false,
                });
            }
            let found = match direction {
                READ => self.read(in_flight),
                WRITE => self.write(in_flight),
                _ => self.trim(in_flight),
            };
            match found {
                Ok((at, bytes, zone)) => {
                    self.job.pending = None;
                    return self.issue(pattern, direction, (at, bytes, zone));
                }
                // As in fio, the job starts again, unless a pass finds nothing.
                Err(Placed::End) if self.job.starts_again() => {
                    self.job.pending = None;
                    pattern.jump(direction, 0);
                }
                Err(other) => return other,
            }
        }
    }
}

impl InZones<'_> {
    /// Moves a sequential direction from the end of a zone to the next zone to access.
    fn follow(&mut self, pattern: &mut Pattern, direction: usize) {
        let InZones { job, zones } = self;
        let at = job.region.start + pattern.end(direction);
        if job.random || at >= job.region.start + job.region.bytes {
            return;
        }
        if at == job.region.start {
            (job.base, job.zone_bytes) = (at, 0);
        }
        let (zone, mut next) = (zones.of(at), at);
        let end = zones.start(zone) + zones.size;
        if direction == WRITE && at - zones.start(zone) >= zones.capacity {
            next = end;
        }
        let below = zones.start(zone) + zones.readable(zone);
        let read_all = direction == READ && !job.keys.reads_beyond && next >= below;
        if job.skip > 0 && (job.zone_bytes >= zones.size || next >= end || read_all) {
            job.zone_bytes = 0;
            job.base = job.base.saturating_add(zones.size).saturating_add(job.skip);
            if job.base >= job.region.start + job.region.bytes {
                job.base = job.region.start;
            }
            next = job.base;
        }
        if next != at {
            pattern.jump(direction, next - job.region.start);
        }
    }

    /// Makes a request of a place.
    fn issue(&mut self, pattern: &mut Pattern, direction: usize, (at, bytes, zone): Place) -> Placed {
        let InZones { job, zones } = self;
        job.count(direction, bytes);
        let request = pattern.take(direction, at - job.region.start, bytes);
        let Some(zone) = zone else { return Placed::Request(request, 0) };
        let op = if direction == TRIM && zones.real { Op::ZoneReset } else { request.op };
        let last = direction == WRITE && zones.room(zone) == 0;
        Placed::Request(Request { op, ..request }, zones.hold(zone, job.index, last))
    }

    /// Returns an error unless the job may issue a request to a zone.
    fn hold(&self, zone: u32, in_flight: u32) -> Result<(), Placed> {
        match () {
            () if self.zones.is_free(zone, self.job.index) => Ok(()),
            () if in_flight > 0 => Err(Placed::Park),
            () => Err(Placed::Hold),
        }
    }

    /// Returns the nearest zone with `least` written bytes: after `zone`, and for a random job also before.
    fn find(&self, zone: u32, least: u64) -> Option<u32> {
        let InZones { job, zones } = self;
        let holds = |zone: &u32| zones.readable(*zone) >= least;
        if !job.random {
            return (zone + 1..job.end).find(holds);
        }
        let reach = (job.end - zone).max(zone + 1 - job.first);
        (1..=reach).find_map(|step| {
            let after = Some(zone + step).filter(|zone| *zone < job.end);
            let before = zone.checked_sub(step).filter(|zone| *zone >= job.first);
            after.filter(holds).or(before.filter(holds))
        })
    }

    fn read(&mut self, in_flight: u32) -> Result<Place, Placed> {
        let InZones { job, zones } = self;
        let Pending { at, bytes, .. } = job.pending.ok_or(Placed::End)?;
        if job.keys.reads_beyond {
            return Ok((at, bytes, None));
        }
        let (least, drawn) = (job.least[READ], zones.of(at));
        let (mut zone, mut place) = (drawn, at);
        let range = zones.readable(zone);
        if range < least || (!job.random && at + least > zones.start(zone) + range) {
            zone = self.find(zone, least).ok_or(Placed::End)?;
            if !self.job.random {
                place = self.zones.start(zone);
            }
        }
        self.hold(zone, in_flight)?;
        let InZones { job, zones } = self;
        let (start, range) = (zones.start(zone), zones.readable(zone));
        if range <= bytes {
            place = start;
        } else if job.random {
            place = start + (at - zones.start(drawn)) % (range - bytes) / least * least;
        }
        let bytes = bytes.min(start + range - place);
        Ok((place, bytes - bytes % least, Some(zone)))
    }

    fn trim(&mut self, in_flight: u32) -> Result<Place, Placed> {
        let InZones { job, zones } = self;
        let Pending { at, bytes, .. } = job.pending.ok_or(Placed::End)?;
        let mut zone = zones.of(at);
        if job.random && zones.zones[zone as usize].written == 0 {
            zone = self.find(zone, 1).ok_or(Placed::End)?;
        }
        self.hold(zone, in_flight)?;
        self.zones.set_written(zone, 0);
        self.zones.drop_target(zone);
        Ok((self.zones.start(zone), bytes, Some(zone)))
    }

    fn write(&mut self, in_flight: u32) -> Result<Place, Placed> {
        let least = self.job.least[WRITE];
        let chosen = loop {
            let pending = self.job.pending.ok_or(Placed::End)?;
            if let Some(zone) = pending.zone {
                if self.zones.open_max == 0 || self.zones.zones[zone as usize].target {
                    break zone;
                }
                // Other jobs have filled it since it was chosen.
                self.set(|pending| pending.zone = None);
            }
            if pending.at >= self.job.region.start + self.job.region.bytes {
                return Err(Placed::End);
            }
            let drawn = self.zones.of(pending.at);
            if self.has_remainder(drawn) {
                self.hold(drawn, in_flight)?;
                self.finish(drawn, in_flight)?;
                continue;
            }
            match self.job.choose(self.zones, drawn, &pending, in_flight) {
                Choice::Zone(zone) if self.has_remainder(zone) => self.move_to(self.zones.start(zone)),
                Choice::Zone(zone) => break zone,
                Choice::Finish(zone) => {
                    self.set(|pending| pending.zone = Some(zone));
                    if let Some(finish) = self.job.finish(self.zones, zone) {
                        return Err(finish);
                    }
                }
                other => return Err(other.into()),
            }
        };
        if self.job.is_full(self.zones, chosen) {
            // It is a target now, and stays the choice until the reset.
            self.set(|pending| pending.zone = Some(chosen));
        }
        self.hold(chosen, in_flight)?;
        let InZones { job, zones } = self;
        let Pending { bytes, counted, .. } = job.pending.ok_or(Placed::End)?;
        if job.keys.reset_frequency > 0.0 && !counted && !job.keeps_data {
            let threshold = job.region.bytes as f64 * job.keys.reset_threshold;
            if zones.written as f64 >= threshold {
                zones.countdown -= 1;
                if zones.countdown == 0 {
                    job.restart_countdown(zones);
                    zones.zones[chosen as usize].due = true;
                }
            }
            self.set(|pending| pending.counted = true);
        }
        let InZones { job, zones } = self;
        if zones.zones[chosen as usize].due || job.is_full(zones, chosen) {
            if in_flight > 0 {
                return Err(Placed::Park);
            }
            zones.zones[chosen as usize].due = false;
            if zones.zones[chosen as usize].written > 0
                && let Some(reset) = job.reset(zones, chosen)
            {
                self.set(|pending| pending.zone = Some(chosen));
                return Err(reset);
            }
        }
        let InZones { job, zones } = self;
        let (written, room) = (zones.zones[chosen as usize].written, zones.room(chosen));
        let mut bytes = bytes.min(room);
        if !job.keys.fills_ends || bytes > least {
            bytes -= bytes % least;
        }
        debug_assert!(bytes > 0, "zone {chosen} has {room} bytes left");
        zones.set_written(chosen, written + bytes);
        Ok((zones.start(chosen) + written, bytes, Some(chosen)))
    }

    /// Returns whether the end of a zone is too small for a request.
    fn has_remainder(&self, zone: u32) -> bool {
        !self.job.keys.fills_ends && (1..self.job.least[WRITE]).contains(&self.zones.room(zone))
    }

    /// Finishes a zone in which the next request has no space, and continues in the next zone. A sequential job ends after
    /// its last zone.
    fn finish(&mut self, zone: u32, in_flight: u32) -> Result<(), Placed> {
        if in_flight > 0 {
            return Err(Placed::Park);
        }
        let InZones { job, zones } = self;
        zones.drop_target(zone);
        let finish = job.finish(zones, zone);
        let next = match zone + 1 {
            next if next < job.end => Some(next),
            _ if job.random => Some(job.first),
            _ => None,
        };
        // Behind its last zone, nothing is left of a pass.
        let end = job.region.start + job.region.bytes;
        self.move_to(next.map_or(end, |next| self.zones.start(next)));
        finish.map_or(Ok(()), Err)
    }

    fn move_to(&mut self, at: u64) {
        self.set(|pending| pending.at = at);
    }

    fn set(&mut self, change: impl FnOnce(&mut Pending)) {
        if let Some(pending) = &mut self.job.pending {
            change(pending);
        }
    }
}
