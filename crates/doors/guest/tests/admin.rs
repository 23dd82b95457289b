//! Admin commands one by one: queues, features, log pages, events, aborts, resets, format and sanitize.

mod support;

use guest::{NamespaceConfig, Options};
use sim::Time;
use support::{Command, DATA, ENTRIES, Host, SMALL, pattern, system};

fn host() -> Host {
    Host::attached(&system("", &SMALL), &Options::default())
}

const INVALID_FIELD: u16 = 0x02;

fn create(host: &mut Host, opcode: u8, size: u32, flags: u32, address: u64) -> u16 {
    let dwords = [size, flags, 0, 0, 0, 0];
    host.admin(Command { opcode, prp: [address, 0], dwords, ..Command::default() }).status
}

#[test]
fn queues_are_created_only_as_the_specification_allows() {
    let mut host = host();
    let size = |queue: u32, entries: u32| queue | (entries - 1) << 16;
    // Completion queues: identifier, size, vector, contiguity, alignment.
    for (size, flags, address, status) in [
        (size(0, 8), 1, 0x90_000, 0x101),
        (size(65, 8), 1, 0x90_000, 0x101),
        (size(1, 8), 1, 0x90_000, 0x101),
        (size(2, 1), 1, 0x90_000, 0x102),
        (size(2, 4097), 1, 0x90_000, 0x102),
        (size(2, 8), 0, 0x90_000, INVALID_FIELD),
        (size(2, 8), 3 | 65 << 16, 0x90_000, 0x108),
        (size(2, 8), 1, 0x90_010, 0x13),
        (size(2, 8), 1, 0x90_000, 0),
    ] {
        assert_eq!(create(&mut host, 5, size, flags, address), status, "{size:#x} {flags:#x} {address:#x}");
    }
    // Submission queues: the completion queue must exist.
    for (size, flags, status) in [
        (size(3, 8), 1 | 3 << 16, 0x100),
        (size(3, 8), 1, 0x100),
        (size(1, 8), 1 | 2 << 16, 0x101),
        (size(3, 8), 1 | 2 << 16, 0),
    ] {
        assert_eq!(create(&mut host, 1, size, flags, 0x20_000), status, "{size:#x} {flags:#x}");
    }
    // A completion queue in use is not deleted, nor a queue that does not exist.
    for (opcode, queue, status) in
        [(4, 2, 0x10c), (0, 9, 0x101), (4, 9, 0x101), (4, 0, 0x101), (0, 0, 0x101), (0, 3, 0), (4, 2, 0)]
    {
        let done = host.admin(Command { opcode, dwords: [queue, 0, 0, 0, 0, 0], ..Command::default() });
        assert_eq!(done.status, status, "delete {queue} with opcode {opcode}");
    }
}

#[test]
fn queues_of_every_size_wrap_around() {
    for entries in [2, 3, 64, 4096] {
        let mut host = host();
        let done = host.create_pair_at(2, None, entries, [0x200_000, 0x280_000]);
        assert_eq!(done.status, 0, "{entries} entries");
        let flush = Command { namespace: 1, ..Command::default() };
        for i in 0..2 * entries + 3 {
            let done = host.run(2, flush);
            assert_eq!((done.status, u32::from(done.sq_head)), (0, (i + 1) % entries), "command {i} of {entries}");
        }
    }
}

#[test]
fn interrupts_are_messages_by_the_function_s_own_table() {
    let options = Options { messages: true, ..Options::default() };
    let mut host = Host::new(&system("", &SMALL), &options);
    // Vector 0: address, data, not masked; then MSI-X is enabled in its capability.
    let entry = [0xfee0_0000u32, 0, 0x31, 0].map(u32::to_le_bytes).concat();
    host.drive.write(host.now, 0x2000, &entry);
    host.drive.write_config(0x42, &0x8000u16.to_le_bytes());
    host.disable();
    host.enable();
    host.submit(0, &[Command { opcode: 6, prp: [DATA, 0], dwords: [1, 0, 0, 0, 0, 0], ..Command::default() }]);
    host.wait(Time::from_ms(1));
    let message = guest::msix::Message { vector: 0, address: 0xfee0_0000, data: 0x31 };
    assert_eq!((host.drive.take_messages(), host.drive.take_interrupts()), (vec![message], vec![]));
    assert_eq!(host.peek(0).map(|done| done.status), Some(0));
    host.consume(0);
    // Masked, the vector is pending; the message follows when it is unmasked.
    host.drive.write(host.now, 0x200c, &1u32.to_le_bytes());
    host.submit(0, &[Command { opcode: 6, prp: [DATA, 0], dwords: [1, 0, 0, 0, 0, 0], ..Command::default() }]);
    host.wait(Time::from_ms(1));
    assert!(host.drive.take_messages().is_empty());
    assert_eq!(host.read64(0x3000), 1);
    host.drive.write(host.now, 0x200c, &0u32.to_le_bytes());
    assert_eq!((host.drive.take_messages(), host.read64(0x3000)), (vec![message], 0));
}

#[test]
fn two_submission_queues_share_a_completion_queue() {
    let mut host = Host::new(&system("", &SMALL), &Options::default());
    host.attach(2);
    // Queue 3 posts to completion queue 1.
    let size = 3 | 7 << 16;
    assert_eq!(create(&mut host, 1, size, 1 | 1 << 16, 0x30_000), 0);
    let data = pattern(5, 4096);
    host.store(DATA, &data);
    let write = host.transfer(1, 16, 8, 512);
    host.store(0x30_000, &write.bytes(77));
    host.write32(0x1000 + 24, 1);
    let done = host.reap(1);
    assert_eq!((done.cid, done.status, done.sq_head), (77, 0, 1));
    assert_eq!(host.read_blocks(16, 8).1, data);
}

#[test]
fn a_full_completion_queue_holds_completions_back() {
    let mut host = Host::attached(&system("", &SMALL), &Options::default());
    // A completion queue of two entries takes one at a time; eight commands wait for it.
    host.store(0x90_000, &[0; 4096]);
    assert_eq!(create(&mut host, 5, 2 | 1 << 16, 1, 0x90_000), 0);
    assert_eq!(create(&mut host, 1, 2 | 15 << 16, 1 | 2 << 16, 0x30_000), 0);
    for i in 0..8u16 {
        host.store(0x30_000 + 64 * u64::from(i), &Command { namespace: 1, ..Command::default() }.bytes(i));
    }
    host.write32(0x1000 + 16, 8);
    let (mut phase, mut head) = (1, 0u64);
    for i in 0..8u16 {
        host.wait(Time::from_ms(20));
        let entry = host.load(0x90_000 + 16 * head, 16);
        let word = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        assert_eq!((word(12), word(14)), (i, phase), "entry {i}");
        let other = host.load(0x90_000 + 16 * (1 - head), 16);
        assert_ne!(other[14] & 1 == 1, phase == 1 && head == 0 || phase == 0 && head == 1, "only one is there");
        head = 1 - head;
        phase = if head == 0 { 1 - phase } else { phase };
        host.write32(0x1000 + 20, head as u32);
    }
    // The admin queue was never held up.
    host.identify(1, 0);
}

#[test]
fn doorbells_of_no_queue_or_value_are_reported() {
    let mut host = host();
    // Three requests: two for events of different times, one to abort.
    let request = Command { opcode: 0xc, ..Command::default() };
    let cids = host.submit(0, &[request, request, request]);
    host.wait(Time::from_ms(1));
    assert_eq!(host.peek(0), None, "nothing has happened yet");
    host.write32(0x1000 + 8 * 9, 1);
    let done = host.reap(0);
    assert_eq!((done.cid, done.status, done.result), (cids[0], 0, 0x01_00_00));
    // No second event of the type until the error log was read.
    host.write32(0x1000 + 8, ENTRIES);
    host.wait(Time::from_ms(1));
    assert_eq!(host.peek(0), None);
    host.submit(
        0,
        &[Command { opcode: 2, prp: [DATA, 0], dwords: [1 | 15 << 16, 0, 0, 0, 0, 0], ..Command::default() }],
    );
    let first = host.reap(0);
    let second = host.reap(0);
    let event = if first.cid == cids[1] { first } else { second };
    assert_eq!((event.cid, event.status, event.result), (cids[1], 0, 0x01_01_00));
    // The queue still works.
    assert_eq!(host.flush().status, 0);
    // Abort the last request: its completion, and that of the abort.
    host.submit(0, &[Command { opcode: 8, dwords: [u32::from(cids[2]) << 16, 0, 0, 0, 0, 0], ..Command::default() }]);
    let (first, second) = (host.reap(0), host.reap(0));
    let (aborted, abort) = if first.cid == cids[2] { (first, second) } else { (second, first) };
    assert_eq!((aborted.cid, aborted.status), (cids[2], 0x07));
    assert_eq!((abort.status, abort.result), (0, 0), "the command was aborted");
    // A command that is not there cannot be aborted.
    let none = host.admin(Command { opcode: 8, dwords: [1 | 5 << 16, 0, 0, 0, 0, 0], ..Command::default() });
    assert_eq!((none.status, none.result), (0, 1));
}

#[test]
fn event_requests_have_a_limit_and_take_no_command_slots() {
    let mut host =
        Host::attached(&system("", &[&SMALL[..], &[("device.max_commands", "1")]].concat()), &Options::default());
    let request = Command { opcode: 0xc, ..Command::default() };
    let cids = host.submit(0, &[request; 5]);
    let done = host.reap(0);
    assert_eq!((done.cid, done.status), (cids[4], 0x105));
    assert_eq!(host.write_blocks(3, &pattern(1, 512)).status, 0);
    assert_eq!(host.read_blocks(3, 1).1, pattern(1, 512));
}

#[test]
fn features_keep_their_values_until_a_reset() {
    let mut host = host();
    for (feature, value) in
        [(0x01, 0x0304_0203), (0x02, 0), (0x04, 330), (0x05, 5), (0x06, 0), (0x08, 0x0103), (0x0a, 1), (0x0b, 0x100)]
    {
        let default = host.get_feature(feature | 1 << 8, 0);
        assert_eq!(host.feature(feature, value).status, 0, "{feature:#x}");
        let now = host.get_feature(feature, 0);
        assert_eq!((now.status, now.result), (0, value), "{feature:#x}");
        assert_eq!(host.get_feature(feature | 1 << 8, 0).result, default.result, "the default stays");
        assert_eq!(host.get_feature(feature | 3 << 8, 0).result, 4, "{feature:#x} can be changed");
        assert_eq!(host.feature(feature | 1 << 31, value).status, 0x10d, "{feature:#x} is not saved");
    }
    assert_eq!(host.feature(0x09, 2 | 1 << 16).status, 0);
    assert_eq!(host.get_feature(0x09, 2).result, 2 | 1 << 16);
    for (feature, value, status) in [
        (0x09, 65, INVALID_FIELD),
        (0x02, 1, INVALID_FIELD),
        (0x0c, 0, INVALID_FIELD),
        (0x07, 0xffff, INVALID_FIELD),
        (0x07, 3, 0x0c),
    ] {
        assert_eq!(host.feature(feature, value).status, status, "{feature:#x} {value:#x}");
    }
    host.attach(1);
    assert_eq!(host.get_feature(0x04, 0).result, 343);
    assert_eq!(host.get_feature(0x06, 0).result, 1);
    // No Host Memory Buffer on this drive.
    assert_eq!(host.get_feature(0x0d, 0).status, INVALID_FIELD);
    // Timestamp and host identifier.
    host.store(DATA, &1_000_000u64.to_le_bytes());
    assert_eq!(host.feature(0x0e, 0).status, 0);
    host.wait(Time::from_ms(250));
    host.get_feature(0x0e, 0);
    let stamp = u64::from_le_bytes(host.load(DATA, 8).try_into().expect("8"));
    assert_eq!(stamp, 1_000_250 | 1 << 49);
    host.store(DATA, &[7; 16]);
    assert_eq!(host.feature(0x81, 1).status, 0);
    host.store(DATA, &[0; 16]);
    assert_eq!(host.get_feature(0x81, 1).status, 0);
    assert_eq!(host.load(DATA, 16), [7; 16]);
}

#[test]
fn without_a_write_cache_writes_are_durable() {
    let mut host = host();
    assert_eq!(host.feature(0x06, 0).status, 0);
    let slow = host.write_blocks(8, &pattern(1, 4096)).latency;
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!(host.read_blocks(8, 8).1, pattern(1, 4096));
    let fast = host.write_blocks(8, &pattern(2, 4096)).latency;
    assert!(slow > fast * 3, "{slow} and {fast}");
    // Force Unit Access does the same for one command.
    host.store(DATA, &pattern(3, 4096));
    let write = host.transfer(1, 8, 8, 512);
    let mut dwords = write.dwords;
    dwords[2] |= 1 << 30;
    assert_eq!(host.run(1, Command { dwords, ..write }).status, 0);
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!(host.read_blocks(8, 8).1, pattern(3, 4096));
}

#[test]
fn log_pages_report_the_drive() {
    let mut host = host();
    host.write_blocks(0, &pattern(1, 65_536));
    host.read_blocks(0, 8);
    host.read_blocks(8, 8);
    let quad = |page: &[u8], at: usize| u64::from_le_bytes(page[at..at + 8].try_into().expect("8"));
    let health = host.log(2, 512, 0).expect("the health log");
    assert_eq!((health[0], health[3], health[4], health[5]), (0, 100, 10, 0));
    assert_eq!((quad(&health, 32), quad(&health, 48)), (1, 1), "data units read and written");
    assert_eq!((quad(&health, 64), quad(&health, 80)), (2, 1), "commands");
    assert_eq!((quad(&health, 112), quad(&health, 144)), (1, 0), "power cycles, unsafe shutdowns");
    // A failed command is in the error log.
    let far = host.read_blocks(1 << 40, 1).0;
    assert_eq!(far.status, 0x80);
    let errors = host.log(1, 128, 0).expect("the error log");
    assert_eq!((quad(&errors, 0), errors[8], quad(&errors, 16)), (1, 1, 1 << 40));
    assert_eq!(u16::from_le_bytes([errors[12], errors[13]]) >> 1 & 0x7ff, 0x80);
    assert_eq!(quad(&errors, 64), 0, "one entry");
    let firmware = host.log(3, 512, 0).expect("the firmware slots");
    assert_eq!(
        (firmware[0], &firmware[8..8 + env!("CARGO_PKG_VERSION").len()]),
        (1, env!("CARGO_PKG_VERSION").as_bytes())
    );
    let effects = host.log(5, 4096, 0).expect("the effects");
    assert_eq!(effects[4 * 6], 1);
    assert_eq!(effects[1024 + 4], 0b11, "a write changes blocks");
    assert_eq!(host.log(5, 8, 1024 + 4).expect("an offset")[0], 0b11);
    assert_eq!(host.log(0x81, 512, 0).expect("sanitize")[2], 0);
    assert_eq!(host.log(0x55, 512, 0), Err(0x109));
    assert_eq!(host.log(2, 512, 512), Err(INVALID_FIELD));
}

#[test]
fn wear_is_that_of_the_flash() {
    let sets = [("flash.endurance.mean", "60")];
    let mut host = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &Options::default());
    let capacity = u64::from_le_bytes(host.identify(0, 1)[..8].try_into().expect("8"));
    for i in 0..4 * capacity / 128 {
        let lba = i * 128 % (capacity / 128 * 128);
        assert_eq!(host.write_blocks(lba, &pattern(i, 65_536)).status, 0);
    }
    let health = host.log(2, 512, 0).expect("the health log");
    let (_, mean, _) = host.drive.machine().ftl().wear();
    assert!(mean > 1.0, "{mean}");
    assert_eq!(u32::from(health[5]), (100.0 * mean / 60.0) as u32);
    let written = u64::from_le_bytes(health[48..56].try_into().expect("8"));
    assert_eq!(written, (4 * capacity / 128 * 65_536).div_ceil(512_000));
}

#[test]
fn format_erases_and_changes_the_block_size() {
    let options = Options {
        namespaces: vec![
            NamespaceConfig { bytes: 1 << 20, block: 512 },
            NamespaceConfig { bytes: 1 << 20, block: 512 },
        ],
        ..Options::default()
    };
    let mut host = Host::attached(&system("", &SMALL), &options);
    assert_eq!(host.feature(0x0b, 0x100).status, 0);
    let request = host.submit(0, &[Command { opcode: 0xc, ..Command::default() }])[0];
    host.write_blocks(8, &pattern(1, 4096));
    host.store(DATA, &pattern(2, 4096));
    let second = Command { namespace: 2, ..host.transfer(1, 8, 8, 512) };
    assert_eq!(host.run(1, second).status, 0);
    let format = |namespace: u32, dword: u32| Command {
        opcode: 0x80,
        namespace,
        dwords: [dword, 0, 0, 0, 0, 0],
        ..Command::default()
    };
    for (namespace, dword, status) in [
        (1, 2, 0x10a),
        (1, 1 << 4, 0x10a),
        (1, 3 << 9, INVALID_FIELD),
        (3, 0, INVALID_FIELD),
        (33, 0, 0x0b),
        (0, 0, 0x0b),
    ] {
        assert_eq!(host.admin(format(namespace, dword)).status, status, "{dword:#x}");
    }
    let formatted = host.submit(0, &[format(1, 1 | 1 << 9)])[0];
    let (first, then) = (host.reap(0), host.reap(0));
    let (event, done) = if first.cid == request { (first, then) } else { (then, first) };
    assert_eq!((done.cid, done.status), (formatted, 0));
    assert_eq!((event.cid, event.result), (request, 0x04_00_02));
    assert_eq!(host.log(4, 4096, 0).expect("the changed namespaces")[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(host.identify(0, 1)[..8], 256u64.to_le_bytes());
    // Blocks of 4 KiB, all zeros; the other namespace is untouched.
    host.store(DATA, &[1; 4096]);
    let read = host.transfer(2, 1, 1, 4096);
    assert_eq!(host.run(1, read).status, 0);
    assert_eq!(host.load(DATA, 4096), [0; 4096]);
    assert_eq!(host.run(1, Command { opcode: 2, ..second }).status, 0);
    assert_eq!(host.load(DATA, 4096), pattern(2, 4096));
    // Formatted data do not come back after a power cut, nor does the block size.
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    host.store(DATA, &[1; 4096]);
    assert_eq!(host.run(1, read).status, 0);
    assert_eq!(host.load(DATA, 4096), [0; 4096]);
}

#[test]
fn sanitize_erases_everything_in_the_background() {
    let mut host = host();
    host.write_blocks(8, &pattern(1, 4096));
    host.flush();
    let request = host.submit(0, &[Command { opcode: 0xc, ..Command::default() }])[0];
    let sanitize = |action: u32| Command { opcode: 0x84, dwords: [action, 0, 0, 0, 0, 0], ..Command::default() };
    assert_eq!(host.admin(sanitize(3)).status, INVALID_FIELD, "overwrite is not supported");
    let started = host.submit(0, &[sanitize(2)])[0];
    let (first, then) = (host.reap(0), host.reap(0));
    let (event, done) = if first.cid == request { (first, then) } else { (then, first) };
    assert_eq!((done.cid, done.status), (started, 0));
    assert_eq!((event.cid, event.result), (request, 0x81_01_06));
    let status = host.log(0x81, 512, 0).expect("the sanitize status");
    assert_eq!((status[..2].to_vec(), status[2]), (vec![0xff; 2], 1));
    assert_eq!(host.read_blocks(8, 8).1, [0; 4096]);
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!(host.read_blocks(8, 8).1, [0; 4096]);
}

#[test]
fn resets_of_every_kind_leave_a_working_drive_and_its_data() {
    let mut host = host();
    host.write_blocks(8, &pattern(1, 4096));
    host.flush();
    for kind in 0..4 {
        // Leave reads and writes in progress.
        host.store(DATA + 0x10_000, &pattern(9, 4096));
        let write = Command { prp: [DATA + 0x10_000, 0], ..host.transfer(1, 800, 8, 512) };
        let read = Command { prp: [DATA, 0], ..host.transfer(2, 8, 8, 512) };
        host.submit(1, &[read, write, read, write, read]);
        host.wait(Time::from_us(3));
        match kind {
            0 => host.disable(),
            1 => host.write32(0x20, 0x4e56_4d65),
            2 => host.drive.reset_function(host.now),
            _ => {
                host.drive.power_cut(host.now).expect("the parts of the drive");
            }
        }
        let status = host.csts();
        assert_eq!(status & 0xf, 0, "reset {kind}");
        assert_eq!(status >> 4 & 1, u32::from(kind == 1), "subsystem reset {kind}");
        host.write32(0x1c, 1 << 4);
        host.wait(Time::from_ms(20));
        assert!(host.drive.take_interrupts().is_empty(), "a completion after the reset");
        host.attach(2);
        assert_eq!(host.read_blocks(8, 8).1, pattern(1, 4096), "reset {kind}");
        assert_eq!(host.write_blocks(16, &pattern(kind, 4096)).status, 0);
        assert_eq!(host.read_blocks(16, 8).1, pattern(kind, 4096));
    }
}

#[test]
fn what_cannot_be_enabled_is_fatal_until_a_reset() {
    let mut host = host();
    host.disable();
    for cc in [1 | 1 << 7, 1 | 1 << 4, 1 | 1 << 11] {
        host.write32(0x14, cc);
        host.wait(Time::from_ms(5));
        assert_eq!(host.csts() & 3, 2, "CC {cc:#x}");
        host.disable();
        assert_eq!(host.csts() & 3, 0);
    }
    host.attach(1);
    // An admin queue outside memory.
    host.disable();
    host.write64(0x28, 1 << 40);
    host.write32(0x14, 1 | 6 << 16 | 4 << 20);
    host.wait_for(1, 1);
    host.write32(0x1000, 1);
    host.wait(Time::from_ms(1));
    assert_eq!(host.csts() & 2, 2);
    host.attach(1);
    assert_eq!(host.flush().status, 0);
}
