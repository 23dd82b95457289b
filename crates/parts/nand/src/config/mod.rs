//! Configuration of a flash array: the sections that system files have for it, and what follows from the other parts.

mod cell;
mod flash;
mod power;
mod reliability;
mod scheduling;
mod span;
mod timing;

use media::Geometry;
use sim::Time;

use crate::store::PayloadKind;

pub use cell::Cell;
pub use flash::{Flash, Order};
pub use power::Power;
pub use reliability::{Ecc, Endurance, ErrorLaw, Errors, Faults, Spread, Variation, Wear};
pub use scheduling::{Policy, Reuse, Scheduling};
pub use span::PageSpan;
pub(crate) use span::Sensed;
pub use timing::{Programming, Timing};

/// Configuration of a flash array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Its geometry.
    pub geometry: Geometry,
    /// The pages of the dies that a page of the geometry consists of.
    pub span: PageSpan,
    /// Bits per cell.
    pub cell: Cell,
    /// The enforced programming order.
    pub order: Order,
    /// The kind of payload to keep.
    pub payload: PayloadKind,
    /// RAM buffers of one mapping unit each, for the translation layer.
    pub buffers: u32,
    /// Times.
    pub timing: Timing,
    /// Priority of operations.
    pub scheduling: Scheduling,
    /// Failures.
    pub wear: Wear,
    /// Raw bit errors; `None`: none.
    pub errors: Option<Errors>,
    /// Blocks are used in both modes: the wear of each erase depends on the mode that it ends.
    pub modes: bool,
    /// Error correction.
    pub ecc: Ecc,
    /// Age of the flash's content when the run begins, in seconds, for its retention errors.
    pub age_s: u32,
    /// Program-erase cycles of every block when the flash is created.
    pub cycles: u32,
    /// Variation between dies, blocks and word lines.
    pub variation: Variation,
    /// Failing reads and dies.
    pub faults: Faults,
    /// Power.
    pub power: Power,
}

impl Config {
    /// Returns why the configuration is invalid, in terms of its fields; `None` if it is valid.
    pub fn fault(&self) -> Option<String> {
        if let Some(fault) = self.geometry.fault() {
            return Some(fault);
        }
        if self.geometry.pages > 1 << 16 {
            return Some(format!("{} pages per block, expected at most 65536", self.geometry.pages));
        }
        let PageSpan { planes, pages } = self.span;
        let (all, even) = (self.geometry.planes * planes, self.geometry.page_bytes.is_multiple_of(planes * pages));
        if all > 16 || !even {
            return Some(format!("pages of {} bytes on {planes} of {all} planes", self.geometry.page_bytes));
        }
        let t = &self.timing;
        let bits = self.cell.bits() as usize;
        let short =
            [("erase", t.erase), ("slc_read", t.slc_read), ("slc_program", t.slc_program), ("slc_erase", t.slc_erase)];
        let typed =
            t.read[..bits].iter().map(|r| ("read", *r)).chain(t.program[..bits].iter().map(|p| ("program", *p)));
        if let Some((name, _)) = short.into_iter().chain(typed).find(|(_, time)| *time == Time::ZERO) {
            return Some(format!("{name} is 0s, expected more"));
        }
        if t.transfers_per_s == 0 {
            return Some("the transfer rate is 0, expected more".to_owned());
        }
        // Times are added without overflow checks: an hour each is plenty.
        let longest =
            t.read.into_iter().chain(t.program).chain([t.erase, t.slc_read, t.slc_program, t.slc_erase]).max();
        if longest > Some(Time::from_s(3600)) {
            return Some("an array operation takes more than an hour".to_owned());
        }
        let whole = u64::from(self.geometry.page_bytes) * u64::from(self.geometry.planes);
        if whole > 16 << 20 {
            return Some(format!("{whole} bytes a page of all planes, expected at most 16 MiB"));
        }
        let s = &self.scheduling;
        if s.overtakes_max == 0 && s.policy == Policy::ReadsFirst {
            return Some("overtakes_max is 0, expected at least 1 where reads go first".to_owned());
        }
        if (s.program_suspend || s.erase_suspend) && s.suspend_latency == Time::ZERO {
            return Some("suspend_latency is 0s, expected more where operations are suspended".to_owned());
        }
        let chances = [
            ("factory_bad", self.wear.factory_bad),
            ("program_failure", self.wear.program_failure),
            ("erase_failure", self.wear.erase_failure),
            ("faults.read", self.faults.read),
        ];
        if let Some((name, p)) = chances.into_iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
            return Some(format!("{name} is {p}, expected a probability"));
        }
        let e = self.wear.endurance;
        if let Some((mean, deviation)) = e.moments()
            && !(mean >= 1.0 && deviation >= 0.0 && deviation.is_finite())
        {
            return Some(format!("endurance is {mean} +- {deviation} cycles, expected at least 1"));
        }
        if !(e.slc_factor > 0.0 && e.slc_factor.is_finite()) {
            return Some(format!("slc_factor of the endurance is {}, expected more than 0", e.slc_factor));
        }
        let v = &self.variation;
        let parts = [("dies", v.dies, 0.9), ("blocks", v.blocks, 0.9), ("word_lines", v.word_lines, 0.9)];
        if let Some((name, part, most)) = parts
            .into_iter()
            .chain([("bad_blocks", v.bad_blocks, 1.0)])
            .find(|(_, part, most)| !(0.0..=*most).contains(part))
        {
            return Some(format!("variation of {name} is {part}, expected 0 to {most}"));
        }
        let units = u64::from(self.geometry.all_dies()) * (1 + u64::from(all));
        if s.independent_reads && units >= u64::from(u16::MAX) {
            return Some(format!("independent reads of {units} dies and planes, expected fewer than 65535"));
        }
        self.error_fault()
    }

    fn error_fault(&self) -> Option<String> {
        let e = self.errors?;
        let values = [
            ("base", e.base),
            ("wear", e.wear),
            ("wear_exponent", e.wear_exponent),
            ("retention", e.retention),
            ("retention_exponent", e.retention_exponent),
            ("disturb", e.disturb),
            ("disturb_exponent", e.disturb_exponent),
            ("slc_factor", e.slc_factor),
            ("retry_factor", self.ecc.retry_factor),
            ("retry_floor", self.ecc.retry_floor),
        ];
        if let Some((name, v)) = values.into_iter().find(|(_, v)| !(v.is_finite() && *v >= 0.0)) {
            return Some(format!("{name} is {v}, expected zero or more"));
        }
        if !(e.reference_cycles >= 1.0 && e.reference_cycles.is_finite()) {
            return Some(format!("reference_cycles is {}, expected at least 1", e.reference_cycles));
        }
        if self.ecc.codeword_bytes == 0 || self.ecc.correctable_bits >= self.ecc.codeword_bytes * 8 {
            return Some(format!(
                "{} correctable bits of a codeword of {} bytes, expected fewer than it has",
                self.ecc.correctable_bits, self.ecc.codeword_bytes
            ));
        }
        (self.ecc.retries_max > 200).then(|| format!("{} read retries, expected at most 200", self.ecc.retries_max))
    }
}
