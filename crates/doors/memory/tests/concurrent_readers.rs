//! Readers and backups concurrent with a writer on real files, including a writer that is killed meanwhile.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memory::{Error, Memory, Options, Reader, backup};
use sim::Streams;
use support::place::{TempFile, create, message, options};

const DRAM: u64 = 1 << 20;

fn open(place: &TempFile) -> Reader {
    Reader::open(&place.0, DRAM).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_reader_keeps_the_last_sync_until_it_is_refreshed() {
    let (place, mut memory) = create("reader");
    let at = memory.alloc(200_000, false).expect("enough space");
    memory.name("field", at, 200_000).expect("exists");
    memory.write(at, &[1; 200_000]).expect("written");
    let first = memory.sync(Some("first")).expect("synced");
    memory.write(at, &[2; 100_000]).expect("written");
    let second = memory.sync(Some("second")).expect("synced");
    memory.write(at, &[3; 200_000]).expect("written");
    let mut reader = open(&place);
    let expected = [(first, Some("first".to_owned())), (second, Some("second".to_owned()))];
    assert_eq!(reader.tokens().expect("read"), expected);
    assert_eq!(reader.find("field").expect("named"), (at, 200_000));
    let mut found = vec![0; 200_000];
    reader.read(at, &mut found).expect("read");
    assert!(found[..100_000] == [2; 100_000] && found[100_000..] == [1; 100_000]);
    // Write more than the file can hold in addition to the reader's state: the reader must see that state or report it
    // stale.
    for round in 4..40u8 {
        memory.write(at, &[round; 200_000]).expect("written");
        let token = memory.sync(None).expect("synced");
        memory.drop_token(token).expect("live");
    }
    reader.go_to(first).expect("live");
    assert_eq!(reader.tokens().expect("read").len(), 1);
    match reader.read(at, &mut found) {
        Ok(()) => assert!(found == [1; 200_000]),
        Err(error) => assert!(matches!(error, Error::Stale { .. }), "{error}"),
    }
    reader.refresh().expect("opened");
    assert_eq!(reader.tokens().expect("read"), expected);
    reader.read(at, &mut found).expect("read");
    assert!(found == [39; 200_000]);
    assert_eq!(reader.verify().expect("read").0.len(), 0);
    // The reader has neither changed the state nor disturbed the writer's cached data.
    memory.rollback(second).expect("live");
    memory.read(at, &mut found).expect("read");
    assert!(found[..100_000] == [2; 100_000] && found[100_000..] == [1; 100_000]);
}

/// Returns whether punching a hole frees disk space at once.
fn has_holes() -> bool {
    let place = TempFile::new("holes");
    let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(&place.0).expect("a file");
    let blocks = || file.metadata().expect("exists").blocks();
    file.write_all_at(&vec![1; 1 << 20], 0).and_then(|()| file.sync_data()).expect("written");
    let before = blocks();
    direct::punch(&file, 0, 1 << 20).and_then(|()| file.sync_data()).is_ok() && blocks() + 1024 <= before
}

/// The writer does not reuse a reader's blocks while it has other space, and gets them back when the reader closes.
#[test]
fn blocks_kept_for_a_reader_are_freed_when_it_closes() {
    if !has_holes() {
        eprintln!("not tested: the file system has no holes, or frees them late");
        return;
    }
    let (place, mut memory) = create("held");
    let at = memory.alloc(1 << 20, false).expect("enough space");
    memory.write(at, &[1; 1 << 20]).expect("written");
    let token = memory.sync(None).expect("synced");
    memory.drop_token(token).expect("live");
    let blocks = |path: &Path| fs::metadata(path).expect("exists").blocks() * 512;
    let disk = || blocks(&place.0);
    let mut reader = open(&place);
    let round = |memory: &mut Memory, fill: u8| {
        memory.write(at, &[fill; 1 << 20]).expect("written");
        let token = memory.sync(None).expect("synced");
        memory.drop_token(token).expect("live");
    };
    (2..5).for_each(|fill| round(&mut memory, fill));
    let mut found = vec![0; 1 << 20];
    reader.read(at, &mut found).expect("there was other space");
    assert!(found == [1; 1 << 20]);
    let held = disk();
    drop(reader);
    round(&mut memory, 5);
    memory.compact().expect("compacted");
    assert!(disk() + (2 << 20) <= held, "{} bytes, and {held} before", disk());
}

#[test]
fn a_backup_is_a_memory_with_all_its_tokens() {
    let (place, mut memory) = create("original");
    let at = memory.alloc(300_000, false).expect("enough space");
    let token = |memory: &mut Memory, fill: u8| {
        memory.write(at + 1000 * u64::from(fill), &vec![fill; 250_000]).expect("written");
        memory.sync(Some(&format!("state {fill}"))).expect("synced")
    };
    let tokens: Vec<_> = (1..6).map(|fill| token(&mut memory, fill)).collect();
    memory.write(at, b"not synced").expect("written");
    let copy = TempFile::new("copy");
    assert_eq!(backup(&place.0, &copy.0).expect("copied").len(), 0);
    memory.sync(None).expect("synced");
    assert_eq!(
        message(backup(&place.0, &copy.0)),
        format!("{}: cannot be created: File exists (os error 17)", copy.0.display())
    );
    let mut copied = Memory::open(&copy.0, &options()).expect("opened");
    assert_eq!(copied.tokens().expect("read").len(), 5);
    assert_eq!(copied.verify().expect("read").0.len(), 0);
    for (fill, token) in (1u8..6).zip(&tokens).rev() {
        copied.rollback(*token).expect("live");
        memory.rollback(*token).expect("live");
        let (mut one, mut other) = (vec![0; 300_000], vec![1; 300_000]);
        copied.read(at, &mut one).expect("read");
        memory.read(at, &mut other).expect("read");
        assert!(one == other && one[1000 * usize::from(fill)] == fill);
    }
    copied.write(at, b"it goes on").expect("written");
    copied.sync(None).expect("synced");
}

#[test]
fn an_export_contains_the_plain_bytes_of_an_area() {
    let (place, mut memory) = create("exported");
    let at = memory.alloc(1_500_000, false).expect("enough space");
    let bytes: Vec<u8> = (0..1_500_000u32).map(|n| (n % 253) as u8).collect();
    memory.write(at, &bytes).expect("written");
    memory.name("area", at + 7, 1_400_001).expect("exists");
    memory.sync(None).expect("synced");
    memory.write(at, &[0; 1000]).expect("written");
    let (area, whole) = (TempFile::new("area"), TempFile::new("whole"));
    let mut reader = open(&place);
    assert_eq!(reader.export(Some("area"), &area.0).expect("exported"), 1_400_001);
    assert!(fs::read(&area.0).expect("exists") == bytes[7..][..1_400_001]);
    assert_eq!(reader.export(None, &whole.0).expect("exported"), (4 << 20) + 65536);
    let found = fs::read(&whole.0).expect("exists");
    assert!(found[at as usize..][..bytes.len()] == bytes && found[..65536].iter().all(|byte| *byte == 0));
    let nothing = TempFile::new("nothing");
    assert_eq!(message(reader.export(Some("nobody"), &nothing.0)), "name \"nobody\": no area has this name");
    assert!(!nothing.0.exists());
}

#[test]
fn a_bad_page_is_reported_and_the_rest_is_read_and_copied() {
    let (place, mut memory) = create("bad");
    let at = memory.alloc(500_000, false).expect("enough space");
    memory.write(at, &[9; 500_000]).expect("written");
    let marker = b"a marker that is found again";
    memory.write(at + 123_456, marker).expect("written");
    memory.sync(Some("it")).expect("synced");
    let mut content = fs::read(&place.0).expect("read");
    let offset = content.windows(marker.len()).position(|bytes| bytes == marker).expect("in the file");
    content[offset] ^= 1;
    fs::write(&place.0, &content).expect("written");
    let mut reader = open(&place);
    let bad = (at + 123_456) / 4096 * 4096;
    let begin = format!("{}: address {bad:#x}: the 4096 bytes there cannot be read: block ", place.0.display());
    let lost = message(reader.read(at, &mut vec![0; 500_000]));
    assert!(lost.starts_with(&begin) && lost.ends_with(": its checksum does not match"), "{lost}");
    let mut rest = vec![0; 100_000];
    reader.read(at, &mut rest).expect("read");
    assert!(rest == [9; 100_000]);
    let copy = TempFile::new("bad-copy");
    let reported = backup(&place.0, &copy.0).expect("copied");
    assert_eq!(reported.iter().map(Error::to_string).collect::<Vec<_>>(), [lost]);
    let mut copied = Memory::open(&copy.0, &options()).expect("opened");
    assert!(message(copied.read(bad, &mut [0])).ends_with("its checksum does not match"));
    copied.read(at, &mut rest).expect("read");
    assert!(rest == [9; 100_000]);
}

#[test]
fn a_reader_reports_files_that_it_cannot_open() {
    let (place, memory) = create("reported");
    drop(memory);
    let nowhere = TempFile::new("nowhere");
    let name = nowhere.0.display();
    assert_eq!(
        message(Reader::open(&nowhere.0, DRAM)),
        format!("{name}: cannot be opened: No such file or directory (os error 2)")
    );
    assert_eq!(message(Reader::open(&place.0, 1)), "dram is 1 bytes, expected at least 1048576");
    fs::write(&nowhere.0, [7; 10_000]).expect("written");
    assert_eq!(
        message(Reader::open(&nowhere.0, DRAM)),
        format!("{name}: not a memory: both copies of the superblock are unrecognized")
    );
    let good = fs::read(&place.0).expect("read");
    fs::write(&nowhere.0, &good[..good.len() - 1]).expect("written");
    assert_eq!(
        message(Reader::open(&nowhere.0, DRAM)),
        format!("{name}: the file is truncated: it has {} bytes, expected {}", good.len() - 1, good.len())
    );
}

const PAGES: u64 = 12;
const BYTES: u64 = PAGES << 16;

/// Returns the round that wrote the whole state.
fn round_of(mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Error>) -> Result<u64, Error> {
    let mut bytes = vec![0; BYTES as usize];
    read(1 << 16, &mut bytes)?;
    let mut words = bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
    let first = words.next().expect("some");
    match words.find(|word| *word != first) {
        None => Ok(first),
        Some(other) => Err(Error::Option(format!("it is of rounds {first} and {other}"))),
    }
}

/// Checks all tokens of a reader, and returns the round of its current state.
fn check_all(reader: &mut Reader) -> Result<u64, Error> {
    let now = round_of(|at, into| reader.read(at, into))?;
    for (token, name) in reader.tokens()?.into_iter().rev() {
        reader.go_to(token)?;
        let round = round_of(|at, into| reader.read(at, into))?;
        let expected = format!("round {round}");
        if name.as_deref() != Some(&expected) {
            return Err(Error::Option(format!("token {name:?} is of round {round}")));
        }
    }
    Ok(now)
}

/// The observations of a watching thread: the number of states, and how often its state was stale.
#[derive(Default)]
struct Seen {
    states: u64,
    stale: u64,
    newest: u64,
    wrong: Option<String>,
}

/// Reads the memory with `one` repeatedly until `over`. `one` returns the round it saw, which must not precede the last
/// one done when it began.
fn watch(done: &AtomicU64, over: &AtomicBool, mut one: impl FnMut() -> Result<u64, Error>) -> Seen {
    let mut seen = Seen::default();
    loop {
        let last = over.load(Ordering::SeqCst);
        let least = done.load(Ordering::SeqCst);
        match one() {
            Ok(round) if round < least => seen.wrong = Some(format!("round {round}, and {least} was synced before")),
            Ok(round) => (seen.states, seen.newest) = (seen.states + 1, seen.newest.max(round)),
            Err(Error::Stale { .. }) => seen.stale += 1,
            Err(error) => seen.wrong = Some(error.to_string()),
        }
        if last || seen.wrong.is_some() {
            return seen;
        }
    }
}

/// Kills a writer after `after`, while a reader and backups are running. Returns how many states these saw, and how
/// often they were stale.
fn kill(seed: u64, after: Duration) -> Result<(u64, u64), String> {
    let (place, copy) = (TempFile::new("writer"), TempFile::new("backup"));
    let mut child = Command::new(std::env::current_exe().expect("a test"))
        .args(["child_writer_that_is_killed", "--exact", "--nocapture", "--ignored"])
        .env("MEMORY_WRITER", format!("{seed} {}", place.0.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    // Wait for the first state.
    lines.find(|line| line == "did 1").ok_or("the writer printed nothing")?;
    let (done, begun, over) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(1)), AtomicBool::new(false));
    let listener = std::thread::spawn({
        let (done, begun) = (done.clone(), begun.clone());
        move || {
            for line in lines {
                let number = |prefix: &str| line.strip_prefix(prefix).and_then(|n| n.parse::<u64>().ok());
                number("did ").into_iter().for_each(|n| done.store(n, Ordering::SeqCst));
                number("will ").into_iter().for_each(|n| begun.store(n, Ordering::SeqCst));
            }
        }
    });
    let kept = Mutex::new(None);
    let (reads, copies) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            watch(&done, &over, || {
                let mut reader = Reader::open(&place.0, DRAM)?;
                let round = check_all(&mut reader)?;
                // Keep the last reader open until another writer starts.
                *kept.lock().expect("no thread panicked") = Some((reader, round));
                Ok(round)
            })
        });
        let copying = scope.spawn(|| {
            watch(&done, &over, || {
                drop(fs::remove_file(&copy.0));
                backup(&place.0, &copy.0)?.into_iter().next().map_or(Ok(()), Err)?;
                check_all(&mut Reader::open(&copy.0, DRAM)?)
            })
        });
        std::thread::sleep(after);
        let killed = child.kill().and_then(|()| child.wait());
        over.store(true, Ordering::SeqCst);
        (killed.map(|_| reading.join().expect("no panic")), copying.join().expect("no panic"))
    });
    let reads = reads.map_err(|error| error.to_string())?;
    listener.join().expect("no panic");
    for (what, seen) in [("reader", &reads), ("backup", &copies)] {
        if let Some(wrong) = &seen.wrong {
            return Err(format!("{what}: {wrong}"));
        }
        if seen.newest > begun.load(Ordering::SeqCst) {
            return Err(format!("{what}: round {}, but the last one begun is {begun:?}", seen.newest));
        }
    }
    // Start another writer while a reader from the time of the first one is open.
    let mut memory = Memory::open(&place.0, &options()).map_err(|error| error.to_string())?;
    let last = round_of(|at, into| memory.read(at, into)).map_err(|error| error.to_string())?;
    if last < done.load(Ordering::SeqCst) || last < reads.newest {
        return Err(format!("found round {last}, but {done:?} was synced and {} read", reads.newest));
    }
    for round in 0..6 {
        for (token, _) in memory.tokens().map_err(|error| error.to_string())? {
            memory.drop_token(token).map_err(|error| error.to_string())?;
        }
        memory.write(1 << 16, &vec![round; BYTES as usize]).map_err(|error| error.to_string())?;
        memory.sync(None).map_err(|error| error.to_string())?;
    }
    let mut stale = reads.stale + copies.stale;
    if let Some((mut reader, _)) = kept.into_inner().expect("no thread panicked") {
        match round_of(|at, into| reader.read(at, into)) {
            Ok(_) => {}
            Err(Error::Stale { .. }) => stale += 1,
            Err(error) => return Err(format!("a reader that stayed open: {error}")),
        }
    }
    Ok((reads.states + copies.states, stale))
}

#[test]
#[ignore = "started by another test"]
fn child_writer_that_is_killed() {
    let Ok(what) = std::env::var("MEMORY_WRITER") else { return };
    let (seed, path) = what.split_once(' ').expect("a seed and a path");
    let mut rng = Streams::new(seed.parse().expect("a number")).stream("test.writer");
    // Leave little space beyond what is needed.
    let mut memory = Memory::create(Path::new(path), &Options { space: Some(4 << 20), ..options() }).expect("created");
    let at = memory.alloc(BYTES, false).expect("enough space");
    let mut tokens = Vec::new();
    for round in 1u64.. {
        let bytes: Vec<u8> = round.to_le_bytes().into_iter().cycle().take(BYTES as usize).collect();
        memory.write(at, &bytes).expect("written");
        println!("\nwill {round}");
        tokens.push(memory.sync(Some(&format!("round {round}"))).expect("synced"));
        println!("\ndid {round}");
        while tokens.len() > 3 {
            let any = rng.below(tokens.len() as u64) as usize;
            memory.drop_token(tokens.remove(any)).expect("live");
        }
        if rng.chance(0.05) {
            memory.compact().expect("compacted");
        }
    }
}

#[test]
fn a_killed_writer_leaves_readers_and_backups_a_sync() {
    let count: u64 = std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(15);
    let mut rng = Streams::new(6).stream("test.kills");
    let (mut states, mut stale) = (0, 0);
    for seed in 0..count {
        let after = Duration::from_micros(rng.below(60_000));
        match kill(seed, after) {
            Ok((more, old)) => (states, stale) = (states + more, stale + old),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    eprintln!("{states} states were read and copied; {stale} times the state was overwritten");
    assert!(states >= count, "{states} states in {count} runs, {stale} stale");
}
