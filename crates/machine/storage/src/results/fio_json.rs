//! The job-level fields of fio's JSON output: queue depths, latency classes and processor usage.

use serde_json::{Map, Value, json};
use sim::{Histogram, Time};
use workload::{DEPTHS, Player};

use crate::run::record::Point;

/// Counts of the player's jobs at the end of a run.
#[derive(Clone, Debug, Default)]
pub struct Issued {
    /// For each job, its requests classified by the number outstanding.
    depths: Vec<[u64; DEPTHS]>,
    /// For each job, the queue depth it reached and the latency target that the depth was searched for.
    latency: Vec<(u32, Option<Target>)>,
    /// Keys and values of the `[global]` sections.
    globals: Vec<(String, String)>,
}

/// A latency target: the latency, the window in which it is judged and the percentage of requests that must meet it.
type Target = (Time, Time, f64);

impl Issued {
    /// Collects the counts of `jobs` jobs from `player`.
    pub fn new(player: &Player, jobs: usize, globals: &[(String, String)]) -> Issued {
        Issued {
            depths: (0..jobs).map(|job| player.depths(job)).collect(),
            latency: (0..jobs).map(|job| (player.depth(job), player.latency_target(job))).collect(),
            globals: globals.to_vec(),
        }
    }

    /// Returns the keys of the `[global]` sections.
    pub(crate) fn globals(&self) -> Map<String, Value> {
        self.globals.iter().map(|(key, value)| (key.clone(), json!(value))).collect()
    }
}

/// Adds fio's job-level fields to a job's section. `latencies` are those of its three directions.
///
/// Every request is submitted and completed on its own, so `iodepth_submit` and `iodepth_complete` put all requests in
/// the class from 1 to 4. The simulator does not know a job's processor usage: those fields are 0, as is the time of
/// day.
pub(crate) fn complete(job: &mut Value, issued: Option<&Issued>, number: usize, latencies: [&Histogram; 3]) {
    let levels = issued.and_then(|issued| issued.depths.get(number)).copied().unwrap_or_default();
    let all: u64 = levels.iter().sum();
    let names = ["1", "2", "4", "8", "16", "32", ">=64"];
    job["iodepth_level"] =
        names.iter().zip(levels).map(|(name, count)| ((*name).to_owned(), share(count, all))).collect();
    let alone = |any: bool| {
        let names = ["0", "4", "8", "16", "32", "64", ">=64"];
        let class = |name: &str| json!(if any && name == "4" { 100.0 } else { 0.0 });
        Value::Object(names.iter().map(|name| ((*name).to_owned(), class(name))).collect())
    };
    job["iodepth_submit"] = alone(all > 0);
    job["iodepth_complete"] = alone(latencies.iter().any(|latencies| latencies.count() > 0));
    for (name, classes) in latency_classes(latencies) {
        job[name] = classes;
    }
    for name in ["usr_cpu", "sys_cpu"] {
        job[name] = json!(0.0);
    }
    for name in ["ctx", "majf", "minf"] {
        job[name] = json!(0);
    }
    let (depth, target) = issued.and_then(|issued| issued.latency.get(number)).copied().unwrap_or((1, None));
    let (latency, window, percentile) = target.unwrap_or((Time::ZERO, Time::ZERO, 100.0));
    job["latency_depth"] = json!(depth);
    job["latency_target"] = json!(latency.ns() / 1000);
    job["latency_percentile"] = json!(percentile);
    job["latency_window"] = json!(window.ns() / 1000);
}

fn share(count: u64, all: u64) -> Value {
    json!(if all > 0 { 100.0 * count as f64 / all as f64 } else { 0.0 })
}

/// Returns the percentage of requests in each latency class. A class is named by its upper edge and begins at the one
/// before.
fn latency_classes(latencies: [&Histogram; 3]) -> [(&'static str, Value); 3] {
    const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let (mut counts, mut beyond) = ([[0; 11]; 3], 0);
    for (ns, count) in latencies.iter().flat_map(|latencies| latencies.buckets()) {
        let unit = if ns < 1_000 {
            0
        } else if ns < 1_000_000 {
            1
        } else {
            2
        };
        let value = ns / [1, 1_000, 1_000_000][unit];
        match EDGES.iter().position(|edge| value < *edge) {
            Some(class) => counts[unit][class] += count,
            None if value < 2000 => counts[unit][10] += count,
            None => beyond += count,
        }
    }
    let all = latencies.iter().map(|latencies| latencies.count()).sum();
    let classes = |unit: usize| {
        let named = EDGES.iter().zip(counts[unit]).map(|(edge, count)| (edge.to_string(), share(count, all)));
        let mut classes: Map<String, Value> = named.collect();
        if unit == 2 {
            classes.insert("2000".to_owned(), share(counts[2][10], all));
            classes.insert(">=2000".to_owned(), share(beyond, all));
        }
        Value::Object(classes)
    };
    [("latency_ns", classes(0)), ("latency_us", classes(1)), ("latency_ms", classes(2))]
}

/// Returns the samples of a distribution by latency in ns, in the format of fio's `json+`.
pub(crate) fn bins(latencies: &Histogram) -> Value {
    Value::Object(latencies.buckets().map(|(ns, count)| (ns.to_string(), json!(count))).collect())
}

/// The interval of fio's bandwidth and IOPS samples (`bwavgtime`, `iopsavgtime`).
const SAMPLE: Time = Time::from_ms(500);

/// Joins windows into samples of at least 500 ms and returns the bytes and requests per second of each. A shorter
/// remainder is dropped.
pub(crate) fn samples(points: &[Point]) -> Vec<(f64, f64)> {
    let (mut samples, mut span, mut bytes, mut ios) = (Vec::new(), Time::ZERO, 0, 0);
    for point in points {
        (span, bytes, ios) = (span + point.span, bytes + point.bytes, ios + point.ios);
        if span >= SAMPLE {
            samples.push((bytes as f64 / span.secs_f64(), ios as f64 / span.secs_f64()));
            (span, bytes, ios) = (Time::ZERO, 0, 0);
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_classes_are_fios_and_add_up() {
        let mut latencies = Histogram::default();
        for (time, count) in
            [(Time::from_ns(150), 1), (Time::from_us(1), 2), (Time::from_us(80), 3), (Time::from_s(3), 4)]
        {
            (0..count).for_each(|_| latencies.record(time));
        }
        let none = Histogram::default();
        let [(_, ns), (_, us), (_, ms)] = latency_classes([&none, &latencies, &none]);
        assert_eq!(
            (&ns["250"], &us["2"], &us["100"], &ms[">=2000"]),
            (&json!(10.0), &json!(20.0), &json!(30.0), &json!(40.0))
        );
        let sum =
            |classes: &Value| classes.as_object().expect("classes").values().filter_map(Value::as_f64).sum::<f64>();
        assert!((sum(&ns) + sum(&us) + sum(&ms) - 100.0).abs() < 1e-9);
        assert_eq!((ns.as_object().map(Map::len), ms.as_object().map(Map::len)), (Some(10), Some(12)));
    }

    #[test]
    fn samples_span_half_a_second() {
        let point = |bytes| Point { at: Time::ZERO, span: Time::from_ms(200), ios: 1, bytes, ..Point::default() };
        let points: Vec<Point> = [600, 600, 600, 1200, 1200, 1200, 1].map(point).to_vec();
        assert_eq!(samples(&points), [(3000.0, 5.0), (6000.0, 5.0)]);
    }
}
