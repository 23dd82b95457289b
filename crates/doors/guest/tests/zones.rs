//! A zoned namespace at the registers: what a host finds, writes, appends and resets, how long that takes, and what a power
//! cut leaves.

mod support;

use guest::{Blocks, Drive, DriveError, NamespaceConfig, Options, Ram};
use media::{Op, Request};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::{Completion, Machine};
use support::{Command, DATA, Done, Host, SMALL, ZONED, pattern, system};
use system::parts::Parts;

/// Logical blocks of a zone, and those that can be written.
const SIZE: u64 = 2048;
const CAPACITY: u64 = 1536;
/// Blocks of the drive.
const BLOCKS: u64 = 8 * SIZE;
/// Bytes of a logical block.
const BLOCK: u64 = 4096;
/// Zone send actions.
const CLOSE: u32 = 1;
const FINISH: u32 = 2;
const OPEN: u32 = 3;
const RESET: u32 = 4;
const OFFLINE: u32 = 5;
/// States of zones in a descriptor.
const EMPTY: u8 = 0x1;
const IMPLICITLY_OPEN: u8 = 0x2;
const EXPLICITLY_OPEN: u8 = 0x3;
const CLOSED: u8 = 0x4;
const FULL: u8 = 0xe;

fn drive(sets: &[(&str, &str)]) -> Host {
    Host::attached(&system("", &[&ZONED[..], sets].concat()), &Options::default())
}

fn write(host: &mut Host, opcode: u8, lba: u64, data: &[u8]) -> Done {
    host.store(DATA, data);
    let command = host.transfer(opcode, lba, (data.len() as u64 / BLOCK) as u32, BLOCK);
    host.run(1, command)
}

fn append(host: &mut Host, zone: u64, data: &[u8]) -> Done {
    write(host, 0x7d, zone * SIZE, data)
}

fn read(host: &mut Host, lba: u64, blocks: u64) -> Vec<u8> {
    host.store(DATA, &vec![0xee; (blocks * BLOCK) as usize]);
    let command = host.transfer(2, lba, blocks as u32, BLOCK);
    assert_eq!(host.run(1, command).status, 0, "read of {blocks} from {lba}");
    host.load(DATA, (blocks * BLOCK) as usize)
}

fn send_command(action: u32, lba: u64) -> Command {
    Command { opcode: 0x79, namespace: 1, dwords: [lba as u32, 0, 0, action, 0, 0], ..Command::default() }
}

fn send(host: &mut Host, action: u32, zone: u64) -> Done {
    host.run(1, send_command(action, zone * SIZE))
}

fn send_to_all(host: &mut Host, action: u32) -> u16 {
    host.run(1, send_command(action | 1 << 8, 0)).status
}

/// Requests a report into a buffer of `bytes` bytes, with dword 13 as given.
fn receive(host: &mut Host, lba: u64, bytes: u32, fields: u32) -> Result<Vec<u8>, u16> {
    let prp = host.prps(DATA, u64::from(bytes));
    let dwords = [lba as u32, 0, bytes / 4 - 1, fields, 0, 0];
    let done = host.run(1, Command { opcode: 0x7a, namespace: 1, prp, dwords, ..Command::default() });
    if done.status == 0 { Ok(host.load(DATA, bytes as usize)) } else { Err(done.status) }
}

fn quad(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Returns state and write pointer, relative to the zone's start, of every zone.
fn zones(host: &mut Host) -> Vec<(u8, u64)> {
    let report = receive(host, 0, 64 * 9, 0).expect("a report");
    assert_eq!(quad(&report, 0), 8);
    let zone = |number: usize| {
        let bytes = &report[64 + 64 * number..][..64];
        let start = number as u64 * SIZE;
        assert_eq!((bytes[0], quad(bytes, 8), quad(bytes, 16)), (2, CAPACITY, start), "zone {number}");
        (bytes[1] >> 4, quad(bytes, 24).wrapping_sub(start))
    };
    (0..8).map(zone).collect()
}

#[test]
fn a_host_finds_a_zoned_namespace_when_it_chooses_all_command_sets() {
    let mut host = drive(&[]);
    assert_eq!(host.read64(0) >> 37 & 0xff, 1 | 1 << 6, "CAP.CSS");
    // Command sets, namespaces of each, and the namespace's own.
    assert_eq!(quad(&host.identify(0x1c, 0), 0), 0b101);
    let identify = |host: &mut Host, cns: u32, namespace: u32, set: u32| {
        let dwords = [cns, set << 24, 0, 0, 0, 0];
        let done = host.admin(Command { opcode: 6, namespace, prp: [DATA, 0], dwords, ..Command::default() });
        if done.status == 0 { Ok(host.load(DATA, 4096)) } else { Err(done.status) }
    };
    assert_eq!(identify(&mut host, 7, 0, 0).expect("a list")[..4], [0; 4]);
    assert_eq!(identify(&mut host, 7, 0, 2).expect("a list")[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(host.identify(3, 1)[20..25], [4, 1, 0, 0, 2], "the descriptor of its command set");
    // Its size, and the only format: blocks of 4 KiB.
    let namespace = host.identify(0, 1);
    assert_eq!((quad(&namespace, 0), quad(&namespace, 8), namespace[25]), (BLOCKS, BLOCKS, 0));
    assert_eq!(namespace[128..132], [0, 0, 12, 0]);
    let zoned = identify(&mut host, 5, 1, 2).expect("the zoned data structure");
    let word = |at: usize| u32::from_le_bytes(zoned[at..at + 4].try_into().expect("four bytes"));
    // ZOC and OZCS, MAR, MOR, zone size, descriptor extensions.
    assert_eq!((word(0), word(4), word(8)), (1 << 16, 3, 2));
    assert_eq!((quad(&zoned, 2816), zoned[2824]), (SIZE, 0));
    assert_eq!(identify(&mut host, 5, 1, 0), Ok(vec![0; 4096]));
    assert_eq!(identify(&mut host, 6, 0, 2).expect("the zoned controller")[0], 0, "ZASL");
    assert_eq!(identify(&mut host, 8, 1, 0).expect("the common data structure")[14], 1, "NSTAT");
    for (cns, namespace, set, status) in [(5, 2, 2, 0x0b), (5, 1, 1, 0x02), (6, 0, 3, 0x02), (9, 0, 0, 0x02)] {
        assert_eq!(identify(&mut host, cns, namespace, set), Err(status), "{cns} of {namespace}, set {set}");
    }
    // Write Zeroes is not offered; appends and zone management are commands of the zoned set alone.
    assert_eq!(host.identify(1, 0)[520] >> 3 & 1, 0, "ONCS");
    let effects = |host: &mut Host, set: u32| {
        let dwords = [5 | 1023 << 16, 0, 0, 0, set << 24, 0];
        let command = Command { opcode: 2, namespace: u32::MAX, prp: [DATA, 0], dwords, ..Command::default() };
        assert_eq!(host.admin(command).status, 0);
        let log = host.load(DATA, 4096);
        [0x08, 0x79, 0x7a, 0x7d].map(|code| log[1024 + 4 * code])
    };
    assert_eq!([effects(&mut host, 0), effects(&mut host, 2)], [[0; 4], [0, 3, 1, 3]]);
    // The profile of command sets.
    assert_eq!(
        (host.get_feature(0x19, 0).status, host.feature(0x19, 0).status, host.feature(0x19, 1).status),
        (0, 0, 2)
    );
}

#[test]
fn a_host_that_chooses_the_nvm_command_set_alone_finds_no_namespace() {
    let mut host = Host::new(&system("", &ZONED), &Options::default());
    for (sets, status) in [(0b000u32, 1), (0b001, 2), (0b111, 2)] {
        host.disable();
        host.write32(0x24, 31 | 31 << 16);
        host.write64(0x28, 0x1000);
        host.write64(0x30, 0x2000);
        host.write32(0x14, 1 | sets << 4 | 6 << 16 | 4 << 20);
        host.wait(Time::from_ms(2));
        assert_eq!(host.csts() & 3, status, "CC.CSS {sets:#b}");
    }
    // As firmware does.
    host.disable();
    host.enable_with(0b000);
    assert_eq!(host.identify(2, 0)[..4], [0; 4], "no active namespace");
    assert_eq!(host.identify(0, 1), [0; 4096], "an inactive one");
    host.create_queues(1);
    let command = host.transfer(2, 0, 1, BLOCK);
    assert_eq!(host.run(1, command).status, 0x0b);
}

#[test]
fn writes_move_the_write_pointer_and_commands_change_states() {
    let mut host = drive(&[]);
    assert_eq!(zones(&mut host), [(EMPTY, 0); 8]);
    assert_eq!(write(&mut host, 1, 0, &pattern(1, 8192)).status, 0);
    assert_eq!(send(&mut host, OPEN, 1).status, 0);
    assert_eq!(write(&mut host, 1, 2 * SIZE, &pattern(2, 4096)).status, 0);
    assert_eq!(send(&mut host, CLOSE, 2).status, 0);
    let found = zones(&mut host);
    assert_eq!(found[..4], [(IMPLICITLY_OPEN, 2), (EXPLICITLY_OPEN, 0), (CLOSED, 1), (EMPTY, 0)]);
    assert_eq!(send(&mut host, FINISH, 0).status, 0);
    assert_eq!(zones(&mut host)[0].0, FULL);
    assert_eq!(read(&mut host, 0, 4), [pattern(1, 8192), vec![0; 8192]].concat(), "zeros follow the data");
    assert_eq!(send(&mut host, RESET, 0).status, 0);
    assert_eq!(zones(&mut host)[0], (EMPTY, 0));
    assert_eq!(read(&mut host, 0, 2), [0; 8192], "a zone that was reset");
    // Written to its capacity, a zone is full. Reads may cross zones.
    for at in (0..CAPACITY).step_by(16) {
        assert_eq!(write(&mut host, 1, 3 * SIZE + at, &pattern(at, 65536)).status, 0);
    }
    assert_eq!(zones(&mut host)[3].0, FULL);
    assert_eq!(read(&mut host, 3 * SIZE + CAPACITY - 16, 16), pattern(CAPACITY - 16, 65536));
    assert_eq!(read(&mut host, 3 * SIZE - 4, 8), [vec![0; 16384], pattern(0, 65536)[..16384].to_vec()].concat());
    // All zones at once.
    assert_eq!(send_to_all(&mut host, CLOSE), 0);
    assert_eq!(zones(&mut host)[..4].iter().map(|zone| zone.0).collect::<Vec<_>>(), [EMPTY, CLOSED, CLOSED, FULL]);
    assert_eq!(send_to_all(&mut host, OPEN), 0);
    assert_eq!(zones(&mut host)[1].0, EXPLICITLY_OPEN);
    assert_eq!(send_to_all(&mut host, FINISH), 0);
    assert_eq!(zones(&mut host)[..4].iter().map(|zone| zone.0).collect::<Vec<_>>(), [EMPTY, FULL, FULL, FULL]);
    assert_eq!(send_to_all(&mut host, OFFLINE), 0);
    assert_eq!(send_to_all(&mut host, RESET), 0);
    assert_eq!(zones(&mut host), [(EMPTY, 0); 8]);
}

#[test]
fn refused_commands_end_with_the_status_of_their_mistake() {
    let mut host = drive(&[]);
    assert_eq!(write(&mut host, 1, 0, &pattern(1, 8192)).status, 0);
    let data = pattern(1, 4096);
    // Zone Invalid Write; Zone Boundary Error; LBA Out of Range; Invalid Field.
    assert_eq!(write(&mut host, 1, 1, &data).status, 0x1bc);
    assert_eq!(write(&mut host, 1, SIZE + 1, &data).status, 0x1bc);
    assert_eq!(write(&mut host, 1, BLOCKS, &data).status, 0x80);
    assert_eq!(append(&mut host, 8, &data).status, 0x80);
    assert_eq!(write(&mut host, 0x7d, 1, &data).status, 0x02);
    for at in (2..CAPACITY - 6).step_by(16).filter(|at| at + 16 <= CAPACITY) {
        assert_eq!(append(&mut host, 0, &pattern(at, 65536)).status, 0, "{at}");
    }
    assert_eq!(append(&mut host, 0, &pattern(0, 65536)).status, 0x1b8);
    assert_eq!(zones(&mut host)[0].0, IMPLICITLY_OPEN, "nothing was written");
    assert_eq!(send(&mut host, FINISH, 0).status, 0);
    // Zone Is Full; Invalid Zone State Transition.
    assert_eq!(append(&mut host, 0, &data).status, 0x1b9);
    assert_eq!(write(&mut host, 1, CAPACITY - 2, &data).status, 0x1b9);
    for action in [OPEN, CLOSE, OFFLINE] {
        assert_eq!(send(&mut host, action, 0).status, 0x1bf, "{action}");
    }
    assert_eq!(send(&mut host, FINISH, 0).status, 0);
    // Too Many Open Zones, then Too Many Active Zones.
    for zone in 1..=3 {
        assert_eq!(send(&mut host, OPEN, zone).status, 0);
    }
    assert_eq!(append(&mut host, 4, &data).status, 0x1be);
    assert_eq!(append(&mut host, 1, &data).status, 0);
    assert_eq!(send(&mut host, CLOSE, 1).status, 0);
    assert_eq!(append(&mut host, 4, &data).status, 0);
    assert_eq!(send(&mut host, OPEN, 5).status, 0x1bd);
    // Fields.
    for (command, status) in [
        (send_command(RESET, 1), 0x02),
        (send_command(RESET, BLOCKS), 0x80),
        (send_command(0, 0), 0x02),
        (send_command(0x10, 0), 0x02),
        (Command { namespace: 2, ..send_command(RESET, 0) }, 0x0b),
        (Command { opcode: 8, namespace: 1, ..Command::default() }, 0x01),
        (
            Command { opcode: 0x7d, namespace: 1, prp: [DATA, 0], dwords: [0, 0, 999, 0, 0, 0], ..Command::default() },
            0x02,
        ),
    ] {
        assert_eq!(host.run(1, command).status, status, "{command:x?}");
    }
    for (lba, bytes, fields, status) in
        [(BLOCKS, 128, 0, 0x80), (0, 60, 0, 0x02), (0, 128, 1, 0x02), (0, 128, 8 << 8, 0x02), (0, 1 << 20, 0, 0x02)]
    {
        assert_eq!(receive_raw(&mut host, lba, bytes, fields), status, "{bytes} bytes from {lba}, {fields:#x}");
    }
    // A conventional drive has none of these commands.
    let mut plain = Host::attached(&system("", &SMALL), &Options::default());
    assert_eq!(plain.read64(0) >> 37 & 0xff, 1);
    assert_eq!(plain.run(1, send_command(RESET, 0)).status, 0x01);
    assert_eq!(plain.try_identify(5, 1).status, 0x02);
    assert_eq!(plain.feature(0x19, 0).status, 0x02);
}

fn receive_raw(host: &mut Host, lba: u64, bytes: u32, fields: u32) -> u16 {
    let dwords = [lba as u32, 0, bytes / 4 - 1, fields, 0, 0];
    host.run(1, Command { opcode: 0x7a, namespace: 1, prp: [DATA, DATA], dwords, ..Command::default() }).status
}

#[test]
fn a_report_has_the_zones_that_the_host_selects_and_has_room_for() {
    let mut host = drive(&[]);
    for zone in [1, 5] {
        assert_eq!(append(&mut host, zone, &pattern(zone, 4096)).status, 0);
    }
    let starts =
        |report: &[u8], count: usize| (0..count).map(|i| quad(report, 64 + 64 * i + 16) / SIZE).collect::<Vec<_>>();
    // Room for two: all are counted, or with a partial report those that are listed.
    let report = receive(&mut host, 2 * SIZE + 7, 64 * 3 + 32, 0).expect("a report");
    assert_eq!((quad(&report, 0), starts(&report, 2)), (6, vec![2, 3]));
    assert_eq!(report[192..], [0; 32], "half a descriptor is none");
    let report = receive(&mut host, 0, 64 * 3, 1 << 16).expect("a report");
    assert_eq!((quad(&report, 0), starts(&report, 2)), (2, vec![0, 1]));
    let report = receive(&mut host, 0, 64 * 6, 2 << 8).expect("a report");
    assert_eq!((quad(&report, 0), starts(&report, 2)), (2, vec![1, 5]));
    assert_eq!(report[192..], [0; 192]);
    let report = receive(&mut host, 2 * SIZE, 64 * 6, 2 << 8 | 1 << 16).expect("a report");
    assert_eq!((quad(&report, 0), starts(&report, 1)), (1, vec![5]));
    assert_eq!(quad(&receive(&mut host, 0, 64, 5 << 8).expect("a report"), 0), 0);
    assert_eq!(quad(&receive(&mut host, 0, 64, 1 << 8).expect("a report"), 0), 6, "no room, but counted");
}

#[test]
fn appends_at_once_go_to_places_of_their_own_and_report_them() {
    let mut host = drive(&[]);
    let commands: Vec<Command> = (0..24u64)
        .map(|i| {
            host.store(DATA + i * BLOCK, &pattern(i, BLOCK as usize));
            let dwords = [(i % 3 * SIZE) as u32, 0, 0, 0, 0, 0];
            Command { opcode: 0x7d, namespace: 1, prp: [DATA + i * BLOCK, 0], dwords, ..Command::default() }
        })
        .collect();
    let cids = host.submit(1, &commands);
    let mut places = vec![0; 24];
    for _ in 0..24 {
        let done = host.reap(1);
        assert_eq!(done.status, 0);
        places[cids.iter().position(|cid| *cid == done.cid).expect("one of them")] = u64::from(done.result);
    }
    let mut sorted = places.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..24).map(|i| i / 8 * SIZE + i % 8).collect::<Vec<_>>());
    for (i, place) in (0..).zip(places) {
        assert_eq!((place / SIZE, read(&mut host, place, 1)), (i % 3, pattern(i, BLOCK as usize)), "append {i}");
    }
}

#[test]
fn zone_commands_take_as_long_as_in_a_simulated_run() {
    let sets = [
        ("host.submit", "0ns"),
        ("host.complete", "0ns"),
        ("host.completion", "interrupt"),
        ("host.interrupt.delivery", "0ns"),
        ("host.interrupt.handler", "0ns"),
        ("flash.blocks", "60"),
        ("flash.pages", "128"),
        ("device.zones.size", "64MiB"),
        ("device.zones.capacity", "48MiB"),
        ("device.zones.count", "16"),
    ];
    let system = system("wd-zn540", &sets);
    let mut host = Host::attached(&system, &Options::default());
    let parts = Parts::new(&system, PayloadKind::None).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::erased(&parts, &Streams::new(1)).expect("parts that fit together");
    let zone = 64u64 << 20;
    let manage = |op: Op, number: u64| Request::new(op, number * zone, zone);
    let mut requests = Vec::new();
    for number in 0..3 {
        requests.push(manage(Op::ZoneOpen, number));
        requests.extend((0..8).map(|i| Request::new(Op::Write, number * zone + i * 65536, 65536)));
        requests.extend((0..8).map(|i| Request::new(Op::Append, number * zone, 4096 << (i % 4))));
        requests.push(Request::flush());
        requests.extend((0..8).map(|i| Request::new(Op::Read, number * zone + i * 61440, 4096)));
        requests.push(manage(Op::ZoneClose, number));
    }
    requests.extend([manage(Op::ZoneFinish, 0), manage(Op::ZoneFinish, 0), manage(Op::ZoneReset, 0)]);
    requests.extend([manage(Op::ZoneReset, 1), manage(Op::ZoneReset, 7), Request::new(Op::ZoneReset, 0, 16 * zone)]);
    for (i, request) in requests.into_iter().enumerate() {
        host.wait(Time::from_us(500));
        let at = host.now;
        let (lba, blocks) = (request.offset / BLOCK, (request.bytes / BLOCK) as u32);
        let command = match request.op {
            Op::Read => host.transfer(2, lba, blocks, BLOCK),
            Op::Write => host.transfer(1, lba, blocks, BLOCK),
            Op::Append => host.transfer(0x7d, lba, blocks, BLOCK),
            Op::Flush => Command { namespace: 1, ..Command::default() },
            op => {
                let action = [OPEN, CLOSE, FINISH, RESET][op as usize - Op::ZoneOpen as usize];
                send_command(action | u32::from(request.bytes > zone) << 8, lba)
            }
        };
        let done = host.run(1, command);
        assert_eq!(done.status, 0, "request {i}: {request:?}");
        let mut ends: Vec<Completion> = Vec::new();
        machine.advance(at, &mut ends);
        machine.submit(at, 0, 0, request);
        while ends.is_empty() {
            machine.advance(Time::MAX, &mut ends);
        }
        assert_eq!((ends[0].status, done.latency), (media::Status::Ok, ends[0].at - at), "request {i}: {request:?}");
    }
}

#[test]
fn a_power_cut_leaves_write_pointers_that_agree_with_the_data() {
    for protected in ["false", "true"] {
        let mut host = drive(&[("device.power_loss_protection", protected)]);
        for turn in 0..12u64 {
            let mut written = zones(&mut host)[0].1;
            let before = written;
            for i in 0..4 + turn % 5 {
                let data = pattern(written, (1 + (turn + i) % 7) as usize * 4096);
                assert_eq!(append(&mut host, 0, &data).status, 0);
                written += data.len() as u64 / BLOCK;
                if i == turn % 4 {
                    assert_eq!(host.flush().status, 0);
                }
            }
            let durable = if turn % 3 == 0 { host.flush().status } else { 1 } == 0;
            // Reset durably, then written again.
            assert_eq!(append(&mut host, 1, &pattern(turn, 8192)).status, 0);
            assert_eq!(send(&mut host, RESET, 1).status, 0);
            assert_eq!(append(&mut host, 2, &pattern(turn, 8192)).status, 0);
            assert_eq!(send(&mut host, FINISH, 2).status, 0);
            host.cut_power();
            host.attach(1);
            let found = zones(&mut host);
            let (state, pointer) = found[0];
            assert!(state == CLOSED && (before..=written).contains(&pointer), "turn {turn}: {found:?}");
            assert!(pointer == written || !(durable || protected == "true"), "turn {turn}: {pointer} of {written}");
            assert_eq!((found[1], found[2].0), ((EMPTY, 0), FULL), "turn {turn}");
            assert_eq!(read(&mut host, 2 * SIZE, 2), pattern(turn, 8192));
            assert_eq!(read(&mut host, SIZE, 2), [0; 8192]);
            assert_eq!(send(&mut host, RESET, 2).status, 0);
            // The next append continues there, and nothing follows it.
            assert_eq!(read(&mut host, pointer, 8), [0; 32768], "turn {turn}");
            assert_eq!(u64::from(append(&mut host, 0, &pattern(9, 4096)).result), pointer);
            assert_eq!(read(&mut host, pointer, 2), [pattern(9, 4096), vec![0; 4096]].concat());
            assert_eq!(send(&mut host, RESET, 0).status, 0);
        }
    }
}

#[test]
fn every_unit_below_the_write_pointer_is_what_was_written_there() {
    let mut host = drive(&[]);
    let mut units: Vec<Vec<u8>> = Vec::new();
    for turn in 0..30u64 {
        for i in 0..1 + turn % 9 {
            let data = pattern(100 * turn + i, (1 + (turn * 3 + i) % 11) as usize * 4096);
            let done = append(&mut host, 4, &data);
            assert_eq!((done.status, u64::from(done.result)), (0, 4 * SIZE + units.len() as u64));
            units.extend(data.chunks(4096).map(<[u8]>::to_vec));
            if i == turn % 4 {
                assert_eq!(host.flush().status, 0);
            }
        }
        host.cut_power();
        host.attach(1);
        let pointer = zones(&mut host)[4].1 as usize;
        assert!(pointer <= units.len());
        units.truncate(pointer);
        for (at, unit) in (0u64..).zip(&units) {
            assert_eq!(&read(&mut host, 4 * SIZE + at, 1), unit, "unit {at} after cut {turn}");
        }
    }
    assert!(units.len() > 100, "only {} units survived", units.len());
}

#[test]
fn a_reset_of_the_controller_keeps_acknowledged_data() {
    let mut host = drive(&[]);
    let data = pattern(5, 12288);
    assert_eq!(append(&mut host, 6, &data).status, 0);
    // Another append is under way.
    let command = host.transfer(0x7d, 6 * SIZE, 16, BLOCK);
    host.submit(1, &[command]);
    host.attach(1);
    let pointer = zones(&mut host)[6].1;
    assert!(pointer == 3 || pointer == 19, "{pointer}");
    assert_eq!(read(&mut host, 6 * SIZE, 3), data);
    let done = append(&mut host, 6, &data);
    assert_eq!((done.status, u64::from(done.result)), (0, 6 * SIZE + pointer));
}

#[test]
fn format_and_sanitize_empty_all_zones() {
    let mut host = drive(&[]);
    for command in [
        Command { opcode: 0x80, namespace: 1, ..Command::default() },
        Command { opcode: 0x80, namespace: u32::MAX, dwords: [1 << 9, 0, 0, 0, 0, 0], ..Command::default() },
        Command { opcode: 0x84, dwords: [2, 0, 0, 0, 0, 0], ..Command::default() },
    ] {
        for zone in 0..3 {
            assert_eq!(append(&mut host, zone, &pattern(zone, 65536)).status, 0);
        }
        assert_eq!(send(&mut host, FINISH, 1).status, 0);
        assert_eq!(host.admin(command).status, 0, "{command:x?}");
        host.wait(Time::from_ms(2000));
        assert_eq!(zones(&mut host), [(EMPTY, 0); 8], "{command:x?}");
        assert_eq!(read(&mut host, SIZE, 16), [0; 65536]);
    }
    // There is one format.
    let format = Command { opcode: 0x80, namespace: 1, dwords: [1, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(format).status, 0x10a);
}

/// A drive with a conventional namespace of 16 MiB.
fn with_conventional(sets: &[(&str, &str)]) -> Host {
    drive(&[&[("device.zones.conventional", "16MiB")], sets].concat())
}

/// Writes or reads namespace 2, at a block of 4 KiB.
fn conventional(host: &mut Host, opcode: u8, lba: u64, blocks: u64) -> u16 {
    let command = host.transfer(opcode, lba, blocks as u32, BLOCK);
    host.run(1, Command { namespace: 2, ..command }).status
}

#[test]
fn a_conventional_namespace_is_written_in_any_order_next_to_the_zones() {
    let mut host = with_conventional(&[]);
    assert_eq!(host.identify(2, 0)[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(host.identify(3, 2)[20..25], [4, 1, 0, 0, 0], "the NVM command set");
    let namespace = host.identify(0, 2);
    assert_eq!((quad(&namespace, 0), namespace[25], namespace[26]), (4096, 1, 1), "blocks of 4 KiB, as the zones have");
    assert_eq!(host.identify(0, 1)[25..27], [0, 0]);
    for turn in 0..40u64 {
        let lba = turn * 1237 % 4080;
        host.store(DATA, &pattern(turn, 65536));
        assert_eq!(conventional(&mut host, 1, lba, 16), 0);
        assert_eq!(append(&mut host, turn % 3, &pattern(turn, 8192)).status, 0);
    }
    assert_eq!(host.run(1, Command { namespace: u32::MAX, ..Command::default() }).status, 0, "a flush of both");
    host.cut_power();
    host.attach(1);
    for turn in 0..40u64 {
        let last = (0..40u64).rev().find(|later| later * 1237 % 4080 == turn * 1237 % 4080);
        assert_eq!(last, Some(turn), "no write overwrites another's first block");
        assert_eq!(conventional(&mut host, 2, turn * 1237 % 4080, 1), 0);
        assert_eq!(host.load(DATA, 4096), pattern(turn, 4096), "write {turn}");
        assert_eq!(read(&mut host, turn % 3 * SIZE + turn / 3 * 2, 2), pattern(turn, 8192), "append {turn}");
    }
    // Zone commands, and the last block.
    assert_eq!(host.run(1, Command { namespace: 2, ..send_command(RESET, 0) }).status, 0x01);
    assert_eq!((conventional(&mut host, 2, 4095, 1), conventional(&mut host, 2, 4096, 1)), (0, 0x80));
    // Deallocated blocks read as zeros; a format of one namespace leaves the other.
    let range = [&0u32.to_le_bytes()[..], &16u32.to_le_bytes(), &1237u64.to_le_bytes()].concat();
    host.store(DATA, &range);
    let trim = Command { opcode: 9, namespace: 2, prp: [DATA, 0], dwords: [0, 4, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.run(1, trim).status, 0);
    assert_eq!(conventional(&mut host, 2, 1237, 1), 0);
    assert_eq!(host.load(DATA, 4096), [0; 4096]);
    let format = Command { opcode: 0x80, namespace: 2, dwords: [0, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(format).status, 0);
    assert_eq!(quad(&host.identify(0, 2), 0), 32768, "blocks of 512 bytes");
    assert_eq!(zones(&mut host)[0].0, CLOSED);
    assert_eq!(host.admin(Command { namespace: 1, ..format }).status, 0);
    assert_eq!(zones(&mut host), [(EMPTY, 0); 8]);
}

#[test]
fn a_conventional_namespace_that_is_overwritten_collects_and_keeps_flushed_data() {
    for protected in ["false", "true"] {
        let mut host = with_conventional(&[("device.power_loss_protection", protected)]);
        let mut versions = vec![0u64; 256];
        for turn in 1..2500u64 {
            let place = turn * 7919 % 256;
            host.store(DATA, &pattern(turn, 65536));
            assert_eq!(conventional(&mut host, 1, place * 16, 16), 0);
            versions[place as usize] = turn;
            if turn % 700 == 0 {
                assert_eq!(append(&mut host, 0, &pattern(turn, 4096)).status, 0);
                assert_eq!(host.run(1, Command { namespace: 2, ..Command::default() }).status, 0);
                host.cut_power();
                host.attach(1);
            }
        }
        assert!(host.drive.machine().ftl().stats().erases > 0);
        for (place, turn) in (0..).zip(&versions) {
            assert_eq!(conventional(&mut host, 2, place * 16, 16), 0);
            assert_eq!(host.load(DATA, 65536), pattern(*turn, 65536), "place {place}");
        }
    }
}

#[test]
fn drives_that_a_guest_cannot_use_are_refused() {
    let refused = |sets: &[(&str, &str)], namespaces: Vec<NamespaceConfig>| {
        let system = system("", &[&ZONED[..], sets].concat());
        let options = Options { namespaces, ..Options::default() };
        Drive::new(&system, &options, Box::new(Ram::new(1 << 20))).map(|_| ()).expect_err("no such drive").to_string()
    };
    assert_eq!(
        refused(&[("ftl.unit", "8KiB")], Vec::new()),
        "ftl.unit: found 8192 bytes, expected 512B or 4KiB, a logical block of a guest's zones"
    );
    let zones = "device.namespace: found zoned, expected conventional: zones need a host that knows them";
    assert_eq!(refused(&[], vec![NamespaceConfig { bytes: 4096, block: 4096 }]), zones);
    let blocks = Blocks::new(|memory| Drive::new(&system("", &ZONED), &Options::default(), memory));
    assert_eq!(blocks.map(|_| ()).map_err(|error: DriveError| error.to_string()), Err(zones.to_owned()));
}
