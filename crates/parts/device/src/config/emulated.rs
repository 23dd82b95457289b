//! Configuration of the controller behind a shared buffer that looks like a DRAM.

use keys::{COUNT, Conflict, ENERGY, FREQUENCY, POWER, SIZE, assumed, expect, given, power_of_two, section};
use media::SECTOR;

const FIRMWARE_CYCLES: &str = "a few thousand instructions per command without cache misses, from scratchpad memory";

section! {
    /// Configuration specific to a device behind a shared buffer.
    #[derive(Copy, Eq)]
    SharedBufferConfig {
        "device.emulated.clock" clock: u64 = FREQUENCY.within(1e6, 10e9),
            given("266MHz", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, Table 1"),
            "Clock of the controller's cores and interconnect.",
            when "link.type" is "shared-buffer";
        "device.emulated.width" width: u64 = SIZE.within(4.0, 64.0),
            assumed("8B", "64-bit AXI"),
            "Bytes per cycle of the controller's interconnect, a power of two.",
            when "link.type" is "shared-buffer";
        "device.emulated.banks" banks: u32 = COUNT.within(1.0, 64.0),
            given("8", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 4.1"),
            "Single-ported SRAM banks of the buffer, a power of two.",
            when "link.type" is "shared-buffer";
        "device.emulated.boot" boot: Option<u64> = SIZE.within(512.0, 1073741824.0).or("none"),
            given("none", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 7.2: a suggestion"),
            "Boot mode: this many bytes from the start can be read without commands, until the first command is sent.",
            when "link.type" is "shared-buffer";
        "ftl.unit" unit: u32;
        "flash.page" page: u32;

        /// Costs of the firmware.
        table cycles: Cycles;
        /// Power consumption.
        table power: ControllerPower;

        check sound;
    }
}

impl SharedBufferConfig {
    /// Returns the bytes per second of the controller's interconnect.
    pub fn bandwidth(&self) -> u64 {
        self.clock * self.width
    }

    fn sound(&self) -> Result<(), Conflict> {
        let whole = self.boot.is_none_or(|bytes| bytes.is_multiple_of(SECTOR));
        expect(whole, &["device.emulated.boot"], "a multiple of 512B")?;
        power_of_two("device.emulated.width", self.width)?;
        power_of_two("device.emulated.banks", u64::from(self.banks))
    }
}

impl Default for SharedBufferConfig {
    /// The defaults of the keys where `link.type` is `shared-buffer`.
    fn default() -> SharedBufferConfig {
        crate::config::default_where("shared-buffer")
    }
}

section! {
    /// Firmware costs in cycles of a core, of its three layers: host interface (fetch, complete), translation (command,
    /// unit) and flash interface (page).
    #[derive(Copy, Eq)]
    Cycles {
        "device.emulated.fetch" fetch: u64 = COUNT.within(0.0, 1e6),
            assumed("2500", FIRMWARE_CYCLES),
            "Cycles to detect, fetch and decode a submission queue entry.",
            when "link.type" is "shared-buffer";
        "device.emulated.complete" complete: u64 = COUNT.within(0.0, 1e6),
            assumed("2000", FIRMWARE_CYCLES),
            "Cycles to prepare and post a completion.",
            when "link.type" is "shared-buffer";
        "device.emulated.command" command: u64 = COUNT.within(0.0, 1e6),
            assumed("1000", FIRMWARE_CYCLES),
            "Cycles of the translation layer per command.",
            when "link.type" is "shared-buffer";
        "device.emulated.unit" unit: u64 = COUNT.within(0.0, 1e6),
            assumed("60", FIRMWARE_CYCLES),
            "Cycles of the translation layer per mapping unit of a command.",
            when "link.type" is "shared-buffer";
        "device.emulated.page" page: u64 = COUNT.within(0.0, 1e6),
            assumed("500", FIRMWARE_CYCLES),
            "Cycles of the flash interface layer per transferred page.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Power of the controller: a constant part, and the consumption of active parts, in microwatts and picojoules per byte.
    #[derive(Copy, Eq)]
    ControllerPower {
        "device.power.always" always_uw: u64 = POWER,
            assumed("100mW", "clocks, leakage and the interfaces' delay-locked loops of a controller of 28 nm"),
            "Constant power of the controller.",
            when "link.type" is "shared-buffer";
        "device.power.core" core_uw: u64 = POWER,
            assumed("30mW", "about 0.1 mW per MHz, an embedded core in 28 nm"),
            "Additional power of an active core.",
            when "link.type" is "shared-buffer";
        "device.power.interface_energy" interface_pj: u64 = ENERGY,
            assumed("80pJ", "10 pJ per bit: LPDDR3 pads and the logic behind them"),
            "Energy per byte that the host reads or writes.",
            when "link.type" is "shared-buffer";
        "device.power.buffer_energy" buffer_pj: u64 = ENERGY,
            assumed("100pJ", "an SRAM of a few hundred KiB is written and read, and the interconnect carries the data"),
            "Energy per byte that passes between the data buffer and the flash interface.",
            when "link.type" is "shared-buffer";
        "device.power.decode_energy" decode_pj: u64 = ENERGY,
            assumed("170pJ", "a 28 nm LDPC decoder at 533 MB/s consumes about 90 mW"),
            "Energy per decoded byte.",
            when "link.type" is "shared-buffer";
        "device.power.encode_energy" encode_pj: u64 = ENERGY,
            assumed("40pJ", "encoding takes a quarter of the work"),
            "Energy per encoded byte.",
            when "link.type" is "shared-buffer";
    }
}
