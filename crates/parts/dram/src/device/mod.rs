//! The model of a DRAM device: organization, timing and currents, read from a preset file, with a basis for each value.
//!
//! A preset is a TOML file of `[[given]]` tables, whose values come from their `source`, and `[[assumed]]` tables,
//! whose `why` gives a reason. Durations use the notation of data sheets: `"11ck"`, `"13.75ns"`, `"max(4ck, 7.5ns)"`.
//! Every key must be present exactly once, except `guardband_permille` and `address_order`, which may be absent.

mod clock;
mod currents;
mod hash;
mod layout;
mod timing;

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::state::GROUPS;

pub use clock::Clock;
pub use currents::Rail;
pub(crate) use hash::fold;
pub(crate) use layout::Layout;
pub use layout::{DecodedAddress, Field, Order, OrderError};
pub use timing::Timing;

/// Names and files of the presets.
const PRESETS: [(&str, &str); 13] = [
    ("DDR2-800", include_str!("../../presets/ddr2-800.toml")),
    ("DDR3-1600", include_str!("../../presets/ddr3-1600.toml")),
    ("DDR4-2400", include_str!("../../presets/ddr4-2400.toml")),
    ("DDR4-3200", include_str!("../../presets/ddr4-3200.toml")),
    ("DDR5-4800", include_str!("../../presets/ddr5-4800.toml")),
    ("HBM3-6400", include_str!("../../presets/hbm3-6400.toml")),
    ("HBM3E-9600", include_str!("../../presets/hbm3e-9600.toml")),
    ("HBM4-8000", include_str!("../../presets/hbm4-8000.toml")),
    ("LPDDR3-1200", include_str!("../../presets/lpddr3-1200.toml")),
    ("LPDDR3-1600", include_str!("../../presets/lpddr3-1600.toml")),
    ("LPDDR4X-4266", include_str!("../../presets/lpddr4x-4266.toml")),
    ("LPDDR5-6400", include_str!("../../presets/lpddr5-6400.toml")),
    ("SRAM-2000", include_str!("../../presets/sram-2000.toml")),
];

/// An invalid device file: the key, the value found, the value expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeviceError(String);

/// Basis of a device's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Taken from this source.
    Given(String),
    /// Chosen, for this reason.
    Assumed(String),
}

/// The DRAM of one rank of one channel: its organization, its timing in clocks and its currents.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Name of the device, such as `"DDR4-2400"`.
    pub name: String,
    /// The command clock (CK; not LPDDR5's WCK or HBM's WDQS).
    pub clock: Clock,
    /// Data transfers per pin and clock: 2, 4 with HBM3's WDQS at twice CK, or 8 with LPDDR5's WCK at four times CK.
    pub transfers_per_clock: u32,
    /// Data pins of the channel.
    pub bus_width: u32,
    /// Data pins of one device.
    pub device_width: u32,
    /// Bank groups per rank; 1 if the standard has none.
    pub bank_groups: u32,
    /// Banks per group.
    pub banks_per_group: u32,
    /// Rows per bank.
    pub rows: u32,
    /// Bytes per row, over all devices of the rank.
    pub row_bytes: u32,
    /// Transfers per burst.
    pub burst_length: u32,
    /// Address order of its controllers; the key `address_order`, or else the default.
    pub order: Order,
    /// Timing in clocks.
    pub timing: Timing,
    /// Currents of one device from each supply.
    pub rails: Vec<Rail>,
    basis: BTreeMap<String, Basis>,
}

impl Device {
    /// Returns the preset called `name`, ignoring case.
    ///
    /// # Errors
    /// Fails if it does not exist, and lists the names of all presets.
    pub fn preset(name: &str) -> Result<Device, DeviceError> {
        match PRESETS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, file)) => Device::parse(file),
            None => {
                let known = Device::presets().collect::<Vec<_>>().join(", ");
                Err(DeviceError(format!("found the DRAM preset \"{name}\", expected one of {known}")))
            }
        }
    }

    /// Returns the names of all presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }

    /// Parses a device file.
    ///
    /// # Errors
    /// Fails if it is not TOML, a key is missing, duplicate or unknown, or a value is invalid.
    pub fn parse(text: &str) -> Result<Device, DeviceError> {
        let table: Table = text.parse().map_err(|e: toml::de::Error| DeviceError(e.message().to_owned()))?;
        let mut keys = Keys::gather(table)?;
        let clock = keys.clock()?;
        let guardband = keys.optional_number("guardband_permille")?.unwrap_or(0);
        let timing = Timing::read(|key| keys.clocks(key, clock, guardband))?;
        let device = Device {
            name: keys.name.clone(),
            clock,
            transfers_per_clock: keys.number("transfers_per_clock")?,
            bus_width: keys.number("bus_width")?,
            device_width: keys.number("device_width")?,
            bank_groups: keys.number("bank_groups")?,
            banks_per_group: keys.number("banks_per_group")?,
            rows: keys.number("rows")?,
            row_bytes: keys.number("row_bytes")?,
            burst_length: keys.number("burst_length")?,
            order: keys.order()?,
            timing,
            rails: keys.rails()?,
            basis: std::mem::take(&mut keys.basis),
        };
        if let Some(key) = keys.values.keys().next() {
            return Err(DeviceError(format!("{}: found the key {key}, which no part of a device reads", keys.name)));
        }
        device.check()?;
        Ok(device)
    }

    fn check(&self) -> Result<(), DeviceError> {
        let powers = [
            ("transfers_per_clock", self.transfers_per_clock),
            ("bus_width", self.bus_width),
            ("device_width", self.device_width),
            ("bank_groups", self.bank_groups),
            ("banks_per_group", self.banks_per_group),
            ("rows", self.rows),
            ("row_bytes", self.row_bytes),
            ("burst_length", self.burst_length),
        ];
        for (key, value) in powers {
            if !value.is_power_of_two() {
                return Err(self.mistake(key, value, "a power of two"));
            }
        }
        if self.banks() > 64 {
            return Err(self.mistake("bank_groups * banks_per_group", self.banks(), "at most 64"));
        }
        if self.bank_groups > GROUPS as u32 {
            return Err(self.mistake("bank_groups", self.bank_groups, "at most 16"));
        }
        if self.device_width > self.bus_width || self.bus_width < 8 {
            return Err(self.mistake("device_width", self.device_width, "at most bus_width, and that at least 8"));
        }
        if self.row_bytes < self.burst_bytes() {
            return Err(self.mistake("row_bytes", self.row_bytes, "at least a burst"));
        }
        if self.row_bytes / self.burst_bytes() > 1 << 16 {
            return Err(self.mistake("row_bytes", self.row_bytes, "at most 65536 bursts"));
        }
        if self.timing.ccd_s < self.burst_clocks() {
            return Err(self.mistake("tCCD_S", self.timing.ccd_s, "at least the clocks of a burst"));
        }
        Ok(())
    }

    fn mistake(&self, key: &str, found: u32, expected: &str) -> DeviceError {
        DeviceError(format!("{}: {key}: found {found}, expected {expected}", self.name))
    }

    /// Returns the number of banks per rank.
    pub fn banks(&self) -> u32 {
        self.bank_groups * self.banks_per_group
    }

    /// Returns the bytes of one burst of the channel.
    pub fn burst_bytes(&self) -> u32 {
        self.burst_length * self.bus_width / 8
    }

    /// Returns the clocks for which a burst occupies the data bus.
    pub fn burst_clocks(&self) -> u32 {
        (self.burst_length / self.transfers_per_clock).max(1)
    }

    /// Returns the number of devices per rank.
    pub fn devices(&self) -> u32 {
        self.bus_width / self.device_width
    }

    /// Returns the bytes of a rank.
    pub fn rank_bytes(&self) -> u64 {
        u64::from(self.banks()) * u64::from(self.rows) * u64::from(self.row_bytes)
    }

    /// Returns the peak bandwidth of the data bus in bytes per second.
    pub fn peak_bandwidth(&self) -> f64 {
        f64::from(self.burst_bytes()) / (f64::from(self.burst_clocks()) * self.clock.period_ps()) * 1e12
    }

    /// Returns the basis of the value of `key`, by its name in the file, or `None` if the key does not exist.
    pub fn basis(&self, key: &str) -> Option<&Basis> {
        self.basis.get(key)
    }

    /// Returns all keys with the bases of their values, by name.
    pub fn bases(&self) -> impl Iterator<Item = (&str, &Basis)> {
        self.basis.iter().map(|(key, basis)| (key.as_str(), basis))
    }
}

/// The unread part of a file.
struct Keys {
    name: String,
    values: BTreeMap<String, Value>,
    basis: BTreeMap<String, Basis>,
}

impl Keys {
    fn gather(mut table: Table) -> Result<Keys, DeviceError> {
        let name = match table.remove("name") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(DeviceError(format!("name: found {other}, expected a text"))),
            None => return Err(DeviceError("the key name is missing".to_owned())),
        };
        let (mut values, mut basis) = (BTreeMap::new(), BTreeMap::new());
        for (section, reason) in [("given", "source"), ("assumed", "why")] {
            let Some(Value::Array(tables)) = table.remove(section) else { continue };
            for entry in tables {
                let Value::Table(mut entry) = entry else {
                    return Err(DeviceError(format!("{name}: {section}: expected [[{section}]] tables")));
                };
                let Some(Value::String(why)) = entry.remove(reason) else {
                    return Err(DeviceError(format!("{name}: [[{section}]]: expected the key {reason}, a text")));
                };
                for (key, value) in entry {
                    let rests_on =
                        if section == "given" { Basis::Given(why.clone()) } else { Basis::Assumed(why.clone()) };
                    if basis.insert(key.clone(), rests_on).is_some() {
                        return Err(DeviceError(format!("{name}: found the key {key} twice")));
                    }
                    values.insert(key, value);
                }
            }
        }
        if let Some((key, _)) = table.iter().find(|(key, _)| *key != "standard") {
            return Err(DeviceError(format!(
                "{name}: found the key {key}, expected name, standard, [[given]], [[assumed]]"
            )));
        }
        Ok(Keys { name, values, basis })
    }

    fn take(&mut self, key: &str) -> Result<Value, DeviceError> {
        self.values.remove(key).ok_or_else(|| DeviceError(format!("{}: the key {key} is missing", self.name)))
    }

    fn wrong(&self, key: &str, found: &Value, expected: &str) -> DeviceError {
        DeviceError(format!("{}: {key}: found {found}, expected {expected}", self.name))
    }

    fn number(&mut self, key: &str) -> Result<u32, DeviceError> {
        match self.take(key)? {
            Value::Integer(n) if (1..=1 << 24).contains(&n) => Ok(n as u32),
            other => Err(self.wrong(key, &other, "a whole number from 1 to 2^24")),
        }
    }

    fn optional_number(&mut self, key: &str) -> Result<Option<u64>, DeviceError> {
        if self.values.contains_key(key) { self.number(key).map(|n| Some(u64::from(n))) } else { Ok(None) }
    }

    fn order(&mut self) -> Result<Order, DeviceError> {
        let Some(value) = self.values.remove("address_order") else { return Ok(Order::default()) };
        let text = value.as_str().ok_or_else(|| self.wrong("address_order", &value, "a text"))?;
        text.parse().map_err(|error| DeviceError(format!("{}: address_order: {error}", self.name)))
    }

    fn clock(&mut self) -> Result<Clock, DeviceError> {
        let value = self.take("clock")?;
        let ratio = value.as_str().and_then(|text| text.strip_suffix("ps")).and_then(|ratio| {
            let (over, under) = ratio.split_once('/').unwrap_or((ratio, "1"));
            Some((over.trim().parse::<u64>().ok()?, under.trim().parse::<u64>().ok()?))
        });
        match ratio {
            Some((over @ 1..=1_000_000, under @ 1..=1000)) if over / under <= 100_000 => Ok(Clock::new(over, under)),
            _ => Err(self.wrong("clock", &value, "a period in picoseconds, such as \"1250ps\" or \"2500/3ps\"")),
        }
    }

    /// Reads a duration in clocks. A bare number counts clocks or commands and needs no unit.
    fn clocks(&mut self, key: &str, clock: Clock, guardband: u64) -> Result<u32, DeviceError> {
        let value = self.take(key)?;
        let text = match &value {
            Value::Integer(n) if (0..1 << 20).contains(n) => return Ok(*n as u32),
            Value::String(text) => text.trim(),
            _ => return Err(self.wrong(key, &value, "a duration")),
        };
        let inner = text.strip_prefix("max(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
        let mut most = 0;
        for part in inner.split(',') {
            let part = part.trim();
            let clocks = if let Some(count) = part.strip_suffix("ck") {
                count.trim().parse::<u64>().ok()
            } else {
                sim::units::time(part).ok().map(|time| clock.covering(time.ps(), guardband))
            };
            match clocks {
                Some(clocks) if clocks < 1 << 20 => most = most.max(clocks),
                _ => {
                    return Err(self.wrong(
                        key,
                        &value,
                        "a duration such as \"11ck\", \"13.75ns\" or \"max(4ck, 7.5ns)\"",
                    ));
                }
            }
        }
        Ok(most as u32)
    }

    fn rails(&mut self) -> Result<Vec<Rail>, DeviceError> {
        let names: Vec<String> = self.values.keys().filter(|key| key.starts_with("VDD")).cloned().collect();
        let mut rails = Vec::new();
        for name in names {
            let Value::Table(mut table) = self.take(&name)? else {
                return Err(DeviceError(format!("{}: {name}: expected a table of currents", self.name)));
            };
            let file = self.name.clone();
            let mut read = |key: &str, unit: &str, scale: f64| {
                let found = table.remove(key);
                let shown = found.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
                let amount = found.as_ref().and_then(Value::as_str).and_then(|text| text.strip_suffix(unit));
                match amount.and_then(|number| number.trim().parse::<f64>().ok()) {
                    Some(amount) if (0.0..1e6).contains(&amount) => Ok((amount * scale).round() as u64),
                    _ => Err(DeviceError(format!("{file}: {name}.{key}: found {shown}, expected a number of {unit}"))),
                }
            };
            rails.push(Rail::read(&name, &mut read)?);
            if let Some(key) = table.keys().next() {
                return Err(DeviceError(format!("{}: {name}: found the key {key}, which is no current", self.name)));
            }
        }
        if rails.is_empty() {
            return Err(DeviceError(format!("{}: expected currents of VDD or more supplies", self.name)));
        }
        Ok(rails)
    }
}
