//! Scaled-down copies of a drive: `--scale 1/64`, or `--set scale=1/64`.
//!
//! Capacity and flash shrink by the same factor, which preserves over-provisioning. Caches shrink with them, down to
//! the minimum that the controller needs. Channels, dies, planes and all times stay the same: the copy is as fast as
//! the drive, but fills, wears and collects sooner by that factor.

use device::nvme::MEMORY_PAGE;
use nand::PayloadKind;

use crate::error::{Place, SystemError, one_line};
use crate::file::chain::Chain;
use crate::parts::Parts;
use crate::{LinkType, System};
use ftl::section::ReadPlace;

/// Name of the option.
pub(crate) const KEY: &str = "scale";
const LARGEST: u64 = 65536;
/// Preferred number of blocks per plane, so that the reserve for collection is a small fraction.
const BLOCKS: u64 = 128;

/// Returns the system of `chain` with `sets`, which include the scale.
pub(crate) fn scaled(chain: &Chain, sets: &[(&str, &str)]) -> Result<System, SystemError> {
    let (_, text) = sets.iter().rev().find(|(key, _)| *key == KEY).expect("a scale");
    let rest: Vec<(&str, &str)> = sets.iter().filter(|(key, _)| *key != KEY).copied().collect();
    let place = Place::Set { text: format!("{KEY}={}", one_line(text)).into() };
    let part = denominator(text).ok_or_else(|| {
        let why = format!("found \"{text}\", expected 1/N with N from 1 to {LARGEST}, such as 1/64");
        SystemError::value(&place, KEY, why)
    })?;
    let whole = System::plain(chain.clone(), &rest)?;
    if matches!(whole.link.kind, LinkType::None | LinkType::OneNand) {
        let why = format!("found a system whose link.type is \"{}\", expected a drive", whole.link.kind.word());
        return Err(SystemError::value(&place, KEY, why));
    }
    if part == 1 {
        return Ok(whole);
    }
    let mut refused = None;
    // The collection reserve shrinks with the number of blocks if enough are left; otherwise try small fixed reserves.
    for (start, with_hmb) in [(None, true), (Some(4), true), (Some(2), true), (Some(4), false), (Some(2), false)] {
        for pages in pages(&whole, part) {
            let Some(changes) = changes(&whole, part, pages, start, with_hmb) else { continue };
            let more = changes.iter().map(|(key, value)| (*key, value.as_str()));
            let all: Vec<(&str, &str)> = rest.iter().copied().chain(more).collect();
            match System::plain(chain.clone(), &all) {
                Err(error) => refused = refused.or(Some(error.to_string())),
                Ok(system) => match Parts::new(&system, PayloadKind::None) {
                    Ok(_) => return Ok(system),
                    Err(error) => refused = refused.or(Some(error.to_string())),
                },
            }
        }
    }
    let why = refused.unwrap_or_else(|| "too few pages".to_owned());
    Err(SystemError::value(&place, KEY, format!("found 1/{part}, expected a larger copy: {why}")))
}

fn denominator(text: &str) -> Option<u64> {
    let (one, part) = text.split_once('/')?;
    let part = part.trim().parse().ok()?;
    (one.trim() == "1" && (1..=LARGEST).contains(&part)).then_some(part)
}

/// Returns the numbers of pages per block that a copy may have, in whole word lines, largest first.
fn pages(whole: &System, part: u64) -> Vec<u64> {
    let line = u64::from(whole.flash.cell.bits());
    let (pages, blocks) = (u64::from(whole.flash.pages), u64::from(whole.flash.blocks));
    let mut found: Vec<u64> = (1..=pages / line).rev().map(|lines| lines * line).collect();
    if !found.contains(&pages) {
        found.insert(0, pages);
    }
    // Accept fewer blocks only if the drive itself has fewer.
    let required = BLOCKS.min(blocks);
    found.retain(|each| pages * blocks / part >= required * each || *each == line);
    found.truncate(64);
    found
}

/// Returns the changed keys of a copy of 1/`part` whose blocks have `pages` pages, or `None` if it would have no block.
/// `start` is the number of free groups at which collection starts; by default it is scaled too. `with_hmb` also scales
/// the Host Memory Buffer, which fails if that is small.
fn changes(
    whole: &System,
    part: u64,
    pages: u64,
    start: Option<u64>,
    with_hmb: bool,
) -> Option<Vec<(&'static str, String)>> {
    let (flash, unit) = (&whole.flash, whole.ftl.unit);
    let before = u64::from(flash.pages) * u64::from(flash.blocks);
    let blocks = before / part / pages;
    if blocks == 0 {
        return None;
    }
    // Scaled like the flash, in whole units.
    let capacity =
        (u128::from(whole.user_bytes) * u128::from(blocks * pages) / u128::from(before)) as u64 / unit * unit;
    let size = |bytes: u64, least: u64| (bytes / part).max(least).min(bytes).next_multiple_of(unit);
    let program = flash.page * u64::from(flash.planes) * u64::from(flash.cell.bits());
    let programs = 2 * u64::from(whole.geometry().all_dies()) * program;
    let mut found = vec![("flash.blocks", blocks.to_string()), ("flash.pages", pages.to_string())];
    let now = u64::from(whole.ftl.gc.start);
    let scaled = (now * blocks).div_ceil(u64::from(flash.blocks)).max(4);
    found.push(("ftl.gc.start", start.unwrap_or(scaled).min(now).to_string()));
    if whole.ftl.over_provisioning.is_none() {
        found.push(("ftl.capacity", format!("{capacity}B")));
    }
    let mut bytes = |key, bytes: u64| found.push((key, format!("{bytes}B")));
    bytes("device.write_cache.size", size(whole.caches.write.size, programs.max(whole.host.max_transfer + unit)));
    let read_cache = &whole.caches.read;
    if read_cache.size > 0 && read_cache.place != ReadPlace::Slc {
        bytes("device.read_cache.size", size(read_cache.size, unit));
    }
    if whole.ftl.slc_cache.size > 0 {
        bytes("ftl.slc_cache.size", whole.ftl.slc_cache.size / part);
    }
    if whole.ftl.slc_cache.dynamic > 0 {
        bytes("ftl.slc_cache.dynamic", whole.ftl.slc_cache.dynamic / part);
    }
    if whole.ftl.slc_cache.batch > 0 {
        bytes("ftl.slc_cache.batch", size(whole.ftl.slc_cache.batch, unit));
    }
    if let Some(map) = whole.ftl.map_cache.size {
        bytes("ftl.map_cache.size", size(map, unit));
    }
    let hmb = &whole.device.hmb;
    if with_hmb && hmb.size > 0 {
        let least = hmb
            .minimum
            .max(hmb.min_descriptor)
            .max(whole.host.hmb.contiguous)
            .max(whole.caches.host_memory.unit.unwrap_or(0));
        let scaled = (hmb.size / part).max(least).min(hmb.size).next_multiple_of(MEMORY_PAGE);
        found.push(("device.hmb.size", format!("{scaled}B")));
    }
    Some(found)
}
