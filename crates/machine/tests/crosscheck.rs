//! Against another simulator, MQSim (CMU-SAFARI/MQSim, 2022-10; Tavakkol et al., FAST 2018), on its own default drive:
//! 4 KiB random reads over a full drive, 32 outstanding. The drive is the preset with fewer blocks, which changes the
//! mean of a random read by nothing: dies, channels and the rest stay.

#[path = "support/play.rs"]
mod play;

use machine::prepare::Preparation;
use play::{options, play, requests, system};

const JOB: &str = "rw=randread\nbs=4k\niodepth=32\nnumber_ios=60000\nnorandommap";
/// 64 blocks a plane for 2048.
const SHRUNK: [(&str, &str); 3] = [("flash.blocks", "64"), ("ftl.gc.start", "3"), ("ftl.over_provisioning", "0.2")];

#[test]
fn random_reads_with_the_whole_map_take_as_long_as_in_mqsim() {
    let outcome = play(&system("mqsim-ideal-map", &SHRUNK), JOB, &options(Preparation::Filled));
    let (ios, mean) = requests(&outcome);
    println!("mqsim-ideal-map: mean response {:.2} us over {ios} reads; MQSim 166 us", mean * 1e6);
    assert_eq!((ios, outcome.machine.ftl().stats().map_reads), (60000, 0));
    assert!((mean / 166e-6 - 1.0).abs() < 0.05, "mean response {} us, MQSim has 166 us", mean * 1e6);
}

/// The preset's 2 MiB hold under 1 % of the map, so that demand loading reads about one translation page a request.
///
/// In a closed network whose queues all get more work by one factor, the response grows by that factor: a request was
/// one read of 4 KiB, and is now that and a read of a whole translation page of 8 KiB, which is on the channel for
/// longer. MQSim itself counts 424 reads of mapping pages a thousand requests and has 209 us; why was not found out.
#[test]
fn a_small_map_cache_costs_one_map_read_a_request() {
    let over = |preset, more: &[(&'static str, &'static str)]| {
        let outcome = play(&system(preset, &[&SHRUNK[..], more].concat()), JOB, &options(Preparation::Filled));
        let (ios, mean) = requests(&outcome);
        (mean, outcome.machine.ftl().stats().map_reads as f64 / ios as f64)
    };
    let (ideal, _) = over("mqsim-ideal-map", &[]);
    // The same part of the map as 2 MiB are of the whole drive's.
    let (mean, each) = over("mqsim-default", &[("ftl.map_cache.size", "56KiB")]);
    println!(
        "mqsim-default: mean response {:.2} us, {each:.3} map reads a request; ideal {:.2}",
        mean * 1e6,
        ideal * 1e6
    );
    assert!((0.9..=1.01).contains(&each), "{each} map reads a request");
    let read = |bytes: f64| 75e-6 + 290e-9 + bytes / 333e6;
    let expected = ideal * (1.0 + each * read(8192.0) / read(4096.0));
    assert!((mean / expected - 1.0).abs() < 0.15, "mean response {mean}, by the work of a request {expected}");
}
