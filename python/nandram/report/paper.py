"""Report section of a paper: its claims, our figures and their basis."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from nandram.papers.verdict import VERDICTS
from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.drawing import draw
from nandram.report.page import Drawing, Figure, Heading, Section, Table, figure
from nandram.report.run import settings_table
from nandram.results.names import system_name

if TYPE_CHECKING:
    from nandram.papers import Reproduction
    from nandram.papers.bands import BandTable
    from nandram.papers.charts import Drawn
    from nandram.papers.sensitivity import Effect
    from nandram.papers.verdict import Row

MOVED_LEAST = 0.0005
"""Relative changes of a claim below this limit are not shown."""
SYSTEMS_MAX = 3
"""Maximum number of drawings per paper."""
_CLAIMS = ("claim", "paper", "ours", "unit", "deviation", "verdict", "draws", "test and basis")


def summary(found: "Reproduction") -> Section:
    """Return the section with the number of claims by paper and verdict."""
    section = Section("Summary", "summary")
    counted = {paper: Counter(str(row.verdict) for row in found.of(paper)) for paper in found.titles}
    rows: list[tuple[str | int, ...]] = [("claims", *(len(found.of(paper)) for paper in counted), len(found))]
    rows += [
        (verdict, *(each[verdict] for each in counted.values()), number)
        for verdict, number in found.counts.items()
        if number
    ]
    section.parts.append(Table(("claims", *counted, "all"), rows))
    section.parts.append(
        "Held: within the tolerance, or with the same ordering or knee, and not so in a counter-model. Not tested: it "
        "agrees, but its counter-model was not evaluated since the experiment or the model changed. Same order: it "
        "agrees within a factor, as with a claim of an order of magnitude, which tests little. Trivial: it agrees, but "
        "no counter-model shows that it could fail. Calibrated: a value was fitted to this figure, so agreement proves "
        "nothing. Read-back: the figure is an input. Arithmetic: it follows from the paper's own figures without a "
        "simulation. Not comparable: we have no figure, or our figure measures something else. Draws: the share of "
        "joint draws of everything assumed in which the claim holds."
    )
    if found.quick:
        left = f", and {found.left_out} of {found.points + found.left_out} runs left out" if found.left_out else ""
        section.parts.append(f"Quick: the experiments' shorter runs{left}.")
    return section


def section(found: "Reproduction", paper: str, effects: "list[Effect]") -> Section:
    """Return the section of a paper."""
    part = Section(f"{paper}: {found.titles[paper]}", paper, paper)
    rows = found.of(paper)
    counted = Counter(str(row.verdict) for row in rows)
    part.parts.append(", ".join(f"{counted[verdict]} {verdict}" for verdict in found.counts) + ".")
    cells = [row for row in rows if ".table" in row.id]
    plain = [row for row in rows if row not in cells]
    part.parts.append(_claims(paper, plain))
    if cells:
        of_cells = Counter(str(row.verdict) for row in cells)
        counts = ", ".join(f"{of_cells[verdict]} {verdict}" for verdict in found.counts if of_cells[verdict])
        part.parts.append(_claims(paper, cells, f"Tables of the paper by cell: {counts}"))
    deviations = _deviations(paper, plain)
    charted = [each for each in found.charts if each.paper == paper]
    # Quick runs may leave a single point, which shows no more than the table row.
    lone = [each for each in charted if found.quick and len({x for _, x, _ in each.points}) == 1]
    drawn = [_drawn(each) for each in charted if each not in lone]
    bands = [_band(each) for each in found.bands if each.paper == paper]
    robust = _robustness(paper, plain)
    figures = [*(each for each in (deviations, robust) if each), *drawn, *bands]
    if figures:
        part.parts += [Heading("Figures, redrawn from our runs"), "Crosses mark the paper's values.", *figures]
    if lone:
        part.parts.append(f"Not drawn, as quick runs have one point of each: {'; '.join(each.title for each in lone)}.")
    tornados = _tornados(effects, rows)
    if tornados:
        part.parts += [
            Heading("Sensitivity of claims to parameters"),
            "Each value is lowered and raised on its own, and the quick runs are repeated. Parameters that change a "
            "claim by less than 0.05 % are not charted. The source of a chart names the joint draws of everything "
            "assumed in which its claim holds.",
            *tornados,
        ]
    manifests = found.manifests.get(paper, [])
    if manifests:
        part.parts.append(Heading("Systems"))
        for manifest in list({each["system"]: each for each in reversed(manifests)}.values())[::-1][:SYSTEMS_MAX]:
            title = f"{system_name(manifest)}: {_plain(manifest['settings']['title']['value'])}"
            settings = manifest["settings"]
            source = "the resolved system file"
            part.parts.append(Drawing(title, draw(settings), source, draw(settings, narrow=True)))
        part.parts += [Heading("Basis of the figures"), settings_table(manifests)]
    return part


def _plain(text: str) -> str:
    return text.strip('"')


def _claims(paper: str, rows: "list[Row]", fold: str = "") -> Table:
    return Table(_CLAIMS, [_claim(paper, row) for row in rows], fold, _CLAIMS[-1:], "verdict")


def _claim(paper: str, row: "Row") -> tuple[str, ...]:
    holds = row.unit == "holds"
    stated = " to ".join(map(figure, row.paper)) if isinstance(row.paper, tuple) else figure(row.paper)
    ours = "" if row.ours is None else ("holds" if row.ours else "does not") if holds else figure(row.ours)
    test = f"{row.rests_on.test} (set by {row.rests_on.set_by})" if row.rests_on.test else ""
    return (
        row.id.removeprefix(f"{paper}."),
        "holds" if holds else stated,
        ours,
        "" if holds else row.unit,
        "" if row.deviation is None else f"{100 * row.deviation:+.1f} %",
        row.verdict,
        row.robustness,
        "; ".join(each for each in (test, row.rests_on.brief, row.rests_on.note) if each),
    )


def _deviations(paper: str, rows: "list[Row]") -> Figure | None:
    """Return a chart of the deviations of our figures from the paper's."""
    listed = [row for row in rows if row.deviation is not None and row.verdict != "not-comparable"]
    if len(listed) < 2:
        return None
    verdicts: list[str] = [verdict for verdict in VERDICTS if any(row.verdict == verdict for row in listed)]
    data = [
        {"series": row.verdict, "name": row.id.removeprefix(f"{paper}."), "x": 100 * (row.deviation or 0)}
        for row in listed
    ]
    chart = charts.dots(data, verdicts, Axis("deviation (%)"), "claim")
    table = [(row["name"], row["x"], row["series"]) for row in data]
    columns = ("claim", "deviation (%)", "verdict")
    title = "Deviation of our figures from the paper's"
    height = charts.rows_height(data, 40, 18)
    return Figure(title, chart, "the runs of the experiment", columns, table, tuple(verdicts), height=height)


def _robustness(paper: str, rows: "list[Row]") -> Figure | None:
    """Return a chart of the share of joint draws in which each claim holds."""
    listed = [row for row in rows if row.share is not None]
    if len(listed) < 2:
        return None
    verdicts: list[str] = [verdict for verdict in VERDICTS if any(row.verdict == verdict for row in listed)]
    data = [
        {"series": row.verdict, "name": row.id.removeprefix(f"{paper}."), "x": 100 * (row.share or 0)} for row in listed
    ]
    chart = charts.dots(data, verdicts, Axis("share of draws (%)"), "claim")
    table = [(row.id.removeprefix(f"{paper}."), row.robustness, row.verdict) for row in listed]
    title = "Robustness: share of joint draws of everything assumed in which each claim holds"
    height = charts.rows_height(data, 40, 18)
    source = "the kept draws of the quick runs; a missed claim may hold in some draws"
    return Figure(title, chart, source, ("claim", "draws", "verdict"), table, tuple(verdicts), height=height)


def _drawn(each: "Drawn") -> Figure:
    series = tuple(dict.fromkeys(name for name, _, _ in each.points))
    rows = [{"series": name, "x": x, "y": y} for name, x, y in each.points]
    x, y = Axis(each.x_title, each.scale), Axis(each.y_title, "log" if each.log_y else "linear", zero=not each.log_y)
    if each.bars:
        chart = charts.groups(rows, list(series), x, y)
    else:
        marks = charts.Marks(
            stated=tuple({"x": x, "y": y, "claim": claim} for x, y, claim in each.stated),
            stated_x=tuple({"x": x, "claim": claim} for x, claim in each.stated_x),
            crossings=tuple({"name": name, "x": x, "y": y} for name, x, y in each.crossings),
        )
        chart = charts.lines(rows, list(series), x, y, marks=marks)
    table = [
        *each.points,
        *((f"cross: {name}", x_, y_) for name, x_, y_ in each.crossings),
        *((f"stated: {claim}", x_, y_) for x_, y_, claim in each.stated),
        *((f"stated: {claim}", x_, None) for x_, claim in each.stated_x),
    ]
    said = [
        f"runs of experiments/{each.paper}.toml",
        "crosses: the paper" if each.stated else "",
        "dashed: the paper's place on the axis" if each.stated_x else "",
        "rings: where lines cross" if each.crossings else "",
        *(f"{pair}: no crossing" for pair in each.apart),
        each.note,
    ]
    source = "; ".join(part for part in said if part)
    return Figure(each.title, chart, source, ("series", each.x_title, each.y_title), table, series)


def _band(band: "BandTable") -> Figure:
    rows: list[dict[str, Any]] = []
    for cell in band.cells:
        # The title names the axes.
        name = ", ".join(str(value) for value in cell.place.values()) or "all"
        rows.append({"name": name, "paper": cell.paper, "median": cell.median, "low": cell.low, "high": cell.high})
    place = ", ".join(band.cells[0].place) or band.over
    unit = f" ({band.unit})" if band.unit else ""
    chart = charts.spans(rows, Axis(f"median and range{unit}", zero=True, room=True), place)
    errors = ["" if cell.error is None else f"{100 * cell.error:+.1f} %" for cell in band.cells]
    table = [
        (row["name"], row["paper"], row["median"], error, row["low"], row["high"])
        for row, error in zip(rows, errors, strict=True)
    ]
    columns = (place, "paper", "our median", "error", "our lowest", "our highest")
    runs = f"runs of experiments/{band.paper}.toml: {band.count} by {band.over}"
    source = f"{runs}; bars from lowest to highest; crosses: the paper"
    height = charts.rows_height(rows, 36, 18)
    return Figure(band.title, chart, source, columns, table, height=height)


def _tornados(effects: "list[Effect]", rows: "list[Row]") -> list[Figure]:
    figures = []
    robust = {row.id: row.robustness for row in rows}
    for claim in dict.fromkeys(each.claim for each in effects):
        of_it = [each for each in effects if each.claim == claim and max(map(abs, each.change)) >= MOVED_LEAST]
        if not of_it:
            continue
        of_it.sort(key=lambda each: -max(map(abs, each.change)))
        bars = [
            {
                "name": f"{each.parameter} ({each.basis})",
                "low": each.change[0],
                "high": each.change[1],
                "less": f"{each.less[0]}: {figure(each.less[1])}",
                "more": f"{each.more[0]}: {figure(each.more[1])}",
            }
            for each in of_it
        ]
        chart = charts.tornado(bars, "change of our figure")
        table = [
            (each.parameter, each.basis, each.less[0], each.less[1], each.base[0], each.base[1], *each.more)
            for each in of_it
        ]
        columns = ("parameter", "basis", "less", "figure with less", "value", "figure", "more", "figure with more")
        source = "quick runs; upper bar: lower parameter, lower bar: higher parameter"
        draws = robust.get(claim, "")
        if "/" in draws:
            source += f"; the claim holds in {draws.replace('/', ' of ')} joint draws"
        height = charts.rows_height(bars, 40, 34)
        figures.append(
            Figure(f"Sensitivity of {claim}", chart, source, columns, table, ("less", "more"), height=height)
        )
    return figures
