"""Each mistake of a user is reported in one line, found and expected, with exit status 2."""

import gzip
import os
import shutil
from pathlib import Path

import pytest
import zstandard
from syrupy.assertion import SnapshotAssertion

from conftest import TINY
from nandram.cli import main

TRACE = "fio version 3 iolog\n0 sda add\n0 sda open\n" + "".join(f"{n} sda write {4096 * n} 4096\n" for n in range(300))

SYSTEMS = {
    "syntax.toml": "[flash\nchannels = 8\n",
    "typo.toml": "[flash]\nchanels = 8\n",
    "table.toml": "[flsh]\nchannels = 8\n",
    "unitless.toml": "[flash]\nread = 50\n",
    "wrong-unit.toml": '[flash]\nrate = "333MHz"\n',
    "bare-string.toml": '[flash]\npage = "16 kilobytes"\n',
    "kind.toml": '[flash]\nchannels = "eight"\n',
    "range.toml": "[flash]\nchannels = 0\n",
    "choice.toml": '[flash]\ncell = "tcl"\n',
    "extends.toml": 'extends = "nvme-cleint-tlc"\n',
    "circle.toml": 'extends = "circle.toml"\n',
    "lanes.toml": "[link]\nlanes = 3\n",
    "sata-lanes.toml": '[link]\ntype = "sata"\nlanes = 4\n',
    "basis.toml": '[basis]\n"flash.raed" = { given = "a data sheet" }\n',
    "basis-kind.toml": '[basis]\n"flash.read" = { guessed = "a data sheet" }\n',
    "full.toml": 'extends = "tiny.toml"\n[ftl]\nover_provisioning = 0.01\n',
    "too-large.toml": 'extends = "tiny.toml"\n[ftl]\ncapacity = "1TB"\n',
}
JOBS = {
    "job.fio": "[job]\nrw=randread\nbs=4k\nnumber_ios=10\n",
    "empty.fio": "",
    "no-job.fio": "[global]\nrw=read\n",
    "typo.fio": "[job]\nrw=randread\niodpeth=4\n",
    "unknown.fio": "[job]\nrw=randread\nzonemdoe=zbd\n",
    "rw.fio": "[job]\nrw=randraed\n",
    "bs.fio": "[job]\nrw=read\nbs=4q\n",
    "bs-odd.fio": "[job]\nrw=read\nbs=1000\n",
    "depth.fio": "[job]\nrw=read\niodepth=0\n",
    "value.fio": "[job]\nrw=read\niodepth=\n",
    "section.fio": "[job\nrw=read\n",
    "outside.fio": "rw=read\n[job]\n",
    "mix.fio": "[job]\nrw=randrw\nrwmixread=130\n",
    "zipf.fio": "[job]\nrw=randread\nrandom_distribution=zipf:-1\n",
    "beyond.fio": "[job]\nrw=randread\noffset=1t\nsize=1m\n",
}
TRACES = {
    "empty.iolog": "",
    "unknown.trace": "what is this\nand this\n",
    "version.iolog": "fio version 9 iolog\n0 sda add\n",
    "action.iolog": "fio version 3 iolog\n0 sda add\n0 sda open\n5 sda raed 0 4096\n",
    "offset.iolog": "fio version 3 iolog\n0 sda add\n0 sda open\n5 sda read here 4096\n",
    "short.iolog": "fio version 3 iolog\n0 sda add\n0 sda open\n5 sda read 0\n",
    "beyond.iolog": "fio version 3 iolog\n0 sda add\n0 sda open\n5 sda read 1000000000000 4096\n",
    "only-head.iolog": "fio version 3 iolog\n",
    "msr.csv": "128166372003061629,hm,0,Raed,383496192,32768,413\n",
}


def write_files() -> None:
    """Fill the working folder with mistakes."""
    shutil.copy(TINY, "tiny.toml")
    for name, text in (SYSTEMS | JOBS | TRACES).items():
        Path(name).write_text(text)
    Path("good.iolog").write_text(TRACE)
    packed = gzip.compress(TRACE.encode(), mtime=0)
    Path("cut.iolog.gz").write_bytes(packed[: len(packed) // 2])
    Path("damaged.iolog.gz").write_bytes(packed[:-8] + bytes(8))
    packed = zstandard.compress(TRACE.encode())
    Path("cut.iolog.zst").write_bytes(packed[: len(packed) // 2])
    Path("binary.fio").write_bytes(bytes(range(256)))
    Path("binary.toml").write_bytes(bytes(range(256)))
    Path("loop.fio").symlink_to("loop.fio")
    Path("loop.toml").symlink_to("loop.toml")
    Path("file").touch()
    Path("folder").mkdir()


def on(system: str) -> list[str]:
    return ["run", system, "job.fio"]


def plays(workload: str, *more: str) -> list[str]:
    return ["run", "tiny.toml", workload, *more]


def changed(change: str) -> list[str]:
    return ["show", "nvme-client-tlc", "--set", change]


MISTAKES = [
    # Commands and flags.
    ["rnu"],
    ["run"],
    ["run", "tiny.toml"],
    plays("job.fio", "extra"),
    plays("job.fio", "--sed", "1"),
    plays("job.fio", "--seed"),
    plays("job.fio", "--seed", "one"),
    plays("job.fio", "--seed", "-1"),
    plays("job.fio", "--seed", "18446744073709551616"),
    plays("job.fio", "--set", "link.lanes"),
    plays("job.fio", "--set", "=4"),
    plays("job.fio", "--payload", "stmap"),
    plays("job.fio", "--payload", "bytes"),
    plays("job.fio", "--timeline"),
    plays("good.iolog", "--replay", "clsoed"),
    plays("good.iolog", "--replay", "open:3"),
    plays("good.iolog", "--replay", "closed"),
    plays("good.iolog", "--replay", "closed:0"),
    plays("good.iolog", "--replay", "closed:many"),
    plays("good.iolog", "--replay", "scaled"),
    plays("good.iolog", "--replay", "scaled:-1"),
    plays("good.iolog", "--replay", "scaled:inf"),
    plays("job.fio", "--replay", "open"),
    plays("job.fio", "--wrap"),
    plays("job.fio", "--precondition", "stead"),
    plays("job.fio", "--warm-up", "5"),
    plays("job.fio", "--warm-up", "detcet"),
    plays("job.fio", "--warm-up", "-5ms"),
    plays("job.fio", "--precondition", "fill", "--cache", "file"),
    plays("job.fio", "-o", "file"),
    plays("job.fio", "-o", "file/below"),
    plays("job.fio", "-o", "/dev/null/below"),
    ["show"],
    ["show", "tiny.toml", "--set", "x"],
    ["systems", "all"],
    ["capture"],
    ["capture", "blok"],
    ["capture", "block"],
    ["capture", "block", "-o", "t.iolog", "--", "no-such-command"],
    ["capture", "block", "-o", "t.iolog", "--", "./folder"],
    ["capture", "block", "-o", "t.iolog", "--", "./file"],
    ["capture", "block", "-o", "no/t.iolog", "--", "true"],
    ["capture", "block", "--onto", "t.iolog", "--", "true"],
    # Systems.
    on("nvme-cleint-tlc"),
    on("no-such.toml"),
    on("no-such-folder/tiny.toml"),
    on("folder"),
    on("binary.toml"),
    on("loop.toml"),
    *(on(name) for name in SYSTEMS),
    ["show", "nvme-cleint-tlc"],
    # Changes.
    changed("link.lanez=2"),
    changed("link.lanes=3"),
    changed("link.lanes=two"),
    changed("flash.read=50"),
    changed("flash.read=50parsecs"),
    changed("flash.read=[50us"),
    changed("flash=8"),
    changed("device.dram=1MiB"),
    changed("ftl.gc.policy=gredy"),
    changed("title=[1]"),
    # Jobs and traces.
    plays("no-such.fio"),
    plays("folder"),
    plays("binary.fio"),
    plays("loop.fio"),
    *(plays(name) for name in JOBS if name != "job.fio"),
    *(plays(name) for name in TRACES),
    plays("cut.iolog.gz"),
    plays("damaged.iolog.gz"),
    plays("cut.iolog.zst"),
]


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 100
    assert len({" ".join(each) for each in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_message(
    arguments: list[str],
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    found = capsys.readouterr()
    assert exit_.value.code == 2
    assert sorted(tmp_path.rglob("*")) == before
    if arguments == ["capture"]:  # shows its help
        return
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert found.err == snapshot


def test_capture_without_strace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = tmp_path / "command"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "block", "--", "command"])
    assert exit_.value.code == 2
    expected = "error: capture needs strace, which is not on the PATH: install the package strace\n"
    assert capsys.readouterr().err == expected


def test_an_old_strace(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    strace = tmp_path / "strace"
    strace.write_text("#!/bin/sh\necho 'strace -- version 4.26'\n")
    strace.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "block", "--", "true"])
    assert exit_.value.code == 2
    expected = f"error: capture needs strace 5.3 or newer; {strace} is 4.26\n"
    assert capsys.readouterr().err == expected
