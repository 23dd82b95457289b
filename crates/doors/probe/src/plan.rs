//! What a probe will do to its target, said before it does anything.

use serde::Serialize;

use crate::options::{Options, Test};
use crate::run::plan as steps_of;
use crate::write_buffer;

/// What a plan is made for.
pub(crate) struct Host {
    pub kind: &'static str,
    pub name: String,
    pub key_is: Option<String>,
    /// Whether the drive has host memory, how that is put back by hand, and what is to be known of its size.
    pub hmb: Option<(bool, String, String)>,
    pub writable: bool,
    pub capacity_bytes: u64,
    pub block_bytes: u64,
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// The test, if it is one.
    pub test: Option<&'static str>,
    /// What is done, in a line.
    pub does: String,
    /// Most bytes that it writes.
    pub write_bytes_max: u64,
}

/// What a probe will do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// `simulated`, `file`, `partition` or `drive`.
    pub kind: &'static str,
    /// The drive's model, the system's title, or nothing.
    pub name: String,
    /// Bytes of the target.
    pub capacity_bytes: u64,
    /// Its logical block.
    pub block_bytes: u64,
    /// In their order.
    pub actions: Vec<Action>,
    /// Tests that write, where it is opened for reading.
    pub left_out: Vec<&'static str>,
    /// Most bytes that are read.
    pub read_bytes_max: u64,
    /// Most bytes that are written: it is the probe's allowance, and what needs more ends as inconclusive.
    pub write_bytes_max: u64,
    /// The same as a part of all that the target holds.
    pub drive_writes: f64,
    /// What must be typed before it is written; none of a simulated drive.
    pub confirm: Option<String>,
    /// What a user should know.
    pub notes: Vec<String>,
}

impl Plan {
    pub(crate) fn new(host: &Host, options: &Options) -> Plan {
        let switches = host.hmb.is_some() && options.hmb;
        let steps = steps_of(host.writable, switches, options);
        let cost = |test: Test| match test {
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
            act(None, format!("open it {how}, past the page cache{alone}"), 0);
        }
        let (mut now, found) = (None, host.hmb.as_ref().map(|(found, ..)| *found));
        for (test, hmb) in steps {
            if hmb.is_some() && hmb != now.or(found) {
                let (from, to) = if hmb == Some(true) { ("off", "on") } else { ("on", "off") };
                act(None, format!("switch its host memory buffer {to}, which is {from}"), 0);
            }
            now = hmb.or(now);
            let with = match hmb {
                None => "",
                Some(true) => ", with host memory",
                Some(false) => ", without host memory",
            };
            act(Some(test), format!("{}{with}: {}", test.name(), test.help()), cost(test));
        }
        if let Some(found) = found.filter(|found| now.is_some_and(|now| now != *found)) {
            let to = if found { "on" } else { "off" };
            act(None, format!("switch its host memory buffer {to} again, as it was found"), 0);
        }
        let write_bytes_max = actions.iter().map(|action| action.write_bytes_max).sum::<u64>();
        let write_bytes_max = write_bytes_max.min(options.write_bytes_max);
        let left_out = |test: &Test| test.writes() && !host.writable && options.tests.contains(test);
        let mut notes = Vec::new();
        if let Some((_, way_back, sizes)) = host.hmb.as_ref().filter(|_| switches && host.kind != "simulated") {
            notes.push(format!(
                "should this program be killed midway, put the host memory buffer back with: {way_back}"
            ));
            notes.push(sizes.clone());
        }
        if host.kind == "file" {
            notes.push(
                "a file is where its file system put it: what is found of pieces and of the map's reach is that of the file, \
                 and others use the drive too"
                    .to_owned(),
            );
        } else if host.kind != "simulated" {
            notes.push(
                "what was never written, or trimmed, is read without flash: probe a drive that was written once from end to \
                 end"
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
            read_bytes_max: options.read_bytes_max,
            write_bytes_max,
            drive_writes: write_bytes_max as f64 / host.capacity_bytes as f64,
            confirm: host.key_is.clone(),
            notes,
        }
    }
}
