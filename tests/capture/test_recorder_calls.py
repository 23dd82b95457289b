"""The trace records of each system call."""

import re

import pytest

from nandram.capture.calls.recorder import parents, record
from nandram.capture.calls.state import Knowledge, Notes
from nandram.capture.files import Selection
from nandram.capture.records import Record

OPEN = 'openat(AT_FDCWD</w>, "/w/f", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3</w/f>'
OTHER = 'openat(AT_FDCWD</w>, "/w/g", O_RDWR|O_CREAT|O_TRUNC, 0644) = 4</w/g>'


def log(*calls: str) -> list[str]:
    """Parse one call per microsecond; ``7: call`` belongs to thread 7, other calls to thread 1."""
    lines = []
    for number, call in enumerate(calls):
        pid, colon, body = call.partition(": ")
        if not colon or not pid.isdigit():
            pid, body = "1", call
        lines.append(f"{pid}  1700000000.{number:06d} {body}\n")
    return lines


def decode(
    *calls: str, include: list[str] | None = None, inherited: dict[int, tuple[str, int, bool]] | None = None
) -> tuple[list[Record], Notes]:
    lines = log(*calls)
    records: list[Record] = []
    knowledge = Knowledge(parents(lines))
    notes, _ = record(lines, records.append, Selection(include or [], [], "/w"), "/w", knowledge, inherited or {})
    return records, notes


def text(records: list[Record]) -> str:
    return "; ".join(
        re.sub(r" 0 0$", "", f"{each.file.first_path} {each.action.value} {each.offset_bytes} {each.length_bytes}")
        for each in records
    )


CASES = {
    "read": ([OPEN, 'write(3</w/f>, ""..., 9) = 9', "lseek(3</w/f>, 2, SEEK_SET) = 2", 'read(3</w/f>, ""..., 4) = 4'],
             "/w/f write 0 9; /w/f read 2 4"),
    "a short write counts what was written": ([OPEN, 'write(3</w/f>, ""..., 9) = 5', 'write(3</w/f>, ""..., 4) = 4'],
             "/w/f write 0 5; /w/f write 5 4"),
    "a read at the end is none": ([OPEN, 'read(3</w/f>, "", 9) = 0'], ""),
    "a failed call is none": ([OPEN, 'write(3</w/f>, ""..., 9) = -1 ENOSPC (No space left on device)'], ""),
    "writev": ([OPEN, "writev(3</w/f>, [...], 2) = 30"], "/w/f write 0 30"),
    "readv": ([OPEN, "readv(3</w/f>, [...], 2) = 30"], "/w/f read 0 30"),
    "preadv": ([OPEN, "preadv(3</w/f>, [...], 2, 4096) = 30"], "/w/f read 4096 30"),
    "pwritev": ([OPEN, "pwritev(3</w/f>, [...], 2, 4096) = 30"], "/w/f write 4096 30"),
    "preadv2 here": ([OPEN, "lseek(3</w/f>, 5, SEEK_SET) = 5", "preadv2(3</w/f>, [...], 1, -1, 0) = 3"],
             "/w/f read 5 3"),
    "pwritev2 with RWF_DSYNC": ([OPEN, "pwritev2(3</w/f>, [...], 1, 8192, RWF_DSYNC) = 3"],
             "/w/f write 8192 3; /w/f datasync"),
    "pwritev2 with RWF_APPEND": (
             [OPEN, "ftruncate(3</w/f>, 100) = 0", "pwritev2(3</w/f>, [...], 1, -1, RWF_APPEND) = 3"],
             "/w/f write 100 3"),
    "O_SYNC": ([OPEN.replace("O_RDWR", "O_RDWR|O_SYNC"), 'write(3</w/f>, ""..., 9) = 9'], "/w/f write 0 9; /w/f sync"),
    "O_APPEND set later": ([OPEN, 'pwrite64(3</w/f>, ""..., 9, 0) = 9', "fcntl(3</w/f>, F_SETFL, O_RDWR|O_APPEND) = 0",
              'write(3</w/f>, ""..., 1) = 1'], "/w/f write 0 9; /w/f write 9 1"),
    "fsync and fdatasync": ([OPEN, "fsync(3</w/f>) = 0", "fdatasync(3</w/f>) = 0"], "/w/f sync; /w/f datasync"),
    "sync": ([OPEN, "sync() = 0", 'write(3</w/f>, ""..., 9) = 9', "sync() = 0"], "/w/f write 0 9; /w/f sync"),
    "sync_file_range is no flush": ([OPEN, "sync_file_range(3</w/f>, 0, 9, SYNC_FILE_RANGE_WRITE) = 0"], ""),
    "msync of a mapping": ([OPEN, "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</w/f>, 0) = 0x7f0000000000",
              "munmap(0x7f0000000000, 4096) = 0", "msync(0x7f0000000000, 4096, MS_SYNC) = 0",
              "msync(0x7f0000001000, 4096, MS_ASYNC) = 0", "msync(0x7f0000001000, 4096, MS_SYNC) = 0"],
             "/w/f datasync"),
    "a moved mapping": ([OPEN, "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</w/f>, 0) = 0x7f0000000000",
              "mremap(0x7f0000000000, 4096, 8192, MREMAP_MAYMOVE) = 0x7e0000000000",
              "msync(0x7f0000000000, 4096, MS_SYNC) = 0", "msync(0x7e0000000000, 8192, MS_SYNC) = 0"],
             "/w/f datasync"),
    "copy_file_range": ([OPEN, OTHER, "lseek(3</w/f>, 7, SEEK_SET) = 7",
              "copy_file_range(3</w/f>, NULL, 4</w/g>, [100], 50, 0) = 40", 'read(3</w/f>, ""..., 1) = 1'],
             "/w/f read 7 40; /w/g write 100 40; /w/f read 47 1"),
    "sendfile": ([OPEN, OTHER, "sendfile(4</w/g>, 3</w/f>, [10] => [30], 20) = 20", 'write(4</w/g>, ""..., 1) = 1'],
             "/w/f read 10 20; /w/g write 0 20; /w/g write 20 1"),
    "sendfile to a socket": ([OPEN, "sendfile(9<socket:[12]>, 3</w/f>, NULL, 20) = 20"], "/w/f read 0 20"),
    "splice from a pipe": ([OPEN, "splice(5<pipe:[7]>, NULL, 3</w/f>, [64], 10, 0) = 10"], "/w/f write 64 10"),
    "io_submit": ([OPEN, "io_submit(0x7f, 3, [{aio_data=0, aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</w/f>, "
              "aio_buf=0x55, aio_nbytes=512, aio_offset=1024}, {aio_data=0, aio_lio_opcode=IOCB_CMD_PWRITEV, "
              'aio_fildes=3</w/f>, aio_buf=[{iov_base=""..., iov_len=10}, {iov_base=""..., iov_len=20}], '
              "aio_offset=4096}, {aio_data=0, aio_lio_opcode=IOCB_CMD_FDSYNC, aio_fildes=3</w/f>}]) = 2"],
             "/w/f read 1024 512; /w/f write 4096 30"),
    "ftruncate": ([OPEN, 'write(3</w/f>, ""..., 9000) = 9000', "ftruncate(3</w/f>, 4097) = 0"],
             "/w/f write 0 9000; /w/f trim 8192 4096"),
    "truncate": ([OPEN, 'write(3</w/f>, ""..., 9000) = 9000', 'truncate("f", 0) = 0'],
             "/w/f write 0 9000; /w/f trim 0 12288"),
    "punch": ([OPEN, 'write(3</w/f>, ""..., 20480) = 20480',
              "fallocate(3</w/f>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 100, 9000) = 0"],
             "/w/f write 0 20480; /w/f trim 4096 4096"),
    "zero a range": ([OPEN, 'write(3</w/f>, ""..., 20480) = 20480',
              "fallocate(3</w/f>, FALLOC_FL_ZERO_RANGE, 4096, 8192) = 0"],
             "/w/f write 0 20480; /w/f trim 4096 8192"),
    "reserved space is freed with its file": ([OPEN, "fallocate(3</w/f>, 0, 0, 65536) = 0", 'unlink("f") = 0',
              "close(3</w/f>(deleted)) = 0"], "/w/f trim 0 65536"),
    "removed while open": ([OPEN, 'unlink("f") = 0', 'write(3</w/f>(deleted), ""..., 9) = 9', "+++ exited with 0 +++"],
             "/w/f write 0 9; /w/f trim 0 4096"),
    "removed after it was closed": ([OPEN, 'write(3</w/f>, ""..., 9) = 9', "close(3</w/f>) = 0",
              'unlinkat(AT_FDCWD</w>, "f", 0) = 0'], "/w/f write 0 9; /w/f trim 0 4096"),
    "one of two names removed": ([OPEN, 'write(3</w/f>, ""..., 9) = 9', "close(3</w/f>) = 0", 'link("f", "h") = 0',
              'unlink("f") = 0'], "/w/f write 0 9"),
    "replaced by rename": ([OPEN, OTHER, 'write(3</w/f>, ""..., 9) = 9', 'write(4</w/g>, ""..., 9) = 9',
              "close(3</w/f>) = 0", "close(4</w/g>) = 0", 'rename("g", "f") = 0',
              'openat(AT_FDCWD</w>, "f", O_RDONLY) = 3</w/f>', 'read(3</w/f>, ""..., 9) = 9'],
             "/w/f write 0 9; /w/g write 0 9; /w/f trim 0 4096; /w/g read 0 9"),
    "renamed with its folder": (['openat(AT_FDCWD</w>, "d/f", O_RDWR|O_CREAT, 0644) = 3</w/d/f>',
              'renameat2(AT_FDCWD</w>, "d", AT_FDCWD</w>, "e", RENAME_NOREPLACE) = 0', 'write(3</w/e/f>, ""..., 9) = 9',
              'write(3</w/e/f>, ""..., 9) = 9'], "/w/d/f write 0 9; /w/d/f write 9 9"),
    "exchanged": ([OPEN, OTHER, 'renameat2(AT_FDCWD</w>, "f", AT_FDCWD</w>, "g", RENAME_EXCHANGE) = 0',
              'write(3</w/g>, ""..., 9) = 9', 'write(4</w/f>, ""..., 8) = 8'], "/w/f write 0 9; /w/g write 0 8"),
    "a working folder": (['chdir("/w/d") = 0', 'openat(AT_FDCWD</w/d>, "f", O_RDWR|O_CREAT, 0644) = 3</w/d/f>',
              'write(3</w/d/f>, ""..., 9) = 9', "close(3</w/d/f>) = 0", 'unlink("f") = 0'],
             "/w/d/f write 0 9; /w/d/f trim 0 4096"),
    "dup shares the offset": ([OPEN, "dup(3</w/f>) = 4</w/f>", 'write(3</w/f>, ""..., 9) = 9',
              'write(4</w/f>, ""..., 9) = 9'], "/w/f write 0 9; /w/f write 9 9"),
    "two opens do not": (
             [OPEN, 'openat(AT_FDCWD</w>, "f", O_RDWR) = 4</w/f>', 'write(3</w/f>, ""..., 9) = 9',
              'write(4</w/f>, ""..., 9) = 9'], "/w/f write 0 9; /w/f write 0 9"),
    "a child shares the offset": (
             [OPEN, "clone(child_stack=NULL, flags=SIGCHLD) = 7", '7: write(3</w/f>, ""..., 9) = 9',
              "7: close(3</w/f>) = 0", 'write(3</w/f>, ""..., 9) = 9'], "/w/f write 0 9; /w/f write 9 9"),
    "a new program loses what closes on exec": ([OPEN, "fcntl(3</w/f>, F_SETFD, FD_CLOEXEC) = 0",
              'execve("/bin/x", [...], 0x7ffc /* 9 vars */) = 0',
              'openat(AT_FDCWD</w>, "f", O_RDWR) = 3</w/f>', 'write(3</w/f>, ""..., 9) = 9'], "/w/f write 0 9"),
    "exec by a thread": ([OPEN, "clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f, stack_size=1}, 88) = 7",
              '7: execve("/bin/x", [...], 0x7ffc /* 9 vars */ <unfinished ...>',
              "7: +++ superseded by execve in pid 1 +++", "<... execve resumed>) = 0",
              'write(3</w/f>, ""..., 9) = 9'], "/w/f write 0 9"),
    "vfork": (
             [OPEN, "vfork( <unfinished ...>", 'write(9<pipe:[1]>, ""..., 1) = 1', "7: close(3</w/f>) = 0",
              "7: +++ exited with 0 +++", "<... vfork resumed>) = 7", 'write(3</w/f>, ""..., 9) = 9'],
             "/w/f write 0 9"),
    "close_range": ([OPEN, OTHER, 'unlink("f") = 0', 'unlink("g") = 0', 'write(3</w/f>(deleted), ""..., 1) = 1',
              'write(4</w/g>(deleted), ""..., 1) = 1', "close_range(4, 4294967295, 0) = 0"],
             "/w/f write 0 1; /w/g write 0 1; /w/g trim 0 4096"),
    "signals are passed over": ([OPEN, "--- SIGCHLD {si_signo=SIGCHLD} ---", 'write(3</w/f>, ""..., 9) = 9'],
             "/w/f write 0 9"),
    "ended in the middle of a call": (
             [OPEN, 'write(3</w/f>, ""..., 9 <unfinished ...>', "+++ killed by SIGKILL +++"], ""),
    "pipes, sockets, /proc, /dev": (['write(1<pipe:[4]>, ""..., 9) = 9', 'read(5<socket:[4]>, ""..., 9) = 9',
              'read(6</proc/stat>, ""..., 9) = 9', 'write(7</dev/null>, ""..., 9) = 9'], ""),
    "a named pipe": (['openat(AT_FDCWD</w>, "p", O_RDONLY) = 3</w/p>',
              'newfstatat(3</w/p>, "", {st_mode=S_IFIFO|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0',
              'read(3</w/p>, ""..., 9) = 9'], ""),
    "a descriptor from nowhere starts at 0": (['read(8</w/f>, ""..., 9) = 9', 'read(8</w/f>, ""..., 9) = 9'],
             "/w/f read 0 9; /w/f read 9 9"),
    "O_TMPFILE": (['openat(AT_FDCWD</w>, "/w", O_RDWR|O_TMPFILE, 0600) = 3</w/#12>(deleted)',
              'write(3</w/#12>(deleted), ""..., 9) = 9', "close(3</w/#12>(deleted)) = 0"],
             "/w/#12 write 0 9; /w/#12 trim 0 4096"),
    "openat2 and creat": (
             ['openat2(AT_FDCWD</w>, "f", {flags=O_WRONLY|O_CREAT|O_APPEND, mode=0644, resolve=0}, 24) = 3</w/f>',
              'creat("g", 0644) = 4</w/g>', 'write(4</w/g>, ""..., 9) = 9', 'write(3</w/f>, ""..., 9) = 9'],
             "/w/g write 0 9; /w/f write 0 9"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_call(name: str) -> None:
    calls, expected = CASES[name]
    records, notes = decode(*calls)
    assert text(records) == expected
    assert notes.unknown_lines == 0


def test_a_trim_of_more_than_fio_can_read_is_split() -> None:
    records, _ = decode(OPEN, "fallocate(3</w/f>, 0, 0, 5368709120) = 0", "ftruncate(3</w/f>, 0) = 0")
    assert [each.length_bytes for each in records] == [1 << 31, 1 << 31, 1 << 30]


def test_a_redirected_stream_goes_on_where_it_was() -> None:
    inherited = {1: ("/w/out", 100, False), 2: ("/w/out", 100, False)}
    records, notes = decode('write(1</w/out>, ""..., 5) = 5', 'write(2</w/out>, ""..., 5) = 5', inherited=inherited)
    assert text(records) == "/w/out write 100 5; /w/out write 105 5"
    assert notes.assumed_offsets == 0


def test_only_what_is_included() -> None:
    calls = [OPEN, OTHER, 'write(3</w/f>, ""..., 9) = 9', 'write(4</w/g>, ""..., 9) = 9']
    for pattern in ("g", "/w/g", "*/g", "[g]"):
        assert text(decode(*calls, include=[pattern])[0]) == "/w/g write 0 9"
    assert Selection([], ["*.tmp"], "/w").__contains__("/w/a.tmp") is False
    assert "/w/d/a" in Selection(["d/*"], [], "/w")


def test_what_cannot_be_recorded_is_noted() -> None:
    _, notes = decode(
        OPEN,
        "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</w/f>, 0) = 0x7f0000000000",
        'openat(AT_FDCWD</w>, "/w/g", O_RDONLY) = 4</w/g>',
        "mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 4</w/g>, 0) = 0x7f0000001000",
        'openat(AT_FDCWD</w>, "/w/lib.so", O_RDONLY) = 5</w/lib.so>',
        "mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 5</w/lib.so>, 0) = 0x7f0000002000",
        "sync_file_range(3</w/f>, 0, 9, SYNC_FILE_RANGE_WRITE) = 0",
        "io_uring_setup(8, {flags=0}) = 6<anon_inode:[io_uring]>",
        'read(77</w/elsewhere>, ""..., 9) = 9',
        "what is this",
    )
    assert list(notes.stored_through_maps) == ["/w/f"]
    assert notes.loaded_through_maps == {"/w/g"}
    assert (notes.range_syncs, notes.io_uring, notes.assumed_offsets, notes.unknown_lines) == (1, True, 1, 1)


def test_a_call_stands_where_it_began() -> None:
    records, _ = decode(
        OPEN,
        "clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f, stack_size=1}, 88) = 7",
        '7: pwrite64(3</w/f>, ""..., 9, 0 <unfinished ...>',
        'pwrite64(3</w/f>, ""..., 9, 50) = 9',
        "fdatasync(3</w/f>) = 0",
        "7: <... pwrite64 resumed>) = 9",
    )
    assert text(records) == "/w/f write 0 9; /w/f write 50 9; /w/f datasync"
