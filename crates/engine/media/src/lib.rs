//! The model of a medium: geometry, addresses, requests, and the operations between a translation layer and its flash.
//!
//! There is no timing, chip or file here. Translation layers depend on this crate and nothing below it, so that the
//! same state machine runs over simulated flash and over a real file.

pub mod action;
pub mod address;
pub mod flash;
pub mod geometry;
pub mod laid;
pub mod line;
pub mod refusal;
pub mod request;
pub mod step;

pub use action::{Action, Actions, Class, EraseOp, Move, OpId, ProgramOp, ProgramUnit, ReadOp, Status, Tag};
pub use address::{BlockAddr, PageAddr, PlaneMask};
pub use flash::{BlockInfo, Flash, NOBODY, PARITY};
pub use geometry::Geometry;
pub use laid::{LaidBlock, LaidOut};
pub use line::{LINE, LineKind, LineRequest};
pub use refusal::Refusal;
pub use request::{Op, Request, SECTOR};
pub use step::{Act, Step, Steps};
