"""`nandram.run_paging` and `nandram paging`: policies on page traces."""

import json
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import nandram
from nandram.cli import main
from nandram.traces import path_of
from paging.traces import loops, write


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "loops.pages.zst", loops(3000))


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def lru(pages: list[int], frames: int) -> int:
    """Return the misses of LRU, computed directly."""
    held: list[int] = []
    misses = 0
    for page in pages:
        if page in held:
            held.remove(page)
        else:
            misses += 1
            if len(held) == frames:
                del held[0]
        held.append(page)
    return misses


def test_counts_time_and_energy(trace: Path) -> None:
    frame = nandram.run_paging(trace, sram=["4KiB", "8KiB"]).frame()
    assert frame["policy"].to_list() == ["lru", "min", "pm-xip(8,4)", "rent-or-buy"] * 2
    for row in frame.iter_rows(named=True):
        counts = [row[name] for name in ("flash_to_buffer", "buffer_to_sram", "buffer_reads", "sram_reads")]
        assert counts[2] + counts[3] == row["requests"] == 3000
        time_us = sum(count * cost for count, cost in zip(counts, (29.33, 12.86, 0.22, 0.04), strict=True))
        energy_nj = sum(count * cost for count, cost in zip(counts, (1295.48, 1056.21, 15.24, 1.79), strict=True))
        assert row["time_s"] == pytest.approx(time_us / 1e6, rel=1e-12)
        assert row["energy_j"] == pytest.approx(energy_nj / 1e9, rel=5e-6)
        assert row["time_to_bound"] >= 1
        assert row["energy_to_bound"] >= 1
        if row["policy"] == "lru":
            assert counts[0] == counts[1] == lru(loops(3000), row["sram_bytes"] // 1024)


def test_a_run_event_by_event_takes_what_the_counts_say(trace: Path) -> None:
    frame = nandram.run_paging(trace, policies=["pm-xip(8,4)", "lru"], sram=["4KiB"], bound_rounds=0).frame()
    for row in frame.iter_rows(named=True):
        changes = {"host.paging.policy": row["policy"].partition("(")[0]}
        result = nandram.run("onenand-xip", trace, set=changes)
        assert result.inside["paging"]["flash_to_buffer"] == row["flash_to_buffer"]
        assert result.inside["simulated_s"] == row["time_s"]
        assert result.energy_j == pytest.approx(row["energy_j"], rel=1e-12)
    overlapped = nandram.run("onenand-xip", trace, set={"host.paging.overlap": True})
    assert overlapped.inside["simulated_s"] < overlapped.inside["paging"]["in_turn_s"]
    assert overlapped.inside["paging"]["in_turn_s"] == frame["time_s"][0]


def test_a_sweep_holds_what_each_point_gives_alone(trace: Path) -> None:
    swept = nandram.run_paging_sweep(trace, windows="2..8", sram=["4KiB"]).frame()
    assert len(swept) == 3 + 5 + 9
    for window, threshold in ((2, 0), (8, 4), (4, 4)):
        (point,) = swept.filter((pl.col("window") == window) & (pl.col("threshold") == threshold)).to_dicts()
        alone = nandram.run_paging(
            trace, policies=["lru", f"pm-xip({window},{threshold})"], sram=["4KiB"], bound_rounds=0
        )
        of_lru, of_point = alone.frame().to_dicts()
        assert point["time_s"] == of_point["time_s"]
        assert point["energy_to_lru"] == pytest.approx(of_point["energy_j"] / of_lru["energy_j"], rel=1e-12)
    part = nandram.run_paging_sweep(trace, windows=[8], thresholds="25..50%", sram=["4KiB"]).frame()
    assert part["threshold"].to_list() == [2, 3, 4]
    assert nandram.run_paging_sweep(trace, windows="2,8", sram=["4KiB"]).best()["window"][0] in (2, 8)


def test_readings_and_first_requests(trace: Path) -> None:
    one = {"policies": ["pm-xip(4,0)", "lru"], "sram": ["4KiB"], "bound_rounds": 0}
    before = nandram.run_paging(trace, **one).frame()  # type: ignore[arg-type]
    current = nandram.run_paging(trace, reading="with+after+fault", **one).frame()  # type: ignore[arg-type]
    assert before["time_s"][0] != before["time_s"][1]
    assert current["time_s"][0] == current["time_s"][1], "with a threshold of 0 and the current request it is LRU"
    first = nandram.run_paging(trace, requests=100, **one).frame()  # type: ignore[arg-type]
    assert first["requests"].to_list() == [100, 100]


def test_a_trace_that_comes_with_nandram_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named, given = (
        nandram.run_paging(trace, policies=["lru"], sram=["4KiB"], bound_rounds=0, requests=1000).frame()
        for trace in ("xip/fft-arm-O2", path_of("xip/fft-arm-O2"))
    )
    assert named.equals(given)
    assert named["trace"].to_list() == ["fft-arm-O2"]
    # A file of that name takes precedence.
    (tmp_path / "xip").mkdir()
    write(tmp_path / "xip" / "fft-arm-O2", loops(500))
    assert nandram.run_paging("xip/fft-arm-O2", bound_rounds=0).frame()["requests"][0] == 500


def test_tables_and_files(
    trace: Path, tmp_path: Path, snapshot: SnapshotAssertion, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call("paging", str(trace), "--sram", "4KiB,32KiB", "-o", str(out)) == 0
    assert capsys.readouterr().out.replace(str(tmp_path), "DIR") == snapshot(name="table")
    assert pl.read_parquet(out / "paging.parquet").shape == (8, 15)
    assert call("paging", str(trace), "--window", "2..16", "--sram", "4KiB", "-o", str(out)) == 0
    assert capsys.readouterr().out.replace(str(tmp_path), "DIR") == snapshot(name="sweep")
    for plot in ("paging.png", "time.png", "energy.png"):
        assert (out / plot).read_bytes().startswith(b"\x89PNG")
    assert call("paging", str(trace), "--policy", "pm-xip(8, 4),arc", "--bound", "0", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == ["pm-xip(8, 4)", "arc"] * 4
    assert rows[0]["time_to_bound"] is None
    assert call("run", "onenand-xip", str(trace)) == 0
    assert capsys.readouterr().out.replace(str(tmp_path), "DIR") == snapshot(name="run")


MISTAKES = [
    [],
    ["missing.pages"],
    ["loops.pages.zst", "loops.pages.zst"],
    ["loops.pages.zst", "--policy", "lru,lur"],
    ["loops.pages.zst", "--policy", "pm-xip(0,4)"],
    ["loops.pages.zst", "--policy", "pmxip(8,4)"],
    ["loops.pages.zst", "--policy", "lru,lru"],
    ["loops.pages.zst", "--sram", "4"],
    ["loops.pages.zst", "--sram", "1536B"],
    ["loops.pages.zst", "--sram", "4KiB,4KiB"],
    ["loops.pages.zst", "--threshold", "50%"],
    ["loops.pages.zst", "--window", "2..1024", "--policy", "lru"],
    ["loops.pages.zst", "--window", "0..8"],
    ["loops.pages.zst", "--window", "8,8"],
    ["loops.pages.zst", "--window", "many"],
    ["loops.pages.zst", "--window", "8", "--threshold", "50..20%"],
    ["loops.pages.zst", "--window", "8", "--threshold", "4"],
    ["loops.pages.zst", "--reading", "before"],
    ["loops.pages.zst", "--bound", "-1"],
    ["loops.pages.zst", "--requests", "0"],
    ["loops.pages.zst", "--requests", "99999999999999999999"],
    ["loops.pages.zst", "--system", "nvme-client-tlc"],
    ["loops.pages.zst", "--set", "host.sram.size=0B"],
    ["empty.pages"],
    ["text.pages"],
]


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_mistakes(
    arguments: list[str],
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "loops.pages.zst", loops(300))
    write(tmp_path / "empty.pages", [])
    (tmp_path / "text.pages").write_text("what is this\n")
    assert call("paging", *arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ["--precondition", "fill"],
        ["--replay", "open"],
        ["--payload", "stamp"],
        ["--wrap"],
        ["--warm-up", "1ms"],
        ["--set", "flash.blocks=4", "--set", "flash.pages=1"],
        ["--set", "flash.page=2KiB", "--set", "host.sram.size=4KiB"],
    ],
    ids=" ".join,
)
def test_mistakes_of_runs(
    arguments: list[str],
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "loops.pages.zst", loops(300))
    assert call("run", "onenand-xip", "loops.pages.zst", *arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error == snapshot
