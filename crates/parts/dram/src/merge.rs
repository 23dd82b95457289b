//! The completions of several channels, merged in order of time.

use sim::{Dense, Time};

use crate::controller::{Done, Timed};
use crate::request::Completion;

/// A completion and its number in order of insertion.
struct Numbered {
    number: u64,
    done: Completion,
}

impl Timed for Numbered {
    #[inline]
    fn at(&self) -> Time {
        self.done.at
    }
}

/// One list per channel. The completions of one channel are known nearly in order of time, because they share a data
/// bus; those of several channels are not.
pub(crate) struct Merge {
    channels: Dense<Done<Numbered>>,
    /// The time of each channel's first completion, that of the first of all, and its channel.
    heads: Dense<Time>,
    first: Time,
    channel: usize,
    /// Number of the next completion.
    next: u64,
}

impl Merge {
    /// Creates empty lists for `channels` channels, at least one.
    pub(crate) fn new(channels: usize) -> Merge {
        assert!(channels > 0, "completions of no channel");
        let (lists, heads) =
            (Dense::new((0..channels).map(|_| Done::default()).collect()), Dense::new(vec![Time::MAX; channels]));
        Merge { channels: lists, heads, first: Time::MAX, channel: 0, next: 0 }
    }

    /// Inserts a completion of a channel after all that are not later.
    #[inline]
    pub(crate) fn insert(&mut self, channel: usize, done: Completion) {
        let (number, at) = (self.next, done.at);
        self.next += 1;
        self.channels[channel].insert(Numbered { number, done });
        // It comes after all others of the same time.
        if at < self.heads[channel] {
            self.heads[channel] = at;
            if at < self.first {
                (self.first, self.channel) = (at, channel);
            }
        }
    }

    /// Returns the time of the first completion, or [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> Time {
        self.first
    }

    /// Takes the first completion, if it is not later than `now`. Those of the same time keep the order of insertion.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<Completion> {
        let list = &mut self.channels[self.channel];
        let taken = list.take(now)?;
        self.heads[self.channel] = list.first();
        self.first = Time::MAX;
        for (channel, head) in self.heads.iter().enumerate() {
            let is_tie = *head == self.first && *head != Time::MAX;
            if *head < self.first || (is_tie && self.number(channel) < self.number(self.channel)) {
                (self.first, self.channel) = (*head, channel);
            }
        }
        Some(taken.done)
    }

    /// Returns the number of a channel's first completion.
    #[cold]
    fn number(&self, channel: usize) -> u64 {
        self.channels[channel].front().map_or(u64::MAX, |first| first.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with one list that is sorted by time, in the order of insertion.
        #[test]
        fn channels_are_merged_in_order_of_time(
            steps in prop::collection::vec((0u8..3, 0usize..3, 0u64..20), 1..300)
        ) {
            let (mut merge, mut obvious, mut now) = (Merge::new(3), Vec::new(), 0);
            for (id, (what, channel, delay)) in steps.into_iter().enumerate() {
                if what > 0 {
                    let at = Time::from_ps(now + delay);
                    merge.insert(channel, Completion { id: id as u64, at, ..Completion::default() });
                    obvious.push((at, id as u64));
                    obvious.sort_unstable();
                } else {
                    now += delay;
                    while merge.first() <= Time::from_ps(now) {
                        let taken = merge.take(Time::from_ps(now)).map(|done| (done.at, done.id));
                        prop_assert_eq!(taken, Some(obvious.remove(0)));
                    }
                    prop_assert!(merge.take(Time::from_ps(now)).is_none());
                    prop_assert!(obvious.first().is_none_or(|(at, _)| *at > Time::from_ps(now)));
                }
            }
        }
    }
}
