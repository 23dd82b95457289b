//! Parity across dies: checks of the stripe and of the failing die, and the capacity that is left for data.

use crate::System;
use crate::error::SystemError;
use ftl::section::ReadPlace;

const STRIPE: &str = "ftl.parity.stripe";

/// Checks that the failing die exists.
pub(super) fn check_die(s: &System) -> Result<(), SystemError> {
    let (failing, dies) = (s.flash.faults.die.map(u32::from), s.geometry().all_dies());
    let keys = ["flash.failures.die", "flash.channels", "flash.chips", "flash.dies"];
    s.expect(failing.is_none_or(|die| die < dies), &keys, &format!("less than the {dies} dies"))
}

/// Checks that the programs of a stripe are on different dies, and that stripes fill a superblock.
pub(super) fn check(s: &System) -> Result<(), SystemError> {
    let (flash, dies) = (&s.flash, s.geometry().all_dies());
    let Some(data) = s.ftl.parity else { return Ok(()) };
    let keys = [STRIPE, "flash.channels", "flash.chips", "flash.dies"];
    s.expect(data < dies, &keys, &format!("less than the {dies} dies, each with one program per stripe"))?;
    let whole = s.ftl.multi_plane || flash.planes == 1;
    let planes = "ftl.multi_plane true: the planes of a die fail together, and must share a program";
    s.expect(whole, &[STRIPE, "ftl.multi_plane", "flash.planes"], planes)?;
    let slc = s.ftl.slc_cache.size > 0 || (s.caches.read.place == ReadPlace::Slc && s.caches.read.size > 0);
    let all = s.geometry().pages;
    let blocks = [Some(all), slc.then(|| all / flash.cell.bits())];
    for pages in blocks.into_iter().flatten() {
        let programs = u64::from(pages) * u64::from(dies);
        let keys = [STRIPE, "flash.pages", "flash.channels", "flash.chips", "flash.dies", "ftl.slc_cache.size"];
        let fits = programs.is_multiple_of(u64::from(data) + 1);
        s.expect(fits, &keys, &format!("one less than a divisor of the {programs} programs of a superblock"))?;
    }
    Ok(())
}

impl System {
    /// Returns the part of `bytes` of superblocks that is not parity.
    pub(crate) fn without_parity(&self, bytes: u64) -> u64 {
        let Some(data) = self.ftl.parity else { return bytes };
        (u128::from(bytes) * u128::from(data) / (u128::from(data) + 1)) as u64
    }
}
