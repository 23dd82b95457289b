//! Flips bits in every structure of the file, one at a time: either the data read is right, or the loss is reported.
//! Wrong bytes or an older state are never read. `snapshots/` contains the messages, without their numbers.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use memory::{Error, Memory, Options, Reader, Shape, Token, shape_of};
use support::histories::{Calls, DRAM, shape};
use support::model::{Contents, Pages, compare_but};
use support::recorder::Recorder;

/// Returns a message with its numbers replaced by `N`.
fn message(error: &Error) -> String {
    let text = error.to_string();
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if !c.is_ascii_digit() {
            out.push(c);
            continue;
        }
        while rest.next_if(|c| c.is_ascii_hexdigit() || *c == 'x').is_some() {}
        out.push('N');
    }
    out
}

/// Returns the file of a memory that was closed after a history, and its content.
fn history(seed: u64) -> (Vec<u8>, Contents) {
    let image = vec![0; shape().file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, seed), shape(), DRAM, "FILE").expect("created");
    let mut calls = Calls::new(seed);
    let until = |calls: &Calls| calls.syncs > 12 && calls.state.snapshots.len() >= 3 && calls.state.now.len() > 8;
    while !until(&calls) {
        calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("succeeds");
    }
    let last = calls.state.snapshots.last().expect("some").0;
    // Make the current state the durable one.
    memory.rollback(last).expect("live");
    let Contents { snapshots: kept, .. } = calls.state;
    let now = kept.last().expect("some").2.clone();
    (memory.close_device().expect("closed").image, Contents { now, snapshots: kept })
}

/// The error messages found; none if the damage was harmless.
type Messages = BTreeSet<String>;

/// Checks that each page has its expected content or is reported lost.
fn compare(memory: &mut Memory<Recorder>, pages: &Pages, reported: &mut Messages) -> Result<(), String> {
    let page = memory.shape().page_bytes();
    compare_but(memory, pages, |address, error| {
        if let Error::Unreadable { address: named, .. } = error {
            assert!((address..address + page).contains(named), "{error} of the page at {address:#x}");
        }
        let lost = matches!(error, Error::Unreadable { .. } | Error::TableUnreadable { .. });
        if lost {
            reported.insert(message(error));
        }
        lost
    })
}

/// Opens the memory in `image` and checks all its content.
fn check_all(image: Vec<u8>, state: &Contents) -> Result<Messages, String> {
    let mut reported = Messages::new();
    let mut memory = match Memory::open_on(Recorder::new(image, 1), shape(), DRAM, "FILE") {
        Ok(memory) => memory,
        Err(error @ (Error::Damaged { .. } | Error::TableUnreadable { .. } | Error::Unreadable { .. })) => {
            return Ok(Messages::from([message(&error)]));
        }
        Err(error) => return Err(error.to_string()),
    };
    match memory.tokens() {
        Ok(tokens) if tokens == state.tokens() => {}
        Ok(tokens) => return Err(format!("tokens are {tokens:?}, not {:?}", state.tokens())),
        Err(error @ (Error::Unreadable { .. } | Error::TableUnreadable { .. })) => {
            reported.insert(message(&error));
        }
        Err(error) => return Err(error.to_string()),
    }
    compare(&mut memory, &state.now, &mut reported)?;
    for (token, _, pages) in state.snapshots.iter().rev() {
        match memory.rollback(*token) {
            Ok(()) => compare(&mut memory, pages, &mut reported)?,
            Err(error @ Error::TableUnreadable { .. }) => drop(reported.insert(message(&error))),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(reported)
}

/// Returns the kind of one of the controller's own pages.
fn kind(page: &[u8]) -> &'static str {
    match (page.starts_with(b"nvmm\0\0\0\x01"), page[8]) {
        (true, 1) => "root",
        (true, 2) => "directory",
        (true, 3) => "journal",
        _ => "table",
    }
}

/// Returns which bytes of a page to flip: all of a header, and a selection of the rest.
fn bytes_of(kind: &str, page: &[u8]) -> Vec<usize> {
    let used = page.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    let (header, step) = if kind == "data" || kind == "table" { (0, 211) } else { (56, 97) };
    (0..header.min(used)).chain((header..used).step_by(step)).chain([used - 1]).collect()
}

/// Lists the groups of offsets to flip together, by structure.
fn structures(image: &[u8], shape: Shape, whole: bool) -> BTreeMap<String, Vec<Vec<usize>>> {
    let mut found: BTreeMap<String, Vec<Vec<usize>>> = BTreeMap::new();
    let mut add = |name: String, offsets: Vec<usize>| found.entry(name).or_default().push(offsets);
    for record in [8192, 12288] {
        (0..32).for_each(|byte| add("record of the newest commit".to_owned(), vec![record + byte]));
    }
    (0..32).for_each(|byte| add("record of the newest commit, both".to_owned(), vec![8192 + byte, 12288 + byte]));
    (0..24).for_each(|byte| add("mark of readers".to_owned(), vec![16384 + byte]));
    let (own, segment) = (shape.own_blocks(), shape.segment_bytes as usize);
    let mut seen = BTreeMap::new();
    for block in 0..shape.blocks {
        let row = shape.row(block) as usize;
        for page in 0..shape.block_segments {
            let sum = row + 8 * page as usize;
            if image[sum..sum + 8] == [0; 8] {
                continue;
            }
            let at = shape.page(block, page) as usize;
            let bytes = &image[at..at + segment];
            if block >= own {
                add("checksum of data".to_owned(), vec![sum + page as usize % 8]);
                bytes_of("data", bytes).into_iter().for_each(|byte| add("data".to_owned(), vec![at + byte]));
                continue;
            }
            let kind = kind(bytes);
            // The second copies of the controller's own blocks follow the last block.
            let copy = shape.page(block + shape.blocks, page) as usize - at;
            let copied_sum = (shape.row(block + shape.blocks) - shape.row(block)) as usize;
            add(format!("checksum of a {kind} page"), vec![sum]);
            add(format!("checksum of a {kind} page, both copies"), vec![sum, sum + copied_sum]);
            // Flip all bytes of the first pages of each kind, but only some in the others.
            let pages: &mut u32 = seen.entry(kind).or_default();
            *pages += 1;
            let step = if *pages > 3 && !whole { 23 } else { 1 };
            for byte in bytes_of(kind, bytes).into_iter().step_by(step) {
                add(format!("{kind} page"), vec![at + byte]);
                add(format!("{kind} page, copy"), vec![at + copy + byte]);
                add(format!("{kind} page, both copies"), vec![at + byte, at + copy + byte]);
            }
        }
    }
    found
}

#[test]
fn a_flipped_bit_of_any_structure_is_harmless_or_named() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let mut report: BTreeMap<String, (u64, u64, Messages)> = BTreeMap::new();
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 2));
    for seed in first..first + count {
        let (image, state) = history(seed);
        assert_eq!(check_all(image.clone(), &state), Ok(Messages::new()), "history {seed}");
        for (name, flips) in structures(&image, shape(), count > 2) {
            for (n, offsets) in flips.iter().enumerate() {
                let mut flipped = image.clone();
                // Flip a different bit each time.
                offsets.iter().for_each(|at| flipped[*at] ^= 1 << (n % 8));
                let reported = check_all(flipped, &state)
                    .unwrap_or_else(|error| panic!("history {seed}, {name}, bytes {offsets:?}: {error}"));
                let (harmless, lost, all) = report.entry(name.clone()).or_default();
                *(if reported.is_empty() { harmless } else { lost }) += 1;
                all.extend(reported);
            }
        }
    }
    let mut table = String::new();
    for (name, (harmless, lost, reported)) in &report {
        eprintln!("{name}: {harmless} harmless, {lost} named");
        let twice = name.contains("both");
        let single = name.starts_with("data") || name == "checksum of data";
        // Damage to one of two copies, or to redundant information, must be harmless.
        assert!(single || twice || *lost == 0, "{name}: {reported:?}");
        assert!(!single || *lost > 0, "no flip of {name} was seen");
        table += &format!("{name}\n");
        reported.iter().for_each(|line| table += &format!("    {line}\n"));
    }
    for kind in ["root", "directory", "journal", "table"] {
        let (_, lost, _) = &report[&format!("{kind} page, both copies")];
        assert!(*lost > 0, "no flip in both copies of a {kind} page was seen");
    }
    if (first, count) == (0, 2) {
        insta::assert_snapshot!(table);
    }
}

fn options() -> Options {
    Options { capacity: Some(1 << 20), dram: 1 << 20, ..Options::default() }
}

/// Damages the superblock, its copy or both, and the mark that readers need.
#[test]
fn a_flipped_bit_of_the_first_pages_is_harmless_or_named() {
    let path = std::env::temp_dir().join(format!("nandram-{}-flips.memory", std::process::id()));
    drop(fs::remove_file(&path));
    let mut memory = Memory::create(&path, &options()).expect("created");
    let at = memory.alloc(10, false).expect("enough space");
    memory.write(at, b"it").expect("written");
    assert_eq!(memory.sync(None).expect("synced"), Token(2));
    memory.close().expect("closed");
    let good = fs::read(&path).expect("exists");
    let shape = shape_of(&path).expect("a memory");
    let name = path.display().to_string();
    let reported = |offsets: &[usize], bit: usize| -> Result<Shape, String> {
        let mut head = good[..65536].to_vec();
        offsets.iter().for_each(|offset| head[*offset] ^= 1 << (bit % 8));
        let file = fs::OpenOptions::new().write(true).open(&path).expect("exists");
        std::os::unix::fs::FileExt::write_all_at(&file, &head, 0).expect("written");
        shape_of(&path).map_err(|error| error.to_string().replace(&name, "FILE"))
    };
    let mut all = BTreeSet::new();
    // Magic, format, nine words and checksum.
    for byte in 0..8 + 40 + 8 {
        for bit in 0..8 {
            assert_eq!(reported(&[byte], bit), Ok(shape), "byte {byte}");
            assert_eq!(reported(&[4096 + byte], bit), Ok(shape), "byte {byte} of the copy");
            all.insert(reported(&[byte, 4096 + byte], bit).expect_err("both are damaged"));
        }
    }
    // A different format with a valid checksum.
    let mut head = good[..4096].to_vec();
    head[8..12].copy_from_slice(&3u32.to_le_bytes());
    let sum = twox_hash::XxHash3_64::oneshot(&head[..48]);
    head[48..56].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &head).expect("written");
    all.insert(shape_of(&path).expect_err("another format").to_string().replace(&name, "FILE"));
    fs::write(&path, &good).expect("written");
    for byte in 0..24 {
        reported(&[16384 + byte], byte).expect("the superblock is whole");
        let refused = Reader::open(&path, 1 << 20).err().expect("the mark is damaged").to_string();
        all.insert(refused.replace(&name, "FILE"));
        // Opening for writing repairs the mark.
        Memory::open(&path, &options()).expect("opened").close().expect("closed");
        Reader::open(&path, 1 << 20).expect("the mark is repaired").read(at, &mut [0; 2]).expect("read");
    }
    fs::remove_file(&path).expect("removed");
    insta::assert_snapshot!(all.into_iter().collect::<Vec<_>>().join("\n"));
}
