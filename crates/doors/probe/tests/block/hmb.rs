//! The host memory buffer switch, on simulated sysfs controllers.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use media::Request;
use probe::block::{Block, Found, Options as Opening, Roots, Switch, limit_mib, other_sizes};
use probe::{Facts, HmbSwitch, Options, Progress, Target, TargetError, Test, Timed, probe, probe_as_far_as_possible};
use sim::Time;

use crate::kernel::{CONTROLLER, Folder, NVME, drive, machine};

fn switch(roots: &Roots) -> Switch {
    Switch::find(roots, "/dev/nvme0n1", &drive(roots)).expect("it can be switched").expect("it is there")
}

fn now(folder: &Folder) -> String {
    fs::read_to_string(folder.path().join(CONTROLLER).join("hmb")).expect("the attribute is there").trim().to_owned()
}

/// Removes the test folder from the paths in `text`.
fn below(folder: &Folder, text: impl ToString) -> String {
    text.to_string().replace(folder.path().to_str().expect("a plain path"), "")
}

#[test]
fn dropping_restores_the_original_state() {
    let (folder, roots) = machine("hmb-drop");
    for found in ["1", "0"] {
        folder.write(&format!("{CONTROLLER}/hmb"), format!("{found}\n"));
        let mut switch = switch(&roots);
        for on in [false, true, false, false, true, true, found == "0"] {
            switch.enable(on).expect("it can be switched");
            assert_eq!((now(&folder).as_str(), switch.enabled()), (if on { "1" } else { "0" }, Ok(on)));
        }
        assert_ne!(now(&folder), found);
        drop(switch);
        assert_eq!(now(&folder), found);
    }
}

#[test]
fn a_panic_restores_the_original_state() {
    let (folder, roots) = machine("hmb-panic");
    let mut switch = switch(&roots);
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        switch.enable(false).expect("it can be switched");
        panic!("midway");
    }));
    assert!(panicked.is_err());
    assert_eq!(now(&folder), "1");
}

#[test]
fn an_unused_switch_is_not_restored() {
    let (folder, roots) = machine("hmb-untouched");
    let mut switch = switch(&roots);
    switch.enable(true).expect("it is on");
    // Another program switched it meanwhile; that state must be kept.
    folder.write(&format!("{CONTROLLER}/hmb"), "0\n");
    drop(switch);
    assert_eq!(now(&folder), "0");
}

#[test]
fn a_drive_without_the_attribute_has_no_switch() {
    let (folder, roots) = machine("hmb-missing");
    fs::remove_file(folder.path().join(CONTROLLER).join("hmb")).expect("it is there");
    assert!(Switch::find(&roots, "/dev/nvme0n1", &drive(&roots)).expect("nothing is wrong").is_none());
}

#[test]
fn a_sata_drive_has_no_switch() {
    let (folder, roots) = machine("hmb-sata");
    fs::remove_file(folder.path().join(NVME).join("device")).expect("the link to the controller");
    folder.write(&format!("{NVME}/device/hmb"), "1\n");
    assert!(Switch::find(&roots, "/dev/sda", &drive(&roots)).expect("nothing is wrong").is_none());
}

#[test]
fn a_subsystem_has_a_switch_only_with_a_single_controller() {
    let (folder, roots) = machine("hmb-subsystem");
    fs::remove_file(folder.path().join(NVME).join("device")).expect("the link to the controller");
    folder.write("sys/devices/virtual/nvme-subsystem/nvme-subsys0/model", "EXAMPLE\n");
    folder.link(&format!("{NVME}/device"), "sys/devices/virtual/nvme-subsystem/nvme-subsys0");
    folder.link("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0", CONTROLLER);
    switch(&roots).enable(false).expect("it can be switched");
    assert_eq!(now(&folder), "1");
    folder.write("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1/hmb", "1\n");
    assert!(Switch::find(&roots, "/dev/nvme0n1", &drive(&roots)).expect("nothing is wrong").is_none());
}

#[test]
fn an_invalid_attribute_value_is_an_error() {
    let (folder, roots) = machine("hmb-odd");
    folder.write(&format!("{CONTROLLER}/hmb"), "maybe\n");
    let error = Switch::find(&roots, "/dev/nvme0n1", &drive(&roots)).expect_err("it says neither");
    assert_eq!(below(&folder, error), "/dev/nvme0n1: /sys/class/nvme/nvme0/hmb: found `maybe`, expected 0 or 1");
}

#[test]
fn a_failed_write_is_reported() {
    // Root may write to any file except a sealed one.
    let (folder, roots) = machine("hmb-read-only");
    let sealed = sealed(&folder);
    let mut switch = switch(&roots);
    let error = switch.enable(false).expect_err("it is sealed");
    let expected = "cannot be switched off: Operation not permitted (os error 1)";
    assert_eq!(below(&folder, error), format!("/dev/nvme0n1: /sys/class/nvme/nvme0/hmb: {expected}"));
    // The state is unchanged, but the switch cannot know that: it tries to restore it and reports the failure.
    let error = switch.restore().expect_err("it is sealed");
    assert_eq!(
        below(&folder, error),
        "/dev/nvme0n1: /sys/class/nvme/nvme0/hmb: NOT RESTORED (Operation not permitted (os error 1)): restore it \
         by hand with `echo 1 > /sys/class/nvme/nvme0/hmb`"
    );
    drop(sealed);
}

/// Replaces the attribute with a file that contains 1 and refuses every write.
fn sealed(folder: &Folder) -> std::fs::File {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let file = memfd_create("hmb", MemfdFlags::ALLOW_SEALING).expect("a file in memory");
    let mut file = std::fs::File::from(file);
    file.write_all(b"1\n").expect("it is not sealed yet");
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK).expect("it can be sealed");
    let attribute = folder.path().join(CONTROLLER).join("hmb");
    fs::remove_file(&attribute).expect("it is there");
    let sealed = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    std::os::unix::fs::symlink(sealed, attribute).expect("a link for the test");
    file
}

#[test]
fn a_write_without_effect_is_reported() {
    // Like the driver when it finds no memory: a file that accepts writes without changing its content.
    let (folder, roots) = machine("hmb-deaf");
    let attribute = folder.path().join(CONTROLLER).join("hmb");
    folder.write(&format!("{CONTROLLER}/hmb"), "0\n");
    let mut switch = switch(&roots);
    fs::remove_file(&attribute).expect("it is there");
    std::os::unix::fs::symlink("/dev/null", &attribute).expect("a link for the test");
    let error = switch.enable(true).expect_err("it says nothing any more");
    assert_eq!(below(&folder, error), "/dev/nvme0n1: /sys/class/nvme/nvme0/hmb: found ``, expected 0 or 1");
}

#[test]
fn a_drive_that_disappears_is_restored_when_it_returns() {
    let (folder, roots) = machine("hmb-halfway");
    let attribute = folder.path().join(CONTROLLER).join("hmb");
    let mut switch = switch(&roots);
    switch.enable(false).expect("it can be switched");
    fs::remove_file(&attribute).expect("it is there");
    let error = switch.restore().expect_err("there is nothing to write to");
    assert_eq!(
        below(&folder, error),
        "/dev/nvme0n1: /sys/class/nvme/nvme0/hmb: NOT RESTORED (No such file or directory (os error 2)): restore \
         it by hand with `echo 1 > /sys/class/nvme/nvme0/hmb`"
    );
    // The drive returns, and dropping the switch restores its state.
    folder.write(&format!("{CONTROLLER}/hmb"), "0\n");
    drop(switch);
    assert_eq!(now(&folder), "1");
}

#[test]
fn the_size_limit_is_explained_and_not_changed() {
    let (folder, roots) = machine("hmb-sizes");
    assert_eq!(limit_mib(&roots), Some(128));
    let text = other_sizes(&roots);
    assert!(text.contains("up to 128 MiB") && text.contains("max_host_mem_size_mb"), "{text}");
    let limit = folder.path().join("sys/module/nvme/parameters/max_host_mem_size_mb");
    assert_eq!(fs::read_to_string(&limit).expect("it is there"), "128\n");
    fs::remove_file(limit).expect("it is there");
    assert_eq!(limit_mib(&roots), None);
    assert!(other_sizes(&roots).contains("up to its default"));
}

/// A file combined with the switch of a simulated controller, which a probe treats as a drive.
struct Drive {
    file: Block,
    switch: Switch,
}

impl Target for Drive {
    fn facts(&self) -> &Facts {
        self.file.facts()
    }

    fn run(&mut self, requests: &[Request], depth: u32, timed: &mut Vec<Timed>) -> Result<Time, TargetError> {
        self.file.run(requests, depth, timed)
    }

    fn wait(&mut self, idle: Time) -> Result<(), TargetError> {
        self.file.wait(idle)
    }

    fn hmb(&mut self) -> Option<&mut dyn HmbSwitch> {
        Some(&mut self.switch)
    }
}

fn drive_of(folder: &Folder, roots: &Roots) -> (Drive, Arc<AtomicBool>) {
    let image = folder.write("image", vec![7; 64 << 20]);
    let found = Found::inspect(image.to_str().expect("a plain path"), &Roots::default()).expect("a file of a drive");
    let stop = Arc::new(AtomicBool::new(false));
    let opening = Opening { write: None, switch_hmb: true, seed: 1, stop: Arc::clone(&stop) };
    (Drive { file: Block::open(&found, opening).expect("it can be opened"), switch: switch(roots) }, stop)
}

fn options() -> Options {
    Options { tests: vec![Test::Parallelism], ..Options::default() }
}

#[test]
fn a_probe_restores_the_switch() {
    let (folder, roots) = machine("hmb-probe");
    for found in ["1", "0"] {
        folder.write(&format!("{CONTROLLER}/hmb"), format!("{found}\n"));
        let (mut drive, _) = drive_of(&folder, &roots);
        let mut seen = Vec::new();
        let mut watch = |now: Progress| {
            seen.push(now.hmb);
            true
        };
        let report = probe(&mut drive, &options(), &mut watch).expect("nothing fails");
        assert_eq!(seen, [Some(true), Some(false)]);
        let states: Vec<_> = report.findings.iter().map(|finding| finding.hmb).collect();
        assert_eq!(states, seen);
        drop(drive);
        assert_eq!(now(&folder), found);
    }
}

#[test]
fn an_interrupted_probe_restores_the_switch() {
    let (folder, roots) = machine("hmb-interrupted");
    let (mut drive, stop) = drive_of(&folder, &roots);
    // Interrupts a batch while host memory is off.
    let mut watch = |now: Progress| {
        stop.store(now.hmb == Some(false), Ordering::Relaxed);
        true
    };
    let (report, ended) = probe_as_far_as_possible(&mut drive, &options(), &mut watch);
    assert_eq!(ended, Err(TargetError::Interrupted));
    assert_eq!(report.ended.as_deref(), Some("interrupted"));
    let states: Vec<_> = report.findings.iter().map(|finding| finding.hmb).collect();
    assert_eq!((states, now(&folder).as_str()), (vec![Some(true)], "0"));
    drop(drive);
    assert_eq!(now(&folder), "1");
}

#[test]
fn a_probe_ends_if_the_switch_fails() {
    let (folder, roots) = machine("hmb-refuses");
    let (mut drive, _) = drive_of(&folder, &roots);
    let sealed = sealed(&folder);
    let (report, ended) = probe_as_far_as_possible(&mut drive, &options(), &mut |_| true);
    let ended = below(&folder, ended.expect_err("it cannot be switched off"));
    assert!(ended.contains("cannot be switched off"), "{ended}");
    assert_eq!(report.findings.len(), 1);
    drop(sealed);
}
