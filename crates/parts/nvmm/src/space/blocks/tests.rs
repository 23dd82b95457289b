//! Worn pages and emptied blocks, in blocks of more than 64 pages.

use media::Geometry;

use super::{Blocks, Use};
use crate::Controller;
use crate::config::{Config, Management, Order, Policy};
use crate::space::layout::Layout;

const PAGES: u32 = 65;

fn blocks() -> Blocks {
    let mut config = Config {
        controller: Controller(1),
        geometry: Geometry {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 1,
            pages: PAGES,
            page_bytes: 512,
            unit_bytes: 512,
        },
        segments: 8,
        pages: 40,
        versions: 120,
        order: Order::Any,
        open_blocks: 1,
        tags: 4,
        time_bits: 24,
        management: Management { policy: Policy::Greedy, collect_start: 2, tokens: 3, journal_pages: 8 },
    };
    while config.check().is_err() {
        config.geometry.blocks += 1;
    }
    Blocks::new(&config, &Layout::new(&config))
}

#[test]
fn each_page_of_a_block_wears_by_itself() {
    let mut blocks = blocks();
    let block = blocks.open(true).expect("a free block");
    for (number, page) in [0, 62, 63, PAGES - 1, 63].into_iter().enumerate() {
        assert_eq!(blocks.is_worn(block, page), number == 4);
        blocks.wear_out(block, page);
    }
    let worn: Vec<u32> = (0..PAGES).filter(|page| blocks.is_worn(block, *page)).collect();
    assert_eq!((worn, blocks.get(block).worn), (vec![0, 62, 63, PAGES - 1], 4));
}

#[test]
fn a_block_is_emptied_when_it_is_closed_and_loses_its_last_valid_page() {
    let mut blocks = blocks();
    let block = blocks.open(true).expect("a free block");
    blocks.gain(block, 3);
    blocks.lose(block, 3);
    assert!(blocks.emptied.is_empty(), "it is open");
    blocks.gain(block, 3);
    blocks.close(block);
    blocks.lose(block, 2);
    assert!(blocks.emptied.is_empty(), "a page is left");
    blocks.lose(block, 1);
    assert_eq!(blocks.emptied, [block]);
    blocks.lose(block, 0);
    assert_eq!(blocks.emptied, [block], "it lost nothing");
}

#[test]
fn an_emptied_block_is_free_for_a_commit_once_nothing_uses_it() {
    let mut blocks = blocks();
    let block = blocks.open(true).expect("a free block");
    blocks.gain(block, 1);
    blocks.close(block);
    assert!(!blocks.has_emptied());
    blocks.lose(block, 1);
    assert!(blocks.has_emptied());
    for (readers, writers) in [(1, 0), (0, 1), (1, 1)] {
        let state = blocks.get_mut(block);
        (state.readers, state.writers) = (readers, writers);
        assert!(!blocks.has_emptied(), "{readers} readers, {writers} writers");
    }
    let state = blocks.get_mut(block);
    (state.readers, state.writers, state.used) = (0, 0, Use::Open);
    assert!(!blocks.has_emptied());
}
