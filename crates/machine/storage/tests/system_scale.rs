//! Smaller copies of drives, made with `--scale`.

#[path = "support/play.rs"]
mod play;

use play::{options, play, requests, system};
use sim::Time;
use storage::prepare::Preparation;
use storage::run::{RunOptions, WarmUp};
use system::System;
use system::{LinkType, presets};

fn drives() -> impl Iterator<Item = &'static str> {
    presets().iter().map(|(name, _)| *name).filter(|name| {
        let system = system(name, &[]);
        !matches!(system.link.kind, LinkType::None | LinkType::OneNand)
    })
}

fn limit(name: &str) -> u64 {
    system(name, &[]).scale_limit().unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_drive_has_a_copy_of_a_quarter_and_large_ones_of_a_sixteenth() {
    for name in drives() {
        let whole = system(name, &[]);
        let limit = limit(name);
        assert!(limit >= 4, "{name}: 1/{limit}");
        // A block of `sata-mlc` has few programs, of which collection sets one aside.
        let least = if name == "sata-mlc" { 4 } else { 16 };
        assert!(whole.user_bytes < 256_000_000_000 || limit >= least, "{name}: {} bytes, 1/{limit}", whole.user_bytes);
        for part in [4, limit] {
            let small =
                System::load(name, &[("scale", &format!("1/{part}"))]).unwrap_or_else(|e| panic!("{name}: {e}"));
            let ratio = whole.user_bytes as f64 / small.user_bytes as f64 / part as f64;
            assert!((0.9..1.15).contains(&ratio), "{name}: {ratio:.3} of 1/{part}");
            let spare = |s: &System| s.raw_bytes as f64 / s.user_bytes as f64;
            // Planes of a drive with zones keep their spare blocks.
            let same = (spare(&small) - spare(&whole)).abs() < 0.002;
            assert!(same || small.has_zones(), "{name}: {} and {}", spare(&small), spare(&whole));
            let shape = |s: &System| (s.flash.channels, s.flash.chips, s.flash.dies, s.flash.planes);
            assert_eq!(shape(&small), shape(&whole), "{name}: as parallel as before");
            assert_eq!((small.flash.timing.read, small.link.kind), (whole.flash.timing.read, whole.link.kind));
            let reserve = |s: &System| f64::from(s.ftl.gc.start) / f64::from(s.flash.blocks);
            let same = (reserve(&small) - reserve(&whole)).abs() < 0.002;
            assert!(same || small.has_zones(), "{name}: the reserve of collection");
            assert_eq!(small.caches.write.size, whole.caches.write.size, "{name}: it serves as many dies");
        }
    }
}

#[test]
fn the_smallest_copies_work() {
    for name in drives().filter(|name| !system(name, &[]).has_zones()) {
        let small = system(name, &[("scale", &format!("1/{}", limit(name)))]);
        let job = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap";
        let outcome = play(&small, job, &options(Preparation::Steady));
        assert_eq!(requests(&outcome).0, 2000, "{name}");
    }
}

/// Write amplification and rate of steady random writes at full size and at a smaller scale, after three seconds.
#[test]
fn a_copy_has_the_write_amplification_and_the_rate_of_the_drive() {
    for (name, scales) in [("nvme-client-tlc", ["1/4", "1/16"]), ("samsung-980-pro-1tb", ["1/4", "1/64"])] {
        let measured = |scale: &str| {
            let small = system(name, &[("scale", scale)]);
            let job = "rw=randwrite\nbs=4k\niodepth=32\nnorandommap\nnumber_ios=600000";
            let cut = RunOptions { warm_up: WarmUp::Cut(Time::from_s(3)), ..options(Preparation::Steady) };
            let window = play(&small, job, &cut).window();
            let amplification = window.ftl.write_amplification().expect("writes");
            (amplification, window.requests as f64 / window.at.secs_f64())
        };
        let whole = measured("1/1");
        for scale in scales {
            let small = measured(scale);
            assert!((small.0 / whole.0 - 1.0).abs() < 0.03, "{name} at {scale}: {small:?} and {whole:?}");
            assert!((small.1 / whole.1 - 1.0).abs() < 0.05, "{name} at {scale}: {small:?} and {whole:?}");
        }
    }
}

#[test]
fn a_copy_erases_for_as_long_as_the_drive() {
    // Each erase of the copy frees a quarter of a block, and one in four takes time.
    let erasing = |scale: &str| {
        let drive = system(
            "nvme-client-tlc",
            &[("scale", scale), ("flash.blocks", "64"), ("ftl.capacity", "56GiB"), ("ftl.slc_cache.size", "0B")],
        );
        let job = "rw=randwrite\nbs=128k\niodepth=8\nnorandommap\nnumber_ios=60000";
        let outcome = play(&drive, job, &options(Preparation::Steady));
        let dies = outcome.whole_run().dies;
        let (time, erases) =
            dies.iter().fold((0.0, 0), |(time, n), die| (time + die.erasing.secs_f64(), n + die.erases));
        (time / outcome.end.secs_f64(), erases)
    };
    let (whole, small) = (erasing("1/1"), erasing("1/4"));
    assert!((small.0 / whole.0 - 1.0).abs() < 0.1, "{whole:?} and {small:?}");
    assert!(small.1 > 3 * whole.1, "{whole:?} and {small:?}");
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
    let expected = "expected 1/N with N from 1 to 65536, such as 1/16";
    for text in ["64", "1/0", "2/64", "1/x", "", "1/65537", "1/-4"] {
        assert_eq!(refused("ufs2", text), format!("--set scale={text}: scale: found \"{text}\", {expected}"));
    }
    assert_eq!(
        refused("nvme-client-tlc", "1/64"),
        "--set scale=1/64: scale: found 1/64, expected at least 1/36: a smaller copy is no longer the same drive"
    );
}
