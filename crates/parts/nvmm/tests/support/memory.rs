//! The obvious memory: a dictionary of pages, and a full copy of it for each sync.

use std::collections::{BTreeMap, BTreeSet};

use nvmm::{Application, Permissions, Token};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub owner: Application,
    pub permissions: Permissions,
    /// Stamps; 0 means never written.
    pub segments: Vec<u64>,
}

impl Page {
    pub fn may_read(&self, application: Application) -> bool {
        if self.owner == application { self.permissions.read } else { self.permissions.others_read }
    }
    pub fn may_write(&self, application: Application) -> bool {
        if self.owner == application { self.permissions.write } else { self.permissions.others_write }
    }
}

pub type Pages = BTreeMap<u32, Page>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub now: Pages,
    pub synced: Pages,
    pub tokens: Vec<(Token, Pages)>,
}

impl Memory {
    pub fn new() -> Memory {
        Memory { now: Pages::new(), synced: Pages::new(), tokens: Vec::new() }
    }

    pub fn create(&mut self, page: u32, owner: Application, permissions: Permissions, segments: u32) -> &mut Page {
        self.now.entry(page).or_insert(Page { owner, permissions, segments: vec![0; segments as usize] })
    }

    pub fn find(&self, token: Token) -> Option<&Pages> {
        self.tokens.iter().find(|(t, _)| *t == token).map(|(_, pages)| pages)
    }

    pub fn sync(&mut self, token: Token) {
        self.tokens.push((token, self.now.clone()));
        self.synced = self.now.clone();
    }

    pub fn flush(&mut self) {
        self.synced = self.now.clone();
    }

    pub fn rollback(&mut self, token: Token) {
        self.now = self.find(token).expect("live").clone();
        self.synced = self.now.clone();
        self.tokens.retain(|(t, _)| *t <= token);
    }

    pub fn drop_token(&mut self, token: Token) {
        self.tokens.retain(|(t, _)| *t != token);
    }

    pub fn end(&mut self, application: Application) {
        self.now.retain(|_, page| page.permissions.permanent || page.owner != application);
    }

    pub fn power_cut(&mut self) {
        self.now = self.synced.clone();
    }

    fn states(&self) -> impl Iterator<Item = &Pages> {
        [&self.now, &self.synced].into_iter().chain(self.tokens.iter().map(|(_, pages)| pages))
    }

    /// Returns the number of needed segments, each version counted once.
    pub fn needed(&self) -> u64 {
        let mut stamps: BTreeSet<u64> = BTreeSet::new();
        for page in self.states().flat_map(|pages| pages.values()) {
            stamps.extend(page.segments.iter().filter(|stamp| **stamp != 0));
        }
        stamps.len() as u64
    }

    /// Returns the pages that exist now or in a kept state.
    pub fn used(&self) -> BTreeSet<u32> {
        self.states().flat_map(|pages| pages.keys()).copied().collect()
    }
}
