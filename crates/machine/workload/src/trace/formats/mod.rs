//! The trace formats, one module each.
//!
//! A format is a file in this folder or in `events/` and a line of [`Format`]. The file holds a `FORMAT` ([`Declaration`]: name,
//! extensions, unit of time, header, detection) and a function `start` that returns the parser of the requests.

pub(crate) mod alibaba;
pub(crate) mod cloudphysics;
pub(crate) mod columns;
pub(crate) mod events;
pub(crate) mod iolog;
pub(crate) mod mqsim;
pub(crate) mod msr;
pub(crate) mod objects;
pub(crate) mod oracle_general;
pub(crate) mod scsi;
pub(crate) mod spc;
pub(crate) mod systor17;
pub(crate) mod tectonic;
pub(crate) mod tencent;
pub(crate) mod vscsi;

use crate::trace::declaration::Declaration;
use crate::trace::formats::columns::Columns;
use crate::trace::formats::events::{biosnoop, blkparse, etw, fiu, tracepoints};
use crate::trace::input::Input;
use crate::trace::requests::{Requests, Started};

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $module:ident,)*) => {
        /// A trace format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format {
            $($(#[$doc])* $name,)*
            /// User-defined columns; never detected from the content.
            Columns(Columns),
        }

        impl Format {
            /// All formats except user-defined columns, in the order in which messages name them.
            pub const ALL: &[Format] = &[$(Format::$name),*];

            /// Returns the format's declaration.
            pub(crate) fn declaration(self) -> &'static Declaration {
                match self {
                    $(Format::$name => &$module::FORMAT,)*
                    Format::Columns(_) => &columns::FORMAT,
                }
            }

            /// Starts to read a trace in this format.
            pub(crate) fn start(self, input: &mut Input, requests: &mut Requests) -> Started {
                match self {
                    $(Format::$name => $module::start(input, requests),)*
                    Format::Columns(columns) => columns::start(columns, input),
                }
            }
        }
    };
}

formats! {
    /// fio's `write_iolog`, version 2 or 3.
    FioIolog = iolog,
    /// MSR Cambridge CSV.
    Msr = msr,
    /// Storage Performance Council, as in the UMass repository.
    Spc = spc,
    /// blkparse's default text.
    Blkparse = blkparse,
    /// MQSim's ASCII traces.
    Mqsim = mqsim,
    /// VMware vscsi binary records, version 1 or 2.
    Vscsi = vscsi,
    /// CloudPhysics CSV.
    CloudPhysics = cloudphysics,
    /// Alibaba Cloud CSV.
    Alibaba = alibaba,
    /// Tencent Cloud CSV.
    Tencent = tencent,
    /// SYSTOR '17 CSV.
    Systor17 = systor17,
    /// Disk events of Windows, printed by xperf.
    Etw = etw,
    /// Linux's block tracepoints, printed by ftrace and perf.
    Tracepoints = tracepoints,
    /// bcc's biosnoop.
    Biosnoop = biosnoop,
    /// Meta's Tectonic.
    Tectonic = tectonic,
    /// Traces of Florida International University.
    Fiu = fiu,
    /// libCacheSim's `oracleGeneral` records.
    OracleGeneral = oracle_general,
    /// libCacheSim's text: one object per line.
    Objects = objects,
}
