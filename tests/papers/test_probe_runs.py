"""Runs of experiments that probe a drive."""

import re
from pathlib import Path

import pytest

import nandram
from nandram.probe import run as probing

RUN = """
[runs.probed]
system = "hmb-a"
set = { "flash.blocks" = 30, "ftl.capacity" = "4GiB", "ftl.over_provisioning" = "auto", "device.hmb.size" = "{hmb}" }
grid = { hmb = ["0B", "64MiB"] }
precondition = "fill"
probe = { tests = ["read-cache"] }
"""


def changed(text: str, run: str) -> str:
    """Derive the reads of the paper's first claim from a probe; return the experiment."""
    text = text.replace("[measures]", "[measures]\nkept = 'nandram.probe.read_cache.only.size / 1024'", 1)
    text = text.replace(
        "[measures]", "[measures]\nboth = 'nandram.probe.read_cache.on.size - nandram.probe.read_cache.off.size'", 1
    )
    text = text.replace("[runs.traced]", f"{run}\n[runs.traced]", 1)
    ours = (
        "{ ours = \"probed(hmb='0B').kept + probed(hmb='64MiB').both\", holds = 'ours == 32', set_by = 'the preset' }"
    )
    return text.replace('"tiny.read_us" = "one.read_us"', f'"tiny.read_us" = {ours}')


def test_what_a_probe_finds_stands_for_a_claim(tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(changed(tiny.read_text(), RUN))
    found = nandram.reproduce(str(tiny), claims="tiny.read_us", cache=tmp_path / "kept", output=tmp_path / "out")
    (row,) = found
    assert (row.ours, row.verdict) == (32, "trivial")
    assert row.rests_on.runs == ("tiny/probed,hmb=0B", "tiny/probed,hmb=64MiB")
    assert {each["key"] for each in row.rests_on.set} == {"flash.blocks", "ftl.capacity", "device.hmb.size"}
    folder = tmp_path / "out" / "runs" / "tiny" / "probed,hmb=0B"
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "summary.json"]


def test_a_probe_that_was_made_is_not_made_again(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tiny.read_text()
    tiny.write_text(changed(text, RUN))
    made: list[str] = []
    whole = probing.run_probe

    def probe(*arguments: object, **options: object) -> probing.Probe:
        made.append(str(options["tests"]))
        return whole(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(probing, "run_probe", probe)
    first = nandram.reproduce(str(tiny), claims="tiny.read_us", cache=tmp_path)
    assert made == ["('read-cache',)"] * 2
    again = nandram.reproduce(str(tiny), claims="tiny.read_us", cache=tmp_path)
    assert made == ["('read-cache',)"] * 2
    assert first.json == again.json
    # Another test is another run.
    tiny.write_text(changed(text, RUN.replace('["read-cache"]', '["read-cache", "parallelism"]')))
    nandram.reproduce(str(tiny), claims="tiny.read_us", cache=tmp_path)
    assert made[2:] == ["('read-cache', 'parallelism')"] * 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"read-cache"', '"read-cahe"', "probe.tests: test: found `read-cahe`, expected .*the nearest is `read-cache`"),
        ('["read-cache"]', "[]", r"probe.tests: found `\[\]`, expected a list of tests"),
        ("tests = [", "every = 2, tests = [", "probe.method: every: found 2 with method search, expected it with"),
        ("tests = [", "method = 'papr', tests = [", "probe.method: found `papr`, expected .*the nearest is `paper`"),
        (
            "tests = [",
            "method = 'paper', every = 65, tests = [",
            "every: found 65, expected a whole number from 1 to 64",
        ),
        ("tests = [", "test = [", "probe.test: found this key, expected tests"),
        ('precondition = "fill"', 'replay = "closed:1"', "replay: found `closed:1`, expected no such key beside"),
        ("probe = {", "job = '[reads]'\nprobe = {", "found `job`, `probe`, expected one of"),
    ],
)
def test_mistakes(tiny: Path, old: str, new: str, message: str) -> None:
    tiny.write_text(changed(tiny.read_text(), RUN.replace(old, new)))
    with pytest.raises(nandram.UserError) as error:
        nandram.reproduce(str(tiny), cache=None)
    assert re.search(message, str(error.value)), str(error.value)
    assert "\n" not in str(error.value)
