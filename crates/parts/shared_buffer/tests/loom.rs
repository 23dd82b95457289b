//! The protocol under a model checker: every execution, with a bounded number of preemptions, of a few commands between
//! the threads of a host and a device. loom implements the C11 memory model except for load buffering: a load never
//! returns a value that is stored later.
//!
//! Run it with `make loom`, or with `RUSTFLAGS="--cfg loom" cargo test -p shared_buffer --test loom`.
//!
//! Publishing words are loom atomics. All others (the rest of a submission entry, the data, the rest of the header) are
//! guarded by loom cells: two unordered accesses, one of them a store, are a failure even if the value happens to be
//! right. The model therefore finds words that are reused too early as well as words that are read too early.
//!
//! The first part shows that the orderings suffice. The second weakens them one at a time and expects a failure.

#![cfg(loom)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use shared_buffer::{
    Command, Config, DeviceQueue, DeviceQueues, Extents, HostQueue, Layout, LayoutError, Opcode, Orders, Region, Sound,
    Status,
};

/// Tracks accesses without holding a value, because loom's cell is not `Sync`.
struct AccessCheck(UnsafeCell<()>);

// SAFETY: The cell is empty, and no code takes a reference to its content. Concurrent accesses are what loom must
// detect.
unsafe impl Sync for AccessCheck {}

enum Word {
    /// A word that publishes others.
    Flag(loom::sync::atomic::AtomicU64),
    /// A published word: loom must see an ordering of its accesses, whatever its own atomic permits.
    Data(AccessCheck, AtomicU64),
    /// A word accessed by at most one side.
    Private(AtomicU64),
}

/// A region within a loom model.
struct Model(Vec<Word>);

impl Model {
    fn new(layout: &Layout) -> Model {
        let config = layout.config();
        let (mut flags, mut data) = (BTreeSet::from([layout.header()]), BTreeSet::from([1, 2, 3]));
        for queue in 0..config.queue_pairs {
            flags.extend([layout.doorbell(queue), layout.cq_head(queue), layout.status(queue)]);
            flags.extend((0..config.cq_entries).map(|index| layout.cq_entry(queue, index)));
            for index in 0..config.sq_entries {
                let entry = layout.sq_entry(queue, index);
                flags.insert(entry);
                data.extend(entry + 1..entry + layout.sq_entry_words());
            }
        }
        // One word represents a whole sector.
        data.extend((0..config.db_sectors).map(|sector| layout.db_sector(sector)));
        let word = |at| match (flags.contains(&at), data.contains(&at)) {
            (true, false) => Word::Flag(loom::sync::atomic::AtomicU64::new(0)),
            (false, true) => Word::Data(AccessCheck(UnsafeCell::new(())), AtomicU64::new(0)),
            (false, false) => Word::Private(AtomicU64::new(0)),
            (true, true) => panic!("word {at} is both published and publishing"),
        };
        Model((0..layout.words()).map(word).collect())
    }
}

impl Region for Model {
    fn words(&self) -> usize {
        self.0.len()
    }

    #[track_caller]
    fn load(&self, at: usize, order: Ordering) -> u64 {
        match &self.0[at] {
            Word::Flag(word) => word.load(order),
            Word::Data(watch, word) => watch.0.with(|_| word.load(order)),
            Word::Private(word) => word.load(order),
        }
    }

    #[track_caller]
    fn store(&self, at: usize, value: u64, order: Ordering) {
        match &self.0[at] {
            Word::Flag(word) => word.store(value, order),
            Word::Data(watch, word) => watch.0.with_mut(|_| word.store(value, order)),
            Word::Private(word) => word.store(value, order),
        }
    }
}

/// How the two sides detect new entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// They check the head of the queue.
    Poll,
    /// They check the register, as after a wake-up, and then must find what it announces.
    Register,
}

/// The operations that the host requests, with as many data buffer sectors as submission queue entries.
type Script = &'static [Opcode];

/// Returns the content of the sector of command `number`.
const fn stamp(number: usize) -> u64 {
    0x5eed_0000 + number as u64
}

fn config(sq_entries: u32, cq_entries: u32) -> Config {
    Config { queue_pairs: 1, sq_entries, cq_entries, extents_max: 1, db_sectors: sq_entries }
}

/// The host: keeps the submission queue full until the script is finished. Each command in flight uses one sector of
/// the buffer.
fn host<O: Orders>(region: &Model, layout: &Layout, wake: Wake, script: Script) {
    let mut queue = HostQueue::<O>::with_orders(layout, 0);
    let mut free: Vec<u32> = (0..layout.config().db_sectors).rev().collect();
    let mut out = Vec::new();
    let (mut next, mut done) = (0, 0);
    while done < script.len() {
        while next < script.len() && queue.room() > 0 {
            let sector = free.pop().expect("a sector for every command");
            if script[next] == Opcode::Write {
                region.store(layout.db_sector(sector), stamp(next), Ordering::Relaxed);
            }
            let command = Command::new(script[next], next as u64, 1, Extents::one(sector, 1));
            queue.submit(region, &command, next as u32).expect("the queue has room");
            out.push((next as u32, sector));
            next += 1;
        }
        let count = match wake {
            Wake::Poll => 1,
            Wake::Register => {
                queue.ring(region);
                queue.announced(region)
            }
        };
        for _ in 0..count {
            let Some(completion) = queue.take(region).expect("a valid completion") else {
                assert!(wake == Wake::Poll, "an announced completion is missing");
                break;
            };
            let at = out.iter().position(|&(number, _)| number == completion.token).expect("a command completes once");
            let (number, sector) = out.swap_remove(at);
            if script[number as usize] == Opcode::Read {
                assert_eq!(
                    region.load(layout.db_sector(sector), Ordering::Relaxed),
                    stamp(number as usize),
                    "read data"
                );
            }
            free.push(sector);
            done += 1;
        }
        if !queue.acknowledge(region) {
            thread::yield_now();
        }
    }
}

/// The device: serves all commands of the script.
fn device<O: Orders>(region: &Model, layout: &Layout, wake: Wake, script: Script) {
    let mut queue = DeviceQueue::<O>::with_orders(layout, 0);
    let mut done = 0;
    while done < script.len() {
        if wake == Wake::Register && queue.announced(region) == 0 {
            thread::yield_now();
            continue;
        }
        let Some(fetched) = queue.fetch(region) else {
            // If there is room for every completion, an announced command must be found.
            let room = layout.config().cq_entries >= layout.config().sq_entries;
            assert!(wake == Wake::Poll || !room, "an announced command is missing");
            thread::yield_now();
            continue;
        };
        let command = fetched.command.expect("a valid command");
        let number = command.start as usize;
        assert_eq!((number, command.opcode), (done, script[done]), "the entry");
        let data = layout.db_sector(command.extents.as_slice()[0].index);
        match command.opcode {
            Opcode::Read => region.store(data, stamp(number), Ordering::Relaxed),
            _ => assert_eq!(region.load(data, Ordering::Relaxed), stamp(number), "write data"),
        }
        queue.post(region, fetched.id, Status::Success);
        if wake == Wake::Register {
            queue.notify(region);
        }
        done += 1;
    }
}

/// Checks all executions of a script between a host and a device, with a bounded number of preemptions.
fn check<O: Orders + 'static>(config: Config, wake: Wake, script: Script) {
    let layout = Layout::new(config).unwrap();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(move || {
        let region = Arc::new(Model::new(&layout));
        let other = Arc::clone(&region);
        let serving = thread::spawn(move || device::<O>(&other, &layout, wake, script));
        host::<O>(&region, &layout, wake, script);
        serving.join().unwrap();
    });
}

/// Checks all executions of a host that attaches while the device formats the region.
fn check_attach<O: Orders + 'static>() {
    let layout = Layout::new(config(1, 1)).unwrap();
    loom::model(move || {
        let region = Arc::new(Model::new(&layout));
        let other = Arc::clone(&region);
        let serving = thread::spawn(move || layout.format_ordered::<O, _>(&*other));
        match Layout::read_ordered::<O, _>(&*region) {
            Ok(found) => assert_eq!(found, layout),
            Err(error) => assert_eq!(error, LayoutError::NoHeader),
        }
        serving.join().unwrap();
    });
}

/// Checks all executions, with a bounded number of preemptions, of two hosts and a device that serves both. Each host
/// has its own queue pair and makes one write.
fn check_pairs() {
    let layout = Layout::new(Config { queue_pairs: 2, db_sectors: 2, ..config(1, 1) }).unwrap();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let region = Arc::new(Model::new(&layout));
        let hosts: Vec<_> = (0..2u16)
            .map(|pair| {
                let region = Arc::clone(&region);
                thread::spawn(move || {
                    let mut queue = HostQueue::new(&layout, pair);
                    region.store(layout.db_sector(pair.into()), stamp(pair.into()), Ordering::Relaxed);
                    let command = Command::new(Opcode::Write, pair.into(), 1, Extents::one(pair.into(), 1));
                    queue.submit(&*region, &command, pair.into()).unwrap();
                    queue
                })
            })
            .collect();
        let mut queues = DeviceQueues::new(&layout);
        let mut done = 0;
        while done < hosts.len() {
            let Some((pair, fetched)) = queues.fetch(&*region) else {
                thread::yield_now();
                continue;
            };
            assert_eq!(fetched.command.unwrap().start, pair.into());
            assert_eq!(region.load(layout.db_sector(pair.into()), Ordering::Relaxed), stamp(pair.into()), "write data");
            queues.pair(pair).post(&*region, fetched.id, Status::Success);
            done += 1;
        }
        // Take the completions here instead of in each host: loom cannot handle two more waiting threads.
        for (pair, host) in hosts.into_iter().enumerate() {
            let completion = host.join().unwrap().take(&*region).unwrap().expect("the completion is posted");
            assert_eq!(completion.token, pair as u32);
        }
    });
}

mod sound {
    use super::*;
    use Opcode::{Read, Write};

    #[test]
    fn a_header_is_found_complete_or_not_at_all() {
        check_attach::<Sound>();
    }

    /// With one slot and one sector, each command reuses both.
    #[test]
    fn polled_slots_and_space_are_reused() {
        check::<Sound>(config(1, 1), Wake::Poll, &[Write, Read, Write]);
        check::<Sound>(config(1, 1), Wake::Poll, &[Read, Read]);
    }

    #[test]
    fn announced_slots_and_space_are_reused() {
        check::<Sound>(config(1, 1), Wake::Register, &[Write, Read, Write]);
        check::<Sound>(config(1, 1), Wake::Register, &[Read, Read]);
    }

    #[test]
    fn pairs_need_no_lock() {
        check_pairs();
    }

    /// Two commands in flight, and rings that wrap.
    #[test]
    fn several_commands_are_in_flight() {
        check::<Sound>(config(2, 2), Wake::Poll, &[Write, Read, Write]);
        check::<Sound>(config(2, 2), Wake::Register, &[Write, Read, Write]);
    }

    /// The device stops fetching until the host has freed an entry, so that no untaken entry is overwritten.
    #[test]
    fn a_small_completion_queue_is_not_overrun() {
        check::<Sound>(config(2, 1), Wake::Poll, &[Write, Read, Write]);
        check::<Sound>(config(2, 1), Wake::Register, &[Write, Read]);
    }
}

/// Tests the protocol with one ordering relaxed: passes if the model finds the expected failure.
macro_rules! weakened {
    ($name:ident, $order:ident, $expected:literal, $check:ident) => {
        #[test]
        #[should_panic(expected = $expected)]
        fn $name() {
            struct Weak;
            impl Orders for Weak {
                const $order: Ordering = Ordering::Relaxed;
            }
            $check(std::marker::PhantomData::<Weak>);
        }
    };
}

mod weakened {
    use super::*;
    use Opcode::{Read, Write};
    use std::marker::PhantomData;

    fn attach<O: Orders + 'static>(_: PhantomData<O>) {
        check_attach::<O>();
    }

    fn polled_write<O: Orders + 'static>(_: PhantomData<O>) {
        check::<O>(config(1, 1), Wake::Poll, &[Write]);
    }

    fn polled_read<O: Orders + 'static>(_: PhantomData<O>) {
        check::<O>(config(1, 1), Wake::Poll, &[Read]);
    }

    fn polled_reuse<O: Orders + 'static>(_: PhantomData<O>) {
        check::<O>(config(1, 1), Wake::Poll, &[Write, Write]);
    }

    fn announced<O: Orders + 'static>(_: PhantomData<O>) {
        check::<O>(config(1, 1), Wake::Register, &[Write]);
    }

    weakened!(header_publish, HEADER_PUBLISH, "Causality violation", attach);
    weakened!(header_check, HEADER_CHECK, "Causality violation", attach);
    weakened!(sq_publish, SQ_PUBLISH, "Causality violation", polled_write);
    weakened!(sq_check, SQ_CHECK, "Causality violation", polled_write);
    weakened!(doorbell_ring, DOORBELL_RING, "an announced command is missing", announced);
    weakened!(doorbell_check, DOORBELL_CHECK, "an announced command is missing", announced);
    weakened!(cq_publish, CQ_PUBLISH, "Causality violation", polled_read);
    weakened!(cq_publish_reuse, CQ_PUBLISH, "Causality violation", polled_reuse);
    weakened!(cq_check, CQ_CHECK, "Causality violation", polled_read);
    weakened!(cq_check_reuse, CQ_CHECK, "Causality violation", polled_reuse);
    weakened!(status_publish, STATUS_PUBLISH, "an announced completion is missing", announced);
    weakened!(status_check, STATUS_CHECK, "an announced completion is missing", announced);
}
