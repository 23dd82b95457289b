//! Configuration of the firmware: processor time per command.

use keys::{COUNT, TIME, assumed, section};
use media::Op;
use sim::Time;

const FIRMWARE: &str = "a few hundred instructions per command on processors of about 1 GHz";

section! {
    /// Processor time per command, before and after its execution. Zero stands for hardware that takes no extra time. The
    /// cores share the work first come first served.
    #[derive(Copy, Eq)]
    Firmware {
        "device.firmware.cores" cores: u32 = COUNT.within(1.0, 64.0),
            assumed("2", "enough that a million commands per second, typical of client drives of 2020, are not \
                limited"),
            "Cores that handle commands.";
        "device.firmware.read" read: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to accept a read.";
        "device.firmware.write" write: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to accept a write.";
        "device.firmware.trim" trim: Time = TIME,
            assumed("2us", FIRMWARE),
            "Core time to accept a trim.";
        "device.firmware.trim_gib" trim_gib: Time = TIME,
            assumed("1ms", "4 ns for each of 262,144 map entries of 4 KiB; 1 to 20 ns are plausible"),
            "Additional core time per GiB that a trim covers.";
        "device.firmware.flush" flush: Time = TIME,
            assumed("1us", FIRMWARE),
            "Core time to accept a flush.";
        "device.firmware.append" append: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to accept a zone append.",
            when "device.namespace" is "zoned";
        "device.firmware.zone" zone: Time = TIME,
            assumed("1us", FIRMWARE),
            "Core time to accept a zone management command.",
            when "device.namespace" is "zoned";
        "device.firmware.complete" complete: Time = TIME,
            assumed("0s", "handled by hardware"),
            "Core time to complete a command.";
    }
}

impl Default for Firmware {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> Firmware {
        crate::config::default_where("pcie")
    }
}

impl Firmware {
    /// Returns the time of a trim of `bytes` beyond its decoding.
    pub fn trimming(&self, bytes: u64) -> Time {
        Time::from_ps(((u128::from(self.trim_gib.ps()) * u128::from(bytes)) >> 30) as u64)
    }

    /// Returns the time to decode a command.
    #[inline]
    pub const fn decode(&self, op: Op) -> Time {
        match op {
            Op::Read => self.read,
            Op::Write => self.write,
            Op::Trim => self.trim,
            Op::Flush => self.flush,
            Op::Append => self.append,
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => self.zone,
        }
    }
}
