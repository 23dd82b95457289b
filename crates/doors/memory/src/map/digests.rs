//! Digests of mapped segments, which tell whether a writable segment was stored to.
//!
//! A store fault costs two changes between threads, some 10 µs; a digest of a page takes a small part of that. If
//! stores have been dense, a fault therefore makes its whole group of segments writable. When they are protected again,
//! those whose digest is that of the backing cache's content were not stored to. A digest has 128 bits and is keyed with
//! a secret of the process, so that no content can be chosen to match another.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::pages::Key;
use crate::cache::frames::Multiply;

/// Segments per group.
const GROUP: u64 = 64;

/// Segments of a touched group per stored one at and below which a fault covers its whole group: then the digests of the
/// others, nearly 1 µs each where they are not in the processor's cache, cost less than the faults that they save.
const DENSE: u64 = 8;

/// The digests of mapped segments, and whether faults cover groups.
#[derive(Debug, Default)]
pub(super) struct Digests {
    /// Digests of the content that the backing cache has.
    kept: HashMap<Key, u128, BuildHasherDefault<Multiply>>,
    dense: bool,
}

impl Digests {
    /// Returns the segments, of `count` in all, that a store fault at `key` makes writable.
    pub fn around(&self, key: Key, count: u64) -> Range<Key> {
        match self.dense {
            true => {
                let first = key / GROUP * GROUP;
                first..(first + GROUP).min(count)
            }
            false => key..key + 1,
        }
    }

    /// Returns whether faults cover groups.
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// Keeps the digest of a clean segment.
    pub fn keep(&mut self, key: Key, digest: impl FnOnce() -> u128) {
        self.kept.entry(key).or_insert_with(digest);
    }

    /// Returns whether a segment has the content of its digest. If not, forgets the digest.
    pub fn is_equal(&mut self, key: Key, digest: impl FnOnce() -> u128) -> bool {
        let Some(kept) = self.kept.get(&key) else { return false };
        let equal = *kept == digest();
        if !equal {
            self.kept.remove(&key);
        }
        equal
    }

    pub fn remove(&mut self, key: Key) {
        if !self.kept.is_empty() {
            self.kept.remove(&key);
        }
    }

    #[cfg(test)]
    pub fn has(&self, key: Key) -> bool {
        self.kept.contains_key(&key)
    }

    /// Learns from the segments, of `count` in all, that were stored to since the last call, in ascending order.
    pub fn learn(&mut self, stored: &[Key], count: u64) {
        if !stored.is_empty() {
            let groups = stored.chunk_by(|a, b| a / GROUP == b / GROUP).map(|group| group[0] / GROUP * GROUP);
            let touched: u64 = groups.map(|first| GROUP.min(count - first)).sum();
            self.dense = DENSE * stored.len() as u64 >= touched;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_cover_groups_where_stores_were_dense() {
        let mut digests = Digests::default();
        assert_eq!(digests.around(100, 1000), 100..101);
        let sixteen: Vec<Key> = (1..10).chain(90..97).collect();
        digests.learn(&sixteen[1..], 1000);
        assert_eq!(digests.around(100, 1000), 100..101);
        digests.learn(&sixteen, 1000);
        assert_eq!(digests.around(100, 1000), 64..128);
        assert_eq!(digests.around(100, 110), 64..110);
        digests.learn(&[], 1000);
        assert_eq!(digests.around(100, 1000), 64..128);
        digests.learn(&[5], 1000);
        assert_eq!(digests.around(100, 1000), 100..101);
        digests.learn(&[5], 8);
        assert_eq!(digests.around(6, 8), 0..8);
    }

    #[test]
    fn other_content_makes_the_digest_obsolete() {
        let mut digests = Digests::default();
        assert!(!digests.is_equal(1, || panic!("there is none to compare with")));
        digests.keep(1, || 7);
        digests.keep(1, || panic!("it is kept already"));
        assert!(digests.is_equal(1, || 7) && !digests.is_equal(1, || 8));
        assert!(!digests.is_equal(1, || 7), "a copy that failed must not make it equal");
        digests.keep(1, || 8);
        digests.remove(1);
        assert!(!digests.is_equal(1, || 8));
    }
}
