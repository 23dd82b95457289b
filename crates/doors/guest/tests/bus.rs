//! Storage on the memory bus at its registers.

mod bus_host;

use bus_host::{Host, SMALL, pattern, system};
use guest::bus_registers as registers;
use guest::{Options, Ram};
use shared_buffer::{Command, Extent, Extents, Opcode, Region, Status};
use sim::Time;

#[test]
fn a_driver_finds_registers_region_and_identity() {
    let mut host = Host::new(&SMALL);
    assert_eq!(host.read32(registers::SIGNATURE_AT).to_le_bytes(), *b"NDSB");
    assert_eq!((host.read32(registers::VERSION_AT), host.read32(registers::STATUS)), (1, 1));
    assert_eq!(host.read32(registers::PAIRS), 2);
    assert_eq!(host.read64(registers::REGION_BYTES), host.layout.bytes() as u64);
    assert_eq!(host.read64(registers::INTERRUPT_ENABLE), 0b11);
    let memory = host.drive.function().memory.expect("BAR 2");
    assert!(memory.is_power_of_two() && memory >= host.layout.bytes() as u64);
    let identity = host.identify();
    assert_eq!((identity.capacity_sectors, identity.command_sectors_max), ((64 << 20) / 512, 512));
    assert!(Opcode::ALL.into_iter().all(|opcode| identity.serves(opcode)));
    assert!(!identity.cached_writes, "drambus writes through");
}

#[test]
fn data_return_from_any_sectors_and_places() {
    let mut host = Host::new(&SMALL);
    let writes = [(0, 8, 0), (8, 1, 500), (13, 7, 100), (4096, 256, 256), (77, 40, 9)];
    for (seed, (start, sectors, at)) in writes.into_iter().enumerate() {
        assert_eq!(host.write(start, &pattern(seed as u32, sectors), at, seed == 1).0, Status::Success);
    }
    for (seed, (start, sectors, at)) in writes.into_iter().enumerate() {
        let (status, data, _) = host.read(start, sectors, 511 - at.max(sectors));
        assert_eq!(status, Status::Success);
        assert!(data == pattern(seed as u32, sectors), "sectors from {start}");
    }
    let trim = Command::new(Opcode::Trim, 4096, 256, Extents::NONE);
    assert_eq!(host.run(1, &trim).0, Status::Success);
    assert_eq!(host.read(4096, 256, 0).1, vec![0; 256 * 512]);
    assert_eq!(host.run(1, &Command::new(Opcode::Flush, 0, 0, Extents::NONE)).0, Status::Success);
    let summary = host.drive.summary(host.now);
    assert_eq!(
        (&summary["write"]["total_ios"], &summary["read"]["io_bytes"]),
        (&5.into(), &((312 + 256) * 512).into())
    );
    assert_eq!((&summary["trim"]["total_ios"], &summary["other"]["total_ios"]), (&1.into(), &1.into()));
}

#[test]
fn a_command_may_be_scattered_over_the_buffer() {
    let mut host = Host::new(&[&SMALL[..], &[("host.mover.extents", "4")]].concat());
    let mut extents = Extents::NONE;
    for (index, sectors) in [(100, 3), (40, 4), (300, 1)] {
        extents.push(Extent { index, sectors });
    }
    let data = pattern(5, 8);
    let mut rest = &data[..];
    for extent in extents.as_slice() {
        let (run, left) = rest.split_at(extent.sectors as usize * 512);
        host.buffer.write(host.layout.db_sector(extent.index), run);
        rest = left;
    }
    assert_eq!(host.run(0, &Command::new(Opcode::Write, 16, 8, extents)).0, Status::Success);
    assert!(host.read(16, 8, 0).1 == data);
}

#[test]
fn a_read_takes_the_time_of_flash_firmware_and_interrupt() {
    let time = |sets: &[(&str, &str)]| {
        let mut host = Host::new(&[&SMALL[..], sets].concat());
        host.write(0, &pattern(1, 8), 0, true);
        host.read(0, 8, 0).2
    };
    let usual = time(&[]);
    assert!(usual > Time::from_us(75 + 8), "{usual}: the flash takes 75 us, the interrupt 8 us");
    assert_eq!(time(&[("flash.read", "175us")]) - usual, Time::from_us(100));
    assert_eq!(time(&[("host.interrupt.delivery", "18us")]) - usual, Time::from_us(10));
    assert_eq!(time(&[("host.interrupt.handler", "50us"), ("host.submit", "30us")]), usual, "the host's own costs");
}

#[test]
fn a_polling_host_needs_no_interrupt() {
    let mut host = Host::new(&SMALL);
    host.write(0, &pattern(1, 8), 0, true);
    host.write32(registers::INTERRUPT_ENABLE, 0b10);
    host.submit(0, &Command::new(Opcode::Read, 0, 8, Extents::one(64, 8)));
    host.ring(0);
    while host.take(0).is_none() {
        assert!(host.step(), "no completion");
    }
    while host.step() {}
    assert_eq!((host.raised.len(), host.read64(registers::INTERRUPT_STATUS)), (0, 0));
    // Completions that were not taken interrupt once their pair is enabled.
    host.submit(0, &Command::new(Opcode::Flush, 0, 0, Extents::NONE));
    host.ring(0);
    while host.step() {}
    assert_eq!((host.raised.len(), host.read64(registers::INTERRUPT_STATUS)), (0, 1));
    host.write32(registers::INTERRUPT_ENABLE, 0b11);
    host.wait(0);
    assert!(host.take(0).is_some());
    assert_eq!(host.read64(registers::INTERRUPT_STATUS), 0);
}

#[test]
fn each_pair_raises_its_own_vector() {
    let mut host = Host::new(&SMALL);
    for pair in [0, 1] {
        host.submit(pair, &Command::new(Opcode::Flush, 0, 0, Extents::NONE));
    }
    // A doorbell makes the device look everywhere.
    host.ring(1);
    host.wait(0);
    host.wait(1);
    assert!(host.take(0).is_some() && host.take(1).is_some());
    assert_eq!(host.drive.machine().host_interface().interrupts(), 2);
}

#[test]
fn invalid_entries_complete_with_the_reason() {
    let mut host = Host::new(&SMALL);
    let last = (64 << 20) / 512;
    let cases = [
        (Command::new(Opcode::Read, last - 7, 8, Extents::one(0, 8)), Status::OutOfRange),
        (Command::new(Opcode::Write, u64::MAX, 8, Extents::one(0, 8)), Status::OutOfRange),
        (Command::new(Opcode::Trim, 0, last as u32 + 1, Extents::NONE), Status::OutOfRange),
        (Command::new(Opcode::Trim, 0, u32::MAX, Extents::NONE), Status::InvalidField),
    ];
    for (command, expected) in cases {
        assert_eq!(host.run(0, &command).0, expected, "{command:?}");
    }
    // Entries that the protocol's own host cannot write.
    for (head, expected) in [(9 << 16, Status::InvalidOpcode), (1 << 16 | 8 << 32, Status::InvalidField)] {
        host.submit(0, &Command::new(Opcode::Flush, 0, 0, Extents::NONE));
        let entry = host.layout.sq_entry(0, cases.len() as u32 + u32::from(expected == Status::InvalidField));
        let kept = host.buffer.load(entry, std::sync::atomic::Ordering::Relaxed) & (1 << 31 | 0xffff);
        host.buffer.store(entry, kept | head, std::sync::atomic::Ordering::Relaxed);
        host.ring(0);
        host.wait(0);
        assert_eq!(host.take(0).expect("a completion").status, expected);
    }
    let errors = host.drive.summary(host.now)["other"]["errors"].as_u64();
    assert_eq!(errors, Some(6));
    assert_eq!(host.write(0, &pattern(1, 8), 0, false).0, Status::Success, "the pair goes on");
}

#[test]
fn a_reset_drops_commands_and_keeps_data() {
    let mut host = Host::new(&SMALL);
    host.write(0, &pattern(3, 8), 0, true);
    for start in 0..4 {
        host.submit(0, &Command::new(Opcode::Read, start, 8, Extents::one(64, 8)));
    }
    host.ring(0);
    host.step();
    let mut host = host.reset();
    assert_eq!(host.read64(registers::INTERRUPT_STATUS), 0);
    assert!(host.read(0, 8, 128).1 == pattern(3, 8));
    assert_eq!((host.raised.len(), host.take(0)), (0, None), "nothing of the dropped commands");
}

#[test]
fn what_was_durable_survives_a_power_cut() {
    let mut host = Host::new(&SMALL);
    host.write(0, &pattern(3, 8), 0, true);
    host.submit(0, &Command::new(Opcode::Write, 8, 8, Extents::one(64, 8)));
    host.ring(0);
    host.step();
    host.drive.power_cut(host.now).expect("a mount");
    let mut host = Host::over(host.drive, host.buffer, host.now);
    assert!(host.read(0, 8, 128).1 == pattern(3, 8));
}

#[test]
fn systems_that_cannot_be_served_are_refused() {
    let refusal = |sets: &[(&str, &str)]| {
        let refused = guest::Drive::new(&system(sets), &Options::default(), Box::new(Ram::new(0)));
        refused.err().map(|error| error.to_string())
    };
    let pairs = [&SMALL[..], &[("host.queue_pairs", "65"), ("host.cores", "65")]].concat();
    assert_eq!(refusal(&pairs).as_deref(), Some("host.queue_pairs: found 65, expected at most 64 for a guest"));
    assert!(guest::Blocks::new(|memory| guest::Drive::new(&system(&SMALL), &Options::default(), memory)).is_err());
}
