//! An auditor that enforces the rules of the two-level memory.
#![allow(dead_code, reason = "each test file uses only a part")]

pub mod obvious;

use pager::{Counts, Memory, Policy};

/// Counts operations and panics at the first one that the memory cannot perform.
pub struct Auditor {
    frames: usize,
    buffers: usize,
    pub in_sram: Vec<u32>,
    pub in_buffers: Vec<u32>,
    pub counts: Counts,
}

impl Auditor {
    pub fn new(frames: u32, buffers: u32) -> Auditor {
        Auditor {
            frames: frames as usize,
            buffers: buffers as usize,
            in_sram: Vec::new(),
            in_buffers: Vec::new(),
            counts: Counts::default(),
        }
    }
}

fn take(places: &mut Vec<u32>, page: u32) {
    let place = places.iter().position(|&other| other == page);
    places.remove(place.unwrap_or_else(|| panic!("page {page} is not in {places:?}")));
}

impl Memory for Auditor {
    fn load(&mut self, page: u32) {
        assert!(!self.in_sram.contains(&page) && !self.in_buffers.contains(&page), "page {page} is loaded twice");
        assert!(self.in_buffers.len() < self.buffers, "no buffer is free for page {page}");
        self.in_buffers.push(page);
        self.counts.load(page);
    }

    fn move_to_sram(&mut self, page: u32) {
        take(&mut self.in_buffers, page);
        assert!(self.in_sram.len() < self.frames, "no frame is free for page {page}");
        self.in_sram.push(page);
        self.counts.move_to_sram(page);
    }

    fn discard_from_buffer(&mut self, page: u32) {
        take(&mut self.in_buffers, page);
    }

    fn discard_from_sram(&mut self, page: u32) {
        take(&mut self.in_sram, page);
    }

    fn read_buffer(&mut self, page: u32) {
        assert!(self.in_buffers.contains(&page), "page {page} is read from a buffer but is not in one");
        self.counts.read_buffer(page);
    }

    fn read_sram(&mut self, page: u32) {
        assert!(self.in_sram.contains(&page), "page {page} is read from SRAM but is not there");
        self.counts.read_sram(page);
    }
}

/// Serves `requests` under audit and checks that each takes exactly one read.
pub fn audit<P: Policy>(policy: P, pages: u32, requests: &[P::Request], frames: u32, buffers: u32) -> Counts {
    let mut policy = policy;
    let mut auditor = Auditor::new(frames, buffers);
    policy.grow(pages);
    for (served, &request) in (1..).zip(requests) {
        policy.request(request, &mut auditor);
        assert_eq!(auditor.counts.requests(), served, "a request is served by one read");
    }
    auditor.counts
}
