//! The side table: properties of few pages, so that other pages need no space for them.

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// A property of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// In order: the sequences of the pages before this one, back to the next such entry, count from this one.
    Anchor(u64),
    /// In any order: its sequence.
    Sequence(u64),
    /// The page is unreadable.
    Torn,
    /// This unit's data was lost before its program.
    Lost(u32),
    /// This unit has a note, stored here.
    Note(u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Rare {
    page: u32,
    next: u32,
    what: What,
}

/// Linked lists, one per block that needs it, in one pool with a free list.
pub(super) struct Rares {
    pool: Vec<Rare>,
    free: u32,
    notes: Vec<Vec<u8>>,
    free_notes: Vec<u32>,
}

impl Rares {
    pub(super) fn new() -> Rares {
        Rares { pool: Vec::new(), free: NONE, notes: Vec::new(), free_notes: Vec::new() }
    }

    /// Adds an entry in front of the list `head` and returns the new head.
    pub(super) fn push(&mut self, head: u32, page: u32, what: What) -> u32 {
        let entry = Rare { page, next: head, what };
        if self.free == NONE {
            self.pool.push(entry);
            return self.pool.len() as u32 - 1;
        }
        let at = self.free;
        self.free = self.pool[at as usize].next;
        self.pool[at as usize] = entry;
        at
    }

    /// Frees the list `head`.
    pub(super) fn free(&mut self, head: u32) {
        let mut at = head;
        while at != NONE {
            let entry = &mut self.pool[at as usize];
            let (next, what) = (entry.next, entry.what);
            entry.next = self.free;
            self.free = at;
            at = next;
            if let What::Note(_, note) = what {
                self.free_notes.push(note);
            }
        }
    }

    /// Returns the entries of the list `head` as (page, property), newest first.
    pub(super) fn iter(&self, head: u32) -> impl Iterator<Item = (u32, What)> + '_ {
        let mut at = head;
        std::iter::from_fn(move || {
            let entry = self.pool.get(at as usize)?;
            at = entry.next;
            Some((entry.page, entry.what))
        })
    }

    /// Stores a note and returns its place.
    pub(super) fn keep(&mut self, text: &[u8]) -> u32 {
        let index = self.free_notes.pop().unwrap_or_else(|| {
            self.notes.push(Vec::new());
            self.notes.len() as u32 - 1
        });
        let note = &mut self.notes[index as usize];
        note.clear();
        note.extend_from_slice(text);
        index
    }

    pub(super) fn note(&self, index: u32) -> &[u8] {
        &self.notes[index as usize]
    }

    pub(super) fn bytes_held(&self) -> u64 {
        (self.pool.len() * size_of::<Rare>() + self.notes.iter().map(Vec::len).sum::<usize>()) as u64
    }
}
