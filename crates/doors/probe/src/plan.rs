//! Describes the actions of a probe before it performs any.

use serde::Serialize;

use crate::measure::{paper, write_buffer};
use crate::options::{Method, Options, Test};
use crate::run::plan as steps_of;

/// The host and target that a plan is made for.
pub(crate) struct Host {
    pub kind: &'static str,
    pub name: String,
    pub key_description: Option<String>,
    /// Whether the drive has host memory, the command to restore that state, and an explanation of its size.
    pub hmb: Option<(bool, String, String)>,
    pub writable: bool,
    pub capacity_bytes: u64,
    pub block_bytes: u64,
}

/// One action of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// The test, if the action is one.
    pub test: Option<&'static str>,
    /// A description of the action in one line.
    pub does: String,
    /// Maximum number of bytes written.
    pub write_bytes_max: u64,
}

/// The actions of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// `simulated`, `file`, `partition` or `drive`.
    pub kind: &'static str,
    /// The drive's model, the system's title, or empty.
    pub name: String,
    /// Capacity of the target in bytes.
    pub capacity_bytes: u64,
    /// Logical block size in bytes.
    pub block_bytes: u64,
    /// The actions in execution order.
    pub actions: Vec<Action>,
    /// Tests skipped because they write and the target is opened for reading only.
    pub left_out: Vec<&'static str>,
    /// Maximum number of bytes read.
    pub read_bytes_max: u64,
    /// Maximum number of bytes written; a test that would exceed it ends as inconclusive.
    pub write_bytes_max: u64,
    /// `write_bytes_max` as a fraction of the target's capacity.
    pub drive_writes: f64,
    /// A description of the key that must be typed before writing; `None` for a simulated drive.
    pub confirm: Option<String>,
    /// Further information for the user.
    pub notes: Vec<String>,
}

impl Plan {
    pub(crate) fn new(host: &Host, options: &Options) -> Plan {
        let switches = host.hmb.is_some() && options.hmb;
        let steps = steps_of(host.writable, switches, options);
        let by_paper = options.method != Method::Search;
        let each = |test: Test| paper::bytes(test, options, host.capacity_bytes, host.block_bytes);
        let cost = |test: Test| match test {
            Test::WriteBuffer if by_paper => each(test),
            Test::WriteBuffer => write_buffer::write_bytes_max(host.capacity_bytes, host.block_bytes, options),
            _ => 0,
        };
        let mut actions = Vec::new();
        let mut act = |test: Option<Test>, does: String, write_bytes_max| {
            actions.push(Action { test: test.map(Test::name), does, write_bytes_max });
        };
        if host.kind == "simulated" {
            act(None, "prepare the simulated drive".to_owned(), 0);
        } else {
            let how = if host.writable { "for reading and writing" } else { "for reading only" };
            let alone = if host.kind == "file" { "" } else { ", so that nothing else can use it meanwhile" };
            act(None, format!("open it {how}, bypassing the page cache{alone}"), 0);
        }
        let (mut now, found) = (None, host.hmb.as_ref().map(|(found, ..)| *found));
        let read_bytes: u64 = steps.iter().filter(|(test, _)| !test.writes()).map(|(test, _)| each(*test)).sum();
        for (test, hmb) in steps {
            if hmb.is_some() && hmb != now.or(found) {
                let (from, to) = if hmb == Some(true) { ("off", "on") } else { ("on", "off") };
                act(None, format!("switch its host memory buffer {to} (it is {from})"), 0);
            }
            now = hmb.or(now);
            let with = match hmb {
                None => "",
                Some(true) => ", with host memory",
                Some(false) => ", without host memory",
            };
            act(Some(test), format!("{}{with}: {}", test.name(), test.help_by(options.method)), cost(test));
        }
        if let Some(found) = found.filter(|found| now.is_some_and(|now| now != *found)) {
            let to = if found { "on" } else { "off" };
            act(None, format!("switch its host memory buffer {to} again, its original state"), 0);
        }
        let write_bytes_max = actions.iter().map(|action| action.write_bytes_max).sum::<u64>();
        // The paper's sizes cost what they cost; the plan announces it.
        let (read_bytes_max, write_bytes_max) = match options.method {
            Method::Search => (options.read_bytes_max, write_bytes_max.min(options.write_bytes_max)),
            Method::Paper { .. } => (read_bytes, write_bytes_max),
        };
        let left_out = |test: &Test| test.writes() && !host.writable && options.tests.contains(test);
        let mut notes = Vec::new();
        if let Some((_, restore_command, sizes)) = host.hmb.as_ref().filter(|_| switches && host.kind != "simulated") {
            notes.push(format!("if this program is killed, restore the host memory buffer with: {restore_command}"));
            notes.push(sizes.clone());
        }
        if host.kind == "file" {
            notes.push(
                "the file system decides where a file is stored: the stripe and map reach that are found apply to the \
                 file, and other programs use the drive too"
                    .to_owned(),
            );
        } else if host.kind != "simulated" {
            notes.push(
                "the drive serves reads of trimmed or never written data without flash: probe a drive that was fully written \
                 once"
                    .to_owned(),
            );
        }
        Plan {
            kind: host.kind,
            name: host.name.clone(),
            capacity_bytes: host.capacity_bytes,
            block_bytes: host.block_bytes,
            actions,
            left_out: Test::ALL.into_iter().filter(left_out).map(Test::name).collect(),
            read_bytes_max,
            write_bytes_max,
            drive_writes: write_bytes_max as f64 / host.capacity_bytes as f64,
            confirm: host.key_description.clone(),
            notes,
        }
    }
}
