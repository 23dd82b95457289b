//! Readers beside a writer, in turns with it that no clock decides: in the middle of the writer's calls readers open and read; in the
//! middle of a reader's opening and reading the writer goes on. What a reader reads is of one completed sync, rollback or drop (or one that
//! is under way), all of it, or it is told that it is stale.

mod support;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use memory::device::{Device, Ended, Op, Request};
use memory::{Error, Memory, Reader, Shape};
use sim::{Rng, Streams};
use support::histories::{Calls, DRAM, shape};
use support::obvious::{Pages, State};

/// Bugs that readers must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The writer does not see that somebody reads.
    Unseen,
    /// The reader sees no mark but the first.
    MarkOverlooked,
}

/// What writer and readers share.
struct World {
    image: RefCell<Vec<u8>>,
    /// Readers by number, and their generations.
    readers: RefCell<BTreeMap<u64, u64>>,
    next_reader: Cell<u64>,
    writer: RefCell<Option<(Memory<Beside>, Calls)>>,
    /// What was made durable, oldest first; how many were begun, how many done.
    states: RefCell<Vec<State>>,
    done: Cell<usize>,
    rng: RefCell<Rng>,
    /// Somebody is in the middle of something already.
    nested: Cell<bool>,
    planted: Planted,
    stale: Cell<u64>,
    opened: Cell<u64>,
    /// What a reader found wrong.
    wrong: RefCell<Option<String>>,
}

/// The device of one of them.
struct Beside {
    world: Rc<World>,
    /// A reader's number.
    reader: Option<u64>,
    pending: Vec<Request>,
}

impl Beside {
    fn new(world: &Rc<World>, reads: bool) -> Beside {
        let number = world.next_reader.get();
        world.next_reader.set(number + 1);
        Beside { world: world.clone(), reader: reads.then_some(number), pending: Vec::new() }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(number) = self.reader {
            self.world.readers.borrow_mut().remove(&number);
        }
    }
}

impl Device for Beside {
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
                if world.planted == Planted::MarkOverlooked && self.reader.is_some() && request.offset == 4 * 4096 {
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
                go_on(&world, steps);
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
        let seen = self.world.planted != Planted::Unseen;
        let readers = self.world.readers.borrow();
        readers.values().copied().filter(|generation| seen && (from..end).contains(generation)).min()
    }
}

/// The writer makes so many calls.
fn go_on(world: &Rc<World>, steps: u64) {
    let Some((mut memory, mut calls)) = world.writer.borrow_mut().take() else { return };
    for _ in 0..steps {
        let before = world.states.borrow().len();
        let mut will = |_: &Memory<Beside>, state: &State| world.states.borrow_mut().push(state.clone());
        let mut did = |_: &Memory<Beside>, state: &State| {
            let mut states = world.states.borrow_mut();
            if states.last().expect("begun") != state {
                // It was refused.
                states.truncate(before);
            }
            world.done.set(states.len() - 1);
        };
        calls.step(&mut memory, &mut will, &mut did).unwrap_or_else(|error| panic!("{error}"));
    }
    *world.writer.borrow_mut() = Some((memory, calls));
}

fn compare(reader: &mut Reader<Beside>, pages: &Pages) -> Result<(), Error> {
    let page = reader.shape().page_bytes();
    let mut bytes = vec![0; page as usize];
    for address in (page..reader.shape().capacity() + page).step_by(page as usize) {
        match (reader.read(address, &mut bytes), pages.get(&address)) {
            (Ok(()), Some(expected)) if *expected == bytes => {}
            (Err(Error::NotAllocated { .. }), None) => {}
            (Err(Error::Stale { path }), _) => return Err(Error::Stale { path }),
            (found, expected) => {
                let (found, there) = (found.map_err(|error| error.to_string()), expected.is_some());
                return Err(Error::Option(format!("{address:#x}: {found:?}, and it is there: {there}")));
            }
        }
    }
    Ok(())
}

/// All that a reader sees is of one state from `from` on.
fn look(world: &World, reader: &mut Reader<Beside>, from: usize, to: usize) -> Result<(), Error> {
    let tokens = reader.tokens()?;
    let states: Vec<State> = world.states.borrow()[from..=to].to_vec();
    let mut wrong = Error::Option(format!("tokens {tokens:?} are of none of {} states", states.len()));
    let alike: Vec<&State> = states.iter().filter(|state| state.tokens() == tokens).collect();
    // Several may have the same tokens: what is there now says which.
    for state in &alike {
        match compare(reader, &state.now) {
            Ok(()) => {
                for (token, _, pages) in state.kept.iter().rev() {
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

/// A reader opens, and reads everything.
fn read(world: &Rc<World>) {
    let from = world.done.get();
    let shape = small();
    let looked = Reader::open_on(Beside::new(world, true), shape, DRAM, "beside").and_then(|mut reader| {
        let to = world.states.borrow().len() - 1;
        world.opened.set(world.opened.get() + 1);
        look(world, &mut reader, from, to)
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

/// What is wrong in a history; how many readers opened, how many became stale.
fn history(seed: u64, planted: Planted) -> Result<(u64, u64), String> {
    let shape = small();
    let world = Rc::new(World {
        image: RefCell::new(vec![0; shape.file_bytes() as usize]),
        readers: RefCell::default(),
        next_reader: Cell::new(0),
        writer: RefCell::new(None),
        states: RefCell::new(vec![State::default()]),
        done: Cell::new(0),
        rng: RefCell::new(Streams::new(seed).stream("test.beside")),
        nested: Cell::new(true),
        planted,
        stale: Cell::new(0),
        opened: Cell::new(0),
        wrong: RefCell::new(None),
    });
    let memory = Memory::create_on(Beside::new(&world, false), shape, DRAM, "beside").expect("it is made");
    *world.writer.borrow_mut() = Some((memory, Calls::new(seed)));
    world.nested.set(false);
    // Some stay for long.
    let mut long: Vec<(Reader<Beside>, usize, usize)> = Vec::new();
    for _ in 0..30 {
        go_on(&world, 20);
        read(&world);
        if world.rng.borrow_mut().chance(0.2) {
            let from = world.done.get();
            match Reader::open_on(Beside::new(&world, true), shape, DRAM, "beside") {
                Ok(reader) => long.push((reader, from, world.states.borrow().len() - 1)),
                Err(Error::Stale { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        if world.rng.borrow_mut().chance(0.1) && !long.is_empty() {
            let (mut reader, from, to) = long.swap_remove(0);
            match look(&world, &mut reader, from, to) {
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
fn what_a_reader_reads_is_of_one_sync() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 20));
    let (mut opened, mut stale) = (0, 0);
    for seed in first..first + count {
        match history(seed, Planted::Nothing) {
            Ok((more, old)) => (opened, stale) = (opened + more, stale + old),
            Err(error) => panic!("history {seed}: {error} (run it alone: HISTORY={seed} HISTORIES=1)"),
        }
    }
    eprintln!("{opened} readers, {stale} of them stale");
    assert!(count < 20 || (opened > 500 && stale > 20 && stale < opened / 2), "{opened}, {stale} stale");
}

#[test]
fn planted_bugs_are_caught() {
    for planted in [Planted::Unseen, Planted::MarkOverlooked] {
        let fails = |seed: &u64| {
            let failed = std::panic::catch_unwind(|| history(*seed, planted));
            !matches!(failed, Ok(Ok(_)))
        };
        let caught = (0..100).find(fails);
        eprintln!("{planted:?} is caught by history {caught:?}");
        assert!(caught.is_some(), "{planted:?} went unnoticed");
    }
}
