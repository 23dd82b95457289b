//! Controller registers in BAR 0 (section 3.1): capabilities, configuration, status, admin queue addresses, doorbells.

use device::nvme::MEMORY_PAGE;
use sim::{Schedule, Time};

use super::zones::{ALL_SETS, ONLY_NVM};
use super::{Controller, Need, QUEUE_ENTRIES_MAX, Step};

/// Offsets of registers.
const INTMS: u64 = 0x0c;
const INTMC: u64 = 0x10;
const CC: u64 = 0x14;
const NSSR: u64 = 0x20;
const AQA: u64 = 0x24;
const ASQ: u64 = 0x28;
const ACQ: u64 = 0x30;
/// Offset of the first doorbell; each takes four bytes (CAP.DSTRD is 0).
pub(super) const DOORBELLS: u64 = 0x1000;
/// Offset after the doorbell area, where the MSI-X table begins.
pub const REGISTERS_END: u64 = 0x2000;

/// Version 1.4.
pub(super) const VERSION: u32 = 0x0001_0400;
/// The value that resets the NVM subsystem ("NVMe").
const SUBSYSTEM_RESET: u32 = 0x4e56_4d65;
/// Worst-case time to become ready or not, in units of 500 ms (CAP.TO). Assumed: 10 s, as drives report.
const TIMEOUT: u64 = 20;
/// Time from enabling to CSTS.RDY. Assumed: firmware needs some 1 ms to set its queues up.
const READY: Time = Time::from_ms(1);
/// log2 of the bytes of queue entries.
const SUBMISSION_SHIFT: u32 = 6;
const COMPLETION_SHIFT: u32 = 4;

/// Shutdown status (CSTS.SHST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shutdown {
    #[default]
    Normal = 0,
    Occurring = 1,
    Complete = 2,
}

/// Registers that a host writes, and status.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    interrupt_mask: u32,
    cc: u32,
    aqa: u32,
    asq: u64,
    acq: u64,
    pub ready: bool,
    pub fatal: bool,
    pub shutdown: Shutdown,
    subsystem_reset_occurred: bool,
    /// Time in which the firmware recovers state before it becomes ready.
    pub recovery: Time,
}

impl Registers {
    /// Returns the entries of the admin queues: submission and completion.
    fn admin_entries(&self) -> [u32; 2] {
        [self.aqa & 0xfff, self.aqa >> 16 & 0xfff].map(|size| size + 1)
    }

    /// Returns the command sets that the host has chosen (CC.CSS).
    pub const fn command_set(&self) -> u32 {
        self.cc >> 4 & 7
    }

    fn status(&self) -> u32 {
        let bit = |set: bool, at: u32| u32::from(set) << at;
        let shutdown = (self.shutdown as u32) << 2;
        bit(self.ready, 0) | bit(self.fatal, 1) | shutdown | bit(self.subsystem_reset_occurred, 4)
    }
}

impl Controller {
    /// Returns the capabilities (CAP): queues are contiguous, a subsystem reset is supported, memory pages have one
    /// size, and the NVM command set is the only one unless there are zones.
    fn capabilities(&self) -> u64 {
        let page = u64::from(MEMORY_PAGE.trailing_zeros() - 12);
        let (contiguous, subsystem_reset, sets) = (1 << 16, 1 << 36, 1 | self.more_sets());
        let queues = u64::from(QUEUE_ENTRIES_MAX - 1) | contiguous;
        queues | TIMEOUT << 24 | subsystem_reset | sets << 37 | page << 48 | page << 52
    }

    /// Reads the aligned quadword at `offset`.
    fn quad(&self, offset: u64) -> u64 {
        let r = &self.registers;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        match offset {
            0x00 => self.capabilities(),
            0x08 => pair(VERSION, r.interrupt_mask),
            0x10 => pair(r.interrupt_mask, r.cc),
            0x18 => pair(0, r.status()),
            0x20 => pair(0, r.aqa),
            ASQ => r.asq,
            ACQ => r.acq,
            // No controller memory buffer, no boot partitions, no persistent memory region; doorbells read as zero.
            _ => 0,
        }
    }

    /// Reads registers. Any size and alignment are accepted; a range beyond the registers reads as zeros.
    pub fn read_registers(&self, offset: u64, to: &mut [u8]) {
        for (at, byte) in (offset..).zip(to) {
            *byte = self.quad(at & !7).to_le_bytes()[(at & 7) as usize];
        }
    }

    /// Writes registers: aligned accesses of four or eight bytes. Others have undefined results by the specification
    /// and are ignored.
    pub fn write_registers(&mut self, now: Time, offset: u64, from: &[u8], s: &mut dyn Schedule<super::Event>) {
        if !matches!(from.len(), 4 | 8) || !offset.is_multiple_of(4) {
            return;
        }
        for (at, word) in (offset..).step_by(4).zip(from.chunks_exact(4)) {
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            self.write_register(now, at, value, s);
        }
    }

    fn write_register(&mut self, now: Time, offset: u64, value: u32, s: &mut dyn Schedule<super::Event>) {
        let low = |old: u64| old & !0xffff_ffff | u64::from(value);
        let high = |old: u64| old & 0xffff_ffff | u64::from(value) << 32;
        let r = &mut self.registers;
        match offset {
            INTMS => r.interrupt_mask |= value,
            INTMC => r.interrupt_mask &= !value,
            CC => self.configure(now, value, s),
            NSSR if value == SUBSYSTEM_RESET => {
                r.cc = 0;
                r.subsystem_reset_occurred = true;
                self.needs.push(Need::Reset);
            }
            // CSTS: the host clears NSSRO.
            0x1c if value & 1 << 4 != 0 => r.subsystem_reset_occurred = false,
            AQA => r.aqa = value,
            ASQ => r.asq = low(r.asq) & !0xfff,
            0x2c => r.asq = high(r.asq),
            ACQ => r.acq = low(r.acq) & !0xfff,
            0x34 => r.acq = high(r.acq),
            DOORBELLS..REGISTERS_END => self.doorbell_written(now, (offset - DOORBELLS) / 4, value, s),
            _ => {}
        }
    }

    /// Handles a write of the configuration (CC).
    fn configure(&mut self, now: Time, value: u32, s: &mut dyn Schedule<super::Event>) {
        let r = &mut self.registers;
        let before = std::mem::replace(&mut r.cc, value);
        match (before & 1, value & 1) {
            (0, 1) => self.enable(now, s),
            (1, 0) => self.needs.push(Need::Reset),
            _ => {}
        }
        let r = &mut self.registers;
        let starts = value >> 14 & 3 != 0 && r.shutdown == Shutdown::Normal;
        if starts && r.ready {
            r.shutdown = Shutdown::Occurring;
            self.shut_down(now, s);
        } else if starts {
            r.shutdown = Shutdown::Complete;
        }
    }

    /// Enables the controller: creates the admin queues. CSTS.RDY follows, or a fatal status if the configuration is
    /// not supported.
    fn enable(&mut self, now: Time, s: &mut dyn Schedule<super::Event>) {
        let r = &self.registers;
        let [submission, completion] = r.admin_entries();
        let (page, command_set, arbitration) = (r.cc >> 7 & 15, r.command_set(), r.cc >> 11 & 7);
        let has_sets = command_set == ONLY_NVM || command_set == ALL_SETS && self.has_zones();
        let fits = page == MEMORY_PAGE.trailing_zeros() - 12 && has_sets && arbitration == 0;
        if !fits || submission < 2 || completion < 2 {
            return self.fail();
        }
        let (submission, completion) = ((r.asq, submission as u16), (r.acq, completion as u16));
        self.registers.shutdown = Shutdown::Normal;
        self.create_admin_queues(submission, completion);
        let ready = now + READY + std::mem::take(&mut self.registers.recovery);
        Step::Ready.at(ready, 0, s);
    }

    /// Returns true if the host has set the sizes of queue entries (CC.IOSQES and CC.IOCQES) to those required.
    pub(super) fn has_entry_sizes(&self) -> bool {
        let cc = self.registers.cc;
        cc >> 16 & 15 == SUBMISSION_SHIFT && cc >> 20 & 15 == COMPLETION_SHIFT
    }

    /// Becomes ready.
    pub(super) fn become_ready(&mut self) {
        self.registers.ready = !self.registers.fatal;
        self.needs.push(Need::SaveState);
    }

    /// Reports a fatal error (CSTS.CFS): the controller stops until it is reset.
    pub(super) fn fail(&mut self) {
        self.registers.fatal = true;
    }

    /// Resets the status that a controller-level reset clears; addresses and sizes of the admin queues stay.
    pub(super) fn reset_registers(&mut self, recovery: Time) {
        let r = &mut self.registers;
        *r = Registers {
            interrupt_mask: 0,
            ready: false,
            fatal: false,
            shutdown: Shutdown::Normal,
            recovery,
            ..r.clone()
        };
    }

    /// Sets all registers to their values after power-on.
    pub(super) fn clear_registers(&mut self) {
        self.registers = Registers::default();
    }
}
