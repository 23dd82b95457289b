//! Lists of waiting requests, all in one arena.

/// No node.
const NONE: u32 = u32::MAX;

/// The kind of a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitingKind {
    Fill,
    WriteBack,
    Prefetch,
}

/// A request to read or write a line, or to prefetch a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The line request; unused for a prefetch.
    pub id: u32,
    pub kind: WaitingKind,
    pub address: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    line: Line,
    next: u32,
}

/// A list of waiting requests, in order of arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub const EMPTY: List = List { first: NONE, last: NONE };
}

/// All waiting requests.
pub(super) struct Waiting {
    nodes: Vec<Node>,
    /// The first free node.
    free: u32,
    count: u32,
}

impl Waiting {
    pub const fn new() -> Waiting {
        Waiting { nodes: Vec::new(), free: NONE, count: 0 }
    }

    /// Returns whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends `line` to `list`.
    pub fn append(&mut self, list: &mut List, line: Line) {
        let node = Node { line, next: NONE };
        let number = self.free;
        let number = if let Some(place) = self.nodes.get_mut(number as usize) {
            self.free = place.next;
            *place = node;
            number
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        match self.nodes.get_mut(list.last as usize) {
            Some(last) => last.next = number,
            None => list.first = number,
        }
        list.last = number;
        self.count += 1;
    }

    /// Takes the first request out of `list`.
    pub fn take_first(&mut self, list: &mut List) -> Option<Line> {
        let number = list.first;
        let node = self.nodes.get_mut(number as usize)?;
        let line = node.line;
        list.first = node.next;
        if list.first == NONE {
            list.last = NONE;
        }
        node.next = self.free;
        self.free = number;
        self.count -= 1;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use sim::Streams;

    #[test]
    fn lists_are_queues() {
        let mut rng = Streams::new(1).stream("lists");
        let mut waiting = Waiting::new();
        let (mut lists, mut obvious) = ([List::EMPTY; 5], vec![VecDeque::new(); 5]);
        for id in 0..20_000 {
            let at = rng.below(5) as usize;
            // The number of requests alternately grows and shrinks.
            if rng.below(10) < if id / 1000 % 2 == 0 { 7 } else { 3 } {
                waiting.append(&mut lists[at], Line { id, kind: WaitingKind::Fill, address: u64::from(id) * 64 });
                obvious[at].push_back(id);
            } else {
                let taken = waiting.take_first(&mut lists[at]).map(|line| (line.id, line.address));
                assert_eq!(taken, obvious[at].pop_front().map(|id| (id, u64::from(id) * 64)));
            }
            assert_eq!(waiting.is_empty(), obvious.iter().all(VecDeque::is_empty));
        }
        let most = waiting.nodes.len();
        assert!(most < 2000, "{most} nodes for what waits at a time");
    }
}
