//! `[device.hmb]`: checks across its keys, and derived values.

use crate::error::SystemError;
use crate::sections::device::{HmbUse, WriteMode};
use crate::sections::ftl::MapGrain;
use crate::{System, Value};

/// Fractions of the Host Memory Buffer by use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Fraction for the map cache.
    pub map: f64,
    /// Fraction for the read cache.
    pub read: f64,
    /// Fraction for the write cache.
    pub write: f64,
}

impl System {
    fn uses_hmb(&self, what: HmbUse) -> bool {
        self.controller.hmb.size > 0 && self.device.hmb.uses.contains(&what)
    }

    /// Returns the share of each use in the Host Memory Buffer.
    pub fn hmb_shares(&self) -> Shares {
        let h = &self.device.hmb;
        let equal = 1.0 / h.uses.len().max(1) as f64;
        let part = |what, share: Option<f64>| if h.uses.contains(&what) { share.unwrap_or(equal) } else { 0.0 };
        let (read, write) = (part(HmbUse::ReadCache, h.read_cache), part(HmbUse::WriteBuffer, h.write_buffer));
        let map = if h.uses.contains(&HmbUse::Map) { (1.0 - read - write).max(0.0) } else { 0.0 };
        match (h.uses.as_slice(), map) {
            ([HmbUse::ReadCache], _) => Shares { map, read: 1.0, write },
            ([HmbUse::WriteBuffer], _) => Shares { map, read, write: 1.0 },
            _ => Shares { map, read, write },
        }
    }
}

pub(crate) fn check(s: &System) -> Result<(), SystemError> {
    let h = &s.device.hmb;
    let (size, uses, unit) = ("device.hmb.size", "device.hmb.use", "device.hmb.unit");
    if let Some(bytes) = h.unit {
        let expected = format!("ftl.unit ({}) times a power of two", Value::Size(s.ftl.unit).plain());
        let fits = bytes.is_multiple_of(s.ftl.unit) && (bytes / s.ftl.unit).is_power_of_two();
        s.expect(fits, &[unit, "ftl.unit"], &expected)?;
    }
    let once = (1..h.uses.len()).all(|i| !h.uses[..i].contains(&h.uses[i]));
    s.expect(once, &[uses], "each use once")?;
    if s.controller.hmb.size == 0 {
        return Ok(());
    }
    if s.uses_hmb(HmbUse::Map) && s.ftl.map_cache.size.is_none() {
        let map = "ftl.map_cache.size";
        let why = format!(
            "{uses} has \"map\", but {}, expected less, because the entire map is already in the \
            controller",
            s.is(map)
        );
        return s.conflict(&[uses, size, "ftl.map_cache.size"], why);
    }
    let grain = "ftl.map_cache.grain";
    if s.uses_hmb(HmbUse::Map) && s.ftl.map_cache.size.is_some() && s.ftl.map_cache.grain == MapGrain::Entry {
        let why = format!(
            "{uses} has \"map\", but {}, expected \"page\", because host memory holds pages of the map",
            s.is(grain)
        );
        return s.conflict(&[uses, size, grain], why);
    }
    let data = s.uses_hmb(HmbUse::ReadCache) || s.uses_hmb(HmbUse::WriteBuffer);
    if data && s.shares_cache() {
        let why = format!("{}, but {}, expected \"separate\"", s.is(uses), s.is("device.cache_sharing"));
        return s.conflict(&[uses, size, "device.cache_sharing", "device.read_cache.size"], why);
    }
    if s.uses_hmb(HmbUse::WriteBuffer) {
        let protected = "device.power_loss_protection";
        let why =
            format!("{}, but {}, expected false, because host memory is not protected", s.is(uses), s.is(protected));
        if s.device.power_loss_protection {
            return s.conflict(&[uses, size, protected], why);
        }
        let back = "\"write-back\" where device.hmb.use has \"write-buffer\"";
        s.expect(s.device.write_cache.mode == WriteMode::Back, &["device.write_cache.mode", uses, size], back)?;
        let some = "more than 0B where device.hmb.use has \"write-buffer\"";
        s.expect(s.device.write_cache.size > 0, &["device.write_cache.size", uses, size], some)?;
    }
    let shares = s.hmb_shares();
    let sum = shares.map + shares.read + shares.write;
    if sum > 1.0 + 1e-9 {
        let (read, write) = ("device.hmb.read_cache", "device.hmb.write_buffer");
        let why = format!("{} and {}, expected at most 1 together", s.is(read), s.is(write));
        return s.conflict(&[read, write, uses], why);
    }
    Ok(())
}
