//! Whether a run on a drive prepared as `steady` is steady from its first request: the rate and the 99.9th percentile of
//! random writes in ten intervals of the first part of a drive-write, relative to those of as long a run after it.
//!
//! `steady_start [PRESET[@1/N][=PART]]...`: `PART` is the part of a drive-write, a quarter by default. Without arguments,
//! every drive preset at its smallest scale, and three at full size. Prints `docs/steady-start.md`.

mod measure;

use std::process::ExitCode;

use system::memory::MainMemory;
use system::{LinkType, System, presets};

use measure::{Interval, measure};

/// Presets measured at full size too, and the part of a drive-write.
const WHOLE: [&str; 3] = ["nvme-client-tlc=0.02", "nvme-enterprise-tlc=0.02", "samsung-980-pro-1tb=0.02"];

fn main() -> ExitCode {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    if asked.is_empty() {
        asked = presets().iter().filter_map(|(name, _)| smallest(name)).collect();
        asked.extend(WHOLE.map(str::to_owned));
    }
    print!("{}", include_str!("page.md"));
    let mut status = ExitCode::SUCCESS;
    for argument in asked {
        match row(&argument) {
            Ok(row) => println!("{row}"),
            Err(why) => {
                eprintln!("{argument}: {why}");
                status = ExitCode::from(2);
            }
        }
    }
    status
}

/// Returns the smallest copy of a drive that takes random writes, `None` for other systems.
fn smallest(preset: &str) -> Option<String> {
    let system = System::load(preset, &[]).ok()?;
    let drive = !matches!(system.link.kind, LinkType::None | LinkType::OneNand);
    if !drive || system.has_zones() || system.memory.kind != MainMemory::None {
        return None;
    }
    Some(format!("{preset}@1/{}", system.scale_limit().ok()?))
}

fn row(argument: &str) -> Result<String, Box<dyn std::error::Error>> {
    let (name, part) = argument.split_once('=').unwrap_or((argument, "0.25"));
    let (preset, scale) = name.split_once('@').unwrap_or((name, "1/1"));
    let system = System::load(preset, &[("scale", scale)])?;
    let [first, long] = measure(&system, part.parse()?)?;
    let (mean, tail) = (long.mean(|each| each.iops), long.mean(|each| each.tail_us));
    let list = |of: fn(&Interval) -> f64, whole: f64| {
        first.0.iter().map(|each| format!("{:.2}", of(each) / whole)).collect::<Vec<_>>().join(" ")
    };
    Ok(format!(
        "| `{preset}` | {scale} | {part} | {mean:.0} | {tail:.0} us | {} | {} |",
        list(|each| each.iops, mean),
        list(|each| each.tail_us, tail)
    ))
}
