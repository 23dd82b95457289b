"""`nandram reproduce` and `nandram.reproduce`: from claims and an experiment to one row per claim."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

import nandram
from nandram import simulate
from nandram.cli import main
from nandram.papers.verdict import VERDICTS

CHANGES_MADE = {"flash.program": "600us", "flash.cache_read": False, "flash.ecc": {"codeword": "2KiB"}}
"""The experiment's changes to the drive."""
KEYS = ["id", "paper", "ours", "unit", "deviation", "verdict", "rests_on", "robustness"]
ROW = {
    "type": "object",
    "required": KEYS,
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": r"^\w+(\.\w+)+$"},
        "paper": {
            "anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}]
        },
        "ours": {"type": ["number", "null"]},
        "unit": {"type": "string"},
        "deviation": {"type": ["number", "null"]},
        "verdict": {"enum": list(VERDICTS)},
        "robustness": {"type": "string", "pattern": r"^([0-9]+/[0-9]+|stale)?$"},
        "rests_on": {
            "type": "object",
            "required": [
                "test",
                "set_by",
                "note",
                "runs",
                "given",
                "assumed",
                "calibrated",
                "fitted_to",
                "set",
                "counters",
            ],
            "additionalProperties": False,
            "properties": {
                "test": {"type": "string"},
                "set_by": {"type": "string"},
                "note": {"type": "string"},
                "runs": {"type": "array", "items": {"type": "string"}},
                "fitted_to": {"type": "array", "items": {"type": "string"}},
                "counters": {"type": "array", "items": {"type": "string"}},
            }
            | {
                name: {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["system", "key", "value", *more],
                        "additionalProperties": {"type": "string"},
                    },
                }
                for name, more in (("given", ["source"]), ("assumed", ["why"]), ("calibrated", ["to"]), ("set", []))
            },
        },
    },
}


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the executed workloads, in order."""
    names: list[str] = []
    whole = simulate.run

    def run(system: Any, workload: Any, **options: Any) -> nandram.Result:
        names.append(Path(workload).name)
        return whole(system, workload, **options)

    monkeypatch.setattr(simulate, "run", run)
    return names


def test_a_row_a_claim(tiny: Path) -> None:
    found = nandram.reproduce(str(tiny), cache=None)
    assert {row.id: row.verdict for row in found} == {
        "tiny.read_us": "trivial",
        "tiny.gain": "not-tested",
        "tiny.gain.range": "not-tested",
        "tiny.busy": "trivial",
        "tiny.depth.monotone": "trivial",
        "tiny.depth.knee": "missed",
        "tiny.read.fitted": "calibrated",
        "tiny.lifetime": "not-comparable",
        "tiny.noise": "not-comparable",
    }
    one = nandram.run("drive.toml", _job(depth=1), precondition="fill", set=CHANGES_MADE, cache=None)
    row = found["tiny.read_us"]
    assert row.ours == pytest.approx(one.latency_mean_ns / 1000)
    assert row.ours is not None
    assert row.deviation == row.ours / 60 - 1
    eight = nandram.run("drive.toml", _job(depth=8), precondition="fill", set=CHANGES_MADE, cache=None)
    assert found["tiny.gain"].ours == pytest.approx(eight.iops / one.iops)
    assert found["tiny.gain.range"].deviation == 0
    assert found["tiny.busy"].ours == eight.inside["busy"]["flash channel 0"]
    assert (found["tiny.depth.monotone"].ours, found["tiny.depth.monotone"].deviation) == (1, None)
    assert (found["tiny.depth.knee"].ours, found["tiny.depth.knee"].deviation) == (8, None)
    assert found["tiny.lifetime"].ours is not None
    assert found["tiny.noise"].ours is None
    assert found["tiny.noise"].rests_on.note == "no experiment yet"
    assert {verdict: number for verdict, number in found.counts.items() if number} == {
        "not-tested": 2,
        "trivial": 3,
        "missed": 1,
        "calibrated": 1,
        "not-comparable": 2,
    }


def _job(depth: int) -> str:
    Path("by-hand.fio").write_text(f"[reads]\nrw=randread\nbs=4k\niodepth={depth}\nnumber_ios=400\n")
    return "by-hand.fio"


def test_what_a_row_rests_on(tiny: Path) -> None:
    rests_on = nandram.reproduce(str(tiny), cache=None)["tiny.gain"].rests_on
    assert (rests_on.test, rests_on.set_by) == ("within 25 %", "the editor")
    assert rests_on.note == "read off nothing; the drive has four dies"
    assert rests_on.runs == ("tiny/reads,depth=1", "tiny/reads,depth=2", "tiny/reads,depth=8")
    system = {"system": "drive.toml"}
    assert {**system, "key": "flash.channels", "value": "2", "source": "Table 0"} in rests_on.given
    assert {**system, "key": "flash.dies", "value": "2", "why": "two are usual"} in rests_on.assumed
    fitted = "tiny.read.fitted: the array's part of it"
    assert rests_on.calibrated == ({**system, "key": "flash.read", "value": '"50us"', "to": fitted},)
    assert rests_on.fitted_to == ("tiny.read.fitted",)
    assert {**system, "key": "flash.program", "value": '"600us"'} in rests_on.set
    everything = (*rests_on.given, *rests_on.assumed, *rests_on.calibrated, *rests_on.set)
    settings = nandram.run("drive.toml", _job(1), set=CHANGES_MADE, cache=None).manifest["settings"]
    changed = {key for key, setting in settings.items() if setting["set_by"] != "default"} - {"title"}
    assert sorted(each["key"] for each in everything) == sorted(changed)


def test_the_table(tiny: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert call("reproduce", str(tiny)) == 0
    found = capsys.readouterr()
    assert found.out == snapshot
    # No progress display without a terminal.
    assert found.err == ""


def test_json(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("reproduce", str(tiny), "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    jsonschema.validate(rows, {"type": "array", "items": ROW, "minItems": 9})
    assert all(list(row) == KEYS for row in rows)


def test_json_of_what_came_with_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("reproduce", "ddrssd", "--json", "--claims", "*.nothing", "--quick") == 2
    assert call("reproduce", "ssd_crosscheck", "--json", "--claims", "*.tpcc_small") == 0
    out = capsys.readouterr().out
    jsonschema.validate(json.loads(out), {"type": "array", "items": ROW, "minItems": 1})


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_the_same_bytes_however_many_at_a_time(tiny: Path, jobs: int) -> None:
    assert nandram.reproduce(str(tiny), jobs=jobs, cache=None).json == nandram.reproduce(str(tiny), cache=None).json


def test_what_was_run_is_not_run_again(tiny: Path, made: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = nandram.reproduce(str(tiny), cache=cache)
    assert sorted(made) == ["job.fio", "job.fio", "job.fio", "trace.iolog"]
    made.clear()
    assert nandram.reproduce(str(tiny), cache=cache) == first
    assert made == []
    # A truncated file is not a result.
    kept = sorted((cache / "runs").rglob("*.json"))
    assert len(kept) == 4
    kept[0].write_text(kept[0].read_text()[:100])
    assert nandram.reproduce(str(tiny), cache=cache) == first
    assert len(made) == 1


def test_equal_runs_are_made_once(tiny: Path, made: list[str]) -> None:
    text = tiny.read_text()
    one = text[text.index("[runs.reads]") : text.index("[runs.traced]")]
    text = text.replace("[values]", one.replace("runs.reads", "runs.again") + "[values]")
    tiny.write_text(text.replace('gain = "reads.read_iops', 'gain = "again.read_iops'))
    assert nandram.reproduce(str(tiny), cache=None).counts["not-tested"] == 2
    assert sorted(made) == ["job.fio", "job.fio", "job.fio", "trace.iolog"]


CHANGES: dict[str, Callable[[str], str]] = {
    "drive.toml": lambda text: text.replace('read = "50us"', 'read = "65us"'),
    "tiny.toml": lambda text: text.replace("kib = 4", "kib = 16"),
}


@pytest.mark.parametrize("file", CHANGES)
def test_a_change_moves_the_claims_that_depend_on_it(tiny: Path, file: str) -> None:
    before = nandram.reproduce(str(tiny))
    Path(file).write_text(CHANGES[file](Path(file).read_text()))
    after = nandram.reproduce(str(tiny))
    for claim in ("tiny.read_us", "tiny.busy", "tiny.read.fitted"):
        assert before[claim].ours != after[claim].ours
    assert after["tiny.read_us"].verdict == "missed"


def test_only_what_the_claims_need_is_run(tiny: Path, made: list[str]) -> None:
    found = nandram.reproduce(str(tiny), claims="*.lifetime", cache=None)
    assert [row.id for row in found] == ["tiny.lifetime"]
    assert made == ["trace.iolog"]


def test_quick_runs_are_the_declared_ones(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("reproduce", str(tiny), "--quick", "-o", "out", "--claims", "tiny.read_us") == 0
    assert "(quick: shorter runs)" in capsys.readouterr().out
    assert "number_ios=100\n" in Path("out/runs/tiny/reads,depth=1/job.fio").read_text()


def test_several_seeds_give_their_mean(tiny: Path) -> None:
    one = [
        nandram.reproduce(_with(tiny, "[runs.reads]\n", f"[runs.reads]\nseed = {seed}\n"), cache=None)
        for seed in (5, 6)
    ]
    both = nandram.reproduce(_with(tiny, "[runs.reads]\n", "[runs.reads]\nseed = 5\nrepeat = 2\n"), cache=None)
    ours = [each["tiny.gain"].ours for each in one]
    assert ours[0] is not None
    assert ours[1] is not None
    assert ours[0] != ours[1]
    assert both["tiny.gain"].ours == pytest.approx((ours[0] + ours[1]) / 2)
    assert len(both["tiny.gain"].rests_on.runs) == 6


def _with(tiny: Path, old: str, new: str) -> str:
    text = tiny.read_text()
    assert old in text
    other = tiny.with_name("other.toml")
    other.write_text(text.replace(old, new))
    return str(other)


def test_output(tiny: Path) -> None:
    found = nandram.reproduce(str(tiny), output="out", cache=None)
    assert Path("out/claims.json").read_text() == found.json
    values = json.loads(Path("out/values.json").read_text())
    # `one` is a run, not a figure.
    assert list(values["tiny"]) == ["gain"]
    assert [point["depth"] for point in values["tiny"]["gain"]] == [1, 2, 8]
    assert values["tiny"]["gain"][2]["value"] == found["tiny.gain"].ours
    assert found.values == values
    for run in ("reads,depth=1", "reads,depth=2", "reads,depth=8", "traced"):
        folder = Path("out/runs/tiny", run)
        workload = "trace.iolog" if run == "traced" else "job.fio"
        assert sorted(each.name for each in folder.iterdir()) == sorted([workload, "manifest.json", "summary.json"])
        manifest = json.loads((folder / "manifest.json").read_text())
        # The written files reproduce the same result.
        again = nandram.run(
            nandram.System(manifest["system"], tuple(manifest["changes"])),
            folder / workload,
            seed=manifest["seed"],
            precondition=manifest["options"]["precondition"],
            replay=None if run != "traced" else manifest["options"]["replay"],
            cache=None,
        )
        if run == "traced":
            assert manifest["workload"] == "tiny/traced"
            again.summary["jobs"][0]["job options"]["trace"] = "tiny/traced"
        assert again.summary == json.loads((folder / "summary.json").read_text())


def test_check_fails_if_a_claim_is_missed(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("reproduce", str(tiny), "--check") == 1
    assert "missed" in capsys.readouterr().out
    assert call("reproduce", str(tiny), "--check", "--claims", "tiny.gain*") == 0


def test_frame(tiny: Path) -> None:
    found = nandram.reproduce(str(tiny))
    frame = found.frame()
    assert frame.height == len(found) == 9
    assert frame["id"].to_list() == [row.id for row in found]
    ends = frame.row(index=2, named=True)
    assert (ends["paper"], ends["paper_high"]) == (2, 4)
    assert "2 not-tested, 3 trivial, 1 missed" in repr(found)
    assert "<table" in found._repr_html_()


def test_progress_reaches_the_end(tiny: Path) -> None:
    told: list[tuple[int, int, float]] = []
    nandram.reproduce(str(tiny), cache=None, report=lambda *now: told.append(now))
    assert told[0][:2] == (0, 4)
    assert told[-1] == (4, 4, 1.0)
    assert [now[2] for now in told] == sorted(now[2] for now in told)


def test_an_interrupt_ends_it(tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write_text(tiny.read_text().replace("requests = 400", "requests = 400000000"))

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nandram.papers.runs.play.wait", interrupted)
    assert call("reproduce", str(tiny)) == 130
    assert capsys.readouterr().err == "interrupted\n"
