//! The eight bits of page-level status and permissions. The paper names the field; what its bits are is assumed here.

/// What a table entry stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing: the page was never used, or the version entry never taken.
    #[default]
    Nothing,
    /// A version of a page that is there.
    Live,
    /// From here on back in time the page is deleted.
    Deleted,
    /// A version entry that was used and is free: its previous-mapping index leads to the next free one.
    Free,
}

/// Who may do what with a page, and whether it outlives its creator.
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
    /// It stays when its owner ends.
    pub permanent: bool,
}

impl Permissions {
    /// What a page has that is created by a read or a write: it is its creator's, and ends with it.
    pub const PRIVATE: Permissions =
        Permissions { read: true, write: true, others_read: false, others_write: false, permanent: false };
    /// Anybody may read and write it, and it stays.
    pub const SHARED: Permissions =
        Permissions { read: true, write: true, others_read: true, others_write: true, permanent: true };
}

/// The field of eight bits: bits 0 and 1 the state, 2 to 5 owner's read and write, others' read and write, 6 permanent, 7
/// says that the entry holds no data but, in place of the flash page mapping, the number of the page's owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u8);

const HOLDER: u8 = 1 << 7;
const PERMANENT: u8 = 1 << 6;

impl Status {
    /// An entry that says whose the page is, in `state`, with `permissions`.
    pub const fn holder(state: State, permissions: Permissions) -> Status {
        let Permissions { read, write, others_read, others_write, permanent } = permissions;
        let bits = (read as u8) << 2 | (write as u8) << 3 | (others_read as u8) << 4 | (others_write as u8) << 5;
        Status(HOLDER | (permanent as u8) << 6 | bits | state as u8)
    }

    /// A free version entry.
    pub const FREE: Status = Status(State::Free as u8);

    /// That of an entry with data, on top of this one.
    #[inline]
    pub const fn of_data(self) -> Status {
        Status(self.0 & !HOLDER)
    }

    /// What the entry stands for.
    #[inline]
    pub const fn state(self) -> State {
        match self.0 & 3 {
            0 => State::Nothing,
            1 => State::Live,
            2 => State::Deleted,
            _ => State::Free,
        }
    }

    /// The entry names the page's owner and has no data.
    #[inline]
    pub const fn is_holder(self) -> bool {
        self.0 & HOLDER != 0
    }

    /// The page ends with its owner.
    #[inline]
    pub const fn is_temporary(self) -> bool {
        self.0 & PERMANENT == 0 && matches!(self.state(), State::Live)
    }

    /// Who may do what.
    pub const fn permissions(self) -> Permissions {
        Permissions {
            read: self.0 >> 2 & 1 != 0,
            write: self.0 >> 3 & 1 != 0,
            others_read: self.0 >> 4 & 1 != 0,
            others_write: self.0 >> 5 & 1 != 0,
            permanent: self.0 >> 6 & 1 != 0,
        }
    }

    /// Whether its owner may read it; if not `is_owner`, whether others may.
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
            for state in [State::Live, State::Deleted] {
                let status = Status::holder(state, permissions);
                assert_eq!((status.state(), status.permissions()), (state, permissions));
                assert!(status.is_holder() && !status.of_data().is_holder());
                assert_eq!(status.of_data().permissions(), permissions);
                assert_eq!(status.is_temporary(), state == State::Live && !permissions.permanent);
            }
        }
    }
}
