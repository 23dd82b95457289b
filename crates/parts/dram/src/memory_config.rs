//! Keys of DRAM as main memory, or as a cache in front of flash: table `[memory]`.

use keys::{BOOL, COUNT, Conflict, Kind, SIZE, TIME, assumed, expect, given, power_of_two, section, words};
use sim::Time;

use crate::controller::{Config, Ranks, RefreshMode};
use crate::device::Device;

/// Number of ranks per channel between which addresses alternate. Assumed: server firmware offers 1, 2, 4 or 8. With
/// more ranks, streams lose more clocks to rank changes (tRTRS); with fewer, they wait for refreshes.
const RANK_INTERLEAVE: u32 = 4;
/// Number of read bursts among which a channel's scheduler chooses. Assumed; 32 to 64 are plausible. With 32 it sees
/// too few of many streams to group them by rank.
const READ_QUEUE: u32 = 64;

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
             the others are served (DDR5).",
            when "memory.type" is "dram" | "hybrid";
        "memory.latency" latency: Time = TIME,
            assumed("20ns", "from the last cache over the ring and the controller, and back"),
            "Latency that the path to the DRAM and back adds to a read.",
            when "memory.type" is "dram" | "hybrid";
        "memory.power_down" power_down_after: Option<Time> = TIME.or("never"),
            assumed("1us", "unused DRAM is allowed low-power modes (nvmm: Performance, Power, and Energy Comparisons)"),
            "Idle time after which a rank enters power-down.",
            when "memory.type" is "dram" | "hybrid";
        "memory.self_refresh" self_refresh_after: Option<Time> = TIME.or("never"),
            assumed("100us", "unused DRAM is allowed low-power modes (nvmm: Performance, Power, and Energy \
                Comparisons)"),
            "Idle time after which a rank enters self-refresh.",
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
        let all_bank = self.refresh == RefreshMode::AllBank;
        let is_ddr5 = self.standard == Standard::Ddr5x4800;
        expect(all_bank || is_ddr5, &["memory.refresh", "memory.standard"], "all-bank but for ddr5-4800")
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
        config.read_queue = READ_QUEUE;
        config.refresh_mode = self.refresh;
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
    fn every_standard_has_a_device_of_its_name() {
        for standard in Standard::ALL {
            let device = MemoryConfig::new(*standard).device();
            assert_eq!(device.name.to_lowercase(), standard.word());
        }
    }
}
