//! Processors and main memory: checks across their keys.

use super::kernel;
use crate::error::SystemError;
use crate::sections::memory::{Files, MainMemory, Refresh, Standard};
use crate::system::System;
use keys::Value;

/// Checks rules that involve several keys.
pub(super) fn check(s: &System) -> Result<(), SystemError> {
    let (cpu, memory) = (&s.cpu, &s.memory);
    for (size, ways, bytes, lines) in [
        ("cpu.l1.size", "cpu.l1.ways", cpu.l1.size, cpu.l1.ways),
        ("cpu.l2.size", "cpu.l2.ways", cpu.l2.size, cpu.l2.ways),
        ("cpu.llc.size", "cpu.llc.ways", cpu.llc.size, cpu.llc.ways),
    ] {
        let way = media::LINE * u64::from(lines);
        let sound = bytes.is_multiple_of(way) && (bytes / way).is_power_of_two();
        s.expect(sound, &[size, ways], "a power of two of sets of 64-byte lines")?;
    }
    for (key, value) in [
        ("memory.channels", u64::from(memory.channels)),
        ("memory.ranks", u64::from(memory.ranks)),
        ("memory.stack", u64::from(memory.stack)),
        ("memory.interleave", memory.interleave),
    ] {
        s.expect(value.is_power_of_two(), &[key], "a power of two")?;
    }
    let same_bank = memory.refresh == Refresh::SameBank;
    let is_ddr5 = memory.standard == Standard::Ddr5x4800;
    s.expect(!same_bank || is_ddr5, &["memory.refresh", "memory.standard"], "all-bank but for ddr5-4800")?;
    if let Some(frame) = memory.frames {
        s.expect(frame.is_power_of_two(), &["memory.frames"], "a power of two")?;
        let whole = memory.kind != MainMemory::Hybrid || frame >= 65536;
        s.expect(whole, &["memory.frames"], "at least 64KiB, a page of flash as main memory")?;
    }
    if memory.files == Files::Drive {
        kernel::check(s)?;
    }
    if let Some(size) = memory.size
        && memory.kind == MainMemory::Dram
    {
        let there = memory.dram().bytes();
        let most = format!("whole pages of 4KiB, at most {}, the DRAM's capacity", Value::Size(there).plain());
        let keys = ["memory.size", "memory.channels", "memory.ranks", "memory.stack", "memory.standard"];
        s.expect(size.is_multiple_of(host::cpu::PAGE) && size <= there, &keys, &most)?;
    }
    Ok(())
}
