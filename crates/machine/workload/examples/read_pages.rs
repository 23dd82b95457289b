//! Reads a page trace from start to end: `cargo run --release -p workload --example read_pages TRACE`.
//!
//! Measures speed, and memory use if run under `/usr/bin/time -v`.

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
    println!("{} requests, {changes} of a different page than the previous request", reader.requests());
    Ok(())
}
