//! Smaller copies of drives, made with `--scale`.

#[path = "support/play.rs"]
mod play;

use play::{options, play, requests, system};
use storage::prepare::Preparation;
use system::System;
use system::{LinkType, presets};

fn drives() -> impl Iterator<Item = &'static str> {
    presets().iter().map(|(name, _)| *name).filter(|name| {
        let system = system(name, &[]);
        // Zones are not written at random.
        !matches!(system.link.kind, LinkType::None | LinkType::OneNand) && !system.has_zones()
    })
}

#[test]
fn every_drive_has_a_copy_at_a_sixty_fourth() {
    for name in drives() {
        let whole = system(name, &[]);
        let small = System::load(name, &[("scale", "1/64")]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ratio = whole.user_bytes as f64 / small.user_bytes as f64;
        assert!((62.0..72.0).contains(&ratio), "{name}: 1/{ratio:.1}");
        let spare = |s: &System| s.raw_bytes as f64 / s.user_bytes as f64;
        assert!((spare(&small) - spare(&whole)).abs() < 0.002, "{name}: {} and {}", spare(&small), spare(&whole));
        let shape = |s: &System| (s.flash.channels, s.flash.chips, s.flash.dies, s.flash.planes);
        assert_eq!(shape(&small), shape(&whole), "{name}: as parallel as before");
        assert_eq!((small.flash.timing.read, small.link.kind), (whole.flash.timing.read, whole.link.kind));
        assert!(small.caches.write.size <= whole.caches.write.size);
        // The copy works: it can be filled, and read and written at random.
        let job = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap";
        let outcome = play(&small, job, &options(Preparation::Erased));
        assert_eq!(requests(&outcome).0, 2000, "{name}");
    }
}

#[test]
fn a_scale_is_the_last_change() {
    let sets = [("scale", "1/8"), ("flash.channels", "16"), ("ftl.over_provisioning", "20%"), ("device.dram", "2GiB")];
    let small = System::load("nvme-client-tlc", &sets).expect("a system");
    assert_eq!((small.flash.channels, small.ftl.over_provisioning), (16, Some(0.2)));
    let same = System::load("nvme-client-tlc", &[("scale", "1/1")]).expect("a system");
    assert_eq!(same, system("nvme-client-tlc", &[]));
}

#[test]
fn a_mistake_is_one_line() {
    let refused = |name: &str, text: &str| System::load(name, &[("scale", text)]).expect_err("a mistake").to_string();
    let expected = "expected 1/N with N from 1 to 65536, such as 1/64";
    for text in ["64", "1/0", "2/64", "1/x", "", "1/65537", "1/-4"] {
        assert_eq!(refused("ufs2", text), format!("--set scale={text}: scale: found \"{text}\", {expected}"));
    }
    let tiny = refused("nvme-client-tlc", "1/65536");
    assert!(tiny.contains("found 1/65536, expected a larger copy") && !tiny.contains('\n'), "{tiny}");
}
