//! A reader whose blocks the writer has reused: every call reports it, also while requests are in flight that no call
//! waits for, and for data that an earlier call left in DRAM.

mod support;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use memory::device::{Device, Ended, Op, Request};
use memory::{Error, Memory, Reader, Shape};
use support::histories::{DRAM, shape};

/// A file shared by one writer and one reader, and the reader's generation.
#[derive(Default)]
struct Shared {
    image: RefCell<Vec<u8>>,
    reader: RefCell<Option<u64>>,
}

/// Completes the newest request first, so that older ones stay in flight.
struct NewestFirst {
    shared: Rc<Shared>,
    pending: Vec<Request>,
}

impl NewestFirst {
    fn new(shared: &Rc<Shared>) -> NewestFirst {
        NewestFirst { shared: shared.clone(), pending: Vec::new() }
    }
}

impl Device for NewestFirst {
    fn start(&mut self, request: Request) {
        self.pending.push(request);
    }

    fn wait(&mut self) -> io::Result<Ended> {
        let mut request = self.pending.pop().expect("a request in flight");
        let place = request.offset as usize..request.offset as usize + request.bytes;
        let mut image = self.shared.image.borrow_mut();
        match request.op {
            Op::Read => request.buffer[..request.bytes].copy_from_slice(&image[place]),
            Op::Write => image[place].copy_from_slice(&request.buffer[..request.bytes]),
            Op::Flush => {}
        }
        drop(image);
        Ok(Ended { request, result: Ok(()) })
    }

    fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    fn release(&mut self, _: u64, _: u64) {}

    fn register(&mut self, generation: u64) -> io::Result<()> {
        *self.shared.reader.borrow_mut() = Some(generation);
        Ok(())
    }

    fn reader(&mut self, from: u64, count: u64) -> Option<u64> {
        let end = if count == 0 { u64::MAX } else { from + count };
        self.shared.reader.borrow().filter(|generation| (from..end).contains(generation))
    }
}

fn small() -> Shape {
    Shape { pages: 24, ..shape() }
}

/// Overwrites all pages with `byte` and syncs, without keeping the state.
fn overwrite(memory: &mut Memory<NewestFirst>, at: u64, byte: u8) {
    let page = small().page_bytes();
    (at..at + 16 * page).step_by(page as usize).for_each(|at| {
        memory.write(at, &vec![byte; page as usize]).expect("written");
    });
    let token = memory.sync(None).expect("synced");
    memory.drop_token(token).expect("live");
}

/// Returns a reader whose blocks the writer has reused, and the address of a page that it has not read. With `spread`,
/// the page's segments are in different blocks, whose checksums are read together.
fn stale_reader(spread: bool) -> (Reader<NewestFirst>, u64) {
    let shared = Rc::new(Shared::default());
    *shared.image.borrow_mut() = vec![0; small().file_bytes() as usize];
    let mut memory = Memory::create_on(NewestFirst::new(&shared), small(), DRAM, "FILE").expect("created");
    let (page, segment) = (small().page_bytes(), u64::from(small().segment_bytes));
    let at = memory.alloc(16 * page, false).expect("enough space");
    overwrite(&mut memory, at, 1);
    let mut expected = vec![1; page as usize];
    if spread {
        memory.write(at + segment, &vec![2; segment as usize]).expect("written");
        expected[segment as usize..2 * segment as usize].fill(2);
    }
    let token = memory.sync(None).expect("synced");
    memory.drop_token(token).expect("live");
    let open = || Reader::open_on(NewestFirst::new(&shared), small(), DRAM, "FILE").expect("opened");
    let mut bytes = vec![0; page as usize];
    open().read(at, &mut bytes).expect("read");
    assert_eq!(bytes, expected);

    let reader = open();
    let mark = || shared.image.borrow()[16384..16400].to_vec();
    let (registered, mut rounds) = (mark(), 0);
    while rounds < 20 || mark() == registered {
        assert!(rounds < 100, "the writer has not reused the reader's blocks");
        overwrite(&mut memory, at, 3 + rounds);
        rounds += 1;
    }
    (reader, at)
}

fn assert_stale(reader: &mut Reader<NewestFirst>, at: u64) {
    let found = reader.read(at, &mut vec![0; small().page_bytes() as usize]);
    assert!(matches!(found, Err(Error::Stale { .. })), "{found:?}");
}

#[test]
fn a_read_reports_it_while_other_requests_are_in_flight() {
    let (mut reader, at) = stale_reader(true);
    assert_stale(&mut reader, at);
}

#[test]
fn data_of_a_failed_call_are_not_returned_from_dram() {
    let (mut reader, at) = stale_reader(false);
    (0..3).for_each(|_| assert_stale(&mut reader, at));
    let found = reader.tokens();
    assert!(matches!(found, Err(Error::Stale { .. })), "{found:?}");
}
