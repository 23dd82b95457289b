//! One module per trace format.

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod cloudphysics;
pub(crate) mod columns;
pub(crate) mod iolog;
pub(crate) mod iolog_writer;
pub(crate) mod libcachesim;
pub(crate) mod mqsim;
pub(crate) mod msr;
pub(crate) mod scsi;
pub(crate) mod spc;
pub(crate) mod tencent;
pub(crate) mod vscsi;
