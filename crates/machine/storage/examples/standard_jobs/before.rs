//! Figures that the presets reached before; `before.toml` lists them by preset and job.

/// Figures of before, as they stood on the page.
pub struct Before(toml::Table);

impl Before {
    pub fn read() -> Before {
        Before(include_str!("before.toml").parse().expect("a table of texts"))
    }

    /// Returns the figure of a preset's job, or nothing for a newer preset.
    pub fn of(&self, preset: &str, job: &str) -> &str {
        self.0.get(preset).and_then(|jobs| jobs.get(job)?.as_str()).unwrap_or_default()
    }
}
