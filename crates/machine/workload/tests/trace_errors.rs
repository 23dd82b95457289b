//! Exact error messages of invalid traces.

use std::io::Write;

use proptest::prelude::Strategy;
use workload::trace::{Format, Reader, TraceError};

/// Returns the first error of a trace, or "no error".
fn first_error(name: &str, bytes: &[u8], format: Option<Format>) -> String {
    let reader = match Reader::from_bytes(name, bytes, format) {
        Ok(reader) => reader,
        Err(error) => return error.to_string(),
    };
    let mut reader = reader.skip_while(Result::is_ok);
    match reader.next() {
        Some(error) => {
            assert!(reader.next().is_none(), "the iterator ends after an error");
            error.unwrap_err().to_string()
        }
        None => "no error".to_owned(),
    }
}

/// Returns the names of all formats, as messages list them.
fn all() -> String {
    Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

#[test]
fn lines() {
    use Format::*;
    let iolog = "\"fio version 2 iolog\" or \"fio version 3 iolog\"";
    let scsi =
        "a SCSI read (08, 28, 88, a8), write (0a, 2a, 8a, aa, 2e, 8e, ae), synchronize cache (35, 91) or unmap (42)";
    let rwbs = "[F](R, W, D or N)[F, A, S, M, E, B] as blkparse prints them";
    let v2 = "add, open, close, read, write, sync, datasync, trim or wait";
    let v3 = "add, open, close, read, write, sync, datasync or trim";
    let cases: &[(Format, &str, String)] = &[
        // MSR Cambridge.
        (Msr, "1,usr,0,Raed,0,512,1", "t:1: Type: found \"Raed\", expected Read or Write".into()),
        (
            Msr,
            "1,usr,0,Read,0,512,1\n\n# a comment\nx,usr,0,Read,0,512,1",
            "t:4: Timestamp: found \"x\", expected a Windows file time: a whole number of 100 ns".into(),
        ),
        (Msr, "1,usr,0,Read,-8,512,1", "t:1: Offset: found \"-8\", expected a whole number of bytes".into()),
        (Msr, "1,usr,0,Read,8,5k,1", "t:1: Size: found \"5k\", expected a whole number of bytes".into()),
        (
            Msr,
            "1,usr,0,Read,8,512",
            "t:1: ResponseTime: found the end of the line, expected a whole number of 100 ns".into(),
        ),
        (Msr, "1,usr,0,Read,8,512,3,4\r\n", "t:1: line: found \"4\", expected the end of the line".into()),
        (Msr, "1,,0,Read,8,512,3", "t:1: Hostname: found \"\", expected the name of the traced server".into()),
        (Msr, "1,usr,C:,Read,8,512,3", "t:1: DiskNumber: found \"C:\", expected a whole number".into()),
        (
            Msr,
            "1,usr,0,Read,8,512,3\n2,usr",
            "t:2: DiskNumber: found the end of the line, expected a whole number".into(),
        ),
        (
            Msr,
            "0,usr,0,Read,8,512,3\n9000000000000000000,usr,0,Read,8,512,3",
            "t:2: time: found 9000000000000000000 ticks of 100ns, expected less than 213 days from the first record"
                .into(),
        ),
        (
            Msr,
            "1,usr,0,Read,9999999999999999999,9999999999999999999,3",
            "t:1: range: found 9999999999999999999 bytes at 9999999999999999999, expected one that ends below 2^64"
                .into(),
        ),
        // SPC.
        (Spc, "0,1,512,x,0.0", "t:1: Opcode: found \"x\", expected r or w".into()),
        (Spc, "0,1,512,w,1e-3", "t:1: Timestamp: found \"1e-3\", expected seconds, such as 0.026214".into()),
        (Spc, "a,1,512,w,1", "t:1: ASU: found \"a\", expected a whole number".into()),
        (Spc, "0,-1,512,w,1", "t:1: LBA: found \"-1\", expected a whole number of 512-byte blocks".into()),
        (
            Spc,
            "0,40000000000000000,512,w,1",
            "t:1: LBA: found \"40000000000000000\", expected a sector below 2^55".into(),
        ),
        (Spc, "0,1,512,w", "t:1: Timestamp: found the end of the line, expected seconds, such as 0.026214".into()),
        // MQSim.
        (Mqsim, "5 0 8 8 2", "t:1: type: found \"2\", expected 1 (read) or 0 (write)".into()),
        (Mqsim, "5 0 8 8", "t:1: type: found the end of the line, expected 1 (read) or 0 (write)".into()),
        (Mqsim, "5 0 8 8 1\n6,0,8,8,1", "t:2: arrival time: found \"6,0,8,8,1\", expected a whole number of ns".into()),
        (Mqsim, "5 sda 8 8 1", "t:1: device: found \"sda\", expected a whole number".into()),
        (Mqsim, "5 0 8 8 1 1", "t:1: line: found \"1\", expected the end of the line".into()),
        (Mqsim, "5 0 8 0x8 1", "t:1: sectors: found \"0x8\", expected a whole number of 512-byte sectors".into()),
        // CloudPhysics.
        (CloudPhysics, "version,time,op,size,lbn\n3,7,2a,512,1", "t:2: version: found \"3\", expected 1 or 2".into()),
        (CloudPhysics, "v1,7,2a,512,1", "t:1: version: found \"v1\", expected 1 or 2".into()),
        (CloudPhysics, "1,7,93,512,1", format!("t:1: op: found \"93\", expected {scsi}")),
        (CloudPhysics, "1,7,write,512,1", format!("t:1: op: found \"write\", expected {scsi}")),
        (CloudPhysics, "1,7s,2a,512,1", "t:1: time: found \"7s\", expected seconds".into()),
        (CloudPhysics, "1,7,2a,,1", "t:1: size: found \"\", expected a whole number of bytes".into()),
        // fio.
        (FioIolog, "", format!("t:1: header: found \"\", expected {iolog}")),
        (FioIolog, "fio version 1 iolog\n", format!("t:1: header: found \"fio version 1 iolog\", expected {iolog}")),
        (
            FioIolog,
            "fio version 3 iolog\n0 /a open\n",
            "t:2: file name: found \"/a\", expected a file that was added before".into(),
        ),
        (
            FioIolog,
            "fio version 3 iolog\n0 /a add\n5 /b read 0 512\n",
            "t:3: file name: found \"/b\", expected a file that was added before".into(),
        ),
        (
            FioIolog,
            "fio version 3 iolog\n0 /a add\n5 /a wait 0 0\n",
            format!("t:3: action: found \"wait\", expected {v3}"),
        ),
        (
            FioIolog,
            "fio version 2 iolog\n/a add\n/a raed 0 512\n",
            format!("t:3: action: found \"raed\", expected {v2}"),
        ),
        (
            FioIolog,
            "fio version 3 iolog\n/a add\n",
            "t:2: timestamp: found \"/a\", expected a whole number of us".into(),
        ),
        (
            FioIolog,
            "fio version 3 iolog\n0 /a add\n1 /a read 512\n",
            "t:3: length: found the end of the line, expected a whole number of bytes".into(),
        ),
        (
            FioIolog,
            "fio version 2 iolog\n/a add\n/a wait soon 0\n",
            "t:3: offset: found \"soon\", expected a whole number of us".into(),
        ),
        (
            FioIolog,
            "fio version 2 iolog\n/a add now\n",
            "t:2: line: found \"now\", expected the end of the line".into(),
        ),
        // blkparse.
        (
            Blkparse,
            "sda 0 1 0.0 1 Q R 0 + 8 [a]",
            "t:1: device: found \"sda\", expected MAJOR,MINOR as blkparse prints them".into(),
        ),
        (
            Blkparse,
            "8,0 0 1 0.1x 1 Q R 0 + 8 [a]",
            "t:1: time: found \"0.1x\", expected seconds, such as 0.000012345".into(),
        ),
        (Blkparse, "8,0 0 1 0.1 1 Q WX 0 + 8 [a]", format!("t:1: RWBS: found \"WX\", expected {rwbs}")),
        (Blkparse, "8,0 0 1 0.1 1 Q XW 0 + 8 [a]", format!("t:1: RWBS: found \"XW\", expected {rwbs}")),
        (
            Blkparse,
            "8,0 0 1 0.1 1 Q W 0 + x [a]",
            "t:1: sectors: found \"x\", expected a whole number of 512-byte sectors".into(),
        ),
        (
            Blkparse,
            "8,0 0 1 0.1 1 Q W x + 8 [a]",
            "t:1: sector: found \"x\", expected a whole number of 512-byte sectors".into(),
        ),
        (Blkparse, "8,0 0 1 0.1", "t:1: pid: found the end of the line, expected a whole number".into()),
    ];
    assert!(cases.len() >= 20);
    for (format, trace, expected) in cases {
        assert_eq!(first_error("t", trace.as_bytes(), Some(*format)), *expected, "{trace}");
    }
}

#[test]
fn binary_records() {
    let v1 = |version: u16, command: u16, lbn: u64| {
        let mut record = [0; 32];
        record[4..8].copy_from_slice(&512u32.to_le_bytes());
        record[12..14].copy_from_slice(&command.to_le_bytes());
        record[14..16].copy_from_slice(&version.to_le_bytes());
        record[16..24].copy_from_slice(&lbn.to_le_bytes());
        record
    };
    let good = v1(0x100, 0x2a, 8);
    let scsi =
        "a SCSI read (08, 28, 88, a8), write (0a, 2a, 8a, aa, 2e, 8e, ae), synchronize cache (35, 91) or unmap (42)";
    let many = good.repeat(70);
    let cases = [
        (
            [&many[..], &v1(0x300, 0x2a, 8)].concat(),
            "t record 71: version: found 0x0300, expected 0x0100 to 0x01ff: version 1".to_owned(),
        ),
        (
            v1(0x300, 0x2a, 8).to_vec(),
            "t record 1: version: found 0x0300, expected 0x0100 to 0x01ff: version 1".to_owned(),
        ),
        ([good, v1(0x100, 0x93, 8)].concat(), format!("t record 2: command: found 0x93, expected {scsi}")),
        (
            [good, v1(0x100, 0x28, u64::MAX)].concat(),
            "t record 2: LBN: found 18446744073709551615, expected a sector below 2^55".to_owned(),
        ),
        (
            [&good[..], &good[..12]].concat(),
            "t record 2: found the end of the file after 12 of its bytes (byte 44), expected 32".to_owned(),
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(first_error("t", &bytes, Some(Format::Vscsi)), expected);
    }
}

#[test]
fn undetectable_formats_are_described() {
    let long = format!("{} {}", "lorem ipsum".repeat(10), "1 2 3");
    let cases: [(&[u8], String); 7] = [
        (b"", "an empty file".into()),
        (b"\n\n# nothing\n", "only blank lines and comments".into()),
        (b"time;disk;op\n1;2;r\n", "the first line \"time;disk;op\"".into()),
        (b"1,2,3\n", "the first line \"1,2,3\"".into()),
        (b"1 2 3 4 5\n", "the first line \"1 2 3 4 5\"".into()),
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary data that begins with 7f 45 4c 46 02 01 01 00".into()),
        (long.as_bytes(), format!("the first line \"{}…\"", &long[..40])),
    ];
    for (bytes, saw) in cases {
        let expected = format!("t.csv: cannot detect the trace format: found {saw}, expected one of {}", all());
        let error = first_error("t.csv", bytes, None);
        assert!(error.starts_with(&expected), "{error}");
        assert!(error.ends_with("; --columns names the columns of a text"), "{error}");
    }
}

#[test]
fn names_of_formats() {
    for (found, nearest) in
        [("mrs", "msr"), ("iolog", "fio-iolog"), ("VSCSI", "vscsi"), ("blktrace", "blkparse"), ("spx", "spc")]
    {
        let error = found.parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("found the trace format \"{found}\", expected one of {}; the nearest is \"{nearest}\"", all())
        );
    }
}

#[test]
fn other_compressions() {
    for (magic, name) in [
        (&b"\xfd7zXZ\0\0"[..], "xz"),
        (b"BZh91AY", "bzip2"),
        (b"\x04\x22\x4d\x18\x60", "lz4"),
        (b"PK\x03\x04\x14", "zip"),
    ] {
        assert_eq!(first_error("t", magic, None), format!("t: found {name} data, expected plain, gzip or zstd"));
    }
}

/// Returns 20,000 lines, more than the reader ever buffers.
fn long_trace() -> String {
    (0..20_000u64).map(|i| format!("{} 0 {} 8 {}\n", i * 1000, i * 7919 % 1_000_000 * 8, i % 2)).collect()
}

#[test]
fn truncated_compressed_data_is_an_error() {
    let long = long_trace();
    for text in [&long[..1000], &long] {
        cut_off(text);
    }
}

fn cut_off(text: &str) {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    for (compression, bytes) in
        [("gzip", gzip.finish().unwrap()), ("zstd", zstd::encode_all(text.as_bytes(), 3).unwrap())]
    {
        // Wherever the data is truncated, all preceding lines are read, and the error names the position.
        for length in [12, 20, bytes.len() / 2, bytes.len() - 1] {
            let opened = Reader::from_bytes("t", &bytes[..length], Some(Format::Mqsim));
            let (read, error) = match opened {
                Ok(mut reader) => {
                    let read = reader.by_ref().take_while(Result::is_ok).count() as u64;
                    // take_while has consumed the error; a second reader returns it again.
                    let mut again = Reader::from_bytes("t", &bytes[..length], Some(Format::Mqsim)).unwrap();
                    (read, again.find_map(Result::err).unwrap())
                }
                Err(error) => (0, error),
            };
            let message = error.to_string();
            let TraceError::Damaged { bytes: out, .. } = error else { panic!("{message}") };
            let lines = text.as_bytes()[..out as usize].iter().filter(|byte| **byte == b'\n').count() as u64;
            assert_eq!(read, lines, "{compression} cut off at {length}: {message}");
            let start =
                format!("t:{}: the {compression} data ends after {out} bytes of trace, expected more (", read + 1);
            assert!(message.starts_with(&start), "{message}");
        }
    }
}

#[test]
fn damaged_compressed_data_is_an_error() {
    let text = long_trace();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let mut bytes = gzip.finish().unwrap();
    let length = bytes.len();
    // The checksum in gzip's trailer.
    bytes[length - 8] ^= 1;
    let message = first_error("t", &bytes, Some(Format::Mqsim));
    assert_eq!(
        message,
        format!(
            "t:20001: the gzip data is damaged after {} bytes of trace, expected more (corrupt gzip stream does not have a matching checksum)",
            text.len()
        )
    );
}

#[test]
fn missing_files_are_errors() {
    let error = Reader::open(std::path::Path::new("/no/such/trace.csv"), None).err().unwrap().to_string();
    assert_eq!(error, "/no/such/trace.csv: No such file or directory (os error 2)");
}

#[test]
fn pipes_and_folders_are_refused_at_once() {
    let folder = std::env::temp_dir().join(format!("nandram-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("trace.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = |path: &std::path::Path| Reader::open(path, None).err().unwrap().to_string();
    // Without a writer, opening a pipe would wait forever.
    assert_eq!(refused(&pipe), format!("{}: found a pipe or a device, expected a file", pipe.display()));
    assert_eq!(refused(&folder), format!("{}: found a folder, expected a file", folder.display()));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn errors_stay_small() {
    // They are returned by value with every record.
    assert!(size_of::<TraceError>() <= 128, "{}", size_of::<TraceError>());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
    #[test]
    fn no_input_causes_a_panic(
        start in proptest::prelude::prop_oneof![
            proptest::prelude::Just(""),
            proptest::prelude::Just("fio version 3 iolog\n0 a add\n"),
            proptest::prelude::Just("fio version 2 iolog\na add\n"),
            proptest::prelude::Just("\x1f\u{8b}"),
            proptest::prelude::Just("8,0 0 1 0.1 1 Q "),
        ],
        tail in proptest::prelude::prop_oneof![
            proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            "[0-9a ,.\nQRWFread]{0,100}".prop_map(String::into_bytes),
        ],
    ) {
        let bytes = [start.as_bytes(), &tail].concat();
        let columns = Format::Columns("time=0:ms,op=1,offset=2:sectors,bytes=3,device=4".parse().unwrap());
        for format in [None, Some(columns)].into_iter().chain(Format::ALL.iter().copied().map(Some)) {
            if let Ok(reader) = Reader::from_bytes("t", bytes.clone(), format) {
                for record in reader.flatten() {
                    proptest::prop_assert!(record.offset.checked_add(record.bytes).is_some());
                }
            }
        }
    }
}
