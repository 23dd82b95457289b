//! Configuration of a flash array: everything that a system file can specify.

use media::Geometry;
use sim::Time;

use crate::store::{Order, PayloadKind};

/// Bits per cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// One.
    Slc,
    /// Two.
    Mlc,
    /// Three.
    Tlc,
    /// Four.
    Qlc,
}

impl Cell {
    /// Returns the bits per cell, which is also the number of page types: a page's type is its number modulo this.
    pub const fn bits(self) -> u32 {
        match self {
            Cell::Slc => 1,
            Cell::Mlc => 2,
            Cell::Tlc => 3,
            Cell::Qlc => 4,
        }
    }
}

/// Times of the array, the commands and the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Array read (ONFI tR) by page type; as many as the cell has bits are used.
    pub read: [Time; 4],
    /// Array program (ONFI tPROG) by page type.
    pub program: [Time; 4],
    /// Block erase (ONFI tBERS).
    pub erase: Time,
    /// Array read of a block in SLC mode.
    pub slc_read: Time,
    /// Array program of a block in SLC mode.
    pub slc_program: Time,
    /// Erase of a block in SLC mode.
    pub slc_erase: Time,
    /// Transfers per second on the 8-bit data bus of a channel (ONFI NV-DDR, Toggle), one byte each.
    pub transfers_per_s: u64,
    /// Channel time of the command and address cycles of a read, per plane.
    pub read_command: Time,
    /// Channel time of the command and address cycles of a program, per plane; its data follows immediately.
    pub program_command: Time,
    /// Channel time of the command and address cycles of an erase, per plane.
    pub erase_command: Time,
}

/// Order of operations on a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// In order of arrival.
    Fifo,
    /// Reads of the map first, since reads of the host wait for them (as in MQSim, Tavakkol et al., FAST 2018); then
    /// reads of the host; then all others in order of arrival. On the channel, the data of these reads precedes that of
    /// other reads and of programs.
    ReadsFirst,
}

/// Whether a read of the page in a plane's register skips sensing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Always sensed.
    Never,
    /// Skipped for reads that arrive while their die is busy; an idle die counts as having lost its registers.
    Queued,
    /// Skipped until another operation uses the register.
    Held,
}

/// Sharing of dies and channels among operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// Priority of operations.
    pub policy: Policy,
    /// At most this many reads overtake a waiting or suspended program or erase (and, on a channel, waiting data), and
    /// this many reads of the map overtake a waiting read of the host, so that none waits forever.
    pub overtakes_max: u32,
    /// Commands precede data that waits for their channel, so that an array never idles for lack of a command;
    /// otherwise they follow it.
    pub commands_first: bool,
    /// The array reads the next page while the previous one leaves through the cache register (ONFI Read Cache). Where
    /// reads have priority, reads of collection are a sequence: the command for the next page arrives ahead.
    pub cache_read: bool,
    /// The next page's data arrives in the cache register while the array programs (ONFI Program Cache).
    pub cache_program: bool,
    /// Single-plane reads on different planes of a die overlap (independent plane reads), while the die neither programs
    /// nor erases. No command arrives ahead then.
    pub independent_reads: bool,
    /// Whether a read of the page in a plane's register skips sensing.
    pub reuse_page: Reuse,
    /// A read of the host or of the map interrupts a program under way.
    pub program_suspend: bool,
    /// A read of the host or of the map interrupts an erase under way.
    pub erase_suspend: bool,
    /// Time from the suspend command until the array is free. An operation that would end sooner is not suspended.
    pub suspend_latency: Time,
    /// Additional time of a resumed operation.
    pub resume_overhead: Time,
    /// Maximum number of suspensions of one operation.
    pub suspensions_max: u32,
    /// Maximum number of programs under way at once on all dies, from their submission to their end; `None`: any. Those
    /// beyond it wait in order of submission, while their dies can read and erase.
    pub programs_max: Option<u32>,
}

impl Default for Scheduling {
    /// Assumed: a plain controller of today. Reads first without suspension, no cache operations; 32 overtaking reads
    /// delay a program by two to three milliseconds at most. The suspension times matter only if suspension is on.
    fn default() -> Scheduling {
        Scheduling {
            policy: Policy::ReadsFirst,
            overtakes_max: 32,
            commands_first: true,
            cache_read: false,
            cache_program: false,
            independent_reads: false,
            reuse_page: Reuse::Never,
            program_suspend: false,
            erase_suspend: false,
            suspend_latency: Time::from_us(20),
            resume_overhead: Time::from_us(10),
            suspensions_max: 8,
            programs_max: None,
        }
    }
}

/// Distribution of the pages' endurance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Normal; a draw below one cycle counts as one.
    Normal,
    /// Log-normal with the same mean and deviation.
    LogNormal,
}

/// Program-erase cycles that a page endures before its programs fail; the failure of a block's erases is drawn
/// separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endurance {
    /// Shape of the distribution.
    pub spread: Spread,
    /// Mean, in cycles.
    pub mean: f64,
    /// Standard deviation, in cycles.
    pub deviation: f64,
    /// Endurance of a block in SLC mode, as a multiple.
    pub slc_factor: f64,
}

/// Failures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Endurance; `None`: flash that never wears out.
    pub endurance: Option<Endurance>,
    /// Probability that a block of a plane is bad as delivered.
    pub factory_bad: f64,
    /// Probability that a program fails, independent of wear.
    pub program_failure: f64,
    /// Probability that an erase fails, independent of wear.
    pub erase_failure: f64,
    /// Blocks are used in both modes: the wear of each erase depends on the mode that it ends.
    pub modes: bool,
}

/// Raw bit errors: `base + (wear + retention) + disturb`, each growing with the block's cycles.
///
/// With `c = cycles / reference_cycles`, the bit error rate is
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Rate of a fresh page just written.
    pub base: f64,
    /// Cycles at which `wear`, `retention` and `disturb` are given.
    pub reference_cycles: f64,
    /// Increase by wear alone.
    pub wear: f64,
    /// Exponent of its growth with cycles.
    pub wear_exponent: f64,
    /// Increase per day since the program.
    pub retention: f64,
    /// Exponent of its growth with days.
    pub retention_exponent: f64,
    /// Increase per read of the block since its erase.
    pub disturb: f64,
    /// Exponent of its growth with cycles.
    pub disturb_exponent: f64,
    /// Factor on the total rate of a block in SLC mode.
    pub slc_factor: f64,
}

impl Errors {
    /// Assumed: of the order measured on 3D TLC of about 3,000 cycles; see the survey above.
    pub const TLC: Errors = Errors {
        base: 1e-5,
        reference_cycles: 3000.0,
        wear: 2e-4,
        wear_exponent: 1.5,
        retention: 1e-4,
        retention_exponent: 0.6,
        disturb: 3e-9,
        disturb_exponent: 1.5,
        slc_factor: 0.01,
    };
}

/// The error correction of the controller. Without [`Errors`] only its decode time matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecc {
    /// Data bytes of a codeword.
    pub codeword_bytes: u32,
    /// Correctable bit errors per codeword.
    pub correctable_bits: u32,
    /// Decoding time after the data has left the die.
    pub decode: Time,
    /// Number of decoders, shared by all channels; `None`: unlimited.
    pub decoders: Option<u32>,
    /// Bytes per second of a decoder, in addition to [`decode`](Self::decode); `None`: unlimited.
    pub decode_bandwidth: Option<u64>,
    /// Bytes per second of the one encoder that all channels share and that a program's data passes on its way to the
    /// die; `None`: one encoder per channel, never slower than the channel.
    pub encode_bandwidth: Option<u64>,
    /// Read-retry steps after a failed decode, each another array read, transfer and decode.
    pub retries_max: u8,
    /// Factor on the raw bit error rate per step: a shifted read voltage finds fewer errors.
    pub retry_factor: f64,
    /// Fraction of the raw bit error rate that no step removes: errors of cells whose states overlap.
    pub retry_floor: f64,
}

impl Default for Ecc {
    /// Assumed: 72 bits of 1 KiB, as a BCH code of the TLC generation corrects; decoding hidden behind the transfer;
    /// retries that halve the errors, down to a tenth.
    fn default() -> Ecc {
        Ecc {
            codeword_bytes: 1024,
            correctable_bits: 72,
            decode: Time::ZERO,
            decoders: None,
            decode_bandwidth: None,
            encode_bandwidth: None,
            retries_max: 7,
            retry_factor: 0.5,
            retry_floor: 0.1,
        }
    }
}

/// Faults injected for tests, as probabilities per operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// A read ends uncorrectable, after all retries.
    pub read: f64,
    /// A program fails.
    pub program: f64,
    /// An erase fails.
    pub erase: f64,
    /// A die on which every operation fails.
    pub die: Option<u16>,
}

/// Variation between locations of the flash, as fractions of the nominal values: 0.1 means from 10 % below to 10 %
/// above, 0 means none. The value of a location follows from its address and the seed, and never changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Array times by die, drawn uniformly.
    pub dies: f64,
    /// Array times by block, drawn uniformly.
    pub blocks: f64,
    /// Array times along a block: linear from the first word line (fastest) to the last (slowest).
    pub word_lines: f64,
    /// Share of factory bad blocks by die, drawn uniformly.
    pub bad_blocks: f64,
}

/// Power in microwatts, and energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// A plane's array while it reads.
    pub read_uw: u64,
    /// A plane's array while it programs.
    pub program_uw: u64,
    /// A plane's array while it erases.
    pub erase_uw: u64,
    /// A channel and the die on it while data are transferred.
    pub transfer_uw: u64,
    /// Additional energy per transferred byte, in picojoules.
    pub transfer_pj_per_byte: u64,
    /// A die whose array is idle.
    pub standby_uw: u64,
}

/// Configuration of a flash array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Its geometry.
    pub geometry: Geometry,
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
    /// Error correction.
    pub ecc: Ecc,
    /// Age of the flash's content when the run begins, in seconds, for its retention errors.
    pub age_s: u32,
    /// Program-erase cycles of every block when the flash is created.
    pub cycles: u32,
    /// Variation between dies, blocks and word lines.
    pub variation: Variation,
    /// Injected faults.
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
            ("faults.program", self.faults.program),
            ("faults.erase", self.faults.erase),
        ];
        if let Some((name, p)) = chances.into_iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
            return Some(format!("{name} is {p}, expected a probability"));
        }
        if let Some(e) = self.wear.endurance
            && !(e.mean >= 1.0 && e.deviation >= 0.0 && e.mean.is_finite() && e.deviation.is_finite())
        {
            return Some(format!("endurance is {} +- {} cycles, expected at least 1", e.mean, e.deviation));
        }
        if let Some(e) = self.wear.endurance
            && !(e.slc_factor > 0.0 && e.slc_factor.is_finite())
        {
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
        let units = u64::from(self.geometry.all_dies()) * (1 + u64::from(self.geometry.planes));
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
