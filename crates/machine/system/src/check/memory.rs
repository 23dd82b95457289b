//! Main memory: checks across its keys and those of other parts.

use crate::LinkType;
use crate::error::SystemError;
use crate::memory::Files;
use crate::system::System;

/// Checks that files have a drive.
pub(super) fn check(s: &System) -> Result<(), SystemError> {
    let driven = s.memory.files == Files::Memory || s.link.kind == LinkType::Pcie;
    s.expect(driven, &["memory.files", "link.type"], "\"memory\" where link.type is not \"pcie\"")
}
