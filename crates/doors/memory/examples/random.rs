//! Benchmarks random reads and updates of 8 bytes, with a cold cache, next to raw reads that bypass the page cache.
//! Usage: `random FILE MIB COUNT`.

use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use memory::{Error, Memory, Options};
use sim::Streams;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, mib, count] = arguments.as_slice() else { return Err("usage: random FILE MIB COUNT".into()) };
    let (path, bytes, count) = (Path::new(file), mib.parse::<u64>()? << 20, count.parse::<u64>()?);
    let options = Options { capacity: Some(bytes), dram: 64 << 20, ..Options::default() };
    let mut memory = Memory::create(path, &options)?;
    let at = memory.alloc(bytes, false)?;
    let chunk: Vec<u8> = (0..1 << 20).map(|n: u32| ((n * 31) >> 3) as u8).collect();
    let start = Instant::now();
    for offset in (0..bytes).step_by(1 << 20) {
        memory.write(at + offset, &chunk)?;
    }
    let token = memory.sync(None)?;
    println!("written in order: {:.0} MB/s", bytes as f64 / start.elapsed().as_secs_f64() / 1e6);
    memory.close()?;
    let mut rng = Streams::new(1).stream("random");
    let mut places = || rng.below(bytes / 8) * 8;
    let raw = std::fs::OpenOptions::new().read(true).custom_flags(0o40000).open(path)?;
    let mut buffer = direct::Aligned::new(4096);
    let start = Instant::now();
    for _ in 0..count {
        raw.read_exact_at(&mut buffer, (16 << 20) + places() / 4096 * 4096)?;
    }
    println!("raw reads of 4 KiB: {:.1} us each", start.elapsed().as_secs_f64() * 1e6 / count as f64);
    let start = Instant::now();
    let mut memory = Memory::open(path, &options)?;
    println!("opened in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut word = [0; 8];
    let mut run = |name: &str, memory: &mut Memory, write: bool| -> Result<(), Error> {
        let (start, before) = (Instant::now(), memory.stats());
        for n in 0..count {
            let place = at + places();
            memory.read(place, &mut word)?;
            if write {
                memory.write(place, &(u64::from_le_bytes(word) ^ n).to_le_bytes())?;
            }
        }
        let (spent, after) = (start.elapsed().as_secs_f64() * 1e6, memory.stats());
        let misses = after.misses - before.misses;
        println!("{name}: {:.1} us each, {misses} of {count} missed", spent / count as f64);
        Ok(())
    };
    run("reads of 8 bytes", &mut memory, false)?;
    run("updates of 8 bytes", &mut memory, true)?;
    let (start, before) = (Instant::now(), memory.stats());
    memory.sync(None)?;
    let after = memory.stats();
    println!(
        "sync of {} dirty segments: {:.1} ms, {:.3} times as many bytes",
        before.dirty,
        start.elapsed().as_secs_f64() * 1e3,
        (after.written_bytes - before.written_bytes) as f64 / (before.dirty * 4096) as f64
    );
    let start = Instant::now();
    memory.rollback(token)?;
    println!("rollback: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut all = vec![0; 1 << 20];
    let start = Instant::now();
    for offset in (0..bytes).step_by(1 << 20) {
        memory.read(at + offset, &mut all)?;
        assert!(all == chunk, "at {offset}");
    }
    println!("read in order: {:.0} MB/s", bytes as f64 / start.elapsed().as_secs_f64() / 1e6);
    memory.close()?;
    Ok(())
}
