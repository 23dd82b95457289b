//! Events of block layers, as the tools of operating systems print them and repositories publish them.

pub(crate) mod biosnoop;
pub(crate) mod blkparse;
pub(crate) mod etw;
pub(crate) mod fiu;
pub(crate) mod tracepoints;
