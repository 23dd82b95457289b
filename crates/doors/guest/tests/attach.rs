//! A driver attaches in the order of Linux's nvme driver, moves data and shuts down.

mod support;

use guest::{Identity, NamespaceConfig, Options};
use sim::Time;
use support::{Command, DATA, Host, SMALL, pattern, system};

#[test]
fn a_driver_attaches_writes_reads_and_shuts_down() {
    let mut host = Host::attached(&system("", &SMALL), &Options::default());
    for (lba, blocks) in [(0u64, 1usize), (7, 3), (64, 8), (100, 128), (1001, 17)] {
        let data = pattern(lba, blocks * 512);
        assert_eq!(host.write_blocks(lba, &data).status, 0);
        let (done, read) = host.read_blocks(lba, blocks as u32);
        assert_eq!((done.status, read == data), (0, true), "{blocks} blocks at {lba}");
    }
    assert_eq!(host.flush().status, 0);
    let (_, read) = host.read_blocks(1001, 17);
    assert_eq!(read, pattern(1001, 17 * 512));
    host.shut_down();
    // The driver comes back after a reset and finds its data.
    host.attach(1);
    let (done, read) = host.read_blocks(100, 128);
    assert_eq!((done.status, read), (0, pattern(100, 128 * 512)));
}

#[test]
fn flushed_data_survives_a_power_cut_and_shutdown_flushes() {
    let mut host = Host::attached(&system("", &SMALL), &Options::default());
    host.write_blocks(40, &pattern(1, 8192));
    host.flush();
    host.drive.power_cut(host.now).expect("the parts of the drive");
    assert_eq!(host.csts(), 0);
    host.attach(1);
    assert_eq!(host.read_blocks(40, 16).1, pattern(1, 8192));
    host.write_blocks(40, &pattern(2, 8192));
    host.shut_down();
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!(host.read_blocks(40, 16).1, pattern(2, 8192));
    let health = host.log(2, 512, 0).expect("the health log");
    assert_eq!(health[112], 3, "power cycles");
    assert_eq!(health[144], 1, "unsafe shutdowns");
}

#[test]
fn identify_reports_what_the_drive_is() {
    let options = Options {
        namespaces: vec![
            NamespaceConfig { bytes: 1 << 20, block: 512 },
            NamespaceConfig { bytes: 4 << 20, block: 4096 },
            NamespaceConfig { bytes: 2 << 20, block: 512 },
        ],
        identity: Some(Identity { model: "a model".to_owned(), serial: "a serial".to_owned() }),
        ..Options::default()
    };
    let mut host = Host::attached(&system("", &SMALL), &options);
    let controller = host.identify(1, 0);
    assert_eq!(&controller[4..24], b"a serial            ");
    assert_eq!(&controller[24..31], b"a model");
    assert_eq!(controller[77], 4, "MDTS: 64 KiB");
    assert_eq!(controller[516..520], 32u32.to_le_bytes(), "NN: as many as a host can create");
    assert_eq!(controller[525] & 1, 1, "a volatile write cache");
    let list: Vec<u32> =
        host.identify(2, 1).chunks_exact(4).map(|id| u32::from_le_bytes(id.try_into().expect("4"))).collect();
    assert_eq!(list[..3], [2, 3, 0]);
    for (id, blocks, shift) in [(1, 2048u64, 9), (2, 1024, 12), (3, 4096, 9)] {
        let namespace = host.identify(0, id);
        assert_eq!(namespace[..8], blocks.to_le_bytes());
        let format = usize::from(namespace[26]);
        assert_eq!(namespace[128 + 4 * format + 2], shift);
        let descriptors = host.identify(3, id);
        assert_eq!(descriptors[..2], [2, 16]);
        assert_eq!(descriptors[4..20], namespace[104..120]);
    }
    for (cns, id, status) in
        [(0, 0, 0x0b), (0, 33, 0x0b), (3, 9, 0x02), (3, 33, 0x0b), (2, u32::MAX, 0x0b), (0x77, 0, 0x02)]
    {
        assert_eq!(host.try_identify(cns, id).status, status, "Identify {cns:#x} of {id}");
    }
}

#[test]
fn identify_recommends_the_bursts_of_the_system() {
    for (burst, reported) in [("1", 0), ("8", 3), ("64", 6), ("unlimited", 7)] {
        let system = system("", &[&SMALL[..], &[("device.arbitration_burst", burst)]].concat());
        let mut host = Host::attached(&system, &Options::default());
        assert_eq!(host.identify(1, 0)[72], reported, "RAB for bursts of {burst}");
    }
}

#[test]
fn namespaces_do_not_overlap() {
    let options = Options {
        namespaces: vec![
            NamespaceConfig { bytes: 1 << 20, block: 512 },
            NamespaceConfig { bytes: 1 << 20, block: 4096 },
        ],
        ..Options::default()
    };
    let mut host = Host::attached(&system("", &SMALL), &options);
    let last = (1 << 20) / 512 - 8;
    assert_eq!(host.write_blocks(last, &pattern(1, 4096)).status, 0);
    host.store(DATA, &pattern(2, 4096));
    let command = Command { namespace: 2, ..host.transfer(1, 0, 1, 4096) };
    assert_eq!(host.run(1, command).status, 0);
    assert_eq!(host.read_blocks(last, 8).1, pattern(1, 4096));
    host.store(DATA, &[0; 4096]);
    assert_eq!(host.run(1, Command { opcode: 2, ..command }).status, 0);
    assert_eq!(host.load(DATA, 4096), pattern(2, 4096));
    // The end of the first is not the beginning of the second.
    assert_eq!(host.read_blocks(last + 1, 8).0.status, 0x80);
}

#[test]
fn commands_of_many_queues_all_end_with_their_data() {
    let mut host = Host::new(&system("", &SMALL), &Options::default());
    host.attach(4);
    for queue in 1..=4u64 {
        let commands: Vec<Command> = (0..32)
            .map(|i| {
                let slot = (queue - 1) * 32 + i;
                host.store(DATA + slot * 4096, &pattern(slot, 4096));
                let prp = [DATA + slot * 4096, 0];
                Command { prp, ..host.transfer(1, slot * 8, 8, 512) }
            })
            .collect();
        host.submit(queue as usize, &commands);
    }
    for queue in 1..=4 {
        let mut seen: Vec<u16> = (0..32)
            .map(|_| {
                let done = host.reap(queue);
                assert_eq!(done.status, 0);
                done.cid
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 32);
    }
    for slot in 0..128u64 {
        assert_eq!(host.read_blocks(slot * 8, 8).1, pattern(slot, 4096));
    }
}

#[test]
fn two_hosts_with_the_same_seed_see_the_same_times() {
    let run = || {
        let mut host = Host::attached(&system("", &SMALL), &Options::default());
        let mut times = Vec::new();
        for i in 0..50u64 {
            times.push(host.write_blocks(i * 13 % 700, &pattern(i, 4096)).latency);
            times.push(host.read_blocks(i * 7 % 700, 8).0.latency);
        }
        host.wait(Time::from_ms(5));
        times.push(host.flush().latency);
        times
    };
    assert_eq!(run(), run());
}
