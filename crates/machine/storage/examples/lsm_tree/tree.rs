//! A log-structured merge tree with leveled compaction, reduced to the files that it writes and deletes: a file is its
//! sorted keys.

use std::collections::BTreeSet;

/// Keys of a file, and of the log that is written until the file is.
pub const KEYS: usize = 128;
/// Keys per unit of 4 KiB: values of about 1 KiB.
const PER_UNIT: usize = 4;
/// Units of a file.
pub const FILE: u32 = (KEYS / PER_UNIT) as u32;
/// Files of level 0, whose keys overlap, and of level 1; each further level has room for `FANOUT` times more.
const FIRST: usize = 4;
const SECOND: usize = 5;
const FANOUT: usize = 10;

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new file of `units`: of the log (class 0), or of level `class - 1`.
    Write { file: u32, class: usize, units: u32 },
    /// A file is no longer needed.
    Delete { file: u32 },
}

#[derive(Debug)]
struct Table {
    file: u32,
    /// Sorted, and not empty.
    keys: Vec<u32>,
}

impl Table {
    fn overlaps(&self, first: u32, last: u32) -> bool {
        self.keys[0] <= last && first <= self.keys[self.keys.len() - 1]
    }
}

/// A tree, and what became of its files since they were last taken.
#[derive(Default)]
pub struct Tree {
    /// Keys in memory, and the number of writes that the log holds.
    memory: BTreeSet<u32>,
    logged: usize,
    /// Level 0 is in the order of age, the others in that of keys.
    levels: Vec<Vec<Table>>,
    /// The key after which each level is compacted next.
    compacted: Vec<u32>,
    files: u32,
    changes: Vec<Change>,
}

impl Tree {
    /// Writes `key`.
    pub fn put(&mut self, key: u32) {
        self.memory.insert(key);
        self.logged += 1;
        if self.logged == KEYS {
            self.flush();
        }
    }

    /// Returns what became of files, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Returns the number of levels that hold files.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Writes the keys in memory as a file of level 0. The log was written before.
    fn flush(&mut self) {
        let log = self.write(0, self.logged);
        let keys: Vec<u32> = std::mem::take(&mut self.memory).into_iter().collect();
        self.logged = 0;
        let file = self.write(1, keys.len());
        self.level(0).push(Table { file, keys });
        self.changes.push(Change::Delete { file: log });
        self.compact();
    }

    fn write(&mut self, class: usize, keys: usize) -> u32 {
        self.files += 1;
        self.changes.push(Change::Write { file: self.files, class, units: keys.div_ceil(PER_UNIT) as u32 });
        self.files
    }

    fn level(&mut self, number: usize) -> &mut Vec<Table> {
        while self.levels.len() <= number {
            self.levels.push(Vec::new());
            self.compacted.push(0);
        }
        &mut self.levels[number]
    }

    /// Compacts until no level has more files than it has room for.
    fn compact(&mut self) {
        if self.levels[0].len() > FIRST {
            let tables = std::mem::take(&mut self.levels[0]);
            self.merge(tables, 1);
        }
        let mut room = SECOND;
        let mut number = 1;
        while number < self.levels.len() {
            while self.levels[number].len() > room {
                let after = self.compacted[number];
                let at = self.levels[number].iter().position(|table| table.keys[0] > after).unwrap_or(0);
                let table = self.levels[number].remove(at);
                self.compacted[number] = table.keys[table.keys.len() - 1];
                self.merge(vec![table], number + 1);
            }
            room *= FANOUT;
            number += 1;
        }
    }

    /// Merges `tables` with those of level `number` whose keys overlap.
    fn merge(&mut self, mut tables: Vec<Table>, number: usize) {
        let first = tables.iter().map(|table| table.keys[0]).min().expect("tables to merge");
        let last = tables.iter().map(|table| table.keys[table.keys.len() - 1]).max().expect("tables to merge");
        let level = self.level(number);
        let from = level.partition_point(|table| table.keys[table.keys.len() - 1] < first);
        let to = from + level[from..].iter().take_while(|table| table.overlaps(first, last)).count();
        tables.extend(level.drain(from..to));
        let mut keys: Vec<u32> = tables.iter().flat_map(|table| table.keys.iter().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut merged = Vec::new();
        for keys in keys.chunks(KEYS) {
            merged.push(Table { file: self.write(number + 1, keys.len()), keys: keys.to_vec() });
        }
        self.levels[number].splice(from..from, merged);
        self.changes.extend(tables.iter().map(|table| Change::Delete { file: table.file }));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn files_hold_the_keys_and_are_deleted_once() {
        let (mut tree, mut written, mut live) = (Tree::default(), BTreeSet::new(), BTreeMap::new());
        let mut state = 1u32;
        for _ in 0..200 * KEYS {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = (state >> 8) % 20_000;
            written.insert(key);
            tree.put(key);
            for change in tree.take_changes() {
                match change {
                    Change::Write { file, units, .. } => assert!(live.insert(file, units).is_none()),
                    Change::Delete { file } => assert!(live.remove(&file).is_some(), "file {file} is deleted twice"),
                }
            }
        }
        let tables: Vec<&Table> = tree.levels.iter().flatten().collect();
        let held: BTreeSet<u32> = tables.iter().flat_map(|table| table.keys.iter().copied()).collect();
        assert!(tree.memory.is_empty() && held == written);
        assert!(tree.levels() == 4 && tree.levels[0].len() <= FIRST && tree.levels[1].len() <= SECOND);
        let files: BTreeMap<u32, u32> =
            tables.iter().map(|table| (table.file, table.keys.len().div_ceil(PER_UNIT) as u32)).collect();
        assert_eq!(files, live);
        for level in &tree.levels[1..] {
            assert!(level.windows(2).all(|pair| pair[0].keys.last() < pair[1].keys.first()));
        }
    }
}
