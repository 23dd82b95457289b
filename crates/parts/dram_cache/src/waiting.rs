//! Lines that wait, in lists: one arena for all of them.

/// No node.
const NONE: u32 = u32::MAX;

/// What a line is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Fill,
    WriteBack,
    Prefetch,
}

/// A line that is asked for or came back, or a page to be prefetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The line request; of a prefetch nothing.
    pub id: u32,
    pub kind: Asked,
    pub address: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    line: Line,
    next: u32,
}

/// First and last of some lines that wait, in the order in which they came.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub const EMPTY: List = List { first: NONE, last: NONE };
}

/// All lines that wait.
pub(super) struct Waiting {
    nodes: Vec<Node>,
    /// The first node without a line.
    free: u32,
    count: u32,
}

impl Waiting {
    pub const fn new() -> Waiting {
        Waiting { nodes: Vec::new(), free: NONE, count: 0 }
    }

    /// None waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `line` is the last of `list`.
    #[inline(always)]
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

    /// Takes the first of `list` out of it.
    #[inline]
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
            // Now mostly more come, now mostly more go.
            if rng.below(10) < if id / 1000 % 2 == 0 { 7 } else { 3 } {
                waiting.append(&mut lists[at], Line { id, kind: Asked::Fill, address: u64::from(id) * 64 });
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
