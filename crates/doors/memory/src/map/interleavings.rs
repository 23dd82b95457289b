//! [`Pages`] in many interleavings of program, pager and caller, by shuttle, over a kernel of a few lines: no store is lost, none is in a
//! sync that came behind it and not one before it, and nobody waits for ever. `ITERATIONS=n` tries more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::pages::{Below, Kernel, Key, Outcome, Pages, Plant};

const WRITERS: usize = 2;
const KEYS: u64 = 3;
const STORES: u64 = 5;

/// A word for each writer.
type Content = [u64; WRITERS];

fn bytes(content: &Content) -> Vec<u8> {
    content.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn content(bytes: &[u8]) -> Content {
    std::array::from_fn(|n| u64::from_le_bytes(bytes[n * 8..n * 8 + 8].try_into().expect("8 bytes")))
}

#[derive(Default)]
struct Machine {
    /// Content, and whether it may be stored to.
    pages: BTreeMap<Key, (Content, bool)>,
    /// Faults that the pager has not read: page, whether a store.
    faults: Vec<(Key, bool)>,
    /// Who waits, where.
    waiting: BTreeSet<(Key, usize)>,
    over: bool,
}

/// Each operation of the kernel is one step, and others come between any two.
#[derive(Clone, Default)]
struct Model(Arc<(Mutex<Machine>, Condvar)>);

impl Model {
    fn step<T>(&self, step: impl FnOnce(&mut Machine) -> T) -> T {
        let mut machine = self.0.0.lock().expect("nobody panicked");
        let result = step(&mut machine);
        self.0.1.notify_all();
        result
    }

    /// What a program's thread does: loads a word and stores to it, or faults.
    fn access(&self, key: Key, thread: usize, store: Option<u64>) -> u64 {
        let (machine, changed) = &*self.0;
        let mut machine = machine.lock().expect("nobody panicked");
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
                machine = changed.wait(machine).expect("nobody panicked");
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
            assert!(old.is_none(), "segment {key} is there");
            if wakes {
                wake(machine, key);
            }
        });
    }

    fn unprotect(&mut self, key: Key) {
        self.step(|machine| {
            machine.pages.get_mut(&key).expect("it is there").1 = true;
            wake(machine, key);
        });
    }

    fn protect(&mut self, first: Key, count: u64) {
        self.step(|machine| machine.pages.range_mut(first..first + count).for_each(|(_, page)| page.1 = false));
    }

    fn copy_out(&self, key: Key, into: &mut [u8]) {
        into.copy_from_slice(&bytes(&self.step(|machine| machine.pages[&key].0)));
    }

    fn discard(&mut self, first: Key, count: u64) {
        self.step(|machine| machine.pages.retain(|key, _| !(first..first + count).contains(key)));
    }

    fn wake(&mut self, first: Key, count: u64) {
        self.step(|machine| (first..first + count).for_each(|key| wake(machine, key)));
    }
}

/// A cache with room for one that is dirty, over a file.
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

impl Below for Store {
    fn keep(&mut self, key: Key, dirty: bool, fill: impl FnOnce(&mut [u8])) -> bool {
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

struct Core {
    pages: Pages,
    kernel: Model,
    below: Store,
    waiting: Vec<Key>,
}

impl Core {
    /// What the pager does in one go. Some of what is wanted is not here yet.
    fn serve(&mut self) {
        for (key, write) in self.kernel.step(|machine| std::mem::take(&mut machine.faults)) {
            if self.pages.fault(key, write, &mut self.kernel) == Outcome::Fetch {
                self.waiting.push(key);
            }
        }
        for key in std::mem::take(&mut self.waiting) {
            let came = thread_rng().gen_bool(0.7);
            while came && self.pages.room() == 0 {
                if self.pages.evict(1, &mut self.kernel, &mut self.below) == 0 {
                    self.below.write_back();
                }
            }
            match came {
                true => self.pages.place(key, &bytes(&self.below.get(key)), &mut self.kernel),
                false => self.waiting.push(key),
            }
        }
        let ahead = thread_rng().gen_range(0..2 * KEYS);
        if ahead < KEYS && self.pages.room() > 0 && self.pages.state(ahead) == super::pages::State::Absent {
            self.pages.place_ahead(ahead, 1, &bytes(&self.below.get(ahead)), &mut self.kernel);
        }
    }

    /// The state that a sync would make durable.
    fn sync(&mut self) -> Vec<Content> {
        for key in self.pages.hold(&mut self.kernel) {
            while !self.pages.save(key, &mut self.kernel, &mut self.below) {
                self.below.write_back();
            }
        }
        (0..KEYS).map(|key| self.below.get(key)).collect()
    }
}

fn place(writer: usize, number: u64) -> Key {
    (number * (writer as u64 + 1) + number / 3) % KEYS
}

/// That a state is what each writer's first stores left; how many these are.
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

fn run(plant: Plant, rolls_back: bool) {
    let kernel = Model::default();
    let mut pages = Pages::new(KEYS, 2);
    pages.plant = plant;
    let core = Core { pages, kernel: kernel.clone(), below: Store::default(), waiting: Vec::new() };
    let core = Arc::new(Mutex::new(core));
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
        let (core, kernel) = (Arc::clone(&core), kernel.clone());
        thread::spawn(move || {
            loop {
                let idle = {
                    let mut core = core.lock().expect("nobody panicked");
                    core.serve();
                    core.waiting.is_empty()
                };
                let (machine, changed) = &*kernel.0;
                let mut machine = machine.lock().expect("nobody panicked");
                while idle && machine.faults.is_empty() && !machine.over {
                    machine = changed.wait(machine).expect("nobody panicked");
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
        let (core, counts) = (Arc::clone(&core), Arc::clone(&counts));
        thread::spawn(move || {
            for _ in 0..2 {
                thread::yield_now();
                let before: Vec<u64> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
                let mut core = core.lock().expect("nobody panicked");
                let state = core.sync();
                if rolls_back {
                    let Core { pages, kernel, below, .. } = &mut *core;
                    *below = Store::default();
                    pages.discard(0..KEYS, kernel);
                } else {
                    let found = check(&state);
                    assert!(found.iter().zip(before).all(|(found, before)| *found >= before), "stores before a sync");
                }
            }
        })
    };
    writers.into_iter().for_each(|writer| writer.join().expect("it ended"));
    caller.join().expect("it ended");
    kernel.step(|machine| machine.over = true);
    pager.join().expect("it ended");
    if !rolls_back {
        let last = core.lock().expect("nobody panicked").sync();
        assert_eq!(check(&last), [STORES; WRITERS]);
    }
}

fn iterations() -> usize {
    std::env::var("ITERATIONS").map_or(1500, |text| text.parse().expect("a number"))
}

#[test]
fn no_store_is_lost_and_a_sync_is_of_one_instant() {
    shuttle::check_random(|| run(Plant::Nothing, false), iterations());
    shuttle::check_pct(|| run(Plant::Nothing, false), iterations(), 3);
}

#[test]
fn nobody_waits_for_ever_when_others_roll_back() {
    shuttle::check_random(|| run(Plant::Nothing, true), iterations());
    shuttle::check_pct(|| run(Plant::Nothing, true), iterations(), 3);
}

#[test]
fn planted_bugs_are_caught() {
    for plant in [Plant::NotProtected, Plant::StoresForgotten, Plant::NotWoken, Plant::PlacedNotWoken] {
        let caught = std::panic::catch_unwind(|| shuttle::check_random(move || run(plant, false), 20_000));
        assert!(caught.is_err(), "{plant:?} was not caught");
    }
}
