//! Faults of one thread, and alternating faults of two threads, on a slow device: a single thread's reads are executed
//! synchronously, those of two threads overlap.

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

/// Long compared with scheduling delays on a busy machine.
const READ: Duration = Duration::from_millis(20);
const FAULTS: u64 = 30;
const DRAM: u64 = 1 << 20;

/// A shape with segments of the kernel's page size, which can be mapped.
fn shape() -> Shape {
    Shape { segment_bytes: 4096, ..histories::shape() }
}

#[derive(Default)]
struct Counts {
    slow: AtomicBool,
    /// Reads that a call waited for.
    waited: AtomicU64,
    /// Reads that began while another was in flight.
    overlapping: AtomicU64,
}

/// A device in DRAM that completes each read after a delay, in order, and then writes a byte to a socket.
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
        self.counts.overlapping.fetch_add(u64::from(slow && !self.under_way.is_empty()), Ordering::SeqCst);
        self.under_way.push_back((Instant::now() + takes, request));
        let mut end = self.ends[0].try_clone().expect("a descriptor is left");
        thread::spawn(move || {
            thread::sleep(takes);
            end.write_all(&[0]).expect("room for a byte");
        });
    }

    fn wait(&mut self) -> io::Result<Ended> {
        let (due, mut request) = self.under_way.pop_front().expect("a request is in flight");
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

/// Counts the synchronous and the overlapping reads of `threads` threads that load `FAULTS` segments each. Returns
/// `None` if userfaultfd is not allowed.
fn counted(threads: u64) -> Option<(u64, u64)> {
    let counts = Arc::new(Counts::default());
    let (left, right) = UnixStream::pair().expect("sockets");
    let image = vec![0; shape().file_bytes() as usize];
    let slow = Slow { image, under_way: VecDeque::new(), ends: [left, right], counts: Arc::clone(&counts) };
    let mut memory = Memory::create_on(slow, shape(), DRAM, "a slow disk").expect("created");
    let (segment, bytes) = (u64::from(shape().segment_bytes), threads * FAULTS * u64::from(shape().segment_bytes));
    let at = memory.alloc(bytes, false).expect("enough space");
    memory.write(at, &vec![7; bytes as usize]).expect("exists");
    memory.sync(None).expect("synced");
    // Reopen with nothing in DRAM.
    let mut slow = memory.into_device();
    while slow.is_busy() {
        slow.wait().expect("succeeds");
    }
    let memory = Memory::open_on(slow, shape(), DRAM, "a slow disk").expect("opened");
    let memory = match Mapped::new(memory) {
        Ok(memory) => memory,
        Err(refused) => {
            assert!(matches!(refused.1, Error::NotMappable { .. }), "{}", refused.1);
            println!("not tested: {}", refused.1);
            return None;
        }
    };
    memory.advise(at, bytes, Advice::Random).expect("exists");
    let area = memory.area(at, bytes).expect("allocated");
    counts.slow.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        for number in 0..threads {
            let area = &area;
            scope.spawn(move || {
                // Start in the middle of the other thread's read.
                thread::sleep(READ / 2 * number as u32);
                for n in 0..FAULTS {
                    let offset = (number * FAULTS + n) * segment;
                    // Compute for a while, so that no fault arrives while the other thread's fault is being resolved.
                    thread::sleep(READ / 20);
                    // SAFETY: The address is within the area, and no thread stores to it.
                    assert_eq!(unsafe { area.start().add(offset as usize).read_volatile() }, 7);
                }
            });
        }
    });
    counts.slow.store(false, Ordering::SeqCst);
    let found = (counts.waited.load(Ordering::SeqCst), counts.overlapping.load(Ordering::SeqCst));
    memory.close().expect("closed");
    Some(found)
}

#[test]
fn reads_of_a_single_thread_are_synchronous() {
    let Some((waited, overlapping)) = counted(1) else { return };
    assert!(
        waited > FAULTS * 3 / 4 && overlapping < FAULTS / 4,
        "{waited} synchronous, {overlapping} overlapping, of {FAULTS} faults"
    );
}

#[test]
fn reads_of_alternating_threads_overlap() {
    let Some((_, overlapping)) = counted(2) else { return };
    assert!(overlapping > FAULTS * 3 / 4, "{overlapping} overlapping, of {FAULTS} faults per thread");
}
