//! Traces as tools and repositories write them. Each holds a read of 4 KiB at 1 MiB, a write of 8 KiB at 2 MiB 1 ms later, a
//! read of 64 KiB at 3 MiB at 2 ms, and a write of 4 KiB at 1 MiB at 10 ms.

mod scratch;

use scratch::Folder;
use sim::Time;
use workload::Workload;
use workload::trace::{Columns, Format, Reader, RecordOp};

type Request = (Time, RecordOp, u64, u64);

fn read(name: &str, text: &str, format: Option<Format>) -> Result<Vec<Request>, String> {
    let reader = Reader::from_bytes(name, text, format).map_err(|error| error.to_string())?;
    reader.map(|record| record.map(|r| (r.at, r.op, r.offset, r.bytes)).map_err(|error| error.to_string())).collect()
}

fn expected() -> Vec<Request> {
    let (ms, mib) = (Time::from_ms, 1u64 << 20);
    vec![
        (ms(0), RecordOp::Read, mib, 4096),
        (ms(1), RecordOp::Write, 2 * mib, 8192),
        (ms(2), RecordOp::Read, 3 * mib, 65536),
        (ms(10), RecordOp::Write, mib, 4096),
    ]
}

const SYSTOR: &str = "Timestamp,Response,IOType,LUN,Offset,Size
1456000000.000000000,0.000512,R,2,1048576,4096
1456000000.001000000,,W,2,2097152,8192
1456000000.002000000,0.000733,R,2,3145728,65536
1456000000.010000000,0.000090,W,2,1048576,4096
";

const ETW: &str = "               DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID, IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum
               DiskRead,       1000,              app ( 100),       4242, 0xfffffa8001a9b010, 0x0000100000, 0x00001000,        512,        1
              DiskWrite,       2000,              app ( 100),       4242, 0xfffffa8001a9b010, 0x0000200000, 0x00002000,        101,        1
                CSwitch,       2500,              app ( 100),       4242
               DiskRead,       3000,              app ( 100),       4242, 0xfffffa8001a9b010, 0x0000300000, 0x00010000,        733,        1
              DiskWrite,      11000,              app ( 100),       4242, 0xfffffa8001a9b010, 0x0000100000, 0x00001000,         90,        1
";

const PERF: &str = "app  4242 [000]   100.000000: block:block_rq_issue: 259,0 R 4096 () 2048 + 8 [app]
app  4242 [000]   100.000100: block:block_rq_complete: 259,0 R () 2048 + 8 [0]
app  4242 [000]   100.001000: block:block_rq_issue: 259,0 W 8192 () 4096 + 16 [app]
app  4242 [000]   100.002000: block:block_rq_issue: 259,0 R 65536 () 6144 + 128 [app]
app  4242 [000]   100.010000: block:block_rq_issue: 259,0 W 4096 () 2048 + 8 none,0,0 [app]
";

const FTRACE: &str = "# tracer: nop
     a b-4242    [000] .....   100.000000: block_bio_queue: 259,0 R 2048 + 8 [a b]
     a b-4242    [000] .....   100.000010: block_rq_issue: 259,0 R 4096 () 2048 + 8 [a b]
     a b-4242    [000] .....   100.001000: block_bio_queue: 259,0 WS 4096 + 16 [a b]
     a b-4242    [000] .....   100.002000: block_bio_queue: 259,0 RA 6144 + 128 [a b]
     a b-4242    [000] .....   100.010000: block_bio_queue: 259,0 W 2048 + 8 [a b]
";

const BIOSNOOP: &str = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   QUE(ms) LAT(ms)
0.000000    a b            4242    nvme0n1   R 2048       4096       0.01    0.51
0.001000    app            4242    nvme0n1   W 4096       8192       0.01    0.10
0.001500    app            4242    nvme0n1   W -1         0          0.01    0.10
0.002000    app            4242    nvme0n1   R 6144       65536      0.01    0.73
0.010000    app            4242    nvme0n1   W 2048       4096       0.01    0.09
";

const TECTONIC: &str =
    "# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count host_name
77 1048576 4096 1000.000 getChunkData.NotInitialized 3 9 0 1 5
77 2097152 8192 1000.001 putChunk.NotInitialized 3 9 0 1 5
77 3145728 65536 1000.002 getChunkData.Permanent 3 9 0 1 5
77 1048576 4096 1000.010 putChunk.Permanent 3 9 0 1 5
";

const FIU: &str = "89967195 4253 nfsd 2048 8 R 6 0 1f9e8d2c6b7a4f3e5d0c1b2a39485766
90967195 4253 nfsd 4096 16 W 6 0 1f9e8d2c6b7a4f3e5d0c1b2a39485766
91967195 4253 nfsd 6144 128 R 6 0
99967195 17 kjournald 2048 8 W 6 0
";

#[test]
fn traces_are_read_by_name_and_by_content() {
    for (name, text) in [
        ("systor17", SYSTOR),
        ("etw", ETW),
        ("tracepoints", PERF),
        ("tracepoints", FTRACE),
        ("biosnoop", BIOSNOOP),
        ("tectonic", TECTONIC),
        ("fiu", FIU),
    ] {
        let format: Format = name.parse().expect("a format");
        assert_eq!(read("t", text, Some(format)), Ok(expected()), "{name}");
        assert_eq!(read("t", text, None), Ok(expected()), "{name}, detected");
    }
}

#[test]
fn mistakes_name_the_field() {
    for (text, was, becomes, message) in [
        (SYSTOR, ",W,", ",X,", "t:3: IOType: found \"X\", expected R or W"),
        (SYSTOR, ",0.000733,", ",soon,", "t:4: Response: found \"soon\", expected seconds, or nothing"),
        (
            ETW,
            "0x0000200000",
            "0x00z",
            "t:3: ByteOffset: found \"0x00z\", expected hexadecimal bytes such as 0x0000100000",
        ),
        (
            PERF,
            "4096 + 16",
            "4096 16",
            "t:3: range: found \"app  4242 [000]   100.001000: block:bloc…\", expected SECTOR + SECTORS",
        ),
        (PERF, "259,0 W 8192", "259 W 8192", "t:3: device: found \"259\", expected MAJOR,MINOR such as 259,0"),
        (BIOSNOOP, "W 4096  ", "X 4096  ", "t:3: T: found \"X\", expected R or W"),
        (
            TECTONIC,
            "putChunk.NotInitialized",
            "copyChunk.A",
            "t:3: op_name: found \"copyChunk.A\", expected getChunkData or putChunk, and the state of the block",
        ),
        (FIU, " 16 W ", " 16 X ", "t:2: operation: found \"X\", expected W or R"),
        (FIU, "128 R 6 0", "128 R 6", "t:3: minor: found the end of the line, expected a whole number below 2^32"),
    ] {
        assert!(text.contains(was), "{was}");
        assert_eq!(read("t", &text.replacen(was, becomes, 1), None), Err(message.to_owned()));
    }
}

#[test]
fn damaged_traces_end_in_one_line() {
    for text in [SYSTOR, ETW, PERF, FTRACE, BIOSNOOP, TECTONIC, FIU] {
        let bytes = text.as_bytes();
        for (at, with) in (0..bytes.len()).flat_map(|at| [b' ', b',', b'+', b'9', 0xff, b'\n'].map(|with| (at, with))) {
            let mut damaged = bytes.to_vec();
            damaged[at] = with;
            for cut in [damaged.len(), at] {
                let found = Reader::from_bytes("t", &damaged[..cut], None).map(|reader| {
                    reader
                        .map(|record| record.map(|_| ()).map_err(|error| error.to_string()))
                        .collect::<Result<Vec<_>, _>>()
                });
                match found {
                    Err(error) => assert!(!error.to_string().contains('\n')),
                    Ok(Err(error)) => assert!(!error.contains('\n')),
                    Ok(Ok(_)) => {}
                }
            }
        }
    }
}

#[test]
fn events_of_blkparse_without_q_are_the_next_ones() {
    let line = |event: &str, time: &str, what: &str| format!("259,0 0 1 {time} 697 {event} {what} [fio]\n");
    let trace = |events: [&str; 2]| {
        let requests = ["R 2048 + 8", "W 4096 + 16", "R 6144 + 128", "W 2048 + 8"];
        let times = ["0.000000000", "0.001000000", "0.002000000", "0.010000000"];
        let pairs = times.iter().zip(requests);
        pairs.flat_map(|(time, what)| events.map(|event| line(event, time, what))).collect::<String>()
    };
    for events in [["Q", "D"], ["D", "C"], ["C", "m"]] {
        assert_eq!(read("t", &trace(events), None), Ok(expected()), "{events:?}");
    }
    let folder = Folder::new("trace-tools-1");
    let path = folder.path().join("d.blkparse");
    std::fs::write(&path, trace(["D", "C"])).expect("written");
    let notes = Workload::open(&path, None).expect("valid").notes().join("; ");
    assert!(notes.contains("its requests are the events D (issued to the driver)"), "{notes}");
}

#[test]
fn columns_take_words_hexadecimal_numbers_and_separators() {
    let columns = |text: &str| Some(Format::Columns(text.parse::<Columns>().expect("valid")));
    for (spec, text) in [
        // DiskSim: 1 is a read.
        (
            "time=0:ms,device=1,offset=2:sectors,bytes=3:sectors,op=4:1/0",
            "0.0 0 2048 8 1\n1.0 0 4096 16 0\n2.0 0 6144 128 1\n10.0 0 2048 8 0\n",
        ),
        (
            "time=0:us,op=1:Get+Head/PUT,offset=2,bytes=3,separator=semicolon",
            "0;get;0x100000;0x1000\n1000;Put;0x200000;0x2000\n2000;HEAD;0x300000;65536\n10000;PUT;1048576;4096\n",
        ),
        (
            "time=0:s,device=1,op=2,offset=3:sectors,bytes=4:sectors",
            "100.000 259,0 R 2048 8\n100.001 259,0 W 4096 16\n100.002 259,0 R 6144 128\n100.010 259,0 W 2048 8\n",
        ),
        (
            "time=0:us,op=1,offset=2,bytes=3,separator=pipe",
            "0|R|1048576|4096\n1000|W|2097152|8192\n2000|R|3145728|65536\n10000|W|1048576|4096\n",
        ),
    ] {
        assert_eq!(read("t", text, columns(spec)), Ok(expected()), "{spec}");
    }
    let wrong = |text: &str| text.parse::<Columns>().expect_err("a mistake");
    let words = "expected words for reads, writes, trims and flushes, such as 1/0 or read+get/write/discard";
    assert_eq!(wrong("offset=0,op=1:1"), format!("op: found \"1\", {words}"));
    assert_eq!(wrong("offset=0,op=1:a/a"), format!("op: found \"a/a\", {words}"));
    assert_eq!(
        wrong("offset=0,separator=;"),
        "separator: found \";\", expected one of comma, blank, tab, semicolon, colon, pipe"
    );
    assert_eq!(
        read("t", "0,2\n", columns("offset=0,op=1:1/0")),
        Err("t:1: op: found \"2\", expected one of the words that --columns lists".to_owned())
    );
}

#[test]
fn an_unknown_text_is_compared_with_the_formats() {
    let error = read("t.csv", "128166372003061629,hm,0,Raed,383496192,32768,1331\n", None).expect_err("unknown");
    assert!(error.ends_with("(the first line is most like msr); --columns names the columns of a text"), "{error}");
    let error = read("t", "what is this\n", None).expect_err("unknown");
    assert!(error.ends_with("libcachesim-text; --columns names the columns of a text"), "{error}");
    let xml = "<?xml version=\"1.0\"?>\n<Execution_Parameter_Set></Execution_Parameter_Set>\n";
    let error = read("t", xml, None).expect_err("parameters");
    assert!(error.contains("found MQSim's XML, which nandram import turns into a system file and jobs"), "{error}");
}

#[test]
fn times_of_an_iolog_that_may_be_nanoseconds_are_noted() {
    let folder = Folder::new("trace-tools-2");
    let path = folder.path().join("ns.iolog");
    let notes = |gap: u64| {
        let text = format!("fio version 3 iolog\n0 f add\n0 f read 0 4096\n{gap} f write 4096 4096\n");
        std::fs::write(&path, text).expect("written");
        Workload::open(&path, None).expect("valid").notes().join("; ")
    };
    assert!(notes(1_000_000).contains(" apart on average; if its times are nanoseconds"));
    assert_eq!(notes(1_000), "");
}
