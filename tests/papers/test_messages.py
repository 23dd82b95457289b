"""Mistakes in claims, experiments and on the command line: one line each, exit status 2, and nothing written."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from nandram.cli import main

COMMANDS = [
    ["drambsu"],
    ["no-such-paper"],
    ["no-such.toml"],
    ["claims"],
    ["folder/"],
    ["binary.toml"],
    ["tiny.toml", "drmbus"],
    ["tiny.toml", "tiny.toml"],
    ["tiny.toml", "--jobs", "0"],
    ["tiny.toml", "--jobs", "two"],
    ["tiny.toml", "--jsno"],
    ["tiny.toml", "--claims", "*.nothing"],
    ["tiny.toml", "--cache", "tiny.toml"],
    ["tiny.toml", "-o", "tiny.toml"],
]

EXPERIMENT = [
    ("[runs.reads]", "[runs.reads"),
    ('paper = "claims/tiny.toml"', 'paper = "claims/tinny.toml"'),
    ('paper = "claims/tiny.toml"', 'paper = "drambas"'),
    ('paper = "claims/tiny.toml"', "paper = 1"),
    ('paper = "claims/tiny.toml"', 'papre = "claims/tiny.toml"'),
    ("[constants]", "[constnats]"),
    ("requests = 400", "requests = [400]"),
    ("requests = 400", "requests = true"),
    ("requests = 400", "requests = inf"),
    ("kib = 4", "max = 4"),
    ("kib = 4", '"kib b" = 4'),
    ("kib = 4", "reads = 4"),
    ("requests = 100\n\n[measures]", "reqests = 100\n\n[measures]"),
    ('busy["flash', 'busi["flash'),
    ("channel_busy = 'nandram", "channel_busy = 'nandrm"),
    ("channel_busy =", "read_us ="),
    ('system = "drive.toml"\nset', 'set = { "flash.read" = "1us" }\nset'),
    ('system = "drive.toml"\nset', "set"),
    ('system = "drive.toml"\nset', 'system = "nvme-cleint-tlc"\nset'),
    ('system = "drive.toml"\nset', 'system = "no-such.toml"\nset'),
    ('"flash.program" = "600us"', '"flash.porgram" = "600us"'),
    ('"flash.program" = "600us"', '"flash.program" = "{time}us"'),
    ('"flash.program" = "600us"', '"flash.program" = "{requests}"'),
    ('"flash.program" = "600us"', '"flash.program" = 1979-05-27'),
    ("depth = [1, 2, 8]", "depth = 1"),
    ("depth = [1, 2, 8]", "depth = []"),
    ("depth = [1, 2, 8]", "depth = [1, 2, 2]"),
    ("depth = [1, 2, 8]", "depth = [1, [2]]"),
    ("depth = [1, 2, 8]", "depth = [1, 2, 8], size = [4]"),
    ("depth = [1, 2, 8]", "depth = [1, 2, 8], kib = [4]"),
    ("depth = [1, 2, 8]", "width = [1, 2, 8]"),
    ('precondition = "fill"', 'precondtion = "fill"'),
    ('precondition = "fill"', 'precondition = "fil"'),
    ('precondition = "fill"', 'warm_up = "5"'),
    ('precondition = "fill"', "precondition = 1"),
    ('precondition = "fill"', "seed = -1"),
    ('precondition = "fill"', "repeat = 0"),
    ('precondition = "fill"', 'trace = "x.iolog"'),
    ('precondition = "fill"', 'replay = "closed:1"'),
    ("rw=randread", "rw=randraed"),
    ("bs={kib}k", "bs={kb}k"),
    ("bs={kib}k", "bs={kib}q"),
    ('replay = "closed:1"', 'replay = "clsoed:1"'),
    ("[runs.traced.generate]", "[runs.traced.generator]"),
    ('kind = "mix"', 'kind = "mixed"'),
    ("request_bytes = 4096", "request_bytes = 4000"),
    ("request_bytes = 4096", "bytes = 4096"),
    ("span_bytes = 4194304", "span_bytes = 4096"),
    ("writes = 0.25", "writes = 25"),
    ("read_misses = 0.8", "read_misses = 0"),
    ("seed = 7", "seed = 7\nsede = 8"),
    ('one = "reads(depth=1)"', 'one = "raeds(depth=1)"'),
    ('one = "reads(depth=1)"', 'one = "reads(depth=3)"'),
    ('one = "reads(depth=1)"', 'one = "reads(deph=1)"'),
    ('one = "reads(depth=1)"', 'one = "gain"'),
    ('one = "reads(depth=1)"', 'reads = "reads(depth=1)"'),
    ('one = "reads(depth=1)"', "one = 1"),
    ("reads.read_iops / one", "reads.raed_iops / one"),
    ("reads.read_iops / one", "reads.write_us / one"),
    ("/ one.read_iops", "/ one.raed_iops"),
    ("number = {", "nmuber = {"),
    ("number = { within = 0.10", "number = { within = 0"),
    ("number = { within = 0.10", "number = { wihtin = 0.1"),
    ('within = 0.10, set_by = "the editor"', "within = 0.10"),
    ('within = 0.10, set_by = "the editor"', 'within = 0.10, holds = "true", set_by = "the editor"'),
    ('within = 0.10, set_by = "the editor"', ""),
    ('number = { within = 0.10, set_by = "the editor" }', ""),
    ('"tiny.read_us" =', '"tiny.raed_us" ='),
    ('"tiny.read_us" = "one.read_us"', '"tiny.read_us" = 60'),
    ('"tiny.read_us" = "one.read_us"', '"tiny.read_us" = "one.read_us * 1e308 * 1e308"'),
    ('"tiny.read_us" = "one.read_us"', '"tiny.read_us" = { note = "nothing" }'),
    ('"tiny.read_us" = "one.read_us"', '"tiny.read_us" = { our = "one.read_us" }'),
    ('"tiny.read_us" = "one.read_us"', '"tiny.read_us" = "one.read_us < 3"'),
    ('"tiny.read_us" = "one.read_us"', '"tiny.read_us" = "reads.read_us"'),
    ('"tiny.depth.monotone" = "rising(reads.read_iops)"', '"tiny.depth.monotone" = "one.read_us"'),
    ('holds = "ours <= paper"', 'holds = "ours <= papre"'),
    ('holds = "ours <= paper"', 'holds = "ours - paper"'),
    (', holds = "ours <= paper", set_by = "arithmetic"', ""),
    (', holds = "ours <= paper", set_by', ", set_by"),
]

CLAIMS = [
    ('title = "On tiny drives"\n', ""),
    ('title = "On tiny drives"', 'tilte = "On tiny drives"'),
    ("[[claim]]", "[[claims]]"),
    ('id = "tiny.read_us"', 'id = "tny.read_us"'),
    ('id = "tiny.gain"', 'id = "tiny.read_us"'),
    ("value = 60", 'value = "60"'),
    ("value = 60", "value = true"),
    ("value = 60", "value = nan"),
    ("value = 60", "velue = 60"),
    ("value = 60", "value = 60\nvariance = 2"),
    ("value = [2, 4]", "value = 3"),
    ("value = [2, 4]", "value = [4, 2]"),
    ('kind = "range"', 'kind = "rnage"'),
    ('unit = "us"\n', ""),
]


def test_there_are_many() -> None:
    assert len(COMMANDS) + len(EXPERIMENT) + len(CLAIMS) >= 100
    assert len({*EXPERIMENT}) == len(EXPERIMENT)


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    before = sorted(Path().rglob("*"))
    with pytest.raises(SystemExit) as exit_:
        main(["reproduce", *arguments])
    found = capsys.readouterr()
    assert (exit_.value.code, found.out) == (2, "")
    assert found.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
    return found.err


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_command(
    tiny: Path, arguments: list[str], snapshot: SnapshotAssertion, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    Path("binary.toml").write_bytes(bytes(range(256)))
    assert told(arguments, capsys) == snapshot


@pytest.mark.parametrize(("old", "new"), EXPERIMENT, ids=[f"{old} -> {new}" for old, new in EXPERIMENT])
def test_experiment(
    tiny: Path, old: str, new: str, snapshot: SnapshotAssertion, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tiny.read_text()
    assert old in text
    tiny.write_text(text.replace(old, new, 1))
    assert told(["tiny.toml"], capsys) == snapshot


@pytest.mark.parametrize(("old", "new"), CLAIMS, ids=[f"{old} -> {new}" for old, new in CLAIMS])
def test_claims(
    tiny: Path, old: str, new: str, snapshot: SnapshotAssertion, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("claims/tiny.toml")
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    assert told(["tiny.toml"], capsys) == snapshot
