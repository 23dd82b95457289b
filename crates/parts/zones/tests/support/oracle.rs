//! What a zone may hold: the values written between two resets, and how many must survive a power cut.

/// The values of a zone between two resets.
#[derive(Clone, Debug, Default)]
pub struct Epoch {
    /// Values of the units that commands wrote, in order.
    pub values: Vec<u64>,
    /// Number of units whose writes were acknowledged, with those of all before.
    pub acknowledged: usize,
    /// Number of units that must survive.
    pub durable: usize,
    /// The zone may be full with fewer units than its capacity.
    pub may_be_full: bool,
    /// The zone must be full.
    pub must_be_full: bool,
}

/// A zone as the host knows it. The last epoch is the current one; those before may come back in a power cut, because
/// their resets were not acknowledged.
#[derive(Clone, Debug)]
pub struct Zone {
    epochs: Vec<Epoch>,
    /// Number of the first epoch in the list.
    first: u64,
}

impl Zone {
    pub fn new() -> Zone {
        Zone { epochs: vec![Epoch::default()], first: 0 }
    }

    /// Returns the number of the current epoch.
    pub fn now(&self) -> u64 {
        self.first + self.epochs.len() as u64 - 1
    }

    /// Returns the epoch of this number, unless it is gone for good.
    pub fn epoch(&mut self, number: u64) -> Option<&mut Epoch> {
        self.epochs.get_mut(number.checked_sub(self.first)? as usize)
    }

    pub fn current(&mut self) -> &mut Epoch {
        self.epochs.last_mut().expect("an epoch")
    }

    /// Begins a new epoch, whose reset is not acknowledged.
    pub fn reset(&mut self) {
        self.epochs.push(Epoch::default());
    }

    /// Records that the reset before epoch `number` was acknowledged.
    pub fn reset_is_durable(&mut self, number: u64) {
        while self.first < number {
            self.epochs.remove(0);
            self.first += 1;
        }
    }

    /// Checks a read that began when epoch `since` was the current one with `acknowledged` units.
    pub fn may_read(&self, unit: usize, value: u64, since: u64, acknowledged: usize) -> bool {
        let then = self.epochs.iter().skip(since.saturating_sub(self.first) as usize);
        if since >= self.now() && unit < acknowledged {
            return self.epochs.last().is_some_and(|epoch| epoch.values[unit] == value);
        }
        value == 0 || then.into_iter().any(|epoch| epoch.values.get(unit) == Some(&value)) || since < self.first
    }

    /// Returns the values that were read, with those of the epoch that they are from in place of units that were lost.
    pub fn completed(&self, read: &[Option<u64>]) -> Vec<u64> {
        let at = |epoch: &Epoch, unit: usize| epoch.values.get(unit).copied().unwrap_or(0);
        let is_from =
            |epoch: &&Epoch| (0..).zip(read).all(|(unit, value)| value.is_none_or(|value| value == at(epoch, unit)));
        let epoch = self.epochs.iter().rev().find(is_from).or(self.epochs.last()).expect("an epoch");
        (0..).zip(read).map(|(unit, value)| value.unwrap_or_else(|| at(epoch, unit))).collect()
    }

    /// Checks what a power cut left: `values`, up to the write pointer, in a zone that is full or not. It becomes the only
    /// epoch.
    ///
    /// # Panics
    /// If no epoch permits it.
    pub fn survived(&mut self, zone: u32, values: Vec<u64>, full: bool, capacity: usize, no_room: bool) {
        let newest = self.epochs.iter().rposition(|epoch| epoch.durable > 0 || epoch.must_be_full).unwrap_or(0);
        let allows = |epoch: &Epoch| {
            let same = values.len() >= epoch.durable && epoch.values.starts_with(&values);
            let filled = values.len() == capacity;
            let may = !full || filled || epoch.may_be_full || no_room;
            let must = !epoch.must_be_full || (full && values.len() == epoch.values.len());
            same && may && must
        };
        assert!(
            self.epochs[newest..].iter().any(allows),
            "zone {zone} holds {} units {values:?}, full: {full}; epochs {:?}",
            values.len(),
            self.epochs
        );
        let units = values.len();
        let short = full && units < capacity;
        let must_be_full = self.epochs.last().is_some_and(|epoch| epoch.must_be_full);
        self.first = self.now();
        self.epochs = vec![Epoch { values, acknowledged: units, durable: units, may_be_full: short, must_be_full }];
    }
}
