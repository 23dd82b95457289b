//! Submissions in order of time, and of submission at equal times.
//!
//! Most callers submit in order of time, so these are kept in a plain queue. Others go to a heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use sim::Time;

/// A submission to come: its time, its number, and its slot.
type Entry = (Time, u64, u32);

/// Submissions whose time has not come.
pub(crate) struct Pending {
    in_order: VecDeque<Entry>,
    others: BinaryHeap<Reverse<Entry>>,
    /// Time of the first, or [`Time::MAX`].
    first_at: Time,
}

impl Pending {
    pub fn new() -> Pending {
        Pending { in_order: VecDeque::new(), others: BinaryHeap::new(), first_at: Time::MAX }
    }

    /// Adds a submission. Numbers must increase.
    #[inline]
    pub fn push(&mut self, at: Time, id: u64, slot: u32) {
        if self.in_order.back().is_none_or(|last| last.0 <= at) {
            self.in_order.push_back((at, id, slot));
        } else {
            self.others.push(Reverse((at, id, slot)));
        }
        self.first_at = self.first_at.min(at);
    }

    /// Returns the time of the first submission, or [`Time::MAX`].
    #[inline]
    pub fn first_at(&self) -> Time {
        self.first_at
    }

    /// Removes the first submission if its time is `now` or earlier, and returns its slot.
    #[inline]
    pub fn pop_until(&mut self, now: Time) -> Option<u32> {
        if self.first_at > now {
            return None;
        }
        let other = self.others.peek().map(|Reverse(entry)| *entry);
        let entry = match (self.in_order.front(), other) {
            (Some(first), other) if other.is_none_or(|other| *first < other) => self.in_order.pop_front(),
            _ => self.others.pop().map(|Reverse(entry)| entry),
        };
        let next = self.in_order.front().map_or(Time::MAX, |entry| entry.0);
        self.first_at = self.others.peek().map_or(next, |Reverse(entry)| next.min(entry.0));
        entry.map(|entry| entry.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn submissions_leave_in_order_of_time_and_of_submission(times in prop::collection::vec(0u64..20, 0..60), pops in 0usize..60) {
            let (mut pending, mut expected) = (Pending::new(), Vec::new());
            for (id, at) in times.iter().enumerate() {
                pending.push(Time::from_ps(*at), id as u64, id as u32);
                expected.push((*at, id as u32));
                if id == pops {
                    expected.sort_unstable();
                    let first = expected.remove(0);
                    prop_assert_eq!(pending.first_at(), Time::from_ps(first.0));
                    prop_assert_eq!(pending.pop_until(Time::MAX), Some(first.1));
                }
            }
            expected.sort_unstable();
            for (at, slot) in expected {
                prop_assert_eq!(pending.first_at(), Time::from_ps(at));
                prop_assert!(at == 0 || pending.pop_until(Time::from_ps(at - 1)).is_none());
                prop_assert_eq!(pending.pop_until(Time::from_ps(at)), Some(slot));
            }
            prop_assert_eq!(pending.first_at(), Time::MAX);
        }
    }
}
