//! A client with a clock of its own, like a QEMU that has loaded the plug-in.
#![cfg(target_os = "linux")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use guest_clock::{Access, Channel};
use support::{DATA, Driver, Registers, Server, pattern};

/// The monitor's side of a channel: a clock that stands still but in `wait`.
#[derive(Clone)]
struct Monitor {
    channel: Arc<Channel>,
    now: Arc<AtomicU64>,
    /// The time for which the timer is armed; `u64::MAX` for none.
    armed: Arc<AtomicU64>,
    /// The monitor reports when the guest sleeps.
    sleeps: bool,
    /// Number of callbacks.
    fires: Arc<AtomicU64>,
}

impl Monitor {
    /// Opens the channel, and arms the timer at the drive's request until it is gone.
    fn start(server: &Server, sleeps: bool) -> Monitor {
        let channel = Arc::new(Channel::open(&server.channel).expect("a channel"));
        let monitor = Monitor {
            channel,
            now: Arc::default(),
            armed: Arc::new(AtomicU64::new(u64::MAX)),
            sleeps,
            fires: Arc::default(),
        };
        let timer = monitor.clone();
        thread::spawn(move || while timer.channel.serve_timer(|next| timer.arm(next)).is_ok() {});
        monitor
    }

    fn arm(&self, next: Option<u64>) {
        self.armed.store(next.unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    fn access(&self, offset: u64, bytes: usize, write: Option<u64>) -> u64 {
        let access = Access { offset, bytes, write };
        let answer = self.channel.access(self.now.load(Ordering::SeqCst), access).expect("the drive");
        self.arm(answer.next);
        answer.value
    }

    /// Lets time pass until `vector` is raised, or by 1 us.
    fn wait(&self, vector: Option<usize>) {
        let end = self.now.load(Ordering::SeqCst) + 1000;
        loop {
            let next = self.armed.load(Ordering::SeqCst);
            if vector.is_none() && next > end {
                return self.now.store(end, Ordering::SeqCst);
            }
            assert_ne!(next, u64::MAX, "the timer is not armed, and no interrupt came");
            let now = next.max(self.now.load(Ordering::SeqCst));
            self.now.store(now, Ordering::SeqCst);
            // A guest that waits for an interrupt sleeps.
            let asleep = if self.sleeps && vector.is_some() { u64::MAX } else { now };
            let due = self.channel.fire(now, asleep).expect("the drive");
            assert!(due.at == now || asleep > now, "{due:?} at {now}");
            self.fires.fetch_add(1, Ordering::Relaxed);
            self.now.store(due.at, Ordering::SeqCst);
            self.arm(due.next);
            if vector.is_some_and(|vector| due.vectors >> vector & 1 == 1) {
                return;
            }
        }
    }
}

impl Registers for Monitor {
    fn read(&mut self, offset: u64, to: &mut [u8]) {
        let value = self.access(offset, to.len(), None).to_le_bytes();
        to.copy_from_slice(&value[..to.len()]);
    }

    fn write(&mut self, offset: u64, from: &[u8]) {
        let mut value = [0; 8];
        value[..from.len()].copy_from_slice(from);
        self.access(offset, from.len(), Some(u64::from_le_bytes(value)));
    }
}

/// Writes, waits and reads. Returns the latency of each read in nanoseconds and the summary, and the number of callbacks.
fn session(name: &str, sleeps: bool) -> ((Vec<u64>, String), u64) {
    let server = Server::start(name, true);
    let monitor = Monitor::start(&server, sleeps);
    let mut driver = Driver::connect(&server);
    driver.registers = Some(Box::new(monitor.clone()));
    let wait = &mut |_: &mut Driver, vector: Option<usize>| monitor.wait(vector);
    driver.attach(wait);
    for i in 0..40 {
        driver.store(DATA, &pattern(i));
        assert_eq!(driver.run(1, [1, 1, i * 8, 0], DATA, wait), 0);
    }
    assert_eq!(driver.run(1, [0, 1, 0, 0], 0, wait), 0);
    let mut latencies = Vec::new();
    for i in 0..40 {
        monitor.now.fetch_add(1234, Ordering::SeqCst);
        let begin = monitor.now.load(Ordering::SeqCst);
        assert_eq!(driver.run(1, [2, 1, i * 8, 0], DATA + 4096, wait), 0);
        latencies.push(monitor.now.load(Ordering::SeqCst) - begin);
        assert_eq!(driver.load(DATA + 4096, 4096), pattern(i));
    }
    let summary = server.handle.inspect(guest::Drive::summary);
    driver.client.shutdown().expect("a connection");
    server.end().expect("a disconnection");
    let longest = summary["read"]["lat_ns"]["max"].as_u64().expect("a number");
    let seen = *latencies.iter().max().expect("40 reads");
    assert!((longest..=longest + 1).contains(&seen), "the guest saw {seen} ns, the drive {longest} ns");
    ((latencies, summary.to_string()), monitor.fires.load(Ordering::Relaxed))
}

#[test]
fn a_guest_sees_the_times_of_the_drive_and_the_same_ones_again() {
    let (first, fires) = session("first", false);
    assert!(first.0.iter().all(|latency| *latency > 1000), "{first:?}");
    assert_eq!(session("second", false), (first, fires));
}

#[test]
fn a_sleeping_guest_sees_the_same_with_fewer_callbacks() {
    let (awake, many) = session("awake", false);
    let (asleep, few) = session("asleep", true);
    assert_eq!(awake, asleep);
    assert!(3 * few < many, "{few} and {many} callbacks");
}
