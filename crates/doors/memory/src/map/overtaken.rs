//! Tests a store fault that is served only after read-ahead has mapped its segment.

use std::process::Command;

use nvmm::Permissions;

use super::mapping::Mapping;
use super::source::Source;
use super::uffd::{Fault, Region};
use crate::{Memory, Options};

const ME: &str = "map::overtaken::child_stores_to_a_read_only_page_that_was_read_ahead";

/// Runs in a child process, which aborts.
#[test]
#[ignore = "started by another test"]
fn child_stores_to_a_read_only_page_that_was_read_ahead() {
    let path = std::env::var("OVERTAKEN_PATH").expect("set");
    let mut memory = Memory::create(path.as_ref(), &Options { capacity: Some(4 << 20), ..Options::default() })
        .unwrap_or_else(|error| panic!("{error}"));
    let at = memory.alloc(1, false).expect("room");
    memory.write(at, b"read only").expect("allocated");
    let permissions = Permissions { write: false, permanent: true, ..Permissions::PRIVATE };
    memory.set_permissions(at, 1, permissions).expect("allocated");
    let shape = memory.shape();
    let bytes = u64::from(shape.pages) * shape.page_bytes();
    let Ok(region) = Region::new(bytes, shape.segment_bytes, &Source::ALL) else {
        println!("not tested: the kernel does not allow this process to use userfaultfd");
        return;
    };
    let mut mapping = Mapping::new(memory, region).unwrap_or_else(|refused| panic!("{}", refused.1));
    mapping.will_need(at, 1).expect("allocated");
    let key = at / u64::from(shape.segment_bytes);
    while !mapping.pages.is_mapped(key) {
        mapping.serve();
    }
    println!("the page is mapped");
    // The fault that was reported before the segment was mapped.
    mapping.fault(Fault { key, write: true, protected: false, thread: 0 });
    println!("the store was allowed");
}

#[test]
fn an_overtaken_store_is_still_checked_for_permission() {
    let path = std::env::temp_dir().join(format!("nandram-overtaken-{}", std::process::id()));
    let child = Command::new(std::env::current_exe().expect("the path of this program"))
        .args(["--exact", ME, "--ignored", "--nocapture", "--test-threads=1"])
        .env("OVERTAKEN_PATH", &path)
        .output()
        .expect("started");
    drop(std::fs::remove_file(&path));
    let (out, stderr) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    if out.contains("not tested") {
        return eprintln!("not tested: the kernel does not allow this process to use userfaultfd");
    }
    assert!(out.contains("the page is mapped") && !out.contains("the store was allowed"), "{out}{stderr}");
    assert!(stderr.contains("address 0x10000: its page may not be written: cannot report this error"), "{stderr}");
}
