//! Interleaves readers with a writer deterministically: readers open and read in the middle of the writer's calls, and
//! the writer continues in the middle of a reader's opening and reading. A reader must see exactly one completed sync,
//! rollback or drop (or one in progress), or report that it is stale.

mod support;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use memory::device::{Device, Ended, Op, Request};
use memory::{Error, Memory, Reader, Shape};
use sim::{Rng, Streams};
use support::histories::{Calls, DRAM, shape};
use support::model::{Contents, Pages};

/// Faults that the test must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InjectedFault {
    None,
    /// The writer does not notice registered readers.
    Unseen,
    /// The reader never sees a changed mark.
    MarkOverlooked,
}

/// State shared by the writer and the readers.
struct World {
    image: RefCell<Vec<u8>>,
    /// Generations by reader number.
    readers: RefCell<BTreeMap<u64, u64>>,
    next_reader: Cell<u64>,
    writer: RefCell<Option<(Memory<SharedDevice>, Calls)>>,
    /// The states made durable, oldest first, followed by the one in progress.
    states: RefCell<Vec<Contents>>,
    done: Cell<usize>,
    rng: RefCell<Rng>,
    /// Set while one side runs in the middle of a call of the other.
    nested: Cell<bool>,
    injected: InjectedFault,
    stale: Cell<u64>,
    opened: Cell<u64>,
    /// The first error that a reader found.
    wrong: RefCell<Option<String>>,
}

/// The device of the writer or of one reader.
struct SharedDevice {
    world: Rc<World>,
    /// The reader's number.
    reader: Option<u64>,
    pending: Vec<Request>,
}

impl SharedDevice {
    fn new(world: &Rc<World>, reads: bool) -> SharedDevice {
        let number = world.next_reader.get();
        world.next_reader.set(number + 1);
        SharedDevice { world: world.clone(), reader: reads.then_some(number), pending: Vec::new() }
    }
}

impl Drop for SharedDevice {
    fn drop(&mut self) {
        if let Some(number) = self.reader {
            self.world.readers.borrow_mut().remove(&number);
        }
    }
}

impl Device for SharedDevice {
    fn start(&mut self, request: Request) {
        self.pending.push(request);
    }

    fn wait(&mut self) -> io::Result<Ended> {
        let world = self.world.clone();
        let any = world.rng.borrow_mut().below(self.pending.len() as u64) as usize;
        let mut request = self.pending.remove(any);
        let place = request.offset as usize..request.offset as usize + request.bytes;
        match request.op {
            Op::Read => {
                request.buffer[..request.bytes].copy_from_slice(&world.image.borrow()[place]);
                if world.injected == InjectedFault::MarkOverlooked
                    && self.reader.is_some()
                    && request.offset == 4 * 4096
                {
                    request.buffer[..request.bytes].fill(0);
                }
            }
            Op::Write => {
                assert!(self.reader.is_none(), "a reader writes");
                world.image.borrow_mut()[place].copy_from_slice(&request.buffer[..request.bytes]);
            }
            Op::Flush => {}
        }
        let chance = if self.reader.is_some() { 0.03 } else { 0.002 };
        if !world.nested.get() && world.rng.borrow_mut().chance(chance) {
            world.nested.set(true);
            if self.reader.is_some() {
                let steps = 1 + world.rng.borrow_mut().below(8);
                write_some(&world, steps);
            } else {
                read(&world);
            }
            world.nested.set(false);
        }
        Ok(Ended { request, result: Ok(()) })
    }

    fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    fn release(&mut self, offset: u64, bytes: u64) {
        self.world.image.borrow_mut()[offset as usize..][..bytes as usize].fill(0);
    }

    fn register(&mut self, generation: u64) -> io::Result<()> {
        let number = self.reader.expect("a reader");
        self.world.readers.borrow_mut().insert(number, generation);
        Ok(())
    }

    fn reader(&mut self, from: u64, count: u64) -> Option<u64> {
        let end = if count == 0 { u64::MAX } else { from + count };
        let seen = self.world.injected != InjectedFault::Unseen;
        let readers = self.world.readers.borrow();
        readers.values().copied().filter(|generation| seen && (from..end).contains(generation)).min()
    }
}

/// Lets the writer make `steps` calls.
fn write_some(world: &Rc<World>, steps: u64) {
    let Some((mut memory, mut calls)) = world.writer.borrow_mut().take() else { return };
    for _ in 0..steps {
        let before = world.states.borrow().len();
        let mut will = |_: &Memory<SharedDevice>, state: &Contents| world.states.borrow_mut().push(state.clone());
        let mut did = |_: &Memory<SharedDevice>, state: &Contents| {
            let mut states = world.states.borrow_mut();
            if states.last().expect("begun") != state {
                // The call was refused.
                states.truncate(before);
            }
            world.done.set(states.len() - 1);
        };
        calls.step(&mut memory, &mut will, &mut did).unwrap_or_else(|error| panic!("{error}"));
    }
    *world.writer.borrow_mut() = Some((memory, calls));
}

fn compare(reader: &mut Reader<SharedDevice>, pages: &Pages) -> Result<(), Error> {
    let page = reader.shape().page_bytes();
    let mut bytes = vec![0; page as usize];
    for address in (page..reader.shape().capacity() + page).step_by(page as usize) {
        match (reader.read(address, &mut bytes), pages.get(&address)) {
            (Ok(()), Some(expected)) if *expected == bytes => {}
            (Err(Error::NotAllocated { .. }), None) => {}
            (Err(Error::Stale { path }), _) => return Err(Error::Stale { path }),
            (found, expected) => {
                let (found, there) = (found.map_err(|error| error.to_string()), expected.is_some());
                return Err(Error::Option(format!("{address:#x}: {found:?}, but allocated: {there}")));
            }
        }
    }
    Ok(())
}

/// Checks that everything a reader sees belongs to one of the states `from..=to`.
fn check_all(world: &World, reader: &mut Reader<SharedDevice>, from: usize, to: usize) -> Result<(), Error> {
    let tokens = reader.tokens()?;
    let states: Vec<Contents> = world.states.borrow()[from..=to].to_vec();
    let mut wrong = Error::Option(format!("tokens {tokens:?} match none of {} states", states.len()));
    let alike: Vec<&Contents> = states.iter().filter(|state| state.tokens() == tokens).collect();
    // Several states may have the same tokens; the current content tells them apart.
    for state in &alike {
        match compare(reader, &state.now) {
            Ok(()) => {
                for (token, _, pages) in state.snapshots.iter().rev() {
                    reader.go_to(*token)?;
                    compare(reader, pages)?;
                }
                return Ok(());
            }
            Err(error @ Error::Stale { .. }) => return Err(error),
            Err(error) => wrong = error,
        }
    }
    Err(wrong)
}

/// Opens a reader and checks everything it reads.
fn read(world: &Rc<World>) {
    let from = world.done.get();
    let shape = small();
    let looked = Reader::open_on(SharedDevice::new(world, true), shape, DRAM, "shared").and_then(|mut reader| {
        let to = world.states.borrow().len() - 1;
        world.opened.set(world.opened.get() + 1);
        check_all(world, &mut reader, from, to)
    });
    match looked {
        Ok(()) => {}
        Err(Error::Stale { .. }) => world.stale.set(world.stale.get() + 1),
        Err(error) => {
            world.wrong.borrow_mut().get_or_insert(error.to_string());
        }
    }
}

fn small() -> Shape {
    Shape { blocks: 40, pages: 24, ..shape() }
}

/// Runs one history. Returns how many readers opened, and how many became stale.
fn history(seed: u64, injected: InjectedFault) -> Result<(u64, u64), String> {
    let shape = small();
    let world = Rc::new(World {
        image: RefCell::new(vec![0; shape.file_bytes() as usize]),
        readers: RefCell::default(),
        next_reader: Cell::new(0),
        writer: RefCell::new(None),
        states: RefCell::new(vec![Contents::default()]),
        done: Cell::new(0),
        rng: RefCell::new(Streams::new(seed).stream("test.beside")),
        nested: Cell::new(true),
        injected,
        stale: Cell::new(0),
        opened: Cell::new(0),
        wrong: RefCell::new(None),
    });
    let memory = Memory::create_on(SharedDevice::new(&world, false), shape, DRAM, "shared").expect("created");
    *world.writer.borrow_mut() = Some((memory, Calls::new(seed)));
    world.nested.set(false);
    // Readers that stay open for long.
    let mut long: Vec<(Reader<SharedDevice>, usize, usize)> = Vec::new();
    for _ in 0..30 {
        write_some(&world, 20);
        read(&world);
        if world.rng.borrow_mut().chance(0.2) {
            let from = world.done.get();
            match Reader::open_on(SharedDevice::new(&world, true), shape, DRAM, "shared") {
                Ok(reader) => long.push((reader, from, world.states.borrow().len() - 1)),
                Err(Error::Stale { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        if world.rng.borrow_mut().chance(0.1) && !long.is_empty() {
            let (mut reader, from, to) = long.swap_remove(0);
            match check_all(&world, &mut reader, from, to) {
                Ok(()) => {}
                Err(Error::Stale { .. }) => world.stale.set(world.stale.get() + 1),
                Err(error) => return Err(error.to_string()),
            }
        }
        if let Some(wrong) = world.wrong.borrow_mut().take() {
            return Err(wrong);
        }
    }
    drop(long);
    drop(world.writer.borrow_mut().take());
    Ok((world.opened.get(), world.stale.get()))
}

#[test]
fn a_reader_sees_exactly_one_sync() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 60));
    let (mut opened, mut stale) = (0, 0);
    for seed in first..first + count {
        match history(seed, InjectedFault::None) {
            Ok((more, old)) => (opened, stale) = (opened + more, stale + old),
            Err(error) => panic!("history {seed}: {error} (run it alone: HISTORY={seed} HISTORIES=1)"),
        }
    }
    eprintln!("{opened} readers, {stale} of them stale");
    assert!(count < 20 || (opened > 500 && stale > 20 && stale < opened / 2), "{opened}, {stale} stale");
}

#[test]
fn injected_faults_are_caught() {
    for injected in [InjectedFault::Unseen, InjectedFault::MarkOverlooked] {
        let fails = |seed: &u64| {
            let failed = std::panic::catch_unwind(|| history(*seed, injected));
            !matches!(failed, Ok(Ok(_)))
        };
        let caught = (0..100).find(fails);
        eprintln!("{injected:?} is caught by history {caught:?}");
        assert!(caught.is_some(), "{injected:?} went unnoticed");
    }
}
