"""Names along an axis: where lines break, and how much room they take."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nandram.report.charts.vega_lite import Spec, nominal

LETTERS_MAX = 36
"""Maximum total length of horizontal labels below a narrow chart."""
LINE_LETTERS = 24
"""Maximum length of a line of a name on a vertical axis; longer names have several lines."""
LINE_PIXELS = 12
"""Height of such a line."""


def name_lines(name: str) -> list[str]:
    """Break a long name after punctuation and spaces into lines of at most `LINE_LETTERS` letters."""
    found = [""]
    for word in re.findall(rf"[^\s._/,:-]{{1,{LINE_LETTERS - 2}}}[\s._/,:-]{{0,2}}|[\s._/,:-]{{1,2}}", name):
        if len(found[-1] + word.rstrip()) > LINE_LETTERS:
            found.append("")
        found[-1] += word
    return [line.strip() for line in found]


def rows_height(rows: Sequence[Mapping[str, Any]], base: int, row: int) -> int:
    """Return the height of a chart of `rows` of ``name``, `row` pixels each, or more if names have several lines."""
    lines = [len(name_lines(each["name"])) for each in rows]
    return base + len(lines) * max(row, LINE_PIXELS * max(lines, default=1))


def named(title: str, rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Return the channel of a vertical axis of unabridged names in the order of the data."""
    # The title stands above the names, as it may not fit beside them.
    axis = {"titleAngle": 0, "titleAlign": "right", "titleX": -8, "titleY": -7}
    if broken := {name: lines for name in (row["name"] for row in rows) if len(lines := name_lines(name)) > 1}:
        axis["labelExpr"] = f"{json.dumps(broken)}[datum.label] || datum.label"
    return nominal("name", title=title, sort=None, axis=axis)


def too_long(names: Iterable[float | str]) -> bool:
    """Return whether names do not fit side by side below a narrow chart."""
    return sum(len(str(each)) for each in names) > LETTERS_MAX
