//! Files of the tree on a drive with one address space: each takes a free place, which is deallocated with the file.

use std::collections::{BTreeSet, HashMap};

use media::{Op, Request};

use super::UNIT;
use super::tree::{Change, FILE};

/// Places of files on a drive.
pub struct Blocks {
    free: BTreeSet<u32>,
    /// Place and units of each file.
    files: HashMap<u32, (u32, u32)>,
    /// Writes name the class of their file.
    handles: bool,
}

impl Blocks {
    /// Creates `count` free places. `handles`: each class of files has a reclaim unit handle.
    pub fn new(count: u32, handles: bool) -> Blocks {
        Blocks { free: (0..count).collect(), files: HashMap::new(), handles }
    }

    /// Passes the requests of a change to `request`.
    pub fn apply(&mut self, change: Change, request: &mut dyn FnMut(Request)) {
        let range = |op, place, units| Request::new(op, u64::from(place * FILE) * UNIT, u64::from(units) * UNIT);
        match change {
            Change::Write { file, class, units } => {
                let place = self.free.pop_first().expect("a place for every file");
                self.files.insert(file, (place, units));
                let placement = if self.handles { class as u16 } else { 0 };
                request(Request { placement, ..range(Op::Write, place, units) });
            }
            Change::Delete { file } => {
                let (place, units) = self.files.remove(&file).expect("a file that exists");
                self.free.insert(place);
                request(range(Op::Trim, place, units));
            }
        }
    }
}
