//! Probes a drive, generates a model from the report, and probes the model.

use probe::{Options, Place, Report, Simulated, model, probe};
use storage::prepare::Preparation;
use system::System;

fn look(system: &System) -> Report {
    let mut target = Simulated::new("drive", system, Preparation::Filled, 3, None).expect("it fits together");
    let options = Options { keep_samples: false, ..Options::default() };
    probe(&mut target, &options, &mut |_| true).expect("a simulated drive does not fail")
}

fn parse(text: &str) -> System {
    System::from_toml("drive", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const DRIVES: [(&str, &str); 4] = [
    (
        "read cache, write buffer and part of the map",
        "read_cache = { size = \"256KiB\" }\nwrite_cache = { size = \"964KiB\" }\n[ftl]\nmap_cache = { size = \"256KiB\" }\n",
    ),
    ("all of the map", "read_cache = { size = \"0B\" }\nwrite_cache = { size = \"600KiB\" }\n"),
    (
        "a read cache in flash",
        "read_cache = { size = \"256KiB\", place = \"slc\" }\nwrite_cache = { size = \"600KiB\" }\n",
    ),
    (
        "no buffer that is seen",
        "read_cache = { size = \"96KiB\" }\nwrite_cache = { size = \"512KiB\", mode = \"write-through\" }\n",
    ),
];

/// Presets, cut to a few GiB, with different links, numbers of dies, stripes and page sizes, with protected buffers and
/// with buffers that no burst fills.
const PRESETS: [(&str, &str, &str); 6] = [
    ("hmb-a", "40", "6GiB"),
    ("hmb-b", "90", "6GiB"),
    ("hmb-f", "40", "6GiB"),
    ("nvme-client-tlc", "14", "8GiB"),
    ("nvme-enterprise-tlc", "12", "12GiB"),
    ("sata-mlc", "60", "6GiB"),
];

/// Probes `system` and the model generated from the report. Checks for equal verdicts, sizes within 10 % and latencies
/// within 15 %. Returns the model.
fn compare(what: &str, system: &System) -> String {
    let first = look(system);
    let made = model(&first).unwrap_or_else(|e| panic!("{what}: {e}"));
    let second = look(&parse(&made));
    // The model of a drive with host memory describes its state with host memory on.
    let state = first.findings.iter().filter_map(|finding| finding.hmb).max();
    for about in ["read_cache", "mapping_cache", "write_buffer", "flush"] {
        let (a, b) = (first.finding(about, state).expect(about), second.finding(about, None).expect(about));
        assert_eq!(a.verdict, b.verdict, "{what}: {about}: {} / {}", a.evidence, b.evidence);
        if a.place == Some(Place::Slc) {
            assert_eq!(b.place, a.place, "{what}: {about}: {} / {}\n{made}", a.evidence, b.evidence);
        }
        assert_eq!(a.size.is_some(), b.size.is_some(), "{what}: {about}: {} / {}", a.evidence, b.evidence);
        if let (Some(a), Some(b)) = (a.size, b.size) {
            assert!((a.value - b.value).abs() <= 0.1 * a.value, "{what}: {about}: {a:?} {b:?}");
        }
    }
    for (about, name) in [
        ("parallelism", "read_us"),
        ("parallelism", "read_us_32"),
        ("write_buffer", "random_write_us"),
        ("write_buffer", "random_write_us_32"),
    ] {
        let number = |report: &Report, state| report.finding(about, state).expect(about).numbers[name];
        let (a, b) = (number(&first, state), number(&second, None));
        assert!((b / a - 1.0).abs() <= 0.15, "{what}: {name}: {a} and {b}\n{made}");
    }
    made
}

#[test]
fn a_model_has_the_findings_of_its_drive() {
    for (what, parts) in DRIVES {
        let (device, ftl) = parts.split_once("[ftl]\n").unwrap_or((parts, ""));
        let text = format!(
            "title = \"drive\"\n[host]\nmax_transfer = \"128KiB\"\n[link]\ntype = \"pcie\"\ngeneration = 3\nlanes = 4\n\
             [device]\ndram = \"64MiB\"\ncache_sharing = \"separate\"\n{device}[flash]\nchannels = 4\nchips = 1\ndies = 2\n\
             planes = 2\nblocks = 62\npages = 192\npage = \"16KiB\"\ncell = \"tlc\"\nread = \"60us\"\nprogram = \"700us\"\n\
             erase = \"4ms\"\nrate = \"667MT/s\"\n[ftl]\nunit = \"4KiB\"\ncapacity = \"2GiB\"\n{ftl}"
        );
        let made = compare(what, &parse(&text));
        let in_flash = "place = \"slc\"";
        assert_eq!(made.contains(in_flash), device.contains(in_flash), "{what}: {made}");
    }
}

#[test]
fn a_model_has_the_findings_of_its_preset() {
    for (preset, blocks, capacity) in PRESETS {
        let sets = [
            ("flash.blocks", blocks),
            ("ftl.capacity", capacity),
            ("ftl.over_provisioning", "auto"),
            ("ftl.slc_cache.size", "0B"),
            ("ftl.slc_cache.dynamic", "0B"),
        ];
        compare(preset, &System::load(preset, &sets).unwrap_or_else(|e| panic!("{e}")));
    }
}
