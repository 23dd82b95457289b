"""Tables of a paper, cell by cell, and the points that quick runs leave out."""

from pathlib import Path

import pytest

import nandram
from nandram.papers import library
from nandram.papers.cells import fill, matches

TABLE = """
[[table]]
id = "tiny.depth"
axes = { depth = [1, 2, 8], column = ["iops", "us"] }
values = [[16000, 60], [32000, 60], [64000, 0]]
unit = "as named"
kind = "number"
where = "Table 2"
when = "by requests outstanding"
"""

ENTRIES = """
"tiny.depth.{depth}.iops" = "reads(depth={depth}).read_iops"
"tiny.depth.{depth}.us" = { ours = "reads(depth={depth}).read_us", note = "{depth} outstanding" }

[bands.iops]
title = "by requests outstanding"
ours = "pairs.read_iops"
over = "kib"
paper = "tiny.depth.{depth}.iops"
"""

RUN = """
[runs.pairs]
system = "drive.toml"
grid = { depth = [1, 2, 8], kib_each = [4, 8] }
quick = { kib_each = [4] }
precondition = "fill"
job = '''
[reads]
rw=randread
bs={kib_each}k
iodepth={depth}
number_ios={requests}
'''

[values]
"""


@pytest.fixture
def table(tiny: Path) -> Path:
    """Return the experiment file, whose paper has a table."""
    with Path("claims/tiny.toml").open("a") as file:
        file.write(TABLE)
    text = tiny.read_text().replace("\n[values]\n", RUN)
    tiny.write_text(text + ENTRIES.replace('over = "kib"', 'over = "kib_each"'))
    return tiny


def test_a_cell_is_a_claim(table: Path) -> None:
    found = nandram.reproduce(str(table), cache=None)
    cells = [row for row in found if row.id.startswith("tiny.depth.") and row.id.count(".") == 3]
    assert [row.id for row in cells] == [f"tiny.depth.{depth}.{of}" for depth in (1, 2, 8) for of in ("iops", "us")]
    assert [row.paper for row in cells] == [16000, 60, 32000, 60, 64000, 0]
    iops = {point["depth"]: point["value"] for point in found.values["tiny"]["gain"]}
    one, two, eight = cells[0], cells[2], cells[4]
    assert one.ours is not None
    assert two.ours == pytest.approx(one.ours * iops[2])
    assert eight.ours == pytest.approx(one.ours * iops[8])
    # Each depends on its own run, not on the whole sweep.
    assert two.rests_on.runs == ("tiny/reads,depth=2",)
    assert cells[5].rests_on.note == "8 outstanding"
    # A relative tolerance of zero is zero: any time is too much.
    assert (cells[5].verdict, cells[5].deviation) == ("missed", None)


def test_a_band_has_the_paper_s_cells(table: Path) -> None:
    [band] = nandram.reproduce(str(table), cache=None).bands
    assert [cell.paper for cell in band.cells] == [16000, 32000, 64000]
    assert band.count == 2


def test_quick_leaves_points_out_and_says_how_many(table: Path) -> None:
    whole = nandram.reproduce(str(table), cache=None)
    quick = nandram.reproduce(str(table), cache=None, quick=True)
    assert (whole.points, whole.left_out) == (3 + 1 + 6, 0)
    assert (quick.points, quick.left_out) == (3 + 1 + 3, 3)
    assert [row.id for row in quick] == [row.id for row in whole]
    assert quick.bands[0].count == 1


MISTAKES = [
    ("claims/tiny.toml", "depth = [1, 2, 8], c", "depth = [], c"),
    ("claims/tiny.toml", "depth = [1, 2, 8], c", "depth = [1, 1, 8], c"),
    ("claims/tiny.toml", "depth = [1, 2, 8], c", 'depth = ["a.b", "c", "d"], c'),
    ("claims/tiny.toml", "depth = [1, 2, 8], c", "depth = [1, 2], c"),
    ("claims/tiny.toml", 'axes = { depth = [1, 2, 8], column = ["iops", "us"] }', "axes = {}"),
    ("claims/tiny.toml", "[64000, 0]", "[64000]"),
    ("claims/tiny.toml", "[64000, 0]", '[64000, "0"]'),
    ("claims/tiny.toml", '[[table]]\nid = "tiny', '[[table]]\nid = "tny'),
    ("tiny.toml", '"tiny.depth.{depth}.us"', '"tiny.depht.{depth}.us"'),
    ("tiny.toml", '"tiny.depth.{depth}.us"', '"tiny.depth.{depth}.{column}"'),
    ("tiny.toml", 'paper = "tiny.depth.{depth}.iops"', 'paper = "tiny.depth.{kib}.iops"'),
    ("tiny.toml", "quick = { kib_each = [4] }", "quick = { kib_each = [16] }"),
    ("tiny.toml", "quick = { kib_each = [4] }", "quick = { kib_each = [] }"),
    ("tiny.toml", "quick = { kib_each = [4] }", "quick = { kib = [4] }"),
]


@pytest.mark.parametrize(("file", "old", "new"), MISTAKES)
def test_a_mistake_is_one_line(table: Path, file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new, 1))
    with pytest.raises(nandram.UserError, match=rf"^{file}: .*(found|expected).*$"):
        nandram.reproduce(str(table), cache=None)


def test_patterns() -> None:
    names = ["p.t.a.4.x", "p.t.b-2.8.x", "p.t.a.4.y", "p.t.a.4.x.z"]
    found = dict(matches("p.t.{name}.{kib}.x", names))
    assert found == {"p.t.a.4.x": {"name": "a", "kib": "4"}, "p.t.b-2.8.x": {"name": "b-2", "kib": "8"}}
    assert fill({"ours": "f({name})", "within": 0.1}, {"name": "a"}) == {"ours": "f(a)", "within": 0.1}


def test_the_tables_of_xip_are_whole() -> None:
    claims = library.load("xip").claims.claims
    assert sum(name.startswith("xip.table4.") for name in claims) == 2 * 3 * 6
    assert sum(name.startswith("xip.table5.") for name in claims) == 4 * 4 * 6
    lru, fft = claims["xip.table4.32.LRU.time_ms"], claims["xip.table5.fft.16.energy_best"]
    assert (lru.value, fft.value) == (16.02, 0.04)
