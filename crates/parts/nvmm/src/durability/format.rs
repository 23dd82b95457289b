//! Metadata in flash: roots, the directory, journal pages, and chunks of the table.
//!
//! A chunk fills its flash page. Pages of the other kinds begin with a [`Header`]. Four blocks hold the *root* in turn;
//! the newest readable one counts. It names the first page of the *directory* (the small state, the place of each
//! chunk, the state of each block), whose pages form a list, and the first block of the *journal*. Each commit writes
//! one group of journal pages; a group counts only if all its pages, and all groups before it, are readable.

use crate::durability::codec::{Reader, Writer};
use crate::table::epochs::{Epochs, Token};

/// Bytes of a [`Header`].
pub(crate) const HEADER: usize = 56;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    Root = 1,
    Directory = 2,
    Journal = 3,
}

/// The header of a page that is not a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: PageKind,
    /// The root's number, which grows; in a journal page, the number of the root before it.
    pub root: u64,
    /// Root: first page of the directory. Directory: its next page, or nowhere. Journal: the group.
    pub link: u64,
    /// Journal: the block where the journal continues after this one.
    pub next: u32,
    /// Journal: the page's number in its group.
    pub number: u32,
    /// Journal: number of pages in the group.
    pub count: u32,
    /// Bytes of the body.
    pub bytes: u32,
}

const MAGIC: u64 = u64::from_le_bytes(*b"nvmm\0\0\0\x01");

impl Header {
    /// Position of [`link`](Self::link) in the page.
    pub const LINK: std::ops::Range<usize> = 24..32;
    /// Position of [`next`](Self::next) in the page.
    pub const NEXT: std::ops::Range<usize> = 32..36;

    /// Builds the page: header, `body`, zeros.
    pub fn page(&self, body: &[u8], page_bytes: usize) -> Box<[u8]> {
        assert!(HEADER + body.len() <= page_bytes && body.len() == self.bytes as usize);
        let mut writer = Writer(Vec::with_capacity(page_bytes));
        writer.u64(MAGIC);
        writer.u64(self.kind as u64);
        writer.u64(self.root);
        writer.u64(self.link);
        for word in [self.next, self.number, self.count, self.bytes] {
            writer.u32(word);
        }
        writer.0.resize(HEADER, 0);
        writer.0.extend_from_slice(body);
        writer.0.resize(page_bytes, 0);
        writer.0.into_boxed_slice()
    }

    /// Parses a page into header and body; `None` if it is not of this format.
    pub fn parse(page: &[u8]) -> Option<(Header, &[u8])> {
        let mut reader = Reader(page.get(..HEADER)?);
        if reader.u64()? != MAGIC {
            return None;
        }
        let kind = match reader.u64()? {
            1 => PageKind::Root,
            2 => PageKind::Directory,
            3 => PageKind::Journal,
            _ => return None,
        };
        let (root, link) = (reader.u64()?, reader.u64()?);
        let (next, number, count, bytes) = (reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?);
        let body = page.get(HEADER..HEADER.checked_add(bytes as usize)?)?;
        Some((Header { kind, root, link, next, number, count, bytes }, body))
    }
}

/// State that every commit stores in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Small {
    pub epochs: Epochs,
    /// Free version entries: head of the list, the first one never used, and their number.
    pub free: u32,
    pub fresh: u32,
    pub available: u32,
    /// Flash pages found worn out since the last directory.
    pub worn: Vec<u64>,
    /// Blocks that went bad since the last directory.
    pub bad: Vec<u32>,
}

impl Small {
    pub fn write(&self, writer: &mut Writer) {
        let Epochs { now, synced, tokens, next, .. } = &self.epochs;
        writer.u32(*now);
        writer.u32(*synced);
        writer.u64(*next);
        for word in [self.free, self.fresh, self.available] {
            writer.u32(word);
        }
        writer.u32(tokens.len() as u32);
        for (token, epoch) in tokens {
            writer.u64(token.0);
            writer.u32(*epoch);
        }
        writer.u32(self.worn.len() as u32);
        self.worn.iter().for_each(|page| writer.u64(*page));
        writer.u32(self.bad.len() as u32);
        self.bad.iter().for_each(|block| writer.u32(*block));
    }

    pub fn read(reader: &mut Reader) -> Option<Small> {
        let (now, synced, next) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let (free, fresh, available) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let mut tokens = Vec::new();
        for _ in 0..reader.u32()? {
            tokens.push((Token(reader.u64()?), reader.u32()?));
        }
        let mut worn = Vec::new();
        for _ in 0..reader.u32()? {
            worn.push(reader.u64()?);
        }
        let mut bad = Vec::new();
        for _ in 0..reader.u32()? {
            bad.push(reader.u32()?);
        }
        Some(Small { epochs: Epochs::restored(now, synced, tokens, next), free, fresh, available, worn, bad })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_survive_their_bytes_and_others_are_none() {
        let header = Header { kind: PageKind::Journal, root: 7, link: 9, next: 3, number: 1, count: 2, bytes: 5 };
        let page = header.page(b"hello", 512);
        assert_eq!(Header::parse(&page), Some((header, &b"hello"[..])));
        assert_eq!(Header::parse(&page[..HEADER + 4]), None);
        let mut other = page.clone();
        other[0] ^= 1;
        assert_eq!(Header::parse(&other), None);
        assert_eq!(Header::parse(&[0; 512]), None);
    }

    #[test]
    fn the_small_state_survives_its_bytes() {
        let small = Small {
            epochs: Epochs::restored(9, 7, vec![(Token(1 << 40), 3), (Token((1 << 40) + 1), 7)], (1 << 40) + 2),
            free: 11,
            fresh: 12,
            available: 13,
            worn: vec![1 << 33, 2],
            bad: vec![5],
        };
        let mut writer = Writer::default();
        small.write(&mut writer);
        assert_eq!(Small::read(&mut Reader(&writer.0)), Some(small));
        for short in 0..writer.0.len() {
            assert_eq!(Small::read(&mut Reader(&writer.0[..short])), None);
        }
    }
}
