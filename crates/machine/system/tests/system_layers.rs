//! Precedence of files, and the reported origin of values.

use device::Priority;
use ftl::section::{Axis, Stripe, WriteMode};
use sim::Time;
use system::LinkType;
use system::{Basis, Place, System};

fn system(text: &str, sets: &[(&str, &str)]) -> System {
    System::from_toml("drive.toml", text, sets).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_last_assignment_takes_precedence() {
    let s = system("extends = \"mqsim-default\"\n[flash]\nchannels = 4\npages = 512\n", &[("flash.pages", "128")]);
    assert_eq!((s.flash.channels, s.flash.pages, s.flash.chips), (4, 128, 4));
    assert_eq!(s.ftl.map_cache.size, Some(2 << 20));
    let place = |key: &str| s.setting(key).place.as_ref().map(Place::to_string);
    assert_eq!(place("flash.channels").as_deref(), Some("drive.toml:3:1"));
    assert_eq!(place("flash.pages").as_deref(), Some("--set flash.pages=128"));
    assert_eq!(place("ftl.map_cache.size").as_deref(), Some("mqsim-default.toml:5:15"));
    assert_eq!(place("flash.age"), None);
}

#[test]
fn a_title_is_not_inherited() {
    assert_eq!(system("extends = \"sata-mlc\"\n", &[]).title, "drive");
    assert_eq!(system("title = \"mine\"\nextends = \"sata-mlc\"\n", &[]).title, "mine");
    assert_eq!(system("title = \"mine\"\n", &[("title", "yours")]).title, "yours");
}

#[test]
fn sets_are_toml_or_plain_words() {
    let sets = [
        ("link.type", "sata"),
        ("flash.read", "[\"40us\", \"60us\", \"80us\"]"),
        ("flash.erase", "4ms"),
        ("device.write_cache", "{ mode = \"write-through\", size = \"4MiB\" }"),
        ("ftl.stripe", "\"PDWC\""),
        ("flash.rate", "800MT/s"),
        ("flash.rate", "1.2GT/s"),
    ];
    let s = system("", &sets);
    assert_eq!(s.link.kind, LinkType::Sata);
    assert_eq!(s.flash.timing.read, [40, 60, 80, 40, 40].map(Time::from_us));
    assert_eq!(s.flash.timing.erase, Time::from_us(4000));
    assert_eq!((s.caches.write.mode, s.caches.write.size), (WriteMode::Through, 4 << 20));
    assert_eq!(s.ftl.stripe, Stripe([Axis::Plane, Axis::Die, Axis::Way, Axis::Channel]));
    assert_eq!(s.flash.timing.transfers_per_s, 1_200_000_000);
}

#[test]
fn every_toml_syntax_for_tables_is_accepted() {
    let ways = [
        "[flash.ecc]\ndecode = \"5us\"\n",
        "[flash]\necc = { decode = \"5us\" }\n",
        "[flash]\necc.decode = \"5us\"\n",
        "flash.ecc.decode = \"5us\"\n",
        "flash = { ecc = { decode = \"5us\" } }\n",
    ];
    for way in ways {
        assert_eq!(system(way, &[]).flash.ecc.decode, Time::from_us(5), "{way}");
    }
}

#[test]
fn defaults_follow_the_keys_they_depend_on() {
    let depth = |text| system(text, &[]).host.queue_depth;
    assert_eq!((depth(""), depth("[link]\ntype = \"sata\"\n")), (1024, 32));
    let lanes = |text| system(text, &[]).link.pcie.lanes;
    assert_eq!((lanes(""), lanes("[link]\ntype = \"ufs\"\n")), (4, 2));
    let program = |text| system(text, &[]).flash.timing.program;
    assert_eq!(program("[flash]\ncell = \"slc\"\n"), [Time::from_us(350); 5]);
    assert_eq!(program("[flash]\ncell = \"mlc\"\n"), [Time::from_us(1300); 5]);
}

#[test]
fn inapplicable_keys_of_an_extended_file_are_dropped() {
    let s = system("extends = \"nvme-client-tlc\"\n[link]\ntype = \"sata\"\ngeneration = 3\n", &[]);
    let lanes = s.setting("link.lanes");
    assert!(!lanes.applies && lanes.place.is_none());
    let text = s.resolved_toml();
    let (_, inactive) = text.split_once("# Keys that do not apply").expect("a section of inactive keys");
    assert!(inactive.contains("# only where link.type is \"pcie\" or \"ufs\":\n#   link.lanes"), "{inactive}");
    let weighted = "[device]\narbitration = \"weighted-round-robin\"\n[host]\nqueue_priority = [\"urgent\", \"low\"]\n";
    let s = system(weighted, &[]);
    assert_eq!(s.device.priorities, [Priority::Urgent, Priority::Low]);
    assert!(s.setting("device.weights.low").applies);
}

#[test]
fn capacity_and_over_provisioning_override_each_other() {
    let by_capacity = system("extends = \"mqsim-default\"\n[ftl]\ncapacity = \"400GiB\"\n", &[]);
    assert_eq!((by_capacity.ftl.capacity, by_capacity.ftl.over_provisioning), (Some(400 << 30), None));
    assert_eq!(by_capacity.user_bytes, 400 << 30);
    let by_fraction = system("extends = \"nvme-client-tlc\"\n", &[("ftl.over_provisioning", "28%")]);
    assert_eq!((by_fraction.ftl.capacity, by_fraction.ftl.over_provisioning), (None, Some(0.28)));
    assert_eq!(by_fraction.user_bytes, (by_fraction.raw_bytes as f64 / 1.28) as u64 / 4096 * 4096);
    let again = system("extends = \"nvme-client-tlc\"\n[ftl]\nover_provisioning = 0.2\n", &[("ftl.capacity", "800GB")]);
    assert_eq!((again.ftl.capacity, again.ftl.over_provisioning), (Some(800_000_000_000), None));
}

#[test]
fn a_basis_applies_to_the_value_of_its_file() {
    let basis = |s: &System, key: &str| s.setting(key).basis.clone();
    let s = system("extends = \"sata-mlc\"\n[flash]\nread = \"60us\"\n", &[]);
    assert_eq!(basis(&s, "flash.read"), None, "the data sheet gave another value");
    assert!(s.resolved_toml().contains("# drive.toml:3, no basis stated"));
    let s = system("extends = \"sata-mlc\"\n[basis]\n\"flash.read\" = { calibrated = \"a.claim\" }\n", &[]);
    assert_eq!(basis(&s, "flash.read"), Some(Basis::Calibrated("a.claim".into())));
    assert_eq!(s.flash.timing.read, [Time::from_us(75); 5]);
    // A table's basis applies to the keys set in it by that file, except those with their own basis.
    let text = "[flash]\nread = \"60us\"\necc = { decode = \"1us\", retries = 3 }\n\
                [basis]\nflash = { given = \"a sheet\" }\n\"flash.ecc\" = { assumed = \"a guess\" }\n\
                \"flash.ecc.retries\" = { given = \"a table\" }\n";
    let s = system(text, &[]);
    assert_eq!(basis(&s, "flash.read"), Some(Basis::Given("a sheet".into())));
    assert_eq!(basis(&s, "flash.ecc.decode"), Some(Basis::Assumed("a guess".into())));
    assert_eq!(basis(&s, "flash.ecc.retries"), Some(Basis::Given("a table".into())));
    assert_eq!(basis(&s, "flash.erase").map(|b| b.kind()), Some("given"), "the basis of the default");
}

#[test]
fn extended_files_are_relative_to_the_extending_file() {
    let folder = std::env::temp_dir().join(format!("nandram-{}-beside", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).expect("the temporary folder can be written");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a writable file");
    write("base.toml", "extends = \"mqsim-ideal-map\"\n[flash]\nrate = \"400MT/s\"\n");
    write("sub/top.toml", "extends = \"../base.toml\"\n[flash]\nerase = \"5ms\"\n");
    let path = folder.join("sub/top.toml");
    let s = System::load(&path.display().to_string(), &[]).unwrap_or_else(|error| panic!("{error}"));
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(
        (s.flash.timing.transfers_per_s, s.flash.timing.erase, s.flash.page),
        (400_000_000, Time::from_us(5000), 8192)
    );
    assert_eq!(s.title, "top");
}
