//! Measures the cost of a 4 KiB read on its way from the program to the translation layer and back, with 32 outstanding
//! reads and a translation layer that answers after a constant time. For callgrind:
//!
//! ```text
//! cargo build --release -p host_interface --example read_path
//! valgrind --tool=callgrind target/release/examples/read_path 20000 32 150
//! ```
//!
//! Run it with two numbers of reads: the difference in instructions divided by the difference in reads is the cost of a
//! read. With a fourth argument, `bare`, program and translation layer are joined without a path, which gives the cost
//! of the loop itself.

use host_interface::{Config, Event, HostInterface, Output};
use media::{Op, Request, Status, Tag};
use sim::{EventQueue, Lane, Part, Schedule, Time};

#[derive(Clone, Copy)]
enum World {
    HostInterface(Event),
    Back(Tag),
}

impl Default for World {
    fn default() -> World {
        World::Back(Tag(0))
    }
}

struct Queue(EventQueue<World>);

impl Schedule<Event> for Queue {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: Event) {
        self.0.push(lane, when, World::HostInterface(event));
    }
}

/// Runs `reads` reads, `depth` at a time. Returns the time at the end and the sum of response times.
fn run(reads: u64, depth: u64, back_latency: Time, front: &mut HostInterface, bare: bool) -> (Time, Time) {
    let mut queue = Queue(EventQueue::new(HostInterface::lanes() + 1));
    let back = Lane(HostInterface::lanes() as u8);
    let mut out = Vec::with_capacity(64);
    let (mut issued, mut done, mut latency) = (0, 0, Time::ZERO);
    let mut started = vec![Time::ZERO; depth as usize];
    let mut submit = |front: &mut HostInterface, now: Time, io: u32, queue: &mut Queue, out: &mut Vec<Output>| {
        if issued < reads {
            let request = Request::new(Op::Read, issued % 65_536 * 4096, 4096);
            if bare {
                out.push(Output::Command { tag: Tag(io), io, request });
            } else {
                front.submit(now, io, 0, request, queue);
            }
            issued += 1;
        }
    };
    for io in 0..depth as u32 {
        submit(front, Time::ZERO, io, &mut queue, &mut out);
    }
    let mut commands = Vec::with_capacity(64);
    loop {
        let now = queue.0.now();
        while let Some(output) = out.pop() {
            match output {
                Output::Command { tag, .. } => queue.0.push(back, now + back_latency, World::Back(tag)),
                Output::Completed { io, .. } => {
                    done += 1;
                    latency += now - started[io as usize];
                    started[io as usize] = now;
                    submit(front, now, io, &mut queue, &mut commands);
                }
                other => unreachable!("{other:?} of a read"),
            }
        }
        out.append(&mut commands);
        if !out.is_empty() {
            continue;
        }
        let Some((now, event)) = queue.0.pop() else { break };
        match event {
            World::HostInterface(event) => front.handle(now, event, &mut queue, &mut out),
            World::Back(tag) if bare => {
                out.push(Output::Completed { io: tag.0, status: Status::Ok, submitted: now });
            }
            World::Back(tag) => {
                front.data(now, tag, 4096, &mut queue);
                front.complete(now, tag, Status::Ok, &mut queue);
            }
        }
    }
    assert_eq!(done, reads);
    (queue.0.now(), latency)
}

fn main() {
    let argument = |n: usize, default: u64| std::env::args().nth(n).map_or(default, |a| a.parse().expect("a number"));
    let (reads, depth) = (argument(1, 1_000_000), argument(2, 32));
    let back_latency = Time::from_us(argument(3, 150));
    let bare = std::env::args().nth(4).is_some_and(|a| a == "bare");
    let link = link::Config::Pcie(link::PcieConfig::default());
    let config = Config { host: host::Config::default(), link, device: device::Config::default() };
    let (end, latency) = run(reads, depth, back_latency, &mut HostInterface::new(&config), bare);
    println!("{reads} reads in {end}, {} each, {:.0} a second", latency / reads, reads as f64 / end.secs_f64());
}
