//! The kernel interfaces that deliver page faults.

use std::fmt;

/// The interfaces that deliver page faults, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `/dev/userfaultfd`, for processes that may open it.
    Device,
    /// The system call, for processes with `CAP_SYS_PTRACE`, or for all if `vm.unprivileged_userfaultfd` is 1.
    Call,
    /// The system call restricted to faults from user mode, for all processes. System calls that are passed an address
    /// that is not resident fail with `EFAULT`.
    UserOnly,
}

impl Source {
    /// All interfaces, in order of preference.
    pub const ALL: [Source; 3] = [Source::Device, Source::Call, Source::UserOnly];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Device => "/dev/userfaultfd",
            Source::Call => "userfaultfd(2)",
            Source::UserOnly => "userfaultfd(2) for user mode only",
        })
    }
}
