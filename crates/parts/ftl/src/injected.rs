//! A deliberate bug, for testing that the tests detect it.

/// A deliberate bug, for testing that the tests detect it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// No fault.
    #[default]
    None,
    /// Every third journal page of trims is not written.
    JournalSkipped,
    /// For every third copy made by collection, the map is not updated.
    CopyNotRepointed,
    /// When host memory is lost, map entries that existed only there are not recovered from flash.
    HostMapForgotten,
}

/// The injected fault, and how often it could have struck.
#[derive(Default)]
pub(crate) struct Injected {
    fault: InjectedFault,
    count: u32,
}

impl Injected {
    pub(crate) fn inject(&mut self, fault: InjectedFault) {
        self.fault = fault;
    }

    /// Returns true if `fault` is injected.
    #[inline]
    pub(crate) fn is(&self, fault: InjectedFault) -> bool {
        self.fault == fault
    }

    /// Returns true on every third occasion for the injected `fault`.
    #[inline]
    pub(crate) fn strikes(&mut self, fault: InjectedFault) -> bool {
        if !self.is(fault) {
            return false;
        }
        self.count += 1;
        self.count.is_multiple_of(3)
    }
}
