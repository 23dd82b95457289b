//! Checks that the bundled page traces are complete and match their manifest.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use workload::memory;
use workload::pages::{Icache, Options, Reader};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../python/nandram/traces/xip")
}

/// Parses the manifest's tables, each with entries `key = value`.
fn manifest() -> Vec<HashMap<String, String>> {
    let text = fs::read_to_string(folder().join("manifest.toml")).unwrap();
    let mut traces = Vec::new();
    for line in text.lines() {
        if line == "[[trace]]" {
            traces.push(HashMap::new());
        } else if let Some((key, value)) = line.split_once(" = ") {
            let trace = traces.last_mut().expect("a key is in a table");
            trace.insert(key.to_owned(), value.trim_matches('"').to_owned());
        }
    }
    traces
}

#[test]
fn all_bundled_traces_exist_and_are_readable() {
    let manifest = manifest();
    assert_eq!(manifest.len(), 56);
    let mut bytes = 0;
    for trace in &manifest {
        let path = folder().join(&trace["file"]);
        bytes += fs::metadata(&path).unwrap().len();
        let mut reader = Reader::open(&path, &Options::default()).unwrap();
        let header = reader.header().unwrap();
        assert_eq!((header.page_bytes, header.icache), (1024, Some(Icache { bytes: 4096, ways: 4, line_bytes: 16 })));
        // Builds with another C library and instruction set have names of their own.
        let architecture = match trace["architecture"].as_str() {
            "newlib-arm" | "newlib-thumb" => "arm",
            other => other,
        };
        assert_eq!((&header.program[..], &header.architecture[..]), (&trace["program"][..], architecture));
        assert_eq!(header.command.join(" "), trace["command"]);
        let (mut chunk, mut pages) = (vec![0], std::collections::BTreeSet::new());
        while !chunk.is_empty() {
            reader.next_chunk(&mut chunk).unwrap();
            pages.extend(chunk.iter().copied());
        }
        assert_eq!(reader.requests().to_string(), trace["requests"]);
        // A C library for embedded systems is smaller.
        let fewest = if trace["architecture"].starts_with("newlib") { 20 } else { 50 };
        assert!((fewest..250).contains(&pages.len()), "{}: {} pages", trace["file"], pages.len());
    }
    assert!(bytes < 3_000_000);
    let files = fs::read_dir(folder()).unwrap().count();
    assert_eq!(files, manifest.len() + 1, "only the traces and the manifest");
}

#[test]
fn a_captured_memory_trace_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample.memory.zst");
    let mut reader = memory::Reader::open(&path, None).unwrap();
    let header = reader.header().unwrap();
    assert_eq!((header.line_bytes, header.architecture.as_str()), (64, "arm"));
    let caches: Vec<(&str, u64, u32)> = header.caches.iter().map(|c| (c.name.as_str(), c.bytes, c.ways)).collect();
    assert_eq!(caches, [("l1", 1024, 4), ("llc", 8192, 8)]);
    let mut accesses = Vec::new();
    reader.next_chunk(&mut accesses).unwrap();
    let written = accesses.iter().filter(|access| access.op == memory::Op::Write).count();
    assert_eq!((accesses.len(), written), (1_423, 323));
    let since: u64 = accesses.iter().map(|access| access.instructions).sum();
    reader.next_chunk(&mut accesses).unwrap();
    assert!(accesses.is_empty());
    assert_eq!(reader.instructions(), 4_825_200);
    assert!(since < 4_825_200);
}

#[test]
fn lackey_output_is_readable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample.lackey.gz");
    let mut reader = memory::Reader::open(&path, None).unwrap();
    let mut accesses = Vec::new();
    reader.next_chunk(&mut accesses).unwrap();
    // Lines that begin with == are not accesses.
    assert_eq!((accesses.len(), reader.instructions()), (4_000, 3_293));
    let mut reader = Reader::open(&path, &Options { page_bytes: Some(4096), ..Options::default() }).unwrap();
    let mut pages = Vec::new();
    reader.next_chunk(&mut pages).unwrap();
    pages.sort_unstable();
    pages.dedup();
    assert_eq!((reader.requests() >= 3_293, pages.len()), (true, 4));
}
