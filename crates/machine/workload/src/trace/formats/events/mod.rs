//! Events of block layers, as the tools of operating systems print them.

pub(crate) mod biosnoop;
pub(crate) mod blkparse;
pub(crate) mod etw;
pub(crate) mod tracepoints;
