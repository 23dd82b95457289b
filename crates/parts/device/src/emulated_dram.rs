//! An SRAM buffer that emulates a DRAM towards the host (Seo et al., "Design and Implementation of A Mobile Storage
//! Leveraging the DRAM Interface", 4.1).
//!
//! Towards the host, a parser decodes commands and addresses, and a register holds the open row of each bank of the
//! emulated DRAM. Row and column together form an address in the buffer; data read there leaves through the serializer
//! in step with the host's clock. The buffer itself consists of eight (by default) single-ported SRAM banks with
//! neighboring lines in neighboring banks, so that a burst occupies one bank.
//!
//! The host's access always wins, because the DRAM interface has no wait states. A controller access to the bank
//! occupied by a burst is delayed until the burst is over.
//!
//! # How preemption is simulated
//!
//! The controller's accesses are simulated one line at a time in a loop, not as events: a transfer between buffer and
//! controller is accepted as a whole. A host transfer is a stream of bursts at a fixed pace, known when it starts, so
//! its position at any time is a division. Each controller access therefore sees which bank the host's streams occupy
//! at that moment and waits on a conflict, which delays all later accesses. A stream that starts while an accepted
//! transfer is in progress does not affect the rest of that transfer. Transfers accepted at once are the data of a
//! flash read or of a write command, about ten microseconds.

use sim::Time;

/// Configuration of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedDramConfig {
    /// Number of SRAM banks, a power of two.
    pub banks: u32,
    /// Bytes per line: one burst of the host, and one access of the controller.
    pub line: u32,
    /// Time for which a burst of the host occupies its bank.
    pub burst: Time,
    /// Bandwidth of the controller's interconnect in bytes per second.
    pub bandwidth: u64,
    /// Number of banks of the emulated DRAM.
    pub dram_banks: u32,
    /// Bytes per row of the emulated DRAM.
    pub row: u32,
}

/// A stream of host bursts: every `period`, `burst` lines back to back, in ascending order starting at line `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Start of the stream.
    pub from: Time,
    /// End of the stream.
    pub to: Time,
    /// Number of the first line.
    pub first: u64,
    /// Lines per burst.
    pub burst: u32,
    /// Time between the starts of two bursts.
    pub period: Time,
}

/// A command on the host's command and address pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusCommand {
    /// Opens `row` of `bank`.
    Activate {
        /// The bank.
        bank: u32,
        /// The row.
        row: u32,
    },
    /// Closes the row of `bank`.
    Precharge {
        /// The bank.
        bank: u32,
    },
    /// Reads or writes a line of the open row of `bank`.
    Access {
        /// The bank.
        bank: u32,
        /// Byte within the row.
        column: u32,
    },
}

/// Counters of the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankStats {
    /// Accesses of the controller, one line each.
    pub accesses: u64,
    /// Controller accesses during a stream of the host.
    pub beside_host: u64,
    /// Controller accesses delayed by a burst in the same bank.
    pub conflicts: u64,
    /// Total delay of these accesses.
    pub held_up: Time,
    /// Busy time of the controller's side of the buffer, delays included.
    pub busy: Time,
    /// Lines accessed by the host.
    pub host_lines: u64,
    /// Rows opened by the host.
    pub activations: u64,
}

/// An SRAM buffer that emulates a DRAM.
#[derive(Clone, Debug)]
pub struct EmulatedDram {
    config: EmulatedDramConfig,
    /// Time of an undisturbed controller access.
    access: Time,
    /// The bank status register: the open row of each bank.
    rows: Vec<Option<u32>>,
    /// Host streams that may still be in progress.
    streams: Vec<Stream>,
    /// Time at which the controller's side is free.
    free: Time,
    stats: BankStats,
}

impl EmulatedDram {
    /// Creates an idle buffer with all rows closed.
    ///
    /// # Panics
    /// Panics if the banks, line or row are not powers of two, or a row is smaller than a line.
    pub fn new(config: &EmulatedDramConfig) -> EmulatedDram {
        let EmulatedDramConfig { banks, line, row, dram_banks, .. } = *config;
        let powers = [banks, line, row, dram_banks].iter().all(|n| n.is_power_of_two());
        assert!(powers && line <= row, "{config:?}, expected powers of two and rows of whole lines");
        EmulatedDram {
            config: *config,
            access: Time::of_transfer(u64::from(line), config.bandwidth),
            rows: vec![None; dram_banks as usize],
            streams: Vec::with_capacity(8),
            free: Time::ZERO,
            stats: BankStats::default(),
        }
    }

    /// Returns the bytes per line.
    pub fn line(&self) -> u32 {
        self.config.line
    }

    /// Returns the bank and row of byte `offset`. Consecutive rows are in consecutive banks.
    pub fn place(&self, offset: u64) -> (u32, u32) {
        let row = offset / u64::from(self.config.row);
        let banks = u64::from(self.config.dram_banks);
        ((row % banks) as u32, (row / banks) as u32)
    }

    /// Executes a command in the parser. For an access, returns the byte of the buffer at which the line begins.
    ///
    /// # Panics
    /// Panics if the host breaks the rules of a DRAM: activates an open bank or accesses a closed one.
    pub fn command(&mut self, command: BusCommand) -> Option<u64> {
        match command {
            BusCommand::Activate { bank, row } => {
                let open = self.rows[bank as usize].replace(row);
                assert!(open.is_none(), "bank {bank} is activated with row {open:?} open");
                self.stats.activations += 1;
                None
            }
            BusCommand::Precharge { bank } => {
                self.rows[bank as usize] = None;
                None
            }
            BusCommand::Access { bank, column } => {
                let row = self.rows[bank as usize].unwrap_or_else(|| panic!("bank {bank} is accessed while not open"));
                let rows = u64::from(row) * u64::from(self.config.dram_banks) + u64::from(bank);
                Some(rows * u64::from(self.config.row) + u64::from(column / self.config.line * self.config.line))
            }
        }
    }

    /// Accesses the line at byte `offset` at `at`, with the commands of a memory controller that keeps rows open.
    /// Returns true if the row was open.
    pub fn host_line(&mut self, at: Time, offset: u64) -> bool {
        let (bank, row) = self.place(offset);
        let hit = self.open(bank, row);
        let column = (offset % u64::from(self.config.row)) as u32;
        let found = self.command(BusCommand::Access { bank, column });
        let line = offset / u64::from(self.config.line);
        assert_eq!(found, Some(line * u64::from(self.config.line)), "the parser finds the line that was meant");
        self.stats.host_lines += 1;
        self.stream(Stream { from: at, to: at + self.config.burst, first: line, burst: 1, period: self.config.burst });
        hit
    }

    /// Opens `row` of `bank`. Returns true if it was already open.
    fn open(&mut self, bank: u32, row: u32) -> bool {
        match self.rows[bank as usize] {
            Some(open) if open == row => return true,
            Some(_) => drop(self.command(BusCommand::Precharge { bank })),
            None => {}
        }
        self.command(BusCommand::Activate { bank, row });
        false
    }

    /// Streams `bytes` from byte `offset` for the host, and opens rows as needed. Returns the number of rows opened.
    pub fn host_stream(&mut self, from: Time, to: Time, offset: u64, bytes: u64, burst: u32, period: Time) -> u64 {
        let (line, row) = (u64::from(self.config.line), u64::from(self.config.row));
        let mut opened = 0;
        let mut at = offset / row * row;
        while at < offset + bytes {
            let (bank, row_number) = self.place(at);
            opened += u64::from(!self.open(bank, row_number));
            at += row;
        }
        self.stats.host_lines += bytes.div_ceil(line);
        self.stream(Stream { from, to, first: offset / line, burst, period });
        opened
    }

    fn stream(&mut self, stream: Stream) {
        // The controller, which accesses the buffer for every command, drops streams that are over.
        self.streams.push(stream);
    }

    /// Reads or writes `bytes` from byte `offset` for the controller, starting at `at` or when its side of the buffer
    /// is free. Returns the end.
    pub fn controller(&mut self, at: Time, offset: u64, bytes: u64) -> Time {
        let line = u64::from(self.config.line);
        let (first, lines) = (offset / line, bytes.div_ceil(line));
        let from = at.max(self.free);
        self.streams.retain(|s| s.to > from);
        self.stats.accesses += lines;
        let mut now = from;
        if self.streams.is_empty() {
            now += self.access * lines;
        } else {
            for i in 0..lines {
                now = self.wait(now, first + i) + self.access;
            }
        }
        self.stats.busy += now - from;
        self.free = now;
        now
    }

    /// Returns the time at which the controller gets the bank of `line`, not before `now`.
    #[inline]
    fn wait(&mut self, now: Time, line: u64) -> Time {
        let mask = u64::from(self.config.banks) - 1;
        let (mut at, mut beside) = (now, false);
        for s in &self.streams {
            if at < s.from || at >= s.to {
                continue;
            }
            beside = true;
            let since = (at - s.from).ps();
            let (number, within) = (since / s.period.ps(), since % s.period.ps());
            let taken = within / self.config.burst.ps();
            if taken < u64::from(s.burst) && (s.first + number * u64::from(s.burst) + taken) & mask == line & mask {
                let rest = self.config.burst.ps() - within % self.config.burst.ps();
                at += Time::from_ps(rest);
            }
        }
        self.stats.beside_host += u64::from(beside);
        if at > now {
            self.stats.conflicts += 1;
            self.stats.held_up += at - now;
        }
        at
    }

    /// Returns the counters until `now`. Busy time excludes work accepted for later.
    pub fn stats(&self, now: Time) -> BankStats {
        BankStats { busy: self.stats.busy.saturating_sub(self.free.saturating_sub(now)), ..self.stats }
    }

    /// Cuts the power.
    pub fn power_cut(&mut self, now: Time) {
        self.stats = self.stats(now);
        self.rows.fill(None);
        self.streams.clear();
        self.free = self.free.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONFIG: EmulatedDramConfig = EmulatedDramConfig {
        banks: 8,
        line: 32,
        burst: Time::from_ps(6_667),
        bandwidth: 2_128_000_000,
        dram_banks: 8,
        row: 2048,
    };

    #[test]
    fn the_parser_keeps_rows() {
        let mut buffer = EmulatedDram::new(&CONFIG);
        assert_eq!(buffer.command(BusCommand::Activate { bank: 3, row: 5 }), None);
        assert_eq!(buffer.command(BusCommand::Access { bank: 3, column: 70 }), Some((5 * 8 + 3) * 2048 + 64));
        buffer.command(BusCommand::Precharge { bank: 3 });
        assert!(!buffer.host_line(Time::ZERO, 2048 * 3), "another row is opened");
        assert!(buffer.host_line(Time::ZERO, 2048 * 3 + 2000));
        assert!(!buffer.host_line(Time::ZERO, 2048 * (3 + 8)), "the same bank, another row");
        assert_eq!(buffer.stats(Time::ZERO).activations, 3);
    }

    #[test]
    #[should_panic(expected = "not open")]
    fn a_closed_bank_cannot_be_read() {
        EmulatedDram::new(&CONFIG).command(BusCommand::Access { bank: 0, column: 0 });
    }

    #[test]
    fn alone_the_controller_has_its_bandwidth() {
        let mut buffer = EmulatedDram::new(&CONFIG);
        let end = buffer.controller(Time::ZERO, 0, 16384);
        assert_eq!(end, Time::of_transfer(32, CONFIG.bandwidth) * 512);
        assert_eq!(buffer.stats(end).conflicts, 0);
    }

    proptest! {
        /// Compares with the obvious implementation, in which every access checks every burst of every stream.
        #[test]
        fn preemption_is_what_every_burst_says(
            streams in prop::collection::vec((0u64..4000, 1u64..200, 0u64..64, 1u32..5, 0u64..40), 0..4),
            offset in 0u64..64,
            lines in 1u64..300,
        ) {
            let mut buffer = EmulatedDram::new(&CONFIG);
            let mut bursts: Vec<Vec<(u64, u64, u64)>> = Vec::new();
            for (start, count, first, burst, pause) in streams {
                let from = Time::from_ns(start);
                let period = Time::from_ps(CONFIG.burst.ps() * (u64::from(burst) + pause));
                let to = from + period * count;
                buffer.stream(Stream { from, to, first, burst, period });
                let mut each = Vec::new();
                for n in 0..count {
                    for i in 0..u64::from(burst) {
                        let begin = from.ps() + n * period.ps() + i * CONFIG.burst.ps();
                        each.push((begin, begin + CONFIG.burst.ps(), (first + n * u64::from(burst) + i) % 8));
                    }
                }
                bursts.push(each);
            }
            let (mut now, mut conflicts) = (0u64, 0);
            let access = Time::of_transfer(32, CONFIG.bandwidth).ps();
            for line in offset..offset + lines {
                let before = now;
                for each in &bursts {
                    if let Some((_, end, _)) = each.iter().find(|(b, e, bank)| *b <= now && now < *e && *bank == line % 8) {
                        now = *end;
                    }
                }
                conflicts += u64::from(now > before);
                now += access;
            }
            let end = buffer.controller(Time::ZERO, offset * 32, lines * 32);
            prop_assert_eq!(end.ps(), now);
            prop_assert_eq!(buffer.stats(end).conflicts, conflicts);
        }
    }
}
