"""Pages of text, tables and charts in one HTML file that needs no network."""

import html
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

Cell = str | float | int | None
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, DejaVu Sans, sans-serif",
    # The text color of the page: charts adapt to dark mode and print without being redrawn.
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.15,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
        "titleFontWeight": "normal",
        "labelLimit": 180,
        # Adjacent labels would read as one.
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 2,
        "labelLimit": 150,
        "symbolStrokeWidth": 2,
        "titleFontWeight": "normal",
        "gradientStrokeColor": "currentColor",
    },
    "text": {"color": "currentColor"},
    "view": {"stroke": None},
}


@dataclass(frozen=True)
class Figure:
    """A chart with its source and data."""

    title: str
    chart: dict[str, Any]
    """Vega-Lite specification; the page sets the size and the colors."""
    source: str
    """Source of the data."""
    columns: tuple[str, ...]
    """Titles with units of the data columns, shown and offered for download."""
    rows: Sequence[tuple[Cell, ...]]
    series: tuple[str, ...] = ()
    """Series that the reader can hide; the parameter ``hidden`` of the chart lists the hidden ones."""
    wide: bool = False
    height: int = 260


@dataclass(frozen=True)
class Table:
    """A table with texts aligned left and numbers aligned right."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    summary: str = ""
    """If given, the table is collapsed under this summary."""
    wide: tuple[str, ...] = ()
    """Columns whose text may wrap. A narrow screen shows each row of a table with any as a block."""
    verdict: str = ""
    """Name of the column with a verdict."""


@dataclass(frozen=True)
class Drawing:
    """An SVG picture."""

    title: str
    svg: str
    source: str
    narrow: str = ""
    """Version for narrow screens."""


@dataclass
class Section:
    """A section of the page."""

    title: str
    anchor: str
    short: str = ""
    """Name in the table of contents, if different from the title."""
    parts: list["str | Heading | Notes | Figure | Table | Drawing"] = field(default_factory=list)


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    lines: list[str]


SIGNS = {
    "held": "✓",
    "not-tested": "◌",
    "same-order": "≃",
    "trivial": "○",
    "missed": "✗",
    "calibrated": "≈",
    "read-back": "↺",
    "arithmetic": "=",
    "not-comparable": "?",
}
"""Signs of verdicts, which do not rely on color alone."""


def render(title: str, about: str, sections: list[Section]) -> str:
    """Return the page as HTML."""
    numbers = iter(range(1, 1_000_000))
    body = "".join(_section(each, numbers, "" if each.title == title else each.title) for each in sections)
    links = "".join(f'<li><a href="#{each.anchor}">{_text(each.short or each.title)}</a></li>' for each in sections)
    nav = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if len(sections) > 1 else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Without an icon, browsers request one.
        '<link rel="icon" href="data:,">'
        f"<title>{_text(title)}</title><style>{_file('page.css')}</style></head><body>{nav}<main>"
        f"<h1>{_text(title)}</h1><p>{_text(about)}</p>{body}</main>"
        f"<script>{_runtime()}</script><script>{_file('page.js')}</script></body></html>\n"
    )


def figure(value: Cell, digits: int = 4) -> str:
    """Return a number with this many significant digits, larger ones as whole numbers; empty for None."""
    if value is None or isinstance(value, str):
        return value or ""
    if not math.isfinite(value):
        return f"{value}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


@cache
def _file(name: str) -> str:
    return (files("nandram.report") / name).read_text(encoding="utf-8")


@cache
def _runtime() -> str:
    """Return the bundle of Vega, Vega-Lite and vega-embed; cached on disk, as building it takes seconds."""
    from importlib.metadata import version

    from nandram.options import default_cache

    kept = Path(default_cache()) / f"vega-{version('vl-convert-python')}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:
        pass
    # Loaded only here, since it occupies 8 MiB of memory.
    import vl_convert

    # An unescaped end tag within the script would end it.
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{kept.name}.{os.getpid()}.part")
        part.write_text(bundle, encoding="utf-8")
        part.replace(kept)
    except OSError:
        pass  # rebuilt next time
    return bundle


def _text(text: str) -> str:
    return html.escape(text)


def _section(section: Section, numbers: Any, title: str) -> str:
    found: list[str] = []
    charts: list[str] = []

    def flush() -> None:
        if charts:
            found.append(f'<div class="charts">{"".join(charts)}</div>')
            charts.clear()

    for part in section.parts:
        if isinstance(part, Figure):
            charts.append(_figure(part, next(numbers)))
            continue
        flush()
        match part:
            case Heading():
                found.append(f"<h3>{_text(part.text)}</h3>")
            case Notes():
                found.append(f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in part.lines)}</ul>")
            case Table():
                found.append(_table(part))
            case Drawing():
                found.append(
                    f'<figure class="wide"><figcaption>{_text(part.title)}</figcaption>'
                    f'<div class="drawing" tabindex="0" role="region" aria-label="{_text(part.title)}">'
                    f'<div class="line">{part.svg}</div><div class="stack">{part.narrow}</div></div>'
                    f'<p class="source">{_text(part.source)}</p></figure>'
                )
            case str():
                found.append(f"<p>{_text(part)}</p>")
    flush()
    # A section that fills the page does not repeat the title.
    heading = f"<h2>{_text(title)}</h2>" if title else ""
    return f'<section id="{section.anchor}">{heading}{"".join(found)}</section>'


def _figure(part: Figure, number: int) -> str:
    name = f"chart-{number}"
    spec = part.chart | {
        "width": "container",
        "height": part.height,
        "config": CONFIG,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": part.title,
    }
    boxes = "".join(
        f'<label><input type="checkbox" checked value="{_text(each)}">{_text(each)}</label>' for each in part.series
    )
    series = f'<div class="series" role="group" aria-label="Series">{boxes}</div>' if len(part.series) > 1 else ""
    data = _rows(part.columns, part.rows, set(), "")
    return (
        f'<figure id="{name}" data-name="{_text(part.title)}"{" class=wide" if part.wide else ""}>'
        f"<figcaption>{_text(part.title)}</figcaption>{series}"
        f'<div class="plot" role="img" aria-label="{_text(part.title)}"></div>'
        f'<p class="source">Source: {_text(part.source)}</p>'
        f'<div class="tools"><details><summary>Data</summary>'
        f'<div class="scroll" tabindex="0">{data}</div></details></div>'
        f'<script type="application/json">{_json(spec)}</script></figure>'
    )


def _json(spec: dict[str, Any]) -> str:
    return json.dumps(_short(spec), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _short(value: Any) -> Any:
    """Round numbers in a chart to six significant digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list) else value


def _table(part: Table) -> str:
    rows = _rows(part.columns, part.rows, set(part.wide), part.verdict)
    label = part.summary or "Table"
    rows = f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(label)}">{rows}</div>'
    return f"<details><summary>{_text(part.summary)}</summary>{rows}</details>" if part.summary else rows


def _rows(columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], wide: set[str], verdict: str) -> str:
    texts = [any(isinstance(row[index], str) for row in rows) for index in range(len(columns))]
    kinds = ["w" if name in wide else "t" if text else "" for name, text in zip(columns, texts, strict=True)]
    # On a narrow screen, each row with sentences is a block with the columns' names.
    lines = bool(wide)

    def cell(index: int, value: Cell) -> str:
        kind, text = kinds[index], _text(figure(value))
        if columns[index] == verdict and isinstance(value, str):
            kind, text = f"t {value}", f"{SIGNS[value]} {text}"
        named = f' data-column="{_text(columns[index])}"' if lines else ""
        return f'<td class="{kind}"{named}>{text}</td>' if kind else f"<td{named}>{text}</td>"

    head = "".join(
        f'<th scope="col" class="{"t" if kind else ""}">{_text(name)}</th>'
        for name, kind in zip(columns, kinds, strict=True)
    )
    body = "".join("<tr>" + "".join(cell(index, value) for index, value in enumerate(row)) + "</tr>" for row in rows)
    return f"<table{' class=lines' if lines else ''}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
