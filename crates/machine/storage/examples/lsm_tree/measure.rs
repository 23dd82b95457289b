//! Runs the files of a tree on the drives.

use media::{Request, Status};
use nand::{PayloadKind, Store};
use sim::Streams;
use storage::fast::Fast;
use system::System;
use system::parts::Parts;

use super::blocks::Blocks;
use super::tree::{Change, FILE, Tree};
use super::zones::Zones;

/// Bytes of a mapping unit.
pub const UNIT: u64 = 4096;
/// Units of a block, and of a zone: eight files.
pub const ZONE: u32 = 8 * FILE;
/// Blocks that a drive with zones keeps for its log, and for zones that it moves.
const KEPT: u32 = 10;
/// Classes of files: the log, and up to five levels.
pub const CLASSES: usize = 6;

/// What a tree does to its files.
pub struct Recorded {
    changes: Vec<Change>,
    /// Number of changes before the tree is in its steady state.
    warm_up: usize,
    /// The most files at a time.
    pub peak: u64,
    /// Units that the tree writes after the warm-up, over those put into it.
    pub amplification: f64,
}

/// Records a tree that puts each of `count` keys in random order, then as many keys at random `rounds` times, the first
/// of which is the warm-up.
pub fn record(count: u32, rounds: u32) -> Recorded {
    let mut rng = Streams::new(1).stream("lsm.keys");
    let mut order: Vec<u32> = (0..count).collect();
    (1..order.len()).rev().for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
    let mut tree = Tree::default();
    order.into_iter().for_each(|key| tree.put(key));
    (0..count).for_each(|_| tree.put(rng.below(u64::from(count)) as u32));
    let mut changes = tree.take_changes();
    let warm_up = changes.len();
    (0..(rounds - 1) * count).for_each(|_| tree.put(rng.below(u64::from(count)) as u32));
    changes.extend(tree.take_changes());
    assert!(tree.levels() < CLASSES, "a tree of {} levels", tree.levels());
    let (mut files, mut peak, mut units) = (0u64, 0, 0);
    for (number, change) in changes.iter().enumerate() {
        match change {
            Change::Write { units: of, .. } => {
                files += 1;
                units += if number >= warm_up { u64::from(*of) } else { 0 };
            }
            Change::Delete { .. } => files -= 1,
        }
        peak = peak.max(files);
    }
    let puts = u64::from((rounds - 1) * count) * u64::from(FILE) / super::tree::KEYS as u64;
    Recorded { changes, warm_up, peak, amplification: units as f64 / puts as f64 }
}

/// Units written and programmed after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// By the tree, which makes no copies.
    pub files: u64,
    pub programmed: u64,
}

impl Written {
    pub fn amplification(&self) -> f64 {
        self.programmed as f64 / self.files as f64
    }
}

/// Measures three drives of the same flash, `spare` times the most that the files take: one address space, the same with
/// a handle for each class of files, and zones.
pub fn measure(recorded: &Recorded, spare: f64) -> [Written; 3] {
    let places = recorded.peak as u32;
    let blocks = (f64::from(places * FILE) * spare / f64::from(ZONE)).ceil() as u32;
    // A thousandth less, because the capacity is rounded.
    let over = f64::from(blocks * ZONE) / f64::from(places * FILE) - 1.001;
    let over = format!("{over:.6}");
    let conventional = |handles: bool| {
        let mut sets = vec![("ftl.over_provisioning", over.as_str())];
        if handles {
            sets.extend([("ftl.placement.isolation", "initial"), ("ftl.placement.handles", "6")]);
        }
        let parts = drive(blocks, &sets);
        assert!(parts.ftl.user_units >= places * FILE, "{} units for {places} files", parts.ftl.user_units);
        let mut host = Blocks::new(places, handles);
        run(&parts, recorded, &mut |change, request| host.apply(change, request))
    };
    let zoned = {
        let count = blocks - KEPT;
        let zones = count.to_string();
        let sets = [("device.namespace", "zoned"), ("device.zones.size", "1MiB"), ("device.zones.count", &zones)];
        let mut host = Zones::new(count as usize);
        run(&drive(blocks, &sets), recorded, &mut |change, request| host.apply(change, request))
    };
    [conventional(false), conventional(true), zoned]
}

/// Creates a drive of one die with a minimal controller, so that the translation layer decides everything.
fn drive(blocks: u32, sets: &[(&str, &str)]) -> Parts {
    let (blocks, pages) = (blocks.to_string(), ZONE.to_string());
    let mut all = vec![
        ("flash.channels", "1"),
        ("flash.chips", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", blocks.as_str()),
        ("flash.pages", pages.as_str()),
        ("flash.page", "4KiB"),
        ("ftl.unit", "4KiB"),
        ("ftl.group", "drive"),
        ("ftl.gc.start", "3"),
        ("ftl.gc.policy", "greedy"),
        ("ftl.wear_leveling.static", "off"),
        ("ftl.slc_cache.size", "0B"),
        ("device.power_loss_protection", "true"),
        ("device.read_cache.size", "0B"),
        ("device.write_cache.size", "1MiB"),
        ("host.max_transfer", "256KiB"),
    ];
    all.extend(sets);
    let system = System::from_toml("drive", "title = \"a drive\"", &all).unwrap_or_else(|error| panic!("{error}"));
    Parts::new(&system, PayloadKind::None).unwrap_or_else(|error| panic!("{error}"))
}

/// Passes the requests of a change to a function that serves them.
type Apply<'a> = dyn FnMut(Change, &mut dyn FnMut(Request)) + 'a;

/// Applies all changes to a new drive.
fn run(parts: &Parts, recorded: &Recorded, apply: &mut Apply) -> Written {
    let store = Store::new(&parts.nand.geometry, parts.nand.payload, parts.nand.order, 0);
    let (nand, mut ftl, _) = parts.mount(store, &Streams::new(1)).unwrap_or_else(|error| panic!("{error}"));
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    let (mut before, mut files) = (fast.ftl().stats(), 0);
    for (number, change) in recorded.changes.iter().enumerate() {
        if number == recorded.warm_up {
            before = fast.ftl().stats();
        }
        if let Change::Write { units, .. } = change
            && number >= recorded.warm_up
        {
            files += u64::from(*units);
        }
        apply(*change, &mut |request| assert_eq!(fast.request(request), Status::Ok, "{request:?}"));
    }
    let of = fast.ftl().stats().since(&before);
    let programmed =
        of.programmed_host + of.programmed_copy + of.programmed_system + of.programmed_padding + of.programmed_parity;
    Written { files, programmed }
}
