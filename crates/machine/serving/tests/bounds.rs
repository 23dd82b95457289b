//! Bounds and conservation laws of whole runs.

mod support;

use serde_json::Value;
use sim::Time;
use support::{SMALL, drive, run, with};

fn number(summary: &Value, path: &str) -> f64 {
    summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {path}"))
}

#[test]
fn requests_in_the_system_follow_littles_law() {
    // From the start to the last answer, with every answer counted, the law is an identity.
    let outcome = run(&with(SMALL, "load", "warm_up", "\"0s\""), &drive());
    let sum: u128 = outcome.tally.answers.iter().map(|each| u128::from((each.last - each.request.at).ps())).sum();
    assert_eq!(outcome.tally.request_ps, sum);
    assert_eq!(outcome.tally.arrived, outcome.tally.finished + outcome.tally.rejected);
    assert!(outcome.tally.finished > 100);
}

#[test]
fn every_token_is_computed_or_found() {
    let outcome = run(&with(SMALL, "load", "warm_up", "\"0s\""), &drive());
    let (tally, answers) = (&outcome.tally, &outcome.tally.answers);
    let output: u64 = answers.iter().map(|each| each.request.output).sum();
    assert_eq!(tally.generated, output);
    // Each admission looks its known tokens up; the rest is computed, and then one token per further step.
    let admissions = tally.finished + tally.preempted;
    let found: u64 = tally.hits.iter().sum();
    if tally.preempted == 0 {
        assert_eq!(tally.looked_up, answers.iter().map(|each| each.request.prompt).sum::<u64>());
        assert_eq!(tally.computed, tally.looked_up - found + output - admissions);
    }
    assert!(tally.hits.iter().all(|hit| *hit > 0), "every tier is used: {:?}", tally.hits);
}

#[test]
fn preempted_requests_are_answered_in_full() {
    let text = with(&with(SMALL, "gpu", "pool", "\"24MiB\""), "load", "warm_up", "\"0s\"");
    let outcome = run(&with(&text, "load", "output", "{ tokens = 200, distribution = \"exponential\" }"), &drive());
    assert!(outcome.tally.preempted > 0, "the pool is too small");
    let output: u64 = outcome.tally.answers.iter().map(|each| each.request.output).sum();
    assert_eq!(outcome.tally.generated, output);
}

#[test]
fn bytes_are_conserved_between_tiers_and_drives() {
    for placement in ["\"stripe\"", "\"block\""] {
        let two = with(&with(SMALL, "drive", "count", "2"), "drive", "placement", placement);
        let outcome = run(&with(&two, "load", "warm_up", "\"0s\""), &drive());
        let flow = outcome.tally.flow;
        let counters = outcome.drives.counters(outcome.end);
        let written: u64 = counters.iter().map(|each| each.ftl.host_bytes).sum();
        assert!(written > 0 && flow.drive_to_gpu > 0, "{placement}: the drives are used");
        assert_eq!(written, flow.to_drive, "{placement}");
        // Blocks reach the drives through host memory, and only blocks that left the GPU are in host memory.
        assert!(flow.to_drive <= flow.gpu_to_host);
        let fetched = outcome.measured().bytes(0, storage::record::Direction::Read);
        assert_eq!(fetched, flow.drive_to_gpu, "{placement}");
        let used: Vec<u64> = counters.iter().map(|each| each.ftl.host_bytes).collect();
        assert!(used[0].abs_diff(used[1]) * 10 < written, "both drives are used alike: {used:?}");
    }
}

#[test]
fn throughput_stays_below_the_roofline() {
    let text = with(SMALL, "load", "rate", "\"200/s\"");
    let outcome = run(&text, &drive());
    let summary = serving::summary(&drive(), &outcome);
    let (model, roof) = (outcome.config.model, outcome.config.gpus.roofline());
    let computed = number(&summary, "/nandram/serving/computed_tokens_per_s");
    assert!(computed <= roof.flops / model.flops_per_token(), "{computed}");
    // A step reads all weights and computes at most the budget.
    let steps = number(&summary, "/nandram/serving/steps");
    let span = number(&summary, "/nandram/window/span_s");
    assert!(steps <= span * roof.bandwidth / model.weight_bytes() as f64 + 1.0);
    assert!(number(&summary, "/nandram/serving/gpu_busy") <= 1.0 + 1e-9);
    assert!(number(&summary, "/nandram/serving/gpu_busy") > 0.9, "the server is saturated");
}

#[test]
fn copies_stay_below_the_links() {
    let text = with(&with(SMALL, "tiers", "link", "\"1GB/s\""), "load", "rate", "\"40/s\"");
    let outcome = run(&text, &drive());
    let summary = serving::summary(&drive(), &outcome);
    let span = number(&summary, "/nandram/window/span_s");
    for (way, read) in [("to_gpu", ["host", "drive"].as_slice()), ("to_host", &["gpu"])] {
        assert!(number(&summary, &format!("/nandram/serving/link_busy/{way}")) > 0.1);
        let bytes: f64 =
            read.iter().map(|tier| number(&summary, &format!("/nandram/serving/tiers/{tier}/read_bytes"))).sum();
        // Copies are accounted when they are queued: what is queued at the end may still wait.
        let queued = outcome.config.gpus.pool as f64;
        assert!(bytes <= span * 1e9 + queued, "{way}: {bytes} in {span} s");
    }
    // A drive's link carries at most its PCIe rate, 16 GT/s on four lanes at 128b/130b.
    let drive_bytes = number(&summary, "/nandram/serving/tiers/drive/read_bytes");
    assert!(drive_bytes <= span * 4.0 * 16e9 / 8.0 * 128.0 / 130.0);
}

#[test]
fn streamed_weights_bound_a_step_by_their_source() {
    for (source, rate) in [("\"host\"", 16e9), ("\"drive\"", 4.0 * 16e9 / 8.0 * 128.0 / 130.0)] {
        let text = SMALL.replace("[gpu]\n", &format!("[weights]\nstreamed = 0.5\nsource = {source}\n[gpu]\n"));
        let outcome = run(&with(&text, "load", "duration", "\"6s\""), &drive());
        let bytes = outcome.config.streamed_bytes() as f64;
        assert!(outcome.tally.gpu_busy.secs_f64() >= outcome.tally.steps as f64 * bytes / rate);
        assert_eq!(outcome.tally.flow.weights, outcome.tally.steps * outcome.config.streamed_bytes());
    }
}

#[test]
fn offloaded_blocks_wear_the_flash() {
    let outcome = run(SMALL, &drive());
    let summary = serving::summary(&drive(), &outcome);
    let of = |key: &str| number(&summary, &format!("/nandram/serving/tiers/drive/{key}"));
    assert!(of("write_amplification") >= 1.0);
    assert!(of("dwpd") > 0.0);
    // Lifetime, DWPD and write amplification are one figure: cycles x raw / (bytes a day x WA).
    let raw = number(&summary, "/nandram/raw_bytes");
    let capacity = number(&summary, "/nandram/capacity_bytes");
    let expected = 3000.0 * raw / (of("dwpd") * capacity * of("write_amplification")) / 365.0;
    assert!((of("lifetime_years") / expected - 1.0).abs() < 1e-9);
}

#[test]
fn recomputing_uses_no_lower_tier() {
    let outcome = run(&with(SMALL, "tiers", "reuse", "\"recompute\""), &drive());
    assert_eq!(outcome.tally.flow, serving::Flow::default());
    assert_eq!(outcome.tally.hits[1..], [0, 0]);
    assert!(outcome.tally.dropped > 0);
}

#[test]
fn the_cheaper_way_is_no_slower_than_both() {
    let ttft = |reuse: &str| {
        let outcome = run(&with(SMALL, "tiers", "reuse", reuse), &drive());
        let all: Vec<Time> = outcome.tally.answers.iter().map(|each| each.first - each.request.at).collect();
        all.iter().map(|time| time.secs_f64()).sum::<f64>() / all.len() as f64
    };
    let (fetch, recompute, cheaper) = (ttft("\"fetch\""), ttft("\"recompute\""), ttft("\"cheaper\""));
    assert!(cheaper <= 1.1 * fetch.min(recompute), "fetch {fetch}, recompute {recompute}, cheaper {cheaper}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let text = with(SMALL, "load", "duration", "\"6s\"");
    let summaries = [(); 2].map(|()| serving::summary(&drive(), &run(&text, &drive())).to_string());
    assert_eq!(summaries[0], summaries[1]);
}
