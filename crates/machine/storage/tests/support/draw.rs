//! Small random machines, drawn from the whole range of system files. `LINK=ufs`, or another `link.type`, restricts the
//! draw to that link.

use nand::PayloadKind;
use sim::Rng;
use storage::prepare::Preparation;
use system::System;
use system::parts::Parts;

pub fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// A drawn machine.
pub struct Drawn {
    /// Keys and values in the user's notation.
    pub sets: Vec<(&'static str, String)>,
    pub parts: Parts,
    pub system: System,
    pub preparation: Preparation,
    /// True if reads may fail.
    pub faulty_reads: bool,
    /// True if programs or erases may fail, or blocks may be bad.
    pub faulty_writes: bool,
}

/// Draws until the parts fit together.
pub fn draw(rng: &mut Rng) -> Drawn {
    loop {
        let (sets, preparation) = draw_sets(rng);
        if let Some(drawn) = fitted(sets, preparation) {
            return drawn;
        }
    }
}

/// Returns the machine of these settings, if its parts fit together.
fn fitted(sets: Vec<(&'static str, String)>, preparation: Preparation) -> Option<Drawn> {
    let borrowed: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let system = System::from_toml("drawn", "title = \"drawn\"", &borrowed).ok()?;
    let parts = Parts::new(&system, PayloadKind::Stamp).ok()?;
    let (wear, faults) = (&system.flash.wear, &system.flash.faults);
    Some(Drawn {
        faulty_reads: faults.read > 0.0,
        faulty_writes: wear.program_failure + wear.erase_failure + wear.factory_bad > 0.0,
        sets,
        parts,
        system,
        preparation,
    })
}

/// Draws until the parts of a drive fit together whose mapping units are larger than its pages.
pub fn draw_spanning(rng: &mut Rng) -> Drawn {
    loop {
        let (mut sets, preparation) = draw_sets(rng);
        let times = pick(rng, &[2, 4, 8]);
        let bytes = |sets: &[(&str, String)], key: &str| {
            let found = sets.iter().find(|(of, _)| *of == key);
            found.and_then(|(_, value)| value.strip_suffix('B')?.parse::<u64>().ok())
        };
        let unit = times * bytes(&sets, "flash.page").expect("a page");
        let large = [
            "device.hmb.unit",
            "device.read_ahead.size",
            "device.read_cache.size",
            "device.write_cache.size",
            "ftl.map_cache.size",
            "host.max_transfer",
        ];
        for key in large {
            let Some(old) = bytes(&sets, key) else { continue };
            sets.retain(|(of, _)| *of != key);
            sets.push((key, format!("{}B", if old == 0 { 0 } else { old.next_multiple_of(unit) + unit })));
        }
        let capacity = bytes(&sets, "ftl.capacity").expect("a capacity") * 4 / 5 / unit * unit;
        sets.retain(|(key, _)| !["ftl.unit", "ftl.capacity"].contains(key));
        sets.extend([("ftl.unit", format!("{unit}B")), ("ftl.capacity", format!("{capacity}B"))]);
        if let Some(drawn) = fitted(sets, preparation) {
            return drawn;
        }
    }
}

fn draw_sets(rng: &mut Rng) -> (Vec<(&'static str, String)>, Preparation) {
    let mut sets: Vec<(&'static str, String)> = Vec::new();
    let mut set = |key, value: String| sets.push((key, value));
    let unit: u64 = pick(rng, &[512, 1024, 4096, 8192]);
    let per_page = pick(rng, &[1u64, 2, 4]);
    let page = unit * per_page;
    let (channels, chips, dies, planes) =
        (pick(rng, &[1u64, 2]), pick(rng, &[1u64, 2]), pick(rng, &[1u64, 1, 2]), pick(rng, &[1u64, 2]));
    let cell = pick(rng, &["tlc", "mlc", "slc", "qlc"]);
    let (blocks, pages) = (pick(rng, &[20u64, 24, 32]), pick(rng, &[6u64, 12, 18]));
    let all_planes = channels * chips * dies * planes;
    for (key, value) in [
        ("flash.channels", channels),
        ("flash.chips", chips),
        ("flash.dies", dies),
        ("flash.planes", planes),
        ("flash.blocks", blocks),
        ("flash.pages", pages),
    ] {
        set(key, value.to_string());
    }
    set("flash.cell", cell.to_owned());
    set("flash.page", format!("{page}B"));
    set("flash.ecc.codeword", "512B".to_owned());
    set("ftl.unit", format!("{unit}B"));
    set("flash.scheduling", pick(rng, &["reads-first", "fifo"]).to_owned());
    for key in ["flash.cache_read", "flash.cache_program", "flash.commands_first"] {
        set(key, rng.chance(0.5).to_string());
    }
    set("flash.suspend.program", rng.chance(0.4).to_string());
    set("flash.suspend.erase", rng.chance(0.4).to_string());

    let faulty = rng.chance(0.5);
    if faulty {
        set("flash.bad_blocks", pick(rng, &["0", "0.02"]).to_owned());
        set("flash.failures.read", pick(rng, &["0", "0.002"]).to_owned());
        set("flash.failures.program", pick(rng, &["0", "0.002"]).to_owned());
        set("flash.failures.erase", pick(rng, &["0", "0.002"]).to_owned());
    }

    // Blocks that a parallel unit reserves: for the start of collection, two open blocks, spares for failing blocks,
    // and the SLC cache.
    let group = pick(rng, &["plane", "die", "drive"]);
    let slc_blocks = if cell != "slc" && rng.chance(0.3) { 3 } else { 0 };
    let bits = match cell {
        "slc" => 1,
        "mlc" => 2,
        "tlc" => 3,
        _ => 4,
    };
    set("ftl.slc_cache.size", format!("{}B", slc_blocks * all_planes * (pages * page / bits)));
    set("ftl.slc_cache.fold", "1".to_owned());
    // These do not draw from the stream, because that would change all draws after them.
    let dynamic = cell != "slc" && blocks == 24 && pages > 6;
    if dynamic {
        set("ftl.slc_cache.dynamic", format!("{}B", 4 * all_planes * (pages * page / bits)));
    }
    if blocks != 24 {
        set("device.read_ahead.size", format!("{}B", 8 * page));
        set("device.read_ahead.streams", "2".to_owned());
    }
    if chips == 1 && planes == 2 {
        set("ftl.refresh.reads", "16".to_owned());
    }
    let held = 6 + slc_blocks + u64::from(dynamic) + if faulty { 4 } else { 0 };
    let room = all_planes * (blocks - held) * pages * per_page;
    let mut capacity = 8 + (room as f64 * pick(rng, &[0.5, 0.7, 0.8])) as u64;
    if group == "drive" && rng.chance(0.5) {
        let data = pick(rng, &[1u64, 2, 3]);
        set("ftl.parity.stripe", data.to_string());
        capacity = capacity * data / (data + 1);
    }
    set("ftl.capacity", format!("{}B", capacity * unit));
    set("ftl.over_provisioning", "auto".to_owned());
    set("ftl.group", group.to_owned());
    set("ftl.stripe", pick(rng, &["CWDP", "PDWC", "WCDP", "DPCW"]).to_owned());
    set("ftl.multi_plane", rng.chance(0.5).to_string());
    let policy = pick(rng, ftl::config::Policy::WORDS);
    set("ftl.gc.policy", policy.to_owned());
    if policy == "d-choices" {
        set("ftl.gc.choices", "3".to_owned());
    }
    set("ftl.gc.start", "3".to_owned());
    set("ftl.gc.streams", rng.chance(0.7).to_string());
    set("ftl.gc.copies", "4".to_owned());
    set("ftl.wear_leveling.dynamic", rng.chance(0.5).to_string());
    set("ftl.wear_leveling.static", pick(rng, &["off", "3"]).to_owned());

    let (sata, ufs, shared) = match std::env::var("LINK").as_deref() {
        Ok(kind) => (kind == "sata", kind == "ufs", kind == "shared-buffer"),
        Err(_) => {
            let sata = rng.chance(0.3);
            let ufs = !sata && rng.chance(0.3);
            (sata, ufs, !sata && !ufs && rng.chance(0.4))
        }
    };
    let cached = rng.chance(0.4);
    if cached {
        set("ftl.map_cache.size", format!("{}B", (2 * unit).max(4096)));
        set("ftl.map_cache.place", pick(rng, &["sram", "dram"]).to_owned());
        set("ftl.map_cache.start", pick(rng, &["cold", "warm"]).to_owned());
    }
    if !(sata || ufs || shared) && rng.chance(0.8) {
        // Combinations that do not fit together are drawn again.
        let size = pick(rng, &[8u64, 16, 64]) << 10;
        set("device.hmb.size", format!("{size}B"));
        let uses: &[&str] = if cached {
            &[r#""map""#, r#"["map", "write-buffer"]"#, r#"["write-buffer", "read-cache", "map"]"#]
        } else {
            &[r#""write-buffer""#, r#""read-cache""#, r#"["read-cache", "write-buffer"]"#]
        };
        set("device.hmb.use", pick(rng, uses).to_owned());
        set("device.hmb.unit", if rng.chance(0.5) { "auto".to_owned() } else { format!("{}B", 2 * unit) });
        set("device.hmb.eviction", pick(rng, &["lru", "fifo", "clock"]).to_owned());
        set("device.hmb.check", pick(rng, &["0B", "2B"]).to_owned());
    } else if cached {
        set("ftl.map_cache.grain", pick(rng, &["page", "entry"]).to_owned());
    }
    let transfer = pick(rng, &[4u64, 8]) * unit.max(1024);
    set("host.max_transfer", format!("{transfer}B"));
    let write = (transfer / unit + 1) * pick(rng, &[1u64, 2, 5]);
    let none = rng.chance(0.1);
    set("device.write_cache.size", format!("{}B", if none { 0 } else { (write * unit).max(4096) }));
    set("device.read_cache.size", format!("{}B", pick(rng, &[0u64, 4, 16]) * unit));
    set("device.read_cache.allocation", pick(rng, &["fill", "miss"]).to_owned());
    set("device.cache_sharing", pick(rng, &["separate", "shared"]).to_owned());
    set("device.write_cache.mode", pick(rng, &["write-back", "write-back", "write-through"]).to_owned());
    set("device.write_cache.high", pick(rng, &["0", "0.5"]).to_owned());
    set("device.write_cache.idle", pick(rng, &["100us", "1ms", "never"]).to_owned());
    set("device.power_loss_protection", rng.chance(0.25).to_string());

    set("host.cores", pick(rng, &[1, 3]).to_string());
    if sata {
        match pick(rng, &["adapter", "bridges", "ddr"]) {
            "ddr" => set("link.type", "ddr".to_owned()),
            chipset => {
                set("link.type", "sata".to_owned());
                set("link.generation", "3".to_owned());
                set("host.chipset", if chipset == "bridges" { "bridges" } else { "hidden" }.to_owned());
            }
        }
        set("device.buffering", pick(rng, &["streamed", "single"]).to_owned());
        set("host.queue_depth", pick(rng, &[1, 8, 32]).to_string());
    } else if ufs {
        set("link.type", "ufs".to_owned());
        set("link.gear", pick(rng, &["1", "3"]).to_owned());
        set("host.queue_depth", pick(rng, &[1, 8, 32]).to_string());
        match pick(rng, &[0, 1, 3]) {
            0 => set("host.ufshci.aggregation", pick(rng, &["1", "4"]).to_owned()),
            queues => set("host.ufshci.queues", queues.to_string()),
        }
        set("device.utp.segment", pick(rng, &["512B", "4KiB"]).to_owned());
        set("device.utp.ready_to_transfers", pick(rng, &["1", "2"]).to_owned());
    } else if shared {
        set("link.type", "shared-buffer".to_owned());
        set("link.channel", pick(rng, &["own", "shared"]).to_owned());
        set("link.interleave", pick(rng, &["outside", "outside", "4KiB"]).to_owned());
        // From less than one command to more than all of them.
        let buffer = pick(rng, &[512, transfer.max(4096), 2 * transfer + 512, 32 * transfer]);
        set("link.data_buffer", format!("{}B", buffer.max(4096)));
        set("host.queue_depth", pick(rng, &[1, 8, 32]).to_string());
        set("host.queue_pairs", pick(rng, &["auto", "1", "2"]).to_owned());
        set("device.max_commands", pick(rng, &[2, 16, 64]).to_string());
        set("host.mover.extents", pick(rng, &[1, 3]).to_string());
        set("host.mover.shrink", pick(rng, &["never", "512B"]).to_owned());
        set("device.emulated.banks", pick(rng, &[1, 8]).to_string());
        set("device.emulated.boot", pick(rng, &["none", "none", "64KiB"]).to_owned());
        if rng.chance(0.2) {
            set("host.mover.transfer", "copy".to_owned());
        } else {
            set("host.mover.piece", pick(rng, &["4KiB", "64KiB"]).to_owned());
            set("host.mover.bandwidth", pick(rng, &["450MB/s", "unlimited"]).to_owned());
        }
    } else {
        set("host.queue_depth", pick(rng, &[2, 8, 64]).to_string());
        set("device.fetch_burst", pick(rng, &[1, 8]).to_string());
        set("device.max_commands", pick(rng, &[2, 16, 64]).to_string());
    }
    let polling = rng.chance(0.3);
    set("host.completion", if polling { "polling" } else { "interrupt" }.to_owned());
    if !sata && !ufs && !shared && !polling && rng.chance(0.3) {
        set("device.coalescing.threshold", "4".to_owned());
        set("device.coalescing.time", "100us".to_owned());
    }
    let preparation = pick(rng, &[Preparation::Erased, Preparation::Filled, Preparation::Filled]);
    (sets, preparation)
}
