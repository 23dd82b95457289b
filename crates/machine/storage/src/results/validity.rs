//! Notes on the validity of the figures of a drive's run.

use ftl::Stats;
use sim::{Time, units};
use system::System;

use crate::prepare::Preparation;
use crate::results::notes::{Kind, Note};
use crate::results::summary::Figures;
use crate::run::failed::describe;
use crate::run::record::Direction;
use crate::run::steady::{Collected, changes, is_full, traffic};

/// Part of the reads that found no data from which their figures are not those of the drive.
const EMPTY: f64 = 0.02;
/// Collections per parallel unit from which the times of writes cover what collection does to them.
const CYCLES: u64 = 3;
/// Part of the drive below which background work left by the preparation dominates write amplification.
const TELLING: f64 = 0.005;

/// Returns the notes on a drive's figures, the gravest first.
pub(crate) fn notes(system: &System, figures: &Figures<'_>) -> Vec<Note> {
    let mut found = ended_early(figures);
    found.extend(failed_requests(figures));
    let filled = figures.prepared.preparation == Preparation::Filled;
    found.extend(empty_drive(&figures.counters.1.ftl_of_all(), system.has_zones(), filled));
    found.extend(of_drive(system, figures));
    for (at, drive) in figures.drives.1.iter().enumerate() {
        let (whole_run, window) = &figures.counters;
        let counters = (whole_run.others[at].counters.clone(), window.others[at].counters.clone());
        let own = Figures { machine: &drive.machine, counters, headroom: drive.headroom, ..figures.clone() };
        let new =
            of_drive(system, &own).into_iter().filter(|note| found.iter().all(|other| other.kind() != note.kind()));
        let new: Vec<Note> =
            new.map(|note| Note::new(note.kind(), format!("{}: {}", drive.name, note.text()))).collect();
        found.extend(new);
    }
    found.extend(warm_up(figures));
    found
}

/// Returns the notes on the state of one drive.
fn of_drive(system: &System, figures: &Figures<'_>) -> Vec<Note> {
    let mut found: Vec<Note> = not_steady(system, figures).into_iter().collect();
    found.extend(few_cycles(figures));
    found.extend(little_written(system, figures));
    if figures.machine.ftl().is_read_only() {
        found.push(Note::new(Kind::ReadOnly, "the drive became read-only: too few good blocks were left"));
    }
    found
}

fn ended_early(figures: &Figures<'_>) -> Vec<Note> {
    let line = |failed: &crate::run::failed::FailedJob| {
        let (name, cause) = (&figures.measured.jobs[failed.job as usize].name, describe(failed.status));
        Note::new(Kind::EndedEarly, format!("error: job {name}: ended after {} with {cause}", failed.at))
    };
    figures.failed.iter().map(line).collect()
}

fn failed_requests(figures: &Figures<'_>) -> Vec<Note> {
    let measured = figures.measured;
    let line = |(job, info): (usize, &workload::JobInfo)| {
        let errors: u64 = Direction::ALL.iter().map(|direction| measured.totals(job, *direction).errors).sum();
        (errors > 0).then(|| {
            let first = describe(measured.first_error(job));
            let requests = if errors == 1 { "request" } else { "requests" };
            let text = format!("{}: {errors} {requests} failed, not counted above; the first with {first}", info.name);
            Note::new(Kind::FailedRequests, text)
        })
    };
    measured.jobs.iter().enumerate().filter_map(line).collect()
}

/// Returns a note if more than [`EMPTY`] of the data that the host read had never been written.
fn empty_drive(stats: &Stats, zones: bool, filled: bool) -> Option<Note> {
    let read = stats.read_hits + stats.read_misses + stats.read_unwritten;
    let part = stats.read_unwritten as f64 / read.max(1) as f64;
    let found = match stats.read_unwritten {
        all if all == read => "no read found data".to_owned(),
        _ => format!("{:.1} % of the reads found no data", 100.0 * part),
    };
    let advice = match (zones, filled) {
        (true, true) => {
            "they lie beyond the capacity of a zone, or where a job writes; offset and size can leave these out"
        }
        (true, false) => "precondition: fill writes the zones that no job writes, up to their capacity",
        (false, _) => "precondition: fill writes it first",
    };
    let text = format!("empty drive: {found}, which takes no access to the flash ({advice})");
    (part > EMPTY).then(|| Note::new(Kind::EmptyDrive, text))
}

/// Returns a note if the headroom changed by more than [`STEADY`] of what the host wrote, or read where it wrote nothing.
fn not_steady(system: &System, figures: &Figures<'_>) -> Option<Note> {
    let change = figures.machine.ftl().headroom().since(&figures.headroom);
    let stats = &figures.counters.1.ftl;
    let (traffic, verb) = traffic(stats);
    let unit = system.ftl.unit;
    let changed = changes(&change, traffic, unit);
    if traffic == 0 || changed.is_empty() {
        return None;
    }
    let bytes = units::decimal(traffic * unit);
    Some(Note::new(Kind::NotSteady, format!("not steady: {}, while the host {verb} {bytes}", changed.join(", "))))
}

/// Returns a note if the host wrote while the drive collected, and parallel units collected less than [`CYCLES`] blocks
/// each on average.
fn few_cycles(figures: &Figures<'_>) -> Option<Note> {
    let (whole_run, window) = (&figures.counters.0.ftl, &figures.counters.1.ftl);
    let full = is_full(figures.prepared.preparation);
    let collected = Collected::new(figures.machine.ftl(), whole_run, window, full);
    let (collections, units) = (collected.blocks(), collected.units());
    collected.fewer_than(CYCLES).then(|| {
        let blocks = if collections == 1 { "block" } else { "blocks" };
        let text = format!(
            "few collections: {collections} {blocks} collected, expected at least {} ({CYCLES} for each of {units} parallel \
             units) for the highest write times and the write amplification",
            CYCLES * units
        );
        Note::new(Kind::FewCycles, text)
    })
}

/// Returns a note if most copies result from the preparation of the drive rather than from what the host wrote.
fn little_written(system: &System, figures: &Figures<'_>) -> Option<Note> {
    let stats = &figures.counters.0.ftl;
    let written = stats.host_bytes as f64 / system.user_bytes as f64;
    let prepared = matches!(figures.prepared.preparation, Preparation::Steady | Preparation::Rested);
    (prepared && written < TELLING && stats.programmed_copy > 0).then(|| {
        let text = format!(
            "write amplification: not shown for {:.3} % of a drive write; most of the {} copied units result from the \
             preparation",
            100.0 * written,
            stats.programmed_copy
        );
        Note::new(Kind::LittleWritten, text)
    })
}

fn warm_up(figures: &Figures<'_>) -> Vec<Note> {
    let mut found = Vec::new();
    if let Some(least) = figures.run_at_least {
        let text = format!("warm-up: not detected, the run is too short; run at least {}", round_up(least));
        found.push(Note::new(Kind::WarmUpNotFound, text));
    }
    let measured = figures.measured;
    let mut names: Vec<&str> = (0..measured.jobs.len())
        .filter(|job| measured.ended_in_warm_up(*job))
        .map(|job| measured.jobs[job].name.as_str())
        .collect();
    names.dedup();
    if !names.is_empty() {
        let text = format!("warm-up: jobs that ended within it are counted in full: {}", names.join(", "));
        found.push(Note::new(Kind::WarmUpOfJobs, text));
    }
    found
}

/// Returns a time rounded up to two significant digits.
fn round_up(time: Time) -> Time {
    let mut step = 1;
    while time.ps() / step >= 100 {
        step *= 10;
    }
    Time::from_ps(time.ps().div_ceil(step) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_an_empty_drive_are_named() {
        let text = |stats: Stats| empty_drive(&stats, false, false).map(|note| note.text().to_owned());
        let zoned = |filled| empty_drive(&Stats { read_unwritten: 9, ..Stats::default() }, true, filled);
        assert!(zoned(false).is_some_and(|note| note.text().contains("the zones that no job writes")));
        assert!(zoned(true).is_some_and(|note| note.text().contains("beyond the capacity of a zone")));
        assert!(
            text(Stats { read_unwritten: 9, ..Stats::default() }).is_some_and(|text| text.contains("no read found"))
        );
        let part = text(Stats { read_misses: 900, read_hits: 50, read_unwritten: 50, ..Stats::default() });
        assert!(part.is_some_and(|text| text.contains("5.0 % of the reads")));
        assert_eq!(text(Stats { read_misses: 980, read_unwritten: 20, ..Stats::default() }), None);
        assert_eq!(text(Stats::default()), None);
    }

    #[test]
    fn the_length_to_run_is_rounded_up() {
        assert_eq!(round_up(Time::from_us(132_781)), Time::from_ms(140));
        assert_eq!(round_up(Time::from_ps(99)), Time::from_ps(99));
        assert_eq!(round_up(Time::ZERO), Time::ZERO);
    }
}
