//! Zones of a region, each with its share of the requests.

use sim::Rng;

/// Size of a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// Percentage of the region (fio's `zoned`).
    Percent(f64),
    /// Bytes (fio's `zoned_abs`).
    Bytes(u64),
}

/// A zone as specified in a job file. Zones are laid out one after another from the region's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Percentage of the requests; the values of all zones add up to 100.
    pub access: f64,
    /// Size of the zone.
    pub extent: Extent,
}

/// Draws a zone by its share of the requests, then one of its blocks uniformly.
#[derive(Clone, Debug, PartialEq)]
pub struct Zoned {
    // Upper end of the zone's share of [0, 1), first block, number of blocks.
    zones: Vec<(f64, u64, u64)>,
}

impl Zoned {
    /// Creates the zones of a region of `blocks` blocks of `unit` bytes. Zones without requests are dropped.
    ///
    /// # Errors
    /// If the zones do not fit into the region, or if a zone with requests is smaller than a block.
    pub fn new(zones: &[Zone], blocks: u64, unit: u64) -> Result<Zoned, String> {
        let (mut share, mut percent, mut bytes) = (0.0, 0.0, 0u64);
        let mut built = Vec::with_capacity(zones.len());
        let mut first = 0;
        for (number, zone) in zones.iter().enumerate() {
            let end = match zone.extent {
                Extent::Percent(p) => {
                    percent += p;
                    // The percentages add up to 100 except for rounding.
                    ((percent / 100.0 * blocks as f64 + 1e-6) as u64).min(blocks)
                }
                Extent::Bytes(b) => {
                    bytes = bytes.saturating_add(b);
                    bytes / unit
                }
            };
            if end > blocks {
                return Err(format!("found zones that end at byte {bytes}, expected at most {}", blocks * unit));
            }
            share += zone.access / 100.0;
            if zone.access > 0.0 {
                if end == first {
                    return Err(format!("found zone {} smaller than a block of {unit} bytes", number + 1));
                }
                built.push((share, first, end - first));
            }
            first = end;
        }
        let last = built.last_mut().ok_or("found no zone with requests")?;
        last.0 = 1.0;
        Ok(Zoned { zones: built })
    }

    /// Draws a block.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let u = rng.unit();
        let zone = self.zones.partition_point(|(end, ..)| *end <= u);
        let (_, first, blocks) = self.zones[zone];
        first + rng.below(blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    fn zone(access: f64, extent: Extent) -> Zone {
        Zone { access, extent }
    }

    #[test]
    fn zones_get_their_shares() {
        use Extent::Percent;
        let zones =
            [zone(60.0, Percent(10.0)), zone(30.0, Percent(20.0)), zone(8.0, Percent(30.0)), zone(2.0, Percent(40.0))];
        let zoned = Zoned::new(&zones, 5000, 4096).expect("valid");
        let mut rng = Streams::new(8).stream("zoned");
        let mut counts = [0u32; 4];
        for _ in 0..100_000 {
            let block = zoned.draw(&mut rng);
            counts[[500, 1500, 3000, 5000].iter().position(|end| block < *end).expect("in the region")] += 1;
        }
        for (count, expected) in counts.into_iter().zip([60_000.0, 30_000.0, 8_000.0, 2_000.0]) {
            assert!((f64::from(count) - expected).abs() < 4.0 * f64::sqrt(expected), "{counts:?}");
        }
    }

    #[test]
    fn absolute_zones_must_fit() {
        let zones = [zone(50.0, Extent::Bytes(8192)), zone(50.0, Extent::Bytes(1 << 20))];
        assert_eq!(Zoned::new(&zones, 258, 4096).expect("valid").zones, [(0.5, 0, 2), (1.0, 2, 256)]);
        assert_eq!(
            Zoned::new(&zones, 100, 4096),
            Err("found zones that end at byte 1056768, expected at most 409600".to_owned())
        );
        let small = [zone(100.0, Extent::Bytes(512))];
        assert_eq!(Zoned::new(&small, 100, 4096), Err("found zone 1 smaller than a block of 4096 bytes".to_owned()));
    }
}
