//! A bit flips in every structure of the file, one after the other: what is read is right, or what is lost is named. Never wrong bytes,
//! never an older state. What is told is in `snapshots/`, numbers left out.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use memory::{Error, Memory, Options, Reader, Shape, Token, shape_of};
use support::histories::{Calls, DRAM, shape};
use support::obvious::{Pages, State, compare_but};
use support::recorder::Recorder;

/// A message without its numbers.
fn words(error: &Error) -> String {
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

/// A memory after a history, as bytes, and what is in it.
fn history(seed: u64) -> (Vec<u8>, State) {
    let image = vec![0; shape().file_bytes() as usize];
    let mut memory = Memory::create_on(Recorder::new(image, seed), shape(), DRAM, "FILE").expect("it is made");
    let mut calls = Calls::new(seed);
    let until = |calls: &Calls| calls.syncs > 12 && calls.state.kept.len() >= 3 && calls.state.now.len() > 8;
    while !until(&calls) {
        calls.step(&mut memory, &mut |_, _| (), &mut |_, _| ()).expect("it works");
    }
    let last = calls.state.kept.last().expect("some").0;
    // What is there is what is durable.
    memory.rollback(last).expect("live");
    let State { kept, .. } = calls.state;
    let now = kept.last().expect("some").2.clone();
    (memory.into_device().image, State { now, kept })
}

/// What was found: nothing wrong, or what was told.
type Told = BTreeSet<String>;

/// That pages hold what they should, or are told to be lost.
fn compare(memory: &mut Memory<Recorder>, pages: &Pages, told: &mut Told) -> Result<(), String> {
    let page = memory.shape().page_bytes();
    compare_but(memory, pages, |address, error| {
        if let Error::Unreadable { address: named, .. } = error {
            assert!((address..address + page).contains(named), "{error} of the page at {address:#x}");
        }
        let lost = matches!(error, Error::Unreadable { .. } | Error::TableUnreadable { .. });
        if lost {
            told.insert(words(error));
        }
        lost
    })
}

/// Opens the memory in `image`, and looks at all that is in it.
fn look(image: Vec<u8>, state: &State) -> Result<Told, String> {
    let mut told = Told::new();
    let mut memory = match Memory::open_on(Recorder::new(image, 1), shape(), DRAM, "FILE") {
        Ok(memory) => memory,
        Err(error @ (Error::Damaged { .. } | Error::TableUnreadable { .. } | Error::Unreadable { .. })) => {
            return Ok(Told::from([words(&error)]));
        }
        Err(error) => return Err(error.to_string()),
    };
    match memory.tokens() {
        Ok(tokens) if tokens == state.tokens() => {}
        Ok(tokens) => return Err(format!("tokens are {tokens:?}, not {:?}", state.tokens())),
        Err(error @ (Error::Unreadable { .. } | Error::TableUnreadable { .. })) => drop(told.insert(words(&error))),
        Err(error) => return Err(error.to_string()),
    }
    compare(&mut memory, &state.now, &mut told)?;
    for (token, _, pages) in state.kept.iter().rev() {
        match memory.rollback(*token) {
            Ok(()) => compare(&mut memory, pages, &mut told)?,
            Err(error @ Error::TableUnreadable { .. }) => drop(told.insert(words(&error))),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(told)
}

/// What a page of the controller's own is.
fn kind(page: &[u8]) -> &'static str {
    match (page.starts_with(b"nvmm\0\0\0\x01"), page[8]) {
        (true, 1) => "root",
        (true, 2) => "directory",
        (true, 3) => "journal",
        _ => "table",
    }
}

/// Bytes of a page of that kind that are flipped: each of a header, some of what follows.
fn bytes_of(kind: &str, page: &[u8]) -> Vec<usize> {
    let used = page.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    let (header, step) = if kind == "data" || kind == "table" { (0, 211) } else { (56, 97) };
    (0..header.min(used)).chain((header..used).step_by(step)).chain([used - 1]).collect()
}

/// Offsets that flip together, by structure.
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
            // The second copies of all blocks of the controller's own are behind the last block.
            let copy = shape.page(block + shape.blocks, page) as usize - at;
            let copied_sum = (shape.row(block + shape.blocks) - shape.row(block)) as usize;
            add(format!("checksum of a {kind} page"), vec![sum]);
            add(format!("checksum of a {kind} page, both copies"), vec![sum, sum + copied_sum]);
            // All of some, some of all.
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
    let mut report: BTreeMap<String, (u64, u64, Told)> = BTreeMap::new();
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 1));
    for seed in first..first + count {
        let (image, state) = history(seed);
        assert_eq!(look(image.clone(), &state), Ok(Told::new()), "history {seed}");
        for (name, flips) in structures(&image, shape(), count > 1) {
            for (n, offsets) in flips.iter().enumerate() {
                let mut flipped = image.clone();
                // Another bit each time.
                offsets.iter().for_each(|at| flipped[*at] ^= 1 << (n % 8));
                let told = look(flipped, &state)
                    .unwrap_or_else(|error| panic!("history {seed}, {name}, bytes {offsets:?}: {error}"));
                let (harmless, lost, all) = report.entry(name.clone()).or_default();
                *(if told.is_empty() { harmless } else { lost }) += 1;
                all.extend(told);
            }
        }
    }
    let mut table = String::new();
    for (name, (harmless, lost, told)) in &report {
        eprintln!("{name}: {harmless} harmless, {lost} named");
        let twice = name.contains("both");
        let single = name.starts_with("data") || name == "checksum of data";
        // What is there twice, or only says what else does, is not missed.
        assert!(single || twice || *lost == 0, "{name}: {told:?}");
        assert!(!single || *lost > 0, "no flip of {name} was seen");
        table += &format!("{name}\n");
        told.iter().for_each(|line| table += &format!("    {line}\n"));
    }
    for kind in ["root", "directory", "journal", "table"] {
        let (_, lost, _) = &report[&format!("{kind} page, both copies")];
        assert!(*lost > 0, "no flip in both copies of a {kind} page was seen");
    }
    if (first, count) == (0, 1) {
        insta::assert_snapshot!(table);
    }
}

fn options() -> Options {
    Options { capacity: Some(1 << 20), dram: 1 << 20, ..Options::default() }
}

/// The superblock of a file, its copy, both; and the mark, which readers need.
#[test]
fn a_flipped_bit_of_the_first_pages_is_harmless_or_named() {
    let path = std::env::temp_dir().join(format!("nandram-{}-flips.memory", std::process::id()));
    drop(fs::remove_file(&path));
    let mut memory = Memory::create(&path, &options()).expect("made");
    let at = memory.alloc(10, false).expect("room");
    memory.write(at, b"it").expect("written");
    assert_eq!(memory.sync(None).expect("synced"), Token(2));
    memory.close().expect("closed");
    let good = fs::read(&path).expect("there");
    let shape = shape_of(&path).expect("a memory");
    let name = path.display().to_string();
    let told = |offsets: &[usize], bit: usize| -> Result<Shape, String> {
        let mut head = good[..65536].to_vec();
        offsets.iter().for_each(|offset| head[*offset] ^= 1 << (bit % 8));
        let file = fs::OpenOptions::new().write(true).open(&path).expect("there");
        std::os::unix::fs::FileExt::write_all_at(&file, &head, 0).expect("written");
        shape_of(&path).map_err(|error| error.to_string().replace(&name, "FILE"))
    };
    let mut all = BTreeSet::new();
    // Magic, format, eight words, checksum.
    for byte in 0..8 + 36 + 8 {
        for bit in 0..8 {
            assert_eq!(told(&[byte], bit), Ok(shape), "byte {byte}");
            assert_eq!(told(&[4096 + byte], bit), Ok(shape), "byte {byte} of the copy");
            all.insert(told(&[byte, 4096 + byte], bit).expect_err("both are damaged"));
        }
    }
    // Another format, whole.
    let mut head = good[..4096].to_vec();
    head[8..12].copy_from_slice(&2u32.to_le_bytes());
    let sum = xxhash_rust::xxh3::xxh3_64(&head[..44]);
    head[44..52].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &head).expect("written");
    all.insert(shape_of(&path).expect_err("another format").to_string().replace(&name, "FILE"));
    fs::write(&path, &good).expect("written");
    for byte in 0..24 {
        told(&[16384 + byte], byte).expect("the superblock is whole");
        let refused = Reader::open(&path, 1 << 20).err().expect("the mark is damaged").to_string();
        all.insert(refused.replace(&name, "FILE"));
        // A writer makes it anew.
        Memory::open(&path, &options()).expect("opened").close().expect("closed");
        Reader::open(&path, 1 << 20).expect("it is whole again").read(at, &mut [0; 2]).expect("read");
    }
    fs::remove_file(&path).expect("it was there");
    insta::assert_snapshot!(all.into_iter().collect::<Vec<_>>().join("\n"));
}
