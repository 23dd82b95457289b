//! The Host Memory Buffer of an NVMe controller, memory lent by the host (NVM Express Base Specification 1.3,
//! 5.21.1.13, Feature 0Dh, with the limits on descriptors of TP 4002).
//!
//! Identify Controller contains the controller's preferences. The host enables the buffer with a Set Features command
//! and a list of descriptors of its memory, and disables it with the same command. Before the controller completes a
//! command that disables the buffer, it fetches the data it still needs: the buffer is *releasing* until
//! [`Hmb::released`]. A reset disables it immediately.

use std::fmt;

use keys::{COUNT, Conflict, SIZE, Value, assumed, expect, given, section};

/// The unit of HMPRE, HMMIN and HMMINDS in bytes.
pub const UNIT: u64 = 4096;
/// Bytes of an entry of the Host Memory Descriptor List.
pub const DESCRIPTOR: u32 = 16;

section! {
    /// The controller's preferences about the buffer.
    #[derive(Copy, Eq)]
    HmbKeys {
        "device.hmb.size" size: u64 = SIZE,
            assumed("0B", "drives with DRAM do not need it"),
            "Preferred size (HMPRE), a multiple of 4KiB; the host lends at most host.hmb.limit. 0B: none.",
            when "link.type" is "pcie";
        "device.hmb.minimum" minimum: u64 = SIZE,
            given("0B", "NVMe Base Specification: HMMIN is 0 if any size is acceptable"),
            "Minimum usable size (HMMIN), a multiple of 4KiB; at most device.hmb.size, if that is set.",
            when "link.type" is "pcie";
        "device.hmb.min_descriptor" min_descriptor: u64 = SIZE,
            given("0B", "NVMe Base Specification: HMMINDS is 0 if any size is acceptable"),
            "Minimum usable size of a contiguous region (HMMINDS), a multiple of 4KiB.",
            when "link.type" is "pcie";
        "device.hmb.max_descriptors" max_descriptors: Option<u16> = COUNT.within(1.0, 65535.0).or("any"),
            given("any", "NVMe Base Specification: HMMAXD is 0 if any number is acceptable"),
            "Maximum number of usable regions (HMMAXD).",
            when "link.type" is "pcie";

        check pages;
    }
}

impl HmbKeys {
    /// Returns the fields of Identify Controller, all zero without a buffer.
    pub fn identify(&self) -> Identify {
        let units = |bytes: u64| (bytes / UNIT).min(u64::from(u32::MAX)) as u32;
        match self.size {
            0 => Identify::default(),
            size => Identify {
                hmpre: units(size),
                hmmin: units(self.minimum),
                hmminds: units(self.min_descriptor),
                hmmaxd: self.max_descriptors.unwrap_or(0),
            },
        }
    }

    fn pages(&self) -> Result<(), Conflict> {
        let (size, minimum) = ("device.hmb.size", "device.hmb.minimum");
        for (key, bytes) in
            [(size, self.size), (minimum, self.minimum), ("device.hmb.min_descriptor", self.min_descriptor)]
        {
            expect(bytes.is_multiple_of(UNIT), &[key], "a multiple of 4KiB")?;
        }
        let most = format!("at most {size} ({})", Value::Size(self.size).plain());
        expect(self.size == 0 || self.minimum <= self.size, &[minimum, size], most)
    }
}

/// The fields of Identify Controller about the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identify {
    /// Host Memory Buffer Preferred Size, in units of 4 KiB; 0 if the controller does not use one.
    pub hmpre: u32,
    /// Host Memory Buffer Minimum Size, in units of 4 KiB; at most HMPRE.
    pub hmmin: u32,
    /// Host Memory Buffer Minimum Descriptor Entry Size, in units of 4 KiB; 0 for any size.
    pub hmminds: u32,
    /// Host Memory Maximum Descriptors Entries; 0 for any number.
    pub hmmaxd: u16,
}

/// An entry of the Host Memory Descriptor List.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Buffer Address (BADD) in host memory, aligned to a memory page.
    pub address: u64,
    /// Buffer Size (BSIZE), in memory pages (CC.MPS).
    pub pages: u32,
}

/// A Set Features command for Feature 0Dh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFeatures {
    /// Enable Host Memory (EHM, Dword 11 bit 0).
    pub enable: bool,
    /// Memory Return (MR, Dword 11 bit 1): the memory is the same as before a reset, with its contents intact.
    pub memory_return: bool,
    /// Host Memory Buffer Size (HSIZE, Dword 12), in memory pages.
    pub size: u32,
    /// Host Memory Descriptor List Address (HMDLLA and HMDLUA, Dwords 13 and 14).
    pub list: u64,
    /// Host Memory Descriptor List Entry Count (HMDLEC, Dword 15).
    pub entries: u32,
}

impl SetFeatures {
    /// The command that disables the buffer.
    pub const DISABLE: SetFeatures = SetFeatures { enable: false, memory_return: false, size: 0, list: 0, entries: 0 };
}

/// Reason why a command is aborted, by its status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Invalid Field in Command (generic, 02h), with the field and the reason.
    InvalidField(&'static str),
    /// Command Sequence Error (generic, 0Ch), with the reason.
    CommandSequence(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::InvalidField(why) => write!(f, "Invalid Field in Command: {why}"),
            Refusal::CommandSequence(why) => write!(f, "Command Sequence Error: {why}"),
        }
    }
}

/// Effect of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The buffer may be used.
    Enabled {
        /// True if the host returned the memory with its contents from before a reset.
        kept: bool,
    },
    /// The controller has to fetch the data it still needs; the command completes after [`Hmb::released`].
    Releasing,
    /// No change: the buffer was already disabled.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HmbState {
    Disabled,
    Enabled,
    Releasing,
}

/// A Host Memory Buffer as seen by its controller.
#[derive(Clone, Debug)]
pub struct Hmb {
    identify: Identify,
    /// Bytes per memory page.
    page: u64,
    state: HmbState,
    /// The command and the list that last enabled the buffer, to recognize memory that the host returns.
    last: Option<(SetFeatures, Vec<Descriptor>)>,
    /// Usable bytes.
    bytes: u64,
}

impl Hmb {
    /// Creates the disabled buffer of a controller with the fields `identify` and a host with memory pages of `page`
    /// bytes.
    ///
    /// # Panics
    /// Panics if the minimum size is larger than the preferred size.
    pub fn new(identify: Identify, page: u64) -> Hmb {
        let Identify { hmpre, hmmin, .. } = identify;
        assert!(hmmin <= hmpre, "HMMIN is {hmmin}, more than HMPRE, {hmpre}");
        Hmb { identify, page, state: HmbState::Disabled, last: None, bytes: 0 }
    }

    /// Returns the fields of Identify Controller.
    pub fn identify(&self) -> Identify {
        self.identify
    }

    /// Returns true if the controller may use the buffer.
    pub fn is_enabled(&self) -> bool {
        self.state == HmbState::Enabled
    }

    /// Returns the usable bytes while the buffer is enabled. Descriptors that are too small or beyond the maximum
    /// number do not count.
    pub fn bytes(&self) -> u64 {
        if self.is_enabled() { self.bytes } else { 0 }
    }

    /// Returns the usable entries of the list that last enabled the buffer, in order: its bytes, while it has any.
    pub fn usable(&self) -> Vec<Descriptor> {
        let list = self.last.iter().flat_map(|(_, list)| list);
        self.usable_of(list).copied().collect()
    }

    /// Returns the entries of `list` that are large enough, up to the maximum number.
    fn usable_of<'a>(&self, list: impl Iterator<Item = &'a Descriptor>) -> impl Iterator<Item = &'a Descriptor> {
        let most = if self.identify.hmmaxd == 0 { usize::MAX } else { usize::from(self.identify.hmmaxd) };
        let (least, page) = (u64::from(self.identify.hmminds) * UNIT, self.page);
        list.filter(move |entry| u64::from(entry.pages) * page >= least).take(most)
    }

    /// Executes a command with its descriptor list.
    ///
    /// # Errors
    /// Fails with the status code if the command is aborted; the buffer is then unchanged. Assumed: sizes below HMMIN,
    /// empty entries and a return of different memory are aborted. The specification forbids the host to send them but
    /// names no status.
    pub fn set_features(&mut self, command: SetFeatures, list: &[Descriptor]) -> Result<Change, Refusal> {
        use Refusal::{CommandSequence, InvalidField};
        if self.identify.hmpre == 0 {
            return Err(InvalidField("FID: HMPRE is 0, the controller has no Host Memory Buffer"));
        }
        if !command.enable {
            return match self.state {
                HmbState::Disabled => Ok(Change::Nothing),
                HmbState::Releasing => Err(CommandSequence("EHM: it is being disabled")),
                HmbState::Enabled => {
                    self.state = HmbState::Releasing;
                    Ok(Change::Releasing)
                }
            };
        }
        if self.state != HmbState::Disabled {
            return Err(CommandSequence("EHM: it is enabled"));
        }
        let bytes = self.check(&command, list)?;
        let kept = command.memory_return;
        if kept {
            let Some((last, descriptors)) = &self.last else {
                return Err(InvalidField("MR: no memory was given before"));
            };
            let same = last.size == command.size && last.list == command.list && last.entries == command.entries;
            if !same || descriptors != list {
                return Err(InvalidField("MR: it is not the memory that was given before"));
            }
        }
        self.bytes = bytes;
        self.last = Some((SetFeatures { memory_return: false, ..command }, list.to_vec()));
        self.state = HmbState::Enabled;
        Ok(Change::Enabled { kept })
    }

    /// Checks the command's fields. Returns the bytes of the usable entries.
    fn check(&self, command: &SetFeatures, list: &[Descriptor]) -> Result<u64, Refusal> {
        use Refusal::InvalidField;
        if command.entries as usize != list.len() || list.is_empty() {
            return Err(InvalidField("HMDLEC: no entries, or others than the list has"));
        }
        if !command.list.is_multiple_of(u64::from(DESCRIPTOR)) {
            return Err(InvalidField("HMDLLA: not aligned to 16 bytes"));
        }
        if u64::from(command.size) * self.page < u64::from(self.identify.hmmin) * UNIT {
            return Err(InvalidField("HSIZE: less than HMMIN"));
        }
        let mut pages = 0u64;
        for entry in list {
            if entry.pages == 0 || !entry.address.is_multiple_of(self.page) {
                return Err(InvalidField("descriptor: empty, or not aligned to a memory page"));
            }
            pages += u64::from(entry.pages);
        }
        if pages != u64::from(command.size) {
            return Err(InvalidField("HSIZE: not the sum of the descriptors"));
        }
        let bytes: u64 = self.usable_of(list.iter()).map(|entry| u64::from(entry.pages) * self.page).sum();
        if bytes < u64::from(self.identify.hmmin) * UNIT || bytes == 0 {
            return Err(InvalidField("descriptors: too many or too small, what is left is less than HMMIN"));
        }
        Ok(bytes)
    }

    /// Completes the command that disables the buffer, once the controller needs no more data from it.
    ///
    /// # Panics
    /// Panics if no such command is in progress.
    pub fn released(&mut self) {
        assert_eq!(self.state, HmbState::Releasing, "no command disables the Host Memory Buffer");
        self.state = HmbState::Disabled;
    }

    /// Performs a controller-level reset, which disables the buffer immediately. The host may return it.
    pub fn reset(&mut self) {
        self.state = HmbState::Disabled;
    }

    /// Cuts the host's power: its memory loses its contents, so no memory can be returned.
    pub fn power_cut(&mut self) {
        self.reset();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    /// 8 to 480 MiB in at most 16 extents of at least 16 KiB.
    const IDENTIFY: Identify = Identify { hmpre: 480 * 256, hmmin: 8 * 256, hmminds: 4, hmmaxd: 16 };

    fn list(pieces: &[u64]) -> Vec<Descriptor> {
        let piece =
            |(i, bytes): (usize, &u64)| Descriptor { address: (i as u64 + 1) << 32, pages: (bytes / 4096) as u32 };
        pieces.iter().enumerate().map(piece).collect()
    }

    fn enable(list: &[Descriptor]) -> SetFeatures {
        let size = list.iter().map(|entry| entry.pages).sum();
        SetFeatures { enable: true, memory_return: false, size, list: 0x1000, entries: list.len() as u32 }
    }

    #[test]
    fn it_is_enabled_and_given_back() {
        let mut hmb = Hmb::new(IDENTIFY, 4096);
        let list = list(&[4 * MIB, 4 * MIB]);
        assert_eq!(hmb.set_features(SetFeatures::DISABLE, &[]), Ok(Change::Nothing));
        assert_eq!(hmb.set_features(enable(&list), &list), Ok(Change::Enabled { kept: false }));
        assert_eq!(hmb.bytes(), 8 * MIB);
        let again = Refusal::CommandSequence("EHM: it is enabled");
        assert_eq!(hmb.set_features(enable(&list), &list), Err(again));
        assert_eq!(again.to_string(), "Command Sequence Error: EHM: it is enabled");
        assert_eq!(hmb.set_features(SetFeatures::DISABLE, &[]), Ok(Change::Releasing));
        assert_eq!(
            hmb.set_features(SetFeatures::DISABLE, &[]),
            Err(Refusal::CommandSequence("EHM: it is being disabled"))
        );
        assert_eq!(hmb.bytes(), 0);
        assert_eq!(hmb.set_features(enable(&list), &list), Err(again));
        hmb.released();
        assert_eq!(hmb.set_features(enable(&list), &list), Ok(Change::Enabled { kept: false }));
    }

    #[test]
    fn what_the_host_may_not_say_is_refused() {
        let whole = list(&[8 * MIB]);
        let good = enable(&whole);
        let mut rows: Vec<(SetFeatures, Vec<Descriptor>, &str)> = vec![
            (SetFeatures { entries: 0, ..good }, vec![], "HMDLEC: no entries, or others than the list has"),
            (SetFeatures { entries: 2, ..good }, whole.clone(), "HMDLEC: no entries, or others than the list has"),
            (SetFeatures { list: 0x1008, ..good }, whole.clone(), "HMDLLA: not aligned to 16 bytes"),
            (SetFeatures { size: 2049, ..good }, whole.clone(), "HSIZE: not the sum of the descriptors"),
            (SetFeatures { memory_return: true, ..good }, whole.clone(), "MR: no memory was given before"),
        ];
        let small = list(&[7 * MIB]);
        rows.push((enable(&small), small, "HSIZE: less than HMMIN"));
        let empty = list(&[8 * MIB, 0]);
        rows.push((enable(&empty), empty, "descriptor: empty, or not aligned to a memory page"));
        let astray = vec![Descriptor { address: 0x800, pages: 2048 }];
        rows.push((enable(&astray), astray, "descriptor: empty, or not aligned to a memory page"));
        let many = list(&[MIB / 4; 40]);
        rows.push((enable(&many), many, "descriptors: too many or too small, what is left is less than HMMIN"));
        let crumbs = list(&[12 << 10; 1000]);
        rows.push((enable(&crumbs), crumbs, "descriptors: too many or too small, what is left is less than HMMIN"));
        for (command, list, why) in rows {
            let mut hmb = Hmb::new(IDENTIFY, 4096);
            assert_eq!(hmb.set_features(command, &list), Err(Refusal::InvalidField(why)));
            assert!(!hmb.is_enabled());
            assert_eq!(hmb.set_features(good, &whole), Ok(Change::Enabled { kept: false }), "nothing has changed");
        }
        let mut none = Hmb::new(Identify::default(), 4096);
        let why = "FID: HMPRE is 0, the controller has no Host Memory Buffer";
        assert_eq!(none.set_features(good, &whole), Err(Refusal::InvalidField(why)));
    }

    #[test]
    fn entries_that_are_too_small_or_too_many_are_not_used() {
        let mut hmb = Hmb::new(IDENTIFY, 4096);
        let mut list = list(&[MIB; 20]);
        list[3].pages = 2;
        assert_eq!(hmb.set_features(enable(&list), &list), Ok(Change::Enabled { kept: false }));
        assert_eq!(hmb.bytes(), 16 * MIB);
    }

    #[test]
    fn memory_is_returned_after_a_reset_if_it_is_the_same() {
        let mut hmb = Hmb::new(IDENTIFY, 4096);
        let first = list(&[4 * MIB, 4 * MIB]);
        assert_eq!(hmb.set_features(enable(&first), &first), Ok(Change::Enabled { kept: false }));
        hmb.reset();
        assert_eq!(hmb.bytes(), 0);
        let back = |list: &[Descriptor]| SetFeatures { memory_return: true, ..enable(list) };
        let other = list(&[6 * MIB, 4 * MIB]);
        let not_it = Err(Refusal::InvalidField("MR: it is not the memory that was given before"));
        assert_eq!(hmb.set_features(back(&other), &other), not_it);
        assert_eq!(hmb.set_features(back(&first), &first), Ok(Change::Enabled { kept: true }));
        hmb.power_cut();
        let none = Err(Refusal::InvalidField("MR: no memory was given before"));
        assert_eq!(hmb.set_features(back(&first), &first), none);
    }
}
