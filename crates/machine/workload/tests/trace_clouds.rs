//! Traces of clouds and caches, and traces of user-defined columns: published sample lines and errors.

use std::path::Path;

use sim::Time;
use workload::memory;
use workload::trace::{Columns, Format, Reader, Record, RecordOp};
use workload::{Options, Player, Workload};

const ALIBABA: &str = "0,R,126703661056,4096,1577808000000046\n1,W,19496058880,77824,1577808000000426\n\
                       2,W,9811763200,12288,1577808000000494\n";
const TENCENT: &str = "1538323199,1003027216,16,0,2313\n1538323200,12910952,128,0,1063\n1538323200,8,8,1,1063\n";

fn read(text: impl Into<Vec<u8>>, format: Option<Format>) -> (Format, Vec<Record>) {
    let mut reader = Reader::from_bytes("t", text, format).unwrap();
    let records = reader.by_ref().map(|record| record.unwrap()).collect();
    (reader.format(), records)
}

fn requests(records: &[Record]) -> Vec<(u64, RecordOp, u64, u64)> {
    records.iter().map(|r| (r.at.ns(), r.op, r.offset, r.bytes)).collect()
}

fn message(text: &str, format: Format) -> String {
    let mut reader = Reader::from_bytes("t", text, Some(format)).unwrap();
    reader.find_map(Result::err).expect("an error").to_string()
}

#[test]
fn alibaba_lines_are_read_with_and_without_their_header() {
    use RecordOp::{Read, Write};
    let expected = [
        (0, Read, 126_703_661_056, 4096),
        (380_000, Write, 19_496_058_880, 77_824),
        (448_000, Write, 9_811_763_200, 12_288),
    ];
    for header in [
        "",
        "device_id,opcode,offset,length,timestamp\n",
        "\u{feff}",
        "\u{feff}device_id,opcode,offset,length,timestamp\r\n",
    ] {
        let (format, records) = read(format!("{header}{ALIBABA}"), None);
        assert_eq!((format, requests(&records)), (Format::Alibaba, expected.to_vec()), "{header:?}");
        assert_eq!(records.iter().map(|r| r.device).collect::<Vec<_>>(), [0, 1, 2]);
    }
    assert_eq!(message("0,X,0,4096,1\n", Format::Alibaba), "t:1: opcode: found \"X\", expected R or W");
}

#[test]
fn tencent_lines_are_read_with_and_without_their_header() {
    use RecordOp::{Read, Write};
    let s = 1_000_000_000;
    let expected = [
        (0, Read, 1_003_027_216 * 512, 16 * 512),
        (s, Read, 12_910_952 * 512, 128 * 512),
        (s, Write, 8 * 512, 8 * 512),
    ];
    for header in ["", "Timestamp,Offset,Size,IOType,VolumeID\n"] {
        let (format, records) = read(format!("{header}{TENCENT}"), None);
        assert_eq!((format, requests(&records)), (Format::Tencent, expected.to_vec()));
        assert_eq!(records.iter().map(|r| r.device).collect::<Vec<_>>(), [0, 1, 1]);
    }
    assert_eq!(
        message("1538323199,8,8,2,1\n", Format::Tencent),
        "t:1: IOType: found \"2\", expected 0 (read) or 1 (write)"
    );
}

fn oracle_general(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let bytes = |(time, object, size, next): &(u32, u64, u32, i64)| {
        [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    records.iter().flat_map(bytes).collect()
}

#[test]
fn libcachesim_objects_are_sectors_in_records_and_blocks_in_text() {
    use RecordOp::Read;
    let records = oracle_general(&[(5, 42_932_745, 512, -1), (5, 8, 65_536, 3), (6, 16, 0, -1), (7, 8, 4096, -1)]);
    let expected = [(0, Read, 42_932_745 * 512, 512), (0, Read, 4096, 65_536), (2_000_000_000, Read, 4096, 4096)];
    let (format, found) = read(records.clone(), None);
    assert_eq!((format, requests(&found)), (Format::OracleGeneral, expected.to_vec()));
    let packed = zstd::encode_all(&records[..], 3).unwrap();
    assert_eq!(requests(&read(packed, None).1), expected);
    let mut reader =
        Reader::from_bytes("t", oracle_general(&[(1, 1 << 60, 4096, -1)]), Some(Format::OracleGeneral)).unwrap();
    assert_eq!(
        reader.next().unwrap().unwrap_err().to_string(),
        "t record 1: obj_id: found 1152921504606846976, expected a sector below 2^55"
    );

    let (format, found) = read("42\n7\n42\n", None);
    assert_eq!(
        (format, requests(&found)),
        (Format::Objects, vec![(0, Read, 172_032, 4096), (0, Read, 28_672, 4096), (0, Read, 172_032, 4096)])
    );
    assert!(found.iter().all(|record| !record.timed));
}

#[test]
fn user_defined_columns_read_other_traces() {
    use RecordOp::{Read, Trim, Write};
    let columns: Columns = "time=0:us,op=2,offset=3:sectors,bytes=4,device=1".parse().unwrap();
    let text = "time,disk,op,lba,bytes\n10.5,sda,Read,8,4096\n12,sdb,w,0,512\n14,sda,D,16,1024\n";
    let (_, records) = read(text, Some(Format::Columns(columns)));
    assert_eq!(requests(&records), [(0, Read, 4096, 4096), (1_500, Write, 0, 512), (3_500, Trim, 8192, 1024)]);
    assert_eq!(records.iter().map(|r| r.device).collect::<Vec<_>>(), [0, 1, 0]);
    let (_, records) = read("W 5\nR 6\n", Some(Format::Columns("op=0,offset=1:pages".parse().unwrap())));
    assert_eq!(requests(&records), [(0, Write, 20_480, 4096), (0, Read, 24_576, 4096)]);
    assert!(records.iter().all(|record| !record.timed));

    let of = |text: &str| message(text, Format::Columns(columns));
    assert_eq!(
        of("1,a,r,8,512\n2,a,x,8,512\n"),
        "t:2: op: found \"x\", expected read, write, trim or flush, their first letter, 0 (read) or 1 (write), or an \
         operation on zones (append, zone-reset, zone-finish, zone-open, zone-close)"
    );
    assert_eq!(
        of("1,a,r,8,512\n2,a,r,lba,512\n"),
        "t:2: offset: found \"lba\", expected a whole number of the column's unit, below 2^64 bytes"
    );
    assert_eq!(
        of("1,a,r,8\n"),
        "t:1: bytes: found the end of the line before column 4, expected a whole number of the column's unit, below 2^64 bytes"
    );
}

/// Returns the notes of a workload with this text.
fn notes(name: &str, text: &[u8]) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("nandram-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let workload = Workload::open(&path, None).unwrap();
    let file = path.display().to_string();
    let notes = workload.notes().iter().map(|note| note.replace(&file, name)).collect();
    std::fs::remove_file(path).unwrap();
    notes
}

#[test]
fn clocks_of_whole_seconds_and_empty_requests_are_noted() {
    assert_eq!(
        notes("tencent.csv", b"1538323199,8,8,0,1\n1538323200,8,8,0,1\n1538323200,0,0,1,1\n1538323200,16,8,1,1\n"),
        [
            "tencent.csv: its timestamps are whole seconds; the requests of each second arrive together, so response times \
             are those of a burst",
            "tencent.csv: 1 requests of zero bytes are skipped",
        ]
    );
    assert_eq!(
        notes("back.csv", b"0,R,0,4096,20\n0,R,0,4096,10\n"),
        ["back.csv: 1 of 2 requests have earlier timestamps than their predecessors, and follow them immediately"]
    );
}

#[test]
fn a_byte_order_mark_does_not_hide_a_job_file() {
    assert_eq!(notes("marked.txt", "\u{feff}[a]\nsize=4k\nbuffered=1\n".as_bytes()).len(), 1);
}

#[test]
fn errors_about_addresses_beyond_the_drive_name_the_wrap_option() {
    let path = std::env::temp_dir().join(format!("nandram-{}-beyond.csv", std::process::id()));
    std::fs::write(&path, ALIBABA).unwrap();
    let workload = Workload::open(Path::new(&path), None).unwrap();
    let options = Options::new(1 << 20);
    let error = Player::new(&workload, &options, &sim::Streams::new(1)).err().expect("too small").to_string();
    assert!(error.ends_with("--wrap takes such addresses modulo the drive's size"), "{error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn dram_traces_are_read() {
    use memory::Op::{Read, Write};
    for (text, format, expected) in [
        ("0x2f80 READ 10\n0x100 WRITE 12\n", memory::Format::Dram, vec![(0x2f80, Read), (0x100, Write)]),
        (
            "0x40 P_MEM_RD 1\n0x80 P_FETCH 2\n0xc0 P_MEM_WR 3\n",
            memory::Format::Dram,
            vec![(0x40, Read), (0x80, Read), (0xc0, Write)],
        ),
        ("R 0x40\nW 64\n", memory::Format::Dram, vec![(0x40, Read), (64, Write)]),
        ("0x40 R\n0x80 W\n", memory::Format::Ramulator, vec![(0x40, Read), (0x80, Write)]),
    ] {
        let mut reader = memory::Reader::from_bytes("t", text, None).unwrap();
        let mut chunk = Vec::new();
        reader.next_chunk(&mut chunk).unwrap();
        assert_eq!(reader.format(), format, "{text}");
        assert_eq!(chunk.iter().map(|access| (access.address, access.op)).collect::<Vec<_>>(), expected);
    }
    let mut reader = memory::Reader::from_bytes("t", "0x40 READ 1\n0x40 LOAD 2\n", None).unwrap();
    assert_eq!(
        reader.next_chunk(&mut Vec::new()).unwrap_err().to_string(),
        "t:2: operation: found \"LOAD\", expected R, W, RD, WR, READ, WRITE, IFETCH, P_MEM_RD, P_MEM_WR, P_FETCH, P_LOCK_RD, P_LOCK_WR or BOFF"
    );
}

#[test]
fn times_count_from_the_first_request() {
    assert_eq!(read(ALIBABA, None).1[0].at, Time::ZERO);
}
