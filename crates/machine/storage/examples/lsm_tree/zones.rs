//! Files of the tree in zones: each class of files has an open zone. A zone is reset once all its files are deleted;
//! where too few are empty, the host empties the zone with the fewest live units.

use std::collections::{BTreeSet, HashMap};

use media::{Op, Request};

use super::tree::Change;
use super::{CLASSES, UNIT, ZONE};

/// Empty zones that the host keeps for its copies.
const RESERVE: usize = 2;

/// Units of a file from `first` on in a zone.
#[derive(Clone, Copy)]
struct Extent {
    zone: usize,
    first: u32,
    units: u32,
}

#[derive(Clone, Default)]
struct Zone {
    written: u32,
    live: u32,
    /// Files that have units here, deleted ones included.
    files: Vec<u32>,
}

/// Zones of a drive. A file is live until the next change at least, so no zone is full of deleted files when it fills.
pub struct Zones {
    zones: Vec<Zone>,
    empty: BTreeSet<usize>,
    /// The open zone of each class, and last that of copies.
    open: [Option<usize>; CLASSES + 1],
    files: HashMap<u32, Vec<Extent>>,
}

impl Zones {
    /// Creates `count` empty zones.
    pub fn new(count: usize) -> Zones {
        Zones {
            zones: vec![Zone::default(); count],
            empty: (0..count).collect(),
            open: [None; CLASSES + 1],
            files: HashMap::new(),
        }
    }

    /// Passes the requests of a change to `request`.
    pub fn apply(&mut self, change: Change, request: &mut dyn FnMut(Request)) {
        match change {
            Change::Write { file, class, units } => {
                self.files.insert(file, Vec::new());
                self.write(file, class, units, request);
            }
            Change::Delete { file } => {
                for Extent { zone, units, .. } in self.files.remove(&file).expect("a file that exists") {
                    self.drop_units(zone, units, request);
                }
            }
        }
    }

    fn write(&mut self, file: u32, class: usize, mut units: u32, request: &mut dyn FnMut(Request)) {
        while units > 0 {
            let zone = match self.open[class] {
                Some(zone) => zone,
                None => self.open_zone(class, request),
            };
            let place = &mut self.zones[zone];
            let part = units.min(ZONE - place.written);
            let at = (zone as u64 * u64::from(ZONE) + u64::from(place.written)) * UNIT;
            request(Request::new(Op::Write, at, u64::from(part) * UNIT));
            let extent = Extent { zone, first: place.written, units: part };
            place.written += part;
            place.live += part;
            place.files.push(file);
            units -= part;
            self.files.get_mut(&file).expect("a file that is written").push(extent);
            if self.zones[zone].written == ZONE {
                self.open[class] = None;
            }
        }
    }

    fn open_zone(&mut self, class: usize, request: &mut dyn FnMut(Request)) -> usize {
        while class < CLASSES && self.empty.len() <= RESERVE {
            self.collect(request);
        }
        let zone = self.empty.pop_first().expect("an empty zone");
        self.open[class] = Some(zone);
        zone
    }

    /// Empties the full zone with the fewest live units: copies these to another zone, and resets it.
    fn collect(&mut self, request: &mut dyn FnMut(Request)) {
        let full = (0..self.zones.len()).filter(|zone| self.zones[*zone].written == ZONE);
        let victim = full.min_by_key(|zone| self.zones[*zone].live).expect("a full zone");
        assert!(self.zones[victim].live < ZONE, "no zone has anything to reclaim");
        let mut files = std::mem::take(&mut self.zones[victim].files);
        files.dedup();
        for file in files {
            let Some(extents) = self.files.get_mut(&file) else { continue };
            let (here, elsewhere): (Vec<_>, Vec<_>) = extents.drain(..).partition(|extent| extent.zone == victim);
            *extents = elsewhere;
            for Extent { first, units, .. } in here {
                let at = (victim as u64 * u64::from(ZONE) + u64::from(first)) * UNIT;
                request(Request::new(Op::Read, at, u64::from(units) * UNIT));
                self.write(file, CLASSES, units, request);
                self.drop_units(victim, units, request);
            }
        }
    }

    /// Removes live units from `zone`, and resets it if they were the last of a full zone.
    fn drop_units(&mut self, zone: usize, units: u32, request: &mut dyn FnMut(Request)) {
        let place = &mut self.zones[zone];
        place.live -= units;
        if place.live == 0 && place.written == ZONE {
            *place = Zone::default();
            self.empty.insert(zone);
            request(Request::new(Op::ZoneReset, zone as u64 * u64::from(ZONE) * UNIT, u64::from(ZONE) * UNIT));
        }
    }
}
