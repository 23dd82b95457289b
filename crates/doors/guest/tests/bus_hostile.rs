//! A hostile guest of a shared buffer: any bytes in its memory and registers are answered with statuses, never with a
//! panic, in bounded time; after a reset the device works.

mod bus_host;

use bus_host::{Host, SMALL, pattern};
use guest::bus_registers as registers;
use shared_buffer::{Region, Status};
use sim::{Streams, Time};
use std::sync::atomic::Ordering::Relaxed;

/// Steps of a guest.
const STEPS: u32 = 1000;

/// Lets a guest of `seed` do anything. Returns the number of commands that the device executed.
fn attack(seed: u64, sets: &[(&str, &str)]) -> u64 {
    let mut host = Host::new(sets);
    let mut stream = Streams::new(seed).stream("hostile");
    let (words, entries) = (host.layout.db_sector(8), host.layout.config().sq_entries);
    let pairs = host.layout.config().queue_pairs;
    // The entry that each pair expects next, as far as the guest knows.
    let mut expected = vec![0u32; usize::from(pairs)];
    for _ in 0..STEPS {
        let draw = stream.below(u64::MAX);
        let value = stream.below(u64::MAX);
        let pair = (value >> 60) as u16 % pairs;
        match draw % 16 {
            // Any word of header, registers, queues and the first data.
            0 => host.buffer.store((draw >> 8) as usize % words, value, Relaxed),
            // Something like an entry, of any opcode and phase.
            1..8 => {
                let next = &mut expected[usize::from(pair)];
                let fits = draw >> 46 & 3 > 0;
                let index = if fits { *next } else { (draw >> 8) as u32 % entries };
                let phase = if fits { u64::from(index & entries == 0) } else { value >> 31 & 1 };
                *next += u32::from(fits);
                let entry = host.layout.sq_entry(pair, index);
                let opcode = draw >> 24 & 7;
                let sectors = if draw >> 28 & 1 == 1 { draw >> 30 & 31 } else { value >> 40 };
                let head = value & 0xffff | opcode << 16 | (u64::from(opcode != 4) * (draw >> 27 & 1)) << 24;
                host.buffer.store(entry + 1, if draw >> 29 & 1 == 1 { value >> 50 } else { value }, Relaxed);
                host.buffer.store(entry + 2, (draw >> 33 & 0x3ff) | sectors << 32, Relaxed);
                host.buffer.store(entry, head | phase << 31 | (draw >> 45 & 1) << 28 | sectors << 32, Relaxed);
            }
            8..11 => host.ring(pair),
            11 => {
                let bytes = value.to_le_bytes();
                let size = [1, 2, 4, 8][(draw >> 8) as usize % 4];
                let offset = if draw >> 12 & 1 == 1 { draw >> 16 & 0x7fff } else { draw >> 16 & 0x3f };
                host.drive.write(host.now, offset, &bytes[..size]);
                host.drive.read(host.now, offset, &mut [0; 8][..size]);
            }
            12 => {
                host.now += Time::from_ns(value % 1_000_000);
                host.drive.advance(host.now);
            }
            // The guest takes all completions.
            13 => {
                let taken = host.buffer.load(host.layout.status(pair), Relaxed);
                host.buffer.store(host.layout.cq_head(pair), taken, Relaxed);
            }
            _ => {
                host.step();
            }
        }
        host.drive.take_interrupts();
    }
    let mut host = host.reset();
    assert_eq!(host.write(16, &pattern(1, 8), 0, true).0, Status::Success);
    assert!(host.read(16, 8, 64).1 == pattern(1, 8));
    assert_eq!(host.read32(registers::STATUS), 1);
    let summary = host.drive.summary(host.now);
    ["read", "write", "trim"].iter().map(|class| summary[class]["total_ios"].as_u64().expect("a count")).sum()
}

#[test]
fn any_bytes_of_a_guest_are_answered_with_statuses() {
    let executed: u64 = (0..40).map(|seed| attack(seed, &SMALL)).sum();
    assert!(executed > 250, "only {executed} commands were executed, so the guests attacked little");
}

#[test]
fn any_bytes_are_answered_by_a_device_that_scatters() {
    let sets = [&SMALL[..], &[("host.mover.extents", "6"), ("host.queue_depth", "8")]].concat();
    for seed in 1000..1020 {
        attack(seed, &sets);
    }
}
