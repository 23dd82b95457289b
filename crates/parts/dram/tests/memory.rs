//! Several channels behind one address space, driven by an event queue like in a machine.

use dram::{Ack, Completion, Config, Device, Memory, RankKind, Ranks, Region, Request, RequestKind, Wake};
use sim::{EventQueue, Lane, Schedule, Streams, Time};

struct World(EventQueue<Wake>);

impl Schedule<Wake> for World {
    fn at(&mut self, lane: Lane, when: Time, event: Wake) {
        self.0.push(lane, when, event);
    }
}

fn settle(memory: &mut Memory, world: &mut World) -> Vec<Completion> {
    let mut done = Vec::new();
    memory.arm(world);
    while let Some((now, wake)) = world.0.pop() {
        memory.handle(now, wake, world, &mut done);
    }
    done
}

#[test]
fn a_large_request_uses_all_channels_and_is_done_once() {
    let config = Config::new(Device::preset("DDR5-4800").expect("a preset"));
    let took = [1u32, 2].map(|channels| {
        let mut memory = Memory::interleaved(&config, channels, 256).expect("a memory");
        let mut world = World(EventQueue::new(Memory::LANES));
        memory.submit(Time::ZERO, Request { id: 9, bytes: 1 << 20, ..Request::default() });
        let done = settle(&mut memory, &mut world);
        assert_eq!(done.iter().map(|completion| completion.id).collect::<Vec<_>>(), [9]);
        let bursts: u64 = memory.channels().map(|channel| channel.stats().bursts[0]).sum();
        assert_eq!(bursts, (1 << 20) / 64);
        let stats = memory.port_stats(0);
        assert_eq!((stats.requests, stats.bytes), ([1, 0], [1 << 20, 0]));
        done[0].at
    });
    let ratio = took[0].ps() as f64 / took[1].ps() as f64;
    assert!((1.95..2.05).contains(&ratio), "two subchannels are {ratio} times as fast");
}

#[test]
fn events_come_in_order_and_stale_ones_do_no_harm() {
    let device = Device::preset("LPDDR4X-4266").expect("a preset");
    let config = Config { ports: 2, ..Config::new(device) };
    let mut memory = Memory::interleaved(&config, 4, 4096).expect("a memory");
    let mut world = World(EventQueue::new(Memory::LANES));
    let mut done = Vec::new();
    for id in 0..500u64 {
        let kind = if id % 5 == 0 { RequestKind::Write } else { RequestKind::Read };
        let now = Time::from_ns(7 * id);
        while let Some((now, wake)) = world.0.pop_until(now) {
            memory.handle(now, wake, &mut world, &mut done);
        }
        let address = id * 0x9e37_79b9 % (1 << 30) / 64 * 64;
        memory.submit(now, Request { id, kind, address, bytes: 64, port: (id % 2) as u8, ..Request::default() });
        memory.arm(&mut world);
    }
    done.extend(settle(&mut memory, &mut world));
    assert!(done.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order of time");
    let mut ids: Vec<u64> = done.iter().map(|completion| completion.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..500).collect::<Vec<_>>());
    let requests = [0, 1].map(|port| memory.port_stats(port).requests.iter().sum::<u64>());
    assert_eq!(requests, [250, 250]);
    assert!(memory.energy(Time::from_ms(1)) > sim::Energy::ZERO);
}

/// Returns requests of a line, a page, or more than a channel's stripe: reads, and writes with each acknowledgment.
fn mixed(seed: u64) -> Vec<(Time, Request)> {
    let mut rng = Streams::new(seed).stream("memory");
    let mut now = Time::ZERO;
    let request = |id: u64| {
        now += Time::from_ns([0, 1, 30, 400, 9000][rng.below(5) as usize]);
        let bytes = [64, 64, 4096, 3 * 4096][rng.below(4) as usize];
        let kind = if rng.below(2) == 0 { RequestKind::Read } else { RequestKind::Write };
        let ack = [Ack::Accepted, Ack::Written, Ack::Silent][rng.below(3) as usize];
        (now, Request { id, kind, ack, address: rng.below(256) * 4096, bytes, ..Request::default() })
    };
    (0..2000).map(request).collect()
}

/// A caller that uses `next_done` must be called exactly when a request is done, and gets the completions of others
/// too; silent writes have none.
#[test]
fn what_is_done_is_told_at_its_time() {
    for seed in 1..=3 {
        let config = Config::new(Device::preset("DDR3-1600").expect("a preset"));
        let requests = mixed(seed);
        let mut told = [true, false].map(|far| {
            let mut memory = Memory::interleaved(&config, 2, 4096).expect("a memory");
            let mut done: Vec<Completion> = Vec::new();
            for (at, request) in requests.iter().map(|(at, request)| (*at, Some(*request))).chain([(Time::MAX, None)]) {
                while let Some(now) = if far { memory.next_done() } else { memory.next_event() }
                    && now < at
                {
                    let seen = done.len();
                    if far {
                        memory.come_to_done(now);
                        while let Some(completion) = memory.take_done(now) {
                            done.push(completion);
                        }
                    } else {
                        memory.advance(now, &mut done);
                    }
                    let late = done[seen..].iter().find(|completion| completion.at != now);
                    assert_eq!(late, None, "told at {now}, seed {seed}");
                }
                if let Some(request) = request {
                    memory.submit(at, request);
                }
            }
            done
        });
        told.iter_mut().for_each(|done| done.sort_by_key(|completion| completion.id));
        let [far, near] = told;
        let awaited = |request: &Request| request.kind == RequestKind::Read || request.ack != Ack::Silent;
        let ids: Vec<u64> = requests.iter().filter(|(_, request)| awaited(request)).map(|(_, r)| r.id).collect();
        assert_eq!(near.iter().map(|completion| completion.id).collect::<Vec<_>>(), ids);
        assert_eq!(far, near, "seed {seed}");
    }
}

/// `drambus` 7.2: DRAM interleaved over two channels by cache blocks, and the storage device's buffer contiguous in a
/// region of its own, after the DRAM of the second channel.
#[test]
fn a_device_buffer_stays_out_of_the_interleaving() {
    let device = Device::preset("LPDDR3-1200").expect("a preset");
    let (dram, buffer) = (Ranks { kind: RankKind::Dram, count: 1 }, Ranks { kind: RankKind::Buffer, count: 1 });
    let first = Config { ranks: vec![dram], ..Config::new(device.clone()) };
    let second = Config { ranks: vec![dram, buffer], ..Config::new(device.clone()) };
    let rank = device.rank_bytes();
    let regions = vec![
        Region { base: 0, bytes: 2 * rank, channels: vec![0, 1], granularity: 64, local: 0, hashed: false },
        Region { base: 1 << 40, bytes: 1 << 20, channels: vec![1], granularity: 4096, local: rank, hashed: false },
    ];
    let mut memory = Memory::new(&[first, second], regions).expect("a memory");
    assert_eq!(memory.kind_at(0), Some(RankKind::Dram));
    assert_eq!(memory.kind_at((1 << 40) + 77), Some(RankKind::Buffer));
    assert_eq!(memory.kind_at(1 << 39), None);
    let mut world = World(EventQueue::new(Memory::LANES));
    memory.submit(Time::ZERO, Request { id: 1, address: 1 << 40, bytes: 4096, ..Request::default() });
    memory.submit(Time::ZERO, Request { id: 2, address: 4096, bytes: 4096, ..Request::default() });
    let done = settle(&mut memory, &mut world);
    let of = |id| done.iter().find(|completion| completion.id == id).map(|completion| completion.rank_kind);
    assert_eq!((of(1), of(2)), (Some(RankKind::Buffer), Some(RankKind::Dram)));
    let bursts = |channel: usize| memory.channels().nth(channel).expect("a channel").stats().bursts[0];
    assert_eq!((bursts(0), bursts(1)), (64, 64 + 128), "the buffer's bursts are all on its channel");
}
