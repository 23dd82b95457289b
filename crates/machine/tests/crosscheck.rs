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

/// MQSim's 2 MiB hold under 1 % of the map, so that demand loading reads about one translation page a request. (MQSim
/// itself counts 424 reads of mapping pages a thousand requests and 209 us; why was not found out.)
#[test]
fn a_small_map_cache_costs_one_map_read_a_request() {
    // The same part of the map as 2 MiB are of the whole drive's.
    let sets = [&SHRUNK[..], &[("ftl.map_cache.size", "56KiB")]].concat();
    let outcome = play(&system("mqsim-default", &sets), JOB, &options(Preparation::Filled));
    let (ios, mean) = requests(&outcome);
    let each = outcome.machine.ftl().stats().map_reads as f64 / ios as f64;
    println!("mqsim-default: mean response {:.2} us, {each:.3} map reads a request over {ios} reads", mean * 1e6);
    assert!((0.9..=1.01).contains(&each), "{each} map reads a request");
    assert!(
        (240e-6..300e-6).contains(&mean),
        "mean response {} us, about 270 us is what demand loading gives",
        mean * 1e6
    );
}
