"""Reports: one file, no network, every chart with title, axes and source."""

from pathlib import Path
from typing import Any, cast

import pytest

import nandram
from conftest import TINY
from nandram import units
from nandram.papers import library
from nandram.papers.robustness import table
from nandram.papers.sensitivity import sensitivity
from nandram.report import run_page
from nandram.report.drawing import draw
from nandram.report.page import Figure, Section, Table, render
from report.pages import Page, axes, values

MORE = """
[charts.depth]
title = "Figure 1: reads by requests outstanding"
x = "depth"
x_title = "requests outstanding"
y_title = "IOPS"
scale = "log"
ours = { reads = "reads.read_iops" }
stated = { "tiny.depth.knee" = 2 }

[sensitivity]
claims = ["tiny.read_us", "gain_of_eight"]
by = 0.2
parameters = ["flash.read", "flash.erase"]
values = { "flash.channels" = [1, 4] }

[claims]
"""


@pytest.fixture
def charted(tiny: Path) -> Path:
    """Return an experiment with a chart and a sensitivity."""
    text = tiny.read_text().replace("\n[claims]\n", MORE, 1)
    tiny.write_text(text.replace("\n[tests]\n", '\ngain_of_eight = "gain(depth=8)"\n\n[tests]\n', 1))
    return tiny


@pytest.fixture
def page(charted: Path, result: nandram.Result) -> Page:
    result.save("out")
    nandram.write_report(str(charted), "out", output="report.html", quick=True)
    return Page(Path("report.html").read_text())


def test_it_needs_no_network_and_is_small(page: Page) -> None:
    assert page.asked == []
    assert page.open == []
    assert Path("report.html").stat().st_size < 6e6


def test_every_chart_has_title_axes_and_source(page: Page) -> None:
    assert len(page.figures) >= 12
    for each in page.figures:
        assert each["title"]
        assert "Source: " in each["text"]
        assert each["spec"]["width"] == "container"
        assert axes(each["spec"]).keys() >= {"x"}, each["title"]
    titles = [each["title"] for each in page.figures]
    for title in (
        "Figure 1: reads by requests outstanding",
        "Sensitivity of tiny.read_us",
        "Response times: cumulative distribution",
        "Throughput over time",
        "Utilization of the dies",
        "Wear by die: programs and erases",
    ):
        assert title in titles


def test_what_the_paper_states_is_marked(page: Page) -> None:
    [chart] = [each for each in page.figures if each["title"].startswith("Figure 1")]
    crosses = values(chart["spec"], chart["spec"]["layer"][-1])
    assert crosses == [{"x": 2, "y": 2, "claim": "tiny.depth.knee"}]
    assert "stated: tiny.depth.knee" in chart["text"]


def test_charts_show_in_how_many_draws_claims_hold(charted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = table.evaluate(library.load(str(charted), quick=True), count=4, quick=True, jobs=2, cache=None)
    table.save({"tiny": kept}, Path("kept.json"))
    monkeypatch.setattr(table, "kept_file", lambda: Path("kept.json"))
    nandram.write_report(str(charted), output="robust.html", quick=True)
    page = Page(Path("robust.html").read_text())
    [shares] = [each for each in page.figures if each["title"].startswith("Robustness")]
    spec = shares["spec"]
    shown = [row for layer in spec["layer"] for row in values(spec, layer)]
    assert {"series": "held", "name": "gain", "x": 100} in shown
    [tornado] = [each for each in page.figures if each["title"] == "Sensitivity of tiny.read_us"]
    share = kept.shares["tiny.read_us"]
    assert f"the claim holds in {share.held} of 4 joint draws" in tornado["text"]


def test_every_claim_is_there(page: Page, charted: Path) -> None:
    text = Path("report.html").read_text()
    for row in nandram.reproduce(str(charted), quick=True):
        assert f'<td class="t" data-column="claim">{row.id.removeprefix("tiny.")}</td>' in text


def test_the_parameter_that_matters_moves_its_claim(charted: Path) -> None:
    effects = {(each.claim, each.parameter): each for each in sensitivity(library.load(str(charted), quick=True))}
    assert len(effects) == 2 * 3
    read, erase = effects["tiny.read_us", "flash.read"], effects["tiny.read_us", "flash.erase"]
    assert (read.less[0], read.base[0], read.more[0]) == ("40us", "50us", "60us")
    # A read waits mostly for the array.
    assert read.change[0] == pytest.approx(-0.15, abs=0.05)
    assert read.change[1] == pytest.approx(0.15, abs=0.05)
    assert erase.change == (0, 0)
    assert read.basis == "calibrated"
    assert effects["gain_of_eight", "flash.channels"].more[1] > effects["gain_of_eight", "flash.channels"].base[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('x = "depth"', 'x = "deph"'),
        ('ours = { reads = "reads.read_iops" }', "ours = {}"),
        ('ours = { reads = "reads.read_iops" }', 'ours = { reads = "one.read_us" }'),
        ('ours = { reads = "reads.read_iops" }', 'ours = { reads = "reads.raed_iops" }'),
        ('"tiny.depth.knee" = 2 }', '"tiny.depth.kneee" = 2 }'),
        ('scale = "log"', 'scale = "lgo"'),
        ('claims = ["tiny.read_us", ', 'claims = ["tiny.raed_us", '),
        ("by = 0.2", "by = 2"),
        ('"flash.erase"]', '"flash.ersae"]'),
        ('"flash.erase"]', '"flash.cell"]'),
        ('"flash.channels" = [1, 4]', '"flash.channels" = [1]'),
    ],
)
def test_a_mistake_is_one_line(charted: Path, old: str, new: str) -> None:
    text = charted.read_text()
    assert old in text
    charted.write_text(text.replace(old, new, 1))
    with pytest.raises(nandram.UserError, match=r"^tiny.toml: .*(found|expected).*$"):
        nandram.write_report(str(charted), output="report.html", quick=True)
    assert not Path("report.html").exists()


def test_a_folder_without_a_result(tmp_path: Path) -> None:
    with pytest.raises(nandram.UserError, match="holds no result"):
        nandram.write_report(tmp_path, output=tmp_path / "report.html")


def test_texts_are_texts() -> None:
    nasty = "</script><script>alert(1)</script>"
    text = render(nasty, nasty, [Section(nasty, "a", parts=[nasty, Table((nasty,), [(nasty,)])])])
    assert "<script>alert" not in text
    assert Page(text).open == []


def test_a_chart_s_data_cannot_end_its_script() -> None:
    from nandram.report import charts

    rows = [{"series": "</script><b>", "x": 1.0, "y": 2.0}]
    chart = charts.lines(rows, ["</script><b>"], charts.Axis("x (s)"), charts.Axis("y (s)"))
    figure = Figure("a", chart, "b", ("x",), [(1.0,)])
    [found] = Page(render("a", "b", [Section("c", "c", parts=[figure])])).figures
    assert values(found["spec"], found["spec"]["layer"][0]) == rows


def test_marks_at_the_ends_of_spans_are_seen_whole() -> None:
    from nandram.report import charts

    rows: list[dict[str, object]] = [{"name": "djpeg, 4", "paper": 1.0, "median": 0.5, "low": 0.0, "high": 0.9}]
    spec = charts.spans(rows, charts.Axis("x", zero=True, room=True), "program, sram_kib")
    for layer in spec["layer"]:
        assert layer["encoding"]["x"]["scale"] == {"zero": True, "nice": False, "padding": 8}
    # The title is above the names, however few there are.
    assert spec["layer"][0]["encoding"]["y"]["axis"]["titleAngle"] == 0


def test_names_lie_flat_where_there_is_room_and_whole_numbers_are_ticks() -> None:
    from nandram.report import charts

    def drawn(places: list[str | int], scale: str) -> dict[str, Any]:
        rows = [{"series": "a", "x": x, "y": 1.0} for x in places]
        spec = charts.lines(rows, ["a"], charts.Axis("x", cast("Any", scale)), charts.Axis("y"))
        found: dict[str, Any] = spec["layer"][0]["encoding"]["x"]["axis"]
        return found

    assert drawn(["sata", "ddr"], "names")["labelAngle"] == 0
    assert drawn([f"a long name {number}" for number in range(9)], "names")["labelAngle"] == -30
    assert drawn([1, 2, 4], "linear")["values"] == [1, 2, 4]


def test_a_legend_shows_points_or_dashes() -> None:
    from nandram.report import charts

    def edges(count: int) -> Any:
        rows = [{"series": each, "x": x + 0.5, "y": 1.0} for each in "ab" for x in range(count)]
        spec = charts.lines(rows, ["a", "b"], charts.Axis("x"), charts.Axis("y"))
        legends = [
            channel["legend"]
            for layer in spec["layer"]
            for channel in layer["encoding"].values()
            if "legend" in channel
        ]
        # Differing channels of one legend cause a warning on the browser console.
        assert all(legend == legends[0] for legend in legends)
        return legends[0]["symbolStrokeWidth"]

    assert edges(10) == 0
    assert edges(100) == 2


def test_a_drive_that_was_not_worn_has_no_chart_of_wear(tmp_path: Path) -> None:
    job = tmp_path / "reads.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nnumber_ios=50\n")
    result = nandram.run(TINY, str(job), precondition="fill")
    titles = [each["title"] for each in Page(run_page(result)).figures]
    assert "Utilization of the dies" in titles
    assert not any(title.startswith("Wear") for title in titles)


def test_a_page_of_one_part_has_its_title_once(result: nandram.Result) -> None:
    page = run_page(result)
    assert f"<h1>{result.title}</h1>" in page
    assert "<h2>" not in page.partition("<script>")[0]


def test_a_drawing_of_every_preset() -> None:
    import json
    from xml.etree import ElementTree

    from nandram import _core

    for name in nandram.systems():
        settings = json.loads(_core.settings(name, []))
        root = ElementTree.fromstring(draw(settings))
        words = " ".join(text.text or "" for text in root.iter("text"))
        assert ElementTree.fromstring(draw(settings, narrow=True)).get("width") == "340"
        kind = settings["memory.type"]["value"].strip('"') if "memory.type" in settings else "none"
        link = settings["link.type"]["value"].strip('"')
        assert ("Controller" in words, "Main memory" in words) == (link != "none", link == "none")
        if link == "none" and kind == "dram":
            # Absent parts are not drawn, although the file has defaults for them.
            assert "Flash" not in words
            assert "dies" not in words
            continue
        assert name != "nvme-client-tlc" or "capacity 1.00 TB" in words
        if "flash.read" in settings:
            assert settings["flash.read"]["value"].strip('"[').split('"')[0] in words


def test_a_smaller_copy_is_titled_with_its_scale(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nnumber_ios=100\n")
    small = nandram.run(nandram.load_system("nvme-client-tlc", scale="1/16"), job, cache=None)
    assert small.title == f"{job} on nvme-client-tlc at scale 1/16"
    text = run_page(small)
    assert f"<h1>{small.title}</h1>" in text
    assert f"1 TB, 8 channels, at scale 1/16: {units.size(small.inside['capacity_bytes'])}; seed 1" in text
    assert small.inside["capacity_bytes"] == pytest.approx(1000204886016 / 16, rel=0.01)


def test_long_names_have_several_lines_and_rows_room_for_them() -> None:
    from nandram.report.charts.names import LINE_LETTERS, name_lines, named, rows_height

    assert name_lines("flash.read") == ["flash.read"]
    long = "random_read.map_2mib.map_reads"
    assert name_lines(long) == ["random_read.map_2mib.", "map_reads"]
    assert all(len(line) <= LINE_LETTERS for line in name_lines("k" * 100 + " of.a (given)"))
    assert "".join(name_lines("k" * 100)) == "k" * 100
    rows = [{"name": "short"}, {"name": long}]
    assert (rows_height(rows[:1], 40, 18), rows_height(rows, 40, 18)) == (58, 40 + 2 * 24)
    assert long in named("claim", rows)["axis"]["labelExpr"]
    assert "labelExpr" not in named("claim", rows[:1])["axis"]
