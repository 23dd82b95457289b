//! Energy compared with values computed by hand, and its attribution over time.

use dram::{Ack, Basis, Channel, Config, Device, PowerState, RankKind, Ranks, Request, RequestKind};
use sim::Time;

fn read(address: u64) -> Request {
    Request { kind: RequestKind::Read, address, bytes: 64, ..Request::default() }
}

fn drain(channel: &mut Channel) -> Time {
    let (mut done, mut end) = (Vec::new(), Time::ZERO);
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
        end = now;
    }
    end
}

fn about(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{what}: found {found} pJ, expected {expected} pJ");
}

/// DDR3-1600, eight devices of 1.35 V, a clock of 1.25 ns: one read and one write of the same row, then rest, 4 us in
/// all.
///
/// | what | by hand, for one device |
/// | --- | --- |
/// | ACT | (55 mA x 39 ck - 38 mA x 28 ck - 32 mA x 11 ck) x 1.25 ns x 1.35 V = 729 mA ck = 1230.1875 pJ |
/// | read | (157 - 38) mA x 4 ck x 1.25 ns x 1.35 V = 803.25 pJ |
/// | write | (125 - 38) mA x 4 ck x 1.25 ns x 1.35 V = 587.25 pJ |
/// | standby | the bank is opened at once and stays open: 38 mA x 3200 ck x 1.25 ns x 1.35 V = 205 200 pJ |
#[test]
fn a_read_and_a_write_cost_what_the_sheet_says() {
    let config = Config::new(Device::preset("DDR3-1600").expect("a preset"));
    let mut channel = Channel::new(&config).expect("a channel");
    channel.submit(Time::ZERO, read(0));
    drain(&mut channel);
    let write = Request { kind: RequestKind::Write, ack: Ack::Written, ..read(64) };
    channel.submit(Time::from_us(1), write);
    drain(&mut channel);
    let energy = channel.energy(Time::from_us(4))[0];
    about(energy.activate.pj_f64(), 8.0 * 1230.1875, "ACT");
    about(energy.read.pj_f64(), 8.0 * 803.25, "read");
    about(energy.write.pj_f64(), 8.0 * 587.25, "write");
    about(energy.standby.pj_f64(), 8.0 * 205_200.0, "standby");
    about(energy.total().pj_f64(), 8.0 * (1230.1875 + 803.25 + 587.25 + 205_200.0), "all");
}

/// DDR4-2400 without work for 78 us, ten refreshes: IDD2N between them, IDD5B during them.
///
/// The first is due at 7.8 us. The tenth is due at 78 us and is not over, but counts completely. 34 mA x 78 us, and ten
/// times (250 - 34) mA x 350 ns, at 1.2 V and with eight devices, give 25.459 uJ and 7.2576 uJ.
#[test]
fn refresh_costs_what_the_sheet_says() {
    let config = Config::new(Device::preset("DDR4-2400").expect("a preset"));
    let mut channel = Channel::new(&config).expect("a channel");
    let energy = channel.energy(Time::from_us(78))[0];
    assert_eq!(channel.activity(Time::from_us(78))[0].refreshes, 10);
    about(energy.standby.pj_f64(), 8.0 * 34.0 * 78_000.0 * 1.2, "standby");
    about(energy.refresh.pj_f64(), 8.0 * 10.0 * 216.0 * 350.0 * 1.2, "refresh");
}

/// LPDDR3-1600 with two supplies and one read at time zero. A rank is powered down after 1 us of idle time and enters
/// self-refresh after 10 us.
#[test]
fn a_resting_rank_is_powered_down_and_then_refreshes_itself() {
    let mut config = Config::new(Device::preset("LPDDR3-1600").expect("a preset"));
    config.power_down_after = Some(Time::from_us(1));
    config.self_refresh_after = Some(Time::from_us(10));
    let mut channel = Channel::new(&config).expect("a channel");
    channel.submit(Time::ZERO, Request { bytes: 32, ..read(0) });
    drain(&mut channel);
    let activity = channel.activity(Time::from_ms(1))[0];
    let of = |state| activity.clocks_in(state);
    let all: u64 = activity.clocks.iter().sum();
    assert_eq!(all, 800_000, "a millisecond at 800 MHz");
    // Read at 15 ck and idle from then; power-down at 815 ck with its row open; up for the refreshes at 3.9 and 7.8 us.
    assert_eq!(of(PowerState::ActivePowerDown), 3120 - 815);
    assert_eq!(activity.refreshes, 2);
    assert!(of(PowerState::PrechargePowerDown) > 4000, "{activity:?}");
    assert!((791_000..792_000).contains(&of(PowerState::SelfRefresh)), "{activity:?}");
    // Both supplies: 1 mA at 1.8 V and 3.27 mA at 1.2 V.
    let asleep = of(PowerState::SelfRefresh) as f64 * 1.25;
    let energy = channel.energy(Time::from_ms(1))[0];
    about(energy.self_refresh.pj_f64(), asleep * (1.0 * 1.8 + 3.27 * 1.2), "self-refresh");
    // A row is opened tXS after the exit: 112 + 15 + 12 + 5 + 4 clocks.
    channel.submit(Time::from_ms(1), Request { bytes: 32, ..read(0) });
    let end = drain(&mut channel);
    assert_eq!(end - Time::from_ms(1), Time::from_ps((112 + 15 + 12 + 5 + 4) * 1250));
}

#[test]
fn power_down_saves_and_costs_its_exit() {
    let plain = Config::new(Device::preset("DDR4-2400").expect("a preset"));
    let saving = Config { power_down_after: Some(Time::from_ns(100)), ..plain.clone() };
    let [(plain, plain_energy), (saved, saved_energy)] = [plain, saving].map(|config| {
        let mut channel = Channel::new(&config).expect("a channel");
        channel.submit(Time::from_us(5), read(0));
        let end = drain(&mut channel);
        (end, channel.energy(Time::from_us(7))[0].total())
    });
    // tXP is 8 clocks of 0.833 ns.
    let later = (saved - plain).ps();
    assert!((6_666..=6_667).contains(&later), "{later} ps");
    assert!(saved_energy < plain_energy, "{saved_energy} against {plain_energy}");
}

#[test]
fn a_buffer_rank_is_told_apart_and_needs_no_refresh_and_no_energy_of_ours() {
    let mut config = Config::new(Device::preset("LPDDR3-1200").expect("a preset"));
    config.ranks = vec![Ranks { kind: RankKind::Dram, count: 1 }, Ranks { kind: RankKind::Buffer, count: 1 }];
    let mut channel = Channel::new(&config).expect("a channel");
    let base = config.device.rank_bytes();
    channel.submit(Time::ZERO, read(64));
    channel.submit(Time::ZERO, read(base + 64));
    let mut done = Vec::new();
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
    }
    let kinds: Vec<RankKind> = done.iter().map(|completion| completion.rank_kind).collect();
    assert_eq!(kinds, [RankKind::Dram, RankKind::Buffer]);
    assert_eq!((channel.kind_at(0), channel.kind_at(base)), (RankKind::Dram, RankKind::Buffer));
    let activity = channel.activity(Time::from_ms(1));
    assert_eq!((activity[0].refreshes, activity[1].refreshes), (256, 0));
    assert_eq!(channel.energy(Time::from_ms(1))[1].total(), sim::Energy::ZERO);
}

#[test]
fn every_value_of_every_preset_has_a_basis() {
    for preset in Device::presets() {
        let device = Device::preset(preset).expect("a preset");
        assert_eq!(device.name, preset);
        let reasons = |basis: &Basis| match basis {
            Basis::Given(source) => ["JESD", "Micron", "Ramulator"].iter().any(|of| source.starts_with(of)),
            Basis::Assumed(why) => why.len() > 20,
        };
        for (key, basis) in device.bases() {
            assert!(reasons(basis), "{preset}: {key}: {basis:?}");
        }
        for key in ["clock", "tRCD", "tRFC", "tREFI", "tFAW", "rows"] {
            assert!(device.basis(key).is_some(), "{preset}: {key}");
        }
        // The name contains the rate: transfers per clock divided by the period.
        let rate = f64::from(device.transfers_per_clock) / device.clock.period_ps() * 1e6;
        let named: f64 = preset.rsplit('-').next().and_then(|n| n.parse().ok()).expect("a rate");
        assert!((rate - named).abs() < 1.0, "{preset}: {rate} MT/s");
        assert!(device.timing.rc >= device.timing.ras && device.timing.rfc < device.timing.refi / 8);
    }
}
