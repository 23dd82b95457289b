//! Reads a trace of pages from end to end: `cargo run --release -p workload --example read_pages TRACE`.
//!
//! For its speed, and for its memory: run it under `/usr/bin/time -v`.

use std::path::Path;

use workload::pages::{Options, Reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("expected the path of a trace")?;
    let mut reader = Reader::open(Path::new(&path), &Options::default())?;
    let (mut chunk, mut changes, mut last) = (vec![0], 0u64, None);
    while !chunk.is_empty() {
        reader.next_chunk(&mut chunk)?;
        for &page in &chunk {
            changes += u64::from(last != Some(page));
            last = Some(page);
        }
    }
    println!("{} requests, {changes} of another page than the one before", reader.requests());
    Ok(())
}
