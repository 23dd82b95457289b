//! A rank of variable latency, compared with an obvious implementation that steps from clock edge to clock edge.

use dram::strobed::{Answer, StrobedConfig, StrobedRank, Waiting};
use proptest::prelude::*;
use sim::Time;

/// DDR2-800: one edge every 2.5 ns, CAS latency 5.
const CK: u64 = 2_500;

fn ck(clocks: u64) -> Time {
    Time::from_ps(clocks * CK)
}

/// DDR2-800D (JESD79-2F: 5-5-5), whose bus is held for at most 10 ms.
fn ddr2() -> StrobedConfig {
    StrobedConfig {
        transfers_per_s: 800_000_000,
        cas_latency: 5,
        answer: Answer::Strobe,
        waiting: Waiting::Held,
        timeout: Time::from_ms(10),
    }
}

fn rank(config: StrobedConfig) -> StrobedRank {
    StrobedRank::new(&config)
}

/// Answers with `bytes` of data that is ready at `ready` and takes `takes` from the first data on.
fn deliver(rank: &mut StrobedRank, ready: Time, bytes: u64, takes: Time) -> dram::strobed::Waveform {
    let signals = rank.answer(ready);
    rank.answered(signals, signals.data, bytes, signals.data + takes);
    signals
}

#[test]
fn data_in_the_buffer_comes_at_the_cas_latency() {
    let mut rank = rank(ddr2());
    rank.expect(ck(7), 64);
    let signals = rank.answer(ck(0));
    assert_eq!((signals.read, signals.preamble, signals.data), (ck(7), ck(11), ck(12)));
}

#[test]
fn the_strobe_follows_data_from_flash() {
    let mut rank = rank(ddr2());
    rank.expect(ck(7) - Time::from_ps(1), 64);
    // Ready between two edges: the preamble begins at the next, the data one clock later.
    let signals = rank.answer(ck(40_000) + Time::from_ps(1));
    assert_eq!((signals.read, signals.preamble, signals.data), (ck(7), ck(40_001), ck(40_002)));
    rank.answered(signals, signals.data, 64, signals.data + ck(4));
    assert_eq!((rank.stats().answers, rank.stats().repeated), (1, 0));
    assert_eq!(rank.stats().waited_max, ck(40_002 - 7));
}

#[test]
fn a_read_is_issued_again_after_its_time_out() {
    let timeout = ck(1_000);
    let mut rank = rank(StrobedConfig { timeout, ..ddr2() });
    rank.expect(ck(0), 192);
    // At the edge of the time-out the strobe still counts.
    assert_eq!(deliver(&mut rank, ck(1_000), 64, ck(4)).read, ck(0));
    // Answered at 1,001: the next READ waits from 1,005 on, is given up at 2,005, and at once issued again.
    let signals = deliver(&mut rank, ck(2_006), 64, ck(4));
    assert_eq!((signals.read, signals.data), (ck(2_005), ck(2_010)), "data waits for the second READ's latency");
    assert_eq!(rank.stats().repeated, 1);
}

#[test]
fn a_held_bus_is_free_at_the_time_out() {
    let timeout = ck(1_000);
    let held = StrobedConfig { timeout, ..ddr2() };
    let mut rank = rank(held);
    assert_eq!(rank.held(ck(5)), None, "no READ waits");
    rank.expect(ck(10), 64);
    assert_eq!(rank.held(ck(9)), None, "the READ has not been issued");
    assert_eq!(rank.held(ck(10)), Some(ck(1_010)));
    assert_eq!(rank.held(ck(1_009)), Some(ck(1_010)));
    // Others use the bus for 50 clocks; then the READ holds it again.
    let wait = rank.block();
    rank.give_way(ck(1_010), ck(1_060));
    assert_ne!(rank.wait(), wait, "a wake-up for the old wait is stale");
    assert_eq!((rank.held(ck(1_059)), rank.held(ck(1_060))), (None, Some(ck(2_060))));
    let signals = deliver(&mut rank, ck(1_030), 64, ck(4));
    assert_eq!((signals.read, signals.data), (ck(1_060), ck(1_065)));
    assert_eq!((rank.stats().repeated, rank.stats().blocked), (1, 1));
    assert_eq!(rank.stats().waited, ck(1_065 - 10), "from the first issue on");
    let mut open = StrobedRank::new(&StrobedConfig { waiting: Waiting::Released, ..held });
    open.expect(ck(10), 64);
    assert_eq!(open.held(ck(20)), None);
    open.give_way(ck(20), ck(60));
    assert_eq!(open.answer(ck(30)).read, ck(10), "a released READ keeps waiting");
}

#[test]
fn without_a_strobe_every_read_takes_the_fixed_time() {
    let mut rank = rank(StrobedConfig { answer: Answer::Fixed(ck(100)), ..ddr2() });
    rank.expect(ck(10), 192);
    assert_eq!(rank.held(ck(20)), None, "the controller knows when data comes");
    assert_eq!(deliver(&mut rank, ck(0), 64, ck(4)).data, ck(110));
    // The next READ is issued at 114; data that is ready a clock too late costs another READ.
    assert_eq!(deliver(&mut rank, ck(214), 64, ck(4)).data, ck(214));
    assert_eq!(deliver(&mut rank, ck(319), 64, ck(4)).data, ck(418));
    assert_eq!(rank.stats().repeated, 1);
}

#[test]
fn a_failed_command_leaves_no_read_behind() {
    let mut rank = rank(ddr2());
    rank.expect(ck(0), 4096);
    rank.cancel(4096);
    assert_eq!(rank.held(ck(50)), None);
    rank.expect(ck(100), 64);
    assert_eq!(deliver(&mut rank, ck(0), 64, ck(4)).read, ck(100));
}

/// Steps from edge to edge: the READ is issued again at each time-out, or sampled after each fixed latency.
fn slow(config: &StrobedConfig, issued: u64, ready: u64) -> (u64, u64) {
    let (timeout, mut read) = (config.timeout.ps() / CK, issued);
    for edge in issued.. {
        match config.answer {
            Answer::Strobe => {
                if edge > ready.max(issued) + timeout + 10 {
                    unreachable!("the strobe never rose");
                }
                // The preamble may begin at this edge, a clock before data.
                if edge >= ready && edge + 1 >= read + u64::from(config.cas_latency) {
                    return (read, edge + 1);
                }
                if edge < ready && edge == read + timeout {
                    read = edge;
                }
            }
            Answer::Fixed(latency) if edge == read + latency.ps() / CK => {
                if edge >= ready {
                    return (read, edge);
                }
                read = edge;
            }
            Answer::Fixed(_) => {}
        }
    }
    unreachable!()
}

proptest! {
    #[test]
    fn agrees_with_a_rank_stepped_edge_by_edge(
        cas_latency in 2u32..9,
        timeout in 9u64..300,
        fixed in prop::option::of(9u64..300),
        issued in 0u64..1_000,
        ready in prop_oneof![0u64..1_000, 0u64..5_000],
        late in 0u64..CK,
    ) {
        let answer = fixed.map_or(Answer::Strobe, |clocks| Answer::Fixed(ck(clocks)));
        let config = StrobedConfig { cas_latency, answer, timeout: ck(timeout), ..ddr2() };
        let mut rank = StrobedRank::new(&config);
        rank.expect(ck(issued), 64);
        let signals = rank.answer(ck(ready).saturating_sub(Time::from_ps(late)));
        let (read, data) = slow(&config, issued, ready);
        prop_assert_eq!((signals.read, signals.data), (ck(read), ck(data)));
        // What the standard and the device demand.
        prop_assert!(signals.data >= signals.read + ck(u64::from(cas_latency)));
        prop_assert!(signals.data >= ck(ready) && signals.preamble + ck(1) == signals.data);
    }
}
