//! Flexible Data Placement at the registers: identification, logs, features, directives, placed writes, status and
//! update of reclaim unit handles, and events.

mod support;

use guest::{Drive, DriveError, Flash, NamespaceConfig, Options, Ram};
use sim::Time;
use support::{Command, DATA, Done, Host, SMALL, pattern, system};
use system::System;
use system::parts::Parts;

const INVALID_FIELD: u16 = 0x02;
const ALL: u32 = u32::MAX;
/// The endurance group in dword 11 of Get Log Page.
const GROUP: u32 = 1 << 16;
const UNIT: u64 = 4096;

fn placed(isolation: &str, more: &[(&str, &str)]) -> Host {
    Host::attached(&with_handles(isolation, more), &Options::default())
}

fn with_handles(isolation: &str, more: &[(&str, &str)]) -> System {
    let sets = [
        ("ftl.placement.isolation", isolation),
        ("ftl.placement.handles", "3"),
        ("flash.blocks", "60"),
        ("flash.pages", "16"),
        ("ftl.over_provisioning", "0.6"),
    ];
    system("", &[&SMALL[..], &sets, more].concat())
}

fn word(page: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(page[at..at + 2].try_into().expect("2"))
}

fn quad(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("8"))
}

/// Reads a log page of the endurance group in `group`, with the specific field `lsp`.
fn group_log(host: &mut Host, log: u32, lsp: u32, bytes: u32, group: u32) -> Result<Vec<u8>, u16> {
    let dwords = [log | lsp << 8 | (bytes / 4 - 1) << 16, group, 0, 0, 0, 0];
    let done = host.admin(Command { opcode: 2, namespace: ALL, prp: [DATA, 0], dwords, ..Command::default() });
    if done.status == 0 { Ok(host.load(DATA, bytes as usize)) } else { Err(done.status) }
}

/// Returns host bytes, media bytes and bytes erased.
fn statistics(host: &mut Host) -> [u64; 3] {
    let page = group_log(host, 0x22, 0, 64, GROUP).expect("the statistics");
    [0, 16, 32].map(|at| quad(&page, at))
}

fn events(host: &mut Host, of_host: bool) -> Vec<Vec<u8>> {
    let page = group_log(host, 0x23, u32::from(of_host), 4096, GROUP).expect("the events");
    let count = u32::from_le_bytes(page[..4].try_into().expect("4"));
    page[64..].chunks(64).take(count as usize).map(<[u8]>::to_vec).collect()
}

/// Writes `units` mapping units from number `unit` on with a directive.
fn write(host: &mut Host, unit: u64, units: u32, kind: u32, specific: u32) -> Done {
    host.store(DATA, &pattern(unit, units as usize * UNIT as usize));
    let mut command = host.transfer(1, unit * 8, units * 8, 512);
    command.dwords[2] |= kind << 20;
    command.dwords[3] = specific << 16;
    host.run(1, command)
}

fn receive(host: &mut Host, operation: u32, dwords: u32, namespace: u32) -> Done {
    let dwords = [operation, dwords - 1, 0, 0, 0, 0];
    host.run(1, Command { opcode: 0x12, namespace, prp: [DATA, 0], dwords, ..Command::default() })
}

/// Returns the logical blocks that can still be written to the reclaim unit of each handle.
fn left(host: &mut Host) -> Vec<u64> {
    assert_eq!(receive(host, 1, (16 + 3 * 32) / 4, 1).status, 0);
    let status = host.load(DATA, 16 + 3 * 32);
    assert_eq!(word(&status, 14), 3);
    let descriptors = (0u16..).zip(status[16..].chunks(32));
    descriptors
        .map(|(handle, of)| {
            assert_eq!((word(of, 0), word(of, 2), &of[4..8]), (handle, handle, &[0; 4][..]));
            quad(of, 8)
        })
        .collect()
}

fn update(host: &mut Host, identifiers: &[u16]) -> u16 {
    let list: Vec<u8> = identifiers.iter().flat_map(|identifier| identifier.to_le_bytes()).collect();
    host.store(DATA, &list);
    let dwords = [1 | (identifiers.len() as u32 - 1) << 16, 0, 0, 0, 0, 0];
    host.run(1, Command { opcode: 0x1d, namespace: 1, prp: [DATA, 0], dwords, ..Command::default() }).status
}

/// Enables or disables types of events for a handle.
fn set_events(host: &mut Host, namespace: u32, handle: u32, types: &[u8], on: bool) -> u16 {
    host.store(DATA, types);
    let dwords = [0x1e, handle | (types.len() as u32) << 16, u32::from(on), 0, 0, 0];
    host.admin(Command { opcode: 9, namespace, prp: [DATA, 0], dwords, ..Command::default() }).status
}

#[test]
fn a_drive_without_placement_has_none_of_it() {
    let mut host = Host::attached(&system("", &SMALL), &Options::default());
    let controller = host.identify(1, 0);
    assert_eq!((controller[96..100].to_vec(), controller[256] >> 5 & 1), (vec![1, 0, 0, 0], 0));
    assert_eq!((word(&controller, 340), word(&host.identify(0, 1), 102)), (0, 0));
    assert_eq!(host.try_identify(0x19, 0).status, INVALID_FIELD);
    for log in [0x09, 0x12, 0x20, 0x21, 0x22, 0x23] {
        assert_eq!(group_log(&mut host, log, 0, 64, GROUP), Err(0x109), "log {log:#x}");
    }
    for feature in [0x1d, 0x1e] {
        assert_eq!(host.feature(feature, 1).status, INVALID_FIELD);
        assert_eq!(host.get_feature(feature, 1).status, INVALID_FIELD);
    }
    for opcode in [0x19, 0x1a] {
        assert_eq!(host.admin(Command { opcode, namespace: 1, ..Command::default() }).status, 0x01);
    }
    for opcode in [0x12, 0x1d] {
        let command = Command { opcode, namespace: 1, prp: [DATA, 0], dwords: [1; 6], ..Command::default() };
        assert_eq!(host.run(1, command).status, 0x01);
    }
    assert_eq!(host.log(5, 4096, 0).expect("the effects")[1024 + 4 * 0x12], 0);
    // Without an enabled directive its fields are ignored.
    assert_eq!(write(&mut host, 0, 1, 2, 7).status, 0);
    assert_eq!(host.read_blocks(0, 8).1, pattern(0, 4096));
}

#[test]
fn the_drive_describes_its_handles() {
    for (isolation, kind) in [("initial", 1), ("persistent", 2)] {
        let mut host = placed(isolation, &[]);
        let controller = host.identify(1, 0);
        assert_eq!(controller[96..100], (1u32 | 1 << 4 | 1 << 19).to_le_bytes());
        assert_eq!((controller[256] >> 5 & 1, word(&controller, 340), word(&host.identify(0, 1), 102)), (1, 1, 1));
        assert_eq!(host.identify(0x19, 0)[..6], [1, 0, 1, 0, 0, 0]);
        let page = group_log(&mut host, 0x20, 0, 128, GROUP).expect("the configurations");
        assert_eq!((word(&page, 0), u32::from_le_bytes(page[4..8].try_into().expect("4"))), (0, 16 + 80));
        let of = &page[16..];
        assert_eq!((word(of, 0), of[2], of[3]), (80, 1 << 7 | 1 << 4, 0));
        assert_eq!((of[4..8].to_vec(), word(of, 8), word(of, 10), of[12]), (vec![1, 0, 0, 0], 3, 2, 1));
        assert_eq!([64, 68, 72, 76].map(|at| of[at]), [kind, kind, kind, 0]);
        let unit = host.drive.machine().ftl().pages().reclaim_unit_bytes();
        assert_eq!((quad(of, 16), of[24..28].to_vec()), (unit, vec![0; 4]));
        let usage = group_log(&mut host, 0x21, 0, 32, GROUP).expect("the use");
        assert_eq!((word(&usage, 0), [8, 16, 24].map(|at| usage[at])), (3, [1; 3]));
        let features = group_log(&mut host, 0x12, 0, 1024, 0).expect("the features");
        let of = |feature: usize| u32::from_le_bytes(features[4 * feature..4 * feature + 4].try_into().expect("4"));
        assert_eq!([0x1d, 0x1e, 0x06, 0x0d, 0x20].map(of), [1 | 1 << 23, 1 | 1 << 20, 1 | 1 << 21, 0, 0]);
        let effects = host.log(5, 4096, 0).expect("the effects");
        assert_eq!([4 * 0x19, 4 * 0x1a, 1024 + 4 * 0x12, 1024 + 4 * 0x1d].map(|at| effects[at]), [1; 4]);
        // Only for the one endurance group.
        for log in [0x09, 0x20, 0x21, 0x22, 0x23] {
            for group in [0, 2 << 16] {
                assert_eq!(group_log(&mut host, log, 0, 64, group), Err(INVALID_FIELD), "log {log:#x}");
            }
        }
        assert_eq!(group_log(&mut host, 0x24, 0, 64, GROUP), Err(0x109));
    }
}

#[test]
fn placement_is_enabled_and_stays_so() {
    let mut host = placed("initial", &[]);
    assert_eq!((host.get_feature(0x1d, 1).result, host.get_feature(0x1d | 1 << 8, 1).result), (1, 1));
    assert_eq!(host.get_feature(0x1d | 3 << 8, 1).result, 4);
    assert_eq!(host.get_feature(0x1d, 2).status, INVALID_FIELD);
    assert_eq!(host.get_feature(0x1d | 5 << 8, 1).status, INVALID_FIELD);
    // nvme-cli also asks to save the value.
    for feature in [0x1d, 0x1d | 1 << 31] {
        assert_eq!(host.feature(feature, 1).status, 0x0c, "there are namespaces");
    }
    assert_eq!(host.feature(0x1d, 0).status, INVALID_FIELD);
    let directive = |opcode: u8, namespace: u32, bytes: u32, fields: u32| {
        let dwords = [bytes / 4 - 1, fields, 0, 0, 0, 0];
        Command { opcode, namespace, prp: [DATA, 0], dwords, ..Command::default() }
    };
    assert_eq!(host.admin(directive(0x1a, 1, 4096, 1)).status, 0);
    let parameters = host.load(DATA, 4096);
    assert_eq!([0, 32, 64, 1, 33, 65].map(|at| parameters[at]), [0b101, 0b101, 0b100, 0, 0, 0]);
    assert_eq!(host.admin(directive(0x1a, 1, 4096, 1 | 2 << 8)).status, INVALID_FIELD);
    assert_eq!(host.admin(directive(0x1a, 2, 4096, 1)).status, 0x0b);
    assert_eq!(host.admin(directive(0x19, 1, 4096, 1)).status, INVALID_FIELD);
    assert_eq!(host.admin(directive(0x19, ALL, 4096, 1)).status, 0x0b);
}

#[test]
fn placed_writes_go_to_the_reclaim_unit_of_their_handle() {
    let mut host = placed("persistent", &[]);
    let whole = host.drive.machine().ftl().pages().reclaim_unit_bytes() / 512;
    assert_eq!(left(&mut host), [whole; 3]);
    assert_eq!(write(&mut host, 0, 8, 2, 1).status, 0);
    assert_eq!(left(&mut host), [whole, whole - 64, whole]);
    assert_eq!(write(&mut host, 8, 16, 2, 2).status, 0);
    assert_eq!(write(&mut host, 24, 4, 0, 2).status, 0);
    assert_eq!(left(&mut host), [whole - 32, whole - 64, whole - 128]);
    host.flush();
    let handles: Vec<u64> =
        host.drive.machine().ftl().handle_stats().iter().map(|handle| handle.host_bytes / UNIT).collect();
    assert_eq!(handles, [4, 8, 16]);
    assert_eq!(host.read_blocks(64, 128).1, pattern(8, 16 * UNIT as usize));
    // Other directives are not enabled.
    for kind in [1, 3, 15] {
        assert_eq!(write(&mut host, 0, 1, kind, 1).status, INVALID_FIELD, "directive {kind}");
    }
    // A handle that does not exist is replaced by the first, whatever the event's state.
    assert_eq!(write(&mut host, 40, 1, 2, 3).status, 0);
    assert_eq!(host.drive.machine().ftl().handle_stats()[0].host_bytes, 5 * UNIT);
    assert_eq!(events(&mut host, true).len(), 0);
}

#[test]
fn the_status_is_sent_in_the_length_requested() {
    let mut host = placed("initial", &[]);
    host.store(DATA, &[0xee; 256]);
    assert_eq!(receive(&mut host, 1, 4, 1).status, 0);
    let header = host.load(DATA, 20);
    assert_eq!((word(&header, 14), &header[16..]), (3, &[0xee; 4][..]));
    assert_eq!(receive(&mut host, 1, 40, 1).status, 0);
    assert_eq!(host.load(DATA + 112, 48), [0; 48], "zeros after the last handle");
    for (operation, dwords, namespace, status) in [
        (0, 4, 1, 0),
        (2, 4, 1, INVALID_FIELD),
        (0xff, 4, 1, INVALID_FIELD),
        (1, 0x1_0000, 1, INVALID_FIELD),
        (1, 4, 0, 0x0b),
        (1, 4, ALL, 0x0b),
    ] {
        assert_eq!(receive(&mut host, operation, dwords, namespace).status, status, "{operation} {namespace:#x}");
    }
    let outside =
        Command { opcode: 0x12, namespace: 1, prp: [1 << 40, 0], dwords: [1, 3, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.run(1, outside).status, 0x04);
    // Data of an SGL.
    let list = Command { flags: 1 << 6, prp: [DATA + 0x100, 16], ..outside };
    assert_eq!(host.run(1, list).status, 0);
    assert_eq!(word(&host.load(DATA + 0x100, 16), 14), 3);
}

#[test]
fn an_update_makes_handles_write_to_empty_reclaim_units() {
    let mut host = placed("persistent", &[]);
    let whole = host.drive.machine().ftl().pages().reclaim_unit_bytes() / 512;
    assert_eq!(set_events(&mut host, 1, 1, &[0], true), 0);
    for handle in 0..3 {
        assert_eq!(write(&mut host, u64::from(handle) * 16, 5, 2, handle).status, 0);
    }
    assert_eq!(update(&mut host, &[1, 2, 1]), 0);
    let now = left(&mut host);
    assert_eq!(now[1..], [whole, whole]);
    assert!(now[0] < whole, "{now:?}");
    // The event is enabled for handle 1 only.
    let events_found = events(&mut host, true);
    assert_eq!(events_found.len(), 1);
    let event = &events_found[0];
    assert_eq!((event[0], event[1], word(event, 2), event[12], event[34]), (0, 0b111, 1, 1, 1));
    // Another update of empty reclaim units is none.
    assert_eq!(update(&mut host, &[1]), 0);
    assert_eq!((left(&mut host)[1], events(&mut host, true).len()), (whole, 1));
    // The data is where it was, also after a power cut: the update wrote the cache out.
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    for handle in 0..3u64 {
        assert_eq!(host.read_blocks(handle * 128, 40).1, pattern(handle * 16, 5 * UNIT as usize));
    }
    for (list, status) in [(vec![3], INVALID_FIELD), (vec![0, 7], INVALID_FIELD), (vec![0; 4], INVALID_FIELD)] {
        assert_eq!(update(&mut host, &list), status, "{list:?}");
    }
    let send = |operation: u32, namespace: u32, prp: u64| {
        let dwords = [operation, 0, 0, 0, 0, 0];
        Command { opcode: 0x1d, namespace, prp: [prp, 0], dwords, ..Command::default() }
    };
    for (command, status) in [
        (send(0, 1, DATA), 0),
        (send(2, 1, DATA), INVALID_FIELD),
        (send(1, 2, DATA), 0x0b),
        (send(1, ALL, DATA), 0x0b),
        (send(1, 1, 1 << 40), 0x04),
    ] {
        assert_eq!(host.run(1, command).status, status, "{command:?}");
    }
}

#[test]
fn statistics_are_those_of_the_drive_and_outlive_power() {
    let mut host = placed("persistent", &[]);
    let capacity = quad(&host.identify(0, 1), 0) / 8;
    for i in 0..3 * capacity / 16 {
        let unit = i * 16 % (capacity / 16 * 16);
        assert_eq!(write(&mut host, unit, 16, 2, (i % 3) as u32).status, 0);
    }
    host.flush();
    let bytes = host.drive.machine().placement_bytes();
    let before = statistics(&mut host);
    assert_eq!(before, [bytes.host, bytes.media, bytes.erased]);
    assert_eq!(before[0], 3 * capacity / 16 * 16 * UNIT);
    assert!(before[1] >= before[0] && before[2] > 0, "{before:?}");
    let group = group_log(&mut host, 0x09, 0, 512, GROUP).expect("the endurance group");
    assert_eq!((group[3], group[4], quad(&group, 160)), (100, 10, capacity * UNIT));
    assert_eq!(
        (quad(&group, 64), quad(&group, 80)),
        (before[0].div_ceil(1_000_000_000), before[1].div_ceil(1_000_000_000))
    );
    assert_eq!(quad(&group, 112), 3 * capacity / 16);
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!(statistics(&mut host), before);
    assert_eq!(write(&mut host, 0, 1, 2, 1).status, 0);
    assert_eq!(statistics(&mut host)[0], before[0] + UNIT);
    // The controller's saved state has them, for a drive whose flash is in a file.
    let before = statistics(&mut host);
    let saved = |_: &Parts, store| {
        Ok::<_, DriveError>(Flash { store, mirror: None, state: Some(host.drive.state_text()), save: None })
    };
    let ram = Ram::new(support::MEMORY);
    let drive = Drive::with_flash(&with_handles("persistent", &[]), &Options::default(), Box::new(ram.clone()), saved);
    let mut host = Host::over(drive.expect("the state of such a drive"), ram, Time::ZERO);
    host.attach(1);
    assert_eq!(statistics(&mut host), before);
}

#[test]
fn events_are_recorded_if_enabled() {
    let mut host = placed("initial", &[]);
    // Get Features lists the types, disabled.
    let list = |host: &mut Host, fields: u32| {
        let dwords = [0x1e, fields, 0, 0, 0, 0];
        let done = host.admin(Command { opcode: 10, namespace: 1, prp: [DATA, 0], dwords, ..Command::default() });
        (done.status, done.result, host.load(DATA, 10))
    };
    assert_eq!(list(&mut host, 5 << 16), (0, 4, vec![0, 0, 3, 0, 0x80, 0, 0x81, 0, 0, 0]));
    assert_eq!(set_events(&mut host, 1, 0, &[3, 0x80], true), 0);
    assert_eq!(set_events(&mut host, 1, 0, &[0x80], false), 0);
    assert_eq!(list(&mut host, 4 << 16).2[..8], [0, 0, 3, 1, 0x80, 0, 0x81, 0]);
    assert_eq!(list(&mut host, 1 | 4 << 16).2[..8], [0, 0, 3, 0, 0x80, 0, 0x81, 0], "another handle");
    assert_eq!(list(&mut host, 3 | 4 << 16).0, INVALID_FIELD);
    for (namespace, handle, types, status) in [
        (1, 3, &[0][..], INVALID_FIELD),
        (1, 0, &[1], INVALID_FIELD),
        (1, 0, &[0, 0xf0], INVALID_FIELD),
        (0, 0, &[0], 0x0b),
        (ALL, 0, &[0], 0x0b),
        (1, 0, &[], 0),
    ] {
        assert_eq!(set_events(&mut host, namespace, handle, types, true), status, "{namespace:#x} {handle} {types:?}");
    }
    host.store(DATA, &1_000_000u64.to_le_bytes());
    assert_eq!(host.feature(0x0e, 0).status, 0);
    host.wait(Time::from_ms(40));
    for identifier in 0..70 {
        assert_eq!(write(&mut host, 0, 1, 2, 100 + identifier).status, 0);
    }
    let found = events(&mut host, true);
    assert_eq!(found.len(), 63, "the oldest are dropped");
    assert_eq!((found[0][0], found[0][1], word(&found[0], 2), found[0][12]), (3, 0b111, 107, 1));
    assert_eq!(word(&found[62], 2), 169);
    let stamp = quad(&found[0], 4);
    assert!((1_000_040..1_000_200).contains(&(stamp & 0xffff_ffff_ffff)) && stamp >> 48 == 2, "{stamp:#x}");
    assert!(events(&mut host, false).is_empty());
    // A reset disables events, and keeps those recorded.
    host.attach(1);
    assert_eq!(write(&mut host, 0, 1, 2, 9).status, 0);
    assert_eq!((events(&mut host, true).len(), list(&mut host, 2 << 16).2[..4].to_vec()), (63, vec![0, 0, 3, 0]));
}

/// Overwrites the drive with a hot and a cold part through handles 1 and 2 until collection has moved data of both.
fn mix(host: &mut Host) {
    let capacity = quad(&host.identify(0, 1), 0) / 8;
    for i in 0..6 * capacity / 4 {
        let unit = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let (unit, handle) = if i % 4 == 0 { (unit % (capacity / 2), 1) } else { (capacity / 2 + unit % 64, 2) };
        assert_eq!(write(host, unit.min(capacity - 4), 4, 2, handle).status, 0);
    }
}

#[test]
fn collection_of_initially_isolated_handles_is_an_event() {
    let mut host = placed("initial", &[]);
    assert_eq!(set_events(&mut host, 1, 1, &[0x80], true), 0);
    mix(&mut host);
    let moved = host.drive.machine().ftl().handle_stats()[1].programmed_copy * UNIT / 512;
    let found = events(&mut host, false);
    assert!(!found.is_empty() && moved > 0);
    let mut sum = 0;
    for event in &found {
        assert_eq!((event[0], event[1], word(event, 2), event[34], event[16]), (0x80, 0b101, 1, 1, 0));
        sum += u64::from(word(event, 18));
    }
    assert!(sum > 0 && (found.len() == 63 || sum <= moved), "{sum} blocks in events, {moved} moved");
    // Data of persistently isolated handles stays in its handle's reclaim units.
    let mut host = placed("persistent", &[]);
    assert_eq!(set_events(&mut host, 1, 1, &[0x80], true), 0);
    mix(&mut host);
    assert!(host.drive.machine().ftl().handle_stats()[1].programmed_copy > 0);
    assert!(events(&mut host, false).is_empty());
}

#[test]
fn a_failed_program_that_closes_a_block_is_an_event() {
    let mut host = placed("persistent", &[("flash.failures.program", "0.002"), ("ftl.group", "plane")]);
    for handle in 0..3 {
        assert_eq!(set_events(&mut host, 1, handle, &[0x81], true), 0);
    }
    mix(&mut host);
    let found = events(&mut host, false);
    let failures = host.drive.machine().ftl().stats().failures;
    assert!(!found.is_empty() && found.len() as u64 <= failures, "{} events, {failures} failures", found.len());
    for event in &found {
        assert_eq!((event[0], event[1], u16::from(event[34])), (0x81, 0b101, word(event, 2)));
    }
}

#[test]
fn namespaces_share_the_handles() {
    let options = Options {
        namespaces: vec![
            NamespaceConfig { bytes: 1 << 20, block: 512 },
            NamespaceConfig { bytes: 1 << 20, block: 4096 },
        ],
        ..Options::default()
    };
    let sets = [("ftl.placement.isolation", "initial"), ("ftl.placement.handles", "2"), ("flash.blocks", "60")];
    let mut host = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &options);
    let mut available = |namespace: u32| {
        assert_eq!(receive(&mut host, 1, 12, namespace).status, 0);
        quad(&host.load(DATA, 48), 24)
    };
    assert_eq!(available(1), 8 * available(2));
    assert_eq!([1, 2].map(|namespace| word(&host.identify(0, namespace), 102)), [1, 1]);
}

/// The write amplification of two circular logs, one overwritten eight times as often, through handles 1 and `second`.
fn amplification(second: u32) -> f64 {
    let mut host = placed("persistent", &[("ftl.over_provisioning", "0.2"), ("flash.blocks", "80")]);
    let half = quad(&host.identify(0, 1), 0) / 8 / 2 / 8 * 8;
    let (mut hot, mut cold) = (0, 0);
    let mut write_both = |host: &mut Host, rounds: u64| {
        for _ in 0..rounds {
            for _ in 0..8 {
                assert_eq!(write(host, hot, 8, 2, 1).status, 0);
                hot = (hot + 8) % half;
            }
            assert_eq!(write(host, half + cold, 8, 2, second).status, 0);
            cold = (cold + 8) % half;
        }
    };
    write_both(&mut host, half / 8);
    let before = statistics(&mut host);
    write_both(&mut host, half / 16);
    let after = statistics(&mut host);
    (after[1] - before[1]) as f64 / (after[0] - before[0]) as f64
}

#[test]
fn writers_of_different_rates_cost_less_through_two_handles() {
    let (one, two) = (amplification(1), amplification(2));
    println!("one handle {one:.3}, two {two:.3}");
    assert!(two < 1.05 && one > two + 0.1, "one handle {one:.3}, two {two:.3}");
}
