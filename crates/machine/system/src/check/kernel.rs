//! `[kernel]`: checks across its keys.

use crate::LinkType;
use crate::error::SystemError;
use crate::system::System;

/// Checks rules that involve several keys.
pub(super) fn check(s: &System) -> Result<(), SystemError> {
    let k = &s.kernel;
    for (key, bytes) in [
        ("kernel.readahead", k.readahead),
        ("kernel.readahead_initial", k.initial),
        ("kernel.command", k.command),
        ("kernel.journal", k.journal),
    ] {
        let pages = bytes.is_multiple_of(host::cpu::PAGE) && (bytes / host::cpu::PAGE).is_power_of_two();
        s.expect(pages, &[key], "a power of two of pages of 4KiB")?;
    }
    s.expect(k.swap_cluster.is_power_of_two(), &["kernel.swap_cluster"], "a power of two")?;
    s.expect(k.initial <= k.readahead, &["kernel.readahead_initial", "kernel.readahead"], "at most kernel.readahead")?;
    s.expect(k.dirty_background <= k.dirty, &["kernel.dirty_background", "kernel.dirty"], "at most kernel.dirty")?;
    s.expect(
        s.link.kind == LinkType::Pcie,
        &["memory.files", "link.type"],
        "\"memory\" where link.type is not \"pcie\"",
    )
}
