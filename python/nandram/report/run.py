"""Report section of a run."""

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from nandram import units
from nandram.report import breakdown, charts, over_time, serving
from nandram.report.charts import Axis
from nandram.report.drawing import draw
from nandram.report.page import Drawing, Figure, Heading, Notes, Section, Table, render
from nandram.results import frames, validity
from nandram.results.names import TITLES, scale_of, system_name

if TYPE_CHECKING:
    from nandram.results.result import Result

POINTS_MAX = 600
"""Maximum number of points per line, about the width of a chart in pixels."""


def page(result: "Result") -> str:
    """Return the page of a run as HTML."""
    return render(result.title, "One run, simulated in virtual time.", [section(result, "run")])


def section(result: "Result", anchor: str) -> Section:
    """Return the section of a run."""
    manifest = result.manifest
    found = Section(result.title, anchor)
    scale = scale_of(manifest)
    copy = f", at scale {scale}: {units.size(result.inside['capacity_bytes'])}" if scale else ""
    found.parts.append(f"{result.inside['system']}{copy}; seed {manifest['seed']}, nandram {manifest['version']}")
    found.parts.append(Table((*TITLES[:1], "direction", *TITLES[2:]), [tuple(row) for row in result.rows()]))
    found.parts.append(Notes(result.notes))
    found.parts.append(_drawing(result))
    source = f"{result.title}, seed {manifest['seed']}"
    found.parts += serving.parts(result, source)
    for part in (
        _latency_cdf(result, source),
        _percentiles(result, source),
        *breakdown.figures(result, source),
        _throughput(result, source),
        *over_time.figures(result, source),
        _channels(result, source),
        _dies(result, source),
        _parts(result, source),
        _energy(result, source),
        _wear(result, source),
    ):
        if part is not None:
            found.parts.append(part)
    found.parts.append(Heading("Basis of the values"))
    found.parts.append(settings_table([manifest]))
    return found


def settings_table(manifests: list[dict[str, Any]]) -> Table:
    """Return a table of all system values other than defaults, with their bases."""
    rows: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for manifest in manifests:
        for key, each in manifest["settings"].items():
            if each["set_by"] == "default" or key == "title":
                continue
            ((basis, text),) = each.get("basis", {"set": each["set_by"]}).items()
            rows.setdefault(
                (manifest["system"], key, each["value"]), (manifest["system"], key, each["value"], basis, text)
            )
    order = {"assumed": 0, "calibrated": 1, "set": 2, "given": 3}
    listed = sorted(rows.values(), key=lambda row: (order.get(row[3], 9), row[0]))
    counts = ", ".join(f"{sum(row[3] == basis for row in listed)} {basis}" for basis in order)
    columns = ("system", "key", "value", "basis", "source or reason")
    return Table(columns, listed, f"Values other than defaults: {counts}", ("value", "source or reason"))


def _drawing(result: "Result") -> Drawing:
    settings = result.manifest["settings"]
    source = f"the resolved system file of {system_name(result.manifest)}"
    return Drawing("The system", draw(settings), source, draw(settings, narrow=True))


def _series(result: "Result", frame: pl.DataFrame) -> pl.DataFrame:
    """Add the series name: the direction, preceded by the job's name if there are several jobs.

    Leaves out directions whose figures a note makes worthless.
    """
    frame = validity.supported(result.validity, frame)
    named = frame["name"].n_unique() > 1
    parts = [pl.col("name"), pl.lit(": "), pl.col("direction")] if named else [pl.col("direction")]
    return frame.with_columns(pl.concat_str(parts).alias("series"))


def _latency_cdf(result: "Result", source: str) -> Figure | None:
    counts = (
        _series(result, result.latency())
        .group_by("series", "latency_ns", maintain_order=True)
        .agg(pl.col("count").sum())
    )
    if counts.is_empty():
        return None
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    series = counts["series"].unique(maintain_order=True).to_list()
    for name in series:
        each = counts.filter(pl.col("series") == name).sort("latency_ns")
        each = each.with_columns((pl.col("count").cum_sum() / pl.col("count").sum()).alias("y"))
        lines = [(row["latency_ns"] / 1000, row["y"]) for row in each.to_dicts()]
        lines = [(lines[0][0], 0.0), *_thinned(lines)]
        rows += [{"series": name, "x": x, "y": y} for x, y in lines]
        table += [(name, x, y) for x, y in lines]
    x, y = Axis("response time (us)", "log"), Axis("fraction of requests", highest=1)
    chart = charts.lines(rows, series, x, y, steps=True)
    columns = ("series", "response time (us)", "fraction of requests")
    return Figure("Response times: cumulative distribution", chart, source, columns, table, tuple(series))


def _thinned(lines: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Reduce a line to visible points: steps of a fraction of the height, and the whole tail."""
    kept, last = [], -1
    for x, y in lines:
        step = math.floor(y * POINTS_MAX)
        if step != last or y > 1 - 1 / POINTS_MAX:
            kept.append((x, y))
        last = step
    return kept if len(kept) <= 2 * POINTS_MAX else [*kept[:: len(kept) // POINTS_MAX], kept[-1]]


def _percentiles(result: "Result", source: str) -> Figure | None:
    wanted = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
    latency = _series(result, result.latency())
    tail = "write-tail" in validity.withheld(result.validity)
    rows, table = [], []
    series = latency["series"].unique(maintain_order=True).to_list()
    for name in series:
        each = latency.filter(pl.col("series") == name)
        (direction,) = each["direction"].unique()
        each = each.with_columns(pl.lit("read").alias("direction"))
        for percent in wanted:
            if tail and validity.is_tail(direction, percent):
                continue
            us = frames.percentile(each, percent, "read") / 1000
            rows.append({"series": name, "x": f"{percent:g} %", "y": us})
            table.append((name, f"{percent:g} %", us))
    if not rows:
        return None
    chart = charts.lines(rows, series, Axis("of the requests", "names"), Axis("answered within (us)", "log"))
    columns = ("series", "of the requests", "answered within (us)")
    return Figure("Percentiles of the response times", chart, source, columns, table, tuple(series))


def _throughput(result: "Result", source: str) -> Figure | None:
    windows = _series(result, result.throughput().filter(pl.col("direction").is_in(["read", "write"])))
    windows = windows.group_by("series", "time_s", "span_s", maintain_order=True).agg(pl.col("bytes").sum())
    if windows.is_empty():
        return None
    rows, table = [], []
    series = windows["series"].unique(maintain_order=True).to_list()
    for name in series:
        each = windows.filter(pl.col("series") == name).sort("time_s").to_dicts()
        lines = [(row["time_s"], row["bytes"] / row["span_s"] / 1e6) for row in each]
        lines.append((each[-1]["time_s"] + each[-1]["span_s"], lines[-1][1]))
        rows += [{"series": name, "x": x, "y": y} for x, y in lines]
        table += [(name, x, y) for x, y in lines]
    cut = result.warm_up_s
    note = f"; the first {units.duration(cut * 1e9)} are warm-up, excluded from the statistics" if cut else ""
    chart = charts.lines(rows, series, over_time.TIME, Axis("throughput (MB/s)", zero=True), steps=True)
    columns = ("series", "simulated time (s)", "throughput (MB/s)")
    return Figure("Throughput over time", chart, source + note, columns, table, tuple(series))


def _dies(result: "Result", source: str) -> Figure | None:
    dies = result.dies()
    if dies.is_empty():
        return None
    place = pl.int_range(pl.len()).over("channel").alias("place")
    busy = pl.sum_horizontal("read_busy", "program_busy", "erase_busy").alias("busy")
    listed = dies.with_columns(place, busy).to_dicts()
    rows = [{"x": row["place"], "y": row["channel"], "value": row["busy"]} for row in listed]
    chart = charts.heat_map(rows, "die of the channel", "channel", "busy fraction of the array", 1)
    names = ("reads", "programs", "erases", "retries", "suspensions")
    columns = (
        "channel",
        "die",
        "busy (fraction of the time)",
        "reading",
        "programming",
        "erasing",
        "holding data",
        *names,
    )
    table = [
        tuple(
            row[name]
            for name in ("channel", "place", "busy", "read_busy", "program_busy", "erase_busy", "holding", *names)
        )
        for row in listed
    ]
    height = max(90, 60 + 24 * dies["channel"].n_unique())
    return Figure("Utilization of the dies", chart, source, columns, table, height=height)


def _busy(result: "Result") -> list[tuple[str, float]]:
    return [(name, float(part)) for name, part in result.inside.get("busy", {}).items()]


def _channels(result: "Result", source: str) -> Figure | None:
    found = [(name, part) for name, part in _busy(result) if name.startswith("flash channel")]
    if not found:
        return None
    rows = [{"x": name.rsplit(" ", 1)[1], "y": "channel", "value": part} for name, part in found]
    chart = charts.heat_map(rows, "flash channel", "", "busy fraction of the channel", 1)
    table = [(name, part) for name, part in found]
    columns = ("channel", "busy (fraction of the time)")
    return Figure("Utilization of the channels", chart, source, columns, table, height=70)


def _parts(result: "Result", source: str) -> Figure | None:
    found = [(name, part) for name, part in _busy(result) if part > 0 and not name.startswith("flash channel")]
    if not found:
        return None
    rows = [{"series": "busy", "name": name, "value": part} for name, part in found]
    chart = charts.bars(rows, ["busy"], Axis("busy fraction of the time", highest=1, percent=True), Axis("part"))
    height = charts.rows_height(rows, 40, 20)
    columns = ("part", "busy (fraction of the time)")
    return Figure("Utilization of host, link and controller", chart, source, columns, found, height=height)


def _energy(result: "Result", source: str) -> Figure | None:
    if "energy" in validity.withheld(result.validity):
        return None
    # The parts of main memory, if there are several, and the flash of the drive.
    energy = result.inside.get("memory_energy_j") or result.inside.get("energy_j", {})
    energy = {name: joules for name, joules in energy.items() if name not in ("total", "drive")}
    energy["flash of the drive"] = result.inside.get("drive", {}).get("energy_j", 0)
    energy = {name: joules for name, joules in energy.items() if isinstance(joules, int | float) and joules > 0}
    if not energy:
        return None
    rows = [{"series": "energy", "name": name.replace("_", " "), "value": 1000 * j} for name, j in energy.items()]
    chart = charts.bars(rows, ["energy"], Axis("energy (mJ)"), Axis("by"))
    table = [(row["name"], row["value"]) for row in rows]
    title = f"Energy by part: {sum(energy.values()):.4g} J in all"
    height = charts.rows_height(rows, 40, 26)
    return Figure(title, chart, source, ("by", "energy (mJ)"), table, height=height)


def _wear(result: "Result", source: str) -> Figure | None:
    dies = result.dies()
    if dies.is_empty() or "programs" not in dies.columns:
        return None
    rows, table = [], []
    for row in dies.to_dicts():
        rows += [{"series": name, "x": row["die"], "y": row[name]} for name in ("programs", "erases")]
        table.append((row["die"], row["programs"], row["erases"]))
    ftl = result.inside.get("ftl") or {}
    blocks = ftl.get("erases_per_block")
    per_block = (
        f"; erases per block from {blocks['min']} to {blocks['max']}, mean {blocks['mean']:.4g}" if blocks else ""
    )
    if not any(row["y"] for row in rows):
        return None  # no wear
    series = ["programs", "erases"]
    chart = charts.lines(rows, series, Axis("die"), Axis("times", zero=True))
    columns = ("die", "programs", "erases")
    return Figure("Wear by die: programs and erases", chart, source + per_block, columns, table, tuple(series))
