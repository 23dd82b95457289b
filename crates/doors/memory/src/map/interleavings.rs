//! Tests [`Pages`] under many interleavings of program, pager and caller with shuttle, over a model of the kernel: no
//! store is lost, a sync contains all stores before it and none after it, and no thread waits forever. Set
//! `ITERATIONS=n` to try more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::pages::{BackingCache, InjectedFault, Kernel, Key, Outcome, Pages, Saved};

const WRITERS: usize = 2;
const KEYS: u64 = 3;
const STORES: u64 = 5;

/// One word per writer.
type Content = [u64; WRITERS];

fn bytes(content: &Content) -> Vec<u8> {
    content.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn content(bytes: &[u8]) -> Content {
    std::array::from_fn(|n| u64::from_le_bytes(bytes[n * 8..n * 8 + 8].try_into().expect("8 bytes")))
}

#[derive(Default)]
struct Machine {
    /// Content, and whether it is writable.
    pages: BTreeMap<Key, (Content, bool)>,
    /// Faults that the pager has not read yet: segment, and whether it is a store.
    faults: Vec<(Key, bool)>,
    /// Waiting threads, with their segments.
    waiting: BTreeSet<(Key, usize)>,
    over: bool,
}

/// Each kernel operation is one atomic step; other threads may run between any two.
#[derive(Clone, Default)]
struct Model(Arc<(Mutex<Machine>, Condvar)>);

impl Model {
    fn step<T>(&self, step: impl FnOnce(&mut Machine) -> T) -> T {
        let mut machine = self.0.0.lock().expect("no thread panicked");
        let result = step(&mut machine);
        self.0.1.notify_all();
        result
    }

    /// Loads a word of the program's thread, or stores to it; faults if necessary.
    fn access(&self, key: Key, thread: usize, store: Option<u64>) -> u64 {
        let (machine, changed) = &*self.0;
        let mut machine = machine.lock().expect("no thread panicked");
        loop {
            match machine.pages.get_mut(&key) {
                Some((content, writable)) if store.is_none() || *writable => {
                    let found = content[thread];
                    content[thread] = store.unwrap_or(found);
                    return found;
                }
                _ => {}
            }
            machine.faults.push((key, store.is_some()));
            machine.waiting.insert((key, thread));
            changed.notify_all();
            while machine.waiting.contains(&(key, thread)) {
                machine = changed.wait(machine).expect("no thread panicked");
            }
        }
    }
}

fn wake(machine: &mut Machine, key: Key) {
    machine.waiting.retain(|(other, _)| *other != key);
}

impl Kernel for Model {
    fn place(&mut self, key: Key, bytes: &[u8], writable: bool, wakes: bool) {
        self.step(|machine| {
            let old = machine.pages.insert(key, (content(bytes), writable));
            assert!(old.is_none(), "segment {key} is already mapped");
            if wakes {
                wake(machine, key);
            }
        });
    }

    fn unprotect(&mut self, first: Key, count: u64) {
        self.step(|machine| {
            machine.pages.range_mut(first..first + count).for_each(|(_, page)| page.1 = true);
            (first..first + count).for_each(|key| wake(machine, key));
        });
    }

    fn protect(&mut self, first: Key, count: u64) {
        self.step(|machine| machine.pages.range_mut(first..first + count).for_each(|(_, page)| page.1 = false));
    }

    fn copy_out(&self, key: Key, into: &mut [u8]) {
        into.copy_from_slice(&bytes(&self.step(|machine| machine.pages[&key].0)));
    }

    fn digest(&self, key: Key) -> u128 {
        self.step(|machine| machine.pages[&key].0.iter().fold(0, |digest, word| digest << 64 | u128::from(*word)))
    }

    fn discard(&mut self, first: Key, count: u64) {
        self.step(|machine| machine.pages.retain(|key, _| !(first..first + count).contains(key)));
    }

    fn wake(&mut self, first: Key, count: u64) {
        self.step(|machine| (first..first + count).for_each(|key| wake(machine, key)));
    }
}

/// A cache with room for one dirty segment, over a file.
#[derive(Default)]
struct Store {
    cached: BTreeMap<Key, Content>,
    file: BTreeMap<Key, Content>,
}

impl Store {
    fn get(&self, key: Key) -> Content {
        *self.cached.get(&key).or_else(|| self.file.get(&key)).unwrap_or(&[0; WRITERS])
    }

    fn write_back(&mut self) {
        self.file.append(&mut self.cached);
    }
}

impl BackingCache for Store {
    fn store(&mut self, key: Key, dirty: bool, fill: impl FnOnce(&mut [u8])) -> bool {
        if !dirty {
            return true;
        }
        if !self.cached.contains_key(&key) && !self.cached.is_empty() {
            return false;
        }
        let mut into = bytes(&[0; WRITERS]);
        fill(&mut into);
        self.cached.insert(key, content(&into));
        true
    }
}

struct Mapping {
    pages: Pages,
    kernel: Model,
    backing: Store,
    waiting: Vec<Key>,
}

impl Mapping {
    /// Does one round of the pager's work. Some requested segments randomly fail to arrive.
    fn serve(&mut self) {
        for (key, write) in self.kernel.step(|machine| std::mem::take(&mut machine.faults)) {
            let around = self.pages.around(key);
            if self.pages.fault(key, write, around, &mut self.kernel) == Outcome::Fetch {
                self.waiting.push(key);
            }
        }
        for key in std::mem::take(&mut self.waiting) {
            let arrived = thread_rng().gen_bool(0.7);
            while arrived && self.pages.room() == 0 {
                if self.pages.evict(1, &mut self.kernel, &mut self.backing) == 0 {
                    self.backing.write_back();
                }
            }
            match arrived {
                true => self.pages.place(key, &bytes(&self.backing.get(key)), &mut self.kernel),
                false => self.waiting.push(key),
            }
        }
        let ahead = thread_rng().gen_range(0..2 * KEYS);
        if ahead < KEYS && self.pages.room() > 0 && self.pages.state(ahead) == super::pages::SegmentState::Absent {
            self.pages.place_ahead(ahead, 1, &bytes(&self.backing.get(ahead)), &mut self.kernel);
        }
    }

    /// Returns the state that a sync would make durable.
    fn sync(&mut self) -> Vec<Content> {
        let mut dirty = self.pages.protect_dirty(&mut self.kernel);
        dirty.retain(|key| {
            loop {
                match self.pages.save(*key, &mut self.kernel, &mut self.backing) {
                    Saved::NoRoom => self.backing.write_back(),
                    saved => return saved == Saved::Copied,
                }
            }
        });
        self.pages.learn(&dirty);
        (0..KEYS).map(|key| self.backing.get(key)).collect()
    }
}

fn place(writer: usize, number: u64) -> Key {
    (number * (writer as u64 + 1) + number / 3) % KEYS
}

/// Checks that a state contains a prefix of each writer's stores, and returns the prefixes' lengths.
fn check(state: &[Content]) -> [u64; WRITERS] {
    std::array::from_fn(|writer| {
        let last = state.iter().map(|page| page[writer]).max().expect("pages");
        let mut expected = [0; KEYS as usize];
        (1..=last).for_each(|number| expected[place(writer, number) as usize] = number);
        let found: Vec<u64> = state.iter().map(|page| page[writer]).collect();
        assert_eq!(found, expected, "writer {writer} after {last} stores");
        last
    })
}

fn run(injected: InjectedFault, rolls_back: bool) {
    let kernel = Model::default();
    let mut pages = Pages::new(KEYS, 2);
    pages.injected = injected;
    let mapping = Mapping { pages, kernel: kernel.clone(), backing: Store::default(), waiting: Vec::new() };
    let mapping = Arc::new(Mutex::new(mapping));
    let counts: Arc<[AtomicU64; WRITERS]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (kernel, counts) = (kernel.clone(), Arc::clone(&counts));
            thread::spawn(move || {
                for number in 1..=STORES {
                    let key = place(writer, number);
                    if number % 2 == 0 {
                        let found = kernel.access(key, writer, None);
                        assert!(found < number && (found == 0 || place(writer, found) == key));
                    }
                    let found = kernel.access(key, writer, Some(number));
                    assert!(found < number && (found == 0 || place(writer, found) == key));
                    counts[writer].store(number, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let pager = {
        let (mapping, kernel) = (Arc::clone(&mapping), kernel.clone());
        thread::spawn(move || {
            loop {
                let idle = {
                    let mut mapping = mapping.lock().expect("no thread panicked");
                    mapping.serve();
                    mapping.waiting.is_empty()
                };
                let (machine, changed) = &*kernel.0;
                let mut machine = machine.lock().expect("no thread panicked");
                while idle && machine.faults.is_empty() && !machine.over {
                    machine = changed.wait(machine).expect("no thread panicked");
                }
                if machine.over {
                    return;
                }
                drop(machine);
                thread::yield_now();
            }
        })
    };
    let caller = {
        let (mapping, counts) = (Arc::clone(&mapping), Arc::clone(&counts));
        thread::spawn(move || {
            for _ in 0..2 {
                thread::yield_now();
                let before: Vec<u64> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
                let mut mapping = mapping.lock().expect("no thread panicked");
                let state = mapping.sync();
                if rolls_back {
                    let Mapping { pages, kernel, backing, .. } = &mut *mapping;
                    *backing = Store::default();
                    pages.discard(0..KEYS, kernel);
                } else {
                    let found = check(&state);
                    assert!(
                        found.iter().zip(before).all(|(found, before)| *found >= before),
                        "a sync misses stores made before it"
                    );
                }
            }
        })
    };
    writers.into_iter().for_each(|writer| writer.join().expect("it ended"));
    caller.join().expect("it ended");
    kernel.step(|machine| machine.over = true);
    pager.join().expect("it ended");
    if !rolls_back {
        let last = mapping.lock().expect("no thread panicked").sync();
        assert_eq!(check(&last), [STORES; WRITERS]);
    }
}

fn iterations() -> usize {
    std::env::var("ITERATIONS").map_or(1500, |text| text.parse().expect("a number"))
}

#[test]
fn no_store_is_lost_and_a_sync_is_a_snapshot() {
    shuttle::check_random(|| run(InjectedFault::None, false), iterations());
    shuttle::check_pct(|| run(InjectedFault::None, false), iterations(), 3);
}

#[test]
fn no_thread_waits_forever_while_others_roll_back() {
    shuttle::check_random(|| run(InjectedFault::None, true), iterations());
    shuttle::check_pct(|| run(InjectedFault::None, true), iterations(), 3);
}

#[test]
fn injected_faults_are_caught() {
    for injected in [
        InjectedFault::NotProtected,
        InjectedFault::StoresForgotten,
        InjectedFault::NotWoken,
        InjectedFault::PlacedNotWoken,
        InjectedFault::NeighborsForgotten,
    ] {
        let caught = std::panic::catch_unwind(|| shuttle::check_random(move || run(injected, false), 20_000));
        assert!(caught.is_err(), "{injected:?} was not caught");
    }
}
