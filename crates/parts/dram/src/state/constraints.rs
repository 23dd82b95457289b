//! Timing constraints of a rank and its bank groups: the first cycle in which each class of commands is allowed.

/// Classes of commands that a rank and a bank group limit.
pub(crate) mod class {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const ACTIVATE: usize = 2;
    pub const PRECHARGE: usize = 3;
}

/// Bank groups times classes.
pub(crate) const LIMITS: usize = 64;
/// Maximum number of bank groups per rank.
pub(crate) const GROUPS: usize = LIMITS / 4;

/// The first cycle in which a rank, and each of its bank groups, allows a command of each class.
#[derive(Clone)]
pub(crate) struct Constraints {
    of_rank: [u64; 4],
    /// Four classes per group.
    of_group: [u64; LIMITS],
}

impl Constraints {
    pub(crate) const NONE: Constraints = Constraints { of_rank: [0; 4], of_group: [0; LIMITS] };

    /// Returns the index of a group's limit for a class.
    pub(crate) fn place(group: usize, class: usize) -> u8 {
        (group * 4 + class) as u8
    }

    /// Returns the first cycle in which a bank group allows a class.
    #[inline]
    pub(crate) fn allows(&self, group: usize, class: usize) -> u64 {
        self.of_rank[class % 4].max(self.of_group[(group * 4 + class) % LIMITS])
    }

    #[inline]
    pub(crate) fn of_rank(&self, class: usize) -> u64 {
        self.of_rank[class % 4]
    }

    #[inline]
    pub(crate) fn of_group(&self, place: u8) -> u64 {
        self.of_group[place as usize % LIMITS]
    }

    /// Allows no command of a class before `cycle`.
    #[inline]
    pub(crate) fn hold(&mut self, class: usize, cycle: u64) {
        let limit = &mut self.of_rank[class % 4];
        *limit = (*limit).max(cycle);
    }

    /// Allows no command of a class in a bank group before `cycle`.
    #[inline]
    pub(crate) fn hold_group(&mut self, group: usize, class: usize, cycle: u64) {
        let limit = &mut self.of_group[(group * 4 + class) % LIMITS];
        *limit = (*limit).max(cycle);
    }
}
