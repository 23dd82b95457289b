//! The block manager against an obvious second implementation: a list of copies, searched from end to end.

use proptest::prelude::*;
use serving::blocks::{Action, Blocks, Capacities, Key, Source, Tier};
use serving::config::Eviction;

#[derive(Clone, Copy, Debug)]
struct Copy {
    key: Key,
    /// 0 GPU, 1 host memory, 2 drives.
    tier: usize,
    uses: u32,
    /// Time of its insertion or, under LRU, of the end of its last use.
    stamp: u64,
    slot: u64,
    written: bool,
}

struct Obvious {
    capacities: Capacities,
    copies: Vec<Copy>,
    private: u64,
    clock: u64,
}

impl Obvious {
    fn count(&self, tier: usize) -> u64 {
        self.copies.iter().filter(|copy| copy.tier == tier).count() as u64
    }

    fn at(&self, key: Key, tier: usize) -> Option<usize> {
        self.copies.iter().position(|copy| copy.key == key && copy.tier == tier)
    }

    fn find(&self, key: Key) -> Option<Tier> {
        match [0, 1, 2].map(|tier| self.at(key, tier)) {
            [Some(_), _, _] => Some(Tier::Gpu),
            [_, Some(_), _] => Some(Tier::Host),
            [_, _, Some(at)] if self.copies[at].written => Some(Tier::Drive(self.copies[at].slot)),
            [_, _, Some(_)] => Some(Tier::Host),
            _ => None,
        }
    }

    fn victim(&self, tier: usize) -> Option<usize> {
        let is_free = |copy: &Copy| copy.tier == tier && copy.uses == 0 && copy.written;
        (0..self.copies.len()).filter(|at| is_free(&self.copies[*at])).min_by_key(|at| self.copies[*at].stamp)
    }

    fn room(&self) -> u64 {
        let free = self.copies.iter().filter(|copy| copy.tier == 0 && copy.uses == 0).count() as u64;
        self.capacities.gpu - self.count(0) - self.private + free
    }

    fn add(&mut self, key: Key, tier: usize, uses: u32, slot: u64) {
        self.clock += 1;
        self.copies.push(Copy { key, tier, uses, stamp: self.clock, slot, written: tier < 2 });
    }

    fn end_use(&mut self, at: usize) {
        self.copies[at].uses -= 1;
        self.touch(at);
    }

    /// Under LRU, a copy that becomes evictable is the most recent one.
    fn touch(&mut self, at: usize) {
        let eviction =
            if self.copies[at].tier == 2 { self.capacities.drive_eviction } else { self.capacities.memory_eviction };
        if self.copies[at].uses == 0 && self.copies[at].written && eviction == Eviction::Lru {
            self.clock += 1;
            self.copies[at].stamp = self.clock;
        }
    }

    fn reserve(&mut self, count: u64) -> Option<Vec<Action>> {
        if self.room() < count {
            return None;
        }
        let mut actions = Vec::new();
        for _ in 0..count {
            if self.count(0) + self.private == self.capacities.gpu {
                let at = self.victim(0).expect("room");
                let key = self.copies.remove(at).key;
                self.demote(key, &mut actions);
            }
            self.private += 1;
        }
        Some(actions)
    }

    /// Finds a place for a block that has left the GPU.
    fn demote(&mut self, key: Key, actions: &mut Vec<Action>) {
        if self.at(key, 1).is_some() {
            return;
        }
        let full = self.count(1) == self.capacities.host;
        let victim = self.victim(1).filter(|_| full).map(|at| self.copies[at].key);
        if full && victim.is_none() {
            return self.demote_to_drive(key, actions);
        }
        self.add(key, 1, 0, 0);
        actions.push(Action::ToHost(key));
        if let Some(victim) = victim {
            let at = self.at(victim, 1).expect("the victim");
            self.copies.remove(at);
            self.demote_to_drive(victim, actions);
        }
    }

    fn demote_to_drive(&mut self, key: Key, actions: &mut Vec<Action>) {
        if self.copies.iter().any(|copy| copy.key == key && copy.tier != 1) {
            return;
        }
        let writing = self.copies.iter().filter(|copy| !copy.written).count() as u64;
        if writing == self.capacities.staging {
            return actions.push(Action::Dropped(key));
        }
        let used: Vec<u64> = self.copies.iter().filter(|copy| copy.tier == 2).map(|copy| copy.slot).collect();
        let slot = match (0..self.capacities.drive).find(|slot| !used.contains(slot)) {
            Some(slot) => slot,
            None => {
                let Some(at) = self.victim(2) else { return actions.push(Action::Dropped(key)) };
                let victim = self.copies.remove(at);
                if !self.copies.iter().any(|copy| copy.key == victim.key) {
                    actions.push(Action::Dropped(victim.key));
                }
                victim.slot
            }
        };
        self.add(key, 2, 0, slot);
        actions.push(Action::ToDrive(key, slot));
    }
}

#[derive(Clone, Debug)]
enum Op {
    Reserve(u64),
    FreePrivate,
    Publish(u8),
    Hold(u8),
    Release(u8),
    Pin(u8),
    Unpin(u8),
    Written(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0u8..12;
    prop_oneof![
        4 => (1u64..4).prop_map(Op::Reserve),
        1 => Just(Op::FreePrivate),
        5 => key.clone().prop_map(Op::Publish),
        2 => key.clone().prop_map(Op::Hold),
        6 => key.clone().prop_map(Op::Release),
        2 => key.clone().prop_map(Op::Pin),
        2 => key.clone().prop_map(Op::Unpin),
        3 => key.prop_map(Op::Written),
    ]
}

fn key(number: u8) -> Key {
    Key { owner: u64::from(number / 6), index: u32::from(number % 6) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn blocks_are_where_an_obvious_second_implementation_has_them(
        sizes in (2u64..8, 0u64..6, 0u64..8, 0u64..4),
        fifo in any::<(bool, bool)>(),
        ops in prop::collection::vec(op(), 0..600),
    ) {
        let order = |fifo| if fifo { Eviction::Fifo } else { Eviction::Lru };
        let capacities = Capacities {
            gpu: sizes.0, host: sizes.1, drive: sizes.2, staging: sizes.3,
            memory_eviction: order(fifo.0), drive_eviction: order(fifo.1),
        };
        let mut blocks = Blocks::new(capacities);
        let mut obvious = Obvious { capacities, copies: Vec::new(), private: 0, clock: 0 };
        let mut pins: Vec<(Key, Source)> = Vec::new();
        for op in ops {
            match op {
                Op::Reserve(count) => {
                    let mut actions = Vec::new();
                    let has_room = blocks.reserve(count, &mut actions);
                    prop_assert_eq!(has_room.then_some(actions), obvious.reserve(count));
                }
                Op::FreePrivate if obvious.private > 0 => {
                    blocks.free_private(1);
                    obvious.private -= 1;
                }
                Op::Publish(number) if obvious.private > 0 => {
                    let is_new = obvious.at(key(number), 0).is_none();
                    prop_assert_eq!(blocks.publish(key(number)), is_new);
                    if is_new {
                        obvious.private -= 1;
                        obvious.add(key(number), 0, 1, 0);
                    }
                }
                Op::Hold(number) => if let Some(at) = obvious.at(key(number), 0) {
                    blocks.hold(key(number));
                    obvious.copies[at].uses += 1;
                },
                Op::Release(number) => if let Some(at) = obvious.at(key(number), 0).filter(|at| obvious.copies[*at].uses > 0) {
                    blocks.release(key(number));
                    obvious.end_use(at);
                },
                Op::Pin(number) => {
                    let found = [(1, Source::Host), (2, Source::Drive)].into_iter()
                        .find_map(|(tier, source)| Some((obvious.at(key(number), tier)?, source)));
                    if let Some((at, source)) = found {
                        prop_assert_eq!(blocks.pin(key(number)), source);
                        obvious.copies[at].uses += 1;
                        pins.push((key(number), source));
                    }
                }
                Op::Unpin(number) if !pins.is_empty() => {
                    let (key, source) = pins.swap_remove(usize::from(number) % pins.len());
                    blocks.unpin(key, source);
                    let at = obvious.at(key, if source == Source::Host { 1 } else { 2 }).expect("a pinned copy stays");
                    obvious.end_use(at);
                },
                Op::Written(number) => {
                    let writing: Vec<usize> = (0..obvious.copies.len()).filter(|at| !obvious.copies[*at].written).collect();
                    if !writing.is_empty() {
                        let at = writing[usize::from(number) % writing.len()];
                        blocks.written(obvious.copies[at].key);
                        obvious.copies[at].written = true;
                        obvious.touch(at);
                    }
                }
                _ => {}
            }
            prop_assert_eq!(blocks.room(), obvious.room());
            for number in 0..24 {
                prop_assert_eq!(blocks.find(key(number)), obvious.find(key(number)));
            }
            prop_assert_eq!(blocks.used(), [obvious.count(0) + obvious.private, obvious.count(1), obvious.count(2)]);
        }
    }
}
