//! Errors in job files are one line: the file, the line, the key, what was found and what was expected.

use sim::Streams;
use workload::{Options, Player, Workload};

/// Returns the error message of a job file on a drive of 1 GiB.
fn message(text: &str) -> String {
    let workload = match Workload::parse_fio("mix.fio", text) {
        Ok(workload) => workload,
        Err(error) => return error.to_string(),
    };
    match Player::new(&workload, &Options::new(1 << 30), &Streams::new(1)) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn bad_job_files_are_explained() {
    let table: &[(&str, &str)] = &[
        ("", "mix.fio:1: found no job, expected a section such as [job]"),
        ("; nothing\n[global]\nrw=read\n", "mix.fio:1: found no job, expected a section such as [job]"),
        ("rw=read\n[a]\n", "mix.fio:1: found \"rw=read\" before any section, expected [global] or [job] first"),
        ("[a\nrw=read\n", "mix.fio:1: found \"[a\", expected a section such as [job]"),
        ("[]\n", "mix.fio:1: found \"[]\", expected a section such as [job]"),
        ("[a]\n=4k\n", "mix.fio:2: found \"=4k\", expected key=value"),
        ("[a]\ninclude more.fio\n", "mix.fio:2: include: more.fio: No such file or directory (os error 2)"),
        (
            "[a]\nsize=${NO_SUCH_SIZE}\n",
            "mix.fio:2: size: found \"${NO_SUCH_SIZE}\", expected the environment variable NO_SUCH_SIZE to be set to UTF-8 text",
        ),
        (
            "[a]\nrw=write\nfdp=1\n",
            "mix.fio:3: fdp: found on a drive without placement, expected ftl.placement.isolation initial or persistent",
        ),
        (
            "[a]\nrw=write\ndataplacement=fdp\n",
            "mix.fio:3: dataplacement: found on a drive without placement, expected ftl.placement.isolation initial or persistent",
        ),
        (
            "[a]\nrw=write\nplids=0\n",
            "mix.fio:3: plids: found without data placement, expected fdp=1 or dataplacement=fdp as well",
        ),
        (
            "[a]\nfdp_pli_select=random\n",
            "mix.fio:2: plid_select: found without data placement, expected fdp=1 or dataplacement=fdp as well",
        ),
        (
            "[a]\nfdp=1\nplids=0,x\n",
            "mix.fio:3: plids: found \"0,x\", expected whole numbers from 0 to 65535, separated by commas",
        ),
        (
            "[a]\nfdp=1\nplid_select=scheme\n",
            "mix.fio:3: plid_select: found \"scheme\", expected one of roundrobin, random",
        ),
        ("[a]\ndataplacement=streams\n", "mix.fio:2: dataplacement: found \"streams\", expected one of none, fdp"),
        ("[a]\niodpeth=4\n", "mix.fio:2: unknown key \"iodpeth\", the nearest known key is \"iodepth\""),
        (
            "[global]\nblock_size=4k\n[a]\n",
            "mix.fio:2: unknown key \"block_size\", the nearest known key is \"blocksize\"",
        ),
        ("[a]\nsize=${SIZE\n", "mix.fio:2: size: found \"${SIZE\", expected a } after each ${"),
        (
            "[a]\nstartdelay=5-1\n",
            "mix.fio:2: startdelay: found \"5-1\", expected a time such as 30s or 200ms, or an ascending range such as 1s-5s",
        ),
        (
            "[a]\nrw=randred\n",
            "mix.fio:2: rw: found \"randred\", expected one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite; the nearest is \"randread\"",
        ),
        (
            "[a]\nrw=randread:x\n",
            "mix.fio:2: rw: found \"randread:x\", expected a number of requests after the colon, such as randread:8",
        ),
        (
            "[a]\nrw=read:100\n",
            "mix.fio:2: rw: found \"read:100\", expected a multiple of the 512-byte sector after the colon, such as read:8k or read:-8k",
        ),
        ("[a]\nrw\n", "mix.fio:2: rw: found no value, expected rw=str[:N]"),
        ("[a]\nrw=\n", "mix.fio:2: rw: found nothing after the =, expected a value"),
        (
            "[a]\nbs=1000\n",
            "mix.fio:2: bs: found \"1000\", expected a multiple of the 512-byte sector, or read,write,trim values, such as 4k or 8k,32k",
        ),
        (
            "[a]\nbs=4k,8k,16k,32k\n",
            "mix.fio:2: bs: found \"4k,8k,16k,32k\", expected a multiple of the 512-byte sector, or read,write,trim values, such as 4k or 8k,32k",
        ),
        (
            "[a]\nbs=2g\n",
            "mix.fio:2: bs: found 2147483648 bytes, expected at most the job's region of 1073741824 bytes",
        ),
        (
            "[a]\nbsrange=4k\n",
            "mix.fio:2: bsrange: found \"4k\", expected an ascending range of multiples of the 512-byte sector such as 4k-64k, or read,write,trim values",
        ),
        (
            "[a]\nbsrange=64k-4k\n",
            "mix.fio:2: bsrange: found \"64k-4k\", expected an ascending range of multiples of the 512-byte sector such as 4k-64k, or read,write,trim values",
        ),
        (
            "[a]\nbssplit=4k/60:8k/60\n",
            "mix.fio:2: bssplit: found \"4k/60:8k/60\", expected up to 64 sizes of whole sectors with percentages that add up to 100, such as 4k/60:64k/40",
        ),
        (
            "[a]\nbssplit=4k/60:8k/30\n",
            "mix.fio:2: bssplit: found \"4k/60:8k/30\", expected up to 64 sizes of whole sectors with percentages that add up to 100, such as 4k/60:64k/40",
        ),
        ("[a]\niodepth=0\n", "mix.fio:2: iodepth: found \"0\", expected a whole number from 1 to 1048576"),
        ("[a]\niodepth=many\n", "mix.fio:2: iodepth: found \"many\", expected a whole number from 1 to 1048576"),
        ("[a]\nnumjobs=70000\n", "mix.fio:2: numjobs: found \"70000\", expected a whole number from 1 to 4096"),
        (
            "[a]\nnumjobs=4000\n[b]\nnumjobs=4000\n",
            "mix.fio:1: numjobs: found 8000 jobs with their clones, expected at most 4096",
        ),
        (
            "[a]\nsize=120%\n",
            "mix.fio:2: size: found \"120%\", expected a size such as 4k, 16m or 1.5g, or a percentage of the drive such as 20%",
        ),
        ("[a]\nsize=512\n", "mix.fio:2: size: found a region of 512 bytes, expected at least a request of 4096"),
        (
            "[a]\nsize=4 kilobytes\n",
            "mix.fio:2: size: found \"4 kilobytes\", expected a size such as 4k, 16m or 1.5g, or a percentage of the drive such as 20%",
        ),
        ("[a]\noffset=100\n", "mix.fio:2: offset: found \"100\", expected a multiple of the 512-byte sector"),
        (
            "[a]\noffset=1g\n",
            "mix.fio:2: offset: found a start at byte 1073741824, expected less than the drive's 1073741824 bytes",
        ),
        (
            "[a]\nnumjobs=3\noffset_increment=512m\nsize=128m\n",
            "mix.fio:3: offset_increment: found a start at byte 1073741824 for clone 2, expected less than the drive's 1073741824 bytes",
        ),
        ("[a]\nrwmixread=101\n", "mix.fio:2: rwmixread: found \"101\", expected a whole number from 0 to 100"),
        (
            "[a]\nrandom_distribution=zipfian:1.2\n",
            "mix.fio:2: random_distribution: found \"zipfian:1.2\", expected random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:… or zoned_abs:…; the nearest is \"zipf\"",
        ),
        (
            "[a]\nrandom_distribution=zipf:abc\n",
            "mix.fio:2: random_distribution: found \"zipf:abc\", expected random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:… or zoned_abs:…",
        ),
        (
            "[a]\nrandom_distribution=pareto:1.5\n",
            "mix.fio:2: random_distribution: found \"pareto:1.5\", expected a skew between 0 and 1, such as pareto:0.2",
        ),
        (
            "[a]\nrandom_distribution=normal:0\n",
            "mix.fio:2: random_distribution: found \"normal:0\", expected a deviation above 0 and up to 100 percent of the region",
        ),
        (
            "[a]\nrandom_distribution=zipf:1.2:3\n",
            "mix.fio:2: random_distribution: found \"zipf:1.2:3\", expected a center from 0 to 1",
        ),
        (
            "[a]\nrandom_distribution=zoned:50/5:30/15\n",
            "mix.fio:2: random_distribution: found \"zoned:50/5:30/15\", expected zones of ACCESS/SIZE percent that each add up to 100, such as zoned:80/20:20/80",
        ),
        (
            "[a]\nrw=randread\nrandom_distribution=zoned_abs:50/512m:50/1g\n",
            "mix.fio:3: random_distribution: found zones that end at byte 1610612736, expected at most 1073741824",
        ),
        (
            "[a]\nrate=fast\n",
            "mix.fio:2: rate: found \"fast\", expected bytes per second, or read,write,trim values, such as 10m or ,500k",
        ),
        (
            "[a]\nrate=1m\nrate_iops=100\n",
            "mix.fio:3: rate_iops: found together with rate, expected only one of the two per direction",
        ),
        (
            "[a]\nthinktime=5x\n",
            "mix.fio:2: thinktime: found \"5x\", expected a time of at most 213 days such as 30s, 5m, 200ms or 50us",
        ),
        (
            "[a]\nthinktime_blocks=4\n",
            "mix.fio:2: thinktime_blocks: found without thinktime, expected thinktime=TIME as well",
        ),
        (
            "[a]\nruntime=300d\n",
            "mix.fio:2: runtime: found \"300d\", expected a time of at most 213 days such as 30s, 5m, 200ms or 50us",
        ),
        (
            "[a]\nverify=crc33\n",
            "mix.fio:2: verify: found \"crc33\", expected one of md5, crc64, crc32c, crc32c-intel, crc32, crc16, crc7, xxhash, sha512, sha256, sha1, sha3-224, sha3-256, sha3-384, sha3-512, meta, pattern, pattern_hdr, null, 0; the nearest is \"crc32\"",
        ),
        (
            "[a]\nrw=randtrim\nverify=md5\n",
            "mix.fio:3: verify: found on a job that only trims, expected a job that reads or writes",
        ),
        (
            "[a]\nioengine=cpuio\n",
            "mix.fio:2: ioengine: found \"cpuio\", expected an engine that reads and writes blocks, such as libaio",
        ),
        (
            "[a]\nioengine=libaoi\n",
            "mix.fio:2: ioengine: found \"libaoi\", expected one of libaio, io_uring, io_uring_cmd, posixaio, solarisaio, windowsaio, sg, xnvme, libblkio, sync, psync, vsync, pvsync, pvsync2; the nearest is \"libaio\"",
        ),
        ("[a]\nwait_for=b\n[b]\n", "mix.fio:2: wait_for: found \"b\", expected the name of a job above"),
        (
            "[a]\nrwmixread=70\nrwmixwrite=70\n",
            "mix.fio:3: rwmixwrite: found a sum with rwmixread other than 100, expected 100",
        ),
        (
            "[a]\nrw=randread\nzonemode=strided\nzonesize=1m\n",
            "mix.fio:3: zonemode: found strided on a random job, expected a sequential one",
        ),
        (
            "[a]\nlatency_target=1ms\n",
            "mix.fio:2: latency_target: expected both latency_target=TIME and latency_window=TIME",
        ),
        (
            "[a]\nsteadystate=iops:x\n",
            "mix.fio:2: steadystate: found \"iops:x\", expected iops:LIMIT, iops_slope:LIMIT, bw:LIMIT or bw_slope:LIMIT, such as iops:10%",
        ),
        ("[a]\nstonewall=maybe\n", "mix.fio:2: stonewall: found \"maybe\", expected 0 or 1"),
        (
            "[a]\nkb_base=1001\n",
            "mix.fio:2: kb_base: found \"1001\", expected one of 1024, 1000; the nearest is \"1000\"",
        ),
        (
            "[a]\nfilename=/dev/nvme0n1\n[b]\nread_iolog=none\nfilename=/dev/nvme1n1\n",
            "mix.fio:4: read_iolog: found next to several drives, expected jobs without traces",
        ),
        (
            "[a]\nfilename=/dev/nvme0n1\n[b]\nzonemode=zbd\nfilename=/dev/nvme1n1\n",
            "mix.fio:4: zonemode: found zbd next to several drives, expected one drive",
        ),
        (
            "[a]\nrw=write\nverify=md5\nfilename=/dev/sda:/dev/sdb\n",
            "mix.fio:3: verify: found on a job that writes several drives, expected a job for each drive",
        ),
        (
            "[a]\nfile_service_type=roundrobin:0\n",
            "mix.fio:2: file_service_type: found \"roundrobin:0\", expected a number of requests after the colon, such as roundrobin:8",
        ),
        (
            "[a]\nfile_service_type=robin\n",
            "mix.fio:2: file_service_type: found \"robin\", expected one of roundrobin, random, sequential",
        ),
        ("[a]\nread_iolog=:\n", "mix.fio:2: read_iolog: found \":\", expected the name of an iolog"),
        (
            "[a]\nverify_only=1\n",
            "mix.fio:2: verify_only: not supported: data does not outlive a run; a job that writes and has verify reads its data back, and one that reads and has verify checks what it reads",
        ),
        (
            "[a]\ncpuload=50\n",
            "mix.fio:2: cpuload: not supported: it belongs to an engine that loads the host and not a drive",
        ),
        (
            "[a]\nzonemode=zbd\n",
            "mix.fio:2: zonemode: found zbd without zonesize on a drive without zones, expected a drive with zones, such as the preset wd-zn540, or zonesize=BYTES for zones that are emulated as in fio",
        ),
        ("[a]\niodepth=many*2\n", "mix.fio:2: iodepth: found \"many*2\", expected a whole number from 1 to 1048576"),
        (
            "[a]\nsize=2*$mb_memory k\n",
            "mix.fio:2: size: found \"2*$mb_memory k\", expected whole numbers and $mb_memory, $ncpus, $pagesize, joined by + - * /",
        ),
        (
            "[a]\npercentile_list=50:101\n",
            "mix.fio:2: percentile_list: found \"50:101\", expected up to 20 percentages above 0 and up to 100, separated by colons, such as 50:99:99.9",
        ),
        (
            "[a]\nmax_latency=soon\n",
            "mix.fio:2: max_latency: found \"soon\", expected a time such as 500us, or read,write,trim values",
        ),
        (
            "[a]\nthinktime_iotime=1s\n",
            "mix.fio:2: thinktime_iotime: found without thinktime, expected thinktime=TIME as well",
        ),
        (
            "[a]\nrate_ignore_thinktime=1\n",
            "mix.fio:2: rate_ignore_thinktime: found \"1\", expected 0: after a pause the job catches up with its rate",
        ),
        ("[a]\nread_iolog=none.log\n", "mix.fio:2: read_iolog: none.log: No such file or directory (os error 2)"),
    ];
    for (text, expected) in table {
        assert_eq!(message(text), *expected, "for {text:?}");
    }
}
