//! Numbers beyond a host's tables: each call panics, in release builds too.

use host::cores::Cores;
use host::cpu::{Cpu, CpuConfig};
use host::dma::Walk;
use host::requests::{NOBODY, Requests};
use host::slots::Slots;
use host::vector::{Run, Vector};
use host::{Ahci, Config, Delivery, DmaConfig, Entry, Event, Nvme, SharedBuffer, Ufshci};
use media::{Op, Request, Status};
use shared_buffer::Layout;
use sim::{Lane, Part, Schedule, Time};
use testkit::refused;

/// A schedule that forgets its events.
struct Nowhere;

impl<E> Schedule<E> for Nowhere {
    fn at(&mut self, _: Lane, _: Time, _: E) {}
}

const NOW: Time = Time::from_us(1);
const OK: Status = Status::Ok;

fn config() -> Config {
    Config { cores: 2, queue_pairs: Some(2), queue_depth: 4, ..Config::default() }
}

fn read() -> Request {
    Request::new(Op::Read, 0, 4096)
}

#[test]
fn requests_refuse_them() {
    refused!(requests = Requests::new(4096);
        requests.request(1_000_000_000),
        requests.core(1_000_000_000),
        requests.next(1_000_000_000),
        requests.ended(1_000_000_000, OK),
        requests.take(&mut NOBODY.clone(), NOW),
        requests.open(u32::MAX, 0, read(), &mut NOBODY.clone()),
    );
    // A list of another table.
    let mut waiting = NOBODY;
    Requests::new(4096).open(7, 0, read(), &mut waiting);
    refused!(requests = Requests::new(4096);
        requests.take(&mut waiting.clone(), NOW),
        requests.open(1, 0, read(), &mut waiting.clone()),
    );
}

#[test]
fn cores_refuse_them() {
    let mut run = Run { at: NOW, entry: NOW };
    refused!(cores = Cores::new(2, false);
        cores.submit::<Event>(NOW, (2, 0), NOW, &mut Nowhere),
        cores.interrupt::<Event>(NOW, 2, NOW, NOW, &mut Nowhere),
        Vector::new(2).enter::<Event>(NOW, &mut run.clone(), &mut cores, &mut Nowhere),
        Vector::new(0).complete::<Event>(NOW, &mut run, (2, 0, NOW), &mut cores, &mut Nowhere),
    );
}

fn delivery(queue: u16, index: u16, cid: u16) -> Delivery {
    let entry = Entry { cid, phase: true, status: OK };
    Delivery { queue, index, entry, visible: NOW, interrupt: Some(NOW) }
}

#[test]
fn an_nvme_driver_refuses_them() {
    refused!(driver = Nvme::new(&config());
        driver.can_issue(2),
        driver.issue(NOW, 2, false, &mut Nowhere),
        driver.issue(NOW, 2, true, &mut Nowhere),
        driver.enter(2, 0),
        driver.entry(2, 0),
        driver.entry(0, 4),
        driver.enter(0, 3),
        driver.io(2, 0),
        driver.io(0, 3),
        driver.completion(NOW, delivery(2, 0, 0), &mut Nowhere),
        driver.completion(NOW, delivery(0, 4, 0), &mut Nowhere),
        driver.completion(NOW, delivery(0, 0, 3), &mut Nowhere),
        driver.interrupt(NOW, 2, NOW, &mut Nowhere),
        Part::handle(&mut driver, NOW, Event { queue: 2, cid: 0 }, &mut Nowhere, &mut None),
        Part::handle(&mut driver, NOW, Event { queue: 0, cid: 3 }, &mut Nowhere, &mut None),
        driver.submit(u32::MAX, 0, read()),
    );
}

#[test]
fn slots_refuse_them() {
    refused!(slots = Slots::new(&config(), 0, Time::ZERO);
        slots.request(32),
        slots.io(32),
        slots.ended(NOW, 32, OK, (NOW, true), &mut Nowhere),
        slots.ended(NOW, 4, OK, (NOW, true), &mut Nowhere),
        slots.open(u32::MAX, 0, read()),
    );
    refused!(slots = Slots::new(&Config { queue_depth: 200, ..config() }, 4, Time::ZERO);
        slots.request(200),
        slots.io(200),
        slots.ended(NOW, 200, OK, (NOW, true), &mut Nowhere),
        slots.ended(NOW, 256, OK, (NOW, true), &mut Nowhere),
        slots.reaped(Event { queue: 0, cid: 200 }),
    );
    refused!(host = Ahci::new(&config());
        host.fetch(NOW, 32, &mut Nowhere),
        host.request(32),
        host.io(32),
        host.completion(NOW, 32, OK, NOW, &mut Nowhere),
        Part::handle(&mut host, NOW, Event { queue: 0, cid: 32 }, &mut Nowhere, &mut None),
        host.submit(u32::MAX, 0, read()),
    );
    refused!(host = Ufshci::new(&config());
        host.read_command(NOW, 32, &mut Nowhere),
        host.request(32),
        host.io(32),
        host.response(NOW, 32, OK, (NOW, 32), &mut Nowhere),
        Part::handle(&mut host, NOW, Event { queue: 0, cid: 32 }, &mut Nowhere, &mut None),
        host.submit(u32::MAX, 0, read()),
    );
}

#[test]
fn a_chipset_refuses_slots() {
    refused!(walk = Walk::new(&DmaConfig::default()); walk.begin(32), walk.step(32, 512));
}

#[test]
fn a_driver_of_a_shared_buffer_refuses_them() {
    let layout =
        shared_buffer::Config { queue_pairs: 2, sq_entries: 8, cq_entries: 16, extents_max: 1, db_sectors: 64 };
    let layout = Layout::new(layout).expect("a layout");
    refused!(driver = SharedBuffer::new(&config(), &layout);
        driver.notified(NOW, 2, &mut Nowhere),
        driver.piece(1_000_000_000),
        driver.submitted(2, 0),
        driver.submitted(0, 1000),
        driver.outstanding(2),
    );
}

#[test]
fn processors_refuse_threads() {
    let config: CpuConfig = keys::defaults::<CpuConfig, _>(&[]);
    refused!(cpu = Cpu::new(config, 2, 0);
        cpu.resume(2, NOW),
        cpu.access_for_kernel(NOW, (2, 0, false), &mut Vec::new()),
        cpu.complete(0xffff, NOW),
    );
}
