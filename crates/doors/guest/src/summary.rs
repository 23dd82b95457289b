//! The summary of what a guest did with its drive.

use serde_json::{Value, json};
use sim::Time;
use storage::summary::{served, spread};

use crate::statistics::Class;
use crate::{Drive, LentStatistics};

impl Drive {
    /// Returns counts and latencies of the guest's commands, and the counters of translation layer and flash, up to
    /// `now`. Two guests that did the same have summaries of the same bytes.
    ///
    /// Latencies are the device's: from the fetch of a command's entry to the arrival of its completion.
    pub fn summary(&mut self, now: Time) -> Value {
        let statistics = self.front(now, |front, _| front.statistics().clone());
        let class = |class: &Class| {
            json!({
                "total_ios": class.latencies.count(),
                "io_bytes": class.bytes,
                "errors": class.errors,
                "lat_ns": spread(&class.latencies, true),
            })
        };
        let mut all = json!({
            "nandram version": env!("CARGO_PKG_VERSION"),
            "simulated_s": now.secs_f64(),
            "capacity_bytes": self.capacity(),
            "admin_commands": statistics.admin,
            "read": class(&statistics.read),
            "write": class(&statistics.write),
            "trim": class(&statistics.trim),
            "other": class(&statistics.other),
        });
        if let (Value::Object(all), Some(lent)) = (&mut all, self.lent_statistics()) {
            let LentStatistics { stored, verified, late, damaged, forged } = lent;
            let lines = json!({
                "stored": stored, "verified": verified, "late": late, "damaged": damaged, "forged": forged,
            });
            all.insert("host_memory_lines".to_owned(), lines);
        }
        let counters = served(self.machine(), self.unit_bytes(), now);
        let (Value::Object(all_of), Value::Object(counters)) = (&mut all, counters) else { unreachable!("objects") };
        all_of.extend(counters);
        all
    }
}
