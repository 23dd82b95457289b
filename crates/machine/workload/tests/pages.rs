//! Page traces: round trips and errors.

use std::io::Write;

use proptest::prelude::*;
use workload::pages::{AccessKind, Format, Header, Icache, Options, Reader, Writer};

/// Options with a fixed format, because the tests corrupt the content used for detection.
fn ours() -> Options {
    Options { format: Some(Format::Nandram), ..Options::default() }
}

fn header() -> Header {
    Header {
        page_bytes: 1024,
        icache: Some(Icache { bytes: 4096, ways: 4, line_bytes: 16 }),
        program: "a \"b\"\n".into(),
        architecture: "arm".into(),
        command: vec!["a".into(), "ü b".into(), String::new()],
    }
}

fn written(pages: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for &page in pages {
        writer.write(page).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: Vec<u8>) -> Result<Vec<u64>, String> {
    let mut reader = Reader::from_bytes("t", bytes, &ours()).map_err(|error| error.to_string())?;
    assert_eq!(*reader.header().unwrap(), header());
    let (mut pages, mut chunk) = (Vec::new(), Vec::new());
    loop {
        reader.next_chunk(&mut chunk).map_err(|error| error.to_string())?;
        if chunk.is_empty() {
            assert_eq!(reader.requests(), pages.len() as u64);
            return Ok(pages);
        }
        pages.extend_from_slice(&chunk);
    }
}

fn page() -> impl Strategy<Value = u64> {
    (any::<u64>(), 1u32..64).prop_map(|(page, bits)| page >> bits)
}

proptest! {
    #[test]
    fn written_pages_read_back(pages in proptest::collection::vec(page(), 0..300), compressed in any::<bool>()) {
        let mut bytes = written(&pages);
        if compressed {
            bytes = zstd::encode_all(&bytes[..], 3).unwrap();
        }
        prop_assert_eq!(read(bytes), Ok(pages));
    }

    #[test]
    fn truncated_traces_are_rejected(pages in proptest::collection::vec(page(), 0..40), cut in any::<prop::sample::Index>()) {
        let mut bytes = written(&pages);
        bytes.truncate(cut.index(bytes.len()));
        let outcome = Reader::from_bytes("t", bytes, &ours()).and_then(|mut reader| {
            let mut chunk = vec![0];
            while !chunk.is_empty() {
                reader.next_chunk(&mut chunk)?;
            }
            Ok(())
        });
        prop_assert!(outcome.is_err(), "{cut:?}");
    }
}

#[test]
fn chunks_cross_the_buffer_and_end_at_65536() {
    let pages: Vec<u64> = (0..200_000u64).map(|i| (i * i) % 77_777).collect();
    let bytes = written(&pages);
    assert_eq!(read(bytes.clone()), Ok(pages.clone()));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&bytes).unwrap();
    let mut reader = Reader::from_bytes("t", encoder.finish().unwrap(), &ours()).unwrap();
    let mut chunk = Vec::new();
    reader.next_chunk(&mut chunk).unwrap();
    assert_eq!(chunk, pages[..65_536]);
}

#[test]
fn repeats_of_a_page_take_a_byte_each_and_compress_to_nothing() {
    let bytes = written(&[77; 1_000_000]);
    assert!(bytes.len() < 1_000_400);
    assert!(zstd::encode_all(&bytes[..], 3).unwrap().len() < 400);
}

#[test]
fn errors_name_position_and_field() {
    let whole = written(&[3, 4]);
    let end = whole.len();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        read(bytes).unwrap_err()
    };
    let first = "t:1: format: found \"nandram page trace 2\", expected \"nandram page trace 1\"";
    assert_eq!(with(&|bytes| bytes[19] = b'2'), first);
    assert_eq!(with(&|bytes| bytes.clear()), "t:1: format: found \"\", expected \"nandram page trace 1\"");
    assert_eq!(
        with(&|bytes| bytes.truncate(end - 1)),
        "t record 3: page: found the end of the file, expected a page, or 0 and the number of records"
    );
    assert_eq!(with(&|bytes| bytes[end - 1] = 3), "t record 2: requests: found 3, expected 2, the number of requests");
    assert_eq!(with(&|bytes| bytes.push(0)), "t record 2: end: found 1 more bytes, expected the end of the file");
    // A difference that makes the page negative.
    assert_eq!(
        with(&|bytes| bytes[end - 4] = 4),
        "t record 1: page: found 18446744073709551614, expected a page below 2^63"
    );
    assert_eq!(
        with(&|bytes| {
            bytes.truncate(end - 2);
            bytes.extend([0xff; 20]);
        }),
        "t record 3: page: found the bytes ff ff ff ff ff ff ff ff ff ff, expected a number below 2^64 in LEB128"
    );
    let json = with(&|bytes| bytes[21] = b'[');
    assert!(json.starts_with("t:2: header: found \"[\"page_bytes\":1024"), "{json}");
    let text = String::from_utf8_lossy(&whole[..whole.len() - 4]).replace("1024", "0");
    let zero = Reader::from_bytes("t", text.into_bytes(), &ours()).err().unwrap().to_string();
    assert_eq!(zero, "t:2: page_bytes: found 0, expected at least 1");
}

/// Reads the pages of a trace in another format, which must be detected by its content.
fn foreign(name: &str, bytes: impl Into<Vec<u8>>, options: &Options) -> Result<Vec<u64>, String> {
    let mut reader = Reader::from_bytes(name, bytes, options).map_err(|error| error.to_string())?;
    assert!(reader.header().is_none());
    let (mut pages, mut chunk) = (Vec::new(), vec![0]);
    while !chunk.is_empty() {
        reader.next_chunk(&mut chunk).map_err(|error| error.to_string())?;
        pages.extend_from_slice(&chunk);
    }
    Ok(pages)
}

fn object(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

const LACKEY: &str = "==12== Lackey, an example Valgrind tool\nI  04001000,3\nI  040013ff,2\n S 1ffeffe7e8,8\n\
                      I  04001403,1\n L 1ffefff000,4\n M 0421c7cc,4\n==12== \n";

#[test]
fn lists_of_numbers() {
    let all = Options::default();
    assert_eq!(foreign("t", "# pages\n17\n\n18446744073709551615\r\n 0 \n3", &all), Ok(vec![17, u64::MAX, 0, 3]));
    let compressed = zstd::encode_all(&b"5\n6\n"[..], 3).unwrap();
    assert_eq!(foreign("t.zst", compressed, &all), Ok(vec![5, 6]));
    let complaint = "t:2: page: found \"six\", expected a whole number below 2^64";
    assert_eq!(foreign("t", "5\nsix\n", &all), Err(complaint.to_owned()));
}

#[test]
fn oracle_general() {
    let whole = [object(0, 7, 100, 2), object(0, u64::MAX, 4096, -1), object(1, 7, 100, -1)].concat();
    let by_content = foreign("t", whole.clone(), &Options::default());
    assert_eq!(by_content, Ok(vec![7, u64::MAX, 7]));
    assert_eq!(foreign("w01.oracleGeneral.bin", whole.clone(), &Options::default()), by_content);
    // Requests of zero bytes are skipped.
    let empty = [whole.clone(), object(2, 9, 0, -1), object(2, 8, 1, -1)].concat();
    assert_eq!(foreign("t", empty, &Options::default()), Ok(vec![7, u64::MAX, 7, 8]));
    let named = Options { format: Some("oracleGeneral".parse().unwrap()), ..Options::default() };
    let wrong = [whole.clone(), object(2, 9, 1, -2)].concat();
    let complaint = "t record 4: next_access_vtime: found -2, expected -1 or a number of requests from 0";
    assert_eq!(foreign("t", wrong, &named), Err(complaint.to_owned()));
    let complaint = "t record 3: found the end of the file after 23 of its bytes (byte 71), expected 24";
    assert_eq!(foreign("t", &whole[..71], &named), Err(complaint.to_owned()));
}

#[test]
fn addresses_are_divided_by_the_page() {
    let of = |kind, page_bytes| Options { kind, page_bytes, ..Options::default() };
    // By default fetches count, and one that spans two pages requests both.
    assert_eq!(foreign("t", LACKEY, &of(None, None)), Ok(vec![0x10004, 0x10004, 0x10005, 0x10005]));
    assert_eq!(foreign("t", LACKEY, &of(None, Some(4096))), Ok(vec![0x4001; 3]));
    let data = foreign("t", LACKEY, &of(Some(AccessKind::Data), Some(4096)));
    assert_eq!(data, Ok(vec![0x1ffeffe, 0x1ffefff, 0x421c, 0x421c]));
    assert_eq!(foreign("t", LACKEY, &of(Some(AccessKind::All), Some(4096))).unwrap().len(), 7);
    let ramulator = "LD 0x12345680\nST 0x00001000\n";
    assert_eq!(foreign("t", ramulator, &of(None, Some(4096))), Ok(vec![0x12345, 1]));
    assert_eq!(foreign("t", ramulator, &of(Some(AccessKind::Code), None)), Ok(vec![]));
    let none = foreign("t", "5\n", &of(None, Some(0)));
    assert_eq!(none, Err("t:1: page_bytes: found 0, expected at least 1".to_owned()));
}

#[test]
fn the_page_size_must_match_the_header() {
    let options = Options { page_bytes: Some(4096), ..Options::default() };
    let error = Reader::from_bytes("t", written(&[1]), &options).err().unwrap().to_string();
    assert_eq!(error, "t:2: page_bytes: found 1024, expected 4096, as requested");
    let reader = Reader::from_bytes("t", written(&[1]), &Options::default()).unwrap();
    assert_eq!((reader.page_bytes(), reader.format().to_string()), (1024, "nandram-pages".to_owned()));
}

#[test]
fn unknown_formats_are_described() {
    let names = "nandram-pages, text, oracleGeneral, nandram-memory, lackey, ramulator, dram, dramsys, scalesim";
    let tell = |bytes: &[u8]| Reader::from_bytes("t", bytes, &Options::default()).err().unwrap().to_string();
    let expected = format!("expected one of {names}");
    assert_eq!(
        tell(b"what\n"),
        format!("t: cannot detect the trace format: found the first line \"what\", {expected}")
    );
    assert_eq!(tell(b""), format!("t: cannot detect the trace format: found an empty file, {expected}"));
    assert_eq!(
        tell(&object(0, 1, 1, -7)),
        format!(
            "t: cannot detect the trace format: found binary data that begins with 00 00 00 00 01 00 00 00, {expected}"
        )
    );
    let unknown = "lakcey".parse::<Format>().unwrap_err().to_string();
    let expected = format!("found the trace format \"lakcey\", expected one of {names}; the nearest is \"lackey\"");
    assert_eq!(unknown, expected);
}
