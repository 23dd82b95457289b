//! Doubly linked lists over one shared array of links: each page is on at most one of `N` lists.

/// The link target of a page that is on no list.
const NOWHERE: u32 = u32::MAX;

/// The neighbors of a node.
#[derive(Clone, Copy, Debug)]
struct Link {
    front: u32,
    back: u32,
}

/// `N` lists of pages. Nodes `0..N` are the list heads (each list is a ring through its head); page `p` is node `N +
/// p`. All operations take constant time; only [`Lists::grow`] allocates.
#[derive(Clone, Debug)]
pub(crate) struct Lists<const N: usize> {
    links: Vec<Link>,
    lengths: [u32; N],
}

impl<const N: usize> Lists<N> {
    /// Creates empty lists for no pages.
    pub(crate) fn new() -> Lists<N> {
        Lists { links: (0..N as u32).map(|n| Link { front: n, back: n }).collect(), lengths: [0; N] }
    }

    /// Makes room for pages `0..pages`.
    pub(crate) fn grow(&mut self, pages: u32) {
        let nodes = N + pages as usize;
        assert!(nodes < NOWHERE as usize, "found {pages} pages, expected fewer than {NOWHERE}");
        if nodes > self.links.len() {
            self.links.resize(nodes, Link { front: NOWHERE, back: NOWHERE });
        }
    }

    /// Returns the number of pages on `list`.
    pub(crate) fn len(&self, list: usize) -> u32 {
        self.lengths[list]
    }

    /// Returns whether `page` is on any list.
    pub(crate) fn contains(&self, page: u32) -> bool {
        self.links[N + page as usize].front != NOWHERE
    }

    /// Returns the page at the front of `list`.
    pub(crate) fn front(&self, list: usize) -> Option<u32> {
        self.links[list].back.checked_sub(N as u32)
    }

    /// Returns the page at the back of `list`.
    pub(crate) fn back(&self, list: usize) -> Option<u32> {
        self.links[list].front.checked_sub(N as u32)
    }

    /// Returns the page behind `page` on its list.
    pub(crate) fn behind(&self, page: u32) -> Option<u32> {
        self.links[N + page as usize].back.checked_sub(N as u32)
    }

    /// Returns the page in front of `page` on its list.
    pub(crate) fn before(&self, page: u32) -> Option<u32> {
        self.links[N + page as usize].front.checked_sub(N as u32)
    }

    fn join(&mut self, front: u32, back: u32) {
        self.links[front as usize].back = back;
        self.links[back as usize].front = front;
    }

    fn insert_behind_node(&mut self, front: u32, page: u32) {
        let node = N as u32 + page;
        let back = self.links[front as usize].back;
        self.links[front as usize].back = node;
        self.links[back as usize].front = node;
        self.links[node as usize] = Link { front, back };
    }

    /// Inserts `page`, which must be on no list, at the front of `list`.
    pub(crate) fn push_front(&mut self, list: usize, page: u32) {
        debug_assert!(!self.contains(page), "page {page} is already on a list");
        self.lengths[list] += 1;
        self.insert_behind_node(list as u32, page);
    }

    /// Inserts `page`, which must be on no list, behind `front`, which must be on `list`.
    pub(crate) fn insert_behind(&mut self, list: usize, front: u32, page: u32) {
        debug_assert!(self.contains(front) && !self.contains(page), "page {page} cannot go behind {front}");
        self.lengths[list] += 1;
        self.insert_behind_node(N as u32 + front, page);
    }

    /// Removes `page` from `list`, where it must be.
    pub(crate) fn remove(&mut self, list: usize, page: u32) {
        debug_assert!(self.contains(page), "page {page} is on no list");
        let link = &mut self.links[N + page as usize];
        let Link { front, back } = *link;
        *link = Link { front: NOWHERE, back: NOWHERE };
        self.lengths[list] -= 1;
        self.join(front, back);
    }

    /// Removes and returns the page at the back of `list`.
    pub(crate) fn pop_back(&mut self, list: usize) -> Option<u32> {
        let page = self.back(list)?;
        self.remove(list, page);
        Some(page)
    }

    /// Moves `page` to the front of `list`, where it must be.
    pub(crate) fn move_to_front(&mut self, list: usize, page: u32) {
        debug_assert!(self.contains(page), "page {page} is on no list");
        let Link { front, back } = self.links[N + page as usize];
        self.join(front, back);
        self.insert_behind_node(list as u32, page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pages of `list` from the front, after checking both directions.
    fn pages<const N: usize>(lists: &Lists<N>, list: usize) -> Vec<u32> {
        let mut forth = Vec::new();
        let mut at = lists.front(list);
        while let Some(page) = at {
            forth.push(page);
            at = lists.behind(page);
        }
        let mut back = Vec::new();
        at = lists.back(list);
        while let Some(page) = at {
            back.push(page);
            at = lists.before(page);
        }
        back.reverse();
        assert_eq!(forth, back);
        assert_eq!(forth.len(), lists.len(list) as usize);
        forth
    }

    #[test]
    fn two_lists_share_one_array_of_links() {
        let mut lists = Lists::<2>::new();
        lists.grow(6);
        for page in 0..3 {
            lists.push_front(0, page);
            lists.push_front(1, 3 + page);
        }
        assert_eq!((pages(&lists, 0), pages(&lists, 1)), (vec![2, 1, 0], vec![5, 4, 3]));
        lists.move_to_front(0, 0);
        lists.move_to_front(0, 0);
        lists.remove(1, 4);
        assert_eq!((pages(&lists, 0), pages(&lists, 1)), (vec![0, 2, 1], vec![5, 3]));
        assert!(!lists.contains(4) && lists.contains(5));
        lists.insert_behind(0, 2, 4);
        assert_eq!(pages(&lists, 0), [0, 2, 4, 1]);
        assert_eq!(lists.pop_back(0), Some(1));
        assert_eq!((lists.pop_back(1), lists.pop_back(1), lists.pop_back(1)), (Some(3), Some(5), None));
        assert_eq!((lists.front(1), pages(&lists, 0)), (None, vec![0, 2, 4]));
    }
}
