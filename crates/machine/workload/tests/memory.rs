//! Memory traces: round trips, other formats, and errors.

use proptest::prelude::*;
use workload::memory::{Access, Cache, Format, Header, Op, Reader, Writer};
use workload::pages;

fn header() -> Header {
    Header {
        line_bytes: 64,
        caches: vec![Cache { name: "l1".into(), bytes: 32768, ways: 8 }],
        program: "a".into(),
        architecture: "x86_64".into(),
        command: vec!["./a".into()],
    }
}

/// Line, whether it is written, instructions.
type Record = (u64, bool, u64);

fn written(records: &[Record], behind: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for &(line, store, instructions) in records {
        writer.write(line, store, instructions).unwrap();
    }
    writer.finish(behind).unwrap()
}

/// Reads all accesses and the number of instructions.
fn read(bytes: impl Into<Vec<u8>>, format: Option<Format>) -> Result<(Vec<Access>, u64), String> {
    let mut reader = Reader::from_bytes("t", bytes, format).map_err(|error| error.to_string())?;
    let (mut accesses, mut chunk) = (Vec::new(), Vec::new());
    loop {
        reader.next_chunk(&mut chunk).map_err(|error| error.to_string())?;
        if chunk.is_empty() {
            assert_eq!(reader.accesses(), accesses.len() as u64);
            return Ok((accesses, reader.instructions()));
        }
        accesses.extend_from_slice(&chunk);
    }
}

fn access(instructions: u64, op: Op, address: u64, bytes: u32) -> Access {
    Access { instructions, op, address, cycle: None, bytes }
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let line = (any::<u64>(), 6u32..64).prop_map(|(line, bits)| line >> bits);
    let instructions = (any::<u64>(), 10u32..64).prop_map(|(count, bits)| count >> bits);
    proptest::collection::vec((line, any::<bool>(), instructions), 0..100)
}

proptest! {
    #[test]
    fn written_records_read_back(records in records(), behind in 0u64..1000) {
        let expected: Vec<Access> = records
            .iter()
            .map(|&(line, store, instructions)| {
                access(instructions, if store { Op::Write } else { Op::Read }, 64 * line, 64)
            })
            .collect();
        let instructions = records.iter().map(|record| record.2).sum::<u64>() + behind;
        prop_assert_eq!(read(written(&records, behind), None), Ok((expected, instructions)));
    }

    #[test]
    fn truncated_traces_are_rejected(records in records(), cut in any::<prop::sample::Index>()) {
        let mut bytes = written(&records, 3);
        bytes.truncate(cut.index(bytes.len()));
        prop_assert!(read(bytes, Some(Format::Nandram)).is_err());
    }
}

proptest! {
    #[test]
    fn no_input_causes_a_panic(
        start in prop_oneof![
            Just(String::new()),
            Just(String::from_utf8(written(&[], 0)).unwrap()[..].trim_end_matches('\0').to_owned()),
            Just("nandram page trace 1\n{\"page_bytes\":1,\"icache\":null,\"program\":\"\",\"architecture\":\"\",\"command\":[]}\n".to_owned()),
        ],
        tail in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "[0-9a-f x,\nILSMDTRW]{0,100}".prop_map(String::into_bytes),
        ],
        page_bytes in 1u32..5000,
    ) {
        let bytes = [start.as_bytes(), &tail].concat();
        for format in [None, Some(Format::Nandram), Some(Format::Lackey), Some(Format::Ramulator), Some(Format::ScaleSim)] {
            let _ = read(bytes.clone(), format);
        }
        for name in ["nandram-pages", "text", "oracleGeneral", "nandram-memory", "lackey", "ramulator", "scalesim"] {
            let options = pages::Options { format: Some(name.parse().unwrap()), page_bytes: None, kind: None };
            for options in [options, pages::Options { page_bytes: Some(page_bytes), ..options }] {
                let Ok(mut reader) = pages::Reader::from_bytes("t", bytes.clone(), &options) else { continue };
                let mut chunk = vec![0];
                while !chunk.is_empty() && reader.next_chunk(&mut chunk).is_ok() {}
            }
        }
    }
}

#[test]
fn chunks_may_span_two_buffers() {
    let records: Vec<Record> = (0..150_000u64).map(|i| (i * i * 7919 % (1 << 30), i % 3 == 0, i % 500)).collect();
    let (accesses, _) = read(zstd::encode_all(&written(&records, 0)[..], 3).unwrap(), None).unwrap();
    assert_eq!(accesses.len(), records.len());
    assert!(accesses.iter().zip(&records).all(|(access, record)| access.address == 64 * record.0));
}

#[test]
fn lackey() {
    let text =
        "==1== Lackey\nI  0023c790,2\n L 1ffeff,4\n M 0025747c,1\n S be80199c,16\n==1== \n==1== Counted 1 call\n";
    let expected = vec![
        access(1, Op::Fetch, 0x23c790, 2),
        access(0, Op::Read, 0x1ffeff, 4),
        access(0, Op::Read, 0x25747c, 1),
        access(0, Op::Write, 0x25747c, 1),
        access(0, Op::Write, 0xbe80199c, 16),
    ];
    assert_eq!(read(text, None), Ok((expected, 1)));
}

#[test]
fn ramulator() {
    let load_store = read("LD 0x40\nST 100\n", None).unwrap();
    assert_eq!(load_store, (vec![access(0, Op::Read, 0x40, 1), access(0, Op::Write, 100, 1)], 0));
    let memory = read("0x40 R\n0X8f W\n", None).unwrap();
    assert_eq!(memory, (vec![access(0, Op::Read, 0x40, 1), access(0, Op::Write, 0x8f, 1)], 0));
    // Three instructions and the load; then a load that evicts a line.
    let processor = read("3 20734016\n0 20846400 20841280\n", None).unwrap();
    let expected =
        vec![access(4, Op::Read, 20734016, 1), access(1, Op::Read, 20846400, 1), access(0, Op::Write, 20841280, 1)];
    assert_eq!(processor, (expected, 5));
}

/// Accesses without their addresses: operation and cycle.
fn arrivals(text: &str) -> Vec<(Op, Option<u64>)> {
    read(text, None).unwrap().0.iter().map(|access| (access.op, access.cycle)).collect()
}

#[test]
fn operations_of_dramsim2_are_its_own() {
    let (read, write) = (Op::Read, Op::Write);
    let text = "0x10 P_MEM_RD 1\n0x20 P_MEM_WR 2\n0x30 P_FETCH 3\n0x40 BOFF 4\n0x50 P_LOCK_RD 5\n0x60 P_LOCK_WR 6\n";
    let ops = [read, write, read, write, read, read];
    assert_eq!(arrivals(text), ops.iter().zip(1..).map(|(op, cycle)| (*op, Some(cycle))).collect::<Vec<_>>());
    assert_eq!(arrivals("0x10 IFETCH 1\n0x20 WRITE 2\n"), [(read, Some(1)), (write, Some(2))]);
}

#[test]
fn dramsys() {
    let text = "0:\twrite\t0x0\n4:\tread\t0x80\n9: (64) write 0x100 0x1234\n";
    assert_eq!(arrivals(text), [(Op::Write, Some(0)), (Op::Read, Some(4)), (Op::Write, Some(9))]);
    assert_eq!(read(text, None).unwrap().0[1].address, 0x80);
    let wrong = |text: &str| read(text, Some(Format::Dramsys)).unwrap_err();
    assert_eq!(
        wrong("0 read 0x0\n"),
        "t:1: cycle: found \"0\", expected a whole number below 2^64 and a colon, such as 31:"
    );
    assert_eq!(wrong("0: load 0x0\n"), "t:1: operation: found \"load\", expected read or write");
    assert_eq!(wrong("0: read 0x0 0x1\n"), "t:1: line: found \"0x1\", expected the end of the line");
    assert_eq!(
        wrong("0: (0) read 0x0\n"),
        "t:1: length: found \"(0)\", expected bytes in parentheses, from 1 to 65536, such as (64)"
    );
}

/// Reads a trace of a name: cycle, operation, address and bytes of each access.
fn named(name: &str, text: &str) -> Vec<(u64, Op, u64, u32)> {
    let mut reader = Reader::from_bytes(name, text, None).unwrap();
    assert_eq!(reader.format(), Format::ScaleSim);
    let mut chunk = Vec::new();
    reader.next_chunk(&mut chunk).unwrap();
    chunk.iter().map(|access| (access.cycle.unwrap(), access.op, access.address, access.bytes)).collect()
}

#[test]
fn rows_of_scale_sim_hold_the_words_of_a_cycle() {
    // Version 2 writes decimals, negative cycles before the first computation, and -1 for empty places.
    let text = "-2.0,62.0,63.0,64.0,65.0,-1.0\n-1.0,-1.0,-1.0,-1.0,-1.0,-1.0\n1.0,4096.0,64.0,65.0,-1.0,66.0\n";
    let read = |cycle, address, bytes| (cycle, Op::Read, address, bytes);
    let expected = [read(0, 62, 2), read(0, 64, 2), read(3, 4096, 1), read(3, 64, 3)];
    assert_eq!(named("layer0/IFMAP_DRAM_TRACE.csv", text), expected);
    // Version 1 ends its rows with a comma. An output feature map is written.
    let expected = [(7, Op::Write, 10_000_000, 1), (9, Op::Write, 10_000_064, 1)];
    assert_eq!(named("yolo_conv1_dram_ofmap_write.csv", "7, 10000000.0, \n9, 10000064, \n"), expected);
    assert_eq!(named("OFMAP_DRAM_TRACE.csv", "5,-1\n3,8\n"), [(3, Op::Write, 8, 1)]);
    let wrong = |text: &str| read_scale_sim(text).unwrap_err();
    assert_eq!(
        wrong("0,1\n1.5,2\n"),
        "t:2: cycle: found \"1.5\", expected a whole number of less than 2^53, such as -5.0"
    );
    for found in ["-2", "1e300", "nan", "x", "9007199254740992"] {
        let expected = "expected a whole number of less than 2^53, or -1 for none";
        assert_eq!(wrong(&format!("0,1\n1,{found}\n")), format!("t:2: address: found \"{found}\", {expected}"));
    }
}

fn read_scale_sim(text: &str) -> Result<(Vec<Access>, u64), String> {
    read(text, Some(Format::ScaleSim))
}

#[test]
fn address_vectors_of_ramulator_2_are_read_if_they_are_one_address() {
    let found = read("W 140736775976056,140736775976056\nR 64,64\n", None).unwrap().0;
    assert_eq!(found, [access(0, Op::Write, 140736775976056, 1), access(0, Op::Read, 64, 1)]);
    assert_eq!(
        read("R 0,0,1,2,7,3\n", Some(Format::Ramulator)).unwrap_err(),
        "t:1: address vector: found \"0,0,1,2,7,3\", expected the same address in each place: numbers of channels, ranks, banks, rows and columns depend on the traced memory"
    );
}

#[test]
fn lines_with_and_without_cycles_do_not_mix() {
    assert_eq!(
        read("0x40 READ 1\n0x80 READ\n", None).unwrap_err(),
        "t:2: cycle: found the end of the line, expected a cycle, as in the lines before"
    );
    assert_eq!(
        read("0x40 READ\n0x80 READ 7\n", None).unwrap_err(),
        "t:2: cycle: found 7, expected none, as in the lines before"
    );
}

#[test]
fn errors_name_position_and_field() {
    let lackey = Some(Format::Lackey);
    let ramulator = Some(Format::Ramulator);
    let hexadecimal = "a hexadecimal address below 2^64, without 0x";
    let address = "0x and hexadecimal digits, or a whole number, below 2^64";
    let cases = [
        (lackey, "I  10,3\n X 10,3\n", "t:2: access: found \"X 10,3\", expected I, L, S or M".to_owned()),
        (lackey, " L 0x10,3\n", format!("t:1: address: found \"0x10\", expected {hexadecimal}")),
        (lackey, " L 11112222333344445,3\n", format!("t:1: address: found \"11112222333344445\", expected {hexadecimal}")),
        (lackey, " L 10\n", "t:1: size: found \"\", expected bytes, from 1 to 65536".to_owned()),
        (lackey, " L 10,0\n", "t:1: size: found \"0\", expected bytes, from 1 to 65536".to_owned()),
        (ramulator, "LD\n", format!("t:1: address: found the end of the line, expected {address}")),
        (ramulator, "LD 0xg\n", format!("t:1: address: found \"0xg\", expected {address}")),
        (ramulator, "LD 1\nLDR 1\n", "t:2: first word: found \"LDR\", expected LD, ST, an address or a number of instructions".to_owned()),
        (ramulator, "0x40 Q\n", "t:1: last word: found \"Q\", expected R or W, or an address to load".to_owned()),
        (ramulator, "1 2 3 4\n", "t:1: line: found \"4\", expected the end of the line".to_owned()),
        (None, "17\n", "t: cannot detect the trace format: found the first line \"17\", expected one of nandram-memory, lackey, ramulator, dram, dramsys, scalesim".to_owned()),
    ];
    for (format, text, complaint) in cases {
        assert_eq!(read(text, format), Err(complaint));
    }
    let whole = written(&[(5, false, 7)], 2);
    let end = whole.len();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        read(bytes, Some(Format::Nandram)).unwrap_err()
    };
    assert_eq!(with(&|bytes| bytes[end - 2] = 2), "t record 1: records: found 2, expected 1, the number of records");
    assert_eq!(
        with(&|bytes| bytes[end - 1] = 6),
        "t record 1: instructions: found 6, expected at least 7, the sum of the records"
    );
    assert_eq!(with(&|bytes| bytes.push(1)), "t record 1: end: found 1 more bytes, expected the end of the file");
    assert_eq!(
        with(&|bytes| bytes.truncate(end - 1)),
        "t record 2: line: found the end of the file, expected a line, or 0 and the number of records"
    );
    let text = String::from_utf8_lossy(&whole[..end - 5]).replace("64,", "48,");
    let odd = read(text.into_bytes(), None).unwrap_err();
    assert_eq!(odd, "t:2: line_bytes: found 48, expected a power of two up to 65536");
    // Line 5 - 6, which is negative.
    assert_eq!(
        with(&|bytes| bytes[end - 5] = 2 * 11 + 1),
        "t record 1: line: found 18446744073709551610, expected a line whose address is below 2^64"
    );
}
