//! Pinned results of all presets, so that a change of any value is detected.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use sha2::{Digest, Sha256};
use system::{Choice, Fallback, Shape, System, keys, preset, presets};

fn load(name: &str) -> System {
    System::load(name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_presets_are_listed_with_their_titles() {
    let list: String = presets().iter().map(|(name, title)| format!("{name:22}{title}\n")).collect();
    assert_snapshot!(list, @r"
    nvme-client-tlc       PCIe 4.0 x4 client TLC drive with DRAM, 1 TB, 8 channels
    nvme-client-hmb       PCIe 3.0 x4 client TLC drive without DRAM, 1 TB, four channels, Host Memory Buffer of 64 MiB
    nvme-enterprise-tlc   PCIe 4.0 x4 enterprise TLC drive, 3.84 TB, 16 channels, 28 % over-provisioning, power-loss protected
    nvme-enterprise-gen5  PCIe 5.0 x4 enterprise TLC drive, 7.68 TB, 16 channels, 15 % over-provisioning, power-loss protected
    nvme-qlc-61tb         PCIe 4.0 x4 QLC drive, 61.44 TB, 16 channels, 16 KiB mapping units, 15 % over-provisioning, power-loss protected
    samsung-980-pro-1tb   Samsung 980 PRO 1 TB on PCIe 3.0 x4 with io_uring; random reads and writers fitted to measurements
    wd-zn540              WD Ultrastar DC ZN540 1 TB, zones, PCIe 3.0 x4, with SPDK; reads and zone commands fitted to measurements
    sata-mlc              SATA 6 Gb/s MLC drive, 256 GB, 8 channels (2011)
    mqsim-ideal-map       MQSim's default drive: 512 GiB raw, 8 channels, whole map in DRAM
    mqsim-default         MQSim's default drive: 512 GiB raw, 8 channels, 2 MiB mapping cache
    ufs2                  UFS 2.0 HS-G3 x2 MLC device, 64 GB, on a phone of 2015
    ufs2-galaxy-s6        The UFS 2.0 device of a Galaxy S6 with 64 GB: one lane of HS-G2
    ufs4                  UFS 4.0 HS-G5 x2 TLC device, 512 GB, on a phone of 2023
    sata-ssd-southbridge  PC of 2007: SLC drive on SATA 3 Gb/s behind North and South Bridge (Kim et al., 2009)
    ddrssd                PC of 2007: the same SLC drive on a DDR2-800 port of the North Bridge (Kim et al., 2009)
    drambus               Storage on the DRAM bus: LPDDR3 shared buffer, 32 GB MLC (2015 prototype)
    hmb-a                 DRAM-less NVMe TLC drive with Host Memory Buffer and a write buffer, 512 GB (SSD-A of the hmb paper)
    hmb-b                 DRAM-less NVMe TLC drive with a Host Memory Buffer of 64 MiB, 256 GB (SSD-B of the hmb paper)
    hmb-c                 DRAM-less NVMe TLC drive with Host Memory Buffer and SLC cache, 512 GB (SSD-C of the hmb paper)
    hmb-d                 NVMe TLC drive with DRAM, 512 GB (SSD-D of the hmb paper)
    hmb-e                 NVMe TLC drive with DRAM, 256 GB (SSD-E of the hmb paper)
    hmb-f                 Eight-channel NVMe MLC drive with DRAM, 512 GB (SSD-F of the hmb paper)
    onenand-xip           OneNAND whose two buffers serve paging and execution of code in place (Joo et al., 2006)
    dram-only             All-DRAM: 8 MB LLC, 1 TB of DDR3 on four channels
    dram-ddr5             All-DRAM, current: 512 GB of DDR5-4800 on eight modules
    dram-hbm4             All-DRAM, accelerator: a stack of HBM4-8000, 32 GiB, 2 TB/s
    dram-ssd              DRAM + SSD: 32 GB of DDR3, 1 TB MLC drive on PCIe 3.0 x16, Linux-like kernel
    nvmm                  NVMM: 1 TB of MLC flash as main memory behind a 32 GB DRAM cache, journaled (Jacob et al.)
    nvmm-slc              NVMM of SLC flash: 25 us to read
    nvmm-slc2             NVMM of SLC flash that is read 2 times as fast
    nvmm-slc4             NVMM of SLC flash that is read 4 times as fast
    nvmm-slc8             NVMM of SLC flash that is read 8 times as fast
    nvmm-pcm              NVMM of phase-change memory, as expected: 125 ns to read
    nvmm-pcm-optimistic   NVMM of phase-change memory, optimistic: 50 ns to read
    cxl-ssd               CXL-SSD: 1 TB of TLC on CXL.mem behind a 16 GB DRAM cache
    hbf                   High-Bandwidth Flash: 512 GB of fast SLC on an HBM-like link behind 16 GB of DRAM
    hbf-accelerator       High-Bandwidth Flash next to an accelerator: 64 contexts with 256 outstanding reads each
    hbf-2026              High-Bandwidth Flash as announced: 512 GB, 1.6 TB/s, 20 us, behind a latency-hiding buffer of 40 MiB
    ");
}

/// A preset is pinned by what differs from the defaults; `keys.snap` pins those, once for all presets.
#[test]
fn presets_differ_from_the_defaults_as_pinned() {
    for (name, _) in presets() {
        assert_snapshot!(*name, difference(&load(name)));
    }
}

/// Returns the values that files set, with their bases, and what follows from all values.
fn difference(system: &System) -> String {
    let mut out = String::new();
    for setting in system.settings().iter().filter(|setting| setting.applies && setting.place.is_some()) {
        let basis = setting.basis.as_ref().map_or(String::new(), |basis| format!("{}: {}", basis.kind(), basis.text()));
        let value = format!("{} = {}", setting.key.name, setting.value);
        out += format!("{value:44} # {basis}").trim_end_matches([' ', '#']);
        out.push('\n');
    }
    let blocks = (system.slc_blocks, system.dynamic_blocks, system.copy_blocks);
    out + &format!("raw, user bytes: {}, {}; blocks in SLC mode: {blocks:?}\n", system.raw_bytes, system.user_bytes)
}

/// Every key with its values, condition, default and help: the one place where a new key is pinned.
#[test]
fn keys_are_as_pinned() {
    let quoted = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ");
    let mut out = String::new();
    for key in keys() {
        out += &format!("{}: {}", key.name, key.kind.expected());
        if key.kind.has_range() {
            out += &format!("; {}", key.kind.range());
        }
        if let Some((other, words)) = key.when {
            out += &format!("; where {other} is {}", quoted(words));
        }
        out += &format!("\n    {}\n", key.help);
        let default = |choice: Choice| format!("    default {} ({}: {})\n", choice.text, choice.kind, choice.why);
        match key.default {
            Fallback::Is(choice) => out += &default(choice),
            Fallback::By(other, choices) => {
                for (word, choice) in choices {
                    out += &format!("    {other} {word}:{}", default(*choice).trim_start_matches("   "));
                }
            }
        }
    }
    assert_snapshot!("keys", out);
}

/// A printed system parses back to the same system, bases included.
#[test]
fn a_resolved_system_parses_back() {
    let eccentric = "title = \"a \\\"quoted\\\" title\"\nextends = \"sata-mlc\"\n\
                     [flash]\nread = [\"50us\", \"75us\"]\nage = \"1.5y\"\nfailures = { read = 1e-6 }\n\
                     [basis]\n\"flash.read\" = { calibrated = \"some.claim\" }\n\
                     \"host.completion\" = { given = \"some manual\" }\n";
    let sets = [("device.power_loss_protection", "true"), ("ftl.over_provisioning", "12.5%"), ("host.cores", "0x10")];
    let eccentric = System::from_toml("eccentric.toml", eccentric, &sets).unwrap_or_else(|error| panic!("{error}"));
    for system in presets().iter().map(|(name, _)| load(name)).chain([eccentric]) {
        let text = system.resolved_toml();
        let again = System::from_toml("resolved.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, system);
        assert_eq!(again.title, system.title);
        assert_eq!(again.host, system.host);
        assert_eq!(again.link, system.link);
        assert_eq!(again.device, system.device);
        assert_eq!(again.flash, system.flash);
        assert_eq!(again.ftl, system.ftl);
        assert_eq!((again.raw_bytes, again.user_bytes), (system.raw_bytes, system.user_bytes));
        assert_eq!(again.content_hash(), system.content_hash());
        for (a, b) in again.settings().iter().zip(system.settings()) {
            assert_eq!(a.basis, b.basis, "{}", a.key.name);
        }
    }
}

/// Every value that a preset sets, except its title, has a basis.
#[test]
fn every_value_of_a_preset_has_a_basis() {
    for (name, _) in presets() {
        for setting in &load(name).settings()[1..] {
            assert!(setting.basis.is_some(), "{name}: {} has no basis", setting.key.name);
        }
    }
}

#[test]
fn presets_have_the_capacity_they_are_sold_with() {
    let of = |name: &str| {
        let system = load(name);
        let spare = (system.raw_bytes - system.user_bytes) as f64 / system.user_bytes as f64;
        (system.raw_bytes, system.user_bytes, (spare * 1000.0).round() / 1000.0)
    };
    assert_eq!(of("nvme-client-tlc"), (1_101_659_111_424, 1_000_204_886_016, 0.101));
    assert_eq!(of("nvme-enterprise-tlc"), (4_928_474_972_160, 3_840_755_982_336, 0.283));
    assert_eq!(of("sata-mlc"), (1 << 38, 256_060_514_304, 0.073));
    assert_eq!(of("mqsim-ideal-map"), (1 << 39, 511_272_902_656, 0.075));
    assert_eq!(of("mqsim-default"), of("mqsim-ideal-map"));
    assert_eq!(of("ufs2"), (1 << 36, 64_000_000_000, 0.074));
    assert_eq!(of("drambus"), (1 << 35, 32_000_000_000, 0.074));
    assert_eq!(of("hmb-a"), (550_024_249_344, 512_110_190_592, 0.074));
    assert_eq!(of("hmb-c"), of("hmb-a"));
    assert_eq!(load("nvme-client-tlc").slc_blocks, 15);
}

/// The hash is that of the values that apply, by name, so that anyone can compute it from a printed system.
#[test]
fn a_hash_is_that_of_the_values_that_apply() {
    for (name, _) in presets() {
        let system = load(name);
        let apply = system.settings().iter().filter(|setting| setting.applies && setting.key.name != "title");
        let mut lines: Vec<String> =
            apply.map(|setting| format!("{} = {}\n", setting.key.name, setting.value)).collect();
        lines.sort();
        let digest = Sha256::digest(lines.concat());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(system.content_hash(), hex, "{name}");
    }
}

#[test]
fn presets_have_different_hashes() {
    let hashes: BTreeSet<String> = presets().iter().map(|(name, _)| load(name).content_hash()).collect();
    assert_eq!(hashes.len(), presets().len());
}

#[test]
fn hashes_ignore_titles_bases_and_inapplicable_keys() {
    let system = |text: &str| System::from_toml("x.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let plain = system("").content_hash();
    assert_eq!(system("title = \"x\"\n[basis]\n\"flash.read\" = { given = \"x\" }\n").content_hash(), plain);
    assert_eq!(system("[flash]\nread = [\"50us\", \"50us\", \"50us\"]\n").content_hash(), plain);
    assert_eq!(system("[flash]\nread = \"0.05ms\"\n").content_hash(), plain);
    assert_ne!(system("[flash]\nread = \"51us\"\n").content_hash(), plain);
    let other_link = system("[link]\ntype = \"sata\"\n");
    assert_ne!(other_link.content_hash(), plain);
    assert_eq!(other_link.hash_of(&["flash", "ftl"]), system("").hash_of(&["flash", "ftl"]));
}

#[test]
fn the_schema_contains_exactly_the_keys() {
    let schema = System::schema();
    for key in keys() {
        let mut at = &schema;
        for part in key.name.split('.') {
            at = &at["properties"][part];
        }
        let description = at["description"].as_str().unwrap_or_else(|| panic!("{} is not in the schema", key.name));
        assert!(description.starts_with(key.help), "{}", key.name);
    }
    assert!(preset("nvme-client-tlc").is_some_and(|text| text.contains("title")));
}

/// One key of every shape, with and without a word in place of a value.
#[test]
fn the_schema_describes_every_shape() {
    let schema = System::schema();
    let mut shapes: Vec<(std::mem::Discriminant<Shape>, bool)> = Vec::new();
    let mut out = String::new();
    for key in keys() {
        let shape = (std::mem::discriminant(&key.kind.shape), key.kind.or.is_some());
        if shapes.contains(&shape) {
            continue;
        }
        shapes.push(shape);
        let property = key.name.split('.').fold(&schema, |at, part| &at["properties"][part]);
        let mut property = property.clone();
        property.as_object_mut().expect("a property").remove("description");
        out += &format!("{}: {property}\n", key.name);
    }
    assert_snapshot!("schema", out);
}
