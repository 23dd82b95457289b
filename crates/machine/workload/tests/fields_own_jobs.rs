//! Job files as people have them: keys, values and files that fio accepts.

mod scratch;

use scratch::Folder;
use sim::{Streams, Time};
use workload::{Next, Options, Player, Workload};

fn parse(text: &str) -> Workload {
    Workload::parse_fio("job.fio", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Plays a workload on a drive of 1 GiB whose requests take 100 us. Returns the number of requests, and the notes.
fn play(workload: &Workload) -> (u64, Vec<String>) {
    let mut player = Player::new(workload, &Options::new(1 << 30), &Streams::new(1)).unwrap_or_else(|e| panic!("{e}"));
    let (mut now, mut requests) = (Time::ZERO, 0);
    let mut outstanding = std::collections::VecDeque::new();
    loop {
        match player.next(now).unwrap_or_else(|error| panic!("{error}")) {
            Next::Issue(io) => {
                requests += 1;
                outstanding.push_back(io.id);
            }
            Next::Finished => break,
            Next::At(at) if outstanding.is_empty() => now = at,
            Next::At(_) | Next::Blocked => {
                now += Time::from_us(100);
                player.complete(now, outstanding.pop_front().expect("a request is outstanding"));
            }
        }
    }
    (requests, workload.notes().to_vec())
}

#[test]
fn included_keys_belong_to_the_section_that_includes_them() {
    let folder = Folder::new("fields-own-jobs-1");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("inner.inc"), "iodepth=8\n").expect("written");
    std::fs::write(path("common.inc"), "; shared\nbs=8k\ninclude inner.inc\n").expect("written");
    std::fs::write(path("job.fio"), "[global]\nsize=16m\ninclude common.inc\n[r]\nrw=randread\n").expect("written");
    let workload = Workload::open(&path("job.fio"), None).unwrap_or_else(|error| panic!("{error}"));
    let options: Vec<String> = workload.jobs()[0].options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(options, ["size=16m", "bs=8k", "iodepth=8", "rw=randread"]);
    assert_eq!(play(&workload).0, 2048);

    let wrong = |text: &str| {
        std::fs::write(path("common.inc"), text).expect("written");
        let error = Workload::open(&path("job.fio"), None).err().map(|error| error.to_string()).unwrap_or_default();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(
        wrong("bs=8k\niodpeth=8\n"),
        "common.inc:2: unknown key \"iodpeth\", the nearest known key is \"iodepth\""
    );
    assert_eq!(wrong("[job]\n"), "common.inc:1: found \"[job]\", expected keys only: an included file has no sections");
    assert_eq!(
        wrong("include common.inc\n"),
        "common.inc:1: include: found \"common.inc\" below 8 other includes, expected fewer"
    );
}

#[test]
fn size_0_is_the_size_of_the_file() {
    assert_eq!(play(&parse("[a]\nrw=randread\nsize=0\nfilesize=1m\n")).0, 256);
}

#[test]
fn numbers_end_where_fio_stops_reading_them() {
    for (text, note) in [
        ("bs=4k-512k", "job.fio: bs=4k-512k is read as 4k, as in fio"),
        ("bs=4k-512k,8k", "job.fio: bs=4k-512k,8k is read as 4k,8k, as in fio"),
        ("iodepth=8*1", "job.fio: iodepth=8*1 is read as 8, as in fio"),
    ] {
        let (requests, notes) = play(&parse(&format!("[a]\nrw=randread\nsize=1m\n{text}\n")));
        assert_eq!((requests, notes.as_slice()), (256, &[note.to_owned()][..]));
    }
}

#[test]
fn keywords_are_noted_with_their_value() {
    let (requests, notes) = play(&parse("[a]\nrw=randread\nsize=16*$pagesize\n"));
    assert_eq!((requests, notes), (16, vec!["job.fio: size=16*$pagesize is 65536 on this computer".to_owned()]));
}

#[test]
fn keys_of_fio_without_effect_are_noted() {
    for key in ["serialize_overlap=1", "unit_base=1", "readfua=1", "uncached=1", "log_entries=9", "write_barrier=2"] {
        let notes = play(&parse(&format!("[a]\nrw=randread\nsize=1m\n{key}\n"))).1;
        let name = key.split('=').next().expect("a key");
        assert!(
            notes.len() == 1 && notes[0].starts_with(&format!("job.fio: keys without effect: {name}: ")),
            "{notes:?}"
        );
    }
}

#[test]
fn engines_that_fio_loads_read_and_write_blocks() {
    for engine in ["spdk", "spdk_bdev", "external:/usr/lib/spdk_nvme", "/opt/spdk/build/fio/spdk_nvme"] {
        let job =
            format!("[a]\nrw=randread\nsize=1m\nioengine={engine}\nfilename=trtype=PCIe traddr=0000.04.00.0 ns=1\n");
        let (requests, notes) = play(&parse(&job));
        assert_eq!(requests, 256);
        assert!(notes[0].starts_with(&format!("job.fio: keys without effect: ioengine={engine}: ")), "{notes:?}");
    }
}

#[test]
fn an_iolog_replaces_the_pattern_and_each_clone_replays_the_next() {
    let folder = Folder::new("fields-own-jobs-2");
    let path = |name: &str| folder.path().join(name);
    let log = "fio version 3 iolog\n0 f add\n0 f open\n0 f write 0 4096\n100 f read 4096 4096\n200 f write 8192 4096\n";
    std::fs::write(path("one.log"), log).expect("written");
    std::fs::write(path("two.log"), format!("{log}250 f read 0 4096\n300 f close\n")).expect("written");
    let open = |text: &str| {
        std::fs::write(path("job.fio"), text).expect("written");
        Workload::open(&path("job.fio"), None).map_err(|error| error.to_string())
    };
    let workload = open("[a]\nrw=randread\nread_iolog=one.log\n").expect("valid");
    let (requests, notes) = play(&workload);
    assert_eq!(requests, 3);
    assert!(
        notes[0].ends_with("keys without effect: rw: read_iolog replaces the generated pattern, as in fio"),
        "{notes:?}"
    );
    let both = open("[a]\nread_iolog=one.log:two.log\nnumjobs=3\n").expect("valid");
    assert_eq!((both.jobs().len(), play(&both).0), (3, 3 + 4 + 3));

    let mut binary = vec![0x07, 0x74, 0x61, 0x65];
    binary.resize(96, 0);
    std::fs::write(path("bin.blktrace.0"), &binary).expect("written");
    let error = open("[a]\nread_iolog=bin.blktrace.0\n").expect_err("binary");
    assert!(
        error.contains("found a binary trace of blktrace, expected an iolog: convert it to text with blkparse"),
        "{error}"
    );
    let error = Workload::open(&path("bin.blktrace.0"), None).expect_err("binary").to_string();
    assert!(error.contains("found a binary trace of blktrace, which blkparse converts to text"), "{error}");
}

#[test]
fn offsets_in_percent_are_aligned_as_asked() {
    let first = |keys: &str| {
        let workload = parse(&format!("[a]\nrw=read\noffset=33%\n{keys}\n"));
        let mut player = Player::new(&workload, &Options::new(1 << 30), &Streams::new(1)).expect("valid");
        match player.next(Time::ZERO) {
            Ok(Next::Issue(io)) => io.request.offset,
            other => panic!("{other:?}"),
        }
    };
    let plain = (1u64 << 30) * 33 / 100;
    assert_eq!(
        (first("bs=4k"), first("offset_align=1m")),
        (plain.next_multiple_of(4096), plain.next_multiple_of(1 << 20))
    );
}

#[test]
fn sizes_may_be_those_of_sequential_and_random_jobs() {
    let requests = |rw: &str| play(&parse(&format!("[a]\nrw={rw}\nbs=64k,4k\nsize=1m\nbs_is_seq_rand=1\n"))).0;
    assert_eq!((requests("read"), requests("write"), requests("randread"), requests("randwrite")), (16, 16, 256, 256));
}

#[test]
fn pauses_follow_a_time() {
    let workload = parse("[a]\nrw=read\nsize=40k\nthinktime=1s\nthinktime_iotime=250us\n");
    let mut player = Player::new(&workload, &Options::new(1 << 30), &Streams::new(1)).expect("valid");
    let (mut now, mut pauses, mut since) = (Time::ZERO, 0, Vec::new());
    loop {
        match player.next(now).expect("valid") {
            Next::Issue(io) => {
                since.push(pauses);
                now += Time::from_us(100);
                player.complete(now, io.id);
            }
            Next::At(at) => (now, pauses) = (at, pauses + 1),
            Next::Finished => break,
            Next::Blocked => panic!("nothing is outstanding"),
        }
    }
    // A pause once 250 us have passed: after every third request.
    assert_eq!(since, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
}

#[test]
fn a_command_line_takes_the_place_of_a_file() {
    let arguments = ["--bs=8k", "--name=a", "--rw=randread", "--size=1m", "--name=b", "--rw=write", "--size=2m"];
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    let workload = Workload::parse_arguments(&arguments).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = workload.jobs().iter().map(|job| job.name.as_str()).collect();
    assert_eq!((names, play(&workload).0), (vec!["a", "b"], 128 + 256));
    let wrong = Workload::parse_arguments(&["--name=a".to_owned(), "--rw=randred".to_owned()]).expect_err("a typo");
    assert!(wrong.to_string().starts_with("command line:2: rw: found \"randred\""), "{wrong}");
}
