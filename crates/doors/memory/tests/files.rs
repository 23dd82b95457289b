//! A memory on a real file: persistence, a killed process, and the error message of every misuse and fault.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use memory::{Disk, Error, Memory, Options, Permissions, Token, shape_of};
use sim::Streams;
use support::histories::{Calls, verify};
use support::model::Contents;
use support::place::{TempFile, create, message, options};

#[test]
fn reopening_restores_the_last_sync() {
    let (place, mut memory) = create("again");
    let at = memory.alloc(300_000, false).expect("enough space");
    let gone = memory.alloc(1, true).expect("enough space");
    let bytes: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    memory.write(at, &bytes).expect("written");
    let token = memory.sync(Some("the first")).expect("synced");
    memory.write(at + 1000, &[0; 5000]).expect("written");
    memory.close().expect("closed");
    let mut memory = Memory::open(&place.0, &Options { capacity: None, ..options() }).expect("opened");
    let mut found = vec![0; bytes.len()];
    memory.read(at, &mut found).expect("read");
    assert!(found == bytes);
    let before = memory.stats();
    memory.read(at, &mut found[..10 * 4096]).expect("read");
    let after = memory.stats();
    assert_eq!((after.hits - before.hits, after.misses - before.misses), (10, 0));
    assert_eq!(message(memory.read(gone, &mut [0])), format!("address {gone:#x}: its page is not allocated"));
    assert_eq!(memory.tokens().expect("read"), [(token, Some("the first".to_owned()))]);
    assert_eq!(memory.token("the first").expect("live"), token);
    // Write more than the file can hold, so that garbage is collected.
    for round in 0..40u32 {
        let bytes: Vec<u8> = (0..300_000u32).map(|n| (n * round) as u8).collect();
        memory.write(at, &bytes).expect("written");
        let newer = memory.sync(None).expect("synced");
        memory.drop_token(newer).expect("live");
    }
    assert_eq!(memory.verify().expect("read").0.len(), 0);
    memory.rollback(token).expect("live");
    memory.read(at, &mut found).expect("read");
    assert!(found == bytes);
    memory.compact().expect("compacted");
    assert_eq!(memory.verify().expect("read").0.len(), 0);
    let stats = memory.stats();
    assert!(stats.controller.needed < 120, "{stats:?}");
    memory.close().expect("closed");
}

#[test]
fn areas_are_found_by_name_and_names_follow_their_pages() {
    let (place, mut memory) = create("names");
    let at = memory.alloc(200_000, false).expect("enough space");
    memory.name("field", at + 10, 1000).expect("exists");
    assert_eq!(
        message(memory.name("field", at, 1)),
        format!("name \"field\": the area at {:#x} already has this name", at + 10)
    );
    assert_eq!(message(memory.name("far", at + (1 << 20), 1)), "address 0x110000: its page is not allocated");
    assert_eq!(message(memory.find("nothing")), "name \"nothing\": no area has this name");
    let token = memory.sync(None).expect("synced");
    memory.name("later", at + 131_072, 50).expect("exists");
    assert_eq!(memory.find("later").expect("named"), (at + 131_072, 50));
    memory.delete(at, 1).expect("exists");
    assert_eq!(memory.names().expect("read"), [(at + 131_072, 50, "later".to_owned())]);
    memory.rollback(token).expect("live");
    memory.close().expect("closed");
    let mut memory = Memory::open(&place.0, &options()).expect("opened");
    assert_eq!(memory.names().expect("read"), [(at + 10, 1000, "field".to_owned())]);
    assert_eq!(memory.find("field").expect("named"), (at + 10, 1000));
}

#[test]
fn flushes_are_durable_need_no_drop_and_keep_no_state() {
    let (place, mut memory) = create("flushed");
    let at = memory.alloc(100_000, false).expect("enough space");
    let token = memory.sync(Some("kept")).expect("synced");
    // More than there may be tokens.
    for round in 0..300u32 {
        memory.write(at + u64::from(round % 20) * 4096, &round.to_le_bytes()).expect("written");
        memory.flush().expect("flushed");
    }
    memory.write(at, b"not flushed").expect("written");
    memory.close().expect("closed");
    let mut memory = Memory::open(&place.0, &options()).expect("opened");
    assert_eq!(memory.tokens().expect("read"), [(token, Some("kept".to_owned()))]);
    let mut found = [0; 4];
    for at_round in 280..300u32 {
        memory.read(at + u64::from(at_round % 20) * 4096, &mut found).expect("read");
        assert_eq!(found, at_round.to_le_bytes());
    }
    // Present, last flush, token: no more is needed.
    assert!(memory.stats().controller.needed <= 25, "{:?}", memory.stats());
    memory.rollback(token).expect("live");
    memory.read(at, &mut found).expect("read");
    assert_eq!(found, [0; 4]);
}

/// A memory as this program made them before it had a reserve, and as many version entries as segments.
#[test]
fn a_memory_of_format_1_opens_and_goes_on() {
    let place = TempFile::new("format-1");
    let shape = memory::Shape::of(4 << 20, 8 << 20, 16).expect("sizes that work").of_format_1();
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&place.0).expect("a file");
    file.set_len(shape.file_bytes()).expect("a hole");
    let mut memory = Memory::create_on(Disk::new(file, true), shape, 1 << 20, "old").expect("created");
    let at = memory.alloc(4 << 20, false).expect("enough space");
    memory.write(at, &vec![7; 4 << 20]).expect("written");
    memory.sync(Some("old")).expect("synced");
    memory.close().expect("closed");
    assert_eq!(fs::read(&place.0).expect("there")[8], 1, "the format");
    assert_eq!(shape_of(&place.0).expect("a memory"), shape);
    let mut memory = Memory::open(&place.0, &options()).expect("opened");
    let mut rng = Streams::new(2).stream("test.format");
    for round in 0..200u8 {
        for _ in 0..100 {
            memory.write(at + rng.below(512) * 4096, &[round; 4096]).expect("written");
        }
        memory.flush().expect("flushed");
    }
    assert_eq!(memory.verify().expect("read").0.len(), 0);
    let token = memory.token("old").expect("live");
    memory.rollback(token).expect("live");
    let mut found = vec![0; 4 << 20];
    memory.read(at, &mut found).expect("read");
    assert!(found.iter().all(|byte| *byte == 7));
}

/// Accesses more data than fits into DRAM at random, and compares with a copy.
#[test]
fn data_beyond_dram_is_kept_in_the_file() {
    let (_place, mut memory) = create("larger");
    let bytes = 3 << 20;
    let at = memory.alloc(bytes, false).expect("enough space");
    let mut copy = vec![0u8; bytes as usize];
    let mut rng = Streams::new(1).stream("test.larger");
    for n in 0..20_000u64 {
        let place = rng.below(bytes - 8);
        if n % 3 == 0 {
            let mut found = [0; 8];
            memory.read(at + place, &mut found).expect("read");
            assert_eq!(found, copy[place as usize..][..8]);
        } else {
            memory.write(at + place, &n.to_le_bytes()).expect("written");
            copy[place as usize..][..8].copy_from_slice(&n.to_le_bytes());
        }
    }
    let mut found = vec![0; bytes as usize];
    memory.read(at, &mut found).expect("read");
    assert!(found == copy);
    assert!(memory.stats().misses > 1000);
}

#[test]
fn a_memory_works_the_same_without_io_uring() {
    let (place, memory) = create("plain");
    memory.close().expect("closed");
    let shape = shape_of(&place.0).expect("exists");
    let open = || OpenOptions::new().read(true).write(true).open(&place.0).expect("exists");
    let mut token = Token(0);
    for queues in [false, true, false] {
        let mut memory = Memory::open_on(Disk::new(open(), queues), shape, 1 << 20, "plain").expect("opened");
        if token == Token(0) {
            let at = memory.alloc(100, false).expect("enough space");
            memory.write(at, b"by hand").expect("written");
            token = memory.sync(None).expect("synced");
        }
        let mut found = [0; 7];
        memory.read(memory.shape().page_bytes(), &mut found).expect("read");
        assert_eq!(&found, b"by hand");
        memory.close().expect("closed");
    }
}

#[test]
fn misuses_have_these_messages() {
    let (place, mut memory) = create("misuse");
    let name = place.name();
    assert_eq!(
        message(Memory::open(&place.0, &options())),
        format!("{name}: the memory is already open for writing, and only one writer is allowed")
    );
    assert_eq!(
        message(Memory::create(&place.0, &options())),
        format!("{name}: cannot be created: File exists (os error 17)")
    );
    let at = memory.alloc(100, false).expect("enough space");
    assert_eq!(at, 0x10000);
    let table: Vec<(String, &str)> = vec![
        (message(memory.read(0, &mut [0])), "address 0x0: an access of 1 bytes exceeds the capacity of 4194304 bytes"),
        (
            message(memory.read(u64::MAX, &mut [0; 2])),
            "address 0xffffffffffffffff: an access of 2 bytes exceeds the capacity of 4194304 bytes",
        ),
        (
            message(memory.write(at + (4 << 20), &[1])),
            "address 0x410000: an access of 1 bytes exceeds the capacity of 4194304 bytes",
        ),
        (message(memory.read(at + 65535, &mut [0; 2])), "address 0x20000: its page is not allocated"),
        (message(memory.write(0x30007, &[1])), "address 0x30007: its page is not allocated"),
        (message(memory.delete(0x20000, 1)), "address 0x20000: its page is not allocated"),
        (
            message(memory.set_permissions(0x20000, 1, Permissions::SHARED)),
            "address 0x20000: its page is not allocated",
        ),
        (message(memory.alloc(5 << 20, false)), "cannot allocate 5242880 bytes: no 80 contiguous pages are free"),
        (message(memory.rollback(Token(9))), "token 9 is not live"),
        (message(memory.drop_token(Token(9))), "token 9 is not live"),
        (message(memory.token("nobody")), "name \"nobody\": no live token has this name"),
        (message(memory.sync(Some(""))), "name \"\": it has 0 bytes, expected 1 to 200"),
    ];
    for (found, expected) in table {
        assert_eq!(found, expected);
    }
    let token = memory.sync(Some("twice")).expect("synced");
    assert_eq!(message(memory.sync(Some("twice"))), format!("name \"twice\": token {} already has this name", token.0));
    let newest = message(memory.rollback(Token(token.0 + 5)));
    assert_eq!(newest, format!("token {} is not live; the newest live token is {}", token.0 + 5, token.0));
    let read_only = Permissions { write: false, permanent: true, ..Permissions::PRIVATE };
    memory.set_permissions(at, 1, read_only).expect("exists");
    assert_eq!(message(memory.write(at + 5, &[1])), "address 0x10005: its page may not be written");
    assert_eq!(message(memory.delete(at, 1)), "address 0x10000: its page may not be written");
    memory.set_permissions(at, 1, Permissions { read: false, ..read_only }).expect("exists");
    assert_eq!(message(memory.read(at, &mut [0])), "address 0x10000: its page may not be read");
    memory.close().expect("closed");
    // Options for opening.
    let other = |change: fn(&mut Options)| {
        let mut options = options();
        change(&mut options);
        options
    };
    let open = |options: &Options| message(Memory::open(&place.0, options));
    assert_eq!(open(&other(|o| o.dram = 4096)), "dram is 4096 bytes, expected at least 1048576");
    assert_eq!(
        open(&other(|o| o.capacity = Some(1 << 30))),
        format!("{name}: the memory was created with a capacity of 4194304 bytes, not 1073741824")
    );
    let fresh = TempFile::new("fresh");
    let create = |options: &Options| message(Memory::create(&fresh.0, options));
    assert_eq!(create(&other(|o| o.capacity = None)), format!("{}: a new memory needs a capacity", fresh.name()));
    assert_eq!(create(&other(|o| o.capacity = Some(0))), "capacity is 0 bytes, expected 1 byte to 4 TiB");
    assert_eq!(create(&other(|o| o.space = Some(1))), "space is 1 bytes, expected at least the capacity, 4194304");
    assert_eq!(create(&other(|o| o.tokens = 257)), "tokens is 257, expected 1 to 256");
    assert_eq!(
        message(Memory::open(&fresh.0, &options())),
        format!("{}: cannot be opened: No such file or directory (os error 2)", fresh.name())
    );
    assert!(!fresh.0.exists(), "a refused call leaves no file");
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("exists");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("read");
    file.write_all_at(&[byte[0] ^ 0x10], at).expect("written");
}

#[test]
fn foreign_and_damaged_files_are_reported() {
    let (place, mut memory) = create("damaged");
    let name = place.name();
    let at = memory.alloc(1 << 20, false).expect("enough space");
    let marker = b"a marker that is found again";
    memory.write(at + (1 << 19), marker).expect("written");
    memory.write(at, &[7; 4096]).expect("written");
    let token = memory.sync(Some("good")).expect("synced");
    memory.close().expect("closed");
    let good = fs::read(&place.0).expect("read");
    let open = || Memory::open(&place.0, &options());
    // One copy of the superblock suffices, but one is needed.
    flip(&place.0, 20);
    open().expect("the copy suffices").close().expect("closed");
    flip(&place.0, 4096 + 20);
    assert_eq!(message(open()), format!("{name}: not a memory: both copies of the superblock are damaged"));
    fs::write(&place.0, vec![b'x'; 100_000]).expect("written");
    assert_eq!(message(open()), format!("{name}: not a memory: both copies of the superblock are unrecognized"));
    fs::write(&place.0, b"").expect("written");
    assert_eq!(message(open()), format!("{name}: not a memory: both copies of the superblock are missing"));
    fs::write(&place.0, &good[..good.len() / 2]).expect("written");
    assert_eq!(
        message(open()),
        format!("{name}: the file is truncated: it has {} bytes, expected {}", good.len() / 2, good.len())
    );
    // A damaged data page is reported, and all other data stays readable.
    fs::write(&place.0, &good).expect("written");
    let offset = good.windows(marker.len()).position(|bytes| bytes == marker).expect("in the file") as u64;
    flip(&place.0, offset);
    let mut memory = open().expect("opened");
    let lost = memory.read(at, &mut vec![0; 1 << 20]).expect_err("damaged").to_string();
    let begin = format!("{name}: address {:#x}: the 4096 bytes there cannot be read: block ", at + (1 << 19));
    assert!(lost.starts_with(&begin) && lost.ends_with(": its checksum does not match"), "{lost}");
    let (found, pages) = memory.verify().expect("checked");
    assert_eq!((found.len(), pages), (1, 17));
    let mut first = [0; 4096];
    memory.read(at, &mut first).expect("read");
    assert_eq!(first, [7; 4096]);
    // Overwriting repairs the page.
    memory.write(at + (1 << 19), &[0; 4096]).expect("written");
    memory.drop_token(token).expect("live");
    let after = memory.sync(None).expect("synced");
    assert_eq!(memory.verify().expect("checked").0.len(), 0);
    memory.drop_token(after).expect("live");
    memory.close().expect("closed");
}

/// Flips random bits of the used parts of the file: each is either detected or harmless, and never leads to wrong bytes
/// or an older state.
#[test]
fn no_flipped_bit_goes_unnoticed() {
    let (place, mut memory) = create("flips");
    let at = memory.alloc(256 << 10, false).expect("enough space");
    let bytes: Vec<u8> = (0..256 << 10).map(|n: u32| (n >> 3) as u8).collect();
    for _ in 0..3 {
        memory.write(at, &bytes).expect("written");
        let token = memory.sync(None).expect("synced");
        memory.drop_token(token).expect("live");
    }
    memory.write(at, b"the newest").expect("written");
    let token = memory.sync(Some("newest")).expect("synced");
    memory.close().expect("closed");
    let good = fs::read(&place.0).expect("read");
    let used: Vec<usize> = good.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(n, _)| n).collect();
    let mut rng = Streams::new(3).stream("test.flips");
    let (mut reported, mut harmless) = (0, 0);
    for _ in 0..60 {
        let place_of = used[rng.below(used.len() as u64) as usize];
        // Choose half of them outside of the data.
        let at_byte = if rng.chance(0.5) { place_of } else { used[rng.below(6000.min(used.len() as u64)) as usize] };
        flip(&place.0, at_byte as u64);
        let check_all = || -> Result<(), Error> {
            let mut memory = Memory::open(&place.0, &options())?;
            let mut found = vec![0; bytes.len()];
            memory.read(at, &mut found)?;
            assert_eq!(&found[..10], b"the newest", "byte {at_byte}");
            assert!(found[10..] == bytes[10..], "byte {at_byte}");
            assert_eq!(memory.tokens()?, [(token, Some("newest".to_owned()))], "byte {at_byte}");
            Ok(())
        };
        match check_all() {
            Ok(()) => harmless += 1,
            Err(Error::Damaged { .. } | Error::Unreadable { .. } | Error::TableUnreadable { .. }) => reported += 1,
            Err(other) => panic!("byte {at_byte}: {other}"),
        }
        // Restore the file, because opening changes it.
        fs::write(&place.0, &good).expect("written");
    }
    assert!(reported > 8 && harmless > 8, "{reported} reported, {harmless} harmless");
}

/// Damages each page of the controller's own state (roots, journal, directory), one at a time: the other copy is used.
#[test]
fn the_controller_s_own_pages_are_mirrored() {
    let (place, mut memory) = create("twice");
    let at = memory.alloc(100_000, false).expect("enough space");
    let mut token = Token(0);
    for round in 0..5u8 {
        memory.write(at, &[round; 100_000]).expect("written");
        token = memory.sync(Some(&format!("round {round}"))).expect("synced");
    }
    memory.close().expect("closed");
    let good = fs::read(&place.0).expect("read");
    let magic = b"nvmm\0\0\0\x01";
    let pages: Vec<usize> = (0..good.len()).step_by(4096).filter(|page| good[*page..].starts_with(magic)).collect();
    assert!(pages.len() >= 2 * 7, "{} pages", pages.len());
    for page in pages {
        flip(&place.0, page as u64 + 100);
        let mut memory = Memory::open(&place.0, &options()).unwrap_or_else(|error| panic!("page {page}: {error}"));
        assert_eq!(memory.tokens().expect("read").last(), Some(&(token, Some("round 4".to_owned()))));
        let mut found = vec![0; 100_000];
        memory.read(at, &mut found).expect("read");
        assert!(found == [4; 100_000]);
        drop(memory);
        // Restore what opening has changed in the used parts of the file.
        let file = OpenOptions::new().write(true).open(&place.0).expect("exists");
        for (chunk, offset) in good.chunks(1 << 16).zip((0..).step_by(1 << 16)) {
            if chunk.iter().any(|byte| *byte != 0) {
                file.write_all_at(chunk, offset).expect("written");
            }
        }
    }
}

/// Kills a child process after it has printed `after` lines, and checks the state of its memory.
fn kill(seed: u64, place: &TempFile, after: u64) -> Result<(), String> {
    let child = Command::new(std::env::current_exe().expect("a test"))
        .args(["child_that_is_killed", "--exact", "--nocapture", "--ignored"])
        .env("MEMORY_CHILD", format!("{seed} {}", place.name()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    // The child prints which state it is about to make durable, and when it is.
    let (mut begun, mut done, mut parsed) = (0u64, 0u64, 0u64);
    let mut parse = |line: String| {
        let number = |prefix: &str| line.strip_prefix(prefix).and_then(|n| n.parse::<u64>().ok());
        if let Some(n) = number("will ") {
            (begun, parsed) = (n, parsed + 1);
        } else if let Some(n) = number("did ") {
            (done, parsed) = (n, parsed + 1);
        }
        parsed
    };
    for line in lines.by_ref() {
        if parse(line) >= after {
            break;
        }
    }
    child.kill().map_err(|error| error.to_string())?;
    child.wait().map_err(|error| error.to_string())?;
    // Read the rest of what the child printed before it was killed.
    for line in lines {
        parse(line);
    }
    // Repeat the calls on another file to compute the expected states.
    let states = durable_states(seed, begun);
    let mut memory =
        Memory::open(&place.0, &Options { capacity: None, ..options() }).map_err(|error| error.to_string())?;
    let tokens = memory.tokens().map_err(|error| error.to_string())?;
    let mut wrong = format!("tokens {tokens:?} match no state from {done} to {begun}");
    for state in &states[done as usize..=begun as usize] {
        if state.tokens() == tokens {
            match verify(&mut memory, state) {
                Ok(()) => return Ok(()),
                Err(error) => wrong = error,
            }
        }
    }
    Err(wrong)
}

/// Computes the first `count` states that the calls of `seed` make durable, after that of a new memory.
fn durable_states(seed: u64, count: u64) -> Vec<Contents> {
    let place = TempFile::new(&format!("states-{seed}"));
    let mut memory = Memory::create(&place.0, &options()).expect("created");
    let mut calls = Calls::new(seed);
    let states = std::cell::RefCell::new(vec![Contents::default()]);
    while (states.borrow().len() as u64) <= count {
        let mut will = |_: &Memory, state: &Contents| states.borrow_mut().push(state.clone());
        calls.step(&mut memory, &mut will, &mut |_, _| ()).expect("succeeds");
    }
    states.into_inner()
}

#[test]
#[ignore = "started by another test"]
fn child_that_is_killed() {
    let Ok(what) = std::env::var("MEMORY_CHILD") else { return };
    let (seed, path) = what.split_once(' ').expect("a seed and a path");
    let mut memory = Memory::create(Path::new(path), &options()).expect("created");
    let mut calls = Calls::new(seed.parse().expect("a number"));
    let (mut begun, done) = (0u64, std::cell::Cell::new(0u64));
    println!("\nwill 0\ndid 0");
    loop {
        let now = std::cell::Cell::new(begun);
        let mut will = |_: &Memory, _: &Contents| {
            now.set(now.get() + 1);
            println!("will {}", now.get());
        };
        let mut did = |_: &Memory, _: &Contents| {
            done.set(now.get());
            println!("did {}", now.get());
        };
        calls.step(&mut memory, &mut will, &mut did).expect("succeeds");
        begun = now.get();
    }
}

/// After a process is killed at any instant, the memory opens in the state of the last completed sync, byte for byte.
#[test]
fn a_killed_process_leaves_the_last_sync() {
    let count: u64 = std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let mut rng = Streams::new(5).stream("test.kills");
    for seed in 0..count {
        let place = TempFile::new("killed");
        if let Err(error) = kill(seed, &place, 1 + rng.below(40)) {
            panic!("seed {seed}: {error}");
        }
    }
}

#[test]
fn a_read_only_file_is_reported() {
    let (place, memory) = create("readonly");
    memory.close().expect("closed");
    let mut permissions = fs::metadata(&place.0).expect("exists").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&place.0, permissions).expect("owned by this user");
    // Root may write to it regardless.
    if File::options().write(true).open(&place.0).is_err() {
        let expected = format!("{}: cannot be opened: Permission denied (os error 13)", place.name());
        assert_eq!(message(Memory::open(&place.0, &options())), expected);
    }
}
