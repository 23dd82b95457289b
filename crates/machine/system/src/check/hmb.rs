//! `[device.hmb]`: checks across its keys, and derived values.

use crate::error::SystemError;
use crate::{System, Value};
use ftl::section::MapGrain;
use ftl::section::{HostMemoryUse, WriteMode};

impl System {
    fn uses_hmb(&self, what: HostMemoryUse) -> bool {
        self.device.hmb.size > 0 && self.caches.host_memory.uses.contains(&what)
    }
}

pub(crate) fn check(s: &System) -> Result<(), SystemError> {
    let (size, uses, unit) = ("device.hmb.size", "device.hmb.use", "device.hmb.unit");
    if let Some(bytes) = s.caches.host_memory.unit {
        let expected = format!("ftl.unit ({}) times a power of two", Value::Size(s.ftl.unit).plain());
        let fits = bytes.is_multiple_of(s.ftl.unit) && (bytes / s.ftl.unit).is_power_of_two();
        s.expect(fits, &[unit, "ftl.unit"], &expected)?;
    }
    if s.device.hmb.size == 0 {
        return Ok(());
    }
    if s.uses_hmb(HostMemoryUse::Map) && s.ftl.map_cache.size.is_none() {
        let map = "ftl.map_cache.size";
        let why = format!(
            "{uses} has \"map\", but {}, expected less, because the entire map is already in the \
            controller",
            s.is(map)
        );
        return s.conflict(&[uses, size, "ftl.map_cache.size"], why);
    }
    let grain = "ftl.map_cache.grain";
    if s.uses_hmb(HostMemoryUse::Map) && s.ftl.map_cache.size.is_some() && s.ftl.map_cache.grain == MapGrain::Entry {
        let why = format!(
            "{uses} has \"map\", but {}, expected \"page\", because host memory holds pages of the map",
            s.is(grain)
        );
        return s.conflict(&[uses, size, grain], why);
    }
    let data = s.uses_hmb(HostMemoryUse::ReadCache) || s.uses_hmb(HostMemoryUse::WriteBuffer);
    if data && s.caches.are_shared() {
        let why = format!("{}, but {}, expected \"separate\"", s.is(uses), s.is("device.cache_sharing"));
        return s.conflict(&[uses, size, "device.cache_sharing", "device.read_cache.size"], why);
    }
    if s.uses_hmb(HostMemoryUse::WriteBuffer) {
        let protected = "device.power_loss_protection";
        let why =
            format!("{}, but {}, expected false, because host memory is not protected", s.is(uses), s.is(protected));
        if s.caches.protected {
            return s.conflict(&[uses, size, protected], why);
        }
        let back = "\"write-back\" where device.hmb.use has \"write-buffer\"";
        s.expect(s.caches.write.mode == WriteMode::Back, &["device.write_cache.mode", uses, size], back)?;
        let some = "more than 0B where device.hmb.use has \"write-buffer\"";
        s.expect(s.caches.write.size > 0, &["device.write_cache.size", uses, size], some)?;
    }
    let shares = s.caches.host_memory.shares();
    let sum = shares.map + shares.read + shares.write;
    if sum > 1.0 + 1e-9 {
        let (read, write) = ("device.hmb.read_cache", "device.hmb.write_buffer");
        let why = format!("{} and {}, expected at most 1 together", s.is(read), s.is(write));
        return s.conflict(&[read, write, uses], why);
    }
    Ok(())
}
