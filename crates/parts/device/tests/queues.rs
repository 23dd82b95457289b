//! Queue pairs between a driver and a controller, against queues without rings; interrupt coalescing, against its
//! definition.

use std::collections::{BTreeMap, VecDeque};

use device::{Coalescing, Config, Event, Firmware, Nvme};
use host::{Delivery, Entry};
use media::{Op, Request, Status, Tag};
use proptest::prelude::*;
use sim::{EventQueue, Lane, Schedule, Time};

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
        complete: Time::ZERO,
    }
}

proptest! {
    /// Commands are fetched in the order of their doorbells and told in the order in which they end, round the ends of
    /// the rings as often as may be; the phase of an entry turns with every round; a place is used again only when its
    /// user has ended.
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
            queue_pairs: 1,
            queue_depth: u32::from(depth),
            completion: host::Completion::Interrupt { delivery: Time::ZERO, handler: Time::ZERO },
            ..host::Config::default()
        });
        // What is where: requests without a place, in the submission queue, in the controller.
        let (mut waiting, mut submitted, mut fetched) = (VecDeque::new(), VecDeque::new(), Vec::new());
        let mut ios: BTreeMap<u16, u32> = BTreeMap::new();
        let (mut next_io, mut posted, mut now) = (0u32, 0usize, Time::ZERO);
        for (step, pick) in steps {
            now += Time::from_us(10);
            let mut s = Recorder::default();
            match step {
                // A request.
                0 => {
                    let request = Request::new(Op::Read, u64::from(next_io) * 4096, 4096);
                    let (queue, first) = driver.submit(now, next_io, 0, &request, &mut s);
                    let free = ios.len() < usize::from(depth) - 1 && waiting.is_empty();
                    prop_assert_eq!(first.is_some(), free);
                    match first {
                        Some(submission) => {
                            ios.insert(submission.cid, next_io);
                            driver.keep(queue, submission.cid, submission.request);
                            device.doorbell(queue, driver.enter(queue, submission.cid));
                            submitted.push_back(submission.cid);
                        }
                        None => waiting.push_back(next_io),
                    }
                    next_io += 1;
                }
                // The controller fetches.
                1 => {
                    let free = room as usize - fetched.len();
                    let expected = submitted.len().min(burst as usize).min(free);
                    match device.fetch() {
                        None => prop_assert_eq!(expected, 0),
                        Some(fetch) => {
                            prop_assert_eq!(fetch.count as usize, expected);
                            device.admit(fetch, now, |index| driver.entry(0, index), &mut s);
                            let mut next = match s.device.pop() {
                                Some((_, Event::Fetched(tag))) => Some(tag),
                                other => panic!("{other:?} after a fetch"),
                            };
                            while let Some(tag) = next {
                                next = device.fetched(tag).0;
                                prop_assert!(device.decode(now, tag, &mut s));
                                let (_, cid, request) = device.run(tag);
                                prop_assert_eq!(Some(cid), submitted.pop_front());
                                prop_assert_eq!(request.offset, u64::from(ios[&cid]) * 4096);
                                fetched.push((tag, cid));
                            }
                        }
                    }
                }
                // Some command ends.
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
                    // The driver has processed it: the request ends, its place goes to one that waits.
                    let event = s.host.pop().expect("a processed completion");
                    prop_assert_eq!(event.cid, cid);
                    prop_assert_eq!(driver.reaped(event).0.unwrap().io, ios.remove(&cid).unwrap());
                    let next = driver.issue(now, 0, &mut s);
                    prop_assert_eq!(next.is_some(), !waiting.is_empty());
                    if let Some(submission) = next {
                        ios.insert(submission.cid, waiting.pop_front().unwrap());
                        driver.keep(0, submission.cid, submission.request);
                        device.doorbell(0, driver.enter(0, submission.cid));
                        submitted.push_back(submission.cid);
                    }
                }
                _ => {}
            }
        }
    }

    /// An interrupt comes when as many completions wait as the threshold says, or the first of them has waited for the
    /// aggregation time, whichever is first (NVM Express Base Specification 2.0, Feature 08h).
    #[test]
    fn coalescing_is_as_defined(
        threshold in 2u32..6,
        time in 1u64..5,
        gaps in prop::collection::vec(0u64..150, 1..60),
    ) {
        let time = Time::from_us(time * 100);
        let config = Config {
            coalescing: Some(Coalescing { threshold, time }),
            firmware: instant(),
            ..Config::default()
        };
        let mut device = Nvme::new(&config, 1, 64, true, ROUND_TRIP);
        let mut at = Time::ZERO;
        let posts: Vec<Time> = gaps.into_iter().map(|gap| { at += Time::from_us(gap) + Time::from_ps(1); at }).collect();

        // By definition.
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
                Some(Event::Coalesced { queue, epoch }) => device.coalesced(queue, epoch),
                Some(other) => panic!("{other:?} is no timer"),
                None => {
                    device.doorbell(0, (index + 1) % 64);
                    index = (index + 1) % 64;
                    let fetch = device.fetch().unwrap();
                    device.admit(fetch, now, |_| (0, Request::flush()), &mut timers);
                    let tag = 0;
                    prop_assert!(device.decode(now, tag, &mut timers));
                    device.run(tag);
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
