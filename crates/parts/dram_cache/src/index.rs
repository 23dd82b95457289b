//! Finds write-backs by page or frame without searching all of them.

/// No write-back.
const NONE: u32 = u32::MAX;

/// Lists of slots, by the low bits of a key.
pub(super) struct Index {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Index {
    /// Creates an empty index of `slots` slots.
    pub fn new(slots: u32) -> Index {
        let heads = vec![NONE; 2 * (slots as usize).next_power_of_two()];
        Index { heads, next: vec![NONE; slots as usize] }
    }

    fn head(&self, key: u64) -> usize {
        key as usize & (self.heads.len() - 1)
    }

    /// Adds `slot`, which must not be present, under `key`.
    pub fn insert(&mut self, key: u64, slot: u32) {
        let head = self.head(key);
        self.next[slot as usize] = self.heads[head];
        self.heads[head] = slot;
    }

    /// Removes `slot`, which is present under `key`.
    ///
    /// # Panics
    /// If it is not present.
    pub fn remove(&mut self, key: u64, slot: u32) {
        let (head, after) = (self.head(key), self.next[slot as usize]);
        if self.heads[head] == slot {
            self.heads[head] = after;
            return;
        }
        let mut at = self.heads[head];
        while self.next[at as usize] != slot {
            at = self.next[at as usize];
        }
        self.next[at as usize] = after;
    }

    /// Returns the slots whose keys share the low bits of `key`.
    pub fn candidates(&self, key: u64) -> impl Iterator<Item = u32> + '_ {
        let slot = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(slot(self.heads[self.head(key)]), move |at| slot(self.next[*at as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use sim::Streams;

    #[test]
    fn it_finds_what_a_search_of_all_slots_finds() {
        let mut rng = Streams::new(3).stream("index");
        let mut index = Index::new(20);
        let mut keys = [None; 20];
        for _ in 0..20_000 {
            let slot = rng.below(20) as u32;
            match keys[slot as usize].take() {
                Some(key) => index.remove(key, slot),
                None => {
                    let key = rng.below(200);
                    keys[slot as usize] = Some(key);
                    index.insert(key, slot);
                }
            }
            let key = rng.below(200);
            let mut found: Vec<u32> = index.candidates(key).filter(|slot| keys[*slot as usize] == Some(key)).collect();
            found.sort_unstable();
            let all: Vec<u32> = (0..20).filter(|slot| keys[*slot as usize] == Some(key)).collect();
            assert_eq!(found, all);
        }
    }
}
