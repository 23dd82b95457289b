//! A served drive whose file cannot be written: the client sees errors, the server goes on, and nothing that was flushed is
//! lost. The file's length is limited (`RLIMIT_FSIZE`), in a process that ignores the signal that comes with it.
#![cfg(target_os = "linux")]

mod support;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use guest::Options;
use guest_server::Mappings;
use guest_store::{Kept, Mode, open};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{DATA, Driver, MEMORY, Server, pattern, small, wait_for_event};

const FLUSH: u32 = 0;
const WRITE: u32 = 1;
const READ: u32 = 2;
/// Capacity Exceeded with Do Not Retry, for which Linux reports ENOSPC.
const NO_SPACE: u16 = 0x4081;
/// Pages of 4 KiB that the client writes.
const PAGES: u32 = 4000;
const PLACES: u32 = 12;
const STORE: &str = "NANDRAM_FULL_STORE";

fn limit(bytes: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: bytes, ..getrlimit(Resource::Fsize) }).expect("a limit");
}

/// A server, its client, and what the client knows.
struct Session {
    server: Server,
    driver: Driver,
    kept: Kept,
}

impl Session {
    fn start(store: &Path, name: &str) -> Session {
        let memory = Mappings::default();
        let found = open(&small(), &Options::default(), Box::new(memory.clone()), store, Mode::OpenOrCreate);
        let (drive, kept) = found.unwrap_or_else(|error| panic!("the store does not mount: {error}"));
        let server = Server::over(drive, memory, name, false);
        let mut driver = Driver::connect(&server);
        driver.attach(&mut wait_for_event);
        Session { server, driver, kept }
    }

    fn run(&mut self, opcode: u32, page: u32) -> u16 {
        self.driver.run(1, [opcode, 1, 8 * page, 0], DATA, &mut wait_for_event)
    }

    /// Writes version `version` of a page.
    fn write(&mut self, page: u32, version: u32) -> u16 {
        self.driver.store(DATA, &contents(page, version));
        self.run(WRITE, page)
    }

    /// Checks that each page has the version that was flushed, or a newer one.
    fn check(&mut self, flushed: &HashMap<u32, u32>) {
        for (page, version) in flushed {
            assert_eq!(self.run(READ, *page), 0);
            let data = self.driver.load(DATA, 4096);
            let found = u32::from_le_bytes(data[..4].try_into().expect("four bytes"));
            assert!(found >= *version && data == contents(*page, found), "page {page}: {found}, flushed {version}");
        }
    }

    fn end(self) -> Result<(), guest_store::StoreError> {
        let Session { server, driver, kept } = self;
        let handle = server.handle.clone();
        driver.client.shutdown().expect("a connection");
        drop(driver);
        server.end().expect("a connection");
        handle.inspect(|drive, _| kept.close(drive))
    }
}

fn contents(page: u32, version: u32) -> Vec<u8> {
    [&version.to_le_bytes()[..], &pattern(version << 12 ^ page)[4..]].concat()
}

/// The server's process.
#[test]
#[ignore = "a part of `a_full_disk_fails_commands_of_the_client_and_nothing_else`"]
fn serves_with_a_limit() {
    let store = std::env::var_os(STORE).expect("started by its test");
    let store = Path::new(&store);
    let (mut flushed, mut version, mut failures) = (HashMap::new(), 0u32, 0);
    for place in 0..PLACES {
        let mut session = Session::start(store, &format!("full-{place}"));
        session.check(&flushed);
        let bytes = std::fs::metadata(store).expect("the store").len();
        // Above the client's memory, whose file has the limit too.
        limit(Some(MEMORY + (bytes - MEMORY) * u64::from(place) / u64::from(PLACES)));
        let (mut written, mut failed) = (flushed.clone(), 0);
        for _ in 0..2500 {
            version += 1;
            let page = version.wrapping_mul(2_654_435_761) % PAGES;
            match session.write(page, version) {
                0 => drop(written.insert(page, version)),
                status => {
                    assert_eq!(status, NO_SPACE);
                    failed += 1;
                }
            }
            if version % 16 == 0 {
                match session.run(FLUSH, 0) {
                    0 => flushed.clone_from(&written),
                    status => {
                        assert_eq!(status, NO_SPACE);
                        failed += 1;
                    }
                }
            }
            if failed > 20 {
                break;
            }
        }
        session.check(&flushed);
        failures += u32::from(failed > 0);
        if failed > 0 {
            let notice = session.kept.take_notice().expect("a message");
            assert!(notice.contains(": cannot be written: File too large"), "{notice}");
        }
        if place % 3 == 0 {
            // The server ends without room. What the client flushed is there.
            let ended = session.end();
            assert!(failed == 0 || ended.is_err());
            limit(None);
            continue;
        }
        limit(None);
        assert_eq!((session.write(0, version), session.run(FLUSH, 0)), (0, 0), "there is room again");
        written.insert(0, version);
        flushed = written;
        session.check(&flushed);
        session.end().expect("a writable file");
    }
    assert!(failures >= 10, "only {failures} places failed");
    let mut session = Session::start(store, "full-end");
    session.check(&flushed);
    session.end().expect("a writable file");
}

#[test]
fn a_full_disk_fails_commands_of_the_client_and_nothing_else() {
    let store = std::env::temp_dir().join(format!("nandram-full-{}.store", std::process::id()));
    let mut process = Command::new("sh");
    process.args(["-c", "trap '' XFSZ; exec \"$0\" serves_with_a_limit --exact --ignored --nocapture"]);
    let done = process.arg(std::env::current_exe().expect("this program")).env(STORE, &store).output();
    let done = done.expect("a process");
    std::fs::remove_file(&store).expect("the store");
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
}
