"""The trace file in fio's format."""

import gzip
from pathlib import Path

import pytest
import zstandard

from nandram.capture.files import File
from nandram.capture.iolog import IologWriter, written_name
from nandram.capture.records import Action, Record
from nandram.errors import UserError


def write(path: Path, records: list[Record]) -> IologWriter:
    with IologWriter(path, "/w") as writer:
        for each in records:
            writer.write(each)
    return writer


def sample() -> list[Record]:
    wal, other = File(0, "/w/bank.db-wal", True), File(1, "/etc/a file", True)
    wal.names.add("/w/bank.db-wal")
    other.names.add("/etc/a file")
    return [
        Record(1_000_000, 0, Action.WRITE, wal, 0, 4120),
        Record(1_000_060, 1, Action.DATASYNC, wal, 0, 0),
        Record(1_000_050, 2, Action.READ, other, 24, 8),  # the clock was set back
        Record(1_000_070, 3, Action.TRIM, wal, 0, 8192),
    ]


EXPECTED = """\
fio version 3 iolog
1 bank.db-wal add
1 bank.db-wal open
1 bank.db-wal write 0 4120
61 bank.db-wal datasync 0 0
61 etc/a%20file add
61 etc/a%20file open
61 etc/a%20file read 24 8
71 bank.db-wal trim 0 8192
"""


def test_plain_and_compressed(tmp_path: Path) -> None:
    for _ in range(2):
        write(tmp_path / "t.iolog", sample())
        assert (tmp_path / "t.iolog").read_text() == EXPECTED
        write(tmp_path / "t.gz", sample())
        assert gzip.decompress((tmp_path / "t.gz").read_bytes()).decode() == EXPECTED
        write(tmp_path / "t.zst", sample())
        with (tmp_path / "t.zst").open("rb") as file:
            assert zstandard.ZstdDecompressor().stream_reader(file).read().decode() == EXPECTED


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    for suffix in ("gz", "zst"):
        write(tmp_path / f"one.{suffix}", sample())
        write(tmp_path / f"two.{suffix}", sample())
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_counts(tmp_path: Path) -> None:
    writer = write(tmp_path / "t", sample())
    assert writer.files == 2
    assert writer.counts == {Action.WRITE: 1, Action.DATASYNC: 1, Action.READ: 1, Action.TRIM: 1}
    assert writer.bytes[Action.TRIM] == 8192


def test_a_file_takes_over_the_name_of_one_that_is_gone(tmp_path: Path) -> None:
    gone, alive, later = File(0, "/w/j", True), File(1, "/w/j", True), File(2, "/w/j", True)
    alive.references = later.references = 1
    records = [Record(0, n, Action.WRITE, file, 0, 1) for n, file in enumerate([gone, alive, later])]
    write(tmp_path / "t", records)
    names = [line.split()[1] for line in (tmp_path / "t").read_text().splitlines() if line.endswith("add")]
    assert names == ["j", "j", "j~2"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/w/a/b.db", "a/b.db"),
        ("/elsewhere/b.db", "elsewhere/b.db"),
        ("/wide/b", "wide/b"),
        ("/w/100%", "100%25"),
        ("/w/tab\tline\n", "tab%09line%0A"),
        ("/w/ü", "%C3%BC"),
        ("/w/\udcff", "%FF"),
    ],
)
def test_names(path: str, name: str) -> None:
    assert written_name(path, "/w/") == name


def test_a_long_name_is_cut_to_what_fio_reads() -> None:
    one = written_name("/w/" + "x" * 300 + "/one.db", "/w/")
    other = written_name("/w/" + "y" * 300 + "/one.db", "/w/")
    assert len(one) == len(other) == 255
    assert one.endswith("/one.db")
    assert one != other


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no/t\.iolog: cannot be written: No such file or directory"):
        IologWriter(tmp_path / "no" / "t.iolog", "/w")
