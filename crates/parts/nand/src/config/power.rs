//! Power and energy of the flash.

use keys::{ENERGY, POWER, assumed, section};

const ICC: &str = "25 mA at 3.3 V, within the range of ONFI data sheets for an active array";

section! {
    /// Power and energy.
    #[derive(Copy, Eq)]
    Power {
        "flash.power.read" read_uw: u64 = POWER,
            assumed("82.5mW", ICC),
            "Power of a plane while it reads.";
        "flash.power.program" program_uw: u64 = POWER,
            assumed("82.5mW", ICC),
            "Power of a plane while it programs.";
        "flash.power.erase" erase_uw: u64 = POWER,
            assumed("82.5mW", ICC),
            "Power of a plane while it erases.";
        "flash.power.transfer" transfer_uw: u64 = POWER,
            assumed("50mW", "the pads of a controller and of a die that drive the bus"),
            "Power of a channel and its active die while data is transferred.";
        "flash.power.transfer_energy" transfer_pj_per_byte: u64 = ENERGY,
            assumed("0pJ", "included in the transfer power"),
            "Additional energy per transferred byte.";
        "flash.power.standby" standby_uw: u64 = POWER,
            assumed("33uW", "10 uA at 3.3 V"),
            "Power of a die while its array is idle.";
    }
}

impl Power {
    /// No power, where energy does not matter.
    pub const NONE: Power =
        Power { read_uw: 0, program_uw: 0, erase_uw: 0, transfer_uw: 0, transfer_pj_per_byte: 0, standby_uw: 0 };
}
