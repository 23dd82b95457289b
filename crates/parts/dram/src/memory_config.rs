//! Keys of DRAM as main memory, or as a cache in front of flash: table `[memory]`.

use keys::{BOOL, COUNT, Conflict, Kind, SIZE, TIME, assumed, expect, given, power_of_two, section, words};
use sim::Time;

use crate::controller::{Config, PagePolicy, Ranks, RefreshMode};
use crate::device::Device;

/// Number of ranks per channel between which addresses alternate. Assumed: server firmware offers 1, 2, 4 or 8. With
/// more ranks, streams lose more clocks to rank changes (tRTRS); with fewer, they wait for refreshes.
const RANK_INTERLEAVE: u32 = 4;

words! {
    /// Standards of main memory, each with a device of that name.
    Standard {
        /// JESD79-2, 400 MHz.
        Ddr2x800 = "ddr2-800",
        /// JESD79-3, 800 MHz.
        Ddr3x1600 = "ddr3-1600",
        /// JESD79-4, 1200 MHz.
        Ddr4x2400 = "ddr4-2400",
        /// JESD79-4, 1600 MHz.
        Ddr4x3200 = "ddr4-3200",
        /// JESD79-5, 2400 MHz.
        Ddr5x4800 = "ddr5-4800",
        /// JESD238, 1600 MHz; a channel is a pseudo-channel of 32 bits.
        Hbm3x6400 = "hbm3-6400",
        /// JESD238 at the rate of HBM3E, 2400 MHz; likewise.
        Hbm3ex9600 = "hbm3e-9600",
        /// JESD270-4, 2000 MHz; likewise.
        Hbm4x8000 = "hbm4-8000",
        /// Banks of SRAM on a base die, 1000 MHz.
        Sram2000 = "sram-2000",
    }
}

words! {
    /// Treatment of rows that no queued request needs; see [`PagePolicy`].
    #[derive(Default)]
    RowPolicy {
        /// A row stays open until another of its bank is needed, or until a refresh.
        #[default]
        Open = "open",
        /// The last queued request for a row closes it.
        Closed = "closed",
        /// A row is closed after a time without use.
        Timeout = "timeout",
    }
}

section! {
    /// Channels of DRAM in one address space.
    #[derive(Copy, Eq)]
    MemoryConfig {
        "memory.standard" standard: Standard = Kind::words(Standard::WORDS),
            given("ddr3-1600", "nvmm: Experimental Setup, DDR3 SDRAM"),
            "Standard of the DRAM. A channel of HBM is a pseudo-channel of 32 bits: 32 of HBM3 and HBM3E, 64 of HBM4 \
             are a stack, with a rank for each stack ID.",
            when "memory.type" is "dram" | "hybrid";
        "memory.channels" channels: u32 = COUNT.within(1.0, 64.0),
            assumed("4", "a server of the DDR3 era"),
            "DRAM channels, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.ranks" ranks: u32 = COUNT.within(1.0, 16.0),
            assumed("2", "one or two modules of one or two ranks"),
            "Ranks per channel with their own chip select, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.stack" stack: u32 = COUNT.within(1.0, 1024.0),
            assumed("1", "modules without rank multiplication"),
            "Ranks behind each chip select, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.interleave" interleave: u64 = SIZE.within(64.0, 65536.0),
            assumed("256B", "typical of servers, which spread a page over their channels"),
            "Granularity in bytes at which addresses alternate between channels, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.hash" hash: bool = BOOL,
            assumed("true", "controllers XOR channel and bank bits with row bits (Zhang et al., MICRO 2000)"),
            "Higher address bits permute channels, ranks and banks, so that streams a power of two apart do not \
             collide in one.",
            when "memory.type" is "dram" | "hybrid";
        "memory.refresh" refresh: RefreshMode = Kind::words(RefreshMode::WORDS),
            assumed("all-bank", "the default of memory controllers; same-bank refresh is an option of DDR5"),
            "How DRAM is refreshed: all-bank, a rank serves nothing meanwhile; same-bank, one bank of every group at a time, \
             the others are served (DDR5); per-bank, one bank at a time (HBM4), and idle ranks as a whole.",
            when "memory.type" is "dram" | "hybrid";
        "memory.refresh_postpone" refresh_postpone: u32 = COUNT.within(0.0, 8.0),
            assumed("0", "refreshes on time; controllers may postpone 4 (DDR5) or 8 of them while requests wait"),
            "Number of refreshes of a rank that may be late while requests wait for it.",
            when "memory.type" is "dram" | "hybrid";
        "memory.row_policy" row_policy: RowPolicy = Kind::words(RowPolicy::WORDS),
            assumed("open", "controllers keep rows open for requests that may follow, as public simulators do"),
            "When a row that no queued request needs is closed: open, by a request for another row or a refresh; closed, by \
             the last request queued for it; timeout, after memory.row_timeout without use.",
            when "memory.type" is "dram" | "hybrid";
        "memory.row_timeout" row_timeout: Time = TIME,
            assumed("150ns", "about three row cycles; controllers adapt it between tens and hundreds of nanoseconds"),
            "Time without use after which a row is closed.",
            when "memory.row_policy" is "timeout";
        "memory.read_queue" read_queue: u32 = COUNT.within(1.0, 128.0),
            assumed("64", "32 to 64 are plausible; with 32 a scheduler sees too few of many streams to group them by rank"),
            "Number of read bursts among which a channel's scheduler chooses.",
            when "memory.type" is "dram" | "hybrid";
        "memory.write_queue" write_queue: u32 = COUNT.within(1.0, 127.0),
            assumed("32", "as in public simulators"),
            "Number of write bursts that a channel's controller holds.",
            when "memory.type" is "dram" | "hybrid";
        "memory.write_high" write_high: u32 = COUNT.within(1.0, 127.0),
            assumed("26", "80 % of the queue, as in the generic controller of Ramulator 2"),
            "Number of queued write bursts at which writes are drained although reads wait.",
            when "memory.type" is "dram" | "hybrid";
        "memory.write_low" write_low: u32 = COUNT.within(0.0, 126.0),
            assumed("6", "20 % of the queue, as in the generic controller of Ramulator 2"),
            "Number of queued write bursts at which a drain ends.",
            when "memory.type" is "dram" | "hybrid";
        "memory.turn_min" turn_min: u32 = COUNT.within(1.0, 64.0),
            assumed("16", "half of the write queue: turning the bus takes about as long as ten bursts"),
            "Number of bursts that a channel serves in one direction, if they are there, before the bus turns.",
            when "memory.type" is "dram" | "hybrid";
        "memory.latency" latency: Time = TIME,
            assumed("20ns", "from the last cache over the ring and the controller, and back"),
            "Latency that the path to the DRAM and back adds to a read.",
            when "memory.type" is "dram" | "hybrid";
        "memory.power_down" power_down_after: Option<Time> = TIME.or("never"),
            given("160ns", "Intel, Core i7-4700 data sheet, volume 1, 4.3.2: firmware sets an idle timer of 128 clocks, of \
                800 MHz for DDR3-1600; performance settings turn power-down off"),
            "Idle time after which a rank enters power-down, which a request leaves after tXP.",
            when "memory.type" is "dram" | "hybrid";
        "memory.self_refresh" self_refresh_after: Option<Time> = TIME.or("never"),
            assumed("never", "memory in use does not refresh itself: processors enter the mode only in deep sleep of the \
                package (Intel, Core i7-4700 data sheet, volume 1, 4.3.2.2: C3 and deeper)"),
            "Idle time after which a rank enters self-refresh, which a request leaves after tXS.",
            when "memory.type" is "dram" | "hybrid";

        check several;
    }
}

impl MemoryConfig {
    /// Creates a configuration with one channel and one rank, without a path to the DRAM and without low-power modes.
    pub fn new(standard: Standard) -> MemoryConfig {
        MemoryConfig {
            standard,
            channels: 1,
            ranks: 1,
            stack: 1,
            interleave: 256,
            hash: true,
            refresh: RefreshMode::AllBank,
            refresh_postpone: 0,
            row_policy: RowPolicy::Open,
            row_timeout: Time::from_ns(150),
            read_queue: 64,
            write_queue: 32,
            write_high: 26,
            write_low: 6,
            turn_min: 16,
            latency: Time::ZERO,
            power_down_after: None,
            self_refresh_after: None,
        }
    }

    fn several(&self) -> Result<(), Conflict> {
        power_of_two("memory.channels", self.channels.into())?;
        power_of_two("memory.ranks", self.ranks.into())?;
        power_of_two("memory.stack", self.stack.into())?;
        power_of_two("memory.interleave", self.interleave)?;
        let refresh = &["memory.refresh", "memory.standard"];
        match self.refresh {
            RefreshMode::AllBank => {}
            RefreshMode::SameBank => {
                expect(self.standard == Standard::Ddr5x4800, refresh, "all-bank but for ddr5-4800")?;
            }
            RefreshMode::PerBank => {
                expect(self.standard == Standard::Hbm4x8000, refresh, "all-bank but for hbm4-8000")?;
            }
        }
        let postponed = self.refresh_postpone;
        let some_banks = self.refresh != RefreshMode::AllBank && postponed > 0;
        expect(!some_banks, &["memory.refresh_postpone", "memory.refresh"], "0 where memory.refresh is not all-bank")?;
        let most = self.device().timing.refresh_postpone_max;
        let keys = &["memory.refresh_postpone", "memory.standard"];
        expect(postponed <= most, keys, format!("at most {most}, which {} may owe", self.standard.word()))?;
        let keys = &["memory.write_high", "memory.write_queue"];
        expect(self.write_high <= self.write_queue, keys, format!("at most {}, the write queue", self.write_queue))?;
        let keys = &["memory.write_low", "memory.write_high"];
        expect(self.write_low < self.write_high, keys, format!("less than {}, where a drain begins", self.write_high))
    }

    /// Returns the DRAM devices of a rank.
    ///
    /// # Panics
    /// If there is no such preset, which cannot happen because the words are the presets' names.
    pub fn device(&self) -> Device {
        Device::preset(self.standard.word()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the capacity of all channels in bytes.
    pub fn bytes(&self) -> u64 {
        let ranks = u64::from(self.channels) * u64::from(self.ranks) * u64::from(self.stack);
        ranks * self.device().rank_bytes()
    }

    /// Returns the configuration of a channel with `ports` ports. Row addresses select among the ranks behind a chip
    /// select, as in modules with rank multiplication: they add capacity and power, and the controller treats them as
    /// one rank.
    pub fn channel(&self, ports: u8) -> Config {
        let mut config = Config::new(self.device());
        config.device.rows *= self.stack;
        let interleaved = self.ranks.min(RANK_INTERLEAVE);
        config.ranks = vec![Ranks { count: interleaved, ..config.ranks[0] }; (self.ranks / interleaved) as usize];
        (config.read_queue, config.write_queue) = (self.read_queue, self.write_queue);
        (config.write_high, config.write_low) = (self.write_high, self.write_low);
        config.turn_min = self.turn_min;
        config.page = match self.row_policy {
            RowPolicy::Open => PagePolicy::Open,
            RowPolicy::Closed => PagePolicy::Closed,
            RowPolicy::Timeout => PagePolicy::Timeout(self.row_timeout),
        };
        (config.refresh_mode, config.refresh_postpone) = (self.refresh, self.refresh_postpone);
        config.hash = self.hash;
        config.ports = ports;
        config.latency = self.latency;
        config.power_down_after = self.power_down_after;
        config.self_refresh_after = self.self_refresh_after;
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controllers_keys_reach_the_channel() {
        let keys = MemoryConfig {
            refresh_postpone: 3,
            row_policy: RowPolicy::Timeout,
            row_timeout: Time::from_ns(70),
            read_queue: 40,
            write_queue: 50,
            write_high: 30,
            write_low: 10,
            turn_min: 20,
            ..MemoryConfig::new(Standard::Ddr4x3200)
        };
        let channel = keys.channel(1);
        assert_eq!((channel.page, channel.refresh_postpone), (PagePolicy::Timeout(Time::from_ns(70)), 3));
        assert_eq!((channel.read_queue, channel.write_queue, channel.turn_min), (40, 50, 20));
        assert_eq!((channel.write_high, channel.write_low), (30, 10));
        let closed = MemoryConfig { row_policy: RowPolicy::Closed, ..keys };
        assert_eq!(closed.channel(1).page, PagePolicy::Closed);
    }

    #[test]
    fn every_standard_has_a_device_of_its_name() {
        for standard in Standard::ALL {
            let device = MemoryConfig::new(*standard).device();
            assert_eq!(device.name.to_lowercase(), standard.word());
        }
    }
}
