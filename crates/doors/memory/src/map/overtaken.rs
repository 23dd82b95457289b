//! A store's fault that is served after its segment was mapped for something else.

use std::process::Command;

use nvmm::Permissions;

use super::Source;
use super::core::Core;
use super::uffd::{Fault, Region};
use crate::{Memory, Options};

const ME: &str = "map::overtaken::a_store_is_overtaken_by_what_was_read_ahead";

/// In a process by itself, which ends.
#[test]
#[ignore = "another test starts it"]
fn a_store_is_overtaken_by_what_was_read_ahead() {
    let path = std::env::var("OVERTAKEN_PATH").expect("set");
    let mut memory = Memory::create(path.as_ref(), &Options { capacity: Some(4 << 20), ..Options::default() })
        .unwrap_or_else(|error| panic!("{error}"));
    let at = memory.alloc(1, false).expect("room");
    memory.write(at, b"read only").expect("there");
    let permissions = Permissions { write: false, permanent: true, ..Permissions::PRIVATE };
    memory.set_permissions(at, 1, permissions).expect("there");
    let shape = memory.shape();
    let bytes = u64::from(shape.pages) * shape.page_bytes();
    let Ok(region) = Region::new(bytes, shape.segment_bytes, &Source::ALL) else {
        println!("not tested: the kernel gives this process no faults");
        return;
    };
    let mut core = Core::new(memory, region).unwrap_or_else(|refused| panic!("{}", refused.1));
    core.will_need(at, 1).expect("there");
    let key = at / u64::from(shape.segment_bytes);
    while !core.pages.is_mapped(key) {
        core.serve();
    }
    println!("it is mapped");
    // As it was noted when nothing was mapped there.
    core.fault(Fault { key, write: true, protected: false, thread: 0 });
    println!("it was let through");
}

#[test]
fn its_permission_is_asked_for_all_the_same() {
    let path = std::env::temp_dir().join(format!("nandram-overtaken-{}", std::process::id()));
    let child = Command::new(std::env::current_exe().expect("this"))
        .args(["--exact", ME, "--ignored", "--nocapture", "--test-threads=1"])
        .env("OVERTAKEN_PATH", &path)
        .output()
        .expect("started");
    drop(std::fs::remove_file(&path));
    let (out, told) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    if out.contains("not tested") {
        return eprintln!("not tested: the kernel gives this process no faults");
    }
    assert!(out.contains("it is mapped") && !out.contains("let through"), "{out}{told}");
    assert!(
        told.contains("address 0x10000: its page may not be written: a load or store there cannot be told"),
        "{told}"
    );
}
