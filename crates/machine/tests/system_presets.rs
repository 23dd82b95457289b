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
    nvme-client-tlc       8b237cba33607ca19701f2644ddd7de24dc0ed2dac0b3e2d52add068191686e2
    nvme-enterprise-tlc   0cd93370668c11670033db274b3fe5b05d67827f085cce41b688f37701abf71d
    sata-mlc              83b23c704870cd2b3983393a1eeeb5ef520dc7bf30818b8085923b55bfbe4afe
    mqsim-ideal-map       4b562934555a821ad7b6781d6b320f33318632d45432e041af27062bd3283e6b
    mqsim-default         621ad2bdd493f28e81cc7b11b2d697c3ef6947f91ed7a32060f77c971bf2d2c7
    ufs2                  80b7738ddf478a854fb66dc5a6d850d542615ee748ef3aa969a109ad910dffb3
    ufs2-galaxy-s6        b591efaab8a79075670baafbffea694d8671addda94a9144a1d2a9f42105f14a
    sata-ssd-southbridge  72af68458e58a3380c1b3b952be134664ba706af5dfd2a7021f835c269ea0ca2
    ddrssd                8dc0c1144e6757c3188a14e708b2702663c8554f3b1d4701c62f13d56372161b
    drambus               ad4b6559f5774ea54e6eb31121dce59b5196db47d480685d034574c97d006a1e
    hmb-a                 ba9cb3306874170d04498bdec65bef0eca67466ebbd2f2acb6cb4bb305fc8e10
    hmb-b                 9110b8c80bcbc5a83b905da5e7ec6dfbff506cad3c0bffa5b60d15f38627e515
    hmb-c                 254d7a5c9f791ff388b86a4aa648f795b8b74199a91262393bffd9ca20cd9f68
    hmb-d                 2c49aabee1d46f6b582e75a12161f74dc22cb30e5b0ad7d020b98bc79c19f0a6
    hmb-e                 94fc98ecedded6835360fe01b8e45ebdeb6a4b8209fb670910f92d228b69f304
    hmb-f                 7931512884641cccb47e1f828e5fa867f1c5883afcf39776431b8f082f3a7fd9
    onenand-xip           1065a90ae0a3765b7f63af656321d462b3fdd2b523e67adbd847fd2be69e7121
    dram-only             c20c84e0b4e332691991d24d21f02401267edfc9984d39b48baba3f4cf1b25a0
    dram-ssd              eeb3d7ed96b41bdc7ee92313209ffad5393b9d70c761386dca52ff0a17dd8c70
    nvmm                  a5eab850637d3e88346c6d73ead7e5ae265ee34c5d50ac727ecec5b12b8ae780
    nvmm-slc              672dd8503ddd08fd239203764d7c8ed073cb8549a1a23c3795559515d6dd6fd7
    nvmm-slc2             d66354fc83d75c74bc1b4edba1842257ebef7ddf0d3c314bf95119c8f973325a
    nvmm-slc4             2b1bfa5ea4f76641d436007f19a6f4bcc2f7baf921d2c512f9a775a8816db912
    nvmm-slc8             52f80d92712a38e45fc7bf8d2f53ae5840befc771b72ce0d2088ce9b23e02e2a
    nvmm-pcm              6053fb506b58d12b2ea6200f103225d952139ebeab9aa9f493929dece855bc8a
    nvmm-pcm-optimistic   db19e869b6daf5edfb6fbe446af48695e5845789462e6d66956bf72034b8e7db
    cxl-ssd               34165c6587a65f55c67eed07ad7b2dfd57b5920f5f9a14e68b131dc26cc9fbfa
    hbf                   27beb64a572b05e08d0b7eb9467a3ea152b0314c55f516cf0c6a85c903b2df3f
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
