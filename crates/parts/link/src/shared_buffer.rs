//! Link parameters of a storage device on a memory channel. The `dram` crate models the bus itself.

use keys::{Conflict, Kind, RATE, SIZE, assumed, expect, given, power_of_two, section, words};
use media::SECTOR;

words! {
    /// Memory channel of a device.
    Channel {
        /// A separate channel.
        Own = "own",
        /// The DRAM's channel.
        Shared = "shared",
    }
}

words! {
    /// Memory standards of a device's bus, by the names of their `dram` presets.
    Memory {
        /// 600 MHz.
        Lpddr3x1200 = "lpddr3-1200",
        /// 800 MHz.
        Lpddr3x1600 = "lpddr3-1600",
        /// 2133 MHz.
        Lpddr4Xx4266 = "lpddr4x-4266",
        /// 3200 MHz.
        Lpddr5x6400 = "lpddr5-6400",
    }
}

section! {
    /// Position and size of the shared buffer on the memory bus.
    #[derive(Eq)]
    SharedBufferConfig {
        "link.data_buffer" data_buffer: u64 = SIZE.within(4096.0, 1073741824.0),
            assumed("512KiB", "throughput does not grow beyond it (Seo et al., A Mobile Storage Leveraging the DRAM \
                Interface, 6.3)"),
            "Size of the shared buffer's data area, a multiple of the sector size.",
            when "link.type" is "shared-buffer";
        "link.memory" memory: Memory = Kind::words(Memory::WORDS),
            given("lpddr3-1200", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, Table 2: LPDDR3 at 600 \
                MHz"),
            "Standard of the memory bus, which determines its timing.",
            when "link.type" is "shared-buffer";
        "link.channel" channel: Channel = Kind::words(Channel::WORDS),
            given("own", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.1"),
            "Whether the device has its own memory channel, or shares the DRAM's.",
            when "link.type" is "shared-buffer";
        "link.interleave" interleave: Option<u64> = SIZE.within(64.0, 1073741824.0).or("outside"),
            given("outside", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 7.1: it cannot participate"),
            "Position of the buffer: outside the interleaved region, contiguous; or inside, in granules of this size.",
            when "link.type" is "shared-buffer";
        "host.mover.traffic" traffic: u64 = RATE.least(0.0),
            given("0B/s", "no other program runs while storage is measured"),
            "Bytes per second that other programs read and write in DRAM.",
            when "link.type" is "shared-buffer";

        check sectors;
    }
}

impl Default for SharedBufferConfig {
    /// The defaults of the keys where `link.type` is `shared-buffer`.
    fn default() -> SharedBufferConfig {
        crate::config::default_where("shared-buffer")
    }
}

impl SharedBufferConfig {
    fn sectors(&self) -> Result<(), Conflict> {
        expect(self.data_buffer.is_multiple_of(SECTOR), &["link.data_buffer"], "a multiple of 512B")?;
        let Some(granule) = self.interleave else { return Ok(()) };
        power_of_two("link.interleave", granule)?;
        let sector = "at least 512B, a sector, of which the data buffer is made";
        expect(granule >= SECTOR, &["link.interleave"], sector)
    }
}
