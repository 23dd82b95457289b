//! Devices and files of a trace, numbered in order of appearance.

use std::collections::BTreeMap;

/// Marks a number without a device.
const NONE: u32 = u32::MAX;
/// Device numbers below this limit are looked up in a table, higher ones by name.
const TABLE: u64 = 4096;

/// Maps each device to a dense index. Only new devices allocate memory.
pub(crate) struct Devices {
    names: Vec<String>,
    by_key: BTreeMap<Box<[u8]>, u32>,
    by_number: Vec<u32>,
    // Cache of the last lookup: most records use the same device as the previous record.
    last_key: Vec<u8>,
    last: u32,
}

impl Devices {
    pub fn new() -> Devices {
        Devices { names: Vec::new(), by_key: BTreeMap::new(), by_number: Vec::new(), last_key: Vec::new(), last: NONE }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of the device named `key`, if it is known.
    pub fn find(&mut self, key: &[u8]) -> Option<u32> {
        if self.last != NONE && self.last_key == key {
            return Some(self.last);
        }
        self.search(key)
    }

    fn search(&mut self, key: &[u8]) -> Option<u32> {
        let device = *self.by_key.get(key)?;
        self.last = device;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Some(device)
    }

    /// Returns the last device's index and the length of its key, if `text` begins with the same key again.
    pub fn repeated(&self, text: &[u8]) -> Option<(u32, usize)> {
        (self.last != NONE && text.starts_with(&self.last_key)).then_some((self.last, self.last_key.len()))
    }

    /// Returns the index of the device named `key`, and adds it as `name()` if it is new.
    pub fn intern(&mut self, key: &[u8], name: impl FnOnce() -> String) -> u32 {
        match self.find(key) {
            Some(device) => device,
            None => self.add(key, name()),
        }
    }

    fn add(&mut self, key: &[u8], name: String) -> u32 {
        let device = u32::try_from(self.names.len()).expect("fewer than 2^32 devices fit in memory");
        assert!(device != NONE);
        self.names.push(name);
        self.by_key.insert(key.into(), device);
        device
    }

    /// Returns the index of the device with this number.
    pub fn number(&mut self, number: u64) -> u32 {
        match self.by_number.get(number as usize) {
            Some(device) if *device != NONE => *device,
            _ => self.new_number(number),
        }
    }

    fn new_number(&mut self, number: u64) -> u32 {
        let device = self.intern(&number.to_le_bytes(), || number.to_string());
        if number < TABLE {
            let entry = number as usize;
            self.by_number.resize(self.by_number.len().max(entry + 1), NONE);
            self.by_number[entry] = device;
        }
        device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_in_order_of_appearance() {
        let mut devices = Devices::new();
        let met = [7, 3, 7, 1 << 40, 3, 1 << 40, 0].map(|n| devices.number(n));
        assert_eq!(met, [0, 1, 0, 2, 1, 2, 3]);
        assert_eq!(devices.names(), ["7", "3", "1099511627776", "0"]);
    }

    #[test]
    fn known_keys_are_found_in_any_order() {
        let mut devices = Devices::new();
        let met = ["8,0", "8,16", "8,0", "8,0", "8,16"].map(|k| devices.intern(k.as_bytes(), || k.to_owned()));
        assert_eq!(met, [0, 1, 0, 0, 1]);
        assert_eq!(devices.find(b"8,1"), None);
        assert_eq!(devices.find(b"8,0"), Some(0));
        assert_eq!(devices.repeated(b"8,0 and more"), Some((0, 3)));
        assert_eq!(devices.repeated(b"8,1 and more"), None);
    }
}
