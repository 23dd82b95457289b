//! A thread that faults alone, and threads that fault by turns, over a device that takes its time: whose reads are waited for where
//! they are made, and whose are under way together.

mod support;

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use memory::device::{Device, Ended, Op, Request};
use memory::{Advice, Error, Mapped, Memory, Shape};
use support::histories;

/// Long beside what a busy machine keeps a thread from running.
const READ: Duration = Duration::from_millis(20);
const FAULTS: u64 = 30;
const DRAM: u64 = 1 << 20;

/// Of segments that can be mapped.
fn shape() -> Shape {
    Shape { segment_bytes: 4096, ..histories::shape() }
}

#[derive(Default)]
struct Counts {
    slow: AtomicBool,
    /// Reads that were waited for by a call.
    waited: AtomicU64,
    /// Those that began while another was under way.
    beside: AtomicU64,
}

/// An image whose reads end in order, each so long after it began; a byte in a socket says that one has.
struct Slow {
    image: Vec<u8>,
    under_way: VecDeque<(Instant, Request)>,
    ends: [UnixStream; 2],
    counts: Arc<Counts>,
}

impl Device for Slow {
    fn start(&mut self, request: Request) {
        let slow = self.counts.slow.load(Ordering::SeqCst) && request.op == Op::Read;
        let takes = if slow { READ } else { Duration::ZERO };
        self.counts.beside.fetch_add(u64::from(slow && !self.under_way.is_empty()), Ordering::SeqCst);
        self.under_way.push_back((Instant::now() + takes, request));
        let mut end = self.ends[0].try_clone().expect("a descriptor is left");
        thread::spawn(move || {
            thread::sleep(takes);
            end.write_all(&[0]).expect("room for a byte");
        });
    }

    fn wait(&mut self) -> io::Result<Ended> {
        let (due, mut request) = self.under_way.pop_front().expect("something is under way");
        self.counts.waited.fetch_add(u64::from(Instant::now() < due), Ordering::SeqCst);
        self.ends[1].read_exact(&mut [0])?;
        let (at, bytes) = (request.offset as usize, request.bytes);
        match request.op {
            Op::Read => request.buffer[..bytes].copy_from_slice(&self.image[at..at + bytes]),
            Op::Write => self.image[at..at + bytes].copy_from_slice(&request.buffer[..bytes]),
            Op::Flush => {}
        }
        Ok(Ended { request, result: Ok(()) })
    }

    fn is_busy(&self) -> bool {
        !self.under_way.is_empty()
    }

    fn is_ready(&mut self) -> bool {
        self.under_way.front().is_some_and(|(due, _)| *due <= Instant::now())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ends[1].as_fd())
    }

    fn release(&mut self, _: u64, _: u64) {}
}

/// Reads waited for, and reads beside others, of `threads` that load `FAULTS` segments each; none if there are no faults to be had.
fn counted(threads: u64) -> Option<(u64, u64)> {
    let counts = Arc::new(Counts::default());
    let (left, right) = UnixStream::pair().expect("sockets");
    let image = vec![0; shape().file_bytes() as usize];
    let slow = Slow { image, under_way: VecDeque::new(), ends: [left, right], counts: Arc::clone(&counts) };
    let mut memory = Memory::create_on(slow, shape(), DRAM, "a slow disk").expect("it is made");
    let (segment, bytes) = (u64::from(shape().segment_bytes), threads * FAULTS * u64::from(shape().segment_bytes));
    let at = memory.alloc(bytes, false).expect("room");
    memory.write(at, &vec![7; bytes as usize]).expect("there");
    memory.sync(None).expect("synced");
    // Nothing is in DRAM.
    let mut slow = memory.into_device();
    while slow.is_busy() {
        slow.wait().expect("it works");
    }
    let memory = Memory::open_on(slow, shape(), DRAM, "a slow disk").expect("it opens");
    let memory = match Mapped::new(memory) {
        Ok(memory) => memory,
        Err(refused) => {
            assert!(matches!(refused.1, Error::NotMappable { .. }), "{}", refused.1);
            println!("not tested: {}", refused.1);
            return None;
        }
    };
    memory.advise(at, bytes, Advice::Random).expect("there");
    let area = memory.area(at, bytes).expect("allocated");
    counts.slow.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        for number in 0..threads {
            let area = &area;
            scope.spawn(move || {
                // In the midst of the other's read.
                thread::sleep(READ / 2 * number as u32);
                for n in 0..FAULTS {
                    let offset = (number * FAULTS + n) * segment;
                    // It computes: nobody faults while the other's fault is being ended.
                    thread::sleep(READ / 20);
                    // SAFETY: It is within the area, to which nobody stores.
                    assert_eq!(unsafe { area.start().add(offset as usize).read_volatile() }, 7);
                }
            });
        }
    });
    counts.slow.store(false, Ordering::SeqCst);
    let found = (counts.waited.load(Ordering::SeqCst), counts.beside.load(Ordering::SeqCst));
    memory.close().expect("closed");
    Some(found)
}

#[test]
fn reads_of_a_thread_that_is_alone_are_waited_for_where_they_are_made() {
    let Some((waited, beside)) = counted(1) else { return };
    assert!(
        waited > FAULTS * 3 / 4 && beside < FAULTS / 4,
        "{waited} waited for, {beside} beside others, of {FAULTS} faults"
    );
}

#[test]
fn reads_of_threads_that_fault_by_turns_are_under_way_together() {
    let Some((_, beside)) = counted(2) else { return };
    assert!(beside > FAULTS * 3 / 4, "{beside} beside others, of {FAULTS} faults a thread");
}
