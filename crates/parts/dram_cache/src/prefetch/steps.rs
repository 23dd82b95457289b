//! The steps of a prefetch in the controller: what it reports to the prefetcher, and when a prefetch starts.

use super::Seen;
use super::lengths::CERTAIN;
use crate::config::PrefetchKind;
use crate::waiting::{Line, WaitingKind};
use crate::{Hybrid, Port};

impl Hybrid {
    /// Returns whether a prefetch may start now.
    pub(crate) fn may_prefetch(&self) -> bool {
        self.prefetcher.under_way < self.prefetcher.most && self.stalled.is_empty()
    }

    /// Notes a request for a page that must be fetched, or the first request for a prefetched one.
    pub(crate) fn notify_prefetcher(&mut self, page: u64, seen: Seen) {
        if self.config.keys.prefetch.kind != PrefetchKind::None {
            self.prefetch_behind(page, seen);
        }
    }

    fn prefetch_behind(&mut self, page: u64, seen: Seen) {
        if seen != Seen::Missed {
            self.stats.prefetches_used += 1;
        }
        let in_use = self.fetches.len() - self.free_fetches.len();
        let busy = in_use * CERTAIN as usize / self.fetches.len();
        self.prefetcher.requested(page, seen, busy as u32, self.config.pages);
        if let Some(ahead) = &mut self.prefetcher.ahead {
            for page in ahead.take_ended() {
                self.directory.release(page);
            }
        }
    }

    /// Starts waiting prefetches, as far as there is room.
    pub(crate) fn run_prefetches(&mut self, out: &mut impl Port) {
        while self.may_prefetch() && !self.free_fetches.is_empty() {
            let Some(page) = self.prefetcher.take(self.config.pages) else { return };
            let address = page << self.page_shift;
            self.prefetcher.under_way += 1;
            self.prefetcher.was_put_back = false;
            self.look_up(Line { id: 0, kind: WaitingKind::Prefetch, address }, out);
            if self.prefetcher.was_put_back {
                return;
            }
        }
    }
}
