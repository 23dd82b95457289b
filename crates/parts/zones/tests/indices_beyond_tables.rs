//! Numbers beyond a zoned drive: each call panics or fails, in release builds too.

use testkit::refused;
use zones::{Config, Filter, Zones};

fn zones() -> Zones {
    let config =
        Config { zones: 4, size: 16, capacity: 10, open_max: Some(2), active_max: Some(3), append_max: Some(8) };
    Zones::new(config).expect("a valid configuration")
}

#[test]
fn zones_refuse_numbers() {
    refused!(zones = zones();
        zones.state(4),
        zones.written(4),
        zones.start(4),
        zones.describe(4),
        zones.open(4),
        zones.close(4),
        zones.finish(4),
        zones.reset(4),
        zones.offline(4),
        zones.lose_writes(4),
        zones.lose(4),
        zones.recover(4, 1),
        zones.restore(4, 1, false),
        zones.take_back(4, 1),
    );
    let mut zones = zones();
    assert_eq!(zones.report(4, Filter::All).count(), 0);
    assert_eq!(zones.zone_of(64), None);
    assert!(zones.write(64, 1).is_err());
    assert!(zones.append(64, 1).is_err());
}
