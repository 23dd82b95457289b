//! State of the controller that outlives a power cut, as a text: namespaces or their formats, and counters of the health
//! log. The error log, features and the sanitize status are those of a new drive after each start.

use serde_json::{Value, json};
use sim::Time;
use storage::PlacementBytes;

use super::Controller;
use super::registers::Shutdown;
use crate::error::DriveError;

/// Counters of the health log, with the names that they have in the text.
pub(super) const COUNTERS: [&str; 8] =
    ["power_cycles", "unsafe_shutdowns", "reads", "writes", "read_bytes", "written_bytes", "busy_ps", "errors"];

impl Controller {
    /// Returns the state.
    ///
    /// `bytes` are those since the translation layer was mounted.
    pub fn state(&self, bytes: PlacementBytes) -> String {
        let mut state = json!({
            "shut_down": self.registers.shutdown == Shutdown::Complete,
        });
        match self.namespaces.is_managed() {
            true => state["namespaces"] = self.namespaces.state(),
            false => state["formats"] = json!(self.namespaces.formats()),
        }
        for (name, value) in COUNTERS.iter().zip(self.logs.counters()) {
            state[*name] = json!(value);
        }
        if let Some(placement) = &self.placement {
            let PlacementBytes { host, media, erased } = placement.total(bytes);
            state["placement"] = json!([host, media, erased]);
        }
        state.to_string()
    }

    /// Continues from a [`state`](Self::state) after a power cycle.
    ///
    /// # Errors
    /// Fails if the text is not the state of a controller with these namespaces.
    pub fn restore_state(&mut self, text: &str) -> Result<(), DriveError> {
        let refuse = || DriveError::State(text.chars().take(80).collect());
        let state: Value = serde_json::from_str(text).map_err(|_| refuse())?;
        // A state from before namespaces could be managed has their formats alone.
        let restored = match &state["namespaces"] {
            Value::Null => self.namespaces.restore_formats(&state["formats"]),
            saved if self.namespaces.is_managed() => self.namespaces.restore(saved),
            _ => None,
        };
        restored.ok_or_else(refuse)?;
        let mut counters = [0; COUNTERS.len()];
        for (to, name) in counters.iter_mut().zip(COUNTERS) {
            *to = state[name].as_u64().ok_or_else(refuse)?;
        }
        if let Some(placement) = &mut self.placement {
            // A state from before the drive had placement has no such bytes.
            let bytes = |at: usize| state["placement"][at].as_u64().unwrap_or(0);
            placement.mounted(PlacementBytes { host: bytes(0), media: bytes(1), erased: bytes(2) });
        }
        let shut_down = state["shut_down"].as_bool().ok_or_else(refuse)?;
        self.logs.set_counters(counters);
        self.logs.power_cut(shut_down);
        self.logs.is_busy(Time::ZERO, false);
        Ok(())
    }
}
