//! Numbers beyond a controller's tables: each call panics or fails, in release builds too.

use std::cell::Cell;

use device::arbiter::Arbiter;
use device::{
    Arbitration, Coalescing, Config, EmulatedDramConfig, Event, Fetch, Nvme, OneNand, OneNandConfig, Sata,
    SharedBuffer, Ufs,
};
use media::{Op, Request, Status, Tag};
use shared_buffer::Layout;
use sim::{Energy, Lane, Part, Schedule, Time};
use testkit::refused;

/// A schedule that forgets its events.
struct Nowhere;

impl<E> Schedule<E> for Nowhere {
    fn at(&mut self, _: Lane, _: Time, _: E) {}
}

const NOW: Time = Time::from_us(1);
const OK: Status = Status::Ok;

/// A tag beyond eight commands.
const TAG: u16 = 8;

fn config() -> Config {
    Config { max_commands: u32::from(TAG), ..Config::default() }
}

fn read() -> Request {
    Request::new(Op::Read, 0, 4096)
}

#[test]
fn an_arbiter_refuses_them() {
    refused!(arbiter = Arbiter::new(Arbitration::RoundRobin, config().weights, None, &[], 2);
        arbiter.pending(2),
        arbiter.add(2, 1),
        arbiter.remove(2, 1),
    );
}

fn nvme() -> Nvme {
    Nvme::new(&config(), 2, 4, true, NOW)
}

#[test]
fn an_nvme_controller_refuses_queues() {
    refused!(nvme = nvme();
        nvme.doorbell(2, 1),
        nvme.doorbell(0, 4),
        nvme.fetch_at_once(2, 1),
        nvme.fetch_at_once(0, 4),
        nvme.admit(Fetch { queue: 2, index: 0, count: 1 }, (NOW, true), |_| (0, read()), &mut Nowhere),
        nvme.post(2, 0, OK),
        nvme.seen(2, 0),
        nvme.seen(0, 4),
        nvme.unfetched(2),
    );
    let coalescing = Coalescing { threshold: 2, time: NOW };
    refused!(nvme = Nvme::new(&Config { coalescing, ..config() }, 2, 4, true, NOW);
        Part::handle(&mut nvme, NOW, Event::Coalesced { queue: 2, epoch: 0 }, &mut Nowhere, &mut None),
    );
}

#[test]
fn an_nvme_controller_refuses_queues_of_a_host() {
    refused!(nvme = Nvme::for_host(&config(), 2, NOW);
        nvme.create_submission_queue(2, 4),
        nvme.create_completion_queue(2, 4),
        nvme.delete_submission_queue(2),
        nvme.check_doorbell(2, 1),
        nvme.check_seen(2, 1),
        nvme.has_room(2),
        nvme.submission_entries(2),
        nvme.post_in(2, 0, 0),
        nvme.post_in(0, 2, 0),
        nvme.fetch_two(2),
        nvme.return_last(&mut Fetch { queue: 2, index: 0, count: 1 }),
    );
    let mut nvme = nvme();
    assert!(nvme.check_doorbell(0, 4).is_err());
    assert!(nvme.check_seen(0, 4).is_err());
}

#[test]
fn an_nvme_controller_refuses_tags() {
    refused!(nvme = nvme();
        nvme.data(NOW, Tag(u32::from(TAG)), 512, &mut Nowhere),
        nvme.data(NOW, Tag(u32::MAX), 512, &mut Nowhere),
        nvme.sent(TAG, NOW),
        nvme.ready(NOW, Tag(u32::from(TAG)), &mut Nowhere),
        nvme.entry_of(Tag(u32::from(TAG))),
        nvme.complete(NOW, Tag(u32::from(TAG)), OK, &mut Nowhere),
        nvme.last_data(NOW, Tag(u32::from(TAG)), 512, OK, &mut Nowhere),
        nvme.release(NOW, TAG, &mut Nowhere),
        nvme.identifier(TAG),
        nvme.release_in(NOW, TAG, 0, true, &mut Nowhere),
        nvme.withdraw(NOW, Tag(u32::from(TAG)), &mut Nowhere),
        Part::handle(&mut nvme, NOW, Event::Fetched(TAG), &mut Nowhere, &mut None),
        Part::handle(&mut nvme, NOW, Event::Listed(TAG), &mut Nowhere, &mut None),
        Part::handle(&mut nvme, NOW, Event::Decoded(TAG), &mut Nowhere, &mut None),
    );
}

#[test]
fn an_nvme_controller_admits_no_more_than_it_has_tags() {
    // One entry more waits than there are tags, and as many as there are tags are fetched.
    let fetched = || {
        let mut nvme = Nvme::new(&config(), 2, 16, true, NOW);
        nvme.doorbell(0, TAG + 1);
        assert_eq!(nvme.fetch().map(|fetch| fetch.count), Some(TAG));
        nvme
    };
    let fetch = |count| Fetch { queue: 0, index: 0, count };
    fetched().admit(fetch(TAG), (NOW, true), |_| (0, read()), &mut Nowhere);
    refused!(nvme = fetched(); nvme.admit(fetch(TAG + 1), (NOW, true), |_| (0, read()), &mut Nowhere));
}

#[test]
fn a_sata_drive_refuses_them() {
    refused!(sata = Sata::new(&config());
        sata.admit(TAG, read(), NOW, &mut Nowhere),
        sata.data(NOW, Tag(u32::from(TAG)), 512, &mut Nowhere),
        sata.sent(TAG, NOW),
        sata.ready(NOW, Tag(u32::from(TAG)), &mut Nowhere),
        sata.complete(NOW, Tag(u32::from(TAG)), OK, &mut Nowhere),
        sata.post(TAG),
        Part::handle(&mut sata, NOW, Event::Fetched(TAG), &mut Nowhere, &mut None),
        Part::handle(&mut sata, NOW, Event::Listed(TAG), &mut Nowhere, &mut None),
        Part::handle(&mut sata, NOW, Event::Decoded(TAG), &mut Nowhere, &mut None),
    );
}

#[test]
fn a_ufs_device_refuses_them() {
    refused!(ufs = Ufs::new(&config());
        ufs.admit(TAG, read(), NOW, &mut Nowhere),
        ufs.data(NOW, Tag(u32::from(TAG)), 512, &mut Nowhere),
        ufs.sent(TAG, NOW),
        ufs.ready(NOW, Tag(u32::from(TAG)), &mut Nowhere),
        ufs.arrived(NOW, TAG, 512, &mut Nowhere),
        ufs.complete(NOW, Tag(u32::from(TAG)), OK, &mut Nowhere),
        ufs.post(TAG),
        Part::handle(&mut ufs, NOW, Event::Fetched(TAG), &mut Nowhere, &mut None),
        Part::handle(&mut ufs, NOW, Event::Listed(TAG), &mut Nowhere, &mut None),
        Part::handle(&mut ufs, NOW, Event::Decoded(TAG), &mut Nowhere, &mut None),
    );
}

#[test]
fn a_onenand_refuses_them() {
    let config = OneNandConfig {
        buffers: 2,
        word_bytes: 2,
        words_per_s: 1_000_000,
        burst_latency: NOW,
        latency_uw: 0,
        transfer_uw: 0,
    };
    assert_eq!(OneNand::new(&config).energy(), Energy::ZERO);
    refused!(onenand = OneNand::new(&config); onenand.loaded(u32::MAX), onenand.discard(u32::MAX));
    assert!(!OneNand::new(&config).is_ready(u32::MAX));
}

#[test]
fn a_device_behind_a_shared_buffer_refuses_them() {
    let layout =
        shared_buffer::Config { queue_pairs: 2, sq_entries: 8, cq_entries: 16, extents_max: 1, db_sectors: 64 };
    let layout = Layout::new(layout).expect("a layout");
    let buffer = EmulatedDramConfig { banks: 8, line: 32, burst: NOW, bandwidth: 1 << 30, dram_banks: 8, row: 2048 };
    let region = vec![Cell::new(0u64); 1 << 13];
    let tag = Tag(u32::from(TAG));
    refused!(device = SharedBuffer::new(&config(), &layout, &buffer);
        device.origin(tag),
        device.request(tag),
        device.fetched(tag),
        device.is_refused(tag),
        device.extents(tag),
        device.is_pending(2, region.as_slice()),
        device.data(NOW, tag, 512, &mut Nowhere),
        device.ready(NOW, tag, &mut Nowhere),
        device.complete(NOW, tag, OK, &mut Nowhere),
        device.post(NOW, TAG, region.as_slice(), shared_buffer::Status::Success),
        device.status(TAG),
    );
}
