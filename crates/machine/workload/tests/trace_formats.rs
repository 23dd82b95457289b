//! All trace formats: a sample of each, special cases, detection, compression.

use std::path::{Path, PathBuf};

use sim::Time;
use workload::trace::{Format, Reader, Record, RecordOp};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn read_all(reader: Reader) -> Vec<Record> {
    reader.map(|record| record.unwrap()).collect()
}

fn text(format: Format, text: &str) -> Vec<Record> {
    read_all(Reader::from_bytes("t", text, Some(format)).unwrap())
}

fn record(at_ns: u64, device: u32, op: RecordOp, offset: u64, bytes: u64) -> Record {
    Record { at: Time::from_ns(at_ns), device, op, fua: false, offset, bytes, timed: true }
}

const SAMPLES: [(&str, Format, &str); 11] = [
    ("sample.msr.csv", Format::Msr, "bank_0"),
    ("sample.msr.csv.gz", Format::Msr, "bank_0"),
    ("sample.spc", Format::Spc, "0"),
    ("sample.mqsim", Format::Mqsim, "0"),
    ("sample.cloudphysics.csv", Format::CloudPhysics, "0"),
    ("sample.v1.vscsi", Format::Vscsi, "0"),
    ("sample.v2.vscsi", Format::Vscsi, "0"),
    ("sample.blkparse", Format::Blkparse, "8,0"),
    ("sample.v3.iolog", Format::FioIolog, "/dev/bank"),
    ("sample.v3.iolog.zst", Format::FioIolog, "/dev/bank"),
    ("sample.v2.iolog", Format::FioIolog, "/dev/bank"),
];

#[test]
fn every_format_yields_the_same_requests() {
    let expected = read_all(Reader::open(&sample("sample.mqsim"), None).unwrap());
    assert_eq!(expected.len(), 64);
    assert_eq!(expected[0], record(0, 0, RecordOp::Read, 847_876_096, 4096));
    assert_eq!(expected[63].at, Time::from_us(25_930));
    for (name, format, device) in SAMPLES {
        let mut reader = Reader::open(&sample(name), None).unwrap();
        assert_eq!(reader.format(), format, "{name}");
        let mut records: Vec<Record> = reader.by_ref().map(|record| record.unwrap()).collect();
        if name == "sample.v2.iolog" {
            assert!(records.iter().all(|record| !record.timed));
            records.retain(|record| record.op != RecordOp::Wait);
            records.iter_mut().for_each(|record| record.timed = true);
        }
        assert_eq!(records, expected, "{name}");
        assert_eq!(reader.devices(), [device], "{name}");
        assert_eq!((reader.reordered(), reader.skipped()), (0, 0), "{name}");
    }
}

#[test]
fn content_determines_the_format_whatever_the_name() {
    for (name, format, _) in SAMPLES {
        let bytes = std::fs::read(sample(name)).unwrap();
        let reader = Reader::from_bytes("some.txt", bytes, None).unwrap();
        assert_eq!(reader.format(), format, "{name}");
    }
}

#[test]
fn one_line_suffices_to_detect_a_format() {
    let cases = [
        ("fio version 3 iolog", Format::FioIolog),
        ("\n# comment\r\n128166372003061629,usr,0,Read,7014609920,24576,41286\r\n", Format::Msr),
        ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", Format::Msr),
        ("0,303567,3584,w,0.000000", Format::Spc),
        ("0,303567,3584,W,0,extra", Format::Spc),
        ("version,time,op,size,lbn\n", Format::CloudPhysics),
        ("1,5633898,2a,512,42932745\n", Format::CloudPhysics),
        ("938513000 4 264719034 16 0\n", Format::Mqsim),
        (
            "Input file sda.blktrace.0 added\n  8,0    3        1     0.000000000   697  G   W 2 + 8 [k]\n",
            Format::Blkparse,
        ),
        ("259,16   3        1     0.000000000   697  m   N cfq", Format::Blkparse),
    ];
    for (head, format) in cases {
        assert_eq!(Format::detect(Path::new("x"), head.as_bytes()).unwrap(), format, "{head}");
    }
}

#[test]
fn the_name_determines_the_format_of_inconclusive_content() {
    for (name, format) in [("a.spc", Format::Spc), ("b.MQSIM.gz", Format::Mqsim), ("c.iolog.zst", Format::FioIolog)] {
        assert_eq!(Format::detect(Path::new(name), b"").unwrap(), format);
    }
    assert!(Format::detect(Path::new("a.csv"), b"").is_err());
}

#[test]
fn format_names_round_trip() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), *format);
    }
}

#[test]
fn the_documentation_names_each_format() {
    for format in Format::ALL {
        assert!(!format.name().is_empty() && !format.title().is_empty() && !format.layout().is_empty(), "{format:?}");
    }
}

#[test]
fn msr_has_a_device_for_each_disk_of_each_host() {
    let trace = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                 128166372003061629,usr,0,Read,512,1024,9\n\
                 128166372003061630,usr,1,write,0,512,9\r\n\
                 128166372003061639, prn , 0 ,Write,100,3,9\n\
                 128166372003061640,usr,0,Read,0,512,9";
    let mut reader = Reader::from_bytes("t", trace, None).unwrap();
    let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(
        records,
        [
            record(0, 0, RecordOp::Read, 512, 1024),
            record(100, 1, RecordOp::Write, 0, 512),
            record(1000, 2, RecordOp::Write, 100, 3),
            record(1100, 0, RecordOp::Read, 0, 512),
        ]
    );
    assert_eq!(reader.devices(), ["usr_0", "usr_1", "prn_0"]);
    assert_eq!(reader.line(), 5);
}

#[test]
fn spc_may_have_blanks_and_further_fields() {
    let records = text(Format::Spc, " 1 , 2 , 1024 , R , 0.5 , more\n0,1,512,w,0.500001\n");
    assert_eq!(records, [record(0, 0, RecordOp::Read, 1024, 1024), record(1000, 1, RecordOp::Write, 512, 512)]);
}

#[test]
fn inversions_are_moved_forward_and_counted() {
    let trace = "5000 0 0 1 0\n7000 0 0 1 0\n6000 0 0 1 0\n4000 0 0 1 0\n8000 0 0 1 1\n";
    let mut reader = Reader::from_bytes("t", trace, Some(Format::Mqsim)).unwrap();
    let at: Vec<u64> = reader.by_ref().map(|record| record.unwrap().at.ns()).collect();
    assert_eq!(at, [0, 2000, 2000, 2000, 3000]);
    assert_eq!(reader.reordered(), 2);
}

#[test]
fn empty_transfers_are_counted_but_not_yielded() {
    let mut reader = Reader::from_bytes("t", "1 0 0 0 0\n5 0 0 1 0\n9 0 8 0 1\n", Some(Format::Mqsim)).unwrap();
    // The first record is the first request with data.
    assert_eq!(reader.by_ref().map(Result::unwrap).collect::<Vec<_>>(), [record(0, 0, RecordOp::Write, 0, 512)]);
    assert_eq!(reader.skipped(), 2);
}

#[test]
fn blkparse_flags_are_parsed() {
    let line = |time: &str, rest: &str| format!("  8,0    3        1     {time}   697  {rest}\n");
    let trace = line("0.000000100", "Q  WS 8 + 8 [a b] c]")
        + &line("0.000000200", "D  WS 8 + 8 [a]")
        + &line("0.000000300", "Q   D 16 + 2048 [fstrim]")
        + &line("0.000000400", "Q FWS [jbd2/sda1-8]")
        + &line("0.000000500", "Q  FN [kworker]")
        + &line("0.000000600", "Q FWFSM 64 + 8 [jbd2/sda1-8]")
        + &line("0.000000700", "Q   N [a]")
        + &line("0.000000800", "Q   R 36 (12 00 00 00 24 00 ..) [hdparm]")
        + &line("0.000000900", "Q RAM 24 + 8 ( 1234) [a]")
        + &line("0.000001000", "Q  WB 32 + 1 [old]")
        + "  8,16   0        9     1.000000000     0  Q   R 0 + 1 [b]\n"
        + "CPU0 (sda):\n Reads Queued:           1,        4KiB\n\nTotal (sda):\n8 of them\n";
    let mut reader = Reader::from_bytes("t", trace, None).unwrap();
    let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
    let fua = |record| Record { fua: true, ..record };
    let flush = |at| record(at, 0, RecordOp::Flush, 0, 0);
    assert_eq!(
        records,
        [
            record(0, 0, RecordOp::Write, 4096, 4096),
            record(200, 0, RecordOp::Trim, 8192, 1 << 20),
            flush(300),
            flush(400),
            flush(500),
            fua(record(500, 0, RecordOp::Write, 32768, 4096)),
            record(800, 0, RecordOp::Read, 12288, 4096),
            flush(900),
            fua(record(900, 0, RecordOp::Write, 16384, 512)),
            record(999_999_900, 1, RecordOp::Read, 0, 512),
        ]
    );
    assert_eq!(reader.skipped(), 2);
    assert_eq!(reader.devices(), ["8,0", "8,16"]);
}

#[test]
fn iolog_3_counts_from_its_first_request() {
    let trace = "fio version 3 iolog\r\n0 /a add\r\n0 /b add\r\n3 /a open\r\n100 /a write 24 7\r\n\
                 101 /b read 0 512\r\n\r\n150 /a datasync 0 0\r\n151 /b sync 0 0\r\n160 /b trim 4096 8192\r\n170 /a close\r\n";
    let mut reader = Reader::from_bytes("t", trace, None).unwrap();
    assert_eq!(
        reader.by_ref().map(Result::unwrap).collect::<Vec<_>>(),
        [
            record(0, 0, RecordOp::Write, 24, 7),
            record(1_000, 1, RecordOp::Read, 0, 512),
            record(50_000, 0, RecordOp::Flush, 0, 0),
            record(51_000, 1, RecordOp::Flush, 0, 0),
            record(60_000, 1, RecordOp::Trim, 4096, 8192),
        ]
    );
    assert_eq!(reader.devices(), ["/a", "/b"]);
    assert_eq!(reader.line(), 11);
}

#[test]
fn iolog_2_waits_add_up() {
    let trace = "fio version 2 iolog\n/a add\n/a open\n/a wait 50 0\n/a read 0 512\n/a wait 4000 0\n/a write 512 512\n";
    let untimed = |at_ns, op, offset, bytes| Record { timed: false, ..record(at_ns, 0, op, offset, bytes) };
    assert_eq!(
        text(Format::FioIolog, trace),
        [
            untimed(50_000, RecordOp::Wait, 0, 0),
            untimed(50_000, RecordOp::Read, 0, 512),
            untimed(4_050_000, RecordOp::Wait, 0, 0),
            untimed(4_050_000, RecordOp::Write, 512, 512),
        ]
    );
}

#[test]
fn scsi_commands_become_requests() {
    let ops = [
        ("08", RecordOp::Read),
        ("28", RecordOp::Read),
        ("88", RecordOp::Read),
        ("A8", RecordOp::Read),
        ("0a", RecordOp::Write),
        ("0x2a", RecordOp::Write),
        ("8a", RecordOp::Write),
        ("aa", RecordOp::Write),
        ("8e", RecordOp::Write),
        ("35", RecordOp::Flush),
        ("91", RecordOp::Flush),
        ("42", RecordOp::Trim),
    ];
    for (code, op) in ops {
        // INQUIRY does not access the medium; the range of a synchronize cache is ignored.
        let trace = format!("version,time,op,size,lbn\n1,7,12,96,0\n2,7,{code},1024,3\n");
        let mut reader = Reader::from_bytes("t", trace, None).unwrap();
        let (offset, bytes) = if op == RecordOp::Flush { (0, 0) } else { (1536, 1024) };
        assert_eq!(
            reader.by_ref().map(Result::unwrap).collect::<Vec<_>>(),
            [record(0, 0, op, offset, bytes)],
            "{code}"
        );
        assert_eq!(reader.skipped(), 1);
    }
}

#[test]
fn a_vscsi_trace_may_have_one_record_or_none() {
    let bytes = std::fs::read(sample("sample.v2.vscsi")).unwrap();
    assert_eq!(read_all(Reader::from_bytes("t", &bytes[..40], None).unwrap()).len(), 1);
    assert_eq!(read_all(Reader::from_bytes("t.vscsi", "", None).unwrap()), []);
}

#[test]
fn concatenated_gzip_and_zstd_files_are_read_as_one() {
    use flate2::write::GzEncoder;
    use std::io::Write;
    let halves = ["1000 0 0 1 0\n2000 0 8 ", "1 1\n3000 0 16 1 0"];
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3].to_vec();
    let expected = text(Format::Mqsim, &halves.concat());
    assert_eq!(expected.len(), 3);
    for bytes in [halves.map(gzip).concat(), halves.map(zstd).concat(), [skippable, halves.map(zstd).concat()].concat()]
    {
        assert_eq!(read_all(Reader::from_bytes("t", bytes, None).unwrap()), expected);
    }
}

#[test]
fn a_reader_can_move_to_another_thread() {
    let reader = Reader::open(&sample("sample.v3.iolog.zst"), None).unwrap();
    assert_eq!(std::thread::spawn(move || read_all(reader).len()).join().unwrap(), 64);
}

/// Reads the sample traces of libCacheSim and MQSim, if `NANDRAM_TRACES` names the folder that contains them.
#[test]
fn real_traces() {
    let Some(folder) = std::env::var_os("NANDRAM_TRACES").map(PathBuf::from) else { return };
    let open = |name: &str| read_all(Reader::open(&folder.join(name), None).unwrap());
    assert_eq!(open("tpcc-small.trace").len(), 6_999);
    let (csv, vscsi) = (open("cloudPhysicsIO.csv"), open("cloudPhysicsIO.vscsi"));
    assert_eq!((csv.len(), vscsi.len()), (113_872, 113_872));
    for (csv, vscsi) in csv.iter().zip(&vscsi) {
        assert_eq!(Record { at: Time::ZERO, ..*csv }, Record { at: Time::ZERO, ..*vscsi });
        // The text has the same clock in whole seconds; the first record is 0.368802 s into a second.
        let into = vscsi.at + Time::from_us(368_802);
        assert_eq!(csv.at, Time::from_s(into.ns() / 1_000_000_000));
    }
}

/// A request in the units that all text formats share: ticks of a microsecond, and sectors.
type Request = (u64, u32, bool, u64, u64);

/// Formats requests as lines of a format, with its header.
fn formatted(format: Format, requests: &[Request]) -> String {
    let line = |(at, device, read, sector, sectors): &Request| {
        let (s, us) = (at / 1_000_000, at % 1_000_000);
        let (offset, bytes) = (sector * 512, sectors * 512);
        let rw = |words: [&'static str; 2]| words[usize::from(*read)];
        match format {
            Format::Msr => format!("{},host,{device},{},{offset},{bytes},77", at * 10, rw(["Write", "Read"])),
            Format::Spc => format!("{device},{sector},{bytes},{},{s}.{us:06}", rw(["w", "r"])),
            Format::Mqsim => format!("{} {device} {sector} {sectors} {}", at * 1000, rw(["0", "1"])),
            Format::Blkparse => {
                let end = format!("{s:5}.{us:06}000 {:5}  Q {:>3} {sector} + {sectors} [p q]", 7, rw(["WS", "RA"]));
                format!("  8,{device:<3}  1 {:8} {end}", 3)
            }
            Format::CloudPhysics => format!("1,{s}.{us:06},{},{bytes},{sector}", rw(["2a", "28"])),
            Format::FioIolog => format!("{at} /{device} {} {offset} {bytes}", rw(["write", "read"])),
            Format::Alibaba => format!("{device},{},{offset},{bytes},{at}", rw(["W", "R"])),
            Format::Columns(_) => {
                format!("{device} {}.{:03} {sector} {bytes} {}", at / 1000, at % 1000, rw(["w", "READ"]))
            }
            // Formats with whole seconds or without operations, and binary formats.
            other => unreachable!("{other} cannot hold the requests"),
        }
    };
    let mut lines: Vec<String> = match format {
        Format::FioIolog => {
            let adds = (0..300).map(|device| format!("0 /{device} add"));
            std::iter::once("fio version 3 iolog".to_owned()).chain(adds).collect()
        }
        _ => Vec::new(),
    };
    lines.extend(requests.iter().map(line));
    lines.join("\n")
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
    #[test]
    fn requests_round_trip_through_every_text_format(
        requests in proptest::collection::vec((0u64..1 << 40, 0u32..300, proptest::prelude::any::<bool>(), 0u64..1 << 40, 1u64..1 << 20), 1..50),
        crlf in proptest::prelude::any::<bool>(),
    ) {
        use Format::*;
        let columns = Columns("device=0,time=1:ms,offset=2:sectors,bytes=3,op=4".parse().unwrap());
        for format in [Msr, Spc, Mqsim, Blkparse, CloudPhysics, FioIolog, Alibaba, columns] {
            let mut trace = formatted(format, &requests);
            if crlf {
                trace = trace.replace('\n', "\r\n");
            }
            let given = (format == columns).then_some(format);
            let mut reader = Reader::from_bytes("t", trace, given).unwrap();
            proptest::prop_assert_eq!(reader.format(), format);
            let (mut latest, mut reordered) = (requests[0].0, 0);
            for (at, device, read, sector, sectors) in &requests {
                reordered += u64::from(*at < latest);
                latest = latest.max(*at);
                let found = reader.next().unwrap().unwrap();
                let op = if *read { RecordOp::Read } else { RecordOp::Write };
                let expected = record((latest - requests[0].0) * 1000, found.device, op, sector * 512, sectors * 512);
                proptest::prop_assert_eq!(found, expected);
                let name = &reader.devices()[found.device as usize];
                let name_expected = match format {
                    Msr => format!("host_{device}"),
                    Blkparse => format!("8,{device}"),
                    FioIolog => format!("/{device}"),
                    CloudPhysics => "0".to_owned(),
                    _ => device.to_string(),
                };
                proptest::prop_assert_eq!(name, &name_expected);
            }
            proptest::prop_assert!(reader.next().is_none());
            proptest::prop_assert_eq!(reader.reordered(), reordered);
        }
    }
}
