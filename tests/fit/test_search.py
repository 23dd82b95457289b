"""The search on a simulated drive, whose parameters are known."""

import functools
import json
import tomllib
from pathlib import Path

import pytest

from nandram.cli import main
from nandram.cli.fit import figures
from nandram.errors import UserError
from nandram.fit.evaluate import JOURNAL, Evaluator
from nandram.fit.measurements.points import Conditions, Direction, Point
from nandram.fit.model import Guess, Model, cost, residuals
from nandram.fit.parameters import Space, quantity, text
from nandram.fit.run import closed_form, run_fit
from nandram.fit.search import search
from nandram.fit.tries import combinations, parsed
from nandram.fit.write import fitted_text
from nandram.report.fit import page
from nandram.system import System, load_system
from report.pages import Page

HEADER = "rw,bs_bytes,iodepth,engine,iops,lat_mean_ns,lat_p50_ns,lat_p99_ns\n"
START = """
title = "a drive"

[host]
completion = "polling"

[device]
dram = "2GiB"

[flash]
channels = 2
chips = 2
dies = 1
planes = 1
blocks = 1000
cell = "tlc"
read = "30us"
rate = "800MT/s"
cache_read = true

[ftl]
over_provisioning = 0.1

[basis]
"host.completion" = { given = "known" }
"flash.channels" = { given = "known" }
"flash.chips" = { given = "known" }
"flash.rate" = { given = "known" }
"flash.cache_read" = { given = "known" }
"flash.read" = { assumed = "a guess" }
"""
TRUE = {"flash.read": ["34us", "40us", "52us"], "device.firmware.wait.read": "9us"}


def start(folder: Path) -> System:
    """Return the start, which knows all but the read time, the firmware and the staging path."""
    path = folder / "start.toml"
    path.write_text(START)
    return load_system(path)


def measured(folder: Path, requests: int = 4000, depths: tuple[int, ...] = (1, 2, 4, 8)) -> list[Point]:
    """Return points that the simulator measures on the true drive."""
    system = start(folder)
    points = []
    for depth in depths:
        conditions = Conditions(Direction.READ, True, 4096, depth, 1, "spdk")
        guess = Point(conditions, 15_000.0 * depth, None, (), None, "guess")
        evaluator = Evaluator(system.with_(TRUE), precondition="fill", requests=requests, jobs=1)
        ((found,),) = evaluator.evaluate([({}, [guess])])
        times = ((50.0, found.p50_ns), (99.0, found.p99_ns))
        points.append(Point(conditions, found.iops, found.mean_ns, times, None, "simulated"))
    return points


def test_the_search_finds_the_parameters_of_a_simulated_drive(tmp_path: Path) -> None:
    points = measured(tmp_path)
    system = start(tmp_path)
    space = Space(system, reads=True, writes=False, engines=["spdk"])
    evaluator = Evaluator(system, precondition="fill", requests=4000, jobs=2, folder=tmp_path / "runs")
    model = Model(system, space, evaluator, points)
    begin = closed_form(space, points)
    first = Guess(begin.structures[0], {**begin.values, "flash.read[1]": 30_000.0})
    (modeled,) = model.evaluate([first], points)
    before = cost(residuals(points, modeled), 0.04)
    found = search(model, points, [first], 0.02, lambda _: None)[0]
    assert before > 0.5
    assert found.cost < 0.1
    assert sorted(map(abs, found.residuals))[len(found.residuals) // 2] < 0.02

    runs = evaluator.runs
    assert runs > 0
    evaluator.close()
    # The same search with the same folder runs nothing again, also if the last line was cut off.
    journal = tmp_path / "runs" / JOURNAL
    journal.write_bytes(journal.read_bytes() + b'{"key": "cut')
    again = Evaluator(system, precondition="fill", requests=4000, jobs=2, folder=tmp_path / "runs")
    repeated = search(Model(system, space, again, points), points, [first], 0.02, lambda _: None)[0]
    assert again.runs == 0
    assert repeated.guess == found.guess


def table(folder: Path, points: list[Point]) -> Path:
    """Return a CSV file of points."""
    path = folder / "data.csv"
    lines = []
    for point in points:
        times = f"{point.mean_ns},{point.percentile(50.0)},{point.percentile(99.0)}"
        lines.append(f"randread,4096,{point.conditions.depth},spdk,{point.iops},{times}\n")
    path.write_text(HEADER + "".join(lines))
    return path


def test_the_fitted_file_carries_the_basis_of_each_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = table(tmp_path, measured(tmp_path))
    output = tmp_path / "fitted.toml"
    arguments = ["fit", str(data), "--system", str(tmp_path / "start.toml"), "-o", str(output), "--closed-form"]
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, "--share", "0"])
    assert exit_.value.code == 2
    assert "4 of 4 points" not in capsys.readouterr().err
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, "--share", "0", "--hold-out", "depth=8"])
    assert exit_.value.code == 2
    assert "3 of 4 points are left to fit" in capsys.readouterr().err
    fit = run_fit([data], tmp_path / "start.toml", hold_out=[], share=0.0, start_only=True)
    fit.save(output)
    shown = json.loads(json.dumps(figures(fit)))
    assert (shown["points"], shown["held_out"], shown["sha256"]) == (4, 0, fit.measured.hash)
    assert [row["median"] for row in shown["errors"]] == [row.median for row in fit.table()]
    fitted = tomllib.loads(output.read_text())
    lines = (tmp_path / "fitted-points.csv").read_text().splitlines()
    assert lines[0].startswith("rw,bs_bytes,iodepth,numjobs,engine,held_out,iops_measured,iops_modeled,iops_low,")
    assert len(lines) == 1 + len(fit.measured.points)
    row = lines[1].split(",")
    assert row[:6] == ["randread", "4096", "1", "1", "spdk", "0"]
    assert float(row[6]) == pytest.approx(fit.measured.points[0].iops, rel=1e-5)
    assert float(row[7]) == pytest.approx(fit.modeled[0][0].iops, rel=1e-5)
    assert float(row[8]) <= float(row[7]) <= float(row[9])
    titles = [each["title"] for each in Page((tmp_path / "fitted.html").read_text()).figures]
    assert titles == [*(f"Measured and modeled: {name}" for name in ("IOPS", "p50", "p99")), "Residuals"]
    basis = fitted["basis"]
    assert fitted["flash"]["channels"] == 2
    assert basis["flash.channels"] == {"given": "known"}
    assert fit.measured.hash[:16] in basis["flash.read"]["calibrated"]
    types = [quantity(each) for each in load_system(output).values["flash"]["read"]]
    assert types == pytest.approx([fit.start.values[f"flash.read[{i}]"] for i in range(3)], rel=1e-3)


def test_tried_values_compete_by_their_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = table(tmp_path, measured(tmp_path))
    unknown = tmp_path / "unknown.toml"
    unknown.write_text(START.replace('"flash.channels" = { given', '"flash.channels" = { assumed'))
    monkeypatch.setattr("nandram.fit.run.Evaluator", functools.partial(Evaluator, requests=2000))
    monkeypatch.setattr("nandram.fit.search.ITERATIONS", 1)
    monkeypatch.setattr("nandram.fit.search.REFINED", 1)
    fit = run_fit([data], unknown, tries={"flash.channels": [1, 2, 8]}, hold_out=[], share=0.0)
    assert fit.guesses[0].structure["flash.channels"] == 2
    assert fit.start.sentences["flash.channels"] == "2 fits best of 1, 2, 8"
    figures_ = {each["title"]: each["text"] for each in Page(page(fit)).figures}
    assert all(band.parameter.name in figures_["Bands of the parameters"] for band in fit.bands)
    assert ("not determined" in figures_["Bands of the parameters"]) == bool(fit.undetermined())
    assert "calibrated" not in fitted_text(fit, fit.guesses[0]).split('"flash.channels" = ')[1].splitlines()[0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["flash.channels"], "--try: found `flash.channels`, expected KEY=VALUE,VALUE such as flash.channels=4,8"),
        (["flash.channels=4,"], "--try: found `flash.channels=4,`, expected KEY=VALUE,VALUE"),
        (["flash.chips=1", "flash.chips=2"], "--try: found flash.chips twice, expected all of its values in one"),
        (["flash.read=30us,40us"], "--try: the search refines flash.read, expected a key that it leaves alone"),
        (["flash.chips=1,2"], "--try: the start file gives flash.chips, expected another key, or another basis"),
        (["ftl.gc.start=" + ",".join(map(str, range(3, 80)))], "--try: found 77 combinations, expected at most 64"),
    ],
)
def test_mistakes_of_tried_values(tmp_path: Path, texts: list[str], message: str) -> None:
    space = Space(start(tmp_path), reads=True, writes=False, engines=["spdk"])
    with pytest.raises(UserError) as error:
        combinations(parsed(texts), space)
    assert str(error.value).startswith(message)


def test_tried_values_are_numbers_booleans_or_text() -> None:
    assert parsed(["a=1,2.5", "b=true,false", "c=8KiB,fifo"]) == {
        "a": [1, 2.5],
        "b": [True, False],
        "c": ["8KiB", "fifo"],
    }


def test_a_start_that_gives_everything_is_a_mistake(tmp_path: Path) -> None:
    data = table(tmp_path, measured(tmp_path))
    space = Space(start(tmp_path), reads=True, writes=False, engines=["spdk"])
    text_ = START.replace('"flash.read" = { assumed = "a guess" }', '"flash.read" = { given = "known" }')
    lines = {"host": [], "device": [], "flash": []}  # type: dict[str, list[str]]
    values = load_system(tmp_path / "start.toml").values
    for key in {each.key for each in space.free.values()}:
        if key != "flash.read":
            folder, *rest = key.split(".")
            value = values[folder]
            for each in rest:
                value = value[each]
            shown = value if isinstance(value, int) else f'"{value}"'
            lines[folder].append(f"{'.'.join(rest)} = {shown}\n")
            text_ += f'"{key}" = {{ given = "known" }}\n'
    for folder, added in lines.items():
        text_ = text_.replace(f"[{folder}]\n", f"[{folder}]\n{''.join(added)}", 1)
    (tmp_path / "start.toml").write_text(text_)
    with pytest.raises(UserError, match="expected at least one assumed value"):
        run_fit([data], tmp_path / "start.toml", hold_out=[], share=0.0, start_only=True)


def test_a_system_that_the_data_cannot_come_from_is_a_mistake(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    rows = [f"randread,1048576,{depth},libaio,{10 * depth},100000000,100000000,100000000\n" for depth in (1, 2, 4, 256)]
    data.write_text(HEADER + "".join(rows))
    with pytest.raises(UserError, match=r"link\.type is sata, expected pcie"):
        run_fit([data], "sata-mlc")
    small = start(tmp_path).with_({"ftl.over_provisioning": "auto", "ftl.capacity": "200MiB"})
    with pytest.raises(UserError, match=r"data\.csv:5: keeps 256 requests of 1 MiB in flight, more than the 200MiB of"):
        run_fit([data], small)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (45_213.7, "ns", "45.21us"),
        (212.0, "ns", "212ns"),
        (2.6287e9, "B/s", "2629MB/s"),
        (5.2e8, "T/s", "520MT/s"),
        (179.6, "count", 180),
        (5.1 * 2**20, "B", "5224KiB"),
    ],
)
def test_values_have_four_digits_and_a_unit(value: float, unit: str, shown: object) -> None:
    assert text(value, unit) == shown
    if unit != "count":
        assert quantity(shown) == pytest.approx(value, rel=2e-3)
