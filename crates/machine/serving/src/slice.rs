//! Sampling of the drives: the model of one part in N of a drive.
//!
//! Data is striped over a drive's channels, and every layer of a KV block is as likely to be on one channel as on
//! another. So one in N of the channels, with one in N of the link's rate, of the caches and of the capacity, serves one
//! in N of each request's bytes in the time in which the whole drive serves the request. Flash, firmware and queues stay
//! the drive's: requests are as many, and 1/N as long.

use system::{LinkType, System};

/// Returns one part in `sample` of the drive of `system`, whose pages do not wear out: a run is a few erases long, and
/// lifetimes are extrapolated from its programs. (Drawing the endurance of every programmed page took most of a run.)
///
/// # Errors
/// Describes the key that cannot be divided.
pub fn slice(system: &System, sample: u64) -> Result<System, String> {
    let mut part = system.clone();
    part.flash.wear.endurance.mean = None;
    if sample == 1 {
        return Ok(part);
    }
    let refuse = |key: &str, value: u64| {
        Err(format!("drive.sample: found {sample}, expected a divisor of the drive's {key} ({value})"))
    };
    if part.link.kind != LinkType::Pcie {
        let kind = part.link.kind.word();
        return Err(format!("drive.sample: found {sample} with link.type \"{kind}\", expected 1"));
    }
    let channels = u64::from(part.flash.channels);
    if !channels.is_multiple_of(sample) {
        return refuse("flash.channels", channels);
    }
    part.flash.channels = (channels / sample) as _;
    match &mut part.link.pcie.bandwidth {
        Some(bandwidth) => *bandwidth = (*bandwidth / sample).max(1),
        None => narrow(&mut part, sample)?,
    }
    let unit = part.ftl.unit;
    let divide = |bytes: u64| if bytes == 0 { 0 } else { (bytes / sample / unit).max(1) * unit };
    part.user_bytes = divide(part.user_bytes);
    part.raw_bytes /= sample;
    part.caches.write.size = divide(part.caches.write.size);
    part.caches.read.size = divide(part.caches.read.size);
    part.device.dram_bandwidth = part.device.dram_bandwidth.map(|rate| (rate / sample).max(1));
    part.ftl.map_cache.size = part.ftl.map_cache.size.map(divide);
    part.host.max_transfer = (part.host.max_transfer / sample).max(4096) / 4096 * 4096;
    if part.device.hmb.size > 0 {
        return Err(format!("drive.sample: found {sample} with device.hmb.size, expected 1"));
    }
    Ok(part)
}

/// Divides the rate of a PCIe link: fewer lanes, then earlier generations, each of which has half the rate from 5 to 3.
fn narrow(part: &mut System, sample: u64) -> Result<(), String> {
    let (lanes, generation) = (part.link.pcie.lanes, part.link.pcie.generation);
    let mut left = sample;
    while left > 1 {
        let link = &mut part.link.pcie;
        if !left.is_multiple_of(2) {
            return Err(format!("drive.sample: found {sample}, expected a power of two on a link of lanes"));
        }
        if link.lanes > 1 && link.lanes.is_multiple_of(2) && link.lanes != 12 {
            link.lanes /= 2;
        } else if (4..=5).contains(&link.generation) {
            link.generation -= 1;
        } else {
            let of = format!("a PCIe {generation}.0 link of {lanes} lanes");
            return Err(format!("drive.sample: found {sample}, expected less for {of}"));
        }
        left /= 2;
    }
    Ok(())
}
