//! Round trips through the fio iolog writer.

use std::path::PathBuf;

use proptest::prelude::*;
use sim::Time;
use workload::trace::{IologWriter, Reader, Record, RecordOp};

/// A file of a single test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str, extension: &str) -> Scratch {
        let name = format!("nandram-{}-{test}.iolog{extension}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(path: &Scratch, names: &[String], records: &[Record]) {
    let mut writer = IologWriter::create(&path.0).unwrap();
    for (index, name) in names.iter().enumerate() {
        assert_eq!(writer.add(name).unwrap(), index as u32);
    }
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
}

const FILES: u32 = 5;

prop_compose! {
    fn a_record()(
        gap_us in prop_oneof![Just(0u64), 0u64..100, 0u64..10_000_000_000],
        device in 0..FILES,
        op in prop_oneof![Just(RecordOp::Read), Just(RecordOp::Write), Just(RecordOp::Trim), Just(RecordOp::Flush)],
        offset in prop_oneof![0u64..100_000, 0u64..1 << 60],
        bytes in prop_oneof![1u64..100_000, 1u64..4_000_000_000],
    ) -> (u64, Record) {
        let (offset, bytes) = if op == RecordOp::Flush { (0, 0) } else { (offset, bytes) };
        (gap_us, Record { at: Time::ZERO, device, op, fua: false, offset, bytes, timed: true })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn written_records_read_back(
        steps in prop::collection::vec(a_record(), 0..60),
        extension in prop_oneof![Just(""), Just(".gz"), Just(".zst")],
        prefix in "[!-~]{1,40}",
    ) {
        let mut at = Time::ZERO;
        let records: Vec<Record> = steps.into_iter().enumerate().map(|(i, (gap_us, record))| {
            // The first record is at the clock's zero.
            at += if i == 0 { Time::ZERO } else { Time::from_us(gap_us) };
            Record { at, ..record }
        }).collect();
        let names: Vec<String> = (0..FILES).map(|i| format!("/{prefix}/{i}")).collect();
        let path = Scratch::new("property", extension);
        write(&path, &names, &records);
        let mut reader = Reader::open(&path.0, None).unwrap();
        let read: Result<Vec<Record>, _> = reader.by_ref().collect();
        prop_assert_eq!(read.unwrap(), records);
        prop_assert_eq!(reader.devices(), names);
    }
}

#[test]
fn the_text_is_valid_for_fio() {
    let path = Scratch::new("text", "");
    let record = Record {
        at: Time::from_ps(2_999_999),
        device: 1,
        op: RecordOp::Write,
        fua: true,
        offset: 24,
        bytes: 7,
        timed: true,
    };
    let wait = Record { op: RecordOp::Wait, fua: false, offset: 0, bytes: 0, ..record };
    let trim = Record { op: RecordOp::Trim, fua: false, offset: 4096, bytes: (1 << 32) + 4096, ..record };
    write(&path, &["/a".to_owned(), "/b".to_owned()], &[record, wait, trim]);
    assert_eq!(
        std::fs::read_to_string(&path.0).unwrap(),
        "fio version 3 iolog\n1 /a add\n1 /a open\n1 /b add\n1 /b open\n3 /b write 24 7\n3 /b datasync 0 0\n\
         3 /b trim 4096 4293918720\n3 /b trim 4293922816 1052672\n3 /a close\n3 /b close\n"
    );
}

#[test]
fn the_extension_selects_the_compression_and_output_is_deterministic() {
    let record =
        Record { at: Time::ZERO, device: 0, op: RecordOp::Read, fua: false, offset: 0, bytes: 512, timed: true };
    for (extension, magic) in [(".gz", &[0x1f, 0x8b][..]), (".ZST", &[0x28, 0xb5, 0x2f, 0xfd][..]), (".txt", b"fio ")] {
        let path = Scratch::new("extension", extension);
        let bytes = [(); 2].map(|()| {
            write(&path, &["a".to_owned()], &[record; 100]);
            std::fs::read(&path.0).unwrap()
        });
        assert!(bytes[0].starts_with(magic), "{extension}");
        assert_eq!(bytes[0], bytes[1], "{extension}");
    }
}

#[test]
fn names_that_fio_cannot_read_are_rejected() {
    let path = Scratch::new("names", "");
    let mut writer = IologWriter::create(&path.0).unwrap();
    let expected = "expected 1 to 255 bytes without blanks, as fio reads them";
    for (name, shown) in [("", ""), ("/a b", "/a b"), ("/a\nb", "/a\\nb"), (&"x".repeat(256), &"x".repeat(256))] {
        let error = writer.add(name).unwrap_err().to_string();
        assert_eq!(error, format!("{}: found the file name \"{shown}\", {expected}", path.0.display()));
    }
    assert_eq!(writer.add(&"x".repeat(255)).unwrap(), 0);
}

#[test]
fn errors_name_a_missing_folder() {
    let error = IologWriter::create(std::path::Path::new("/no/such/folder/t.iolog")).err().unwrap().to_string();
    assert_eq!(error, "/no/such/folder/t.iolog: No such file or directory (os error 2)");
}
