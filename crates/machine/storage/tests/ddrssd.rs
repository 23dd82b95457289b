//! Results of the two PC architectures of Kim et al. (IEICE Trans. E92-D, 2009): 64 KB transfers over the bridges and
//! on a DDR port, with one drive and one host. No parameter is fitted to any of these figures.
//!
//! `cargo test -p storage --test ddrssd -- --nocapture` prints all ten results.

#[allow(dead_code)]
#[path = "support/play.rs"]
mod play;

use play::options;
use serde_json::Value;
use storage::prepare::Preparation;
use storage::run::{Outcome, run};
use storage::summary::summary;
use system::System;
use workload::Workload;

const BRIDGES: &str = "sata-ssd-southbridge";
const PORT: &str = "ddrssd";

/// Creates a preset with few blocks, which is filled quickly. The number of blocks does not affect the time of a
/// request.
fn system(name: &str, sets: &[(&str, &str)]) -> System {
    play::system(name, &[&[("flash.blocks", "1024")], sets].concat())
}

/// A job of 64 KB requests over 32 MB, with `depth` outstanding.
fn through(rw: &str, depth: u32) -> String {
    format!("[job]\nrw={rw}\nbs=64k\nsize=32m\niodepth={depth}\n")
}

/// A job that reads data that fits in the cache buffer, and then reads it again repeatedly.
fn hits(depth: u32) -> String {
    format!(
        "[warm]\nrw=read\nbs=64k\nsize=8m\n[job]\nstonewall\nrw=randread\nnorandommap\nbs=64k\nsize=8m\n\
         number_ios=1000\niodepth={depth}\n"
    )
}

/// A job of 52 % writes over a region of which a cache buffer of 16 MiB serves 2.35 % of the reads.
fn mix(depth: u32) -> String {
    format!("[job]\nrw=randrw\nrwmixread=48\nbs=64k\nsize=680m\nnorandommap\nnumber_ios=4000\niodepth={depth}\n")
}

fn outcome(system: &System, jobs: &str, preparation: Preparation) -> (Outcome, Value) {
    let workload = Workload::parse_fio("job.fio", jobs).unwrap_or_else(|error| panic!("{error}"));
    let outcome =
        run(system, &workload, &options(preparation), &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let all = summary(system, &outcome);
    (outcome, all)
}

/// Returns the last job's MB/s and its mean response time in microseconds, from the doorbell to the notification of the
/// program.
fn measured(system: &System, jobs: &str, preparation: Preparation, direction: &str) -> (f64, f64) {
    let (_, all) = outcome(system, jobs, preparation);
    let job = &all["jobs"].as_array().unwrap().last().unwrap()[direction];
    (job["bw_bytes"].as_f64().unwrap() / 1e6, job["clat_ns"]["mean"].as_f64().unwrap() / 1e3)
}

struct Row {
    id: &'static str,
    paper: f64,
    ours: f64,
    /// The deviation that the documents promise.
    within: Option<f64>,
}

#[test]
fn the_ten_claims() {
    let (bridges, port) = (system(BRIDGES, &[]), system(PORT, &[]));
    let mut rows = Vec::new();
    let mut ratio = |id, paper, within, jobs: &str, preparation, direction| {
        let times = [&bridges, &port].map(|system| measured(system, jobs, preparation, direction).1);
        rows.push(Row { id, paper, ours: times[0] / times[1], within });
    };
    let (filled, erased) = (Preparation::Filled, Preparation::Erased);
    ratio("response_ratio.read_miss", 1.16, Some(0.1), &through("read", 1), filled, "read");
    ratio("response_ratio.read_hit", 8.7, Some(0.1), &hits(1), filled, "read");
    // The paper's own bandwidths give 1.27, its figure 1.50.
    ratio("response_ratio.write", 1.50, None, &through("write", 1), erased, "write");
    let mut bandwidth = |id, paper, system, jobs: &str, preparation, direction| {
        rows.push(Row { id, paper, ours: measured(system, jobs, preparation, direction).0, within: Some(0.1) });
    };
    bandwidth("bandwidth.write.sata", 35.96, &bridges, &through("write", 2), erased, "write");
    bandwidth("bandwidth.write.ddr", 45.68, &port, &through("write", 2), erased, "write");
    bandwidth("bandwidth.read_miss.sata", 50.03, &bridges, &through("read", 2), filled, "read");
    bandwidth("bandwidth.read_miss.ddr", 57.97, &port, &through("read", 2), filled, "read");
    bandwidth("bandwidth.read_hit.sata", 296.53, &bridges, &hits(4), filled, "read");
    bandwidth("bandwidth.read_hit.ddr", 3175.19, &port, &hits(4), filled, "read");
    // The presets' 32 GB have room for all the writes; the few blocks of this test need it too.
    let ends = [BRIDGES, PORT].map(|name| {
        let (outcome, all) = outcome(&system(name, &[("ftl.over_provisioning", "0.45")]), &mix(1), filled);
        let ftl = &all["nandram"]["ftl"];
        (outcome.end.secs_f64(), ftl["read_hits"].as_f64().unwrap(), ftl["read_misses"].as_f64().unwrap())
    });
    let misses = ends[0].2 / (ends[0].1 + ends[0].2);
    assert!((misses - 0.9765).abs() < 0.005, "{misses} of the reads miss");
    rows.push(Row { id: "trace_speedup", paper: 1.6, ours: ends[0].0 / ends[1].0, within: None });
    for Row { id, paper, ours, within } in rows {
        let deviation = ours / paper - 1.0;
        println!("ddrssd.{id:26} {paper:9.2} {ours:9.2} {:+6.1} %", deviation * 100.0);
        assert!(within.is_none_or(|most| deviation.abs() < most), "{id}: {ours}, the paper has {paper}");
    }
}

/// No row has parameters of its own: the two presets differ only in the link.
#[test]
fn both_presets_are_one_drive_and_one_host() {
    let (bridges, port) = (system(BRIDGES, &[]), system(PORT, &[]));
    for (a, b) in bridges.settings().iter().zip(port.settings()) {
        let link = a.key.table() == "link" || a.key.name == "title";
        assert!(link || (a.value == b.value && a.applies == b.applies), "{} differs", a.key.name);
    }
    // Two values are read off one figure; none is fitted to any other.
    let calibrated = |system: &System| -> Vec<(String, String)> {
        let fitted = system.settings().iter().filter_map(|setting| {
            let basis = setting.basis.as_ref().filter(|basis| basis.kind() == "calibrated")?;
            Some((setting.key.name.to_string(), basis.text().to_string()))
        });
        fitted.collect()
    };
    for system in [&bridges, &port] {
        let found = calibrated(system);
        assert_eq!(found.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["device.buffering", "flash.rate"]);
        assert!(found.iter().all(|(_, text)| text.starts_with("ddrssd.bandwidth.read_miss.sata:")), "{found:?}");
    }
}

/// With an infinitely fast host, the drive matches the product announced in 2007: 64 MB/s reads, 45 MB/s writes.
#[test]
fn the_drive_is_of_2007() {
    let drive = system(PORT, &[("link.rate", "800GT/s"), ("host.memory.bandwidth", "6400GB/s")]);
    let (read, _) = measured(&drive, &through("read", 2), Preparation::Filled, "read");
    let (written, _) = measured(&drive, &through("write", 2), Preparation::Erased, "write");
    assert!((read / 64.0 - 1.0).abs() < 0.03 && (written / 45.0 - 1.0).abs() < 0.03, "{read} and {written} MB/s");
}

/// The other half of Table 3: the utilization of each interface when every read hits. The warm-up is also run on its
/// own and subtracted.
#[test]
fn hits_saturate_sata_and_half_of_the_port() {
    for (name, least, most) in [(BRIDGES, 0.97, 1.0), (PORT, 0.47, 0.5)] {
        let system = system(name, &[]);
        let busy = |jobs: &str| {
            let (outcome, _) = outcome(&system, jobs, Preparation::Filled);
            let [down, up] = outcome.machine.host_interface().link(outcome.end);
            ((down.busy + up.busy).secs_f64(), outcome.end.secs_f64())
        };
        let (both, warm) = (busy(&hits(4)), busy("[warm]\nrw=read\nbs=64k\nsize=8m\n"));
        let used = (both.0 - warm.0) / (both.1 - warm.1);
        assert!(used > least && used <= most, "{name}: {used}");
    }
}

/// Outside the drive, reads overlap; writes do not. Two outstanding requests gain the time spent outside the drive, and
/// more requests gain nothing.
#[test]
fn what_two_at_once_gain() {
    for name in [BRIDGES, PORT] {
        let system = system(name, &[]);
        for (rw, preparation) in [("read", Preparation::Filled), ("write", Preparation::Erased)] {
            let [one, two, four] = [1, 2, 4].map(|depth| measured(&system, &through(rw, depth), preparation, rw).0);
            assert!(two > one && two < one * 1.03, "{name} {rw}: {one}, then {two} MB/s");
            assert!((four / two - 1.0).abs() < 0.002, "{name} {rw}: {two}, then {four} MB/s");
        }
    }
}

/// A drive with two buffers would hide its interface behind its flash. Table 3 shows that the drive alternates between
/// the two.
#[test]
fn a_streaming_drive_hides_its_interface() {
    let read =
        |sets: &[(&str, &str)], name| measured(&system(name, sets), &through("read", 2), Preparation::Filled, "read").0;
    let streamed = [("device.buffering", "streamed")];
    assert!((read(&streamed, BRIDGES) / read(&streamed, PORT) - 1.0).abs() < 0.02);
    assert!(read(&streamed, BRIDGES) > read(&[], BRIDGES) * 1.15);
}
