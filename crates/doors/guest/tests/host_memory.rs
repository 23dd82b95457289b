//! The Host Memory Buffer: lent, taken back, lost at a reset or returned.

mod support;

use guest::Options;
use sim::Time;
use support::{Command, Host, pattern, system};

/// A small drive that keeps most of its map in host memory.
const HMB: [(&str, &str); 7] = [
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.blocks", "60"),
    ("flash.pages", "256"),
    ("device.hmb.size", "16MiB"),
    ("device.hmb.minimum", "1MiB"),
    ("ftl.map_cache.size", "4KiB"),
];

fn host() -> Host {
    Host::attached(&system("hmb-a", &[&HMB[..], &[("ftl.capacity", "1600MB")]].concat()), &Options::default())
}

/// Reads one block in each of `count` regions whose map entries lie in different translation units. Returns the mean
/// latency.
fn pass(host: &mut Host, count: u64) -> Time {
    let mut sum = Time::ZERO;
    for i in 0..count {
        let (done, data) = host.read_blocks(i * 8192, 8);
        assert_eq!((done.status, data), (0, pattern(i * 8192, 4096)), "region {i}");
        sum += done.latency;
    }
    sum / count
}

fn fill(host: &mut Host, count: u64) {
    for i in 0..count {
        assert_eq!(host.write_blocks(i * 8192, &pattern(i * 8192, 4096)).status, 0);
    }
    assert_eq!(host.flush().status, 0);
}

fn take_back(host: &mut Host) {
    let disable = Command { opcode: 9, dwords: [0xd, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(disable).status, 0);
}

#[test]
fn it_shortens_reads_while_it_is_on() {
    let mut host = host();
    let uses = |host: &Host| host.drive.machine().ftl().uses_host_memory();
    assert!(uses(&host));
    assert_eq!(host.get_feature(0x0d, 0).result, 1);
    fill(&mut host, 100);
    pass(&mut host, 100);
    let on = pass(&mut host, 100);
    take_back(&mut host);
    assert!(!uses(&host));
    assert_eq!(host.get_feature(0x0d, 0).result, 0);
    let off = pass(&mut host, 100);
    assert!(off > on + Time::from_us(40), "a map read from flash: {off} and {on}");
    assert_eq!(host.host_memory(16 << 20, false).status, 0);
    pass(&mut host, 100);
    let again = pass(&mut host, 100);
    assert!(again < on + Time::from_us(1) && on < again + Time::from_us(1), "{again} and {on}");
}

#[test]
fn after_a_reset_it_is_lost_or_returned() {
    for returned in [true, false] {
        let mut host = host();
        fill(&mut host, 100);
        pass(&mut host, 100);
        let misses = host.drive.machine().ftl().stats().map_misses;
        host.disable();
        host.wait(Time::from_ms(3));
        host.enable();
        assert_eq!(host.host_memory(16 << 20, returned).status, 0);
        host.create_queues(1);
        pass(&mut host, 100);
        let missed = host.drive.machine().ftl().stats().map_misses - misses;
        // The controller's own unit stays in any case.
        assert_eq!(missed, if returned { 0 } else { 99 }, "returned: {returned}");
    }
}

#[test]
fn a_host_that_never_returns_it_finds_its_data() {
    let mut host = host();
    fill(&mut host, 60);
    pass(&mut host, 60);
    host.disable();
    host.enable();
    host.create_queues(1);
    assert!(!host.drive.machine().ftl().uses_host_memory());
    pass(&mut host, 60);
    // Later it is new memory.
    let late = host.host_memory(16 << 20, true);
    assert_eq!(late.status, 0x0c, "nothing is known of its contents any more");
    assert_eq!(host.host_memory(16 << 20, false).status, 0);
    pass(&mut host, 60);
    host.shut_down();
    host.attach(1);
    pass(&mut host, 60);
}

#[test]
fn less_memory_holds_less_of_the_map() {
    let mut host =
        Host::new(&system("hmb-a", &[&HMB[..], &[("ftl.capacity", "1600MB")]].concat()), &Options::default());
    host.disable();
    host.enable();
    assert_eq!(host.host_memory(1 << 20, false).status, 0);
    host.create_queues(1);
    fill(&mut host, 300);
    for (count, all) in [(200, true), (300, false)] {
        pass(&mut host, count);
        let before = host.drive.machine().ftl().stats().map_misses;
        pass(&mut host, count);
        let missed = host.drive.machine().ftl().stats().map_misses - before;
        assert_eq!(missed == 0, all, "{missed} misses of {count}");
    }
}

#[test]
fn what_is_not_memory_or_not_the_same_is_refused() {
    let mut host = host();
    let enable = |size: u32, list: u64, entries: u32| Command {
        opcode: 9,
        dwords: [0xd, 1, size, list as u32, (list >> 32) as u32, entries],
        ..Command::default()
    };
    assert_eq!(host.host_memory(16 << 20, false).status, 0x0c, "it is on");
    take_back(&mut host);
    for (size, list, entries, status) in [
        (4096, 1 << 45, 16, 0x04),
        (4096, support::HMB_LIST, 0x2_0000, 0x02),
        (4096, support::HMB_LIST, 0, 0x02),
        (4095, support::HMB_LIST, 16, 0x02),
    ] {
        assert_eq!(host.admin(enable(size, list, entries)).status, status, "{size} {list:#x} {entries}");
    }
    host.store(support::HMB_LIST, &[(1u64 << 45).to_le_bytes(), 4096u64.to_le_bytes()].concat());
    assert_eq!(host.admin(enable(4096, support::HMB_LIST, 1)).status, 0x02, "a descriptor outside memory");
    assert_eq!(host.host_memory(16 << 20, false).status, 0);
}

#[test]
fn a_sanitize_outlives_a_reset_that_loses_host_memory() {
    let mut host = host();
    fill(&mut host, 20);
    pass(&mut host, 20);
    let sanitize = Command { opcode: 0x84, dwords: [2, 0, 0, 0, 0, 0], ..Command::default() };
    host.submit(0, &[sanitize]);
    // Reset at many instants of the operation; the loss of the map is found while it goes on.
    for _ in 0..20 {
        host.wait(Time::from_us(37));
        host.attach(1);
    }
    host.wait(Time::from_ms(3000));
    assert_eq!(host.log(0x81, 512, 0).expect("the sanitize status")[2], 1);
    for i in 0..20 {
        let (done, data) = host.read_blocks(i * 8192, 8);
        assert_eq!((done.status, data), (0, vec![0; 4096]), "region {i}");
    }
}
