//! Slots whose data is newer than flash and not in a program yet.

use std::collections::VecDeque;

use crate::buffer::slots::{Holds, List, NIL, Owner, Slots};
use crate::location::Location;

/// Number of entries that are no longer dirty, beyond as many as are, for which the order of the layer's own slots is
/// cleaned.
const STALE: usize = 64;

/// Dirty slots in the order in which they became dirty, which an epoch counts.
///
/// With placement there is a list per reclaim unit handle, because a program holds data of one handle. The list of the
/// handle that is written next is always `list`, so that a drive without placement has no other.
pub(crate) struct DirtySlots {
    list: List,
    /// The handle of `list`.
    handle: u8,
    /// The lists of the other handles; the entry of `handle` is not used.
    others: Vec<List>,
    /// Number of slots in `others`.
    elsewhere: u32,
    /// Number of slots of units of the layer itself.
    system: u32,
    /// These slots and their epochs in order, and some that are no longer dirty.
    system_order: VecDeque<(u32, u64)>,
    epoch: u64,
    /// Slots up to this epoch are written without waiting for more.
    forced: u64,
    /// The next dispatch has slots to write.
    due: bool,
}

impl DirtySlots {
    /// Creates empty lists for `handles` handles (0: no placement).
    pub(crate) fn new(handles: u32) -> DirtySlots {
        let others = vec![List::new(); handles as usize];
        DirtySlots {
            list: List::new(),
            handle: 0,
            others,
            elsewhere: 0,
            system: 0,
            system_order: VecDeque::new(),
            epoch: 0,
            forced: 0,
            due: false,
        }
    }

    /// Returns the handle whose data is written next.
    #[inline]
    pub(crate) fn handle(&self) -> u8 {
        self.handle
    }

    /// Returns the slot of this handle that became dirty first ([`NIL`]: none).
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.list.head
    }

    /// Returns true if no slot is dirty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.list.len + self.elsewhere
    }

    /// Returns the number of slots of the handle that is written next.
    #[inline]
    pub(crate) fn len_of_next(&self) -> u32 {
        self.list.len
    }

    /// Returns the number of slots of `handle`.
    pub(crate) fn len_of(&self, handle: u8) -> u32 {
        if handle == self.handle { self.list.len } else { self.others[handle as usize].len }
    }

    /// Returns the epoch of the slot that became dirty first, or `u64::MAX` if there is none.
    pub(crate) fn oldest(&self, slots: &Slots) -> u64 {
        self.heads().map(|head| slots[head].epoch).min().unwrap_or(u64::MAX)
    }

    /// Returns the first slot of each list that has any.
    pub(crate) fn heads(&self) -> impl Iterator<Item = u32> + '_ {
        let others = self.others.iter().filter(|_| self.elsewhere > 0).map(|list| list.head);
        std::iter::once(self.list.head).chain(others).filter(|head| *head != NIL)
    }

    /// Chooses the handle that is written next. Handles with forced slots go first, then those with at least `whole`
    /// slots; among equals, the handle with the oldest slot.
    pub(crate) fn choose(&mut self, slots: &Slots, whole: u32) {
        self.others[self.handle as usize] = self.list;
        let rank = |list: &List| {
            let epoch = slots[list.head].epoch;
            (!self.is_forced(epoch), list.len < whole, epoch)
        };
        let filled = (0u8..).zip(&self.others).filter(|(_, list)| list.len > 0);
        if let Some((handle, list)) = filled.min_by_key(|(_, list)| rank(list)) {
            (self.list, self.handle) = (*list, handle);
        }
        self.others[self.handle as usize] = List::new();
        self.elsewhere = self.others.iter().map(|list| list.len).sum();
    }

    /// Returns the list of `handle`, and counts one slot more in it.
    fn list_to_extend(&mut self, handle: u8) -> &mut List {
        if handle == self.handle {
            return &mut self.list;
        }
        self.elsewhere += 1;
        &mut self.others[handle as usize]
    }

    /// Returns the epoch of the slot that became dirty last.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Takes a free slot for host data of `unit` with `handle`, of which the sectors in `have` are there.
    #[inline]
    pub(crate) fn take(&mut self, slots: &mut Slots, unit: u32, home: Location, have: u64, handle: u8) -> u32 {
        self.epoch += 1;
        if self.others.is_empty() {
            return slots.take_dirty(&mut self.list, self.epoch, unit, home, have);
        }
        let epoch = self.epoch;
        let slot = slots.take_dirty(self.list_to_extend(handle), epoch, unit, home, have);
        slots[slot].handle = handle;
        slot
    }

    /// Adds `slot`, which became dirty, and requests a dispatch.
    pub(crate) fn add(&mut self, slots: &mut Slots, slot: u32) {
        self.epoch += 1;
        slots[slot].epoch = self.epoch;
        if slots[slot].owner == Owner::System {
            self.system += 1;
            if self.system_order.len() > 2 * self.system as usize + STALE {
                self.system_order.retain(|each| is_dirty_since(slots, *each));
            }
            self.system_order.push_back((slot, self.epoch));
        }
        slots.append(self.list_to_extend(slots[slot].handle), slot);
        self.due = true;
    }

    /// Makes `slot` data of `handle`. It keeps its epoch, because flushes may wait for it.
    pub(crate) fn change_handle(&mut self, slots: &mut Slots, slot: u32, handle: u8) {
        self.remove(slots, slot);
        self.system += u32::from(slots[slot].owner == Owner::System);
        slots[slot].handle = handle;
        slots.insert(self.list_to_extend(handle), slot);
        self.due = true;
    }

    /// Removes `slot`.
    pub(crate) fn remove(&mut self, slots: &mut Slots, slot: u32) {
        self.system -= u32::from(slots[slot].owner == Owner::System);
        let handle = slots[slot].handle;
        if handle == self.handle {
            return slots.remove(&mut self.list, slot);
        }
        self.elsewhere -= 1;
        slots.remove(&mut self.others[handle as usize], slot);
    }

    /// Removes and returns the first slot of the handle that is written next; there must be one.
    #[inline]
    pub(crate) fn take_first(&mut self, slots: &mut Slots) -> u32 {
        let slot = slots.remove_first(&mut self.list);
        self.system -= u32::from(slots[slot].owner == Owner::System);
        slot
    }

    /// Returns the number of slots of units of the layer itself.
    pub(crate) fn len_of_system(&self) -> u32 {
        self.system
    }

    /// Moves the first `count` slots of units of the layer itself to the front. They must go to flash at once: the others
    /// stay in order.
    pub(crate) fn put_system_first(&mut self, slots: &mut Slots, count: u32) {
        let dirty = self.system_order.iter().filter(|each| is_dirty_since(slots, **each));
        let found: Vec<u32> = dirty.take(count as usize).map(|(slot, _)| *slot).collect();
        for slot in found.into_iter().rev() {
            slots.remove(&mut self.list, slot);
            slots.prepend(&mut self.list, slot);
        }
    }

    /// Makes all present slots go to flash without waiting for more.
    pub(crate) fn force(&mut self) {
        self.forced = self.epoch;
    }

    /// Returns true if a slot that became dirty at `epoch` goes to flash without waiting for more.
    #[inline]
    pub(crate) fn is_forced(&self, epoch: u64) -> bool {
        epoch <= self.forced
    }

    /// Requests that the next dispatch write slots.
    pub(crate) fn request_dispatch(&mut self) {
        self.due = true;
    }

    /// Returns true if a dispatch should write slots.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}

/// Returns true if `slot` is a unit of the layer itself, and has been dirty since `epoch`.
fn is_dirty_since(slots: &Slots, (slot, epoch): (u32, u64)) -> bool {
    let slot = &slots[slot];
    slot.holds == Holds::Dirty && slot.epoch == epoch && slot.owner == Owner::System
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slots_dirty_before_the_request_are_forced() {
        let (mut slots, mut dirty) = (Slots::new(4), DirtySlots::new(0));
        let early = dirty.take(&mut slots, 7, Location::NOWHERE, 1, 0);
        dirty.force();
        let late = dirty.take(&mut slots, 8, Location::NOWHERE, 1, 0);
        assert!(dirty.is_forced(slots[early].epoch) && !dirty.is_forced(slots[late].epoch) && !dirty.is_due());
        assert_eq!((dirty.first(), dirty.len()), (early, 2));
        dirty.remove(&mut slots, early);
        dirty.add(&mut slots, early);
        assert!(dirty.is_due() && slots[early].epoch == dirty.epoch() && !dirty.is_forced(slots[early].epoch));
        assert_eq!([dirty.take_first(&mut slots), dirty.take_first(&mut slots)], [late, early]);
        assert!(dirty.is_empty());
    }

    #[test]
    fn a_slot_that_changes_its_handle_keeps_its_age() {
        let (mut slots, mut dirty) = (Slots::new(8), DirtySlots::new(2));
        let take = |slots: &mut Slots, dirty: &mut DirtySlots, handle| {
            dirty.take(slots, u32::from(handle), Location::NOWHERE, 1, handle)
        };
        let all: Vec<u32> = [1, 0, 1, 0].map(|handle| take(&mut slots, &mut dirty, handle)).into();
        dirty.force();
        for slot in [all[0], all[2]] {
            dirty.change_handle(&mut slots, slot, 0);
            assert!(dirty.is_forced(slots[slot].epoch));
        }
        assert_eq!((dirty.len_of(0), dirty.len_of(1), dirty.oldest(&slots)), (4, 0, slots[all[0]].epoch));
        let taken: Vec<u32> = (0..4).map(|_| dirty.take_first(&mut slots)).collect();
        assert_eq!(taken, all);
        assert!(dirty.is_empty());
    }

    #[test]
    fn units_of_the_layer_itself_can_go_first() {
        let (mut slots, mut dirty) = (Slots::new(8), DirtySlots::new(0));
        let owner = |unit: u32| if unit % 2 == 1 { Owner::System } else { Owner::Host };
        let all: Vec<u32> = (0..6)
            .map(|unit| {
                let slot = slots.take(unit, Location::NOWHERE, Holds::Dirty, owner(unit), 1);
                dirty.add(&mut slots, slot);
                slot
            })
            .collect();
        assert_eq!(dirty.len_of_system(), 3);
        dirty.put_system_first(&mut slots, 2);
        dirty.put_system_first(&mut slots, 2);
        assert_eq!(dirty.len_of_system(), 3);
        let order: Vec<u32> = (0..6).map(|_| dirty.take_first(&mut slots)).collect();
        assert_eq!(order, [1, 3, 0, 2, 4, 5].map(|at| all[at]));
        assert!(dirty.is_empty() && dirty.len_of_system() == 0);
    }

    #[test]
    fn programmed_units_of_the_layer_itself_are_not_put_first_again() {
        let (mut slots, mut dirty) = (Slots::new(8), DirtySlots::new(0));
        let add = |slots: &mut Slots, dirty: &mut DirtySlots, owner| {
            let slot = slots.take(0, Location::NOWHERE, Holds::Dirty, owner, 1);
            dirty.add(slots, slot);
            slot
        };
        let programmed = add(&mut slots, &mut dirty, Owner::System);
        let host = add(&mut slots, &mut dirty, Owner::Host);
        let waits = add(&mut slots, &mut dirty, Owner::System);
        assert_eq!(dirty.take_first(&mut slots), programmed);
        slots[programmed].holds = Holds::Moving;
        dirty.put_system_first(&mut slots, 2);
        assert_eq!((dirty.first(), dirty.len_of_system()), (waits, 1));
        // It becomes dirty again, after the others.
        slots[programmed].holds = Holds::Dirty;
        dirty.add(&mut slots, programmed);
        dirty.put_system_first(&mut slots, 3);
        let order: Vec<u32> = (0..3).map(|_| dirty.take_first(&mut slots)).collect();
        assert_eq!(order, [waits, programmed, host]);
        for _ in 0..1000 {
            let slot = add(&mut slots, &mut dirty, Owner::System);
            assert_eq!(dirty.take_first(&mut slots), slot);
            slots.give(slot);
        }
        assert!(dirty.system_order.len() <= STALE + 3, "{} entries are kept", dirty.system_order.len());
    }

    #[test]
    fn forced_slots_go_first_then_whole_programs_then_the_oldest() {
        let (mut slots, mut dirty) = (Slots::new(8), DirtySlots::new(3));
        let take = |slots: &mut Slots, dirty: &mut DirtySlots, handle| {
            dirty.take(slots, u32::from(handle), Location::NOWHERE, 1, handle)
        };
        let oldest = take(&mut slots, &mut dirty, 1);
        let first_of_two = take(&mut slots, &mut dirty, 2);
        take(&mut slots, &mut dirty, 2);
        assert_eq!((dirty.len(), dirty.len_of_next(), dirty.oldest(&slots)), (3, 0, slots[oldest].epoch));
        dirty.choose(&slots, 2);
        assert_eq!((dirty.handle(), dirty.first(), dirty.len_of_next()), (2, first_of_two, 2));
        dirty.choose(&slots, 3);
        assert_eq!((dirty.handle(), dirty.first(), dirty.len()), (1, oldest, 3));
        dirty.force();
        let late = [take(&mut slots, &mut dirty, 0), take(&mut slots, &mut dirty, 0)];
        dirty.remove(&mut slots, oldest);
        dirty.choose(&slots, 2);
        assert_eq!((dirty.handle(), dirty.first()), (2, first_of_two));
        dirty.take_first(&mut slots);
        dirty.take_first(&mut slots);
        dirty.choose(&slots, 2);
        assert_eq!((dirty.handle(), dirty.first(), dirty.len(), dirty.is_empty()), (0, late[0], 2, false));
    }
}
