//! The choice of a victim, compared with a sorted list.

use media::{BlockAddr, Geometry, PageAddr};
use sim::{Rng, Streams};

use crate::config::{Config, Management, Order, Policy};
use crate::space::blocks::{Block, Use};
use crate::{Controller, Medium, Nvmm};

const PAGES: u32 = 32;

/// Flash that holds nothing.
struct Blank(Geometry);

impl Medium for Blank {
    fn geometry(&self) -> &Geometry {
        &self.0
    }

    fn is_bad(&self, _: BlockAddr) -> bool {
        false
    }

    fn read(&self, _: PageAddr, _: &mut Vec<u8>) -> bool {
        false
    }
}

fn memory(policy: Policy) -> Nvmm {
    let geometry = Geometry {
        channels: 1,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 50,
        pages: PAGES,
        page_bytes: 512,
        unit_bytes: 512,
    };
    let config = Config {
        controller: Controller(1),
        geometry,
        segments: 8,
        pages: 40,
        versions: 120,
        order: Order::Any,
        open_blocks: 1,
        tags: 4,
        time_bits: 24,
        management: Management { policy, collect_start: 2, tokens: 3, journal_pages: 8 },
    };
    Nvmm::format(config, &Blank(geometry)).expect("it can work")
}

/// Closes all data blocks but `free`, in any order, and gives them any content.
fn use_blocks(nvmm: &mut Nvmm, free: usize, rng: &mut Rng) {
    let mut open = Vec::new();
    while nvmm.blocks.free_count() > free {
        open.push(nvmm.blocks.open(true).expect("it was counted"));
    }
    while !open.is_empty() {
        let block = open.swap_remove(rng.below(open.len() as u64) as usize);
        if rng.chance(0.05) {
            continue;
        }
        nvmm.blocks.close(block);
        let state = nvmm.blocks.get_mut(block);
        // Few different values, so that there are equals.
        (state.valid, state.worn) = (rng.below(5) as u32 * PAGES / 4, rng.below(2) as u16);
        state.longest = rng.below(4) as u16;
        (state.writers, state.stuck) = (u32::from(rng.chance(0.1)), rng.chance(0.1));
    }
}

/// Sorts the blocks that may be collected by each criterion, the least important one first; the first is chosen.
fn obvious(nvmm: &Nvmm, policy: Policy) -> Option<u32> {
    let invalid = |block: &Block| PAGES - block.valid;
    let mut blocks: Vec<(u32, Block)> = nvmm.blocks.iter().map(|(number, block)| (number, *block)).collect();
    blocks.retain(|(number, block)| {
        let in_use = block.writers > 0 || block.stuck || block.used != Use::Closed;
        let holds_data = *number >= nvmm.layout.first_data && block.valid > 0;
        let gains = invalid(block) > u32::from(block.worn);
        holds_data && !in_use && gains
    });
    blocks.sort_by_key(|(_, block)| block.valid);
    match policy {
        // The last free block is filled as slowly as possible.
        _ if nvmm.blocks.free_count() <= 1 => {}
        Policy::Greedy => {}
        Policy::LongestChain => blocks.sort_by_key(|(_, block)| u16::MAX - block.longest),
        Policy::CostBenefit => blocks.sort_by(|(a, of_a), (b, of_b)| {
            let worth = |number: &u32, block: &Block| invalid(block) * (nvmm.blocks.age(*number) + 1);
            (worth(b, of_b) * of_a.valid).cmp(&(worth(a, of_a) * of_b.valid))
        }),
    }
    blocks.first().map(|(number, _)| *number)
}

#[test]
fn the_victim_is_the_first_of_a_sorted_list() {
    let mut rng = Streams::new(1).stream("test.victims");
    let mut chosen = 0;
    for round in 0..2_000 {
        let policy = Policy::ALL[round % Policy::ALL.len()];
        let mut nvmm = memory(policy);
        let free = 1 + rng.below(3) as usize;
        use_blocks(&mut nvmm, free, &mut rng);
        let victim = nvmm.choose_victim();
        assert_eq!(victim, obvious(&nvmm, policy), "{policy:?}, {free} free");
        chosen += u32::from(victim.is_some());
    }
    assert!(chosen > 1_500, "{chosen} victims");
}
