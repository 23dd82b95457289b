"""`nandram check`: files of every kind, valid and not."""

from pathlib import Path

import pytest

from conftest import TINY
from mutants import CLAIMS, EXPERIMENT, JOB, ROOT, SWEEP, TRACES
from nandram.cli import main

PROGRAM = 'kind = "gups"\ntable = "1MiB"\nupdates = 100\n'


def run(capsys: pytest.CaptureFixture[str], *files: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["check", *map(str, files)])
    found = capsys.readouterr()
    return int(exit_.value.code or 0), found.out, found.err


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "claims").mkdir()
    texts = {
        "job.fio": JOB,
        "sweep.toml": SWEEP,
        "small.toml": EXPERIMENT,
        "claims/small.toml": CLAIMS,
        "program.toml": PROGRAM,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in texts}


def test_valid_files_of_every_kind_are_ok(capsys: pytest.CaptureFixture[str], files: dict[str, Path]) -> None:
    kinds = {
        TINY: "system",
        "nvme-client-tlc": "preset",
        files["job.fio"]: "fio job file",
        files["sweep.toml"]: "sweep, 4 runs",
        files["small.toml"]: "experiment",
        files["claims/small.toml"]: "claims, 1 of them",
        files["program.toml"]: "programs, ",
        ROOT / "python/nandram/traces/xip/djpeg-arm-O1.pages.zst": "page or memory trace, nandram",
        TRACES / "sample.msr.csv": "block trace, msr",
        TRACES / "sample.lackey.gz": "page or memory trace, lackey",
    }
    status, out, err = run(capsys, *kinds)
    assert (status, err) == (0, "")
    for line, (file, kind) in zip(out.splitlines(), kinds.items(), strict=True):
        assert line.startswith(f"{file}: ok ({kind}")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("job.fio", "rwmixread", "rwmixreda", "job.fio:8: "),
        ("sweep.toml", 'kind = "grid"', 'kind = "gird"', "sweep.toml: space.kind: found `gird`"),
        ("small.toml", "precondition", "precondtion", "small.toml: runs.one.precondtion: "),
        ("claims/small.toml", '"number"', '"figure"', "small.toml: small.read_us.kind: "),
        ("program.toml", "updates", "updaets", "program.toml:"),
    ],
)
def test_a_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path], name: str, old: str, new: str, message: str
) -> None:
    path = files[name]
    path.write_text(path.read_text().replace(old, new, 1))
    status, out, err = run(capsys, TINY, path)
    assert (status, out) == (2, f"{TINY}: ok (system)\n")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("none.toml", "none.fio"):
        status, out, err = run(capsys, tmp_path / name)
        assert (status, out, err.count("\n")) == (2, "", 1)


def test_one_number_per_line_needs_the_kind_of_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace, named = tmp_path / "numbers.txt", tmp_path / "numbers.pages.txt"
    for file in (trace, named):
        file.write_text("3\n1\n4\n")
    status, out, err = run(capsys, trace)
    assert (status, out) == (2, "")
    assert "say which with --as pages or --as blocks" in err
    assert run(capsys, "--as", "pages", trace) == (0, f"{trace}: ok (page trace, text, 3 requests)\n", "")
    assert run(capsys, "--as", "blocks", trace) == (0, f"{trace}: ok (block trace, libcachesim-text)\n", "")
    assert run(capsys, named) == (0, f"{named}: ok (page trace, text, 3 requests)\n", "")
    status, out, err = run(capsys, "--as", "page", trace)
    assert (status, out, err) == (2, "", "error: as: found `page`, expected pages or blocks; the nearest is `pages`\n")


def test_a_trace_of_another_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    trace = TRACES / "sample.msr.csv"
    assert run(capsys, "--as", "blocks", trace)[0] == 0
    status, out, err = run(capsys, "--as", "pages", trace)
    assert (status, out) == (2, "")
    assert "found a block trace, msr" in err
    assert "expected a page trace" in err
