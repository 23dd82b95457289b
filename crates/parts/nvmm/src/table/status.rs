//! The eight bits of page-level status and permissions. The paper names the field; the meaning of its bits is assumed
//! here.

/// The state of a table entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryState {
    /// Unused: the page was never used, or the version entry never taken.
    #[default]
    Nothing,
    /// A version of an existing page.
    Live,
    /// The page is deleted at this time and, going back, until an older creation.
    Deleted,
    /// A freed version entry, whose previous-mapping index names the next free one.
    Free,
}

/// Permissions of a page, and whether it outlives its creator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Its owner may read it.
    pub read: bool,
    /// Its owner may write and delete it.
    pub write: bool,
    /// Others may read it.
    pub others_read: bool,
    /// Others may write and delete it, and set its permissions.
    pub others_write: bool,
    /// The page outlives its owner.
    pub permanent: bool,
}

impl Permissions {
    /// Permissions of a page created by a read or a write: private to its creator, and deleted with it.
    pub const PRIVATE: Permissions =
        Permissions { read: true, write: true, others_read: false, others_write: false, permanent: false };
    /// Accessible to all, and permanent.
    pub const SHARED: Permissions =
        Permissions { read: true, write: true, others_read: true, others_write: true, permanent: true };
}

/// The eight-bit field. Bits 0 and 1: state; 2 to 5: owner's read and write, others' read and write; 6: permanent; 7:
/// the entry holds no data but the number of the page's owner instead of the flash page mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u8);

const HOLDER: u8 = 1 << 7;
const PERMANENT: u8 = 1 << 6;

impl Status {
    /// Returns the status of an owner's entry in `state`, with `permissions`.
    pub const fn holder(state: EntryState, permissions: Permissions) -> Status {
        let Permissions { read, write, others_read, others_write, permanent } = permissions;
        let bits = (read as u8) << 2 | (write as u8) << 3 | (others_read as u8) << 4 | (others_write as u8) << 5;
        Status(HOLDER | (permanent as u8) << 6 | bits | state as u8)
    }

    /// The status of a free version entry.
    pub const FREE: Status = Status(EntryState::Free as u8);

    /// Returns the status of a data entry above this one.
    pub const fn of_data(self) -> Status {
        Status(self.0 & !HOLDER)
    }

    /// Returns the state.
    pub const fn state(self) -> EntryState {
        match self.0 & 3 {
            0 => EntryState::Nothing,
            1 => EntryState::Live,
            2 => EntryState::Deleted,
            _ => EntryState::Free,
        }
    }

    /// Returns whether the entry names the owner and has no data.
    pub const fn is_holder(self) -> bool {
        self.0 & HOLDER != 0
    }

    /// Returns whether the page is deleted with its owner.
    pub const fn is_temporary(self) -> bool {
        self.0 & PERMANENT == 0 && matches!(self.state(), EntryState::Live)
    }

    /// Returns the permissions.
    pub const fn permissions(self) -> Permissions {
        Permissions {
            read: self.0 >> 2 & 1 != 0,
            write: self.0 >> 3 & 1 != 0,
            others_read: self.0 >> 4 & 1 != 0,
            others_write: self.0 >> 5 & 1 != 0,
            permanent: self.0 >> 6 & 1 != 0,
        }
    }

    /// Returns whether the owner may read it, or others if not `is_owner`.
    pub const fn may_read(self, is_owner: bool) -> bool {
        let Permissions { read, others_read, .. } = self.permissions();
        if is_owner { read } else { others_read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_survives_its_byte() {
        for bits in 0..32u32 {
            let bit = |n: u32| bits >> n & 1 != 0;
            let permissions = Permissions {
                read: bit(0),
                write: bit(1),
                others_read: bit(2),
                others_write: bit(3),
                permanent: bit(4),
            };
            for state in [EntryState::Live, EntryState::Deleted] {
                let status = Status::holder(state, permissions);
                assert_eq!((status.state(), status.permissions()), (state, permissions));
                assert!(status.is_holder() && !status.of_data().is_holder());
                assert_eq!(status.of_data().permissions(), permissions);
                assert_eq!(status.is_temporary(), state == EntryState::Live && !permissions.permanent);
            }
        }
    }
}
