"""Every kind of chart, validated against Vega-Lite's schema. `pages.Page` validates the charts of pages likewise."""

from typing import Any

import jsonschema
import pytest

from nandram.report import charts
from nandram.report.charts import Axis, Marks
from report.pages import validate

SERIES = ["a", "b", "the rather long name of a series"]
ROWS: list[dict[str, Any]] = [
    {
        "series": series,
        "name": f"part {x}",
        "label": "4",
        "at": "depth 4",
        "x": x,
        "x2": x + 1,
        "y": x / 2,
        "value": 0.1,
    }
    | {"low": 1, "high": 3, "median": 2, "paper": None, "count": 5, "less": "20us: 1", "more": "40us: 2"}
    for series in SERIES
    for x in (1, 2, 4, 8, 16)
]
NAMES = [row | {"x": row["name"]} for row in ROWS]
MARKS = Marks(
    stated=({"x": 1, "y": 2.0, "claim": "paper.first"},),
    stated_x=({"x": 2, "claim": "paper.knee"},),
    crossings=({"x": 3, "y": 2.0, "name": "a and b"},),
)
LINEAR, LOG, NAMED = Axis("x (s)"), Axis("x (s)", "log"), Axis("place", "names")
ZERO, PERCENT = Axis("y", zero=True), Axis("y", highest=1, percent=True)
CHARTS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("lines", [ROWS, SERIES, LOG, ZERO], {"marks": MARKS}),
    ("lines", [ROWS, SERIES, LINEAR, PERCENT], {"steps": True}),
    ("lines", [NAMES, SERIES, NAMED, LOG], {}),
    ("path", [ROWS, SERIES, ZERO, LOG], {}),
    ("points", [ROWS, SERIES, LOG, LINEAR], {}),
    ("dots", [ROWS, SERIES, LINEAR, "claim"], {}),
    ("intervals", [ROWS, SERIES, Axis("x", lowest=-1, highest=3, ticks=(0, 1)), "axis"], {}),
    ("spans", [ROWS, Axis("x", zero=True, room=True), "program"], {}),
    ("cloud", [ROWS, SERIES, LINEAR, LOG], {}),
    ("groups", [NAMES, SERIES, LINEAR, LINEAR], {}),
    ("groups", [NAMES[:3], SERIES[:1], LINEAR, LINEAR], {}),
    ("bars", [ROWS, SERIES, LINEAR, LINEAR], {}),
    ("bars", [ROWS, SERIES, PERCENT, LINEAR, ["#000000", "#111111", "#222222"]], {}),
    ("tornado", [ROWS, "change"], {}),
    ("heat_map", [ROWS, "die", "channel", "busy fraction", 1], {}),
    ("density", [ROWS, ZERO, LOG, "fraction"], {}),
]


@pytest.mark.parametrize(("kind", "arguments", "options"), CHARTS, ids=[kind for kind, _, _ in CHARTS])
def test_a_chart_is_valid_vega_lite(kind: str, arguments: list[Any], options: dict[str, Any]) -> None:
    validate(getattr(charts, kind)(*arguments, **options))


def test_every_kind_of_chart_is_validated() -> None:
    assert {kind for kind, _, _ in CHARTS} | {"Axis", "Marks", "rows_height"} == set(charts.__all__)


@pytest.mark.parametrize(
    "path", [("mark",), ("encoding", "x"), ("encoding", "x", "scale"), ("encoding", "x", "axis"), ("encoding",), ()]
)
def test_an_unknown_property_is_refused(path: tuple[str, ...]) -> None:
    spec = charts.lines(ROWS, SERIES, LINEAR, LINEAR)
    part = spec["layer"][0]
    for key in path:
        part = part[key]
    part["no_such_property"] = True
    with pytest.raises(jsonschema.ValidationError):
        validate(spec)


def test_a_chart_that_filters_hidden_series_declares_them() -> None:
    for kind, arguments, options in CHARTS:
        spec = getattr(charts, kind)(*arguments, **options)
        filtered = any("hidden" in each["filter"] for layer in spec["layer"] for each in layer.get("transform", ())[:1])
        assert filtered == (spec.get("params", [])[:1] == [{"name": "hidden", "value": []}]), kind
