//! A file that is truncated while open: reads beyond its end fail with an error, and the rest stays readable.

use std::fs;

use memory::{Error, Memory, Options, Reader};

type Read<'a> = dyn FnMut(u64, &mut [u8]) -> Result<(), Error> + 'a;

#[test]
fn short_reads_are_reported_and_the_rest_is_readable() {
    let path = std::env::temp_dir().join(format!("nandram-{}-short.memory", std::process::id()));
    drop(fs::remove_file(&path));
    let options = Options { capacity: Some(8 << 20), dram: 1 << 20, ..Options::default() };
    let mut memory = Memory::create(&path, &options).expect("created");
    let bytes = 6u64 << 20;
    let at = memory.alloc(bytes, false).expect("enough space");
    let page: Vec<u8> = (0..4096u32).map(|n| n as u8).collect();
    for place in (0..bytes).step_by(4096) {
        memory.write(at + place, &page).expect("written");
    }
    memory.sync(None).expect("synced");
    let mut reader = Reader::open(&path, 1 << 20).expect("opened");
    // Truncate in the middle of a written page; the written data is at the beginning of the file.
    let length = fs::metadata(&path).expect("exists").len();
    let data = memory.shape().page(0, 0);
    let file = fs::OpenOptions::new().write(true).open(&path).expect("exists");
    let content = fs::read(&path).expect("read");
    let last = content.iter().rposition(|byte| *byte != 0).expect("something is written") as u64;
    file.set_len(data + (last - data) / 2 + 100).expect("cut off");
    let check_all = |read: &mut Read| {
        let (mut right, mut short) = (0, 0);
        for place in (at..at + bytes).step_by(4096) {
            let mut found = vec![0; 4096];
            match read(place, &mut found) {
                Ok(()) => {
                    assert!(found == page, "{place:#x}");
                    right += 1;
                }
                Err(error @ Error::Unreadable { .. }) => {
                    let message = error.to_string();
                    let begin =
                        format!("{}: address {place:#x}: the 4096 bytes there cannot be read: ", path.display());
                    assert!(message.starts_with(&begin), "{message}");
                    let why = ["bytes were transferred", "failed to fill whole buffer", "its checksum does not match"];
                    assert!(why.iter().any(|why| message.contains(why)), "{message}");
                    short += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(right > 100 && short > 100, "{right} are right, {short} lost");
    };
    check_all(&mut |at, into| memory.read(at, into));
    check_all(&mut |at, into| reader.read(at, into));
    let refused = Reader::open(&path, 1 << 20).err().expect("the file is truncated").to_string();
    assert!(
        refused.contains("the file is truncated: ") && refused.ends_with(&format!("expected {length}")),
        "{refused}"
    );
    fs::remove_file(&path).expect("removed");
}
