//! The versions of a page, newest first: what each time sees of them, and which are no longer needed.

use crate::space::blocks::Blocks;
use crate::space::layout::Layout;
use crate::table::entry::Entry;
use crate::table::status::{EntryState, Status};
use crate::table::vector::Vector;
use crate::table::{Fault, Table};

/// Not in the table yet.
pub(crate) const NEW: u32 = u32::MAX;

/// An entry of a chain and its index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub index: u32,
    pub entry: Entry,
}

/// A page's versions, taken out of the table to be changed and stored again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    pub page: u32,
    pub nodes: Vec<Node>,
    /// Their previous indices.
    old: Vec<u32>,
    spare: Vec<u32>,
    starts: Vec<u32>,
    keep: Vec<u32>,
}

impl Chain {
    /// Fetches the versions of `page` from the table.
    pub fn fetch(&mut self, page: u32, table: &Table) -> Result<(), Fault> {
        self.page = page;
        self.nodes.clear();
        self.old.clear();
        let mut index = page;
        let mut entry = table.entry(page)?;
        if entry.status.state() == EntryState::Nothing {
            return Ok(());
        }
        loop {
            self.nodes.push(Node { index, entry });
            self.old.push(index);
            if entry.previous == 0 {
                return Ok(());
            }
            index = entry.previous;
            entry = table.entry(index)?;
            assert_ne!(entry.status, Status::FREE, "the chain of page {page} contains the free entry {index}");
        }
    }

    /// Adds a version on top.
    pub fn push(&mut self, entry: Entry) {
        self.nodes.insert(0, Node { index: NEW, entry });
    }

    /// Stores the versions in the table. The newest becomes the page's own entry; the previous one moves to a version
    /// entry, and so on, in the paper's steps. [`Table::ensure_free`] must have confirmed enough free entries.
    pub fn store(&mut self, table: &mut Table, blocks: &mut Blocks, layout: &Layout) {
        let page = self.page;
        table.touch(page);
        let Some(first) = self.nodes.first().map(|node| node.index) else {
            if !self.old.is_empty() {
                table.set(page, Entry::default(), blocks, layout);
            }
            for index in self.old.drain(..).filter(|index| *index != page) {
                table.give(index, blocks, layout);
            }
            return;
        };
        if first != page {
            if let Some(head) = self.nodes.iter_mut().find(|node| node.index == page) {
                head.index = NEW;
            }
            self.nodes[0].index = page;
        }
        self.spare.clear();
        for index in self.old.iter().filter(|index| **index != page) {
            if !self.nodes.iter().any(|node| node.index == *index) {
                self.spare.push(*index);
            }
        }
        for node in &mut self.nodes {
            if node.index == NEW {
                node.index = self.spare.pop().unwrap_or_else(|| table.take());
            }
        }
        let mut previous = 0;
        for node in self.nodes.iter_mut().rev() {
            node.entry.previous = previous;
            previous = node.index;
        }
        // Count new data before old data is released, so that a block does not seem empty in between.
        for node in &self.nodes {
            table.set(node.index, node.entry, blocks, layout);
        }
        for index in self.spare.drain(..) {
            table.give(index, blocks, layout);
        }
    }

    /// Returns the page's present status and owner; `None` if it does not exist.
    pub fn ownership(&self) -> Option<(Status, u32)> {
        let holder = self.nodes.iter().find(|node| node.entry.status.is_holder())?;
        (holder.entry.status.state() == EntryState::Live).then_some((holder.entry.status, holder.entry.mapping as u32))
    }

    /// Returns the flash page of `segment` in the present state. Reads use [`Lookup`](crate::table::lookup::Lookup),
    /// which must agree.
    #[cfg(debug_assertions)]
    pub fn find(&self, segment: u32, segments: u32, layout: &Layout) -> Option<u64> {
        for Node { entry, .. } in &self.nodes {
            if entry.status.is_holder() {
                if entry.status.state() == EntryState::Deleted {
                    return None;
                }
            } else if let Some(bit) = entry.vector.distance(segment, segments) {
                return Some(layout.reach(entry.mapping, bit));
            }
        }
        None
    }

    /// Returns the first version that `view` sees.
    fn start(&self, view: u32) -> usize {
        self.nodes.iter().position(|node| node.entry.time <= view).unwrap_or(self.nodes.len())
    }

    /// Removes segments and entries that neither the present nor any of `views` (newest first) needs: segments that are
    /// superseded in all views, and entries without segments. Returns whether anything was removed.
    pub fn prune(&mut self, views: &[u32], segments: u32) -> bool {
        let count = self.nodes.len();
        self.keep.clear();
        self.keep.resize(count, 0);
        let mut last = usize::MAX;
        for number in 0..=views.len() {
            let start = if number == 0 { 0 } else { self.start(views[number - 1]) };
            if start == last {
                continue;
            }
            last = start;
            let (mut wanted, mut held) = (u32::MAX >> (32 - segments), false);
            for (node, keep) in self.nodes[start..].iter().zip(&mut self.keep[start..]) {
                let Entry { status, vector, .. } = node.entry;
                if status.is_holder() {
                    *keep |= u32::from(!held);
                    held = true;
                    if status.state() == EntryState::Deleted {
                        break;
                    }
                } else {
                    let seen = vector.segments(segments) & wanted;
                    *keep |= vector.0 & Vector::of_segments(seen, segments).0;
                    wanted &= !seen;
                }
                if wanted == 0 && held {
                    break;
                }
            }
        }
        // A deletion separates older versions from newer ones, and is needed as long as older ones exist.
        let (mut below, mut changed) = (false, false);
        for (node, keep) in self.nodes.iter_mut().zip(&mut self.keep).rev() {
            let status = node.entry.status;
            if status.is_holder() && status.state() == EntryState::Deleted {
                *keep = u32::from(below);
            } else if !status.is_holder() && node.entry.vector.0 != *keep {
                node.entry.vector = Vector(*keep);
                changed = true;
            }
            below |= *keep != 0;
        }
        let mut keep = self.keep.iter();
        self.nodes.retain(|_| *keep.next().expect("as many") != 0);
        changed | (self.nodes.len() != count)
    }

    /// Numbers the entries so that two have the same number if exactly the same `views` (newest first) see them: such
    /// entries may be merged. Owner entries have numbers of their own.
    pub fn classes(&mut self, views: &[u32]) -> &[u32] {
        self.starts.clear();
        let (mut class, mut last) = (0, None::<Entry>);
        for Node { entry, .. } in &self.nodes {
            if let Some(above) = last {
                let parted = views.iter().any(|view| (entry.time..above.time).contains(view));
                let deleted = entry.status.is_holder() && entry.status.state() == EntryState::Deleted;
                class += u32::from(parted || deleted);
            }
            last = Some(*entry);
            self.starts.push(class);
        }
        &self.starts
    }

    /// Removes versions newer than `view`.
    pub fn roll_back(&mut self, view: u32) {
        self.nodes.retain(|node| node.entry.time <= view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::status::Permissions;

    fn holder(state: EntryState, time: u32) -> Node {
        let entry = Entry { status: Status::holder(state, Permissions::PRIVATE), time, mapping: 9, ..Entry::default() };
        Node { index: NEW, entry }
    }

    fn data(vector: u32, time: u32) -> Node {
        let status = Status::holder(EntryState::Live, Permissions::PRIVATE).of_data();
        Node { index: NEW, entry: Entry { status, time, vector: Vector(vector), ..Entry::default() } }
    }

    fn pruned(nodes: &[Node], views: &[u32]) -> Vec<Node> {
        let mut chain = Chain { nodes: nodes.to_vec(), ..Chain::default() };
        chain.prune(views, 4);
        chain.nodes
    }

    /// Status of the owner, with time and mapping of each segment's version.
    type Seen = Option<(u8, Vec<Option<(u32, u64)>>)>;

    /// Returns what a time sees: the owner's status, and the node of each segment.
    fn seen(nodes: &[Node], view: u32) -> Seen {
        let chain =
            Chain { nodes: nodes.iter().copied().filter(|n| n.entry.time <= view).collect(), ..Chain::default() };
        let (status, _) = chain.ownership()?;
        let mut have = vec![None; 4];
        for node in &chain.nodes {
            if node.entry.status.is_holder() && node.entry.status.state() == EntryState::Deleted {
                break;
            }
            for (segment, have) in (0..4).zip(&mut have) {
                if !node.entry.status.is_holder() && have.is_none() && node.entry.vector.distance(segment, 4).is_some()
                {
                    *have = Some((node.entry.time, node.entry.mapping));
                }
            }
        }
        Some((status.0, have))
    }

    /// All chains of up to five changes in four epochs, for all choices of kept epochs: pruning changes no view, and
    /// every segment left is needed by some view.
    #[test]
    fn exhaustively_nothing_needed_goes_and_nothing_else_stays() {
        let kinds: [fn(u32) -> Node; 5] = [
            |time| data(0b0001, time),
            |time| data(0b0011, time),
            |time| data(0b0110, time),
            |time| holder(EntryState::Deleted, time),
            |time| holder(EntryState::Live, time),
        ];
        let mut checked = 0;
        for length in 0..5u32 {
            for choice in 0..(kinds.len() as u32 * 2).pow(length) {
                // The oldest entry is always the page's creation; a deletion is followed by one.
                let (mut nodes, mut time, mut rest) = (vec![holder(EntryState::Live, 1)], 1, choice);
                for number in 0..length {
                    let (kind, later) = (rest % 10 % 5, rest % 10 / 5);
                    (rest, time) = (rest / 10, time + later);
                    let there = nodes[0].entry.status.state() == EntryState::Live;
                    if !there {
                        nodes.insert(0, holder(EntryState::Live, time));
                    }
                    let mut node = kinds[kind as usize](time);
                    if !node.entry.status.is_holder() {
                        node.entry.mapping = u64::from(number + 1) * 64;
                    }
                    nodes.insert(0, node);
                }
                for kept in 0..1u32 << time {
                    let views: Vec<u32> = (0..time).rev().filter(|view| kept >> view & 1 != 0).collect();
                    let left = pruned(&nodes, &views);
                    for view in views.iter().chain([&time]) {
                        assert_eq!(seen(&left, *view), seen(&nodes, *view), "{nodes:?} at {view} of {views:?}");
                    }
                    for (i, node) in left.iter().enumerate().filter(|(_, node)| !node.entry.status.is_holder()) {
                        for bit in node.entry.vector.iter() {
                            let mut less = left.clone();
                            less[i].entry.vector.0 &= !(1 << bit);
                            let missed = views.iter().chain([&time]).any(|v| seen(&less, *v) != seen(&left, *v));
                            assert!(missed, "bit {bit} of {node:?} in {left:?} is needed by no view of {views:?}");
                        }
                    }
                    checked += 1;
                }
            }
        }
        assert!(checked > 50_000, "{checked}");
    }
}
