use proptest::prelude::*;

use super::*;

/// An ideal cache: a prefetched page arrives within `late` requests.
struct Reader {
    streams: Streams,
    /// Pages that are on their way or there, with when they were wanted.
    there: std::collections::BTreeMap<u64, u64>,
    late: u64,
    now: u64,
    missed: u64,
    wanted: u64,
    used: u64,
}

impl Reader {
    fn new(most: u64, late: u64) -> Reader {
        let there = std::collections::BTreeMap::new();
        Reader { streams: Streams::new(most), there, late, now: 0, missed: 0, wanted: 0, used: 0 }
    }

    fn ask(&mut self, page: u64, busy: u32) -> Range<u64> {
        self.now += 1;
        let seen = match self.there.remove(&page) {
            None => Seen::Missed,
            Some(since) if since + self.late > self.now => Seen::Coming,
            Some(_) => Seen::There,
        };
        self.missed += u64::from(seen == Seen::Missed);
        self.used += u64::from(seen != Seen::Missed);
        let wanted = self.streams.follow(page, seen, busy);
        for page in wanted.clone() {
            self.wanted += u64::from(self.there.insert(page, self.now).is_none());
        }
        wanted
    }
}

#[test]
fn a_stream_misses_twice_and_its_window_grows_while_pages_come_late() {
    let mut reader = Reader::new(32, 24);
    let windows: Vec<u64> = (0..200).map(|page| reader.ask(page, 0).end.saturating_sub(page + 1)).collect();
    assert_eq!(reader.missed, 2, "{windows:?}");
    assert_eq!(windows[..2], [0, 4]);
    assert!(windows.contains(&8) && windows.contains(&16), "{windows:?}");
    assert_eq!(windows[199], 32);
}

#[test]
fn a_window_is_no_longer_than_is_needed_to_be_in_time() {
    let mut reader = Reader::new(64, 10);
    let last = (0..500).map(|page| reader.ask(page, 0).end.saturating_sub(page + 1)).max();
    assert!(last.is_some_and(|window| (10..=20).contains(&window)), "{last:?}");
}

#[test]
fn of_small_files_the_rest_is_wanted_at_their_first_page() {
    let mut reader = Reader::new(16, 1);
    for file in 0..200 {
        (0..3).for_each(|page| {
            reader.ask(1000 * file + page, 8);
        });
    }
    assert_eq!(reader.ask(1_000_000, 8), 1_000_001..1_000_003);
    // Behind the last page nothing.
    assert!(reader.ask(1_000_001, 8).is_empty() && reader.ask(1_000_002, 8).is_empty());
    assert!(reader.missed < 240, "{} of 600 pages missed", reader.missed);
    assert!(reader.wanted - reader.used < 80, "{} of {} unused", reader.wanted - reader.used, reader.wanted);
}

#[test]
fn busy_flash_is_spent_on_what_is_nearly_certain() {
    let mut reader = Reader::new(16, 1);
    for file in 0..400 {
        let pages = if file % 2 == 0 { 2 } else { 6 };
        (0..pages).for_each(|page| {
            reader.ask(1000 * file + page, CERTAIN);
        });
    }
    assert_eq!(reader.ask(1_000_000, CERTAIN / 4), 1_000_001..1_000_006, "half of all go on");
    assert!(reader.ask(2_000_000, CERTAIN).end <= 2_000_002, "all go on by a page");
}

#[test]
fn what_has_to_leave_unused_bounds_all_windows() {
    let mut reader = Reader::new(64, 100);
    (0..300).for_each(|page| {
        reader.ask(page, 0);
    });
    let window = |reader: &mut Reader, page: u64| reader.ask(page, 0).end - (page + 1);
    assert_eq!(window(&mut reader, 300), 64);
    (0..10 * JUDGED).for_each(|_| reader.streams.unused());
    // It is that far ahead already.
    assert!((301..364).all(|page| reader.ask(page, 0).is_empty()));
    assert_eq!(window(&mut reader, 364), 1);
    // And they grow again as pages are used.
    (365..365 + 10 * u64::from(JUDGED)).for_each(|page| {
        reader.ask(page, 0);
    });
    assert_eq!(window(&mut reader, 365 + 10 * u64::from(JUDGED)), 64);
}

proptest! {
    /// For any requests, prefetched pages lie ahead by at most the longest window, and a stream never repeats a page.
    #[test]
    fn what_is_wanted_lies_ahead(most in 1u64..80, late in 0u64..60, busy in 0..=CERTAIN, steps in prop::collection::vec((0u64..12, 0u64..4, 0u64..5), 1..600)) {
        let mut reader = Reader::new(most, late);
        let mut at = [0u64; 12];
        for (which, step, jump) in steps {
            let own = &mut at[which as usize];
            *own = if jump == 0 { (*own * 7919 + which) % 1_000_000 } else { *own + step };
            let page = *own;
            let wanted = reader.ask(page, busy);
            prop_assert!(wanted.start > page && wanted.end <= page + 1 + most.max(wanted.start - page - 1), "{wanted:?} behind {page}");
        }
    }

    /// As many readers in order as there are, each misses but a few pages, however they take turns.
    #[test]
    fn many_readers_are_told_apart(readers in 1u64..100, turns in prop::collection::vec(0u64..100, 3000..4000)) {
        let mut reader = Reader::new(16, 0);
        let mut at = vec![0u64; readers as usize];
        for turn in turns {
            let which = turn % readers;
            reader.ask(which * 1_000_000 + at[which as usize], 0);
            at[which as usize] += 1;
        }
        prop_assert!(reader.missed <= 2 * readers, "{} misses of {readers}", reader.missed);
    }

    /// Behind pages at random next to nothing is wanted.
    #[test]
    fn nothing_is_wanted_behind_random_pages(seed in 0u64..1000) {
        let mut rng = sim::Streams::new(seed).stream("pages");
        let mut reader = Reader::new(64, 5);
        (0..4000).for_each(|_| {
        reader.ask(rng.below(1 << 20), 0);
    });
        prop_assert!(reader.wanted < 40, "{} pages wanted", reader.wanted);
    }
}

#[test]
fn the_bound_follows_what_became_of_the_last_prefetched_pages() {
    let mut streams = Streams::new(16);
    let unused = |streams: &mut Streams, count| (0..count).for_each(|_| streams.unused());
    unused(&mut streams, JUDGED - 1);
    assert_eq!((streams.bound, streams.unused), (16, JUDGED - 1), "too few to judge");
    unused(&mut streams, 1);
    assert_eq!((streams.bound, streams.used, streams.unused), (8, 0, 0));
    for bound in [4, 2, 1, 1] {
        unused(&mut streams, JUDGED);
        assert_eq!(streams.bound, bound);
    }
    for bound in [2, 4, 8, 16, 16] {
        for page in 0..JUDGED {
            let _ = streams.follow(1000 * u64::from(page), Seen::There, 0);
        }
        assert_eq!(streams.bound, bound);
    }
}
