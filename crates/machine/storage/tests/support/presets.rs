//! The presets that describe drives.

use system::LinkType;
use system::System;
use system::memory::MainMemory;

/// Returns the presets that are a drive behind a link, without main memory of their own, and without zones, which no job
/// writes at random.
pub fn drives() -> Vec<&'static str> {
    let all = system::presets().iter().map(|(name, _)| *name);
    all.filter(|name| {
        let system = System::load(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let linked = !matches!(system.link.kind, LinkType::None | LinkType::OneNand);
        linked && system.memory.kind == MainMemory::None && !system.has_zones()
    })
    .collect()
}

/// Loads a preset at 1/64 of its size, with changes.
pub fn shrunk(preset: &str, changes: &[(&str, &str)]) -> System {
    let whole = System::load(preset, &[]).unwrap_or_else(|error| panic!("{preset}: {error}"));
    let g = whole.geometry();
    let blocks = 48;
    let pages = (u64::from(g.blocks) * u64::from(g.pages) / 64 / blocks).next_multiple_of(12).max(24);
    let slc = format!("{}B", whole.ftl.slc_cache.size / 64);
    let dynamic = format!("{}B", whole.ftl.slc_cache.dynamic / 64);
    let (blocks, pages) = (blocks.to_string(), pages.to_string());
    let mut sets = vec![
        ("flash.blocks", blocks.as_str()),
        ("flash.pages", pages.as_str()),
        ("ftl.capacity", "auto"),
        ("ftl.over_provisioning", "0.4"),
        ("ftl.gc.start", "4"),
        ("ftl.slc_cache.size", slc.as_str()),
        ("ftl.slc_cache.dynamic", dynamic.as_str()),
    ];
    sets.retain(|(key, _)| changes.iter().all(|(other, _)| key != other));
    sets.extend(changes);
    System::load(preset, &sets).unwrap_or_else(|error| panic!("{preset}: {error}"))
}
