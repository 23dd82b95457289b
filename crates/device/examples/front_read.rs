//! The cost of a 4 KiB read on its way from the program to the translation layer and back, 32 outstanding, with a
//! translation layer that answers after a constant time. For callgrind:
//!
//! ```text
//! cargo build --release -p device --example front_read
//! valgrind --tool=callgrind target/release/examples/front_read 200000
//! ```
//!
//! Run it with two counts: the difference of instructions over the difference of counts is the cost of a read.

#[allow(dead_code)]
#[path = "../../machine/src/front.rs"]
mod front;

use front::{Event, Front, FrontConfig, Output};
use media::{Op, Request, Status, Tag};
use sim::{EventQueue, Lane, Schedule, Time};

#[derive(Clone, Copy)]
enum World {
    Front(Event),
    Back(Tag),
}

struct Queue(EventQueue<World>);

impl Schedule<Event> for Queue {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: Event) {
        self.0.push(lane, when, World::Front(event));
    }
}

fn main() {
    let argument = |n: usize, default: u64| std::env::args().nth(n).map_or(default, |a| a.parse().expect("a number"));
    let (reads, depth) = (argument(1, 1_000_000), argument(2, 32));
    let back_latency = Time::from_us(argument(3, 150));
    let link = link::Config::Pcie(link::PcieConfig::default());
    let config = FrontConfig { host: host::Config::default(), link, device: device::Config::default() };
    let mut front = Front::new(&config);
    let mut queue = Queue(EventQueue::new(Front::lanes() + 1));
    let back = Lane(Front::lanes() as u8);
    let mut out = Vec::with_capacity(64);
    let (mut issued, mut done, mut latency) = (0, 0, Time::ZERO);
    let request = |n: u64| Request::new(Op::Read, n % 65_536 * 4096, 4096);
    for io in 0..depth {
        front.submit(Time::ZERO, io as u32, 0, request(io), &mut queue);
        issued += 1;
    }
    let mut started = vec![Time::ZERO; depth as usize];
    while let Some((now, event)) = queue.0.pop() {
        match event {
            World::Front(event) => front.handle(now, event, &mut queue, &mut out),
            World::Back(tag) => {
                front.data(now, tag, 4096, &mut queue);
                front.complete(now, tag, Status::Ok, &mut queue);
            }
        }
        for output in out.drain(..) {
            match output {
                Output::Command { tag, .. } => queue.0.push(back, now + back_latency, World::Back(tag)),
                Output::Completed { io, .. } => {
                    done += 1;
                    latency += now - started[io as usize];
                    if issued < reads {
                        started[io as usize] = now;
                        front.submit(now, io, 0, request(issued), &mut queue);
                        issued += 1;
                    }
                }
                other => unreachable!("{other:?} of a read"),
            }
        }
    }
    assert_eq!(done, reads);
    let end = queue.0.now();
    println!("{done} reads in {end}, {} each, {:.0} a second", latency / done, done as f64 / end.secs_f64());
}
