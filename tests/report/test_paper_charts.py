"""The charts declared by an experiment: lines, marks and messages."""

import math
from pathlib import Path

import pytest

import nandram
from nandram.papers.charts import Drawn
from report.pages import Page, values

RUN = """
[runs.NAME]
system = "drive.toml"
set = { title = "of {place}", "flash.read" = "{10 * us}us" }
grid = { place = ["PLACE"], us = [4, 8] }
precondition = "fill"
job = '''
[NAME]
rw=randread
bs=4k
number_ios=50
iodepth=DEPTH
'''
"""
RUNS = "".join(
    RUN.replace("NAME", name).replace("PLACE", place).replace("DEPTH", depth)
    for name, place, depth in (("few", "here", "1"), ("many", "there", "4"))
)
CHARTS = """
[charts.crossing]
title = "What passes what"
x = "depth"
x_title = "requests outstanding"
y_title = "IOPS"
scale = "log"
y_scale = "log"
ours = { reads = "reads.read_iops", level = "0 * reads.read_iops + 1.5 * one.read_iops", deep = "0 * gain + 1" }
crossings = [["reads", "level"], ["level", "deep"]]
stated_x = ["tiny.depth.knee"]
note = "a sentence"

[charts.grouped]
title = "Here and there"
x = "place"
x_title = "where"
y_title = "mean (us)"
scale = "names"
marks = "bars"
ours = { all = ["few.read_us", "many.read_us"] }

[charts.ranges]
title = "A range, and another unit"
x = "depth"
x_title = "requests outstanding"
y_title = "gain (x)"
ours = { gain = "reads.read_iops / reads(depth=1).read_iops" }
stated = { "tiny.gain.range" = { x = 8, factor = 10 }, "tiny.gain" = 8 }

[claims]
"""


@pytest.fixture
def charted(tiny: Path) -> Path:
    """Return an experiment with charts."""
    tiny.write_text(tiny.read_text().replace("\n[claims]\n", RUNS + CHARTS, 1))
    return tiny


@pytest.fixture
def drawn(charted: Path) -> dict[str, Drawn]:
    return {each.name: each for each in nandram.reproduce(str(charted), quick=True).charts}


def test_where_lines_cross_is_marked(drawn: dict[str, Drawn]) -> None:
    chart = drawn["crossing"]
    reads = {x: y for series, x, y in chart.points if series == "reads"}
    level = next(y for series, _, y in chart.points if series == "level")
    [(pair, x, y)] = chart.crossings
    assert pair == "reads and level"
    # On the straight line between two points in logarithmic coordinates.
    assert 1 < x < 2
    assert y == pytest.approx(level)
    slope = math.log(reads[2] / reads[1]) / math.log(2)
    assert math.log(y / reads[1]) == pytest.approx(slope * math.log(x))
    assert chart.apart == ("level and deep",)
    assert chart.stated_x == ((2, "tiny.depth.knee"),)


def test_a_series_is_joined_of_runs_whose_texts_are_computed(drawn: dict[str, Drawn]) -> None:
    points = drawn["grouped"].points
    assert [(series, x) for series, x, _ in points] == [
        ("all, us 4", "here"),
        ("all, us 4", "there"),
        ("all, us 8", "here"),
        ("all, us 8", "there"),
    ]
    here = {series: y for series, x, y in points if x == "here"}
    # Reads of 40 us and 80 us.
    assert here["all, us 8"] - here["all, us 4"] == pytest.approx(40, abs=0.5)


def test_a_range_has_two_crosses_and_a_factor(drawn: dict[str, Drawn]) -> None:
    assert drawn["ranges"].stated == ((8, 20, "tiny.gain.range"), (8, 40, "tiny.gain.range"), (8, 3, "tiny.gain"))


def test_the_page_has_the_marks(charted: Path) -> None:
    nandram.write_report(str(charted), output="report.html", quick=True)
    figures = {each["title"]: each for each in Page(Path("report.html").read_text()).figures}
    crossing = figures["What passes what"]
    data = [row for layer in crossing["spec"]["layer"] for row in values(crossing["spec"], layer)]
    assert {"x": 2, "claim": "tiny.depth.knee"} in data
    assert [row["name"] for row in data if "name" in row] == ["reads and level"] * 2
    for told in ("rings: where lines cross", "level and deep: no crossing", "dashed: ", "a sentence"):
        assert told in crossing["text"]
    bars, text = figures["Here and there"]["spec"]["layer"]
    assert bars["mark"]["type"] == "bar"
    assert bars["encoding"]["xOffset"]["field"] == "series"
    assert text["encoding"]["text"]["field"] == "y"
    ranges = figures["A range, and another unit"]["spec"]["layer"]
    # A stated value at the top is not cut off.
    assert ranges[0]["encoding"]["y"]["scale"]["domain"][1] > 40


def test_a_chart_of_which_quick_runs_leave_one_place_is_named_and_not_drawn(charted: Path) -> None:
    grid = 'grid = { place = ["here"], us = [4, 8] }'
    chart = (
        '[charts.alone]\ntitle = "Alone"\nx = "us"\nx_title = "us"\ny_title = "us"\nours = { few = "few.read_us" }\n'
    )
    text = charted.read_text().replace(grid, f"{grid}\nquick = {{ us = [4] }}", 1)
    charted.write_text(text.replace("[claims]", f"{chart}\n[claims]", 1))
    for quick in (True, False):
        nandram.write_report(str(charted), output="report.html", quick=quick, sensitivity=False)
        page = Page(Path("report.html").read_text())
        assert ("Alone" in {each["title"] for each in page.figures}) is not quick
        told = "Not drawn, as quick runs have one point of each: Alone."
        assert (told in Path("report.html").read_text()) is quick


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('["level", "deep"]', '["level", "deeep"]', "crossings: found `deeep`"),
        ('["level", "deep"]', '["level"]', "two names of series"),
        ('y_scale = "log"', 'y_scale = "names"', "y_scale: found `names`"),
        ("0 * gain + 1", "0 * gain - 1", "above zero, where y_scale is log"),
        ('marks = "bars"', 'marks = "bar"', "marks: found `bar`"),
        ('scale = "names"\nmarks', "marks", "names, where marks are bars"),
        ('["few.read_us", "many.read_us"]', "[]", "a text, or a list of texts"),
        ('["few.read_us", "many.read_us"]', '["few.read_us", "reads.read_us"]', "found no axis `place`"),
        ("factor = 10", "facto = 10", "the nearest is `factor`"),
        ('stated_x = ["tiny.depth.knee"]', 'stated_x = ["tiny.gain.range"]', "a claim of tiny with one figure"),
        ('"{10 * us}us"', '"{10 * place}us"', "a number as `place`"),
    ],
)
def test_a_mistake_is_one_line(charted: Path, old: str, new: str, told: str) -> None:
    text = charted.read_text()
    assert old in text
    charted.write_text(text.replace(old, new, 1))
    with pytest.raises(nandram.UserError) as mistake:
        nandram.reproduce(str(charted), quick=True)
    message = str(mistake.value)
    assert message.startswith("tiny.toml: ")
    assert told in message
    assert "\n" not in message
