//! Queue pairs between a driver and a controller, compared with queues without rings; interrupt coalescing, compared
//! with its definition.

use std::collections::{BTreeMap, VecDeque};

use device::{Coalescing, Config, Event, Firmware, Nvme, Output};
use host::{Delivery, Entry};
use media::{Op, Request, Status, Tag};
use proptest::prelude::*;
use sim::{EventQueue, Lane, Part, Schedule, Time};

#[derive(Default)]
struct Recorder {
    device: Vec<(Time, Event)>,
    host: Vec<host::Event>,
}

impl Schedule<Event> for Recorder {
    fn at(&mut self, _: Lane, when: Time, event: Event) {
        self.device.push((when, event));
    }
}

impl Schedule<host::Event> for Recorder {
    fn at(&mut self, _: Lane, _: Time, event: host::Event) {
        self.host.push(event);
    }
}

const ROUND_TRIP: Time = Time::from_ns(500);

fn instant() -> Firmware {
    Firmware {
        cores: 1,
        read: Time::ZERO,
        write: Time::ZERO,
        trim: Time::ZERO,
        trim_gib: Time::ZERO,
        flush: Time::ZERO,
        append: Time::ZERO,
        zone: Time::ZERO,
        complete: Time::ZERO,
    }
}

proptest! {
    /// Commands are fetched in the order of their doorbells and completed in the order in which they end, over any
    /// number of rounds of the rings. The phase of an entry changes with every round, and an entry is only reused after
    /// its command has ended.
    #[test]
    fn rings_are_queues(
        depth in 2u16..9,
        burst in 1u32..5,
        room in 1u32..6,
        steps in prop::collection::vec((0u8..4, any::<prop::sample::Index>()), 1..300),
    ) {
        let config =
            Config { max_commands: room, fetch_burst: burst, arbitration_burst: None, firmware: instant(), ..Config::default() };
        let mut device = Nvme::new(&config, 1, depth, true, ROUND_TRIP);
        let mut driver = host::Nvme::new(&host::Config {
            cores: 1,
            queue_pairs: Some(1),
            queue_depth: u32::from(depth),
            completion: host::Completion::interrupts(Time::ZERO, Time::ZERO),
            ..host::Config::default()
        });
        // Requests without an entry, in the submission queue, and in the controller.
        let (mut waiting, mut submitted, mut fetched) = (VecDeque::new(), VecDeque::new(), Vec::new());
        let mut ios: BTreeMap<u16, u32> = BTreeMap::new();
        let (mut next_io, mut posted, mut now) = (0u32, 0usize, Time::ZERO);
        for (step, pick) in steps {
            now += Time::from_us(10);
            let mut s = Recorder::default();
            match step {
                // Submit a request.
                0 => {
                    let request = Request::new(Op::Read, u64::from(next_io) * 4096, 4096);
                    let queue = driver.submit(next_io, 0, request);
                    let free = ios.len() < usize::from(depth) - 1 && waiting.is_empty();
                    let issued = driver.issue(now, queue, false, &mut s);
                    prop_assert_eq!(issued.is_some(), free);
                    match issued {
                        Some((submission, _)) => {
                            ios.insert(submission.cid, next_io);
                            device.doorbell(queue, driver.enter(queue, submission.cid));
                            submitted.push_back(submission.cid);
                        }
                        None => waiting.push_back(next_io),
                    }
                    next_io += 1;
                }
                // Let the controller fetch.
                1 => {
                    let free = room as usize - fetched.len();
                    let expected = submitted.len().min(burst as usize).min(free);
                    match device.fetch() {
                        None => prop_assert_eq!(expected, 0),
                        Some(fetch) => {
                            prop_assert_eq!(fetch.count as usize, expected);
                            device.admit(fetch, (now, false), |index| driver.entry(0, index), &mut s);
                            for (_, event) in std::mem::take(&mut s.device) {
                                let mut report = None;
                                device.handle(now, event, &mut s, &mut report);
                                let Some(Output::Command { tag, cid, request, .. }) = report else {
                                    panic!("{report:?} of a read that takes no time to decode")
                                };
                                prop_assert_eq!(Some(cid), submitted.pop_front());
                                prop_assert_eq!(request.offset, u64::from(ios[&cid]) * 4096);
                                fetched.push((tag, cid));
                            }
                        }
                    }
                }
                // End some command.
                2 if !fetched.is_empty() => {
                    let (tag, cid) = fetched.swap_remove(pick.index(fetched.len()));
                    device.data(now, Tag(u32::from(tag)), 4096, &mut s);
                    let end = device.complete(now, Tag(u32::from(tag)), Status::Ok, &mut s);
                    prop_assert_eq!(end, Some((tag, now)));
                    let ended = device.release(now, tag, &mut s);
                    let (index, entry) = device.post(ended.queue, ended.cid, ended.status);
                    prop_assert_eq!(index as usize, posted % usize::from(depth));
                    prop_assert_eq!(entry.phase, (posted / usize::from(depth)).is_multiple_of(2));
                    prop_assert_eq!(entry.cid, cid);
                    posted += 1;
                    let entry =
                        Entry { cid, phase: entry.phase, status: entry.status };
                    let delivery = Delivery { queue: 0, index, entry, visible: now, interrupt: Some(now) };
                    let head = driver.completion(now, delivery, &mut s);
                    prop_assert_eq!(head, Some((posted % usize::from(depth)) as u16));
                    device.seen(0, head.unwrap());
                    // The driver has processed it: the request ends, and its entry goes to a waiting request.
                    let event = s.host.pop().expect("a processed completion");
                    prop_assert_eq!(event.cid, cid);
                    let mut completed = None;
                    driver.handle(now, event, &mut s, &mut completed);
                    prop_assert_eq!(completed.unwrap().io, ios.remove(&cid).unwrap());
                    let next = driver.issue(now, 0, false, &mut s);
                    prop_assert_eq!(next.is_some(), !waiting.is_empty());
                    if let Some((submission, _)) = next {
                        ios.insert(submission.cid, waiting.pop_front().unwrap());
                        device.doorbell(0, driver.enter(0, submission.cid));
                        submitted.push_back(submission.cid);
                    }
                }
                _ => {}
            }
        }
    }

    /// An interrupt is sent when the number of waiting completions reaches the threshold, or when the first of them has
    /// waited for the aggregation time, whichever comes first (NVM Express Base Specification 2.0, Feature 08h).
    #[test]
    fn coalescing_is_as_defined(
        threshold in 2u32..6,
        time in 1u64..5,
        gaps in prop::collection::vec(0u64..150, 1..60),
    ) {
        let time = Time::from_us(time * 100);
        let config = Config {
            coalescing: Coalescing { threshold, time },
            firmware: instant(),
            ..Config::default()
        };
        let mut device = Nvme::new(&config, 1, 64, true, ROUND_TRIP);
        let mut at = Time::ZERO;
        let posts: Vec<Time> = gaps.into_iter().map(|gap| { at += Time::from_us(gap) + Time::from_ps(1); at }).collect();

        // Expected interrupts by definition.
        let (mut expected, mut held): (Vec<(Time, u32)>, Vec<Time>) = (Vec::new(), Vec::new());
        for &post in &posts {
            if held.first().is_some_and(|first| *first + time < post) {
                expected.push((held[0] + time, held.len() as u32));
                held.clear();
            }
            held.push(post);
            if held.len() as u32 == threshold {
                expected.push((post, threshold));
                held.clear();
            }
        }
        if let Some(first) = held.first() {
            expected.push((*first + time, held.len() as u32));
        }

        struct Timers(EventQueue<Option<Event>>);
        impl Schedule<Event> for Timers {
            fn at(&mut self, lane: Lane, when: Time, event: Event) {
                if matches!(event, Event::Coalesced { .. }) {
                    self.0.push(lane, when, Some(event));
                }
            }
        }
        let mut timers = Timers(EventQueue::new(8));
        for &post in &posts {
            timers.0.push(Lane(7), post, None);
        }
        let (mut interrupts, mut untold, mut index) = (Vec::new(), 0, 0u16);
        while let Some((now, event)) = timers.0.pop() {
            let due = match event {
                Some(timer) => {
                    let mut due = None;
                    device.handle(now, timer, &mut timers, &mut due);
                    due.is_some()
                }
                None => {
                    device.doorbell(0, (index + 1) % 64);
                    index = (index + 1) % 64;
                    let fetch = device.fetch().unwrap();
                    device.admit(fetch, (now, false), |_| (0, Request::flush()), &mut timers);
                    let tag = 0;
                    let mut decoded = None;
                    device.handle(now, Event::Fetched(tag), &mut timers, &mut decoded);
                    prop_assert!(matches!(decoded, Some(Output::Command { tag: 0, .. })), "{decoded:?}");
                    device.complete(now, Tag(0), Status::Ok, &mut timers);
                    let ended = device.release(now, tag, &mut timers);
                    device.post(ended.queue, ended.cid, ended.status);
                    untold += 1;
                    ended.interrupt
                }
            };
            if due {
                interrupts.push((now, untold));
                untold = 0;
                device.seen(0, index);
            }
        }
        prop_assert_eq!(interrupts, expected);
    }
}
