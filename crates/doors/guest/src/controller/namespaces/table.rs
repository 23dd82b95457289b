//! The table of namespaces, and the capacity that they occupy.

use serde_json::{Value, json};

use super::{FORMATS, Namespace, NamespaceConfig};

/// Maximum number of namespaces that a host can create. Assumed: drives offer 16 to 128.
const NAMESPACES_MAX: usize = 32;

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    namespace: Namespace,
    /// The tag of the command that creates or deletes it, and whether it creates it.
    change: Option<(u16, bool)>,
}

/// All namespaces; identifiers start at 1. Each occupies one range of the drive.
#[derive(Clone, Debug)]
pub(in crate::controller) struct Namespaces {
    entries: Vec<Option<Entry>>,
    /// Bytes of the drive, and of the units in which it is allocated.
    capacity: u64,
    granule: u64,
    /// Namespaces that a host has created.
    created: u32,
    /// The host can create and delete namespaces.
    is_managed: bool,
}

impl Namespaces {
    /// Creates the namespaces of `configs`, one behind the other, on a drive of `capacity` bytes that is allocated in units
    /// of `granule`. With `zones` the first is zoned. They can be managed if `is_managed` and there are not too many.
    pub fn new(
        configs: &[NamespaceConfig],
        zones: bool,
        (capacity, granule): (u64, u64),
        is_managed: bool,
    ) -> Namespaces {
        let mut offset = 0;
        let place = |config: &NamespaceConfig| {
            let format = FORMATS.iter().position(|shift| 1 << shift == config.block);
            let format = format.expect("a block size that the caller has checked");
            let is_zoned = zones && offset == 0;
            let namespace = Namespace { offset, bytes: config.bytes, format, is_zoned, is_attached: true, creation: 0 };
            offset += config.bytes;
            Some(Entry { namespace, change: None })
        };
        let mut entries: Vec<Option<Entry>> = configs.iter().map(place).collect();
        let is_managed = is_managed && entries.len() <= NAMESPACES_MAX;
        if is_managed {
            entries.resize(NAMESPACES_MAX, None);
        }
        Namespaces { entries, capacity, granule, created: 0, is_managed }
    }

    pub fn is_managed(&self) -> bool {
        self.is_managed
    }

    /// Returns the identifiers of the namespaces.
    pub fn identifiers(&self) -> impl Iterator<Item = u32> {
        (1..=self.count()).filter(|identifier| self.get(*identifier).is_some())
    }

    /// Returns the namespaces, and those that are being deleted.
    pub fn iter(&self) -> impl Iterator<Item = &Namespace> {
        self.entries.iter().flatten().map(|entry| &entry.namespace)
    }

    /// Returns the greatest identifier that a namespace can have.
    pub fn count(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Returns the namespace with this identifier, attached or not.
    pub fn get(&self, identifier: u32) -> Option<&Namespace> {
        let entry = self.entries.get((identifier as usize).checked_sub(1)?)?.as_ref()?;
        entry.change.is_none().then_some(&entry.namespace)
    }

    /// Returns the namespace with this identifier to change it.
    pub fn get_mut(&mut self, identifier: u32) -> Option<&mut Namespace> {
        let entry = self.entries.get_mut((identifier as usize).checked_sub(1)?)?.as_mut()?;
        entry.change.is_none().then_some(&mut entry.namespace)
    }

    /// Returns the bytes of the drive.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the bytes of a namespace of `bytes` on the drive.
    pub fn allocated(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.granule)
    }

    /// Returns the bytes of the drive in no namespace.
    pub fn unallocated(&self) -> u64 {
        self.capacity - self.iter().map(|namespace| self.allocated(namespace.bytes)).sum::<u64>()
    }

    /// Returns the identifier that the next namespace gets, if there is one.
    pub fn free_identifier(&self) -> Option<u32> {
        self.entries.iter().position(Option::is_none).map(|at| at as u32 + 1)
    }

    /// Returns the offset of the first gap with room for a namespace of `bytes`.
    pub fn gap(&self, bytes: u64) -> Option<u64> {
        let mut taken: Vec<(u64, u64)> =
            self.iter().map(|one| (one.offset, one.offset + self.allocated(one.bytes))).collect();
        taken.sort_unstable();
        taken.push((self.capacity, self.capacity));
        let mut free = 0;
        for (from, to) in taken {
            if from.checked_sub(free)? >= bytes {
                return Some(free);
            }
            free = to;
        }
        None
    }

    /// Lets the command `tag` create a namespace, which exists once the command has ended.
    pub fn create(&mut self, identifier: u32, namespace: Namespace, tag: u16) {
        self.created += 1;
        let namespace = Namespace { creation: self.created, ..namespace };
        self.entries[identifier as usize - 1] = Some(Entry { namespace, change: Some((tag, true)) });
    }

    /// Lets the command `tag` delete a namespace. Its range is free once the command has ended.
    pub fn delete(&mut self, identifier: u32, tag: u16) {
        if let Some(entry) = &mut self.entries[identifier as usize - 1] {
            entry.change = Some((tag, false));
        }
    }

    /// Records that the command `tag` has ended, or that all have been dropped. A creation or deletion that did not end is
    /// undone.
    pub fn ended(&mut self, tag: Option<u16>, ok: bool) {
        for entry in &mut self.entries {
            match entry.and_then(|entry| entry.change) {
                Some((of, creates)) if tag.is_none_or(|tag| tag == of) => {
                    *entry = entry.filter(|_| creates == ok).map(|entry| Entry { change: None, ..entry });
                }
                _ => {}
            }
        }
    }

    /// Returns the state that outlives a power cut: the number of namespaces created, and what each is.
    pub fn state(&self) -> Value {
        let each = |identifier: u32| {
            let one = self.get(identifier)?;
            Some(json!([identifier, one.offset, one.bytes, one.format, u8::from(one.is_attached), one.creation]))
        };
        json!({ "created": self.created, "all": self.identifiers().filter_map(each).collect::<Vec<Value>>() })
    }

    /// Continues from a [`state`](Self::state). Returns `None` without any effect if it is none of this drive.
    pub fn restore(&mut self, state: &Value) -> Option<()> {
        let mut restored = Namespaces { created: u32::try_from(state["created"].as_u64()?).ok()?, ..self.clone() };
        restored.entries.fill(None);
        for one in state["all"].as_array()? {
            let number = |at: usize| one[at].as_u64();
            let (identifier, offset, bytes) = (number(0)?, number(1)?, number(2)?);
            let (format, is_attached) = (number(3)? as usize, number(4)? == 1);
            let namespace = Namespace {
                offset,
                bytes,
                format,
                is_zoned: false,
                is_attached,
                creation: u32::try_from(number(5)?).ok()?,
            };
            let fits = format < FORMATS.len() && bytes > 0 && offset.is_multiple_of(self.granule);
            let is_free = restored.iter().all(|other| {
                offset >= other.offset + restored.allocated(other.bytes) || offset.saturating_add(bytes) <= other.offset
            });
            let end = offset.checked_add(bytes)?.checked_next_multiple_of(self.granule)?;
            if !fits || !is_free || end > self.capacity {
                return None;
            }
            let place = restored.entries.get_mut(usize::try_from(identifier).ok()?.checked_sub(1)?)?;
            if place.replace(Entry { namespace, change: None }).is_some() {
                return None;
            }
        }
        *self = restored;
        Some(())
    }

    /// Sets the indices of the formats of the namespaces, in order. Returns `None` without any effect if they are not as
    /// many as the namespaces, or one does not exist.
    pub fn restore_formats(&mut self, formats: &Value) -> Option<()> {
        let formats: Option<Vec<usize>> = formats.as_array()?.iter().map(|one| Some(one.as_u64()? as usize)).collect();
        let formats = formats.filter(|all| all.iter().all(|format| *format < FORMATS.len()))?;
        let mut all: Vec<&mut Entry> = self.entries.iter_mut().flatten().collect();
        if all.len() != formats.len() {
            return None;
        }
        all.iter_mut().zip(formats).for_each(|(entry, format)| entry.namespace.format = format);
        Some(())
    }

    /// Returns the index of each namespace's format.
    pub fn formats(&self) -> Vec<usize> {
        self.iter().map(|namespace| namespace.format).collect()
    }
}
