//! What the presets resolve to: pinned, so that a change of any value is seen.

use insta::assert_snapshot;
use machine::system::{System, keys, preset, presets};

fn load(name: &str) -> System {
    System::load(name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_presets_are_listed_with_their_titles() {
    let list: String = presets().iter().map(|(name, title)| format!("{name:22}{title}\n")).collect();
    assert_snapshot!(list, @r"
    nvme-client-tlc       PCIe 4.0 x4 client TLC drive with DRAM, 1 TB, 8 channels
    nvme-enterprise-tlc   PCIe 4.0 x4 enterprise TLC drive, 3.84 TB, 16 channels, 28 % over-provisioning, power-loss protected
    sata-mlc              SATA 6 Gb/s MLC drive, 256 GB, 8 channels (2011)
    mqsim-ideal-map       MQSim's default drive: 512 GiB raw, 8 channels, whole map in DRAM
    mqsim-default         MQSim's default drive: 512 GiB raw, 8 channels, 2 MiB mapping cache
    ufs2                  UFS 2.0 HS-G3 x2 MLC device, 64 GB, on a phone of 2015
    ufs2-galaxy-s6        The UFS 2.0 device of a Galaxy S6 with 64 GB: one lane of HS-G2
    sata-ssd-southbridge  PC of 2007: SLC drive on SATA 3 Gb/s behind North and South Bridge (Kim et al., 2009)
    ddrssd                PC of 2007: that SLC drive on a DDR2-800 port of the North Bridge (Kim et al., 2009)
    drambus               Storage on the DRAM bus: LPDDR3 shared buffer, 32 GB MLC (2015 prototype)
    hmb-a                 DRAM-less NVMe TLC drive with Host Memory Buffer and a write buffer, 512 GB (SSD-A of the hmb paper)
    hmb-b                 DRAM-less NVMe TLC drive with a Host Memory Buffer of 64 MiB, 256 GB (SSD-B of the hmb paper)
    hmb-c                 DRAM-less NVMe TLC drive with Host Memory Buffer and SLC cache, 512 GB (SSD-C of the hmb paper)
    hmb-d                 NVMe TLC drive with DRAM, 512 GB (SSD-D of the hmb paper)
    hmb-e                 NVMe TLC drive with DRAM, 256 GB (SSD-E of the hmb paper)
    hmb-f                 Eight-channel NVMe MLC drive with DRAM, 512 GB (SSD-F of the hmb paper)
    onenand-xip           OneNAND with two buffers that code is paged from or executed in (Joo et al., 2006)
    dram-only             All-DRAM: 8 MB LLC, 1 TB of DDR3 on four channels
    dram-ddr5             All-DRAM of today: 512 GB of DDR5-4800 on eight modules
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
    hbf-accelerator       High-Bandwidth Flash beside an accelerator: 64 contexts with 256 reads each under way
    ");
}

#[test]
fn presets_resolve_as_pinned() {
    for (name, _) in presets() {
        assert_snapshot!(*name, load(name).resolved_toml());
    }
}

#[test]
fn defaults_resolve_as_pinned() {
    let system = System::from_toml("defaults.toml", "", &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(system.title, "defaults");
    assert_snapshot!("defaults", system.resolved_toml());
}

/// What is printed is the same system again, down to what each value rests on.
#[test]
fn a_resolved_system_reads_back() {
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

/// Everything that a preset sets, its title aside, says on what it rests.
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

/// A hash changes only with a value (or a key) that results depend on: a changed pin is explained in the change log.
#[test]
fn content_hashes_are_pinned() {
    let list: String = presets().iter().map(|(name, _)| format!("{name:22}{}\n", load(name).content_hash())).collect();
    assert_snapshot!(list, @r"
    nvme-client-tlc       f4ae650a85778968cedf877861ce37fee1d9eac26df2251b59d00d23d4a8c8cb
    nvme-enterprise-tlc   4ebcb6078e5760828a7502f1a76ff80e4c1333d595375e884e1118aa6f958c82
    sata-mlc              e614e916f00627113a11af5a580965661a97d3280a685dd5403523213d3a9fb7
    mqsim-ideal-map       f39b3512103bc91062dc5f558b00a9639c5e08963e23661cb1907382746bb55c
    mqsim-default         8602d53a130649a787e31e45cc4ae882451634b6b2bd857cfe811993d5d07440
    ufs2                  5cefda1efc0c91fbc5cf1868e34c011bff8d64729c5b0296331aef4c85d1c28f
    ufs2-galaxy-s6        ff028383490b07b83323acb714f099bb5f67d19903510b1273d7812d0afba41e
    sata-ssd-southbridge  c07d2f45a60a0cdfafde3e9c9a8673c9779c48b66e34f4b3216a894703013095
    ddrssd                ce246c4099339bc5026b7ee02634f9fab3c566a868fd4f6f910c98dda08ba8ac
    drambus               c85dfc01e6e35a4eceac96eb32e381058d3451469340e78889db95b29ad77005
    hmb-a                 81a6d4bd02e5ac0d52b071d6758c8841d67c6681ba98daf6f1457c7f3b119e87
    hmb-b                 5c54732708047f6d959b2998f835760afe2931ae6a5120bdf7de41a6f66932de
    hmb-c                 155843ea899d5523b19f29e331d9a3948f7b284b74d3ff39d2e66ca8b6617982
    hmb-d                 0ad982a24e5d11cab08af4042885431065ebbcf369d74c30276c317b567f6587
    hmb-e                 c8f52993352bb95a8dc8918fad7f3405348e26f1c4ab93f4e70a8d0aa1b4ff68
    hmb-f                 c29da7f2e9d772637cbc41d97ee5d5413ea5f01b2ad821b4a6360003da9c4f2e
    onenand-xip           1065a90ae0a3765b7f63af656321d462b3fdd2b523e67adbd847fd2be69e7121
    dram-only             9858ca26e483cce46b79cadadea5bfbb7a36b6a1d4f20324ed5a6464fd1afa90
    dram-ddr5             654ca4f4d3e2e272791b496aa9a8bff4db01eb39d3f2f9f80a6375d28453ed40
    dram-ssd              ecdc9a01e13bf9c5114f32d8b478309cad4a63689e10305bd4a7deda30fb40b3
    nvmm                  e3005d0f23249969a13f1d61babd0221e1684728b79f00cc4be7afe8194d0891
    nvmm-slc              d704bc371b8994568f7d79a7876b2b7f37744e670dd5a9b05c1f2e9a75586757
    nvmm-slc2             3509b83ec772b14fdfafc2f42a7a6a7baa266b9d48fd9275b613d85b94189a0f
    nvmm-slc4             ff27cd5a0a81b2eb239f1422ca12f0996a1cae1bb30c40936496bf9e92e83619
    nvmm-slc8             4ec20883b59ca4fae69a7ce5b7c362c86571e672cd83e440021f47113f226b21
    nvmm-pcm              354ad16eab0e0ae833aa947d52b69fa3a3b3b4297ec4b5753e34774d4e6a7ddc
    nvmm-pcm-optimistic   927b03c4213deff89f85977d82fbefa4c026363780b0d5cdff5b46f3e74c0f6d
    cxl-ssd               1dd2bbc97825be24ecb213379d6baba436fc2cac044901b2dd23eea23c5c5c3c
    hbf                   639debe1c3d4d87bd288223d442c464151122ba5c713d899dfe461141b63f779
    hbf-accelerator       a03e0d2bc5eeb31f7be5f09671fcc17dcd12b11ff0a316a9ced9961e78e44a0c
    ");
}

#[test]
fn titles_bases_and_meaningless_keys_change_no_hash() {
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
fn the_schema_knows_every_key_and_nothing_else() {
    let schema = System::schema();
    for key in keys() {
        let mut at = &schema;
        for part in key.name.split('.') {
            at = &at["properties"][part];
        }
        let description = at["description"].as_str().unwrap_or_else(|| panic!("{} is not in the schema", key.name));
        assert!(description.starts_with(key.help), "{}", key.name);
    }
    assert_snapshot!("schema", format!("{schema:#}\n"));
    assert!(preset("nvme-client-tlc").is_some_and(|text| text.contains("title")));
}
