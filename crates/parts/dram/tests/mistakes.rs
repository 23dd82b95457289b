//! Mistakes in a device file or a configuration must be reported in one line.

use dram::{Channel, Config, Device, Ranks};
use sim::Time;

const DDR3: &str = include_str!("../presets/ddr3-1600.toml");

#[test]
fn mistakes_in_a_device_file_are_told() {
    let cases: [(&str, &str, &str); 12] = [
        ("CL = \"11ck\"\n", "", "DDR3-1600: the key CL is missing"),
        ("CL = \"11ck\"", "CL = \"11\"", "DDR3-1600: CL: found \"11\", expected a duration such as"),
        ("CL = \"11ck\"", "CL = true", "DDR3-1600: CL: found true, expected a duration"),
        ("tFAW = \"30ns\"", "tFAW = \"30 parsecs\"", "DDR3-1600: tFAW: found \"30 parsecs\", expected a duration"),
        ("tFAW = \"30ns\"", "tFAW = \"max(4ck, )\"", "DDR3-1600: tFAW: found \"max(4ck, )\", expected a duration"),
        ("rows = 65536", "rows = 65535", "DDR3-1600: rows: found 65535, expected a power of two"),
        ("rows = 65536", "rows = -1", "DDR3-1600: rows: found -1, expected a whole number from 1 to 2^24"),
        ("tXP = ", "tXQ = 3\ntXP = ", "DDR3-1600: found the key tXQ, which no part of a device reads"),
        ("tCKE = ", "tRCD = 3\ntCKE = ", "DDR3-1600: found the key tRCD twice"),
        ("\"1250ps\"", "\"800MHz\"", "DDR3-1600: clock: found \"800MHz\", expected a period in picoseconds"),
        ("IDD0 = \"55mA\"", "IDD0 = 55", "DDR3-1600: VDD.IDD0: found 55, expected a number of mA"),
        ("tCCD_S = \"4ck\"", "tCCD_S = \"3ck\"", "DDR3-1600: tCCD_S: found 3, expected at least the clocks of a burst"),
    ];
    for (from, to, expected) in cases {
        assert!(DDR3.contains(from), "{from}");
        let error = Device::parse(&DDR3.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.starts_with(expected), "{to}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = Device::preset("DDR4-2401").expect_err("no preset").to_string();
    assert!(error.starts_with("found the DRAM preset \"DDR4-2401\", expected one of DDR2-800, DDR3-1600,"), "{error}");
    assert!(Device::preset("ddr4-2400").is_ok());
}

#[test]
fn mistakes_in_a_configuration_are_told() {
    type Spoil = fn(&mut Config);
    let cases: [(Spoil, &str); 9] = [
        (|c| c.ranks.clear(), "ranks: found [], expected one group or more, each of a power of two"),
        (|c| c.ranks = vec![Ranks { count: 32, ..c.ranks[0] }], "ranks: found 32, expected at most 16"),
        (|c| c.ports = 0, "ports: found 0, expected 1 to 16"),
        (|c| c.read_queue = 129, "read_queue: found 129, expected 1 to 128"),
        (|c| c.write_queue = 0, "write_queue: found 0, expected 1 to 127"),
        (|c| c.write_high = 33, "write_high: found 33, expected 1 to write_queue"),
        (|c| c.write_low = 26, "write_low: found 26, expected less than write_high"),
        (|c| c.refresh_postpone = 9, "refresh_postpone: found 9, expected at most the device's refresh_postpone_max"),
        (|c| c.age_max = Time::from_ns(1), "age_max: found 1ns, expected at least a quarter of tREFI"),
    ];
    for (spoil, expected) in cases {
        let mut config = Config::new(Device::parse(DDR3).expect("a device"));
        spoil(&mut config);
        let error = Channel::new(&config).err().expect(expected).to_string();
        assert_eq!(error, expected);
    }
}

#[test]
#[should_panic(expected = "is not within one of the groups of ranks")]
fn a_request_beyond_the_end_is_refused() {
    let config = Config::new(Device::parse(DDR3).expect("a device"));
    let mut channel = Channel::new(&config).expect("a channel");
    channel.submit(Time::ZERO, dram::Request { address: config.bytes() - 32, bytes: 64, ..Default::default() });
}
