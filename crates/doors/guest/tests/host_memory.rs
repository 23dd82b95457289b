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
    // Returned later, it counts as new memory.
    host.store(support::HMB, &vec![0x5a; 1 << 20]);
    assert_eq!(host.host_memory(16 << 20, true).status, 0);
    pass(&mut host, 60);
    pass(&mut host, 60);
    assert_eq!(lines(&host).damaged, 0);
    host.shut_down();
    host.attach(1);
    pass(&mut host, 60);
}

#[test]
fn memory_taken_back_is_returned_like_linux_does_after_a_reset() {
    let mut host = host();
    warm(&mut host, 60);
    take_back(&mut host);
    host.disable();
    host.enable();
    assert_eq!(host.host_memory(15 << 20, true).status, 0x02, "other memory");
    assert_eq!(host.host_memory(16 << 20, true).status, 0);
    host.create_queues(1);
    pass(&mut host, 60);
    let hits = host.drive.machine().ftl().stats().map_host_hits;
    pass(&mut host, 60);
    assert_eq!(host.drive.machine().ftl().stats().map_host_hits - hits, 59);
    assert_eq!(lines(&host).damaged, 0);
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

/// Bytes of a line of map entries with its check code, and of a frame.
const LINE: usize = 64 + 2;
const FRAME: usize = 64 * LINE;

fn lines(host: &Host) -> guest::LentStatistics {
    host.drive.lent_statistics().expect("a drive with a Host Memory Buffer")
}

/// Reads the regions, so that their map entries are in host memory.
fn warm(host: &mut Host, count: u64) {
    fill(host, count);
    pass(host, count);
    pass(host, count);
}

#[test]
fn the_map_is_in_the_guests_memory_and_checked_at_every_read() {
    let mut host = host();
    warm(&mut host, 100);
    let before = lines(&host);
    let hits = host.drive.machine().ftl().stats().map_host_hits;
    pass(&mut host, 100);
    let after = lines(&host);
    let read = host.drive.machine().ftl().stats().map_host_hits - hits;
    assert!(read >= 98, "{read} reads of entries in host memory");
    assert_eq!(after.verified - before.verified, read, "one line per read");
    assert_eq!((after.late, after.damaged, after.forged), (before.late, 0, 0), "{after:?}");
    // The entry of the first unit of each region is in memory, once.
    let memory = host.load(support::HMB, 16 << 20);
    let used = memory.chunks(FRAME).filter(|frame| frame.iter().any(|byte| *byte != 0)).count();
    assert!((98..=100).contains(&used), "{used} frames");
    let first = |frame: &[u8]| u32::from_le_bytes(frame[..4].try_into().expect("four bytes"));
    let mut entries: Vec<u32> = memory.chunks(FRAME).map(first).filter(|entry| *entry != 0).collect();
    entries.sort_unstable();
    entries.dedup();
    assert_eq!(entries.len(), used, "each region is elsewhere in flash");
}

#[test]
fn what_the_guest_damages_is_found_and_read_from_flash() {
    let mut host = host();
    warm(&mut host, 100);
    let hit = pass(&mut host, 100);
    let (before, misses) = (lines(&host), host.drive.machine().ftl().stats().map_misses);
    host.store(support::HMB, &vec![0x5a; 16 << 20]);
    let miss = pass(&mut host, 100);
    let found = lines(&host).damaged - before.damaged;
    assert!(found >= 98, "{found} damaged lines");
    assert_eq!(host.drive.machine().ftl().stats().map_misses - misses, found, "each is read from flash");
    assert!(miss > hit + Time::from_us(60), "{miss} and {hit}");
    // The host memory is used again.
    let again = pass(&mut host, 100);
    assert!(again < hit + Time::from_us(1) && hit < again + Time::from_us(1), "{again} and {hit}");
    assert_eq!(lines(&host).damaged - before.damaged, found);
}

#[test]
fn one_flipped_bit_of_a_line_is_found() {
    let mut host = host();
    warm(&mut host, 40);
    for bit in [0, 7, 31, 8 * 63, 8 * 64 + 3, 8 * 65 + 7] {
        let before = lines(&host).damaged;
        for frame in 0..40 {
            let at = support::HMB + (frame * FRAME + bit / 8) as u64;
            let byte = host.load(at, 1)[0];
            host.store(at, &[byte ^ 1 << (bit % 8)]);
        }
        pass(&mut host, 40);
        let found = lines(&host).damaged - before;
        assert_eq!(found, 39, "bit {bit}: one unit is in the controller");
        pass(&mut host, 40);
    }
}

#[test]
fn an_older_version_put_back_is_found() {
    let mut host = host();
    warm(&mut host, 60);
    let old = host.load(support::HMB, 1 << 20);
    let other = |i: u64| pattern(i * 8192 + 1, 4096);
    for i in 0..60 {
        assert_eq!(host.write_blocks(i * 8192, &other(i)).status, 0);
    }
    assert_eq!(host.flush().status, 0);
    host.store(support::HMB, &old);
    for i in 0..60 {
        let (done, data) = host.read_blocks(i * 8192, 8);
        assert_eq!((done.status, data), (0, other(i)), "region {i}");
    }
    assert!(lines(&host).forged >= 58, "{:?}", lines(&host));
    assert_eq!(lines(&host).damaged, 0, "the check codes are those of the drive");
}

#[test]
fn entries_of_a_trimmed_unit_are_written_again_when_they_are_read() {
    let mut host = host();
    warm(&mut host, 40);
    // The whole translation unit: it is dropped, and nothing is written to host memory.
    for i in 0..40 {
        assert_eq!(host.trim(i * 8192, 8192).status, 0);
    }
    for late in [39, 0] {
        let before = lines(&host);
        for i in 0..40 {
            assert_eq!(host.read_blocks(i * 8192, 8).1, vec![0; 4096], "region {i}");
        }
        let after = lines(&host);
        assert_eq!((after.late - before.late, after.damaged, after.forged), (late, 0, 0));
    }
}

#[test]
fn a_system_without_check_codes_finds_damage_by_its_own_sums() {
    let sets = [&HMB[..], &[("ftl.capacity", "1600MB"), ("device.hmb.check", "0B")]].concat();
    let mut host = Host::attached(&system("hmb-a", &sets), &Options::default());
    warm(&mut host, 40);
    host.store(support::HMB, &vec![0x5a; 1 << 20]);
    pass(&mut host, 40);
    assert_eq!((lines(&host).damaged, lines(&host).forged), (0, 39));
}

#[test]
fn changes_that_only_the_damaged_memory_had_are_recovered() {
    let mut host = host();
    warm(&mut host, 100);
    for round in 1..4u64 {
        let data = |i: u64| pattern(i * 8192 + round, 4096);
        for i in 0..100 {
            assert_eq!(host.write_blocks(i * 8192, &data(i)).status, 0);
        }
        // The data is in flash; its map entries are in host memory alone.
        assert_eq!(host.flush().status, 0);
        host.store(support::HMB, &vec![round as u8; 1 << 20]);
        let before = lines(&host).damaged;
        for i in 0..100 {
            let (done, found) = host.read_blocks(i * 8192, 8);
            assert_eq!((done.status, found), (0, data(i)), "region {i}");
        }
        assert!(lines(&host).damaged - before >= 90, "{:?}", lines(&host));
    }
    host.store(support::HMB, &vec![7; 1 << 20]);
    take_back(&mut host);
    for i in 0..100 {
        assert_eq!(host.read_blocks(i * 8192, 8).1, pattern(i * 8192 + 3, 4096), "region {i}");
    }
}

#[test]
fn two_resets_drop_the_accesses_that_waited_for_the_memory() {
    let mut host = host();
    warm(&mut host, 380);
    for round in 0..3 {
        for i in 0..380 {
            host.write_blocks(i * 8192, &pattern(i * 8192, 4096));
        }
        // Programs go on, and their map entries wait for the memory.
        for _ in 0..2 {
            host.disable();
            host.wait(Time::from_us(700 * (round + 1)));
            host.enable();
        }
        assert_eq!(host.host_memory(16 << 20, true).status, 0);
        host.create_queues(1);
        pass(&mut host, 380);
    }
    assert_eq!((lines(&host).damaged, lines(&host).forged), (0, 0));
}

#[test]
fn memory_returned_after_a_reset_is_checked_too() {
    for damaged in [false, true] {
        let mut host = host();
        warm(&mut host, 100);
        let before = lines(&host);
        host.disable();
        if damaged {
            host.store(support::HMB + 1000, &vec![0x33; 1 << 20]);
        }
        host.enable();
        assert_eq!(host.host_memory(16 << 20, true).status, 0);
        host.create_queues(1);
        pass(&mut host, 100);
        let after = lines(&host);
        if damaged {
            assert!(after.damaged >= 98, "{after:?}");
        } else {
            assert!(after.damaged == 0 && after.verified - before.verified >= 98, "{after:?}");
        }
    }
}

#[test]
fn a_reset_controller_does_not_touch_the_memory() {
    let mut host = host();
    warm(&mut host, 100);
    for i in 0..100 {
        host.write_blocks(i * 8192, &pattern(i * 8192, 4096));
    }
    host.disable();
    host.store(support::HMB, &vec![0xcc; 16 << 20]);
    host.wait(Time::from_ms(50));
    host.enable();
    host.wait(Time::from_ms(50));
    assert!(host.load(support::HMB, 16 << 20).iter().all(|byte| *byte == 0xcc));
    host.create_queues(1);
    pass(&mut host, 100);
    assert!(host.load(support::HMB, 16 << 20).iter().all(|byte| *byte == 0xcc), "it was not returned");
}

#[test]
fn it_goes_off_and_on_again_with_the_same_latencies() {
    let mut host = host();
    warm(&mut host, 100);
    let mut times = Vec::new();
    for _ in 0..3 {
        pass(&mut host, 100);
        let on = pass(&mut host, 100);
        take_back(&mut host);
        host.store(support::HMB, &vec![0x77; 16 << 20]);
        pass(&mut host, 100);
        let off = pass(&mut host, 100);
        assert!(host.load(support::HMB, 16 << 20).iter().all(|byte| *byte == 0x77), "it is the guest's again");
        assert_eq!(host.host_memory(16 << 20, false).status, 0);
        pass(&mut host, 100);
        times.push((on, off));
    }
    let near = |a: Time, b: Time| a < b + Time::from_us(1) && b < a + Time::from_us(1);
    let (on, off) = times[0];
    assert!(times.iter().all(|(a, b)| near(*a, on) && near(*b, off)), "{times:?}");
    assert_eq!((lines(&host).damaged, lines(&host).forged), (0, 0));
}

/// Random reads, writes, trims, flushes, scribbles, resets and switches; every read returns the data written last.
#[test]
fn random_histories_with_a_hostile_guest_keep_the_data() {
    for seed in 0..8 {
        let mut rng = sim::Streams::new(seed).stream("hostile memory");
        let mut host = host();
        fill(&mut host, 380);
        let mut written: Vec<Option<u64>> = (0..380).map(|i| Some(i * 8192)).collect();
        for step in 1..1500u64 {
            let i = rng.below(380) as usize;
            let lba = i as u64 * 8192;
            match rng.below(1000) {
                0..700 => {
                    let (done, data) = host.read_blocks(lba, 8);
                    let expected = written[i].map_or(vec![0; 4096], |seed| pattern(seed, 4096));
                    assert!((done.status, &data) == (0, &expected), "seed {seed}, step {step}, region {i}");
                }
                700..840 => {
                    written[i] = Some(step);
                    assert_eq!(host.write_blocks(lba, &pattern(step, 4096)).status, 0);
                }
                840..860 => {
                    written[i] = None;
                    assert_eq!(host.trim(lba, 8).status, 0);
                }
                860..880 => assert_eq!(host.flush().status, 0),
                880..994 => {
                    let at = rng.below(1 << 20);
                    let bytes = rng.below(400_000) as usize + 1;
                    host.store(support::HMB + at, &vec![rng.below(256) as u8; bytes]);
                }
                994..997 => {
                    // A flush first: a drive without power loses the data in its buffer.
                    host.flush();
                    let returned = rng.below(2) == 0;
                    let was_on = host.drive.machine().ftl().uses_host_memory();
                    host.disable();
                    host.enable();
                    assert_eq!(host.host_memory(16 << 20, returned && was_on).status, 0);
                    host.create_queues(1);
                }
                _ if host.drive.machine().ftl().uses_host_memory() => take_back(&mut host),
                _ => assert_eq!(host.host_memory(16 << 20, false).status, 0),
            }
        }
        assert!(lines(&host).damaged > 0, "seed {seed}: {:?}", lines(&host));
    }
}
