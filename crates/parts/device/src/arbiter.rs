//! Arbitration among submission queues (NVM Express Base Specification 2.0, 3.4.4).

use crate::{Arbitration, Priority, Weights};

/// Queues of one priority class, served in turn.
#[derive(Clone, Debug, Default)]
struct Class {
    queues: Vec<u16>,
    /// Index of the queue whose turn it is.
    at: usize,
    /// Commands that the queue may still supply in this turn.
    left: u32,
    /// Commands waiting in all queues of the class.
    pending: u32,
}

/// Chooses among queues with waiting commands.
#[derive(Clone, Debug)]
pub struct Arbiter {
    classes: [Class; 4],
    /// Class of each queue.
    class: Vec<u8>,
    /// Commands waiting in each queue.
    pending: Vec<u32>,
    /// Commands per round of the high, medium and low class.
    weights: [u32; 3],
    /// The weighted class whose turn it is.
    turn: usize,
    /// Commands that the class may still supply in this round.
    credit: u32,
    burst: u32,
    waiting: u32,
}

const URGENT: usize = 0;

impl Arbiter {
    /// Creates an arbiter of `queues` empty queues.
    ///
    /// # Panics
    /// Panics if the burst or a weight is outside the specification's range.
    pub fn new(
        arbitration: Arbitration,
        weights: Weights,
        burst: Option<u32>,
        priorities: &[Priority],
        queues: u16,
    ) -> Arbiter {
        let fits = burst.is_none_or(|burst| burst.is_power_of_two() && burst <= 64);
        assert!(fits, "an arbitration burst of {burst:?} commands, expected a power of two up to 64");
        let class_of = |queue: u16| match arbitration {
            // All queues are in one class, the medium one, whose weight then has no effect.
            Arbitration::RoundRobin => Priority::Medium,
            Arbitration::WeightedRoundRobin => priorities.get(queue as usize).copied().unwrap_or(Priority::Medium),
        };
        let weights = match arbitration {
            Arbitration::RoundRobin => [1, u32::MAX, 1],
            Arbitration::WeightedRoundRobin => [weights.high, weights.medium, weights.low],
        };
        if arbitration != Arbitration::RoundRobin {
            assert!(weights.iter().all(|w| (1..=256).contains(w)), "weights {weights:?}, expected 1 to 256 each");
        }
        let class: Vec<u8> = (0..queues).map(|queue| class_of(queue) as u8).collect();
        let mut classes: [Class; 4] = Default::default();
        for queue in 0..queues {
            classes[class[queue as usize] as usize].queues.push(queue);
        }
        let burst = burst.unwrap_or(u32::MAX);
        for class in &mut classes {
            class.left = burst;
        }
        let pending = vec![0; queues as usize];
        Arbiter { classes, class, pending, weights, turn: 0, credit: weights[0], burst, waiting: 0 }
    }

    /// Returns the number of commands waiting in all queues.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns the number of commands waiting in `queue`.
    pub fn pending(&self, queue: u16) -> u32 {
        self.pending[queue as usize]
    }

    /// Adds `count` waiting commands to `queue`.
    #[inline]
    pub fn add(&mut self, queue: u16, count: u32) {
        self.pending[queue as usize] += count;
        self.classes[self.class[queue as usize] as usize].pending += count;
        self.waiting += count;
    }

    /// Takes up to `limit` commands from the queue whose turn it is. Returns the queue and the number of commands, or
    /// `None` if no command waits.
    pub fn next(&mut self, limit: u32) -> Option<(u16, u32)> {
        if self.waiting == 0 || limit == 0 {
            return None;
        }
        let (class, credit) = if self.classes[URGENT].pending > 0 {
            (URGENT, u32::MAX)
        } else {
            // Terminates, because some class has commands and a round gives every class credit again.
            while self.credit == 0 || self.classes[URGENT + 1 + self.turn].pending == 0 {
                self.turn = (self.turn + 1) % 3;
                self.credit = self.weights[self.turn];
            }
            (URGENT + 1 + self.turn, self.credit)
        };
        let burst = self.burst;
        let Class { queues, at, left, .. } = &mut self.classes[class];
        while *left == 0 || self.pending[queues[*at] as usize] == 0 {
            *at = (*at + 1) % queues.len();
            *left = burst;
        }
        let queue = queues[*at];
        let count = limit.min(credit).min(*left).min(self.pending[queue as usize]);
        if burst != u32::MAX {
            *left -= count;
        }
        if class != URGENT && self.weights[self.turn] != u32::MAX {
            self.credit -= count;
        }
        self.remove(queue, count);
        Some((queue, count))
    }

    /// Takes `count` commands from `queue` without arbitration, for a queue without competitors.
    #[inline]
    pub fn remove(&mut self, queue: u16, count: u32) {
        self.pending[queue as usize] -= count;
        self.classes[self.class[queue as usize] as usize].pending -= count;
        self.waiting -= count;
    }

    /// Sets the burst, which applies from the next turn of each queue.
    pub fn set_burst(&mut self, burst: Option<u32>) {
        self.burst = burst.unwrap_or(u32::MAX);
        for class in &mut self.classes {
            class.left = self.burst;
        }
    }

    /// Empties all queues.
    pub fn clear(&mut self) {
        self.pending.fill(0);
        for class in &mut self.classes {
            class.pending = 0;
        }
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WEIGHTS: Weights = Weights { high: 8, medium: 4, low: 2 };

    /// Returns the commands taken from each queue over `turns` single-command turns, with all queues always full.
    fn shares(arbiter: &mut Arbiter, queues: u16, turns: usize) -> Vec<u32> {
        let mut got = vec![0; queues as usize];
        for queue in 0..queues {
            arbiter.add(queue, 1000);
        }
        for _ in 0..turns {
            let (queue, count) = arbiter.next(1).expect("a full queue");
            got[queue as usize] += count;
            arbiter.add(queue, count);
        }
        got
    }

    #[test]
    fn round_robin_is_fair_whatever_the_burst() {
        for burst in [Some(1), Some(4), Some(64)] {
            let mut arbiter = Arbiter::new(Arbitration::RoundRobin, WEIGHTS, burst, &[], 3);
            assert_eq!(shares(&mut arbiter, 3, 3 * 64 * 4), [256, 256, 256]);
        }
    }

    #[test]
    fn a_burst_is_taken_from_one_queue() {
        let mut arbiter = Arbiter::new(Arbitration::RoundRobin, WEIGHTS, Some(2), &[], 3);
        for queue in 0..3 {
            arbiter.add(queue, 3);
        }
        let order: Vec<_> = std::iter::from_fn(|| arbiter.next(8)).collect();
        assert_eq!(order, [(0, 2), (1, 2), (2, 2), (0, 1), (1, 1), (2, 1)]);
    }

    #[test]
    fn without_a_limit_a_queue_is_emptied_first() {
        let mut arbiter = Arbiter::new(Arbitration::RoundRobin, WEIGHTS, None, &[], 2);
        arbiter.add(0, 100);
        arbiter.add(1, 100);
        assert_eq!(arbiter.next(70), Some((0, 70)));
        assert_eq!(arbiter.next(70), Some((0, 30)));
        assert_eq!(arbiter.next(70), Some((1, 70)));
    }

    #[test]
    fn classes_share_by_weight_and_urgent_goes_first() {
        use Priority::{High, Low, Medium, Urgent};
        let weighted = Arbitration::WeightedRoundRobin;
        // Two high-priority queues share the weight of their class.
        let mut arbiter = Arbiter::new(weighted, WEIGHTS, Some(2), &[High, Medium, Low, High], 4);
        assert_eq!(shares(&mut arbiter, 4, 14 * 100), [400, 400, 200, 400]);
        let mut arbiter = Arbiter::new(weighted, WEIGHTS, Some(2), &[High, Urgent, Low, High], 4);
        for queue in 0..4 {
            arbiter.add(queue, 10);
        }
        for _ in 0..5 {
            assert_eq!(arbiter.next(8), Some((1, 2)));
        }
        assert_eq!(arbiter.next(8), Some((0, 2)));
        arbiter.add(1, 1);
        assert_eq!(arbiter.next(8), Some((1, 1)));
        assert_eq!(arbiter.next(8), Some((3, 2)));
    }

    #[test]
    fn an_idle_class_leaves_its_share_to_the_others() {
        use Priority::{High, Low};
        let weights = Weights { high: 3, medium: 200, low: 1 };
        let mut arbiter = Arbiter::new(Arbitration::WeightedRoundRobin, weights, None, &[High, Low], 2);
        assert_eq!(shares(&mut arbiter, 2, 400), [300, 100]);
    }

    proptest! {
        /// Commands are neither invented nor lost, no turn exceeds its limits, and every waiting queue is served
        /// eventually.
        #[test]
        fn commands_are_conserved(
            weighted: bool,
            burst in 0u32..7,
            adds in prop::collection::vec((0u16..5, 1u32..10), 1..50),
            limit in 1u32..9,
        ) {
            use Priority::{High, Low, Medium, Urgent};
            let arbitration = if weighted { Arbitration::WeightedRoundRobin } else { Arbitration::RoundRobin };
            let weights = Weights { high: 3, medium: 2, low: 1 };
            let burst = 1 << burst;
            let mut arbiter = Arbiter::new(arbitration, weights, Some(burst), &[Low, High, Urgent, Medium], 5);
            let mut pending = [0u32; 5];
            for (queue, count) in adds {
                arbiter.add(queue, count);
                pending[queue as usize] += count;
                if let Some((queue, count)) = arbiter.next(limit) {
                    prop_assert!((1..=limit.min(burst)).contains(&count));
                    prop_assert!(count <= pending[queue as usize]);
                    prop_assert!(!weighted || pending[2] == 0 || queue == 2);
                    pending[queue as usize] -= count;
                }
            }
            while let Some((queue, count)) = arbiter.next(limit) {
                pending[queue as usize] -= count;
            }
            prop_assert_eq!(pending, [0; 5]);
            prop_assert_eq!(arbiter.waiting(), 0);
        }
    }
}
