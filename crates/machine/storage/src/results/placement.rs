//! Results of Flexible Data Placement: the statistics log, and the counters of each reclaim unit handle.

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::results::counters::Counters;

/// Returns host bytes, media bytes and media bytes erased, as in the statistics log of NVMe, and the counters of each
/// handle in mapping units of `unit_bytes`; `None` without placement.
pub(crate) fn placement(machine: &Machine, counters: &Counters, unit_bytes: u32) -> Option<Value> {
    if counters.handles.is_empty() {
        return None;
    }
    let bytes = machine.bytes_in(&counters.ftl, unit_bytes);
    let handles = counters.handles.iter().enumerate().map(|(number, handle)| {
        json!({
            "handle": number,
            "host_bytes": handle.host_bytes,
            "write_amplification": handle.write_amplification(),
            "programmed_host": handle.programmed_host,
            "programmed_copy": handle.programmed_copy,
            "programmed_padding": handle.programmed_padding,
            "copies_mixed": handle.mixed,
            "blocks_opened": handle.opened,
        })
    });
    Some(json!({
        "host_bytes": bytes.host,
        "media_bytes": bytes.media,
        "erased_bytes": bytes.erased,
        "handles": handles.collect::<Vec<Value>>(),
    }))
}
